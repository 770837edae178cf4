"""Results that are no files: whoever opens them waits for ever, or reads something else."""

import stat

from attacking import attempt, os, outside

attempt("fifo", os.mkfifo, "result.txt")
attempt("socket", os.mknod, "result.csv", stat.S_IFSOCK | 0o666)
attempt("folder", os.mkdir, "result.png")
attempt("no rights", lambda: (open("locked.txt", "w").write("harmless"), os.chmod("locked.txt", 0)))
attempt(
    "no rights on a folder", lambda: (os.mkdir("locked"), open("locked/in.txt", "w").close(), os.chmod("locked", 0))
)
attempt("huge", lambda: os.truncate(os.open("huge.bin", os.O_CREAT | os.O_WRONLY), 1 << 20))
open("setuid", "w").write("#!/bin/sh\nid\n")
attempt("setuid", os.chmod, "setuid", 0o6755)
os.symlink("loop", "loop")
attempt("link", os.link, "setuid", "second name")
print(outside["tag"])
