"""As many processes as there can be, counted, each in a session of its own and deaf to signals."""
# limits seconds

import signal
import time

from taking import count, os

started = 0
try:
    while started < 5000:
        if os.fork() == 0:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            time.sleep(60)
        started += 1
except OSError:
    pass
count(started)
time.sleep(60)
