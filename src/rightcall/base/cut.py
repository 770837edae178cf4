"""Answers and previews cut to a budget. A short text on a line is cut by `text.py`, which everything loads.

What an executor keeps of a result has its bounds: what is larger is no data any more, only the head of a text. So a
tool counts what it adds, stops at a whole item, and says that there is more. A preview that does not show everything
says so in its first line, where nothing that it is about can stand: what was not shown whole is not approved as if it
had been.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, Final

from msgspec.json import encode

MOST_ANSWER: Final = 990_000
"""Bytes as JSON. An executor keeps 1,000,000; the rest is for names, sums and brackets around the items."""
LEFT_OUT: Final = "NOT EVERYTHING IS SHOWN: "
MOST_SHOWN: Final = 900_000
"""Bytes of a diff that a person is asked about: more than anybody reads, and as much as a preview may hold."""
_WIDEST = 6
"""Bytes that one character takes at most: `\\u001b`."""


def cut_middle(text: str, head: str, tail: str) -> str:
    """The beginning and the end of a text, and how much is missing between them."""
    return f"{head}\n[… {len(text) - len(head) - len(tail):,} characters left out …]\n{tail}"


def cut_lines(text: str, most: int) -> str:
    """`text_head`, with a line that says so where something is missing."""
    head = text_head(text, most)
    return head if len(head) == len(text) else f"{head}\n… cut here"


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
    head = text_start(text, most)
    return head if len(head) == len(text) else head[: head.rfind("\n") + 1] or head


def text_start(text: str, most: int) -> str:
    """As much of a text from its beginning as takes at most so many bytes as JSON, quotes and all.

    >>> text_start("abc", 12), text_start("abc", 4), text_start("a\\0b", 9)
    ('abc', 'ab', 'a\\x00')
    """
    if len(text) * _WIDEST + 2 <= most:
        return text
    text = text[: max(most, 0)]
    if json_size(text) <= most:
        return text
    return text[: max(bisect_right(range(len(text)), most, key=lambda end: json_size(text[:end])) - 1, 0)]


def leaves_out(preview: object) -> bool:
    """Whether a preview says so.

    >>> leaves_out(with_left_out("the diff is too long.", "+ a")), leaves_out("+ NOT EVERYTHING IS SHOWN: ")
    (True, False)
    """
    return isinstance(preview, str) and preview.startswith(LEFT_OUT)


def with_left_out(what: str, preview: str) -> str:
    """A preview below the line that says what is missing in it; the line of one that says so already is kept too."""
    return f"{LEFT_OUT}{what}\n{preview}"


def bounded(head: Iterable[str], files: Iterable[str], diff: str, instead: str, most: int) -> str:
    """A preview of a diff with a head above it. Of one that is too long there is the beginning, and above everything
    what is missing, what to do `instead`, and all of its `files`."""
    shown = text_head(diff, most)
    if len(shown) == len(diff):
        return "\n".join([*head, diff])
    what = f"the diff has {len(diff):,} characters, of which the first {len(shown):,} are below. {instead}"
    return cut_preview(what, head, files, shown)


def cut_preview(what: str, head: Iterable[str], files: Iterable[str], diff: str) -> str:
    listed = ["Every file that changes, with its lines:", *files, ""]
    return with_left_out(what, "\n".join([*listed, *head, diff, "… cut here"]))
