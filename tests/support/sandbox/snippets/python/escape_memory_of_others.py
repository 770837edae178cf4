"""The memory of other processes: /proc, ptrace, process_vm_readv."""

from attacking import attempt, ctypes, forbidden, os, outside, syscall

here = ctypes.create_string_buffer(64)
for pid in (1, os.getppid(), outside["pid"], outside["holder"]):
    if pid <= 0:
        continue
    forbidden(f"memory of {pid}", os.open, f"/proc/{pid}/mem", os.O_RDWR)
    forbidden(f"seize {pid}", syscall, "ptrace", 0x4206, pid, 0, 0)
    forbidden(f"attach {pid}", syscall, "ptrace", 16, pid, 0, 0)
    ours = (ctypes.c_ulong * 2)(ctypes.addressof(here), 64)
    theirs = (ctypes.c_ulong * 2)(ctypes.addressof(here), 64)
    forbidden(f"read {pid}", syscall, "process_vm_readv", pid, ours, 1, theirs, 1, 0)
    forbidden(f"compare {pid}", syscall, "kcmp", os.getpid(), pid, 2, 0, 0)
attempt("traced", syscall, "ptrace", 0, 0, 0, 0)
