"""Files without content: nothing but names."""

import time

from taking import count, os

made = 0
try:
    while made < 2_000_000:
        os.close(os.open(f"{made:x}", os.O_CREAT))
        made += 1
        if made % 1000 == 0:
            count(made // 1000)
except OSError as error:
    print(error.strerror)
time.sleep(60)
