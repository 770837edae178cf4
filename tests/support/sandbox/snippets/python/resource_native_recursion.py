"""Deeper than any stack, in code that does not look: whatever comes, it is its own end alone."""

from taking import os, sys

sys.setrecursionlimit(1 << 30)


def deeper(number):
    return deeper(number + 1) + repr([number]).count("x") if number >= 0 else 0


os.write(1, b"going down\n")
nested = []
for _ in range(500_000):
    nested = [nested]
repr(nested)
deeper(0)
