"""One page: asked for, redirects followed, all of it within one limit of time and one of size.

Over our own HTTP client (`base/http/client.py`): no cookies, no credentials, no proxies of the environment, one
connection for each request.
"""

import asyncio
import ssl
import zlib
from collections.abc import Coroutine
from functools import lru_cache
from typing import Any, Final, TypeVar
from urllib.parse import urljoin

from msgspec import Struct

from rightcall.base.http.addresses import header_of
from rightcall.base.http.client import Incoming, Request, exchange
from rightcall.base.http.errors import CLOSER, Fault, HttpError
from rightcall.errors import ToolFailure
from rightcall.text.escape import escaped
from rightcall.web.targets import Rules, Target, read_target

T = TypeVar("T")

_MOVED: Final = frozenset((301, 302, 303, 307, 308))
_PACKED: Final = {b"gzip": 31, b"x-gzip": 31, b"deflate": 47}
"""How zlib is told to unpack each; 47: with a head or without."""
_UNPACKED: Final = frozenset((b"identity", *_PACKED))


class StatusFailure(ToolFailure):
    """The server answered, with another status than 200."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Server(Struct, frozen=True):
    """The server that is asked, and what to say when that fails."""

    target: Target
    most: int

    def _failure(self, what: str) -> ToolFailure:
        return ToolFailure(f"{escaped(self.target.address.authority, 100)} {what}")

    def failed(self, fault: Fault) -> ToolFailure:
        match fault.code:
            case "unnamed":
                return self._failure("cannot be found. Check the name.")
            case "untrusted":
                return self._failure("has no valid certificate, or speaks no TLS.")
            case "unreachable":
                return self._failure(f"cannot be reached ({escaped(fault.told, 80)}).")
            case "large":
                return self._failure(f"sent {fault.told} of more than {fault.most:,} bytes, which is too much.")
            case "status":  # one that HTTP does not have
                return self.failed(Fault("not http"))
            case _:
                return self._failure(f"{fault.describe(CLOSER)}.")

    def status(self, status: int) -> ToolFailure:
        return StatusFailure(str(self._failure(f"answered with the status {status}.")), status)


class Page(Struct, frozen=True):
    """What came back."""

    target: Target
    content_type: str
    """As the server says it; empty where it does not."""
    body: bytes
    redirects: tuple[str, ...] = ()
    """The addresses before the last one."""


async def fetch_page(url: str, rules: Rules, accept: str) -> Page:
    """Raises ToolFailure."""
    return await within(rules.web.seconds, _followed(read_target(url), rules, accept))


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """What comes of the work, all of which has so many seconds."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await work
    except TimeoutError:
        if limit.expired():
            raise ToolFailure(f"No whole answer came within {seconds:g} s.") from None
        raise


async def _followed(target: Target, rules: Rules, accept: str) -> Page:
    passed: list[str] = []
    while True:
        rules.check_target(target, redirected=bool(passed))
        at = await rules.reachable(target)
        found = await ask_server(target, at, rules.web.bytes, accept)
        if isinstance(found, Page):
            return Page(found.target, found.content_type, found.body, tuple(passed))
        passed.append(str(target))
        if len(passed) > rules.web.redirects:
            raise ToolFailure(f"The page redirects more than {rules.web.redirects} times.")
        target = _next(target, found)


def _next(target: Target, location: str) -> Target:
    try:
        return read_target(urljoin(str(target), location.strip()))
    except (ToolFailure, ValueError):
        raise ToolFailure("The page redirects to an address that may not be fetched.") from None


async def ask_server(target: Target, at: list[str], most: int, accept: str) -> Page | str:
    """A page, or where it has moved to. `at` are the addresses that may be connected to."""
    server = Server(target, most)
    headers = [(b"user-agent", b"rightcall"), (b"accept", accept.encode("ascii")), (b"accept-encoding", b"identity")]
    request = Request("GET", target.path, headers, most=most, unpacks=_UNPACKED)
    try:
        async with exchange(target.address, request, _trust() if target.secure else None, at) as response:
            if response.status in _MOVED and (moved := header_of(response.headers, b"location")):
                return moved.decode("latin-1")
            if response.status != 200:
                raise server.status(response.status)
            kind = header_of(response.headers, b"content-type").decode("latin-1")
            return Page(target, kind, await _body(server, response))
    except HttpError as error:
        raise server.failed(error.fault) from None


@lru_cache(1)
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()


async def _body(server: Server, response: Incoming) -> bytes:
    """Unpacked as it comes, so that never more than the limit is held."""
    packing = header_of(response.headers, b"content-encoding").lower()
    if packing in (b"", b"identity"):
        return await response.read_all()
    unpacking = zlib.decompressobj(_PACKED[packing])
    pieces: list[bytes] = []
    room = server.most
    try:
        while piece := await response.read():
            while piece and not unpacking.eof:
                found = unpacking.decompress(piece, room + 1)
                room -= len(found)
                if room < 0:
                    raise server.failed(Fault("large", "an answer", most=server.most))
                pieces.append(found)
                piece = unpacking.unconsumed_tail
    except zlib.error:
        raise server.failed(Fault("other", "sent a compressed answer that cannot be unpacked")) from None
    if not unpacking.eof:
        raise server.failed(Fault("half body"))
    return b"".join(pieces)
