"""Between recovering and the gate: a call as it stood in a text becomes a verdict."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import replace

from rightcall.base.json.marks import is_object, repairs_of
from rightcall.base.json.shape import ANY, Shape
from rightcall.base.text import escaped, invalid_call
from rightcall.catalog.catalog import Catalog
from rightcall.catalog.tool import NameMatch, Tool
from rightcall.gate.examples import unknown_tool_hint
from rightcall.gate.judge import ArgumentsRead, fault_code, read_arguments, written_calls
from rightcall.gate.recover.machine import Machine, Scanner, scanner_for
from rightcall.gate.recover.native import NativeCall, NativeText, finish_word, unpack
from rightcall.gate.recover.window import Format, Take, Tools
from rightcall.policy.settings import Policy
from rightcall.types import Call, Note, Place, Problem, Reading, StrategyName, Verdict

Check = Callable[..., Verdict]
Event = str | Verdict
Strategies = Callable[[Tool | None], frozenset[StrategyName]]
"""Which strategies may repair a call of a tool."""

Report = Callable[[str, Verdict], None]
"""Counts and tells a refusal that no check has seen."""

_MOST_NAMES = 10_000
_NUMBERED = re.compile(r":\d+$")


class CatalogTools(Tools):
    """The tools of a catalogue, as recovering sees them. Answers are kept: a text repeats its names."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.known = bool(catalog.tools)
        self._matches: dict[str, NameMatch] = {}

    def match(self, name: str) -> NameMatch:
        found = self._matches.get(name)
        if found is None:
            if len(self._matches) >= _MOST_NAMES:
                self._matches.clear()
            found = self._matches[name] = self.catalog.find(name)
        return found

    def name(self, name: str) -> str | None:
        tool = self.match(name).tool
        return tool.name if tool is not None else None

    def may_begin(self, word: str) -> bool:
        return not self.known or self.catalog.may_begin(word)

    def shape(self, name: str) -> Shape:
        tool = self.match(name).tool if self.known and name else None
        return tool.shape if tool is not None else ANY

    def undecorated(self, name: str) -> str:
        """The name without what formats put around it: `functions.get_weather:0` is `get_weather`."""
        match = self.match(name) if self.known else None
        if match is not None and match.tool is not None:
            decorated = match.kind == "namespace" or match.tool.name == _NUMBERED.sub("", name.strip())
            return match.tool.name if decorated else name
        return _NUMBERED.sub("", name.strip()).removeprefix("functions.")


class StreamTerms(NamedTuple):
    """What all streams of a gate share."""

    scanner: Scanner
    tools: CatalogTools
    policy: Policy
    check: Check
    strategies: Strategies
    report: Report


