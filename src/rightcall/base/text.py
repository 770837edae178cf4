"""Text for people and models: values shown safely, and cut."""

import re
from collections.abc import Iterable, Mapping
from time import gmtime, strftime
from typing import Any, Final, cast

from msgspec.json import encode

# ── escape ──
# What a model wrote, made safe to show: nothing in it can colour a terminal, turn the reading direction or hide.
#
# Control characters (and with them terminal sequences), marks for the reading direction, characters without width,
# blanks other than the common one, private characters and lone surrogates come out as `\uXXXX`.

_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_DEPTH = 4
_TOOL_NAME: Final = 100


def escaped(text: str, limit: int | None = None) -> str:
    """Text with everything invisible made visible, cut to `limit` characters; what is shown already stays as it is.

    >>> escaped("a\\x1b[31mb")
    'a\\\\u001b[31mb'
    """
    cut = text if limit is None else text[: limit + 1]
    if not cut.isprintable():
        cut = "".join(_visible(character) for character in cut)
    if limit is not None and (len(text) > limit or len(cut) > limit):
        return cut[: max(limit - 1, 0)] + "…"
    return cut


def invalid_call(name: str) -> str:
    """The sentence that the hint of a call begins with which does not fit, whoever writes it.

    >>> invalid_call("read_file")
    '⚠️ Invalid read_file call.'
    """
    return f"⚠️ Invalid {escaped(name, _TOOL_NAME)} call."


def rename_hint(hint: str, name: str, other: str) -> str:
    """A hint about a tool that the model knows by another name.

    >>> rename_hint("⚠️ Invalid read call. Missing required fields: path.", "read", "files_read")
    '⚠️ Invalid files_read call. Missing required fields: path.'
    """
    return hint.replace(invalid_call(name), invalid_call(other), 1)


