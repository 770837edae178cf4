"""A daemon that has closed everything, in a session of its own, under another name."""
# quick

import ctypes
import time

from taking import os

if os.fork() == 0:
    os.setsid()
    os.chdir("/")
    if os.fork() == 0:
        os.closerange(0, 1024)
        ctypes.CDLL(None).prctl(15, b"kworker/0:1", 0, 0, 0)
        while True:
            time.sleep(0.01)
    os._exit(0)
os.wait()
