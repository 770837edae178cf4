"""Finds out which era a server speaks, as clients do: greet it in the one, and in the other where it does not
understand. Which comes first is the client's to say: a server that knows both is spoken to in the era of its client."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, cast

from msgspec import Raw, Struct

from rightcall.mcp.eras import CAPABILITIES_KEY, CLIENT_KEY, HANDSHAKE, STATELESS, VERSION_KEY, Era
from rightcall.mcp.messages import mapping, value
from rightcall.mcp.serving_answers import Answer
from rightcall.mcp.upstream_link import ServerGone
from rightcall.mcp.upstream_session import Agreed, ServerSlow, Session
from rightcall.text.escape import escaped

PROBING: Final = 2.0
"""Seconds after which the old way is tried as well, where a server says nothing to the new one: some never do, and some
are just slow to start. Clients wait longer than this for a server that starts."""
SHAKING: Final = 10.0
"""The same for the new way, where the old one came first: servers answer that, and most are just slow to start."""
_UNSUPPORTED: Final = -32022
Json = Mapping[str, Any]


class Hello(Struct, frozen=True):
    """How we present ourselves to a server."""

    info: Json
    capabilities: Json
    """For the handshake, and for requests that no client asked for. In the new era each request of a client brings its
    own."""
    era: Era = "new"
    """In which way the server is greeted first."""


async def greet(session: Session, hello: Hello, seconds: float, *, only: Era | None = None) -> Agreed:
    """Raises ServerGone and ServerSlow. `only` one era is tried where greeting in the other has ended the server."""
    agreed = await _greeted(session, hello, seconds, only)
    session.settle(agreed)
    if agreed.era == "old":
        session.notify("notifications/initialized")
    return agreed


async def _greeted(session: Session, hello: Hello, seconds: float, only: Era | None) -> Agreed:
    if only == "old":
        return await _handshaken(session, hello, seconds)
    if only == "new":
        return await _discovered(session, hello, seconds) or _stranger()
    return await (_new_first if hello.era == "new" else _old_first)(session, hello, seconds)


def _stranger() -> Agreed:
    raise ServerGone("it speaks no revision of the protocol that we do")


async def _new_first(session: Session, hello: Hello, seconds: float) -> Agreed:
    """Whichever it answers first; the new way where it answers that at once."""
    loop = asyncio.get_running_loop()
    asked = loop.create_task(_discovered(session, hello, seconds))
    shaken: asyncio.Task[Agreed] | None = None
    try:
        await asyncio.wait([asked], timeout=PROBING)
        if asked.done() and (agreed := asked.result()) is not None:
            return agreed
        shaken = loop.create_task(_handshaken(session, hello, seconds))
        await asyncio.wait([shaken] if asked.done() else [asked, shaken], return_when=asyncio.FIRST_COMPLETED)
        if not _has_failed(shaken):  # to a server that refuses the one, the other may be all it knows
            agreed = asked.result() if asked.done() else None
            return agreed or await shaken
        return await asked or await shaken
    finally:
        await _dropped(asked, shaken)


async def _old_first(session: Session, hello: Hello, seconds: float) -> Agreed:
    """The handshake where the server takes it; why it does not, where it knows neither way."""
    loop = asyncio.get_running_loop()
    shaken = loop.create_task(_handshaken(session, hello, seconds))
    asked: asyncio.Task[Agreed | None] | None = None
    try:
        await asyncio.wait([shaken], timeout=SHAKING)
        if shaken.done() and not _has_failed(shaken):
            return shaken.result()
        asked = loop.create_task(_discovered(session, hello, seconds))
        await asyncio.wait([asked] if shaken.done() else [asked, shaken], return_when=asyncio.FIRST_COMPLETED)
        if shaken.done() and not _has_failed(shaken):
            return shaken.result()
        return await asked or await shaken
    finally:
        await _dropped(shaken, asked)


def _has_failed(task: asyncio.Task[Agreed]) -> bool:
    return task.done() and task.exception() is not None


async def _dropped(*tasks: asyncio.Task[Any] | None) -> None:
    left = [task for task in tasks if task is not None]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def envelope_for(hello: Hello, version: str) -> dict[str, Any]:
    """The `_meta` of a request that no client asked for."""
    return {VERSION_KEY: version, CLIENT_KEY: hello.info, CAPABILITIES_KEY: hello.capabilities}


def headers_for(method: str, version: str, name: str | None = None) -> dict[str, str]:
    """What a request of the new era says beside its body, over HTTP."""
    headers = {"mcp-protocol-version": version, "mcp-method": method}
    return headers if name is None else {**headers, "mcp-name": name}


async def _discovered(session: Session, hello: Hello, seconds: float) -> Agreed | None:
    version = STATELESS[-1]
    for _ in range(2):
        params = {"_meta": envelope_for(hello, version)}
        headers = headers_for("server/discover", version)
        try:
            answer = await session.request("server/discover", params, seconds, headers=headers)
        except ServerSlow:
            return None
        if answer.result is not None:
            return _read_agreement(_object(answer.result), version)
        again = _offered(answer)
        if again is None:
            return None
        version = again
    return None


def _read_agreement(result: Json, version: str) -> Agreed | None:
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or version not in versions:
        return None
    return Agreed(
        "new", version, _part(result, "capabilities"), _server_info(result), _text(result.get("instructions"))
    )


def _offered(answer: Answer) -> str | None:
    """The revision to ask in instead; None to shake hands. Raises ServerGone where neither can help."""
    error = _object(answer.error)
    supported = _part(error, "data").get("supported")
    if error.get("code") != _UNSUPPORTED or not isinstance(supported, list):
        return None
    mutual = [one for one in STATELESS if one in supported]
    if mutual:
        return mutual[-1]
    if not any(one in supported for one in HANDSHAKE):
        raise ServerGone(
            f"it speaks only revisions of the protocol that we do not: {escaped(str(cast('Any', supported)), 200)}"
        )
    return None


async def _handshaken(session: Session, hello: Hello, seconds: float) -> Agreed:
    params = {
        "protocolVersion": HANDSHAKE[-1], "capabilities": hello.capabilities, "clientInfo": hello.info,
    }  # fmt: skip
    answer = await session.request("initialize", params, seconds)
    if answer.result is None:
        told = bytes(answer.error or b"").decode("utf-8", "replace")
        raise ServerGone(f"it refused the handshake: {escaped(told, 300)}")
    result = _object(answer.result)
    version = result.get("protocolVersion")
    if version not in HANDSHAKE:
        raise ServerGone(f"it speaks the revision {escaped(str(version), 40)} of the protocol, which we do not")
    return Agreed(
        "old", version, _part(result, "capabilities"), _part(result, "serverInfo"), _text(result.get("instructions"))
    )


def _server_info(result: Json) -> Json:
    return _part(_part(result, "_meta"), "io.modelcontextprotocol/serverInfo") or _part(result, "serverInfo")


def _object(raw: Raw | None) -> Json:
    return mapping(value(raw or b""))


def _part(found: Json, key: str) -> Json:
    return mapping(found.get(key))


def _text(found: Any) -> str:
    return found if isinstance(found, str) else ""
