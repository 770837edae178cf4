"""A web server on loopback that answers with whatever bytes a test wants, and remembers what it was asked."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Answer = bytes | Callable[[socket.socket], None]


class Site:
    """`pages` by path, without the query; `asked` are the requests as they came."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.pages: dict[str, Answer] = {}
        self.asked: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            if self._tls is None:
                self._talk(connection)
                return
            with self._tls.wrap_socket(connection, server_side=True) as secure:
                self._talk(secure)

    def _talk(self, connection: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            got = connection.recv(4096)
            if not got:
                return
            head += got
        self.asked.append(head.decode("latin-1"))
        path = head.split(b" ", 2)[1].decode().partition("?")[0]
        answer = self.pages.get(path, answered(b"", status="404 Not Found"))
        if isinstance(answer, bytes):
            connection.sendall(answer)
        else:
            answer(connection)


def answered(
    body: bytes, kind: str | None = "text/plain; charset=utf-8", status: str = "200 OK", **headers: str
) -> bytes:
    lines = {"content_length": str(len(body)), **({"content_type": kind} if kind else {}), **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


def moved(location: str, status: str = "302 Found") -> bytes:
    return answered(b"", status=status, location=location)


@contextmanager
def open_site(tls: ssl.SSLContext | None = None) -> Iterator[Site]:
    site = Site(tls)
    try:
        yield site
    finally:
        site.close()
