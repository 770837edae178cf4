"""Children that have ended and are never waited for, and orphans by the thousand."""

from taking import count, os

for number in range(3000):
    try:
        if os.fork() == 0:
            try:
                os.fork()
            finally:
                os._exit(0)
    except OSError:
        count(number)
        break