class Stream:
    """Reads an emission while it comes. `push` and `close` return prose (str) and verdicts, in order.

    >>> from rightcall import Gate
    >>> feed = Gate().stream()
    >>> [event for piece in ("Hi <tool", "_call>{") for event in feed.push(piece)]
    ['Hi ']
    """

    def __init__(self, terms: StreamTerms, *, opened: bool = False) -> None:
        scanner, self._tools, self._policy, self._check, self._strategies, self._report = terms
        self._machine = Machine(scanner, self._tools, self._policy.max_text, opened=opened)
        self._length = 0
        self._closed = False
        self.places: list[Place] = []

    @property
    def notes(self) -> list[Note]:
        """What looked like a call and was not taken for one, so far."""
        return self._machine.notes

    @property
    def closes_alone(self) -> bool:
        """Whether a tag has closed reasoning that none had opened: the prompt must have."""
        return self._machine.closes_alone

    @property
    def beginnings(self) -> Callable[[str], object] | None:
        """What finds in a piece the characters with which something could begin; None while something is held back or
        looked for. Pieces without any may be pushed later, as one."""
        return self._machine.scanner.firsts.search if self._machine.idle else None

    @property
    def starts(self) -> list[int]:
        """Where each of the events that `push` or `close` returned last begins in the whole text."""
        return self._machine.starts

    def push(self, chunk: str) -> list[Event]:
        """The next piece of the text: prose that can be shown, and verdicts on calls that ended in it."""
        if self._closed:
            raise ValueError("the stream is closed; start a new one with gate.stream()")
        if not isinstance(chunk, str):  # pyright: ignore[reportUnnecessaryIsInstance] - who calls may not be typed
            raise TypeError(f"expected a text chunk, got {type(chunk).__name__}")
        chunk = str.__str__(chunk)
        self._length += len(chunk)
        return self._events(self._machine.push(chunk), None)

    def close(self, finish_reason: str | None = None) -> list[Event]:
        """The end of the text: what was still held back."""
        if self._closed:
            return []
        self._closed = True
        finish = finish_word(str(finish_reason)) if finish_reason else None
        return self._events(self._machine.close(is_cut=finish == "length"), finish)

    def read(self, text: str, finish_reason: str | None = None) -> Reading:
        """All of it at once: a whole text is one piece and the end."""
        self._length += len(text)
        self._machine.hold(text)
        calls: list[Verdict] = []
        prose: list[str] = []
        for event in self.close(finish_reason):
            if isinstance(event, str):
                prose.append(event)
            else:
                calls.append(event)
        return Reading(tuple(calls), "".join(prose), tuple(self.notes), tuple(self.places))

    def _events(self, events: list[Any], finish_reason: str | None) -> list[Event]:
        for nth, event in enumerate(events):
            if type(event) is not str:
                take, name = event
                if finish_reason == "length" and take.kind == "text" and take.end >= self._length:
                    take = take._replace(arguments=None, cut="value", fault="it is truncated")
                self.places.append(Place(take.start, take.end, name))
                events[nth] = self._verdict(take, cut=finish_reason == "length")
        return events

    def _verdict(self, take: Take, *, cut: bool) -> Verdict:
        if take.fault or take.cut == "value" or (cut and take.cut):
            refused = self._refused(take)
            self._report(self._tools.undecorated(take.name), refused)
            return refused
        arguments = take.arguments
        if take.marks or take.duplicates or take.cut:
            arguments = self._read_already(take)
        name = take.name if self._tools.known else self._tools.undecorated(take.name)
        verdict = self._check(name, arguments, call_id=take.id)
        return self._as_found(verdict, take)

    def _read_already(self, take: Take) -> ArgumentsRead:
        """Arguments that took the lenient reader: what it did, under the strategies that the policy allows."""
        tool = self._tools.match(take.name).tool if self._tools.known else None
        allowed = self._strategies(tool)
        repairs, forbidden = repairs_of(take.marks, take.source, strategies=allowed, value=take.arguments)
        refused = (Problem("unreadable", "", f"disabled by the policy: {rule.what}") for rule in forbidden)
        twice = (
            Problem("duplicate_key", path, f"`{escaped(path, 120)}` is given twice") for path in take.duplicates[:20]
        )
        found = ArgumentsRead(take.arguments, repairs, (*refused, *twice), bool(take.cut))
        if not isinstance(take.arguments, str):
            return found
        inner = read_arguments(take.arguments, tool.shape if tool is not None else None, allowed, self._policy)
        return inner._replace(
            repairs=(*found.repairs, *inner.repairs), problems=(*found.problems, *inner.problems),
            truncated=found.truncated or inner.truncated,
        )  # fmt: skip

    def _as_found(self, verdict: Verdict, take: Take) -> Verdict:
        """The verdict, with the origin of the call and its name as far as the format decorates it."""
        plain = verdict.ok and verdict.strategy == "direct" and verdict.mode == "block" and not verdict.truncated
        if plain and verdict.call is verdict.found and verdict.call is not None:
            call = Call(verdict.call.name, verdict.call.arguments, verdict.call.id, "text")
            return Verdict(True, call, call)
        found = verdict.found
        if found is not None:
            name = self._tools.undecorated(take.name)
            readable = is_object(found.arguments) or verdict.ok  # a list may have been mended
            found = Call(name, found.arguments, found.id, "text") if readable else None
        unread = verdict.unread
        if not verdict.ok and take.source and any(problem.code == "unreadable" for problem in verdict.problems):
            tool = self._tools.name(take.name)
            unread = None if tool is None else Call(tool, take.source, take.id, "text")
        call = verdict.call
        if call is not None and type(call.arguments) is ArgumentsRead:  # what the host watches is what the model wrote
            call = replace(call, arguments=call.arguments.value)
        if call is not None:
            call = (
                found
                if call is verdict.found and found is not None and found.name == call.name
                else replace(call, origin="text")
            )
        return replace(verdict, call=call, found=found, unread=unread)

    def _refused(self, take: Take) -> Verdict:
        """Markup of a call that holds none that could run."""
        written = self._tools.undecorated(take.name)
        name = escaped(written, 120)
        about = f"{name} call" if name else "tool call"
        names = self._tools.catalog.names
        if take.hallucinated:
            match = self._tools.match(take.name)
            problem = Problem("unknown_tool", "", f"`{name}` is not a tool, and this is not a valid tool call")
            return _refusal(problem, unknown_tool_hint(take.name, match.suggestions, names))
        if take.cut:
            problem = Problem("truncated", "", f"The {about} is truncated; resend it complete")
        else:
            problem = Problem(fault_code(take.fault), "", f"The {about} could not be read: {escaped(take.fault, 300)}")
        tool = self._tools.name(take.name) if take.source and problem.code == "unreadable" else None
        unread = None if tool is None else Call(tool, take.source, take.id, "text")
        refusal = _refusal(problem, f"{invalid_call(written or 'tool')} {problem.message}.")
        return replace(refusal, truncated=bool(take.cut), unread=unread)


