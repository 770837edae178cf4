"""A native message, as an API returned it: its own calls, and those that the model wrote into its text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from rightcall.parse.kinds import is_object
from rightcall.recover.native import NativeCall, NativeText, unpack
from rightcall.recover.native_parts import finish_word
from rightcall.recovering import Check, Stream
from rightcall.types import Call, Note, Place, Problem, Reading, Verdict

CUT_OFF = "The token limit cut the call off; send it again, complete"


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
            verdict = _refused(verdict, Call(name, {}, part.id))
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


def written_calls(verdict: Verdict) -> set[tuple[str, bytes]]:
    """A call as it was found and as it would run, in bytes: 1 is not true."""
    written: set[tuple[str, bytes]] = set()
    for call in (verdict.found, verdict.call):
        if call is not None and is_object(call.arguments):
            try:
                written.add((call.name, msgspec.json.encode(call.arguments, order="sorted")))
            except (TypeError, ValueError, RecursionError):  # what no JSON can say is no other call's twin
                continue
    return written


def _refused(verdict: Verdict, call: Call) -> Verdict:
    hint = f"⚠️ Invalid {verdict.call.name if verdict.call else 'tool'} call. {CUT_OFF}."
    problem = Problem("truncated", "", CUT_OFF)
    return replace(
        verdict, ok=False, call=call, hint=hint, problems=(problem,), truncated=True, confidence=0.0, strategy="failed",
        retry=True,
    )  # fmt: skip
