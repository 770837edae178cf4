"""Files in the folders that all programs may use must not be there afterwards."""

from attacking import attempt, os, outside

name = outside["tag"]
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/run/shm", "/dev/mqueue", os.path.expanduser("~")):
    attempt(folder, lambda path: open(path, "w").write("left behind"), f"{folder}/{name}")
