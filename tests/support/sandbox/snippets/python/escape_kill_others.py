"""Signals to processes outside, straight, by groups, by queue, by descriptor, and by way of a pipe's owner."""

import fcntl
import signal

from attacking import attempt, forbidden, os, outside, syscall

for pid in (outside["pid"], outside["holder"], outside["server"]):
    for number in (signal.SIGTERM, signal.SIGKILL):
        forbidden(f"kill {pid}", os.kill, pid, number)
        forbidden(f"group {pid}", os.kill, -pid, number)
        forbidden(f"thread {pid}", syscall, "tgkill", pid, pid, int(number))
        forbidden(f"queued {pid}", syscall, "rt_sigqueueinfo", pid, int(number), bytes(128))
    pidfd = attempt("pidfd", syscall, "pidfd_open", pid, 0)
    if pidfd is not None:
        forbidden("by pidfd", syscall, "pidfd_send_signal", pidfd, int(signal.SIGKILL), 0, 0)
    reading, writing = os.pipe()
    attempt("owner", fcntl.fcntl, reading, fcntl.F_SETOWN, pid)
    attempt("signal", fcntl.fcntl, reading, 10, int(signal.SIGKILL))
    attempt("asynchronous", fcntl.fcntl, reading, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(writing, b"now")
