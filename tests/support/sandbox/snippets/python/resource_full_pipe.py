"""Waits for a pipe that nobody reads."""
# limits seconds

from taking import MEGABYTE, os

reading, writing = os.pipe()
os.write(writing, MEGABYTE)
