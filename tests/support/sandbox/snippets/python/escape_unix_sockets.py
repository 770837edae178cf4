"""Sockets of this machine, by path and by abstract name, also by way of a pair that is already connected."""

import socket

from attacking import attempt, ctypes, os, outside, syscall


def ask(address, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as talk:
        talk.settimeout(0.5)
        talk.connect(address)
        talk.send(b"out")
        return talk.recv(1000)


def by_pair(address, kind):
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    with ours, theirs:
        return ours.sendto(b"out", address)


def raw_pair(address, kind):
    pair = (ctypes.c_int * 2)()
    syscall("socketpair", 1, kind, 0, pair)
    name = b"\1\0" + os.fsencode(address)
    return syscall("sendto", pair[0], b"out", 3, 0, name, len(name))


for path in (
    outside["unix"],
    outside["unix_datagram"],
    "\0" + outside["abstract"],
    "\0" + outside["abstract_datagram"],
):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        attempt(f"{path!r} {kind.name}", ask, path, kind)
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        attempt(f"{path!r} pair {kind.name}", by_pair, path, kind)
        attempt(f"{path!r} raw pair {kind.name}", raw_pair, path, kind | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
