"""Requests of browsers: pages of other origins may not use the server, and nothing that it serves can become a page.

The server may be an origin of its own in somebody's browser, and the upstream may be hostile. So an answer passes as
what the APIs of models return, or as a file; headers that make a browser keep, load or go somewhere do not pass at all.

A browser says by itself who asks (`Origin`) and what for (`Sec-Fetch-…`), and no page can change that. Pages that were
allowed by name (`--origin`) are answered as CORS wants it, by us: an upstream has no say in who may read our answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from starlette.types import Message, Send

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
