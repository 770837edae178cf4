"""Where secrets usually are."""

import glob

from attacking import forbidden, os, read

for path in ("/etc/shadow", "/etc/sudoers", "/proc/kcore", "/proc/kallsyms", "/proc/1/environ", "/boot", "/var/log", "/root",
             "/home", "/run", "/srv", "/mnt", "/media", "/var", "/etc/ssh", "/etc/ssl/private", "/proc/keys"):  # fmt: skip
    forbidden(path, os.listdir if os.path.isdir(path) else read, path)
for pattern in ("/home/*/.ssh/*", "/root/.*", "/home/*/.aws/*", "/run/secrets/*", "/var/run/*.sock", "/var/lib/*/*"):
    found = glob.glob(pattern)
    if found:
        print("ESCAPED", pattern, found[:3])
