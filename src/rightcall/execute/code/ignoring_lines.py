"""The lines of an ignore file as expressions. Each is matched against a path between NUL bytes, as seen from the file's
own folder; byte by byte, as git does it."""

import re

from msgspec import Struct

_MOST_LINES = 5_000
_LONGEST = 4_096
"""Bytes of one line: no path is longer."""
_MOST_WILD = 16
"""Signs of one line that stand for more than themselves; a line with more of them means nothing."""
_MOST_WILD_OF_ALL = 2_000
_WILD = re.compile(rb"[*?\[]")
_NAME = b"[^/\\x00]"
_ANYTHING = b"[^\\x00]"
_DEEP = b"(?:" + _ANYTHING + b"*/)?"
_SET = re.compile(rb"\[([!^]?)(\]?(?:\[:[a-z]+:\]|\\.|[^\]\\])*)\]", re.DOTALL)
_POSIX = frozenset((b"alnum", b"alpha", b"blank", b"cntrl", b"digit", b"graph", b"lower", b"print", b"punct", b"space",
                    b"upper", b"xdigit"))  # fmt: skip


class IgnoreLine(Struct, frozen=True):
    """One line: `written` is its pattern, `folder` whether it is only about folders, `negated` whether it keeps."""

    written: bytes
    expression: bytes
    folder: bool
    negated: bool
    anchored: bool


def ignore_lines(text: bytes) -> list[IgnoreLine]:
    """The lines that say something, in order.

    >>> [(line.written, line.folder, line.negated) for line in ignore_lines(b"# note\\n*.log\\n!keep.log\\nbuild/\\n")]
    [(b'*.log', False, False), (b'keep.log', False, True), (b'build', True, False)]
    """
    found: list[IgnoreLine] = []
    left = _MOST_WILD_OF_ALL
    for raw in text.removeprefix(b"\xef\xbb\xbf").split(b"\n", _MOST_LINES)[:_MOST_LINES]:
        line = _line(raw.removesuffix(b"\r"))
        if line is not None:
            left -= len(_WILD.findall(line.written))
            if left >= 0:
                found.append(line)
    return found


def _line(raw: bytes) -> IgnoreLine | None:
    text = _without_blanks(raw)
    if not text or text.startswith(b"#") or len(text) > _LONGEST or b"\0" in text:
        return None
    negated = text.startswith(b"!")
    text = text[negated:]
    folder = text.endswith(b"/")
    text = text[:-1] if folder else text
    if not text or len(_WILD.findall(text)) > _MOST_WILD:
        return None
    anchored = b"/" in text
    expression = _expression(text.removeprefix(b"/"))
    if expression is None:
        return None
    return IgnoreLine(text, expression if anchored else _DEEP + expression, folder, negated, anchored)


def _without_blanks(raw: bytes) -> bytes:
    """Blanks at the end count only after a backslash."""
    text = raw.rstrip(b" ")
    escapes = len(text) - len(text.rstrip(b"\\"))
    return text + b" " if escapes % 2 and len(text) < len(raw) else text


def _expression(text: bytes) -> bytes | None:
    """None for a pattern that matches nothing: a set or a backslash without an end."""
    out: list[bytes] = []
    at = 0
    while at < len(text):
        step = _stars(text, at) or _piece(text, at)
        if step is None:
            return None
        out.append(step[0])
        at += step[1]
    return b"".join(out)


def _stars(text: bytes, at: int) -> tuple[bytes, int] | None:
    """`**` as a whole component spans folders; any other run of stars is one star."""
    if text[at : at + 1] != b"*":
        return None
    end = at
    while text[end : end + 1] == b"*":
        end += 1
    begins = at == 0 or text[at - 1 : at] == b"/"
    if end - at == 2 and begins:
        if end == len(text):
            return _ANYTHING + b"+", 2
        if text[end : end + 1] == b"/":
            return _DEEP, 3
    return _NAME + b"*", end - at


def _piece(text: bytes, at: int) -> tuple[bytes, int] | None:
    one = text[at : at + 1]
    if one == b"?":
        return _NAME, 1
    if one == b"[":
        return _set(text, at)
    if one == b"\\":
        return (_plain(text[at + 1 : at + 2]), 2) if at + 1 < len(text) else None
    return _plain(one), 1


def _plain(one: bytes) -> bytes:
    return b"\\x%02x" % one[0]


def _set(text: bytes, at: int) -> tuple[bytes, int] | None:
    found = _SET.match(text, at)
    if found is None:
        return None
    members = _members(found[2])
    if members is None:
        return None
    low_to_high = sorted(members - {0, ord("/")}) if not found[1] else sorted(members | {0, ord("/")})
    if not low_to_high:
        return None
    return b"[" + (b"^" if found[1] else b"") + b"".join(b"\\x%02x" % one for one in low_to_high) + b"]", len(found[0])


def _members(body: bytes) -> set[int] | None:
    found: set[int] = set()
    at = 0
    while at < len(body):
        if named := re.compile(rb"\[:([a-z]+):\]").match(body, at):
            if named[1] not in _POSIX:
                return None
            found |= _posix(named[1])
            at += len(named[0])
            continue
        low, at = _member(body, at)
        if body[at : at + 1] == b"-" and at + 1 < len(body):
            high, at = _member(body, at + 1)
            found |= set(range(low, high + 1))
        else:
            found.add(low)
    return found


def _member(body: bytes, at: int) -> tuple[int, int]:
    if body[at : at + 1] == b"\\" and at + 1 < len(body):
        return body[at + 1], at + 2
    return body[at], at + 1


def _posix(name: bytes) -> set[int]:
    tests = {
        b"alnum": str.isalnum, b"alpha": str.isalpha, b"digit": str.isdigit, b"lower": str.islower,
        b"upper": str.isupper, b"space": str.isspace, b"print": str.isprintable,
    }  # fmt: skip
    letters = [chr(code) for code in range(128)]
    if name in tests:
        return {ord(one) for one in letters if tests[name](one) and one not in "\x1c\x1d\x1e\x1f"}
    if name == b"blank":
        return {0x20, 0x09}
    if name == b"cntrl":
        return {*range(0x20), 0x7F}
    if name == b"xdigit":
        return {ord(one) for one in "0123456789abcdefABCDEF"}
    visible = set(range(0x21, 0x7F))
    return visible if name == b"graph" else {code for code in visible if not chr(code).isalnum()}
