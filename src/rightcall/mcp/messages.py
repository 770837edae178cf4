"""JSON-RPC as MCP uses it: one message is read only as far as somebody must look, the rest keeps its bytes.

A field that nobody touches is a `Raw`: numbers keep their digits, texts their spelling, objects their order.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, cast

from msgspec import DecodeError, Raw, Struct, json
from msgspec.json import Decoder, decode, encode

from rightcall.base.json.strict import duplicate_keys
from rightcall.executor.messages import GENEROUS

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
_MESSAGE_KEYS: Final[frozenset[str]] = frozenset(("jsonrpc", "id", "method", "params", "result", "error"))
_CALL_KEYS: Final[frozenset[str]] = frozenset(("name", "arguments", "_meta", "task", "inputResponses", "requestState"))
_OF_THE_REQUEST: Final = ("_meta", "inputResponses", "requestState")
_LOOKUP_KEYS: Final[frozenset[str]] = frozenset(
    ("name", "uri", "arguments", "ref", "argument", "context", *_OF_THE_REQUEST)
)
_FOLDED: Final = {keys: {key.casefold(): key for key in keys} for keys in (_MESSAGE_KEYS, _CALL_KEYS, _LOOKUP_KEYS)}


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
    inside = [path for path in twice if path.startswith("params.arguments.")]
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


def _almost(keys: Iterable[str], known: frozenset[str]) -> str | None:
    if known.issuperset(keys):
        return None
    folded = _FOLDED[known]
    return next((key for key in keys if folded.get(key.casefold(), key) != key), None)


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
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType] - somebody else wrote it


def read_lookup(line: Bytes) -> dict[str, Any] | None:
    """What a request for a resource, a prompt or a completion names, as arguments of a tool would: what is to be
    completed stands under its name. None where it cannot be read, or in two ways.

    >>> read_lookup(b'{"method": "completion/complete", "params": {"argument": {"name": "path", "value": ".e"}}}')
    {'argument': {'name': 'path', 'value': '.e', 'path': '.e'}}
    """
    whole = value(line)
    params = mapping(mapping(whole).get("params"))
    if whole is None or duplicate_keys(bytes(line).decode("utf-8", "replace"), whole):
        return None
    if _almost(params, _LOOKUP_KEYS) is not None:
        return None
    found = {key: one for key, one in params.items() if key not in _OF_THE_REQUEST}
    argument = mapping(found.get("argument"))
    if isinstance(name := argument.get("name"), str):
        found["argument"] = {**argument, name: argument.get("value")}
    return found


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


# ── eras ──
# The two eras of the protocol. Until 2025-11-25 a client shakes hands once (`initialize`) and both sides remember;
# from 2026-07-28 nothing is remembered: each request says in its `_meta` which revision it speaks and what the client
# can do, and a server that needs an answer returns its question as the result, for the client to ask again with it.

Era = Literal["old", "new"]

HANDSHAKE: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions that begin with `initialize`, oldest first."""
STATELESS: Final = ("2026-07-28",)
"""Revisions whose requests each carry an envelope."""

PREFIX: Final = "io.modelcontextprotocol/"
VERSION_KEY: Final = PREFIX + "protocolVersion"
CLIENT_KEY: Final = PREFIX + "clientInfo"
CAPABILITIES_KEY: Final = PREFIX + "clientCapabilities"
MOST_ROUNDS: Final = 16
"""How often a server may ask for one call (2026-07-28); what follows is judged as a call of its own."""
SUBSCRIPTION_KEY: Final = PREFIX + "subscriptionId"

_ENVELOPE: Final = (VERSION_KEY, CLIENT_KEY, CAPABILITIES_KEY)
_FORM_SINCE: Final = "2025-11-25"
"""The first revision in which a question says that it is a form."""


class Peer(Struct, frozen=True):
    """Who asks: what the client told of itself, once or in this request."""

    version: str = HANDSHAKE[0]
    stateless: bool = False
    can_be_asked: bool = False
    """Whether it can show a person a form and bring back what they say."""
    name: str = ""
    """What the client calls itself. It is not proven."""

    @property
    def names_forms(self) -> bool:
        return self.stateless or self.version >= _FORM_SINCE