def _refusal(problem: Problem, hint: str) -> Verdict:
    return Verdict(ok=False, call=None, problems=(problem,), hint=hint, confidence=0.0, strategy="failed", retry=True)


def streams(
    formats: tuple[Format, ...],
    catalog: Catalog,
    policy: Policy,
    check: Check,
    strategies: Strategies,
    report: Report,
) -> Callable[[bool], Stream]:
    """What opens a stream under these terms, inside of reasoning or not; formats and tools are prepared once."""
    terms = StreamTerms(scanner_for(formats), CatalogTools(catalog), policy, check, strategies, report)
    return lambda opened: Stream(terms, opened=opened)


# ── native messages ──
# A native message, as an API returned it: its own calls, and those that the model wrote into its text.

CUT_OFF = "The token limit truncated the call; resend the complete call"
NO_END = "The answer ends before the call does; resend the complete call"


def read_message(stream: Callable[..., Stream], check: Check, message: Any, finish_reason: str | None) -> Reading:
    """Every call of a message, in order. Texts that follow each other are one text: APIs split them anywhere."""
    unpacked = unpack(message)
    finish = finish_word(str(finish_reason)) if finish_reason else unpacked.finish
    reading = _Message(stream, check, unpacked.notes)
    last = max((at for at, part in enumerate(unpacked.parts) if isinstance(part, NativeCall)), default=-1)
    for at, part in enumerate(unpacked.parts):
        if isinstance(part, NativeText):
            reading.text(part)
        else:
            reading.call(part, cut=part.partial or (finish == "length" and at == last == len(unpacked.parts) - 1))
    return reading.finished(finish)


class _Message:
    """Collects what the parts of a message hold."""

    def __init__(self, stream: Callable[..., Stream], check: Check, notes: tuple[Note, ...]) -> None:
        self.stream = stream
        self.check = check
        self.pieces: list[str] = []
        self.prose: list[str] = []
        self.calls: list[Verdict] = []
        self.places: list[Place] = []
        self.notes = list(notes)
        self.offset = 0

    def text(self, part: NativeText) -> None:
        if not part.reasoning:
            self.pieces.append(part.text)

    def call(self, part: NativeCall, *, cut: bool) -> None:
        self.read_pieces(None)
        name = part.name if isinstance(part.name, str) else ""
        verdict = self.check(part.name, part.arguments, call_id=part.id)
        if cut and (not part.arguments or verdict.truncated):  # an API that lost the arguments says that there are none
            verdict = replace(refuse_cut(verdict), call=Call(name, {}, part.id))
        elif cut and verdict.ok:
            verdict = replace(verdict, truncated=True)
        self.calls.append(verdict)
        self.places.append(Place(self.offset, self.offset, "native"))

    def read_pieces(self, finish: str | None) -> None:
        """The text so far, with the calls in it that are not the native ones again."""
        if not self.pieces:
            return
        text = "".join(self.pieces)
        self.pieces.clear()
        # the prompt opens reasoning once: a text after the first, or after a call, does not begin in it
        reading = (self.stream("closed") if self.offset or self.calls else self.stream()).read(text, finish)
        self.prose.append(reading.text)
        for verdict, place in zip(reading.calls, reading.places, strict=True):
            self.calls.append(verdict)
            self.places.append(Place(place.start + self.offset, place.end + self.offset, place.format))
        self.notes += [
            replace(note, start=note.start + self.offset, end=note.end + self.offset) for note in reading.notes
        ]
        self.offset += len(text)

    def finished(self, finish: str | None) -> Reading:
        self.read_pieces(finish)
        calls, places = self.without_repetition()
        return Reading(tuple(calls), "".join(self.prose), tuple(self.notes), tuple(places))

    def without_repetition(self) -> tuple[list[Verdict], list[Place]]:
        """Servers that lift calls out of the text sometimes leave them there: the native one counts."""
        pairs = list(zip(self.calls, self.places, strict=True))
        native = {one for verdict, place in pairs if place.format == "native" for one in written_calls(verdict)}
        kept: list[tuple[Verdict, Place]] = []
        for verdict, place in pairs:
            if place.format != "native" and not native.isdisjoint(written_calls(verdict)):
                message = "a call in the text is also a native call of the message"
                self.notes.append(Note("repeated", message, place.start, place.end))
            else:
                kept.append((verdict, place))
        return [verdict for verdict, _ in kept], [place for _, place in kept]


def refuse_cut(verdict: Verdict, why: str = CUT_OFF) -> Verdict:
    """The refusal of a call that the end of the answer cut off, whatever could be read of it."""
    hint = f"{invalid_call(verdict.call.name if verdict.call else 'tool')} {why}."
    problem = Problem("truncated", "", why)
    return replace(
        verdict, ok=False, call=None, repairs=(), hint=hint, problems=(problem,), truncated=True, confidence=0.0,
        strategy="failed", retry=True,
    )  # fmt: skip
