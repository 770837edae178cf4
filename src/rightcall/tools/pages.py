"""One page: asked for, redirects followed, all of it within one limit of time and one of size.

Over our own HTTP client (`base/http/client.py`): no cookies, no credentials, no proxies of the environment, one
connection for each request.
"""

import asyncio
import re
import ssl
import zlib
from collections.abc import Coroutine
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final, TypeVar
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from rightcall.base.http.answers import CLOSER, Address, Fault, HttpError, header_of
from rightcall.base.http.client import Incoming, Request, exchange, look_up
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure
from rightcall.policy.commands import UrlRules
from rightcall.policy.commands.judgement import judge_url
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.urls import Address as JudgedAddress
from rightcall.policy.commands.urls import canonical_host, first_url_hit, unquote
from rightcall.policy.settings import WebSettings

# ── targets ──
# Where an address leads: spelled in one way, looked up once, and refused where it leads into a network of one's own.
#
# What is judged is what is connected to. A name is looked up once, each of its addresses is judged, and the connection
# goes to one of those that passed; so a name that changes its address in between gains nothing. Addresses that carry
# another one inside (IPv4 in IPv6, NAT64) are judged by both.

Ip = IPv4Address | IPv6Address
LONGEST_URL: Final = 4000

_NO_INTERNET: Final = {
    "0.0.0.0/8": "this host", "10.0.0.0/8": "private", "100.64.0.0/10": "shared", "127.0.0.0/8": "loopback",
    "168.63.129.16/32": "cloud metadata", "169.254.0.0/16": "link-local", "172.16.0.0/12": "private",
    "192.0.0.0/24": "reserved", "192.0.2.0/24": "reserved", "192.88.99.0/24": "reserved", "192.168.0.0/16": "private",
    "198.18.0.0/15": "reserved", "198.51.100.0/24": "reserved", "203.0.113.0/24": "reserved",
    "224.0.0.0/4": "multicast", "240.0.0.0/4": "reserved",
    "::/128": "this host", "::1/128": "loopback", "fe80::/10": "link-local", "fec0::/10": "private",
    "fc00::/7": "private", "ff00::/8": "multicast", "2001::/23": "reserved", "2001:db8::/32": "reserved",
    "2002::/16": "reserved", "3fff::/20": "reserved",
}  # fmt: skip
"""What is not part of the public internet, or leads through a tunnel to where nobody can tell, and its name."""
_UNICAST = IPv6Network("2000::/3")
"""The only part of IPv6 that is given out at all."""
_NAT64 = IPv6Network("64:ff9b::/96")
"""How IPv6-only networks name addresses of the old internet."""
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)\Z")
_NUMBER = re.compile(r"\d+\Z|0x[0-9a-f]*\Z")
_UNFIT = re.compile(r"[^\x21-\x7e]|[\"<>\\^`{|}]")
_PORTS: Final = {"http": 80, "https": 443}


class Target(Struct, frozen=True):
    """An address as it is asked for: its host in one spelling, a port, and what stands behind it."""

    host: str
    port: int
    secure: bool
    path: str
    """With the query."""

    @property
    def address(self) -> Address:
        return Address(self.host, self.port, self.secure, "")

    def __str__(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.address.authority}{self.path}"


def read_target(url: str) -> Target:
    """The parts of a whole http or https address. Raises ToolFailure, which never repeats it: it may hold a key."""
    if len(url) > LONGEST_URL:
        raise ToolFailure(f"`url` has {len(url):,} characters. Pass at most {LONGEST_URL:,}.")
    text = url.strip().partition("#")[0]
    if any(character.isspace() or not character.isprintable() for character in text) or "\\" in text:
        raise ToolFailure("`url` holds blanks, control characters or backslashes. Percent-encode them.")
    try:
        parts = urlsplit(text)
        port, name = parts.port, parts.hostname or ""
    except ValueError:
        raise ToolFailure(_WRONG) from None
    if parts.scheme not in _PORTS:
        raise ToolFailure(_WRONG)
    if "@" in parts.netloc:
        raise ToolFailure("`url` holds a user name or password. Pass the address without them.")
    if port == 0 or not name:
        raise ToolFailure(_WRONG)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(_host(name), port or _PORTS[parts.scheme], parts.scheme == "https", _UNFIT.sub(_quoted, path))


_WRONG = "`url` must be a whole address that begins with http:// or https://, e.g. https://example.org/page."


