"""Events that differ from an earlier one in nothing but their text: most of a stream. What they say is known without
decoding them again.

    data: {"id":"c1",…,"delta":{"content":" the"},"finish_reason":null}]}      head, text and tail of this one
    data: {"id":"c1",…,"delta":{"content":" sky"},"finish_reason":null}]}      the same head and tail
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rightcall.proxy.events import Delta, Event, Kind

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
