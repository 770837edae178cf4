"""Parts of the kernel that no small program needs, and through which it has been attacked."""

import struct
import time

from attacking import ctypes, forbidden, os, syscall

forbidden("bpf", syscall, "bpf", 0, struct.pack("IIIII", 2, 4, 4, 1, 0) + bytes(52), 72)
forbidden("io_uring", syscall, "io_uring_setup", 4, bytes(120))
forbidden("keys", syscall, "keyctl", 0, -3, 1)
forbidden("a key", syscall, "add_key", b"user", b"rightcall", b"x", 1, -3)
forbidden("userfaultfd", syscall, "userfaultfd", 1)
event = ctypes.create_string_buffer(struct.pack("IIQQQQQ", 1, 112, 0, 0, 0, 0, 0x60), 112)
forbidden("perf", syscall, "perf_event_open", event, 0, -1, -1, 0)
forbidden("kexec", syscall, "kexec_load", 0, 0, 0, 0)
forbidden("module", syscall, "init_module", b"", 0, b"")
forbidden("module file", syscall, "finit_module", 0, b"", 0)
forbidden("module away", syscall, "delete_module", b"none", 0)
forbidden("reboot", syscall, "reboot", 0xFEE1DEAD, 672274793, 0, 0)
forbidden("accounting", syscall, "acct", 0)
forbidden("swap", syscall, "swapon", b"none", 0)
forbidden("kernel log", syscall, "syslog", 10, 0, 0)
forbidden("host name", syscall, "sethostname", b"rightcall", 9)
forbidden("clock", syscall, "clock_settime", 0, struct.pack("qq", int(time.time()), 0))
forbidden("personality", syscall, "personality", 0x0040000)
forbidden("fanotify", syscall, "fanotify_init", 0, 0)
forbidden("memfd", syscall, "memfd_create", b"x", 0)
forbidden("secret memory", syscall, "memfd_secret", 0)
forbidden("hang up", syscall, "vhangup")
forbidden("another's memory", syscall, "process_madvise", 0, 0, 0, 4, 0)
forbidden("pages", syscall, "move_pages", os.getppid(), 0, 0, 0, 0, 0)
