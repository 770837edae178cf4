"""The environment of those who started it, and what their memory holds of it."""

from attacking import C, attempt, ctypes, os, read

print(dict(os.environ))
C.getenv.restype = ctypes.c_char_p
print(C.getenv(b"CANARY"), C.getenv(b"PATH"))
for pid in ("self", "1", os.getppid()):
    attempt(f"environment of {pid}", read, f"/proc/{pid}/environ")
table = ctypes.POINTER(ctypes.c_char_p).in_dll(C, "environ")
for place in range(200):
    if not table or not table[place]:
        break
    print(table[place])
