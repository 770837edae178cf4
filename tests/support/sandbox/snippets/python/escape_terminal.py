"""Keys typed into the terminal of whoever started it."""

import fcntl
import termios

from attacking import attempt, forbidden, os

for fd in (0, 1, 2):
    forbidden(f"TIOCSTI {fd}", fcntl.ioctl, fd, termios.TIOCSTI, b"x")
    forbidden(f"TIOCSTI {fd} with high bits", fcntl.ioctl, fd, termios.TIOCSTI | 0x7FFF00000000 & 0xFFFFFFFF, b"x")
    forbidden(f"TIOCLINUX {fd}", fcntl.ioctl, fd, 0x541C, b"\3")
    forbidden(f"TIOCSCTTY {fd}", fcntl.ioctl, fd, termios.TIOCSCTTY, 1)
    forbidden(f"TIOCSETD {fd}", fcntl.ioctl, fd, termios.TIOCSETD, b"\0\0\0\0")
tty = forbidden("/dev/tty", os.open, "/dev/tty", os.O_RDWR)
attempt("its session", os.getsid, 0)
if os.isatty(0) or os.isatty(1):
    print("ESCAPED terminal")
