"""The upstream's address, how a client's path is joined to it, and which headers travel with a request.

**Paths.** People write the upstream with or without `/v1`, and so do the clients' base URLs. Where the end of the one
is the beginning of the other it is taken once:

    upstream http://h            client /v1/models          →  /v1/models
    upstream http://h/v1         client /v1/models          →  /v1/models
    upstream http://h/api/v1     client /v1/models          →  /api/v1/models
    upstream http://h/v1         client /chat/completions   →  /v1/chat/completions

Ollama's own API, and what llama.cpp tells of itself, lie beside `/v1`, not below it, so a client's `/api/…` or `/props`
leaves the upstream's `/v1` away:

    upstream http://h/v1         client /api/chat           →  /api/chat

The client's bytes are never quoted anew: what it sent as `%2F` arrives as `%2F`. Nor are they resolved: a path that
climbs (`..`, however it is quoted) is refused where the upstream has a path that it could climb out of.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from rightcall.base.http.answers import Address, Fault, Headers, HttpError, read_address
from rightcall.base.http.client import Client, HttpLimits, Incoming
from rightcall.errors import CallError

if TYPE_CHECKING:
    from starlette.types import Message, Send

# ── browsers ──
# Requests of browsers: pages of other origins may not use the server, and nothing that it serves can become a page.
#
# The server may be an origin of its own in somebody's browser, and the upstream may be hostile. So an answer passes
# as what the APIs of models return, or as a file; headers that make a browser keep, load or go somewhere do not pass
# at all.
#
# A browser says by itself who asks (`Origin`) and what for (`Sec-Fetch-…`), and no page can change that. Pages that
# were allowed by name (`--allow-origin`) are answered as CORS wants it, by us: an upstream has no say in who may read
# our answers.

Header = tuple[bytes, bytes]
Found = Mapping[bytes, Sequence[bytes]]
"""The headers of a request that are looked at, by name in lower case."""

SITE, MODE, DEST = b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest"
METHOD, HEADERS, NETWORK = (
    b"access-control-request-method",
    b"access-control-request-headers",
    b"access-control-request-private-network",
)
READ: Final = frozenset((SITE, MODE, DEST, METHOD, HEADERS, NETWORK))

NEVER_A_PAGE: Final[tuple[Header, ...]] = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"sandbox; default-src 'none'; frame-ancestors 'none'"),
)
"""With every answer of the server: what it serves is data, whatever it looks like."""

_TYPES: Final = frozenset(
    (
        b"application/json", b"application/problem+json", b"application/vnd.api+json", b"application/json-seq",
        b"text/event-stream", b"application/x-ndjson", b"application/ndjson", b"application/jsonl",
        b"application/stream+json", b"text/plain", b"text/vtt", b"application/octet-stream",
        b"image/png", b"image/jpeg", b"image/webp", b"image/gif",
    )
)  # fmt: skip
"""What models' APIs return, and no browser runs: JSON, streams, transcripts, subtitles, files and pictures. No SVG:
that is a page."""
_FAMILIES: Final = (b"audio/", b"video/")
"""Speech and films."""
_FILE: Final[tuple[Header, ...]] = (
    (b"content-type", b"application/octet-stream"),
    (b"content-disposition", b"attachment"),
)
_ACTING: Final = frozenset(
    (
        b"set-cookie", b"set-cookie2", b"clear-site-data", b"service-worker-allowed", b"service-worker", b"refresh",
        b"link", b"alt-svc", b"content-location", b"report-to", b"reporting-endpoints", b"nel", b"accept-ch",
        b"critical-ch", b"content-security-policy", b"content-security-policy-report-only", b"x-content-type-options",
        b"x-frame-options", b"permissions-policy", b"feature-policy", b"document-policy", b"origin-agent-cluster",
        b"strict-transport-security", b"public-key-pins", b"sourcemap", b"x-sourcemap", b"speculation-rules",
        b"supports-loading-mode", b"activate-storage-access", b"timing-allow-origin", b"x-xss-protection",
        b"x-dns-prefetch-control", b"no-vary-search", b"use-as-dictionary", b"www-authenticate", b"authentication-info",
    )
)  # fmt: skip
"""Headers that act on a browser for a whole origin, which is ours and not the upstream's."""
_ACTING_FAMILIES: Final = (b"access-control-", b"cross-origin-", b"sec-")
_ELSEWHERE: Final = re.compile(rb"[\x00-\x20]*(?:[A-Za-z][A-Za-z0-9+.-]*:|[/\\]{2}|\\)")

_OWN_SITES: Final = frozenset((b"same-origin", b"none"))
_PREFLIGHT_SECONDS: Final = b"600"


