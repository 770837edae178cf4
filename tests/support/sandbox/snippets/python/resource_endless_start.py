"""Becomes itself, again and again: there is always a new program to be stopped."""
# limits seconds

from taking import os

os.execv("/bin/sh", ["/bin/sh", "-c", 'exec "$0" -c "$1" "$0" "$1"', "/bin/sh", 'exec "$0" -c "$1" "$0" "$1"'])
