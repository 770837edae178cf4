"""Folders opened without reading, relative names without a folder, handles instead of names."""

import ctypes
import struct

from attacking import attempt, folder_of, forbidden, os, outside, read, syscall

secret = outside["secret"]
for folder in ("/", "/tmp", folder_of(secret)):
    fd = attempt(f"O_PATH {folder}", os.open, folder, os.O_PATH)
    if fd is not None:
        attempt("below it", read, os.path.relpath(secret, folder), fd)
        attempt("into it", os.fchdir, fd)
        attempt("from there", read, os.path.relpath(secret, folder))
attempt("into its folder", os.chdir, folder_of(secret))
attempt("from there", read, os.path.basename(secret))
attempt("any descriptor", syscall, "openat", -1, os.fsencode(secret), 0, 0)
attempt("openat2", syscall, "openat2", -100, os.fsencode(secret), struct.pack("QQQ", 0, 0, 0), 24)
handle = ctypes.create_string_buffer(struct.pack("Ii", 120, 0) + bytes(120))
mount = ctypes.create_string_buffer(8)
forbidden("a handle", syscall, "name_to_handle_at", -100, os.fsencode(secret), handle, mount, 0)
forbidden("by a handle", syscall, "open_by_handle_at", -100, handle, 0)
