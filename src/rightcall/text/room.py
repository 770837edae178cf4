"""How much an answer may hold. What an executor keeps of a result has its bounds: what is larger is no data any more,
only the head of a text. So a tool counts what it adds, stops at a whole item, and says that there is more."""

from bisect import bisect_right
from typing import Any, Final

from msgspec.json import encode

MOST_ANSWER: Final = 990_000
"""Bytes as JSON. An executor keeps 1,000,000; the rest is for names, sums and brackets around the items."""
_WIDEST = 6
"""Bytes that one character takes at most: `\\u001b`."""


class AnswerRoom:
    """The bytes that are left. Once something did not fit, nothing more does: no item is missing in between.

    >>> room = AnswerRoom(10)
    >>> room.take("four"), room.take("four"), room.take("")
    (True, False, False)
    """

    __slots__ = ("left",)

    def __init__(self, most: int = MOST_ANSWER) -> None:
        self.left = most

    def take(self, item: Any) -> bool:
        """Whether one more item fits, and what parts it from the next."""
        self.left -= json_size(item) + 1
        if self.left < 0:
            self.left = -1
        return self.left >= 0

    @property
    def full(self) -> bool:
        return self.left < 0


def json_size(item: Any) -> int:
    """Bytes of a value as JSON."""
    return len(encode(item))


def text_head(text: str, most: int) -> str:
    """The whole lines that take at most so many bytes as JSON; of a single line that takes more, the beginning.

    >>> text_head("one\\ntwo\\n", 9), text_head("one", 4), text_head("one", 5)
    ('one\\n', 'on', 'one')
    """
    if len(text) * _WIDEST + 2 <= most or json_size(text) <= most:
        return text
    head = text[: max(bisect_right(range(len(text)), most, key=lambda end: json_size(text[:end])) - 1, 0)]
    return head[: head.rfind("\n") + 1] or head
