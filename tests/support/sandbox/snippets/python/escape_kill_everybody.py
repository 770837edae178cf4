"""kill(-1): every process that may be signalled."""

import signal

from attacking import attempt, os

for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
    attempt(number.name, os.kill, -1, number)
