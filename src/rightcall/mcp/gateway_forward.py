"""One request of a client, put to one server and back, whatever era each of them speaks.

    client  server
    old     old      the server's questions are put to the client while the call runs
    old     new      a result that asks is put to the client, and the server is asked again with the answers
    new     new      a result that asks goes to the client, with a state of ours in the place of the server's
    new     old      a question ends the client's request with a result that asks; the server's call waits

Between peers of one era a result passes as the bytes it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from msgspec import Raw, Struct, json

from rightcall.door_passage import Passage
from rightcall.mcp.eras import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    PREFIX,
    VERSION_KEY,
    Era,
    input_required,
    is_input_required,
)
from rightcall.mcp.gateway_continuing import Continuations, Kept, binding_of
from rightcall.mcp.gateway_news import LOG_LEVEL
from rightcall.mcp.messages import SERVER_GONE, fields, mapping, value
from rightcall.mcp.mirrors import header_value
from rightcall.mcp.serving import Exchange
from rightcall.mcp.serving_answers import Answer, failure, success
from rightcall.mcp.upstream import Upstream
from rightcall.mcp.upstream_greeting import headers_for
from rightcall.mcp.upstream_link import SessionExpired
from rightcall.mcp.upstream_session import Agreed, Session

ROUNDS: Final = 10
"""How often a server of the new era may ask for one call."""
_ASKS: Final = b"input_required"
_ASKABLE: Final = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
_CACHEABLE: Final = frozenset(
    ("prompts/list", "resources/list", "resources/read", "resources/templates/list", "tools/list")
)


class Errand(Struct, frozen=True):
    """What a server is to be asked. `params` are without `_meta`."""

    upstream: Upstream
    method: str
    params: Mapping[str, Any]
    name: str | None = None
    """The tool, prompt or address in it, which HTTP servers of the new era want beside the body."""
    mirrored: Mapping[str, str] = {}
    """Further headers of that kind."""
    passage: Passage | None = None
    forget: Callable[[], None] = lambda: None
    """What to do when the client does not come back with the answers that the server wants."""
    digest: str = ""
    """Of the policy that let it through."""
    barred: Callable[[], Awaitable[Answer | None]] | None = None
    """What the client gets instead where it may not go on after a question: all calls may be paused by then."""
    rounds: int = 0
    """How often the server has asked for it already."""
    seconds: float | None = 0.0
    """How long its answer may take: 0 for as long as a call, None for as long as the client waits."""


async def forward(errand: Errand, exchange: Exchange, kept: Continuations) -> Answer:
    """The answer as this client can read it. Raises ServerGone and ServerSlow."""
    session = await errand.upstream.ready()
    try:
        return await _put(errand, exchange, session, kept)
    except SessionExpired:  # it has not looked at the request
        return await _put(errand, exchange, await errand.upstream.ready(), kept)


async def _put(errand: Errand, exchange: Exchange, session: Session, kept: Continuations) -> Answer:
    agreed = session.agreed
    assert agreed is not None
    params = dict(errand.params)
    for _ in range(ROUNDS):
        answer = await _ask(errand, params, exchange, session, agreed)
        if answer.result is None:
            return answer
        if agreed.era == "old":
            return _modern(answer, errand.method) if exchange.peer.stateless else answer
        if not asks(answer):
            return answer
        if exchange.peer.stateless:
            return _passed_on(errand, exchange, fields(answer.result), kept)
        params = {**errand.params, **await _ask_client(mapping(value(answer.result)), exchange)}
        if errand.barred is not None and (barred := await errand.barred()) is not None:
            return barred
    return failure(SERVER_GONE, f"the server {errand.upstream.name} has asked {ROUNDS} times, and still wants more")


async def _ask(errand: Errand, params: dict[str, Any], exchange: Exchange, session: Session, agreed: Agreed) -> Answer:
    meta = _meta(exchange, agreed)
    headers = None
    if agreed.era == "new":
        named = None if errand.name is None else header_value(errand.name)
        headers = {**headers_for(errand.method, agreed.version, named), **errand.mirrored}
    if meta:
        params = {**params, "_meta": meta}
    seconds = errand.upstream.server.timeout if errand.seconds == 0.0 else errand.seconds
    return await session.request(errand.method, params, seconds, cause=exchange, headers=headers)


def _meta(exchange: Exchange, agreed: Agreed) -> dict[str, Any]:
    """What the client says about its request, in the server's era. Its progress token is ours to replace."""
    meta = {key: one for key, one in exchange.meta.items() if not key.startswith(PREFIX) and key != "progressToken"}
    if agreed.era == "old":
        return meta
    info = exchange.meta.get(CLIENT_KEY) or exchange.client.info
    level = exchange.meta.get(LOG_LEVEL) or exchange.client.level
    envelope = {VERSION_KEY: agreed.version, CAPABILITIES_KEY: exchange.capabilities}
    return {
        **meta, **envelope, **({CLIENT_KEY: info} if info else {}), **({LOG_LEVEL: level} if level else {}),
    }  # fmt: skip


def _modern(answer: Answer, method: str) -> Answer:
    """A result of the old era with what the new one wants in every result."""
    assert answer.result is not None
    added: dict[str, Any] = {"resultType": "complete"}
    if method in _CACHEABLE:
        added |= {"ttlMs": 0, "cacheScope": "private"}
    return Answer(Raw(json.encode({**fields(answer.result), **added})))


def _passed_on(errand: Errand, exchange: Exchange, result: dict[str, Raw], kept: Continuations) -> Answer:
    state = value(result.get("requestState", b""))
    binding = binding_of(exchange.caller, exchange.method, exchange.params)
    own = state if isinstance(state, str) else None
    waits = Kept(binding, errand.passage, own, None, errand.forget, errand.upstream, errand.digest, errand.rounds + 1)
    token = kept.keep(waits, exchange.caller)
    return Answer(Raw(json.encode({**result, "requestState": token})))


async def _ask_client(result: Mapping[str, Any], exchange: Exchange) -> dict[str, Any]:
    """The answers of a client of the old era to the questions of a server of the new one."""
    responses: dict[str, Any] = {}
    for key, request in mapping(result.get("inputRequests")).items():
        asked = mapping(request)
        method = asked.get("method")
        if not isinstance(method, str) or not exchange.can(_ASKABLE.get(method, "")):
            continue
        answer = await exchange.ask(method, mapping(asked.get("params")))
        if answer.result is not None:
            responses[key] = answer.result
    state = result.get("requestState")
    return {
        **({"inputResponses": responses} if responses else {}),
        **({"requestState": state} if isinstance(state, str) else {}),
    }


def era_of(upstream: Upstream) -> Era | None:
    """The era that is spoken with a server; None where it is not there."""
    session = upstream.session
    return session.agreed.era if session is not None and session.agreed is not None else None


def responses_of(exchange: Exchange) -> dict[str, Any]:
    """The answers that came with a request: the server's to read, which ignores those it has not asked for."""
    given = exchange.params.get("inputResponses")
    return {} if given is None or not exchange.peer.stateless else {"inputResponses": given}


def asks(answer: Answer) -> bool:
    """Whether a result is no result yet, but a question to the client (2026-07-28)."""
    result = answer.result
    return result is not None and _ASKS in bytes(result) and is_input_required(mapping(value(result)))


def question_result(questions: Mapping[str, Any], token: str) -> Answer:
    return success(input_required(questions, token))
