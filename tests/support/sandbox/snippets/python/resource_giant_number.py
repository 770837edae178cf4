"""A number that does not fit, in one operation that cannot be interrupted from inside."""

from taking import sys

sys.stdout.flush()
number = 7 ** (7**11)
print(len(hex(number)))
