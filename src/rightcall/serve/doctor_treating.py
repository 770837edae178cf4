"""One question to the model: asked once, and looked at twice, as it came and as the proxy would have passed it on."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.http.errors import HttpError
from rightcall.errors import ConfigError
from rightcall.gate import Gate
from rightcall.proxy.gates import Gates
from rightcall.proxy.ignored import ignored, refused_tools
from rightcall.proxy.teaching import is_copied
from rightcall.proxy.teaching import taught as as_taught
from rightcall.proxy.wire import Wire
from rightcall.proxy.wires.common import an_object, decoded
from rightcall.serve.asking import ENDED
from rightcall.serve.doctor_finding import needs_key, no_such_model
from rightcall.serve.doctor_judging import CUT, Damage, Outcome, damages_of, judged
from rightcall.serve.doctor_questions import DoctorQuestion
from rightcall.serve.doctor_reading import Emission, Message, Through, read, replaced, through
from rightcall.serve.doctor_requests import Object, Patient, request_of
from rightcall.serve.upstream import Upstream
from rightcall.text.escape import escaped
from rightcall.types import Verdict

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
        came = through(wire, gate, emission, lift=lift, taught=taught)
        with_lift = came if lift else through(wire, gate, emission, lift=True)
        treated = judged(wire, gate, came.message, question)
        why = "" if taught or with_lift.did else self._ignored(wire, request, message)
        damage = _damage(wire, gate, message, _without_samples(with_lift) if taught else with_lift, question, why)
        again = await self._again(request, gate, emission, came, lift=lift, taught=taught)
        return Treated(
            without=judged(wire, gate, message, question),
            treated=treated,
            retried=None if again is None else judged(wire, gate, again, question),
            lifted=None if lift else judged(wire, gate, with_lift.message, question),
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
        return replaced(wire, gate, first, second, lift=lift, taught=taught) or came.message

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
        return ignored(asked, request, message.usage, wire=wire.name) or ""

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
    error = (decoded(body) or {}).get("error")
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
    return replace(came, did=tuple(did for did in came.did if did.fate != "left" or not _is_sample(did.verdict)))


def _is_sample(verdict: Verdict) -> bool:
    return verdict.call is not None and is_copied(verdict.call.arguments)


def _is_text(verdict: Verdict) -> bool:
    call = verdict.call or verdict.found
    return call is None or call.origin == "text"
