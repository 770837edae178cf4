"""Text for people and models: values shown safely, and cut."""

import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, cast

# ── escape ──
# What a model wrote, made safe to show: nothing in it can colour a terminal, turn the reading direction or hide.
#
# Control characters (and with them terminal sequences), marks for the reading direction, characters without width,
# blanks other than the common one, private characters and lone surrogates come out as `\uXXXX`.

_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_DEPTH = 4


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
        yield repr(value) if isfinite(value) else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    elif isinstance(value, Mapping):
        yield from _object(cast("Mapping[Any, Any]", value), limit, depth)
    elif isinstance(value, (list, tuple)):
        yield from _array(cast("list[Any]", value), limit, depth)
    else:
        yield f"<{escaped(type(value).__name__, 40)}>"


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


# ── tokens ──
# How much of a model's context a text takes, roughly: the design's rule, one token for four characters.


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

_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
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
