"""Sleeps."""
# limits seconds

import time

from taking import sys

sys.stdout.flush()
time.sleep(600)
