"""Whether an answer can be used, whether it is right, and what is wrong with it.

*Usable* means: the right tools, as native calls with ids, and arguments that are JSON and fit the schema. *Right*
means: also with the values that the question states. A wrong tool is never usable, whoever repaired it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from time import monotonic
from typing import Any, Final, Literal, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.http.answers import HttpError, TooLong
from rightcall.base.text import escaped
from rightcall.catalog.tool import Tool
from rightcall.doctor.questions import DoctorQuestion, Object, Patient, needs_key, no_such_model, request_of
from rightcall.errors import ConfigError
from rightcall.gate.gate import Gate
from rightcall.proxy.flow import Editor, Flow
from rightcall.proxy.gates import Did, Gates, Settler
from rightcall.proxy.teaching import is_copied, refused_tools, why_ignored
from rightcall.proxy.teaching import teach_tools as as_taught
from rightcall.proxy.wires.common import Delta, Kind, Redo, Usage, Wire, an_object, decode_object, decode_value
from rightcall.server.addresses import Upstream
from rightcall.server.exchange import ENDED, replacement
from rightcall.types import Call, Verdict

# ── answers, read ──
# What a client gets of an answer, and what it would have got through the proxy: the same bytes, read the same way.

Replacement = tuple[str, tuple[Call, ...], list[Did], str | None]


class Emission(Struct, frozen=True):
    """One answer of the server, as it came."""

    status: int
    raw: bytes
    stream: bool
    seconds: float = 0.0


class Native(Struct, frozen=True):
    """A native call as the client sees it."""

    name: Any
    arguments: Any
    id: Any = None


class Message(Struct, frozen=True):
    """What a client reads out of an answer."""

    calls: tuple[Native, ...] = ()
    text: str = ""
    finish: str = ""
    usage: Usage = Usage()
    readable: bool = True


class Through(Struct, frozen=True):
    """What leaves the proxy of an emission."""

    message: Message
    did: tuple[Did, ...] = ()
    redo: Redo | None = None
    """What the model would be told with --retry; None where nothing is broken that could be said again."""


def read(wire: Wire, emission: Emission) -> Message:
    """The answer as a client of this API reads it."""
    if emission.stream:
        return _read_stream(wire, emission.raw)
    answer = decode_object(emission.raw)
    event = wire.whole(answer) if answer is not None else None
    if event is None:
        return Message(readable=False)
    return _message(event.deltas, wire.usage(answer))


def pass_through(wire: Wire, gate: Gate, emission: Emission, *, lift: bool, taught: bool = False) -> Through:
    """The same answer, after the engine of the proxy."""
    flow = _flow(wire, gate, lift=lift, hold=False, taught=taught)
    edited = _edited(wire, flow, emission)
    held = _flow(wire, gate, lift=lift, hold=True, taught=taught)
    _edited(wire, held, emission)
    return Through(read(wire, edited), tuple(flow.did), held.redo() if held.broken else None)


def retry_answer(
    wire: Wire, gate: Gate, first: Emission, second: Emission, *, lift: bool, taught: bool = False
) -> Message | None:
    """What a client gets with --retry: what was right in the first answer stays, and the second stands in for what was
    broken. None where the second is no better, so that the first passes as it is."""
    answer = decode_object(second.raw) if second.status < 400 else None
    event = wire.whole(answer) if answer is not None else None
    if event is None:
        return None
    better = _flow(wire, gate, lift=lift, hold=True, taught=taught)
    better.take(event)
    if better.broken:
        return None
    held = _flow(wire, gate, lift=lift, hold=True, taught=taught)
    return read(wire, _edited(wire, held, first, replacement(event, better)))


def _flow(wire: Wire, gate: Gate, *, lift: bool, hold: bool, taught: bool) -> Flow:
    settler = Settler(gate, taught=taught, new_id=wire.new_id if wire.new_id() else None)
    settler.text_arguments = wire.text_arguments
    return Flow(settler, lift=lift, hold=hold)


def _edited(wire: Wire, flow: Flow, emission: Emission, other: Replacement | None = None) -> Emission:
    """What leaves the proxy; `other` stands in for what is broken in an answer that is held."""
    if emission.stream:
        editor = Editor(wire.stream(), flow)
        try:
            raw = editor.feed(emission.raw)
        except TooLong:
            return emission
        if flow.broken and other is not None:
            flow.replace(*other)
        return Emission(emission.status, raw + editor.close(), True)
    answer = decode_object(emission.raw)
    event = wire.whole(answer) if answer is not None else None
    if event is None:
        return emission
    flow.take(event)
    if flow.broken and other is not None:
        flow.replace(*other)
    if flow.broken:
        return emission
    return Emission(emission.status, msgspec.json.encode(wire.written(event)), False)


def _read_stream(wire: Wire, raw: bytes) -> Message:
    reader = wire.stream()
    deltas: list[Delta] = []
    try:
        for event in reader.framing.feed(raw):
            deltas += reader.read(event).deltas
    except TooLong:
        return Message(readable=False)
    rest = reader.framing.rest()
    if rest.strip():
        deltas += reader.read(rest).deltas
    return _message(deltas, reader.usage)


def _message(deltas: list[Delta], usage: Usage) -> Message:
    text: list[str] = []
    names: dict[Any, Native] = {}
    pieces: dict[Any, list[Any]] = {}
    finish = ""
    for delta in deltas:
        if delta.kind is Kind.TEXT:
            text.append(delta.text)
        elif delta.kind is Kind.CALL:
            known = names.get(delta.key)
            names[delta.key] = Native((known and known.name) or delta.name, None, (known and known.id) or delta.id)
            pieces.setdefault(delta.key, []).append(delta.arguments)
        elif delta.kind is Kind.MORE:
            pieces.setdefault(delta.key, []).append(delta.arguments)
        elif delta.kind is Kind.FINISH:
            finish = delta.text
    calls = tuple(Native(call.name, _joined(pieces[key]), call.id) for key, call in names.items())
    return Message(calls, "".join(text), finish, usage)


def _joined(pieces: list[Any]) -> Any:
    """Arguments come as pieces of text, or as one object; Anthropic's streams begin with an empty object and go on as
    text."""
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    whole = [piece for piece in pieces if not isinstance(piece, str)]
    return text if text or not whole else whole[-1]


Damage = Literal[
    "refused", "ignored", "none", "text", "name", "json", "types", "missing", "surplus", "id", "cut", "wrong tool",
    "number", "error", "slow",
]  # fmt: skip

TOLD: Final[dict[Damage, str]] = {
    "refused": "the server refused the request because of its tools",
    "ignored": "the server did not tell the model of its tools",
    "none": "no call at all",
    "text": "a call left in the text",
    "name": "a name that no tool has",
    "json": "arguments that are no JSON",
    "types": "values of a wrong type or outside the choices",
    "missing": "a required argument is missing",
    "surplus": "an argument that the tool does not have",
    "id": "a call without an id",
    "cut": "truncated at the token limit",
    "wrong tool": "another tool than the one asked for",
    "number": "too many or too few calls",
    "error": "the server answered with an error",
    "slow": "no whole answer in time",
}

CUT: Final = frozenset({"length", "max_tokens"})
"""Why an answer ended, in the words of the APIs, where it was not over."""


class Outcome(Struct, frozen=True):
    usable: bool = False
    right: bool = False


def judge_answer(wire: Wire, gate: Gate, message: Message, question: DoctorQuestion) -> Outcome:
    """What a strict client could do with the answer."""
    calls: list[tuple[str, dict[str, Any]]] = []
    for call in message.calls:
        arguments = arguments_of(wire, call)
        if damages_of(wire, gate, call) or arguments is None:
            return Outcome()
        calls.append((call.name, arguments))
    if Counter(name for name, _ in calls) != Counter(wanted.tool for wanted in question.wanted):
        return Outcome()
    return Outcome(True, _has_values(calls, question))


def damages_of(wire: Wire, gate: Gate, call: Native) -> set[Damage]:
    """What is wrong with a native call as such."""
    damages: set[Damage] = set()
    if wire.new_id() and not (isinstance(call.id, str) and call.id):
        damages.add("id")
    arguments = arguments_of(wire, call)
    tool = gate.catalog.tools.get(call.name) if isinstance(call.name, str) else None
    if tool is None:
        damages.add("name")
    if arguments is None:
        damages.add("json")
    elif tool is not None:
        damages |= _misfits(tool, arguments)
    return damages


def arguments_of(wire: Wire, call: Native) -> dict[str, Any] | None:
    """The arguments as a client gets them that does exactly what the API says; None where it fails."""
    value = call.arguments
    if wire.name in ("openai_chat", "openai_responses"):
        if not isinstance(value, str):
            return None
        value = decode_value(value)
    elif isinstance(value, str) and not value:
        value = {}  # a stream without a piece of arguments: there are none
    elif isinstance(value, str) and wire.name == "anthropic":  # text in a whole answer of Ollama is not an object
        value = decode_value(value)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _misfits(tool: Tool, arguments: dict[str, Any]) -> set[Damage]:
    try:
        if tool.fits(arguments):
            return set()
        kinds = {str(cast("Any", error.kind).name) for error in tool.errors(arguments)}
    except ValueError:
        return {"json"}
    by_kind: dict[str, Damage] = {"required": "missing", "additionalProperties": "surplus"}
    return {by_kind.get(kind, "types") for kind in kinds} or {"types"}


def _has_values(calls: list[tuple[str, dict[str, Any]]], question: DoctorQuestion) -> bool:
    """Each wanted call has one of its own; in any order, since the calls of one message may run in any."""
    left = list(calls)
    for wanted in question.wanted:
        fitting = (
            call for call in left
            if call[0] == wanted.tool and same(call[1], wanted.values, exact=question.exact)
        )  # fmt: skip
        found = next(fitting, None)
        if found is None:
            return False
        left.remove(found)
    return True


def same(given: Any, wanted: Any, *, exact: bool) -> bool:
    """Whether a value is the one that was stated.

    >>> same({"city": " paris"}, {"city": "Paris"}, exact=False), same(True, 1, exact=False), same("A", "a", exact=True)
    (True, False, False)
    """
    if isinstance(wanted, dict):
        pairs = cast("dict[str, Any]", wanted).items()
        if not isinstance(given, dict):
            return False
        holder = cast("dict[str, Any]", given)
        return all(key in holder and same(holder[key], value, exact=exact) for key, value in pairs)
    if isinstance(wanted, list):
        items, others = cast("list[Any]", wanted), cast("list[Any]", given)
        if not isinstance(given, list) or len(others) != len(items):
            return False
        return all(same(one, other, exact=exact) for one, other in zip(others, items, strict=True))
    if isinstance(wanted, str) and isinstance(given, str):
        return given.rstrip("\n") == wanted.rstrip("\n") if exact else _plain(given) == _plain(wanted)
    return isinstance(given, bool) == isinstance(wanted, bool) and given == wanted


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


# ── one question ──
# One question to the model: asked once, and looked at twice, as it came and as the proxy would have passed it on.

_STREAMS: Final = (b"text/event-stream", b"application/x-ndjson")
_SETTINGS: Final = ("temperature", "seed", "max_tokens")
"""What some servers refuse to be told."""


_OF_PROBLEMS: Final[dict[str, Damage]] = {
    "missing": "missing", "missing_any": "missing", "unknown_tool": "name", "unknown_argument": "surplus",
    "ambiguous_name": "surplus", "unreadable": "json", "duplicate_key": "json", "truncated": "cut",
}  # fmt: skip
"""What the gate has against a call in the text that nobody could repair."""


class Treated(Struct, frozen=True):
    """What came of one question."""

    without: Outcome = Outcome()
    treated: Outcome = Outcome()
    retried: Outcome | None = None
    """After the model was asked again with the hint; None where there was no reason to."""
    lifted: Outcome | None = None
    """With calls lifted out of the text, where the proxy does not do so by itself."""
    damage: tuple[Damage, ...] = ()
    ignored: str = ""
    """Why the server seems not to have told the model of its tools."""
    note: str = ""
    """What the server said, where it answered with an error."""
    seconds: float = 0.0


class Treating:
    """Asks one model, one question after the other."""

    def __init__(
        self, upstream: Upstream, gates: Gates, patient: Patient, *, lift: bool, seconds: float,
        models: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.patient = patient
        self._upstream = upstream
        self._gates = gates
        self._lift = lift
        self._seconds = seconds
        self._models = models

    async def ask(self, question: DoctorQuestion, seed: int, *, taught: bool) -> Treated:
        """Asks, with the tools beside the prompt or `taught` in it. Raises ConfigError for what will not get better
        with the next question: no key, no such model."""
        began = monotonic()
        try:
            async with asyncio.timeout(self._seconds):
                treated = await self._asked(question, seed, taught=taught)
        except TimeoutError:
            treated = Treated(damage=("slow",), note=f"no whole answer within {self._seconds:g} s")
        except HttpError as error:
            treated = Treated(damage=("slow" if error.kind == "timeout" else "error",), note=str(error))
        return replace(treated, seconds=monotonic() - began)

    async def _asked(self, question: DoctorQuestion, seed: int, *, taught: bool) -> Treated:
        wire = self.patient.wire
        request, emission, gate = await self._first(wire, question, seed, taught=taught)
        if emission.status >= 300:
            return self._failed(emission)
        message = read(wire, emission)
        if not message.readable:
            return Treated(damage=("error",), note="the answer is none of this API")
        lift = self._lift or taught
        came = pass_through(wire, gate, emission, lift=lift, taught=taught)
        with_lift = came if lift else pass_through(wire, gate, emission, lift=True)
        treated = judge_answer(wire, gate, came.message, question)
        why = "" if taught or with_lift.did else self._ignored(wire, request, message)
        damage = _damage(wire, gate, message, _without_samples(with_lift) if taught else with_lift, question, why)
        again = await self._again(request, gate, emission, came, lift=lift, taught=taught)
        return Treated(
            without=judge_answer(wire, gate, message, question),
            treated=treated,
            retried=None if again is None else judge_answer(wire, gate, again, question),
            lifted=None if lift else judge_answer(wire, gate, with_lift.message, question),
            damage=tuple(sorted(damage - {"text"} if taught else damage)),  # a taught model is told to call in the text
            ignored=why,
        )

    async def _first(
        self, wire: Wire, question: DoctorQuestion, seed: int, *, taught: bool
    ) -> tuple[Object, Emission, Gate]:
        """The request, and its answer; without a setting, where the server does not take that."""
        while True:
            request = request_of(self.patient, question, seed)
            gate = self._gate(wire, request)
            sent = as_taught(wire, request, gate.catalog) if taught else request
            emission = await self._send(sent)
            unwanted = _unwanted(wire, emission, request) if emission.status in (400, 422) else None
            if unwanted is None:
                return sent, emission, gate
            self.patient = replace(self.patient, plain=self.patient.plain | {unwanted})

    async def _again(
        self, request: Object, gate: Gate, first: Emission, came: Through, *, lift: bool, taught: bool
    ) -> Message | None:
        """What the client would have got with --retry; None where there was no reason to ask again."""
        if came.redo is None:
            return None
        wire = self.patient.wire
        try:
            second = await self._send(wire.again(request, came.redo))
        except HttpError:  # as the proxy: the first answer stays
            return came.message
        return retry_answer(wire, gate, first, second, lift=lift, taught=taught) or came.message

    def _gate(self, wire: Wire, request: Object) -> Gate:
        asked = wire.asked(msgspec.json.encode(request))
        gate = self._gates.of(asked.tools) if asked is not None else None
        assert gate is not None, "every question offers tools"
        return gate

    def _ignored(self, wire: Wire, request: Object, message: Message) -> str:
        """As the proxy: who writes a call, however wrong, was told of the tools, and an answer that was cut says
        nothing."""
        asked = wire.asked(msgspec.json.encode(request))
        if asked is None or message.finish not in ENDED:
            return ""
        return why_ignored(asked, request, message.usage, wire=wire.name) or ""

    def _failed(self, emission: Emission) -> Treated:
        status, body = emission.status, emission.raw
        host = self._upstream.host
        if refused_tools(status, body):
            return Treated(damage=("refused",), note=self._said(emission))
        if status in (401, 403):
            raise needs_key(host, status, given=bool(self.patient.key))
        if status == 404 and b"model" in body.lower():
            raise no_such_model(host, self.patient.model, self._models)
        if status == 404:
            raise ConfigError(
                f"--upstream: {host} has nothing at {self.patient.target}: does it speak another API (see --wire), "
                "or does its address lack a part such as /v1?"
            )
        return Treated(damage=("error",), note=self._said(emission))

    def _said(self, emission: Emission) -> str:
        """What the server said, without the key, should it repeat that."""
        text = _complaint(emission.raw) or emission.raw[:2_000].decode("utf-8", "replace")
        if self.patient.key:
            text = text.replace(self.patient.key, "…")
        return f"status {emission.status}: {escaped(' '.join(text.split()), 300)}"

    async def _send(self, request: Object) -> Emission:
        body = msgspec.json.encode(request)
        incoming = await self._upstream.send("POST", self.patient.target, self.patient.headers, body)
        try:
            raw = await incoming.read_all()
        finally:
            incoming.release()
        kind = next((value for name, value in incoming.headers if name == b"content-type"), b"")
        return Emission(incoming.status, raw, kind.partition(b";")[0].strip().lower() in _STREAMS)


def _complaint(body: bytes) -> str:
    """What an error says, in the shape that most servers give it.

    >>> _complaint(b'{"error": {"message": "no"}}'), _complaint(b'{"error": "no"}'), _complaint(b"<html>")
    ('no', 'no', '')
    """
    error = (decode_object(body) or {}).get("error")
    told = (an_object(error) or {}).get("message", error)
    return told if isinstance(told, str) else ""


def _unwanted(wire: Wire, emission: Emission, request: Object) -> str | None:
    """The setting that an error complains of, if it is one that this API can do without."""
    optional = _SETTINGS if wire.name == "openai_chat" else ("temperature",)
    return next((name for name in optional if name in request and name.encode() in emission.raw), None)


def _damage(wire: Wire, gate: Gate, message: Message, came: Through, question: DoctorQuestion, why: str) -> set[Damage]:
    """Everything that is wrong with an answer as it came."""
    found: set[Damage] = set()
    for call in message.calls:
        found |= damages_of(wire, gate, call)
    in_text = any(did.fate in ("lifted", "left") and _is_text(did.verdict) for did in came.did)
    if in_text:
        found.add("text")
    for did in came.did:
        if did.fate == "left" and _is_text(did.verdict):
            found |= {_OF_PROBLEMS.get(problem.code, "types") for problem in did.verdict.problems}
    if message.finish in CUT:
        found.add("cut")
    calls = came.message.calls
    if not calls and not message.calls and not in_text:
        found.add("ignored" if why else "none")
    wanted = [one.tool for one in question.wanted]
    known = [call.name for call in calls if isinstance(call.name, str) and call.name in gate.catalog.tools]
    if any(name not in wanted for name in known):
        found.add("wrong tool")
    elif known and len(calls) != len(wanted):
        found.add("number")
    return found


def _without_samples(came: Through) -> Through:
    """Without the examples of ours that a taught model only repeated: those are no calls."""
    return replace(
        came,
        did=tuple(
            did
            for did in came.did
            if did.fate != "left" or not (did.verdict.call is not None and is_copied(did.verdict.call.arguments))
        ),
    )


def _is_text(verdict: Verdict) -> bool:
    call = verdict.call or verdict.found
    return call is None or call.origin == "text"
