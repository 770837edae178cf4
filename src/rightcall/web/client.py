"""One page: asked for, redirects followed, all of it within one limit of time and one of size.

Over the client that asks models (`models/endpoint_http.py`): no cookies, no credentials, no proxies of the environment,
one connection for each request.
"""

import asyncio
import ssl
import zlib
from collections.abc import Coroutine, Mapping
from functools import lru_cache
from typing import Any, Final, TypeVar
from urllib.parse import urljoin

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.models.endpoint_http import Response, exchanged
from rightcall.text.addresses import Address
from rightcall.text.escape import escaped
from rightcall.web.targets import Rules, Target, read_target

T = TypeVar("T")

_MOVED: Final = frozenset((301, 302, 303, 307, 308))
_PACKED: Final = {"gzip": 31, "x-gzip": 31, "deflate": 47}
"""How zlib is told to unpack each; 47: with a head or without."""


class StatusFailure(ToolFailure):
    """The server answered, with another status than 200."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Server(Struct, frozen=True):
    """The server that is asked, and what to say when that fails (`endpoint_http.Asked`)."""

    target: Target
    most: int
    unpacks: frozenset[str] = frozenset(("identity", *_PACKED))

    @property
    def address(self) -> Address:
        return self.target.address

    def _failure(self, what: str) -> ToolFailure:
        return ToolFailure(f"{escaped(self.address.authority, 100)} {what}")

    def not_found(self) -> ToolFailure:
        return self._failure("cannot be found. Check the name.")

    def not_http(self) -> ToolFailure:
        return self._failure("did not answer in HTTP.")

    def unreachable(self, why: OSError) -> ToolFailure:
        if isinstance(why, ssl.SSLError):
            return self._failure("has no valid certificate, or speaks no TLS.")
        return self._failure(f"cannot be reached ({escaped(why.strerror or type(why).__name__, 80)}).")

    def too_large(self, what: str, most: int) -> ToolFailure:
        return self._failure(f"sent {what} of more than {most:,} bytes, which is too much.")

    def broken(self, what: str) -> ToolFailure:
        return self._failure(f"{what}.")

    def status(self, status: int) -> ToolFailure:
        return StatusFailure(str(self._failure(f"answered with the status {status}.")), status)


class Page(Struct, frozen=True):
    """What came back. Names of headers are in lower case."""

    target: Target
    headers: Mapping[str, str]
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
            return Page(found.target, found.headers, found.body, tuple(passed))
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
    head = (
        f"GET {target.path} HTTP/1.1\r\nhost: {target.address.authority}\r\nconnection: close\r\n"
        f"user-agent: rightcall\r\naccept: {accept}\r\naccept-encoding: identity\r\n\r\n"
    )
    async with exchanged(server, head.encode("ascii"), b"", _trust() if target.secure else None, at) as response:
        if response.status in _MOVED and "location" in response.headers:
            return response.headers["location"]
        if response.status != 200:
            raise server.status(response.status)
        return Page(target, response.headers, await _body(server, response))


@lru_cache(1)
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()


async def _body(server: Server, response: Response) -> bytes:
    """Unpacked as it comes, so that never more than the limit is held."""
    packing = response.headers.get("content-encoding", "identity").lower()
    if packing == "identity":
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
                    raise server.too_large("an answer", server.most)
                pieces.append(found)
                piece = unpacking.unconsumed_tail
    except zlib.error:
        raise server.broken("sent a compressed answer that cannot be unpacked") from None
    if not unpacking.eof:
        raise server.broken("broke off in the middle of its answer")
    return b"".join(pieces)