def acts(name: bytes) -> bool:
    """Whether a header acts on a browser."""
    return name in _ACTING or name.startswith(_ACTING_FAMILIES)


def as_data(headers: list[Header]) -> list[Header]:
    """The headers of an upstream's answer, with a type that no browser runs, and no way out of this server. The body
    stays what it is."""
    types = 0
    is_safe = True
    for name, value in headers:
        if name == b"content-type":
            types += 1
            is_safe = is_safe and is_data(value)
        elif name == b"location" and is_elsewhere(value):
            return as_data([header for header in headers if header[0] != b"location"])
    if is_safe and types < 2:
        return headers
    own = (b"content-type", b"content-disposition")
    return [*(header for header in headers if header[0] not in own), *_FILE]


@lru_cache(maxsize=256)
def is_data(kind: bytes) -> bool:
    """Whether a `content-type` is one of a model's API. A comma would begin a second one, which browsers may prefer.

    >>> is_data(b"application/json; charset=utf-8"), is_data(b"text/html"), is_data(b"application/json;,text/html")
    (True, False, False)
    """
    name = kind.partition(b";")[0].strip().lower()
    return (name in _TYPES or name.startswith(_FAMILIES)) and b"," not in kind and kind.isascii()


def is_elsewhere(location: bytes) -> bool:
    """Whether a redirect leaves this server.

    >>> is_elsewhere(b"/v1/models"), is_elsewhere(b"https://example.com/"), is_elsewhere(b"//example.com/")
    (False, True, True)
    """
    return _ELSEWHERE.match(location) is not None or any(byte < 0x20 for byte in location)


def is_foreign(found: Found) -> bool:
    """Whether another site's page asks, as the browser tells; where nobody tells, no browser of today asks."""
    return SITE in found and any(site not in _OWN_SITES for site in found[SITE])


def is_navigation(found: Found) -> bool:
    """Whether the answer would be shown, embedded or run, and not merely read by a program."""
    if MODE in found and b"navigate" in found[MODE]:
        return True
    return DEST in found and any(dest != b"empty" for dest in found[DEST])


def is_preflight(method: str, found: Found) -> bool:
    return method == "OPTIONS" and METHOD in found


def readable_by(origin: bytes) -> list[Header]:
    """The headers that let a page of this origin read an answer."""
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", b"*"),
        (b"vary", b"origin"),
    ]


def preflight_answer(found: Found) -> list[Header]:
    """What an allowed page may send: a preflight carries no token, and the request that follows it must."""
    allowed = [
        (b"access-control-allow-methods", found[METHOD][0]),
        (b"access-control-max-age", _PREFLIGHT_SECONDS),
    ]
    if HEADERS in found:
        allowed.append((b"access-control-allow-headers", b", ".join(found[HEADERS])))
    if NETWORK in found:
        allowed.append((b"access-control-allow-private-network", b"true"))
    return allowed


def with_headers(send: Send, more: Iterable[Header]) -> Send:
    added = list(more)

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return sending


OWN = b"x-rightcall"
"""The beginning of the headers that are between the client and us."""
REPORT: Final = b"x-rightcall-report"
"""With it a client asks to find in the answer itself, as the field `rightcall`, what was done to it."""

_SLASHES = re.compile(r"[/\\]")  # some servers take the other one for it
_OF_ONE_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_OF_ONE_REQUEST = _OF_ONE_HOP | {b"host", b"content-length", b"expect"}


def address_of(url: str) -> Address:
    """Reads an upstream's URL."""
    return read_address(
        url,
        "--upstream must be an address such as http://localhost:11434 or https://api.example.com/v1",
        "keys come from the client, in a header",
    )


def join_path(base: str, target: str) -> str:
    """The client's path and query below the upstream's path, see above. Raises CallError for a path that would leave
    it."""
    path = target.partition("?")[0]
    if base and "." in (plain := unquote(path)) and any(map(_climbs, _SLASHES.split(plain))):
        raise CallError("a path with .. in it could leave the path of --upstream, and is not passed on")
    if base.endswith("/v1") and (path.startswith("/api/") or path == "/props"):
        base = base[: -len("/v1")]
    common = _common(base, path)
    return base[: len(base) - common] + target


def _climbs(segment: str) -> bool:
    """Also with parameters behind it, which some servers take off first."""
    return segment.partition(";")[0] == ".."


def _common(base: str, path: str) -> int:
    """How many characters at the end of `base` are the beginning of `path`, whole segments only."""
    start = base.find("/")
    while start != -1:
        end = base[start:]
        if path == end or path.startswith(end + "/"):
            return len(end)
        start = base.find("/", start + 1)
    return 0


