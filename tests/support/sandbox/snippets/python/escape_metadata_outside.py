"""Modes, owners, times and attributes of files outside: no permission to write them is needed for these."""

import struct

from attacking import attempt, os, outside, syscall

victim = outside["victim"]
attempt("mode", os.chmod, victim, 0o4777)
attempt("mode of the secret", os.chmod, outside["secret"], 0o000)
attempt("mode 2", syscall, "fchmodat2", -100, os.fsencode(victim), 0o777, 0)
attempt("group", os.chown, victim, -1, os.getgid())
attempt("owner", os.chown, victim, os.getuid(), -1)
attempt("times", os.utime, victim, (1, 1))
attempt("times now", os.utime, victim)
attempt("times of the folder", os.utime, outside["drop"])
attempt("attribute", os.setxattr, victim, "user.changed", b"yes")
attempt("flags", syscall, "file_setattr", -100, os.fsencode(victim), struct.pack("QIIII", 0x40, 0, 0, 0, 0), 24, 0)
for flags in (os.O_RDONLY, os.O_PATH):
    fd = attempt("opened", os.open, victim, flags)
    if fd is not None:
        attempt("mode of the descriptor", os.fchmod, fd, 0o4777)
        attempt("mode by /proc", os.chmod, f"/proc/self/fd/{fd}", 0o4777)
