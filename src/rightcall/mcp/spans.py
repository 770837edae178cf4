"""Spans of MCP requests: a client's, as we serve it, and the one that we make of a server for it.

tools/call NAME                SERVER   belongs to what `params._meta` names
  rightcall.judge                       checked, repaired, decided (`executor/messages.py`)
  rightcall.approval                    waited for a person
  tools/call NAME              CLIENT   what the server took; its `_meta` names this one
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Raw

from rightcall.base.telemetry.conventions import OPERATION, RESULT, TOOL, TOOL_ERROR, Value
from rightcall.base.text import escaped
from rightcall.mcp.messages import Answer, Refused, identity, mapping, value

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rightcall.base.secrets import Redactor
    from rightcall.base.telemetry.spans import Span, Telemetry
    from rightcall.mcp.messages import Peer
    from rightcall.mcp.serving import Exchange

CALL: Final = "tools/call"
_LONGEST: Final = 200
_NAMED: Final = {"prompts/get": ("name", "gen_ai.prompt.name")}
_PLACED: Final = ("resources/read", "resources/subscribe", "resources/unsubscribe")


async def follow_exchange(
    telemetry: Telemetry, exchange: Exchange, work: Callable[[Exchange], Awaitable[Answer]]
) -> Answer:
    """Answer a client's request; where telemetry is on, with a span around it that the exchange carries on."""
    if not telemetry.is_on:
        return await work(exchange)
    with telemetry.serve(exchange.method, exchange.meta) as span:
        exchange.span = span
        tell_request(span, exchange.id, exchange.peer, exchange.client.transport)
        if span.is_recorded:
            span.tell(_about(exchange))
        try:
            answer = await work(exchange)
        except Refused as refused:
            tell_answer(span, refused.answer)
            raise
        tell_answer(span, answer)
        return answer


def tell_request(span: Span, id: Raw, peer: Peer, transport: str) -> None:
    """What every request says of itself."""
    told: dict[str, Value] = {"mcp.protocol.version": peer.version, "network.transport": transport}
    if span.is_recorded and identity(id) is not None:
        told["jsonrpc.request.id"] = escaped(str(value(id)), _LONGEST)
    span.tell(told)


def tell_answer(span: Span, answer: Answer) -> None:
    """How a request ended: with an error of the protocol, with a result that says it is one, or well."""
    if not span.is_live:
        return
    if answer.error is not None:
        told = mapping(value(answer.error))
        code = str(told.get("code", "_OTHER"))[:_LONGEST]
        span.tell({"rpc.response.status_code": code})
        span.fail(code, str(told.get("message") or ""))
        return
    raw = bytes(answer.result or b"")
    if raw.find(b'"isError"') >= 0 and mapping(value(raw)).get("isError") is True:
        span.fail(TOOL_ERROR)


def tell_result(span: Span, answer: Answer, arguments: Any, redactor: Redactor) -> None:
    """What a tool gave, where content is asked for."""
    if span.wants_content and answer.result is not None:
        span.tell_content(RESULT, value(answer.result), redactor, arguments)


def tell_tool(span: Span, name: str) -> None:
    """Which tool was meant, by the name that its client knows. One that nobody has is never told."""
    span.tell({OPERATION: TOOL.operation})
    span.aim(name)


def _about(exchange: Exchange) -> dict[str, Value]:
    told: dict[str, Value] = {"rightcall.caller": exchange.caller}
    if exchange.method in _NAMED:
        key, attribute = _NAMED[exchange.method]
        told[attribute] = _text(value(exchange.params.get(key, b"")))
    elif exchange.method in _PLACED:
        told["mcp.resource.uri"] = _text(value(exchange.params.get("uri", b"")))
    return told


def _text(given: Any) -> str:
    return escaped(given, _LONGEST) if isinstance(given, str) else ""
