"""Devices, made and opened."""

import stat

from attacking import forbidden, os

for name, kind, major, minor in (("mem", stat.S_IFCHR, 1, 1), ("kmsg", stat.S_IFCHR, 1, 11), ("disk", stat.S_IFBLK, 8, 0),
                                 ("loop", stat.S_IFBLK, 7, 0), ("null", stat.S_IFCHR, 1, 3)):  # fmt: skip
    forbidden(f"make {name}", os.mknod, name, kind | 0o666, os.makedev(major, minor))
for name in ("mem", "kmem", "port", "kmsg", "sda", "vda", "nvme0n1", "loop0", "loop-control", "kvm", "fuse", "net/tun", "ptmx",
             "pts/0", "tty", "tty0", "console", "hpet", "uinput", "vsock", "vhost-net", "mapper/control", "cpu_dma_latency",
             "watchdog", "rtc0", "dri/card0", "input/event0", "autofs", "userfaultfd", "snapshot", "btrfs-control"):  # fmt: skip
    forbidden(name, os.open, f"/dev/{name}", os.O_RDONLY | os.O_NONBLOCK)