CONSOLE_COOKIE: Final = "rightcall_console"
"""How the names of the console's cookies begin, with or without `__Host-`. Cookies know no ports: a browser may send
them here as well."""


def request_headers(headers: Iterable[tuple[bytes, bytes]], *, plain: bool) -> Headers:
    """The headers of a client's request that go on to the upstream, keys and all. Names are in lower case.

    With `plain` the upstream is asked not to compress, since we must read its answer. A session of the console is for
    nobody else.
    """
    kept = _without(headers, _OF_ONE_REQUEST)
    if any(name == b"cookie" and CONSOLE_COOKIE.encode() in value for name, value in kept):
        kept = [pair for name, value in kept for pair in _without_console(name, value)]
    if plain:
        kept = [header for header in kept if header[0] != b"accept-encoding"]
        kept.append((b"accept-encoding", b"identity"))
    return kept


def _without_console(name: bytes, value: bytes) -> Headers:
    if name != b"cookie":
        return [(name, value)]
    left = [one.strip() for one in value.split(b";") if not _is_console(one.strip())]
    return [(name, b"; ".join(left))] if any(left) else []


def _is_console(cookie: bytes) -> bool:
    return cookie.removeprefix(b"__Host-").startswith(CONSOLE_COOKIE.encode())


def answer_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers of the upstream's answer that go back to the client. The length stays: drop it if you change the
    body. What we did is ours to say: an upstream's own `x-rightcall` does not pass. Nor does what would act on a
    browser in our name, and a type that is none of a model's API is delivered as a file."""
    given = list(headers)
    kept = [header for header in given if _passes(header[0])]
    for name, value in given:
        if name == b"connection":
            hop = {one.strip().lower() for one in value.split(b",")}
            kept = [header for header in kept if header[0] not in hop]
    return as_data(kept)


@lru_cache(maxsize=1024)  # an upstream sends the same few with every answer
def _passes(name: bytes) -> bool:
    return name not in _OF_ONE_HOP and not name.startswith(OWN) and not acts(name)


def _without(headers: Iterable[tuple[bytes, bytes]], dropped: frozenset[bytes]) -> Headers:
    given = list(headers)
    named = b",".join(value for name, value in given if name == b"connection")
    if named:
        dropped = dropped | {name.strip().lower() for name in named.split(b",")}
    return [header for header in given if header[0] not in dropped]


# ── upstream ──
# The model's server, as `--upstream` names it: how paths join its address, and what to check when it fails.

_ADVICE: Final = {
    "unreachable": "check that the upstream is running and that --upstream is its address",
    "tls": "does --upstream begin with the right one of http:// and https://, and is its certificate valid?",
    "broken": "is --upstream the address of an HTTP API, and what does the server's own log say?",
    "connect": "is it overloaded, or is a firewall between?",
    "first byte": "is the model still loading, or the prompt too long for it?",
    "between pieces": "does the model still run?",
}


class Upstream(Client):
    """`host` names it, `is_local` says whether it is this machine."""

    def __init__(self, url: str, limits: HttpLimits | None = None, *, trust: ssl.SSLContext | None = None) -> None:
        super().__init__(address_of(url), limits, trust=trust)
        self.host = self.address.host
        self.is_local = self.address.is_local

    async def send(self, method: str, path: str, headers: Sequence[tuple[bytes, bytes]], body: bytes = b"") -> Incoming:
        """`path` is path and query as the client sent them; `headers` what `request_headers` left of its own."""
        return await super().send(method, join_path(self.address.path, path), headers, body)

    def error(self, fault: Fault) -> HttpError:
        named = self.address.authority if fault.kind == "unreachable" else self.host  # a wrong port is a usual cause
        return tell_upstream(named, fault)


def tell_upstream(host: str, fault: Fault) -> HttpError:
    """With what the user may check."""
    if fault.code in ("half body", "reset body"):  # its address was right
        return HttpError(f"The model server {host}", fault, "; look at its log")
    advice = _ADVICE.get(fault.code) or _ADVICE.get(fault.kind)
    return HttpError(host, fault, f": {advice}" if advice else "")


PROBE: Final = HttpLimits(connect_seconds=3.0, first_byte_seconds=3.0, between_seconds=3.0)
"""How long an upstream may take to show that it is there."""


async def probe(url: str) -> int:
    """The status with which an upstream answers, whatever it is: without a key most say no, and are there all the same.
    Raises HttpError where none comes."""
    upstream = Upstream(url, PROBE)
    try:
        incoming = await upstream.send("GET", "/v1/models", [(b"accept", b"application/json")])
        incoming.release()
        return incoming.status
    finally:
        await upstream.aclose()
