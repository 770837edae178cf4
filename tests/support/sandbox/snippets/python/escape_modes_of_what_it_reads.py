"""What it may read and its user owns, such as the interpreter: its mode, times and flags changed by a descriptor."""

import fcntl
import stat

from attacking import attempt, marks_of, os, outside, sys

mine = [__file__] if outside["uid"] else []  # as root, the copy that runs belongs to it
for path in (*mine, sys.executable, os.__file__, "/usr/bin/env"):
    fd = attempt(path, os.open, path, os.O_RDONLY)
    if fd is None:
        continue
    before = marks_of(os.fstat(fd))
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    attempt("mode", os.fchmod, fd, mode | 0o1000)
    attempt("mode by its path", os.chmod, path, mode | 0o1000)
    attempt("times", os.utime, fd, (1, 1))
    attempt("times by its path", os.utime, path, (1, 1))
    attempt("owner", os.fchown, fd, os.getuid(), os.getgid())
    attempt("attribute", os.setxattr, fd, "user.changed", b"yes")
    attempt("flags", fcntl.ioctl, fd, 0x40086602, b"\x40" + bytes(7))
    if marks_of(os.fstat(fd)) != before:
        attempt("put back", os.fchmod, fd, mode)
        attempt("put back", os.utime, fd, ns=(before[1], before[1]))
        print("ESCAPED", path, "was changed")
