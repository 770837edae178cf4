"""JSON-RPC as MCP uses it: one message is read only as far as somebody must look, the rest keeps its bytes.

A field that nobody touches is a `Raw`: numbers keep their digits, texts their spelling, objects their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder, decode, encode

from rightcall.parse.strict import duplicate_keys

ABSENT: Final = Raw()
NULL: Final = Raw(b"null")

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
SERVER_GONE: Final = -32000

Id = int | float | str
Bytes = bytes | Raw


class Message(Struct, frozen=True):
    """A request (method and id), a notification (method alone) or a response (id alone)."""

    method: Any = None
    id: Raw = ABSENT
    params: Raw = ABSENT
    result: Raw = ABSENT
    error: Raw = ABSENT

    @property
    def is_request(self) -> bool:
        return self.method is not None and bool(self.id)

    @property
    def is_response(self) -> bool:
        return self.method is None and bool(self.id)


class ToolCall(Struct, frozen=True):
    """A `tools/call`, as far as a judgement or an approval needs it."""

    name: Any
    arguments: Any
    """A dict; a text where it cannot be taken for one as it stands: broken, or with a key that stands twice."""
    meta: Mapping[str, Any] = {}
    responses: Mapping[str, Any] = {}
    """`inputResponses`: what the client says that a person answered."""
    state: str | None = None
    """`requestState`: what the client was told to send back."""
    task: bool = False
    """Whether the client wants a task instead of an answer (2025-11-25)."""
    ambiguous: bool = False
    """A key outside the arguments stands twice: who reads the first sees another call than who reads the last."""


_message = Decoder(Message)
_batch = Decoder(list[Raw])
_fields = Decoder(dict[str, Raw])

_WRONG: Final = (DecodeError, RecursionError, ValueError)
_INSIDE: Final = "params.arguments."


def read(line: Bytes) -> Message | None:
    """The message of a line; None where it is no object, or no JSON."""
    try:
        return _message.decode(line)
    except _WRONG:
        return None


def read_batch(line: bytes) -> list[Raw] | None:
    """The messages of a batch (2025-03-26), each as it is written; None where the line is none."""
    try:
        return _batch.decode(line)
    except _WRONG:
        return None


def value(raw: Bytes) -> Any:
    """What a field holds; None where there is none, or where it cannot be read."""
    try:
        return decode(raw) if raw else None
    except _WRONG:
        return None


def fields(raw: Bytes) -> dict[str, Raw]:
    """The fields of an object, each as it is written; empty for anything else."""
    try:
        return _fields.decode(raw) if raw else {}
    except _WRONG:
        return {}


def identity(raw: Raw) -> Id | None:
    """What a request and its response share; None for what no request may have as its id."""
    found = value(raw)
    return found if isinstance(found, (int, float, str)) and not isinstance(found, bool) else None


def tool_call(line: Bytes) -> ToolCall | None:
    """The call that a `tools/call` asks for; None where it has no params to read it from."""
    whole = value(line)
    params = mapping(mapping(whole).get("params"))
    if not params:
        return None
    twice = duplicate_keys(bytes(line).decode("utf-8", "replace"), whole)
    inside = [path for path in twice if path.startswith(_INSIDE)]
    state = params.get("requestState")
    return ToolCall(
        name=params.get("name"),
        arguments=_arguments(params.get("arguments"), line if inside else None),
        meta=mapping(params.get("_meta")),
        responses=mapping(params.get("inputResponses")),
        state=state if isinstance(state, str) else None,
        task="task" in params,
        ambiguous=len(inside) < len(twice),
    )


def _arguments(found: Any, line: Bytes | None) -> Any:
    """As the gate takes them. With `line` as the text they are, so that it sees the key that stands twice."""
    if found is None:
        return {}
    if isinstance(found, dict) and line is not None:
        return bytes(fields(fields(line)["params"])["arguments"]).decode("utf-8", "replace")
    return cast("Any", found) if isinstance(found, (dict, str)) else encode(found).decode()


def mapping(found: Any) -> Mapping[str, Any]:
    """An object as it is, anything else as an empty one."""
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def changed(line: Bytes, params: Mapping[str, Any], without: tuple[str, ...] = ()) -> bytes:
    """The same message with some of its params set and some left out; every other field keeps its bytes."""
    whole = fields(line)
    inner: dict[str, Any] = {name: raw for name, raw in fields(whole.get("params", ABSENT)).items()}  # noqa: C416 - other types
    for name in without:
        inner.pop(name, None)
    inner.update(params)
    whole["params"] = Raw(encode(inner))
    return encode(whole)


def request(id: Id, method: str, params: Mapping[str, Any] | Raw | None = None) -> bytes:
    body = {"jsonrpc": "2.0", "id": id, "method": method}
    return encode(body if params is None else {**body, "params": params})


def notification(method: str, params: Mapping[str, Any] | Raw | None = None) -> bytes:
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    return encode({**body, "params": params} if params else body)


def answer(id: Raw, result: Mapping[str, Any]) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id or NULL, "result": result})


def failure(id: Raw, code: int, text: str) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id or NULL, "error": {"code": code, "message": text}})
