"""What models wrote, call by call, from the audit log or from JSON lines: with who wrote it and what became of it.

    the audit log ─▶ recorded ─┐
    JSON lines    ─▶ logged   ─┴─▶ Emitted, in order, as often as somebody looks through them

A history is looked through several times and never held in memory. Everything in it was written by models, tools and
strangers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.json.strict import NO_JSON, attempt
from rightcall.learn.bench import Bench
from rightcall.learn.history import Readable, RecordedCall, RecordedEnd, Span, stream_calls
from rightcall.types import Call, Reading

LONGEST_LINE: Final = 32 * 1024 * 1024
_LONGEST_LABEL: Final = 200


class Emitted(Struct, frozen=True):
    """One call as a model wrote it; `name` is empty where no call was found in the text."""

    number: int
    """Of its record, or of its line."""
    caller: str
    context: str
    model: str
    name: str = ""
    arguments: Any = None
    text: str = ""
    ok: bool | None = None
    """Whether it ran and gave a result; None: nobody says."""
    denied: bool = False
    """A policy or a person said no, or another model wrote it. Nothing is learned from that."""
    tools: str = ""
    """Which tools it was written for, where its line brought them along: a key of the bench."""


History = Callable[[], Iterator[Emitted]]


# ── the audit log ──

_OF_THE_GATE: Final = frozenset(("validation", "unknown_tool"))
"""Rules that refuse a call because it does not fit."""
_UNSURE: Final = "approval:confidence"
"""A call that was repaired, but not surely enough: it waits, and what the model or a person makes of it says more."""
_NOT_WRITTEN: Final = frozenset(("llm",))
"""Strategies whose outcome another model wrote: it is no correction."""


def recorded(store: Readable, span: Span, bench: Bench) -> Iterator[Emitted]:
    """The calls of the audit log. How each ended stands in a later record, so these are looked through first."""
    failed = {
        one.call for one in stream_calls(store, span) if isinstance(one, RecordedEnd) and one.body.status != "success"
    }
    for one in stream_calls(store, span):
        if not isinstance(one, RecordedCall) or one.body.erased:
            continue
        if one.kind != "waiting" or one.body.rule == _UNSURE:
            yield from _of_record(one, one.seq in failed, bench)


def _of_record(one: RecordedCall, failed: bool, bench: Bench) -> Iterator[Emitted]:
    body = one.body
    refused = one.kind in ("refused", "waiting")
    denied = (one.kind == "refused" and body.rule not in _OF_THE_GATE) or body.strategy in _NOT_WRITTEN
    ok = None if one.kind == "proxied" or denied else not (refused or failed)
    who = Emitted(one.seq, body.caller, body.context or "", body.model or body.provider, ok=ok, denied=denied)
    for name, arguments, text in _written(one, bench):
        yield Emitted(
            who.number, who.caller, who.context, who.model, name=name, arguments=arguments, text=text, ok=ok,
            denied=denied,
        )  # fmt: skip


def _written(one: RecordedCall, bench: Bench) -> Iterator[tuple[str, Any, str]]:
    """Name and arguments as the model wrote them; where its text holds no call, the text. Of a native call that passed
    through the proxy only the arguments are kept so."""
    body, emission = one.body, one.body.emission
    if emission is None:
        yield body.written or body.tool, body.params, ""
    elif isinstance(emission, dict) and "name" in emission and "arguments" in emission and one.kind != "proxied":
        told = cast("dict[str, Any]", emission)
        yield str(told["name"]), told["arguments"], ""
    elif body.origin != "text":
        yield body.written or body.tool, emission, ""
    elif isinstance(emission, str):
        found = [call for call in _calls(bench.read(emission)) if call is not None]
        yield from ((call.name, call.arguments, "") for call in found)
        if not found:
            yield "", None, emission


def _calls(reading: Reading) -> Iterator[Call | None]:
    return (verdict.found for verdict in reading.calls)


# ── JSON lines ──

_CALLERS: Final = ("caller", "user", "user_id", "agent", "client", "customer")
_CONTEXTS: Final = (
    "context", "session", "session_id", "sessionId", "conversation", "conversation_id", "thread", "thread_id",
    "chat", "chat_id", "trace_id", "traceId", "run_id",
)  # fmt: skip
_MODELS: Final = ("model", "model_name", "modelId", "provider")
_TEXTS: Final = ("text", "message", "output", "response", "completion", "content", "emission", "generation")
_NAMES: Final = ("name", "tool", "tool_name", "function")
_ARGUMENTS: Final = ("arguments", "args", "input", "params", "parameters", "emitted")
_GOOD: Final = frozenset(("ok", "success", "succeeded", "completed", "done"))
_BAD: Final = frozenset(("failed", "failure", "error", "refused", "invalid", "rejected"))
_DENIED: Final = frozenset(("denied", "blocked", "forbidden"))
_ERRORS: Final = ("⚠️", "error", "invalid", "traceback", "unknown tool", "validation")


class BadLine(ValueError):
    """A line that cannot be used, and why."""


def logged(lines: Iterator[tuple[int, bytes | None]], bench: Bench, skipped: Callable[[int, str], object]) \
        -> Iterator[Emitted]:  # fmt: skip
    """The calls of JSON lines. A line that cannot be used is told to `skipped`, and left out."""
    for number, line in lines:
        if line is None:
            skipped(number, f"longer than {LONGEST_LINE:,} bytes")
        elif line.strip():
            try:
                yield from of_line(number, line, bench)
            except BadLine as wrong:
                skipped(number, str(wrong))


def of_line(number: int, line: bytes, bench: Bench) -> Iterator[Emitted]:
    """The calls of one line. Raises BadLine."""
    try:
        value = attempt(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise BadLine("not UTF-8 text") from None
    if isinstance(value, str):
        value = {"text": value}
    if value is NO_JSON or not isinstance(value, dict):
        raise BadLine('not a JSON object with "text", "message", "messages" or "name" and "arguments"')
    fields = cast("dict[str, Any]", value)
    found = list(_of_fields(number, fields, bench))
    if not found:
        raise BadLine("no model output in it")
    yield from found


def _of_fields(number: int, fields: dict[str, Any], bench: Bench) -> Iterator[Emitted]:
    request = _table(fields.get("request")) or _table(fields.get("input"))
    beside = (fields, _table(fields.get("metadata")), request, _table(fields.get("message")))
    tools: Any = next((one["tools"] for one in (fields, request) if isinstance(one.get("tools"), list)), None)
    about = Emitted(
        number, _label(beside, _CALLERS), _label(beside, _CONTEXTS), _label(beside, _MODELS),
        ok=_outcome(fields), denied=str(fields.get("status", "")).lower() in _DENIED,
        tools="" if tools is None else bench.keep(cast("list[Any]", tools)),
    )  # fmt: skip
    conversation = fields.get("messages") if isinstance(fields.get("messages"), list) else None
    read: Any = fields.get("calls")
    name = next((fields[key] for key in _NAMES if isinstance(fields.get(key), str)), None)
    if conversation is not None and not any(key in fields for key in ("response", "output", "completion")):
        yield from _of_conversation(about, cast("list[Any]", conversation), bench)
    elif isinstance(read, list):
        yield from _of_readings(about, cast("list[Any]", read), fields)
    elif name is not None and any(key in fields for key in _ARGUMENTS):
        arguments = next(fields[key] for key in _ARGUMENTS if key in fields)
        yield _with(about, name, arguments)
    else:
        said: Any = next((fields[key] for key in _TEXTS if fields.get(key) is not None), None)
        if isinstance(said, (str, dict, list)):
            yield from _of_output(about, said, bench)


def _with(about: Emitted, name: str, arguments: Any, ok: bool | None = None, text: str = "") -> Emitted:
    return Emitted(
        about.number, about.caller, about.context, about.model, name=name, arguments=arguments, text=text,
        ok=about.ok if ok is None else ok, denied=about.denied, tools=about.tools,
    )  # fmt: skip


def _of_output(about: Emitted, said: Any, bench: Bench) -> Iterator[Emitted]:
    """The calls in a text or in a native message; the text itself where it holds none."""
    reading = bench.read(said, about.tools)
    found = [call for call in _calls(reading) if call is not None]
    yield from (_with(about, call.name, call.arguments) for call in found)
    if not found:
        yield _with(about, "", None, text=said if isinstance(said, str) else reading.text)


def _of_readings(about: Emitted, calls: list[Any], fields: Mapping[str, Any]) -> Iterator[Emitted]:
    """What `rightcall read --jsonl` and `rightcall check --jsonl` print."""
    for one in map(_table, calls):
        if isinstance(one.get("name"), str):
            yield _with(about, one["name"], one.get("arguments"))
    if not calls and isinstance(fields.get("text"), str):
        yield _with(about, "", None, text=fields["text"])


def _of_conversation(about: Emitted, messages: Sequence[Any], bench: Bench) -> Iterator[Emitted]:
    """Every call of a conversation; what a tool answered says whether it went well."""
    answers = dict(_answers(messages))
    if not about.context:  # a conversation of its own
        about = replace(about, context=f"line {about.number}")
    for message in map(_table, messages):
        if message.get("role") not in ("assistant", "model", "ai"):
            continue
        reading = bench.read(message, about.tools)
        found = [call for call in _calls(reading) if call is not None]
        for call in found:
            yield _with(about, call.name, call.arguments, answers.get(call.id or ""))
        if not found:
            yield _with(about, "", None, text=reading.text)


def _answers(messages: Sequence[Any]) -> Iterator[tuple[str, bool]]:
    """The id of each call that was answered, and whether the answer is a result."""
    for message in map(_table, messages):
        if message.get("role") == "tool" and isinstance(message.get("tool_call_id"), str):
            yield message["tool_call_id"], not _is_error(message.get("content"), message.get("is_error"))
        content = message.get("content")
        for block in map(_table, cast("list[Any]", content) if isinstance(content, list) else []):
            if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str):
                yield block["tool_use_id"], not _is_error(block.get("content"), block.get("is_error"))


def _is_error(content: Any, flag: Any) -> bool:
    if isinstance(flag, bool):
        return flag
    text = content if isinstance(content, str) else str(content or "")
    return text.lstrip().lower().startswith(_ERRORS)


def _outcome(fields: Mapping[str, Any]) -> bool | None:
    for key in ("ok", "success"):
        if isinstance(fields.get(key), bool):
            return fields[key]
    if fields.get("error"):
        return False
    status = str(fields.get("status", "")).lower()
    return True if status in _GOOD else False if status in _BAD else None


def _label(beside: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    for table in beside:
        for name in names:
            value = table.get(name)
            if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value).strip():
                return str(value)[:_LONGEST_LABEL]
    return ""


def _table(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
