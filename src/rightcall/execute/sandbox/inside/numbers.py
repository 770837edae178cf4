"""The numbers of the system calls that the filter knows, for x86-64 and for aarch64; None where there is no such call.
The two share all numbers from 424 on."""

from __future__ import annotations

X32 = 0x40000000
"""Calls of the x32 world carry this bit; they come with the same architecture."""
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NEWEST = 463
"""The first number that is not known here. Whatever comes later did not exist when the rules were made."""

NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198), "connect": (42, 203), "accept": (43, 202), "bind": (49, 200), "listen": (50, 201),
    "accept4": (288, 242), "socketpair": (53, 199), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "kcmp": (312, 272), "pidfd_getfd": (438, 438), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "statmount": (457, 457), "listmount": (458, 458), "unshare": (272, 97), "setns": (308, 268), "clone": (56, 220),
    "clone3": (435, 435), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "seccomp": (317, 277), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262), "fanotify_mark": (301, 263), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "sethostname": (170, 161), "setdomainname": (171, 162), "syslog": (103, 116),
    "vhangup": (153, 58), "lookup_dcookie": (212, 18), "nfsservctl": (180, 42), "iopl": (172, None),
    "ioperm": (173, None), "modify_ldt": (154, None), "uselib": (134, None), "ustat": (136, None),
    "sysfs": (139, None), "_sysctl": (156, None), "create_module": (174, None), "get_kernel_syms": (177, None),
    "query_module": (178, None), "personality": (135, 92), "mknod": (133, None), "mknodat": (259, 33),
    "ioctl": (16, 29), "mbind": (237, 235), "set_mempolicy": (238, 237), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "set_mempolicy_home_node": (450, 450), "remap_file_pages": (216, 234),
    "vmsplice": (278, 75), "cachestat": (451, 451), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195),
    "shmdt": (67, 197), "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192),
    "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180),
    "mq_unlink": (241, 181), "mq_timedsend": (242, 182), "mq_timedreceive": (243, 183), "mq_notify": (244, 184),
    "mq_getsetattr": (245, 185), "sched_setscheduler": (144, 119), "sched_setattr": (314, 274),
    "sched_setparam": (142, 118), "sched_setaffinity": (203, 122), "setpriority": (141, 140), "ioprio_set": (251, 30),
    "prlimit64": (302, 261), "inotify_add_watch": (254, 27), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "fcntl": (72, 25), "chmod": (90, None),
    "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "truncate": (76, 45),
    "fchmod": (91, 52), "fchown": (93, 55), "fsetxattr": (190, 7), "fremovexattr": (199, 16),
    "lsm_set_self_attr": (460, 460), "fallocate": (285, 47),
}  # fmt: skip
