"""Where secrets usually are. Of a folder above the interpreter only the way to it may be seen."""

import glob

from attacking import forbidden, os, read, sys

way = {word for prefix in (sys.prefix, sys.base_prefix, os.getcwd(), __file__) for word in prefix.split("/")}


def listed(path):
    names = set(os.listdir(path)) - way
    if not names:
        raise OSError(2, "nothing there")
    return names


for path in (
    "/etc/shadow", "/etc/sudoers", "/proc/kcore", "/proc/kallsyms", "/proc/1/environ", "/boot", "/var/log", "/root",
    "/home", "/run", "/srv", "/mnt", "/media", "/var", "/etc/ssh", "/etc/ssl/private", "/proc/keys",
):  # fmt: skip
    forbidden(path, listed if os.path.isdir(path) else read, path)
for pattern in (
    "/home/*/.ssh/*",
    "/root/.ssh/*",
    "/home/*/.aws/*",
    "/run/secrets/*",
    "/var/run/*.sock",
    "/var/lib/*/*",
):
    found = glob.glob(pattern)
    if found:
        print("ESCAPED", pattern, found[:3])