def is_encodable(text: str) -> bool:
    """Whether every character is whole: half of a surrogate pair is in no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def cut_end(text: str, most: int) -> str:
    """A text of at most so many characters, the mark among them.

    >>> cut_end("abcd", 4), cut_end("abcde", 4)
    ('abcd', 'abc…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def cut_counted(text: str, most: int, how: str = ",") -> str:
    """The first so many characters, and how many there are in all, written as `how` says.

    >>> cut_counted("abc" * 1000, 4)
    'abca… (3,000 characters)'
    """
    return text if len(text) <= most else f"{text[:most]}… ({len(text):{how}} characters)"


def render_json(value: Any, limit: int = 80) -> str:
    """A value as it would stand in JSON, escaped and cut to about `limit` characters.

    >>> render_json({"city": "Bonn", "days": [1, None]})
    '{"city": "Bonn", "days": [1, null]}'
    """
    if isinstance(value, str):
        return _quoted(value, limit)
    text = ""
    for piece in _pieces(value, limit, 0):
        text += piece
        if len(text) > limit:
            return text[: max(limit - 1, 0)] + "…"
    return text


def _quoted(text: str, limit: int) -> str:
    out = ""
    for character in text[: limit + 1]:
        out += _SHORT.get(character) or _visible(character)
        if len(out) > limit - 2:
            break
    whole = len(out) <= limit - 2 and len(text) <= limit
    return f'"{out}"' if whole else f'"{out[: max(limit - 3, 0)]}…"'


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    units = character.encode("utf-16-be", "surrogatepass")  # as JSON writes it, in two parts where one is too small
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _pieces(value: Any, limit: int, depth: int) -> Iterable[str]:
    if isinstance(value, str):
        yield _quoted(value, limit)
    elif value is None or isinstance(value, bool):
        yield {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, int):
        # Python refuses to write out integers of more than 4,300 digits
        yield str(value) if value.bit_length() < 1_000 else f"a number of about {value.bit_length() * 3 // 10} digits"
    elif isinstance(value, float):
        yield _NO_NUMBERS.get(text := repr(value), text)
    elif isinstance(value, Mapping):
        yield from _object(cast("Mapping[Any, Any]", value), limit, depth)
    elif isinstance(value, (list, tuple)):
        yield from _array(cast("list[Any]", value), limit, depth)
    else:
        yield f"<{escaped(type(value).__name__, 40)}>"


_NO_NUMBERS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _object(value: Mapping[Any, Any], limit: int, depth: int) -> Iterable[str]:
    if depth >= _DEPTH:
        yield "{…}" if value else "{}"
        return
    yield "{"
    for number, (key, item) in enumerate(value.items()):
        yield ", " if number else ""
        yield from _pieces(key, limit, _DEPTH)
        yield ": "
        yield from _pieces(item, limit, depth + 1)
    yield "}"


def _array(value: list[Any], limit: int, depth: int) -> Iterable[str]:
    if depth >= _DEPTH:
        yield "[…]" if value else "[]"
        return
    yield "["
    for number, item in enumerate(value):
        yield ", " if number else ""
        yield from _pieces(item, limit, depth + 1)
    yield "]"


# ── patterns ──
# Patterns that are compiled when they are first used: a text needs few of the many, and each takes a while.


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern that is compiled when one of its methods is first asked for."""
    return cast("re.Pattern[str]", _LazyPattern(source, flags))


class _LazyPattern:
    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        """Only for a method that was not asked for before: it is kept, so that later calls go straight to it."""
        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found


REDACTED = regex(r"\[redacted [0-9a-f]{12}\]")
"""What stands in a record for a value that is hidden."""


# ── tokens ──
# How much of a model's context a text takes, roughly: the design's rule, one token for four characters.


def told_apart(value: float, bound: float) -> str:
    """A number with as many digits as show on which side of a bound it is.

    >>> told_apart(0.6966, 0.7), told_apart(0.88, 0.7), told_apart(0.7, 0.7)
    ('0.697', '0.88', '0.70')
    """
    for digits in range(2, 9):
        shown = f"{value:.{digits}f}"
        if (float(shown) >= bound) is (value >= bound):
            return shown
    return repr(value)


def estimate(text: str) -> int:
    """The tokens of a text. Good for prose and code in Latin letters; scripts with a character for each syllable take
    up to four times as many.

    >>> estimate("hello"), estimate("")
    (2, 0)
    """
    return -(-len(text) // 4)


# ── wire ──
# Names of tools as model APIs take them: letters, digits, `_` and `-`. `code/read` goes out as `code_read`; a call
# that comes back by that name is mapped like any other spelling of it.

_OTHER = regex(r"[^A-Za-z0-9_-]+")
LONGEST = 64


def wire_name(name: str) -> str:
    """
    >>> wire_name("code/execute/python"), wire_name("add")
    ('code_execute_python', 'add')
    """
    return _OTHER.sub("_", name)[:LONGEST]


# ── faults ──
# An exception in one line that a model may read: its kind and its message, escaped, without a traceback.

_LONGEST = 1_000


def fault_text(error: BaseException, limit: int = _LONGEST) -> str:
    """`ValueError: no such day`; only the kind where there is no message, or none that can be had.

    >>> fault_text(ValueError("no such\\nday")), fault_text(MemoryError())
    ('ValueError: no such day', 'MemoryError')
    """
    kind = type(error).__name__
    message = message_of(error, limit)
    return escaped(f"{kind}: {message}" if message else kind, limit)


def message_of(error: BaseException, limit: int = _LONGEST) -> str:
    """The message alone, on one line, escaped and cut."""
    try:
        text = str(error)[: 2 * limit]
    except Exception:  # noqa: BLE001 - an exception's own `__str__` may fail as well
        return ""
    return escaped(" ".join(text.split()), limit)


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
    from bisect import bisect_right  # late: few answers are cut

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


# ── moments ──
# Moments as every tool tells them: ISO 8601, in UTC.

_FIRST, _LAST = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999; a file may claim any other."""


def utc(seconds: float) -> str:
    """Seconds since 1970 as a text.

    >>> utc(0), utc(1e300)
    ('1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z')
    """
    moment = gmtime(max(_FIRST, min(seconds, _LAST)))
    return f"{moment.tm_year:04}{strftime('-%m-%dT%H:%M:%SZ', moment)}"
