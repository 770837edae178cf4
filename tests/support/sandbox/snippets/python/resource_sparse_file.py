"""A file that says it has a terabyte."""

from taking import os

try:
    fd = os.open("huge.bin", os.O_CREAT | os.O_RDWR)
    os.ftruncate(fd, 1 << 40)
    os.pwrite(fd, b"end", (1 << 40) - 3)
except OSError as error:
    print(error.strerror)
