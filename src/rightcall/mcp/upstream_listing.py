"""What a server offers, page by page, and the headers that some of its tools want beside a call (2026-07-28, HTTP)."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Raw, json

from rightcall.errors import RightCallError
from rightcall.mcp.messages import fields, mapping, value
from rightcall.mcp.serving_answers import Answer
from rightcall.mcp.upstream_greeting import Hello, envelope_for, headers_for
from rightcall.mcp.upstream_session import ServerSlow, Session

PAGES: Final = 200
MOST: Final = 10_000
"""Entries of one list of one server."""
MOST_BYTES: Final = 32_000_000
"""Of all its pages; those after them are left out."""
_MARK: Final = b"x-mcp-header"
_items = json.Decoder(list[Raw])

Mirror = tuple[tuple[str, ...], str]
"""The path of an argument, and the end of the name of its header."""


async def own_request(
    session: Session, hello: Hello, method: str, params: Mapping[str, Any], seconds: float | None
) -> Answer:
    """A request of the gateway's own, in the server's era."""
    agreed = session.agreed
    assert agreed is not None
    if agreed.era == "old":
        return await session.request(method, params, seconds)
    whole = {**params, "_meta": envelope_for(hello, agreed.version)}
    return await session.request(method, whole, seconds, headers=headers_for(method, agreed.version))


async def listed(session: Session, hello: Hello, method: str, key: str, seconds: float, most: int = MOST) -> list[Raw]:
    """The entries of a list, over all its pages; none where the server has no such list. Raises ServerGone, and
    ServerSlow where all of them together take longer."""
    try:
        async with asyncio.timeout(seconds):
            return await _walked(session, hello, method, key, seconds, most)
    except TimeoutError:
        raise ServerSlow(f"did not list what it has within {seconds:g} seconds ({method})") from None


async def _walked(session: Session, hello: Hello, method: str, key: str, seconds: float, most: int) -> list[Raw]:
    found: list[Raw] = []
    size = 0
    cursor: Any = None
    for _ in range(PAGES):
        params = {} if cursor is None else {"cursor": cursor}
        answer = await own_request(session, hello, method, params, seconds)
        if answer.result is None:
            break
        size += len(bytes(answer.result))
        page = fields(answer.result)
        try:
            found += _items.decode(page.get(key, b"[]"))
        except (RightCallError, ValueError, RecursionError):
            break
        cursor = value(page.get("nextCursor", b""))
        if cursor is None or len(found) >= most or size > MOST_BYTES:
            break
    return found[:most]


def mirrors(definition: Raw) -> tuple[Mirror, ...]:
    """The arguments of a tool that HTTP servers of the new era also want as headers."""
    if _MARK not in bytes(definition):
        return ()
    schema = mapping(mapping(value(definition)).get("inputSchema"))
    return tuple(_marked(schema, ()))


def _marked(schema: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[Mirror]:
    token = schema.get(_MARK.decode())
    if path and isinstance(token, str) and token.isascii() and token.replace("-", "").replace("_", "").isalnum():
        yield path, token
    if len(path) < 20:
        for name, inner in mapping(schema.get("properties")).items():
            yield from _marked(mapping(inner), (*path, name))


def mirrored(paths: tuple[Mirror, ...], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers for one call."""
    headers: dict[str, str] = {}
    for path, token in paths:
        found: Any = arguments
        for name in path:
            found = mapping(found).get(name)
        if isinstance(found, (str, int, float)):
            text = ("true" if found else "false") if isinstance(found, bool) else str(found)
            headers[f"mcp-param-{token.lower()}"] = header_value(text)
    return headers


def header_value(text: str) -> str:
    """A text as HTTP can carry it; anything unusual is wrapped as the protocol says.

    >>> header_value("a.txt"), header_value("ä")
    ('a.txt', '=?base64?w6Q=?=')
    """
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{b64encode(text.encode('utf-8', 'replace')).decode()}?="
