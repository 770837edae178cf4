"""File systems put in place or taken away, by the old calls and the new ones."""

from attacking import forbidden, os, outside, syscall

os.makedirs("m", exist_ok=True)
forbidden("tmpfs", syscall, "mount", b"tmpfs", b"m", b"tmpfs", 0, 0)
forbidden("proc", syscall, "mount", b"proc", b"m", b"proc", 0, 0)
forbidden("bind", syscall, "mount", b"/", b"m", 0, 0x1000 | 0x4000, 0)
forbidden("writable", syscall, "mount", 0, b"/usr", 0, 0x20 | 0x1000, 0)
forbidden("writable root", syscall, "mount", 0, b"/", 0, 0x20, 0)
forbidden("uncover proc", syscall, "umount2", b"/proc", 2)
forbidden("uncover tmp", syscall, "umount2", b"/tmp", 2)
forbidden("uncover here", syscall, "umount2", os.fsencode(os.getcwd()), 2)
forbidden("fsopen", syscall, "fsopen", b"tmpfs", 0)
forbidden("fspick", syscall, "fspick", -100, b"/", 0)
forbidden("open_tree", syscall, "open_tree", -100, b"/", 1)
forbidden("move_mount", syscall, "move_mount", -100, b"/usr", -100, b"m", 0)
forbidden("setattr", syscall, "mount_setattr", -100, b"/usr", 0, bytes(32), 32)
forbidden("pivot", syscall, "pivot_root", b".", b"m")
forbidden("chroot", os.chroot, ".")
forbidden("chroot back", os.chroot, "/proc/1/root")
print(outside["tag"])
