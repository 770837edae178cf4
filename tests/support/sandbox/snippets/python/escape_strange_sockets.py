"""Families of sockets that firewalls forget."""

import socket

from attacking import forbidden

forbidden("raw", socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)
forbidden("ping", socket.socket, socket.AF_INET, socket.SOCK_DGRAM, 1)
for name, family, kind in (
    ("netlink", 16, 3), ("packet", 17, 3), ("vsock", 40, 1), ("alg", 38, 5), ("bluetooth", 31, 3), ("can", 29, 3),
    ("tipc", 30, 2), ("xdp", 44, 3), ("key", 15, 3), ("rds", 21, 5), ("smc", 43, 1), ("unix", 1, 1), ("inet", 2, 1),
    ("inet6", 10, 1), ("qrtr", 42, 2), ("mctp", 45, 2), ("kcm", 41, 5), ("nfc", 39, 5),
):  # fmt: skip
    forbidden(name, socket.socket, family, kind, 0)
for family in (2, 10, 16, 40):
    forbidden(f"pair of {family}", socket.socketpair, family, 1, 0)
