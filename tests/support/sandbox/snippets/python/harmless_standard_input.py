"""Standard input is there and empty; the arguments are its own."""

import sys

print(repr(sys.stdin.read()), len(sys.argv), __name__, sys.argv[0] == __file__)
try:
    input()
except EOFError:
    print("end of input")
# > '' 2 __main__ True
# > end of input
