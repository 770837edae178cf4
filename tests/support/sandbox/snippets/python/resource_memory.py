"""Memory in one process."""
# memory

from taking import MEGABYTE, endlessly, held

kept = []
for number in endlessly():
    kept.append(MEGABYTE + b"%d" % number)
    held(number)
