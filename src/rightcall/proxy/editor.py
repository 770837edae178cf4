"""One answer of a model on its way to the client: the bytes that come, and the bytes that leave."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rightcall.proxy.flow import Flow
from rightcall.proxy.wires.common import DROP, SAME, Delta, Ending, Event, Kind, StreamWire, Usage
from rightcall.types import Call

# ── plain ──
# Events that differ from an earlier one in nothing but their text: most of a stream. What they say is known without
# decoding them again.
#
#     data: {"id":"c1",…,"delta":{"content":" the"},"finish_reason":null}]}      head, text and tail of this one
#     data: {"id":"c1",…,"delta":{"content":" sky"},"finish_reason":null}]}      the same head and tail

_string = msgspec.json.Decoder(str)
_PROBE = "x"
_TRIES = 8
"""How often in a row we learn for nothing: some servers write the time into every event."""


class PlainText:
    """Knows the head and the tail of the last event that said a piece of text and nothing else."""

    def __init__(self, read: Callable[[bytes], Event]) -> None:
        self.answer = self.lane = 0
        self._read = read
        self._head = self._tail = b""
        self.known = False
        self._tries = _TRIES

    def text(self, raw: bytes) -> str | None:
        """The text of an event that says nothing but a piece of it, in the same answer and block as the one that was
        learned; None where that is not sure."""
        if not self.known or not raw.startswith(self._head) or not raw.endswith(self._tail):
            return None
        try:  # the decoder takes one whole string and nothing beside it
            text = _string.decode(raw[len(self._head) : len(raw) - len(self._tail)])
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        self._tries = _TRIES
        return text

    def learn(self, event: Event) -> None:
        """From an event that has left as it came."""
        if len(event.deltas) != 1 or event.deltas[0].kind is not Kind.TEXT:
            return
        alike = self.known and event.raw.startswith(self._head) and event.raw.endswith(self._tail)
        if not self._tries or alike:
            return
        self._tries -= 1
        delta = event.deltas[0]
        head, found, tail = event.raw.partition(msgspec.json.encode(delta.text))
        if found and self._is_text(delta, head, tail):
            self._head, self._tail = head, tail
            self.answer, self.lane = delta.answer, delta.lane
            self.known = True

    def _is_text(self, delta: Delta, head: bytes, tail: bytes) -> bool:
        """Whether that place, and no other, holds the text: with other text in it, the wire must read just that."""
        probe = _PROBE + delta.text
        said = self._read(head + msgspec.json.encode(probe) + tail).deltas
        return (
            len(said) == 1
            and said[0].kind is Kind.TEXT
            and said[0].text == probe
            and (said[0].answer, said[0].lane) == (delta.answer, delta.lane)
        )


class Editor:
    """A stream of an answer. What leaves is what came, except where the flow decided otherwise."""

    def __init__(self, wire: StreamWire, flow: Flow) -> None:
        self.wire = wire
        self.flow = flow
        self.extra: Usage | None = None
        """Tokens of other tries, for the event that tells them."""
        self.changed = False
        self._plain = PlainText(wire.read) if wire.text_alone else None
        self._skip: Callable[[str], bool] | None = None

    def feed(self, data: bytes) -> bytes:
        """More of the answer. Raises framing.TooLong."""
        alone = self._skips(data)
        if alone:
            return data
        flow, read = self.flow, self.wire.read
        out: list[bytes] = []
        for raw in self.wire.framing.feed(data) if alone is None else (data,):
            if alone is None and self._skips(raw):
                out.append(raw)
                continue
            alone = self._skip = None
            flow.take(read(raw))
            if flow.settled:
                out += [self._write(event) for event in flow.ready()]
                self._skip = self._skipping()
        if flow.waiting:
            out += [self._write(event) for event in flow.ready()]
        if not self.wire.framing.empty:
            self._skip = None
        return out[0] if len(out) == 1 else b"".join(out)

    def _skips(self, data: bytes) -> bool | None:
        """Whether this is an event with nothing but prose, which passes. False where it is one that does not: it has to
        be taken next. None where it may be anything else."""
        plain, skip = self._plain, self._skip
        text = plain.text(data) if skip is not None and plain is not None else None
        return skip(text) if skip is not None and text else None

    def _skipping(self) -> Callable[[str], bool] | None:
        plain = self._plain
        return self.flow.skipping(plain.answer, plain.lane) if plain is not None and plain.known else None

    def ready(self) -> bytes:
        """What can leave now."""
        return b"".join([self._write(event) for event in self.flow.ready()])

    def close(self) -> bytes:
        """The answer is over: what is held leaves."""
        self.flow.end()
        return self.ready() + self.wire.framing.rest()

    def break_off(self) -> bytes:
        """The server is gone: text that is held leaves, half an event and half a call do not."""
        self.flow.end(faulty=True)
        self.wire.framing.rest()
        return self.ready()

    def _write(self, event: Event) -> bytes:
        written = self.wire.write(event, self.extra)
        if not event.same:
            self.changed = True
        elif self._plain is not None and written is event.raw:
            self._plain.learn(event)
        return written


def collect_answer(event: Event) -> tuple[str, tuple[Call, ...]]:
    """The text and the calls of a whole answer, as they were decided."""
    text: list[str] = []
    calls: list[Call] = []
    for delta in event.deltas:
        if delta.kind is Kind.TEXT and delta.new is not DROP:
            text.append(delta.text if delta.new is SAME else delta.new)
        elif delta.kind is Kind.CALL and isinstance(delta.new, Call):
            calls.append(delta.new)
        elif delta.kind is Kind.CALL and delta.new is SAME:
            calls.append(Call(str(delta.name), delta.arguments, delta.id))
        elif isinstance(delta.new, Ending):
            text.append(delta.new.text)
            calls += delta.new.calls
    return "".join(text), tuple(calls)
