"""What a server offers, page by page."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Raw, json

from rightcall.errors import RightCallError
from rightcall.mcp.messages import fields, value
from rightcall.mcp.serving_answers import Answer
from rightcall.mcp.upstream_greeting import Hello, envelope_for, headers_for
from rightcall.mcp.upstream_session import ServerSlow, Session

PAGES: Final = 200
MOST: Final = 10_000
"""Entries of one list of one server."""
MOST_BYTES: Final = 32_000_000
"""Of all its pages; those after them are left out."""
_items = json.Decoder(list[Raw])


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
