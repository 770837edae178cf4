"""It can see what it is and where: its own process, folder and user."""

import getpass
import os
import pathlib
import platform

print(os.getcwd() == str(pathlib.Path.home()) == os.environ["HOME"], os.access(".", os.W_OK), platform.system())
print(os.getpid() > 0, len(os.sched_getaffinity(0)) >= 1, os.umask(0o022) == 0o022)
try:
    getpass.getuser()
except (KeyError, OSError):
    pass
# > True True Linux
# > True True True