def _quoted(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace"))


def _host(name: str) -> str:
    """In lower case, without a dot at its end; a number in any notation (octal, hexadecimal, fewer parts) as it is
    usual. What only looks like one is refused: the system might read it as another."""
    if ":" in name:
        try:
            return str(IPv6Address(name if "%" not in name else ""))  # a zone would name a network card
        except ValueError:
            raise ToolFailure(_WRONG) from None
    if any(sign.isspace() or not sign.isprintable() for sign in unquote(name)):
        raise ToolFailure(_WRONG)
    host = canonical_host(name)
    labels = host.split(".")
    if ":" in host or len(host) > 253 or not all(map(_LABEL.match, labels)):
        raise ToolFailure(_WRONG)
    if _NUMBER.match(labels[-1]) and not _is_ipv4(host):
        raise ToolFailure(_WRONG)
    return host


def _is_ipv4(host: str) -> bool:
    try:
        IPv4Address(host)
    except ValueError:
        return False
    return True


# ── what may be reached ───────────────────────────────────────────────────────────────────────────────────────────────


class Rules(Struct, frozen=True):
    """What the policy says of addresses: `[web]` and `[policy.urls]`."""

    web: WebSettings
    urls: UrlRules
    root: str = "/"

    def check_target(self, target: Target, *, redirected: bool) -> None:
        """Raises ToolFailure for a target that the policy keeps from being fetched. The target of a call was judged by
        `[policy.urls]` when the call was, as it was written, and a person may have allowed what asks; what is denied is
        so in the spelling that is fetched too. The target of a redirect was not judged at all."""
        if 0 not in self.web.ports and target.port not in self.web.ports:
            raise ToolFailure(f"Port {target.port} may not be fetched from. Use another address.")
        written = _judged(target, target.host)
        if self.web.sites and first_url_hit(self.web.sites, written, surely=True) is None:
            raise ToolFailure(f"{_named(target)} is not among the sites that may be fetched. Use another site.")
        answer = judge_url(str(target), self.urls, Place.at(self.root)).answer
        if redirected and answer != "allow":
            raise ToolFailure(f"The page redirects to {_named(target)}, which may not be fetched.")
        if answer == "deny":
            raise ToolFailure(f"{_named(target)} may not be fetched. Use another site.")

    async def reachable(self, target: Target) -> list[str]:
        """Those addresses of a target that may be connected to, from one look-up. Raises ToolFailure where there is
        none."""
        found: list[str] = []
        with suppress(OSError, UnicodeError):
            found = await look_up(target.host, target.port)
        addresses = [self._usable(target, one) for one in found]
        usable = [one for one in addresses if one is not None]
        if not usable:
            raise ToolFailure(  # the same for a name that does not exist: names of a private network are its own
                f"{_named(target)} is not a public internet address, or does not exist. Check the name. Addresses of "
                "private networks may not be fetched."
            )
        return usable

    def _usable(self, target: Target, found: str) -> str | None:
        ip = ip_address(found.partition("%")[0])
        meanings = meanings_of(ip)
        for host in {str(one) for one in (ip, *meanings)}:
            if first_url_hit(self.urls.deny, _judged(target, host)) is not None:
                return None
        return str(ip) if all(self._may_be_reached(one) for one in meanings) else None

    def _may_be_reached(self, ip: Ip) -> bool:
        allowed = any(ip in network for network in _networks(self.web.networks) if network.version == ip.version)
        return allowed or why_not_public(ip) is None


def _judged(target: Target, host: str) -> JudgedAddress:
    return JudgedAddress("https" if target.secure else "http", host, target.port, target.path)


def _named(target: Target) -> str:
    return escaped(target.address.authority, 100)


@lru_cache(8)
def _networks(texts: tuple[str, ...]) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(ip_network(text) for text in texts)


def meanings_of(ip: Ip) -> tuple[Ip, ...]:
    """Every address that a connection to this one may reach.

    >>> meanings_of(ip_address("::ffff:127.0.0.1")), meanings_of(ip_address("64:ff9b::a00:1"))
    ((IPv4Address('127.0.0.1'),), (IPv4Address('10.0.0.1'),))
    """
    if isinstance(ip, IPv4Address):
        return (ip,)
    if ip.ipv4_mapped is not None:
        return (ip.ipv4_mapped,)
    inner = IPv4Address(int(ip) & 0xFFFFFFFF)
    if ip in _NAT64:
        return (inner,)
    if int(ip) >> 32 in (0, 0xFFFF << 16) and int(ip) > 0xFFFF:  # old forms of the same
        return ip, inner
    if (int(ip) >> 32) & 0xFDFFFFFF == 0x00005EFE:  # ISATAP
        return ip, inner
    return (ip,)


def why_not_public(ip: Ip) -> str | None:
    """What an address is that is not part of the public internet; None for one that is.

    >>> why_not_public(ip_address("10.1.2.3")), why_not_public(ip_address("93.184.216.34"))
    ('private', None)
    """
    for network, name in _known():
        if network.version == ip.version and ip in network:
            return name
    return "reserved" if isinstance(ip, IPv6Address) and ip not in _UNICAST else None


@lru_cache(1)
def _known() -> tuple[tuple[IPv4Network | IPv6Network, str], ...]:
    return tuple((ip_network(text), name) for text, name in _NO_INTERNET.items())


T = TypeVar("T")

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
        async with exchange(target.address, request, trust() if target.secure else None, at) as response:
            if response.status in (301, 302, 303, 307, 308) and (moved := header_of(response.headers, b"location")):
                return moved.decode("latin-1")
            if response.status != 200:
                raise server.status(response.status)
            kind = header_of(response.headers, b"content-type").decode("latin-1")
            return Page(target, kind, await _body(server, response))
    except HttpError as error:
        raise server.failed(error.fault) from None


@lru_cache(1)
def trust() -> ssl.SSLContext:
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
