"""Between recovering and the gate: a call as it stood in a text becomes a verdict."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import replace

from rightcall.catalog import Catalog, NameMatch, Tool
from rightcall.config import Policy
from rightcall.parse.kinds import is_object
from rightcall.parse.marks import repairs_of
from rightcall.parse.shape import ANY, Shape
from rightcall.reading import Found, fault_code, read_arguments
from rightcall.recover.machine import Machine
from rightcall.recover.native_parts import finish_word
from rightcall.recover.registry import Scanner, scanner_for
from rightcall.recover.take import Format, Take
from rightcall.recover.window import Tools
from rightcall.text.escape import escaped
from rightcall.types import Call, Note, Place, Problem, Reading, StrategyName, Verdict
from rightcall.validate import unknown_tool_hint

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
            raise ValueError("the stream is closed; begin a new one with gate.stream()")
        if not isinstance(chunk, str):  # pyright: ignore[reportUnnecessaryIsInstance] - who calls may not be typed
            raise TypeError(f"a piece of text is due, not {type(chunk).__name__}")
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
                    take = take._replace(arguments=None, cut="value", fault="it is cut off")
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

    def _read_already(self, take: Take) -> Found:
        """Arguments that took the lenient reader: what it did, under the strategies that the policy allows."""
        tool = self._tools.match(take.name).tool if self._tools.known else None
        allowed = self._strategies(tool)
        repairs, forbidden = repairs_of(take.marks, take.source, strategies=allowed)
        refused = (Problem("unreadable", "", f"switched off by the policy: {rule.what}") for rule in forbidden)
        twice = (
            Problem("duplicate_key", path, f"`{escaped(path, 120)}` is given twice") for path in take.duplicates[:20]
        )
        found = Found(take.arguments, repairs, (*refused, *twice), bool(take.cut))
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
        call = verdict.call
        if call is not None and type(call.arguments) is Found:  # what the host watches is what the model wrote
            call = replace(call, arguments=call.arguments.value)
        if call is not None:
            call = (
                found
                if call is verdict.found and found is not None and found.name == call.name
                else replace(call, origin="text")
            )
        return replace(verdict, call=call, found=found)

    def _refused(self, take: Take) -> Verdict:
        """Markup of a call that holds none that could run."""
        name = escaped(self._tools.undecorated(take.name), 120)
        about = f"{name} call" if name else "tool call"
        names = self._tools.catalog.names
        if take.hallucinated:
            match = self._tools.match(take.name)
            problem = Problem("unknown_tool", "", f"`{name}` is no tool, and this is no way to call one")
            return _refusal(problem, unknown_tool_hint(take.name, match.suggestions, names))
        if take.cut:
            problem = Problem("truncated", "", f"The {about} is cut off; send it again, complete")
        else:
            problem = Problem(fault_code(take.fault), "", f"The {about} could not be read: {escaped(take.fault, 300)}")
        return replace(_refusal(problem, f"⚠️ Invalid {about}. {problem.message}."), truncated=bool(take.cut))


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
