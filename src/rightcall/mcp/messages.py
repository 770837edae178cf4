"""JSON-RPC as MCP uses it: one message is read only as far as somebody must look, the rest keeps its bytes.

A field that nobody touches is a `Raw`: numbers keep their digits, texts their spelling, objects their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    """It can be read in two ways: outside the arguments a key stands twice, or one is almost a key of the protocol
    (`Name`), which some servers take for it."""


_message = Decoder(Message)
_batch = Decoder(list[Raw])
_fields = Decoder(dict[str, Raw])

_WRONG: Final = (DecodeError, RecursionError, ValueError)
_INSIDE: Final = "params.arguments."
_MESSAGE_KEYS: Final = {key.casefold(): key for key in ("jsonrpc", "id", "method", "params", "result", "error")}
_CALL_KEYS: Final = {
    key.casefold(): key for key in ("name", "arguments", "_meta", "task", "inputResponses", "requestState")
}


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
    if whole is None:
        return _call_of_parts(line)
    params = mapping(mapping(whole).get("params"))
    if not params:
        return None
    twice = duplicate_keys(bytes(line).decode("utf-8", "replace"), whole)
    inside = [path for path in twice if path.startswith(_INSIDE)]
    return _call(
        params, _arguments(params.get("arguments"), line if inside else None),
        ambiguous=len(inside) < len(twice) or almost_key(whole) is not None or _almost(params, _CALL_KEYS) is not None,
    )  # fmt: skip


def _call_of_parts(line: Bytes) -> ToolCall | None:
    """Where a value in it cannot be read, such as a number beyond all bounds: the gate says which."""
    whole = fields(line)
    params = fields(whole.get("params", ABSENT))
    if not params:
        return None
    found = {key: value(raw) for key, raw in params.items()}
    text = bytes(params.get("arguments", ABSENT)).decode("utf-8", "replace")
    twice = _any_key_twice(bytes(line).decode("utf-8", "replace"))
    near = _almost(whole, _MESSAGE_KEYS) or _almost(params, _CALL_KEYS)
    return _call(found, text or {}, ambiguous=twice or near is not None)


def _call(params: Mapping[str, Any], arguments: Any, *, ambiguous: bool) -> ToolCall:
    state = params.get("requestState")
    return ToolCall(
        name=params.get("name"),
        arguments=arguments,
        meta=mapping(params.get("_meta")),
        responses=mapping(params.get("inputResponses")),
        state=state if isinstance(state, str) else None,
        task="task" in params,
        ambiguous=ambiguous,
    )


def almost_key(whole: Any) -> str | None:
    """A key of a message that is none of JSON-RPC's, but becomes one for whoever does not mind capitals."""
    return _almost(mapping(whole), _MESSAGE_KEYS)


def _almost(keys: Iterable[str], known: Mapping[str, str]) -> str | None:
    return next((key for key in keys if known.get(key.casefold(), key) != key), None)


def _any_key_twice(text: str) -> bool:
    from json import loads  # late: it is the one that reads such numbers, and they are rare

    twice: list[bool] = []

    def seen(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        twice.append(len(found) < len(pairs))
        return found

    try:
        loads(text, object_pairs_hook=seen)
    except (ValueError, RecursionError):
        return True
    return any(twice)


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
