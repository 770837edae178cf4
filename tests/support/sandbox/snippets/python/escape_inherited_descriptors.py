"""Descriptors that the one who started it left open: files, folders, sockets."""

from attacking import attempt, os, outside, read

for fd in [*range(3, 1024), outside["fd"], outside["folder_fd"]]:
    try:
        kind = os.fstat(fd)
    except OSError:
        continue
    print("ESCAPED descriptor", fd, kind)
    attempt(f"file {fd}", os.pread, fd, 1000, 0)
    attempt(f"folder {fd}", read, os.path.basename(outside["secret"]), fd)
for fd in (0, 1, 2):
    attempt(f"file {fd}", os.pread, fd, 1000, 0)
    attempt(f"folder {fd}", read, os.path.basename(outside["secret"]), fd)
