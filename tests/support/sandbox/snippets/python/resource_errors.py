"""The same to standard error, in small pieces, by two processes."""
# limits output

from taking import os

os.fork()
while True:
    os.write(2, b"no\n")
