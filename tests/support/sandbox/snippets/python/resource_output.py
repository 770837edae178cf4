"""Output without end."""
# limits output

from taking import MEGABYTE, os

while True:
    os.write(1, MEGABYTE)
