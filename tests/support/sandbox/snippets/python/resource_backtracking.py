"""A pattern that takes longer than the universe."""
# limits seconds

import re

from taking import sys

sys.stdout.flush()
re.match(r"(a+)+$", "a" * 64 + "b")
