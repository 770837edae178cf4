"""A datagram out."""

import socket

from attacking import attempt, forbidden, outside

attempt("send", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"out", ("127.0.0.1", outside["udp"])))
attempt("six", lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"out", ("::1", outside["udp"])))
forbidden("name", socket.getaddrinfo, "rightcall.invalid", 80)
