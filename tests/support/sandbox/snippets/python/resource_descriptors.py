"""Open files, in many processes."""

import time

from taking import count, os

for _ in range(4):
    try:
        os.fork()
    except OSError:
        break
opened = 0
try:
    while opened < 1_000_000:
        os.open("/dev/null", os.O_RDONLY)
        opened += 1
except OSError:
    pass
count(opened // 1000)
time.sleep(60)
