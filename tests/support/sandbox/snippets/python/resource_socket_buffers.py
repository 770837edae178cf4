"""Memory of the kernel's own: bytes that were sent and that nobody takes."""
# memory

import socket
import time

from taking import MEGABYTE, held, os

total = 0
kept = []
reading, writing = os.pipe()
for _ in range(24):
    try:
        child = os.fork()
    except OSError:
        break
    if child == 0:
        try:
            while True:
                kept.append(socket.socketpair())
                for end in kept[-1]:
                    end.setblocking(False)
                    try:
                        while True:
                            os.write(writing, b"%8d" % end.send(MEGABYTE))
                    except BlockingIOError:
                        pass
        except OSError:
            time.sleep(60)
told = -1
while True:
    total += int(os.read(reading, 8))
    if total >> 20 != told:
        told = total >> 20
        held(told)
