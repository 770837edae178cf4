"""Memory over many processes, each of which is small."""
# memory

import time

from taking import MEGABYTE, held, os

reading, writing = os.pipe()
children = 16
for _ in range(children):
    if os.fork() == 0:
        kept = []
        for number in range(32):
            kept.append(MEGABYTE + b"%d" % number)
            os.write(writing, b".")
        time.sleep(60)
total = 0
while total < children * 32:
    total += len(os.read(reading, 1))
    held(total)
time.sleep(60)
