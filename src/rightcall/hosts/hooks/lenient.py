"""An event that the strict reader refuses: half a character, a number without end, brackets by the thousand, bytes that
are no text, a cut. A host has made a call of it all the same, so that as much is read as is needed to know which tool
it is about: the fields at the top, each for itself. Nothing that is read so is handed back to the host.
"""

import json
from collections.abc import Iterator
from typing import Any

from rightcall.base.text import regex
from rightcall.hosts.hooks.wires import WrongEvent

_MOST_TOKENS = 200_000
"""After so many the rest counts as cut off: it is a matter of time, and hosts name the tool before its input."""
_MOST_FIELDS = 200
_MOST_TEXT = 4_000_000
"""Characters of one field that are read for their meaning."""
_MOST_QUOTES = 100_000
"""Quotes inside one text, after which it counts as cut off too."""
_TOKEN = regex(r'"|[\[{]+|[\]}]|[,:]|[^\s"\[\]{},:]++')
_MOST_DIGITS = 400
_HALF = regex("[\ud800-\udfff]")


def lenient(event: bytes) -> dict[str, Any]:
    """The fields of the object at the top, as far as they can be read; a field that cannot be is an empty object.
    Raises WrongEvent for what is no object."""
    text = event.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not text.startswith("{"):
        raise WrongEvent("it is not a JSON object")
    return {key: _value(raw) for key, raw in _fields(text).items()}


def _fields(text: str) -> dict[str, str]:
    """The text of each value at the top, by its key."""
    found: dict[str, str] = {}
    depth, key, start = 0, None, -1
    for begin, end in _tokens(text):
        mark = text[begin:end]
        if depth == 0 and mark in (",", "}", "]"):
            if key is not None and start >= 0:
                found[_text_lenient(key)] = text[start:begin]
            key, start = None, -1
            if mark != "," or len(found) >= _MOST_FIELDS:
                return found
        elif depth == 0 and key is None and mark.startswith('"'):
            key = mark
        elif depth == 0 and mark == ":" and start < 0:
            start = end
        elif mark[0] in "[{":
            depth += len(mark)
        elif mark in ("]", "}"):
            depth -= 1
    if key is not None and start >= 0:
        found[_text_lenient(key)] = text[start:]
    return found


def _tokens(text: str) -> Iterator[tuple[int, int]]:
    """Where each begins and ends; a text with its quotes. By `find`: a text may have millions of characters."""
    position = 1
    for _ in range(_MOST_TOKENS):
        token = _TOKEN.search(text, position)
        if token is None:
            return
        begin, position = token.span()
        if token.group() == '"':
            position = _text_end(text, position)
            if position < 0:
                return
        yield begin, position


def _text_end(text: str, start: int) -> int:
    """Behind the quote that ends a text; -1 where none does."""
    for _ in range(_MOST_QUOTES):
        at = text.find('"', start)
        if at < 0:
            return -1
        inside = text[start:at]
        if (len(inside) - len(inside.rstrip("\\"))) % 2 == 0:
            return at + 1
        start = at + 1
    return -1


def _text_lenient(literal: str) -> str:
    read = _value(literal)
    return read if isinstance(read, str) else ""


def _value(raw: str) -> Any:
    """What a value means; half a character stands as the sign for none."""
    if len(raw) > _MOST_TEXT:
        return {}
    try:
        read = json.loads(raw, strict=False, parse_int=_number)
        shown = json.dumps(read, ensure_ascii=False)
        return json.loads(_HALF.sub("\ufffd", shown)) if _HALF.search(shown) else read
    except (ValueError, RecursionError):
        return {}


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) < _MOST_DIGITS else float(digits)
