"""`python -m rightcall.cli`, for where the command is not on the path."""

import sys

from rightcall.cli import main

if __name__ == "__main__":
    sys.exit(main())
