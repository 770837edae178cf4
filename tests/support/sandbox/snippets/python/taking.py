"""What snippets that take too much have in common; laid before the snippet like `attacking`.

It says RAN first, and then HELD with how many megabytes (or COUNT with how many things) it holds in all: that is what
is held against the limit.
"""

import os
import sys

os.write(1, b"RAN\n")
MEGABYTE = b"\1" * (1 << 20)


def held(megabytes):
    os.write(1, b"HELD %d\n" % megabytes)


def count(number):
    os.write(1, b"COUNT %d\n" % number)


def endlessly(start=0):
    while True:
        start += 1
        yield start


__all__ = ["MEGABYTE", "count", "endlessly", "held", "os", "sys"]
