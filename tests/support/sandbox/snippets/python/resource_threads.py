"""As many threads as there can be."""

import threading
import time

from taking import count

started = 0
try:
    while started < 5000:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        started += 1
except RuntimeError:
    pass
count(started)
time.sleep(60)
