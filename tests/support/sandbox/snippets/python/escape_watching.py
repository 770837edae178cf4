"""What happens in folders outside, told by the kernel."""

from attacking import folder_of, forbidden, os, outside, syscall

watch = None
try:
    watch = syscall("inotify_init1", 0x800)
except OSError as error:
    print("inotify:", error.strerror)
if watch is not None:
    for path in (outside["drop"], outside["secret"], folder_of(outside["secret"])):
        forbidden(path, syscall, "inotify_add_watch", watch, os.fsencode(path), 0xFFF)
