"""A program that is in no file, and one that is read by the loader instead of being executed."""

import subprocess

from attacking import attempt, forbidden, os, outside, syscall


def from_memory():
    fd = syscall("memfd_create", b"program", 0)
    os.write(fd, b"#!/bin/cat " + os.fsencode(outside["secret"]))
    return subprocess.run([f"/proc/self/fd/{fd}"], pass_fds=[fd], capture_output=True, check=False).stdout


def shown(*command):
    return subprocess.run(command, capture_output=True, check=False).stdout


forbidden("memory", from_memory)
attempt("cat", shown, "/bin/cat", outside["secret"])
attempt("shell", shown, "/bin/sh", "-c", 'cat "$0"; ls -l "${0%/*}"; . "$0"', outside["secret"])
for loader in ("/lib/ld-linux-aarch64.so.1", "/lib64/ld-linux-x86-64.so.2"):
    attempt("loader", shown, loader, "/bin/cat", outside["secret"])
    attempt("loader of outside", shown, loader, outside["secret"])
open("script", "w").write(f"#!/bin/cat {outside['secret']}\n")
attempt("mode", os.chmod, "script", 0o777)
attempt("script", shown, os.path.abspath("script"))
attempt("outside program", shown, outside["program"])
