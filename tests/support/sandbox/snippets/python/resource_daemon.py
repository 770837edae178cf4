"""A daemon that keeps the pipes open when its program has ended: whoever reads them must not wait for it."""
# quick

import time

from taking import os

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
os.wait()
