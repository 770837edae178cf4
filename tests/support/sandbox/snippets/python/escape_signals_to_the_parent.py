"""Whoever started it, ended, stopped or confused: the holder must see it end, and the next run must work."""

import signal
import time

from attacking import attempt, os

parent = os.getppid()
for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGKILL):
    if parent > 0:
        attempt(f"parent {number.name}", os.kill, parent, number)
        attempt(f"group {number.name}", os.kill, -os.getpgid(0), signal.SIGCONT)
    attempt(f"first {number.name}", os.kill, 1, number)
time.sleep(0.05)
print("still here")
