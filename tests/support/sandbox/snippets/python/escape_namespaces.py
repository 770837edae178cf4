"""Namespaces of its own, in which it would be root, and those of others."""

from attacking import C, ctypes, forbidden, os, outside, syscall

NEW = {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x8000000, "uts": 0x4000000,
       "cgroup": 0x2000000, "time": 0x80}  # fmt: skip
for name, flag in NEW.items():
    forbidden(f"unshare {name}", syscall, "unshare", flag)
    forbidden(f"unshare user and {name}", syscall, "unshare", flag | NEW["user"])


def cloned(flags):
    pid = syscall("clone", flags | 17, 0, 0, 0, 0)
    if pid == 0:
        C._exit(0)
    os.waitpid(pid, 0)
    return pid


for name in ("user", "mount", "pid", "net"):
    forbidden(f"clone {name}", cloned, NEW[name])
words = (ctypes.c_uint64 * 11)(NEW["user"], 0, 0, 0, 17)


def cloned3():
    pid = syscall("clone3", words, 88)
    if pid == 0:
        C._exit(0)
    os.waitpid(pid, 0)
    return pid


forbidden("clone3", cloned3)
for pid in (1, os.getppid(), outside["pid"], outside["holder"]):
    for name in ("mnt", "net", "pid", "user"):
        try:
            fd = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
        except OSError as error:
            print(f"{name} of {pid}: {error.strerror}")
            continue
        forbidden(f"setns {name} of {pid}", syscall, "setns", fd, 0)
