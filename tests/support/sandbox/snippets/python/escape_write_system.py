"""The system and the interpreter, changed for whoever comes next."""

from attacking import forbidden, os, outside, sys

name = outside["tag"]
for folder in ("/", "/usr", "/usr/lib", "/usr/bin", "/bin", "/lib", "/etc", "/dev", "/proc", "/sys", "/opt", "/run", "/var",
               "/root", "/home", sys.prefix, sys.base_prefix, os.path.dirname(os.__file__),
               os.path.dirname(os.__file__) + "/site-packages", os.path.dirname(os.__file__) + "/__pycache__"):  # fmt: skip
    forbidden(folder, lambda path: open(path, "w").write("changed"), f"{folder}/{name}")
for path in ("/etc/passwd", "/etc/ld.so.cache", "/etc/hosts", sys.executable, os.__file__, "/usr/bin/env"):
    forbidden(path, os.open, path, os.O_WRONLY)
    forbidden(path, os.rename, path, path + ".old")
