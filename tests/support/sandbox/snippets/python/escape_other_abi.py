"""System calls by the numbers of another architecture, which a filter of one table does not know."""

import mmap
import signal

from attacking import C, ctypes, os, platform


def in_a_child(action):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        answer = action()
        os._exit(7 if answer > 0 else 0)
    status = os.waitpid(pid, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 7:
        print("ESCAPED: it was answered")


def int80():
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()


getpid = 0x40000000 + 39 if platform.machine() == "x86_64" else 0x40000000 + 172
in_a_child(lambda: C.syscall(ctypes.c_long(getpid)))
in_a_child(lambda: C.syscall(ctypes.c_long(0x40000000 + 41), ctypes.c_long(2), ctypes.c_long(1), ctypes.c_long(0)))
in_a_child(lambda: C.syscall(ctypes.c_long(100_000)))
if platform.machine() == "x86_64":
    in_a_child(int80)
