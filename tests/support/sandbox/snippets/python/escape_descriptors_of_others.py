"""The open files of other processes, by /proc and by pidfd_getfd."""

from attacking import attempt, forbidden, os, outside, read, syscall

for pid in (1, os.getppid(), outside["pid"], outside["holder"]):
    for fd in (*range(3, 12), outside["fd"]):
        attempt(f"descriptor {fd} of {pid}", read, f"/proc/{pid}/fd/{fd}")
        attempt(f"below {fd} of {pid}", read, f"/proc/{pid}/fd/{fd}/{os.path.basename(outside['secret'])}")
        attempt(f"position {fd} of {pid}", read, f"/proc/{pid}/fdinfo/{fd}")
    try:
        pidfd = syscall("pidfd_open", pid, 0)
    except OSError as error:
        print(f"pidfd of {pid}: {error.strerror}")
        continue
    for fd in (0, 1, 2, outside["fd"]):
        forbidden(f"descriptor {fd} of {pid} taken", syscall, "pidfd_getfd", pidfd, fd, 0)
