"""Tokens that a request used: as the model's server tells them, else about as many; and refusing whoever has used up
the budget of a day.

    budget.check(caller) ─▶ Spent, told as 429 in the words of the API
    Meter.take(bytes that pass) ─▶ Meter.tokens()

An answer that passes byte for byte is not read as a whole: the counts stand at its beginning or at its end.
"""

import re
from typing import Protocol

from rightcall.proxy.wires.common import Usage

_NEAR = 16_384
"""Bytes at the beginning and at the end in which counts are looked for."""
_A_TOKEN = 4
"""Bytes, about."""
_PROMPT = (
    b"prompt_tokens", b"input_tokens", b"prompt_eval_count", b"cache_read_input_tokens", b"cache_creation_input_tokens",
)  # fmt: skip
_COUNT = re.compile(
    rb'"(prompt_tokens|completion_tokens|input_tokens|output_tokens|prompt_eval_count|eval_count'
    rb'|cache_read_input_tokens|cache_creation_input_tokens)"\s*:\s*(\d{1,12})'
)
"""Inside a text that a model wrote the quotes are escaped: there it finds nothing."""


class Spent(Exception):
    """The caller has used up its tokens of the day; in `wait` seconds there are new ones."""

    def __init__(self, message: str, wait: float) -> None:
        super().__init__(message)
        self.wait = wait


class Budget(Protocol):
    """What callers may use up in a day, and have."""

    def counts(self, caller: str) -> bool:
        """Whether the tokens of this caller are limited at all."""
        ...

    def check(self, caller: str) -> None:
        """Raises Spent."""
        ...


class Meter:
    """Of one request whose answer passes unread."""

    def __init__(self, body: bytes) -> None:
        self._asked = len(body)
        self._size = self._events = 0
        self._head = self._tail = b""

    def take(self, data: bytes) -> None:
        self._size += len(data)
        self._events += data.count(b"data:")
        if len(self._head) < _NEAR:
            self._head += data[: _NEAR - len(self._head)]
        self._tail = (self._tail + data)[-_NEAR:]

    def tokens(self) -> int:
        """
        >>> meter = Meter(b"{}")
        >>> meter.take(b'{"content": "hi", "usage": {"prompt_tokens": 12, "completion_tokens": 3}}')
        >>> meter.tokens()
        15
        """
        found = {name: int(count) for name, count in _COUNT.findall(self._head + b" " + self._tail)}
        told = sum(found.values())
        answered = any(name not in _PROMPT for name in found)
        return told if told and answered else told + estimate(0 if told else self._asked, self._size, self._events)


def tokens_of(usage: Usage) -> int:
    return (usage.prompt or 0) + (usage.completion or 0)


def estimate(asked: int, answered: int = 0, events: int = 0) -> int:
    """Of a server that tells nothing, from the bytes that were sent and came; a stream has about a token an event.

    >>> estimate(400, 80), estimate(400, 9_000, 30)
    (120, 130)
    """
    return asked // _A_TOKEN + (events or answered // _A_TOKEN)
