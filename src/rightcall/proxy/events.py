"""What the events of every API come down to: pieces of text, pieces of calls, and the end of an answer.

A wire reads an `Event` with its `Delta`s, the flow decides each delta, and the wire writes the event again. A whole
answer that was not streamed is one event with all its deltas.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, NamedTuple

from msgspec import Struct

from rightcall.types import Call


class Kind(IntEnum):
    """What a delta says."""

    OPEN = 1
    """A block of text begins. Only APIs that mark it say so; dropped where all its text was lifted."""
    TEXT = 2
    """A piece of the text of `lane`."""
    SHUT = 3
    """The block of text is over. Shares the fate of its OPEN."""
    CALL = 4
    """A call begins: `key`, and as far as they are known `name`, `id` and (a piece of) its `arguments`."""
    MORE = 5
    """A further piece of the arguments of call `key`."""
    DONE = 6
    """Call `key` is complete."""
    FINISH = 7
    """The answer is over; `text` is the reason in the API's own word."""


class _Same:
    def __repr__(self) -> str:
        return "SAME"


class _Drop:
    def __repr__(self) -> str:
        return "DROP"


SAME: Final = _Same()
"""As it came."""
DROP: Final = _Drop()
"""Not at all: what it said is said elsewhere."""


class Ending(NamedTuple):
    """What comes before the end of an answer: text and calls that the API did not send as such."""

    calls: tuple[Call, ...]
    text: str = ""
    reason: str | None = None
    """Why the answer ended from which they come, in the API's own word, where that is another one."""


class Delta(Struct, eq=False):
    """One thing that an event says, and what becomes of it.

    `new`, once `done`: SAME, DROP, a str in place of a TEXT, a `Call` on the first delta of a call that is written anew
    (the whole of it, with its id; the other pieces are dropped) and on its DONE, an `Ending` on a FINISH.
    """

    kind: Kind
    answer: int = 0
    """Which of several answers to the same request."""
    lane: int = 0
    """Which block of text of the answer."""
    text: str = ""
    key: Any = None
    name: Any = None
    id: Any = None
    arguments: Any = ""
    start: int = 0
    end: int = 0
    index: int | None = None
    """The number that the server gave the call, and `number` the one that the client is told: where a wire needs
    them."""
    number: int | None = None
    done: bool = False
    new: Any = SAME

    def decide(self, new: Any = SAME) -> None:
        self.new = new
        self.done = True

    def __repr__(self) -> str:
        return f"<{self.kind.name} {self.text or self.name or self.arguments!r} {self.new if self.done else '?'}>"


class Event:
    """One event of a stream as it came, or a whole answer."""

    __slots__ = ("again", "data", "deltas", "raw")

    def __init__(self, raw: bytes, deltas: list[Delta] | None = None, data: Any = None) -> None:
        self.raw = raw
        """With its framing, ready to be passed on."""
        self.deltas = deltas or []
        self.data = data
        """What a wire keeps of it, so as not to decode it twice."""
        self.again = False
        """Whether a part of it was written already: then only the text that is left is written now."""

    @property
    def done(self) -> bool:
        for delta in self.deltas:  # noqa: SIM110 - a generator costs more than all that is in it
            if not delta.done:
                return False
        return True

    @property
    def same(self) -> bool:
        """Whether it leaves as it came."""
        if self.again:
            return False
        for delta in self.deltas:  # noqa: SIM110 - likewise
            if delta.new is not SAME:
                return False
        return True
