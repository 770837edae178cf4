"""Its own exit code, and what is done on the way out."""

import atexit
import sys

atexit.register(print, "last words")
print("to standard error", file=sys.stderr)
sys.exit(7)
# > last words
# exit 7
# stderr to standard error
