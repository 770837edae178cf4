"""TCP to a listener on this machine, by every way to say it."""

import socket
import urllib.request

from attacking import attempt, forbidden, outside


def ask(address, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_STREAM) as talk:
        talk.settimeout(0.5)
        talk.connect(address)
        return talk.recv(1000)


def fast():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as talk:
        return talk.sendto(b"hello", 0x20000000, ("127.0.0.1", outside["tcp"]))


attempt("4", ask, ("127.0.0.1", outside["tcp"]))
attempt("0", ask, ("0.0.0.0", outside["tcp"]))
attempt("6", ask, ("::1", outside["tcp"]), socket.AF_INET6)
attempt("mapped", ask, ("::ffff:127.0.0.1", outside["tcp"]), socket.AF_INET6)
attempt("fast open", fast)
attempt("http", lambda: urllib.request.urlopen(f"http://127.0.0.1:{outside['tcp']}/", timeout=0.5).read())
forbidden("listen", lambda: socket.create_server(("127.0.0.1", 0)))
