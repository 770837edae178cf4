"""Closes its output, which looks like an end, and goes on."""
# limits seconds

from taking import os

os.close(0)
os.close(1)
os.close(2)
while True:
    pass
