"""Who may use the server: pages in a browser may not, and nobody without the token.

**The token** is the first part of the path, so that it fits into any client's base URL (`http://127.0.0.1:4141/TOKEN/v1`),
or the header `x-rightcall-token`: `Authorization` belongs to the upstream. The application behind never sees it in a
path.

**Host** must name this machine: a page whose name is made to point here (DNS rebinding) sends its own. **Origin**,
which only browsers send, must be that same host. Others are allowed by name.
"""

import logging
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe
from time import monotonic
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from rightcall.errors import ConfigError
from rightcall.serve.refusals import Reason, send_error
from rightcall.text.addresses import is_loopback

_log = logging.getLogger("rightcall")

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,200}", re.ASCII)
_QUIET_SECONDS = 60.0
_FREE = frozenset({"/health"})


def new_token() -> str:
    """A token nobody can guess, of characters that need no quoting in a path."""
    return token_urlsafe(24)


class Access:
    """What is let in. `token=None` is `--open`: everybody on this machine.

    `bound_to` is the address the server listens on; `host_names` are further names (`name` or `name:port`) under which
    it is reached, `origins` the pages that may use it (`https://chat.example.com`).
    """

    def __init__(
        self, token: str | None, *, bound_to: str, host_names: Sequence[str] = (), origins: Sequence[str] = ()
    ) -> None:
        if token is None and not is_loopback(bound_to):
            raise ConfigError("--open: only on this machine itself; leave --host at 127.0.0.1, or use the token")
        if token is not None and not _TOKEN.fullmatch(token):
            raise ConfigError("RIGHTCALL_TOKEN: 16 to 200 letters, digits, - and _; leave it out and one is made")
        self.token = token
        self.host_names = frozenset(_checked_name(name) for name in host_names)
        self.origins = frozenset(_checked_origin(origin) for origin in origins)
        self._digest = b"" if token is None else _digest(token.encode())
        self.is_host = lru_cache(maxsize=256)(self._is_host)  # asked with every request, and always the same

    def is_token(self, given: bytes) -> bool:
        """Takes as long for a wrong one as for the right one, whatever their lengths: digests are compared."""
        return self.token is not None and compare_digest(_digest(given), self._digest)

    def _is_host(self, host: str, server: tuple[str, int] | None) -> bool:
        """Whether a Host header names us; `server` is the address and port that the request came in by."""
        if (parts := _HOST.fullmatch(host)) is None:
            return False
        name, port = parts[1].strip("[]").lower(), int(parts[2] or 80)
        if name in self.host_names or f"{name}:{port}" in self.host_names:
            return True
        return server is not None and port == server[1] and (is_loopback(name) or name == server[0])

    def is_origin(self, origin: str, host: str) -> bool:
        lowered = origin.lower()
        return lowered in self.origins or lowered in (f"http://{host.lower()}", f"https://{host.lower()}")


def _digest(token: bytes) -> bytes:
    return sha256(token).digest()


def _checked_name(name: str) -> str:
    parts = _HOST.fullmatch(name)
    if parts is None:
        raise ConfigError("--host-name: a name such as models.lan, or with its port, models.lan:8080")
    bare = parts[1].strip("[]").lower()
    return f"{bare}:{int(parts[2])}" if parts[2] else bare


def _checked_origin(origin: str) -> str:
    parts = urlsplit(origin)
    if not parts.scheme or not parts.netloc or parts.path or parts.query or parts.fragment:
        raise ConfigError("--origin: scheme and host of a page, such as https://chat.example.com, and no path")
    return origin.lower()


class Guard:
    """The middleware. `refused` hears why somebody was sent away."""

    def __init__(self, app: ASGIApp, access: Access, refused: Callable[[Reason], None] = lambda _: None) -> None:
        self._app = app
        self._access = access
        self._refused = refused
        self._wrong = 0
        self._told_at = -_QUIET_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        complaint = self._complaint(scope)
        if complaint is None and not self._enter(scope):
            complaint = (401, "wrong_token", _NO_TOKEN)
            self._tell()
        if complaint is None:
            await self._app(scope, receive, send)
        else:
            self._refused(complaint[1])
            await send_error(send, *complaint)

    def _complaint(self, scope: Scope) -> tuple[int, Reason, str] | None:
        hosts: list[bytes] = []
        origins: list[bytes] = []
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value)
            elif name == b"origin":
                origins.append(value)
        host = hosts[0].decode("latin-1") if len(hosts) == 1 else ""
        if not self._access.is_host(host, scope.get("server")):
            return 403, "foreign_host", _FOREIGN_HOST
        if any(not self._access.is_origin(origin.decode("latin-1"), host) for origin in origins):
            return 403, "foreign_origin", _FOREIGN_ORIGIN
        if self._access.token is None and not _is_local(scope):
            return 403, "not_local", "without a token the server answers this machine only"
        return None

    def _enter(self, scope: Scope) -> bool:
        """Whether the token is right, or none is needed; takes it off the path."""
        access = self._access
        if access.token is None:
            return True
        raw: bytes = scope["raw_path"]
        first, slash, rest = raw[1:].partition(b"/")
        if access.is_token(first):
            scope["raw_path"] = slash + rest or b"/"
            scope["path"] = scope["path"][len(first) + 1 :] or "/"  # its characters need no quoting
            return True
        if scope["path"] in _FREE:
            return True
        given = [value for name, value in scope["headers"] if name == b"x-rightcall-token"]
        return len(given) == 1 and access.is_token(given[0])

    def _tell(self) -> None:
        """Once a minute at most: whoever guesses tokens shall not fill the disk with it."""
        self._wrong += 1
        if (now := monotonic()) - self._told_at >= _QUIET_SECONDS:
            _log.warning("requests without the right token: %d since the last such line", self._wrong)
            self._wrong, self._told_at = 0, now


def _is_local(scope: Scope) -> bool:
    ends = (scope.get("server"), scope.get("client"))
    return all(end is not None and is_loopback(end[0]) for end in ends)


_NO_TOKEN = (
    "the access token is missing or wrong: `rightcall serve` prints the base URL with it when it starts "
    "(http://HOST:PORT/TOKEN/v1), or send it as the header x-rightcall-token"
)
_FOREIGN_HOST = (
    "the Host header does not name this server: use the address that it prints when it starts, "
    "or start it with --host-name and the name you use"
)
_FOREIGN_ORIGIN = "pages of other origins may not use this server: start it with --origin and the page's origin"