def peer_of_handshake(params: Mapping[str, Any]) -> Peer:
    """The client, as it presents itself in `initialize`."""
    return _peer(params.get("protocolVersion"), params.get("capabilities"), params.get("clientInfo"), stateless=False)


def peer_of_request(meta: Mapping[str, Any], known: Peer) -> Peer:
    """The client, as this request presents it; as it is `known` where the request says nothing."""
    version = meta.get(VERSION_KEY)
    if not isinstance(version, str):
        return known
    return _peer(version, meta.get(CAPABILITIES_KEY), meta.get(CLIENT_KEY), stateless=True)


def _peer(version: Any, capabilities: Any, client: Any, *, stateless: bool) -> Peer:
    name = mapping(client).get("name")
    return Peer(
        version=version if isinstance(version, str) else HANDSHAKE[0],
        stateless=stateless,
        can_be_asked=_shows_forms(mapping(capabilities).get("elicitation")),
        name=name if isinstance(name, str) else "",
    )


def _shows_forms(elicitation: Any) -> bool:
    """A capability without any mode is one for forms: the first revision that had it knew no other."""
    return isinstance(elicitation, dict) and (not elicitation or isinstance(mapping(elicitation).get("form"), dict))


def envelope(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What a request of our own needs beside those of this client: in its era, in its name, without its tokens. Empty
    where requests have none."""
    if not isinstance(meta.get(VERSION_KEY), str):
        return {}
    return {"_meta": {key: meta[key] for key in _ENVELOPE if key in meta}}


def complete(result: Mapping[str, Any], peer: Peer) -> dict[str, Any]:
    """A result as this client wants it."""
    return {**result, "resultType": "complete"} if peer.stateless else dict(result)


def refusal(text: str, peer: Peer) -> dict[str, Any]:
    """The result of a call that does not run: the model reads why."""
    return complete({"content": [{"type": "text", "text": text}], "isError": True}, peer)


def input_required(requests: Mapping[str, Any], state: str) -> dict[str, Any]:
    """The result of a call that waits for an answer (stateless): the client asks, then calls again with both."""
    return {"resultType": "input_required", "inputRequests": requests, "requestState": state}


def is_input_required(result: Mapping[str, Any]) -> bool:
    return result.get("resultType") == "input_required"


# ── answers ──
# What a server answered to a call: as the record needs it, and as the client gets it where something must be added.

_MOST_READ: Final = 1 << 18
"""Bytes of an answer that is looked into for its summary."""


class Outcome(Struct, frozen=True):
    """As `Door.ended` takes it."""

    ok: bool
    summary: str = ""
    error: str | None = None
    asks: bool = False
    """It is no result yet: the server asks for more before it goes on."""
    answer: bytes | None = None
    """All that the model may read of it."""


class _Result(Struct, frozen=True, rename="camel"):
    is_error: Any = False
    result_type: Any = None
    content: Raw = ABSENT
    structured_content: Raw = ABSENT


class _Block(Struct, frozen=True):
    type: Any = None
    text: Any = None


_results = Decoder(_Result)
_blocks = Decoder(list[_Block])
_pieces = Decoder(list[Raw])


def outcome_of(result: Raw | None, error: Raw | None) -> Outcome:
    """Of a response's two fields, of which one is there."""
    if error:
        told = mapping(value(error)).get("message")
        said = told[:GENEROUS] if isinstance(told, str) else "The server reported an error."
        return Outcome(ok=False, error=said, answer=bytes(error))
    try:
        found = _results.decode(result or b"")
    except _WRONG:
        return Outcome(ok=False, error="The server's answer is not a result.")
    if found.result_type == "input_required" and found.is_error is not True:
        return Outcome(ok=True, summary="The server asks for input", asks=True)
    text = _text(found.content)
    answer = b"%b\0%b" % (bytes(found.content), bytes(found.structured_content))
    if found.is_error is True:
        return Outcome(ok=False, error=text or "It failed.", answer=answer)
    return Outcome(ok=True, summary=text, answer=answer)


def _text(content: Raw) -> str:
    """The beginning of what the result says."""
    size = len(bytes(content))
    if size > _MOST_READ:
        return f"{size:,} bytes"
    try:
        blocks = _blocks.decode(content) if content else []
    except _WRONG:
        return ""
    for block in blocks:
        if isinstance(block.text, str):
            return block.text[:GENEROUS]
    return f"{len(blocks)} content block{'s' * (len(blocks) > 1)}" if blocks else ""


def with_note(result: Raw, text: str) -> Raw:
    """The result with one more piece for the model to read at its end; as it is where it has no such pieces."""
    found = fields(result)
    try:
        pieces = _pieces.decode(found["content"])
    except (KeyError, *_WRONG):
        return result
    return Raw(encode({**found, "content": [*pieces, {"type": "text", "text": text}]}))


# ── serving answers ──
# Messages that we write ourselves. What a server said is put into them as it stands.

CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"

METHOD_NOT_FOUND: Final = -32601
INTERNAL: Final = -32603


class Answer(Struct, frozen=True):
    """To a request: one of the two."""

    result: Raw | None = None
    error: Raw | None = None


class Refused(Exception):
    """A request that is answered with an error of the protocol."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.answer = failed_result(code, message, data)
        self.code = code


def failed_result(code: int, message: str, data: Any = None) -> Answer:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return Answer(error=Raw(json.encode(error)))


def success(result: Mapping[str, Any]) -> Answer:
    return Answer(Raw(json.encode(result)))


def a_response(id: bytes | Raw, answer: Answer) -> bytes:
    """
    >>> a_response(b'"7"', success({"ok": True}))
    b'{"jsonrpc":"2.0","id":"7","result":{"ok":true}}'
    """
    if answer.error is not None:
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (bytes(id), bytes(answer.error))
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (bytes(id), bytes(answer.result or b"{}"))


def one_line(message: bytes) -> bytes:
    """The same message without a line end in it: over a pipe, what follows one is a message of its own, whoever wrote
    it between the fields of another.

    >>> one_line(b'{"a":\\n{"b": 1}\\n}')
    b'{"a":{"b":1}}'
    """
    if 10 in message or 13 in message:  # numbers: to look for a text in bytes takes ten times as long
        message = json.format(message, indent=-1)
    return message if message.isascii() else escape_line_ends(message)


def is_text(line: Bytes) -> bool:
    """Some servers guess another encoding, and would find a call in what is noise to us."""
    try:
        return "\0" not in str(line, "utf-8")
    except UnicodeDecodeError:
        return False


def escape_line_ends(message: bytes) -> bytes:
    """Without the characters that only some readers take for the end of a line. JSON has them within texts alone."""
    if b"\xe2\x80" in message or b"\xc2\x85" in message:
        message = message.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
        message = message.replace(b"\xc2\x85", b"\\u0085")
    return message


# ── mirrors ──
# Headers that repeat a part of the body (2026-07-28, HTTP), so that whoever stands between can route by them: how a
# value is written there, which arguments of a tool are repeated (`x-mcp-header`), and whether both say the same.

HEADER_MISMATCH: Final = -32020
_MARK: Final = b"x-mcp-header"
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TYPES: Final = ("string", "integer", "boolean")
_WHOLE: Final = re.compile(r"(-?[0-9]{1,100})(?:\.0{0,100})?")
_DEEPEST: Final = 20
_START, _END = "=?base64?", "?="

Mirror = tuple[tuple[str, ...], str]
"""The path of an argument, and the end of the name of its header."""
Headers = Iterable[tuple[bytes, bytes]]
"""As they came, with names in lower case."""


def header_value(text: str) -> str:
    """A text as HTTP can carry it; anything unusual is wrapped as the protocol says.

    >>> header_value("a.txt"), header_value("ä")
    ('a.txt', '=?base64?w6Q=?=')
    """
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith(_START):
        return text
    return f"{_START}{b64encode(text.encode('utf-8', 'replace')).decode()}{_END}"


def header_text(given: bytes) -> str | None:
    """What a header says, without the blanks around it; None where it cannot be read in one way only.

    >>> header_text(b" a.txt\\t"), header_text(b"=?base64?w6Q=?="), header_text(b"=?base64?w6Q?=")
    ('a.txt', 'ä', None)
    """
    text = given.strip(b" \t").decode("latin-1")
    if not (text.startswith(_START) and text.endswith(_END)):
        return text if text.isascii() and text.replace("\t", " ").isprintable() else None
    inner = text[len(_START) : -len(_END)]
    try:
        found = b64decode(inner, validate=True)
        return found.decode() if b64encode(found).decode() == inner else None
    except ValueError:
        return None


def mirrors(definition: Raw) -> tuple[Mirror, ...]:
    """The arguments of a tool that HTTP clients of the new era also send as headers."""
    if _MARK not in bytes(definition):
        return ()
    schema = mapping(mapping(value(definition)).get("inputSchema"))
    found: dict[str, Mirror] = {}
    for path, token in _marked(schema, ()):
        found.setdefault(token.lower(), (path, token))
    return tuple(found.values())


def _marked(schema: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[Mirror]:
    token = schema.get(_MARK.decode())
    if path and isinstance(token, str) and _TOKEN.fullmatch(token) and schema.get("type") in _TYPES:
        yield path, token
    if len(path) < _DEEPEST:
        for name, inner in mapping(schema.get("properties")).items():
            yield from _marked(mapping(inner), (*path, name))


def mirrored(paths: tuple[Mirror, ...], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers for one call."""
    headers: dict[str, str] = {}
    for path, token in paths:
        text = _written(_value_at(arguments, path))
        if text is not None:
            headers[_header_of(token)] = header_value(text)
    return headers


def mismatch(paths: tuple[Mirror, ...], arguments: Mapping[str, Any], headers: Headers) -> str | None:
    """How the headers of a call differ from its arguments; None where they say the same. A header without an argument
    differs as well: whoever routed by it was told what the call does not say."""
    for path, token in paths:
        name = _header_of(token)
        given = [found for key, found in headers if key == name.encode()]
        wanted = _value_at(arguments, path)
        text = _written(wanted)
        shown = f"Header mismatch: Mcp-Param-{token}"
        if len(given) > 1:
            return f"{shown} is there twice"
        if text is None:
            if given:
                return f"{shown} is there, but the call has no argument {'.'.join(path)} that could be sent as a header"
        elif not given:
            return f"{shown} is missing, but the call has the argument {'.'.join(path)}"
        elif not _says(header_text(given[0]), wanted, text):
            return f"{shown} does not match the argument {'.'.join(path)}"
    return None


def _says(header: str | None, wanted: Any, text: str) -> bool:
    if header == text:
        return True
    if header is None or isinstance(wanted, (bool, str)):
        return False
    whole = _WHOLE.fullmatch(header)
    return whole is not None and int(whole[1]) == wanted  # 42.0 is 42


def _header_of(token: str) -> str:
    return f"mcp-param-{token.lower()}"


def _value_at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = arguments
    for name in path:
        found = mapping(found).get(name)
    return found


def _written(found: Any) -> str | None:
    """As a header says it; None where there is no value, or one that no header can say."""
    if isinstance(found, bool):
        return "true" if found else "false"
    if not isinstance(found, (str, int, float)):
        return None
    try:
        return str(found)
    except ValueError:  # a number with thousands of digits
        return None


# ── tasks ──
# Tasks: calls whose result comes later, in both forms in use.
#
#     2025-11-25   the client asks for one (`task` in `tools/call`); `tasks/get` tells where it stands, `tasks/result`
#                  waits for its result, `tasks/list` and `tasks/cancel` do what they say
#     2026-07-28   an extension: the server decides, where the client has said that it can (`resultType: "task"`);
#                  `tasks/get` tells where it stands and brings the result, `tasks/update` answers its questions
#
# What is said of a task here is read only as far as the record of its call needs it.

EXTENSION: Final = "io.modelcontextprotocol/tasks"
RELATED: Final = "io.modelcontextprotocol/related-task"
STATUS: Final = "notifications/tasks/status"
STATUS_NEW: Final = "notifications/tasks"
UPDATE: Final = "tasks/update"
ABOUT_ONE: Final = ("tasks/get", "tasks/result", "tasks/cancel", UPDATE)
"""Requests that name a task."""
LONGEST: Final = 86_400.0
"""Seconds for which the record of a call waits for a task, whatever its server says."""
EXPIRED: Final = "The task expired before its result was fetched."
_TASK_CANCELLED: Final = "The client cancelled the task."
_KEY: Final = b"taskId"
_ENDED: Final = {"failed": "The task failed.", "cancelled": "The task was cancelled."}


class Created(Struct, frozen=True):
    """A result that is none yet: the server has begun a task."""

    id: str
    seconds: float
    """How long the server keeps it."""


def is_able(capabilities: Any) -> bool:
    """Whether a client has said that it can have tasks (2026-07-28)."""
    return EXTENSION in mapping(mapping(capabilities).get("extensions"))


def created_by(result: Raw | None, *, wanted: bool, able: bool) -> Created | None:
    """The task that a result of `tools/call` names; None where it is the result. `wanted`: the call asked for one
    (2025-11-25). `able`: the client can have them (2026-07-28). To any other client what only looks like a task is the
    result, and so it is recorded."""
    if not (wanted or able) or result is None or _KEY not in bytes(result):
        return None
    found = mapping(value(result))
    is_new = able and found.get("resultType") == "task"
    task = found if is_new else mapping(found.get("task") if wanted else None)
    named = task.get("taskId")
    return Created(named, _lifetime(task)) if isinstance(named, str) else None


def _lifetime(task: Mapping[str, Any]) -> float:
    told = task.get("ttlMs", task.get("ttl"))
    is_told = isinstance(told, (int, float)) and not isinstance(told, bool) and told >= 0
    return min(told, LONGEST * 1000) / 1000 if is_told else LONGEST  # the smaller first: a number may be of any length


def ending_of(method: str, result: Raw | None, error: Raw | None) -> Outcome | None:
    """What the answer to a request about a task says of the end of its call; None where it goes on."""
    if method == "tasks/result":
        return outcome_of(result, error)
    if result is None:
        return None
    if method == "tasks/cancel":
        status = mapping(value(result)).get("status")
        return Outcome(ok=False, error=_TASK_CANCELLED) if status in (None, "cancelled") else None
    return ending_told(result) if method == "tasks/get" else None


def ending_told(task: Raw) -> Outcome | None:
    """The same for a task as a server describes it. One that is completed has its result in it, or it is still to be
    fetched."""
    found = fields(task)
    status = value(found.get("status", b""))
    if status == "completed" and "result" in found:
        return outcome_of(found["result"], None)
    if status == "failed" and "error" in found:
        return outcome_of(None, found["error"])
    if status not in _ENDED:
        return None
    told = value(found.get("statusMessage", b""))
    return Outcome(ok=False, error=told[:GENEROUS] if isinstance(told, str) and told else _ENDED[status])


def with_warning(method: str, result: Raw, text: str) -> Raw:
    """The answer to a request about a task with a note for the model, where the result of its call is in it."""
    if method == "tasks/result":
        return with_note(result, text)
    found = fields(result)
    if method != "tasks/get" or "result" not in found:
        return result
    return Raw(encode({**found, "result": with_note(found["result"], text)}))


def renamed(result: Raw, id: str) -> Raw:
    """A task as it is described, under another id."""
    found: dict[str, Any] = dict(fields(result))
    if "task" in found:
        found["task"] = renamed(found["task"], id)
    elif _KEY.decode() in found:
        found[_KEY.decode()] = id
    else:
        return result
    return Raw(encode(found))
