"""`python -m rightcall`, the same as `rightcall`."""

import sys

from rightcall.cli import main

if __name__ == "__main__":
    sys.exit(main())


# ──   main   ──
# `python -m rightcall.cli`, for where the command is not on the path.

if __name__ == "__main__":
    sys.exit(main())
