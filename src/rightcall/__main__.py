"""`python -m rightcall`, the same as `rightcall`."""

import sys

from rightcall.cli import main

if __name__ == "__main__":
    sys.exit(main())
