"""Signals to itself, timers, and a child that is ended."""

import os
import signal
import subprocess

got = []
signal.signal(signal.SIGUSR1, lambda number, frame: got.append(number))
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)
signal.signal(signal.SIGALRM, lambda number, frame: got.append(number))
signal.setitimer(signal.ITIMER_REAL, 0.01)
while len(got) < 3:
    signal.pause()
print([signal.Signals(number).name for number in got])
child = subprocess.Popen(["sleep", "60"])
child.terminate()
print(child.wait())
# > ['SIGUSR1', 'SIGUSR1', 'SIGALRM']
# > -15
