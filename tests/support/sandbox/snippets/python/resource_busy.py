"""Busy for ever, and deaf to signals that ask it to end."""
# limits seconds

import signal

from taking import os

for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
while True:
    os.getpid()
