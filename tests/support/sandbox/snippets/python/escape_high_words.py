"""System calls with something in the upper halves of their words, which a filter may read and the kernel may not."""

from attacking import NUMBERS, C, ctypes, os, outside, platform

HIGH = 0x1_0000_0000


def call(name, *words):
    number = NUMBERS[name][platform.machine() == "aarch64"]
    answer = C.syscall(
        ctypes.c_long(number), *(ctypes.c_ulong(word) if isinstance(word, int) else word for word in words)
    )
    print(name, answer, os.strerror(ctypes.get_errno()))
    return answer


pair = (ctypes.c_int * 2)()
if call("socket", HIGH | 2, HIGH | 1, HIGH) >= 0:
    print("ESCAPED socket")
if call("socketpair", HIGH | 1, HIGH | 2, 0, pair) >= 0:
    name = b"\1\0" + os.fsencode(outside["unix_datagram"])
    call("sendto", pair[0], b"out", 3, 0, name, len(name))
child = call("clone", HIGH | 0x10000000 | 17, 0, 0, 0, 0)
if child == 0:
    C._exit(0)
if child > 0:
    os.waitpid(child, 0)
    print("ESCAPED clone")
if call("unshare", HIGH | 0x10000000) == 0:
    print("ESCAPED unshare")
if call("personality", HIGH | 0x0040000) >= 0:
    print("ESCAPED personality")
