"""Users, groups and capabilities that it was not given."""

import struct
import subprocess

from attacking import C, attempt, ctypes, forbidden, os, outside, syscall

for name, action, *ids in (("uid", os.setuid, 0), ("gid", os.setgid, 0), ("resuid", os.setresuid, 0, 0, 0),
                           ("groups", os.setgroups, [0]), ("other", os.setresuid, 1, 1, 1)):  # fmt: skip
    forbidden(name, action, *ids)
if os.getuid() == 0 or os.geteuid() == 0 or 0 in os.getgroups():
    print("ESCAPED it is root")
attempt("capabilities", syscall, "capset", struct.pack("Ii", 0x20080522, 0), b"\xff\xff\xff\xff" * 6)
held = ctypes.create_string_buffer(24)
C.capget(struct.pack("Ii", 0x20080522, 0), held)
if any(held.raw):
    print("ESCAPED capabilities", held.raw.hex())
if outside["uid"] == 0 and any(C.prctl(23, number, 0, 0, 0) == 1 for number in range(41)):
    print("ESCAPED bounding set")
if C.prctl(47, 2, 21, 0, 0) == 0:
    print("ESCAPED ambient set")
if C.prctl(39, 0, 0, 0, 0) != 1 or C.prctl(38, 0, 0, 0, 0) == 0:
    print("ESCAPED new privileges")
if C.prctl(21, 0, 0, 0, 0) != 2:
    print("ESCAPED no filter")
for program in ("su", "sudo", "mount", "newgrp", "passwd"):
    try:
        done = subprocess.run(
            [program, "-c", "id"], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=1
        )
        print(done.stdout, done.stderr)
        if b"uid=0" in done.stdout:
            print("ESCAPED by", program)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(program, error)
