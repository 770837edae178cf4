"""What the escapes in a string stand for, also where they are illegal: `"\\s"` keeps its backslash."""

from __future__ import annotations

import re
from typing import NamedTuple

from rightcall.parse.late import Late

_ESCAPE = re.compile(
    r"\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.|$)",
    re.S,
)
_SIMPLE = {
    '"': '"', "'": "'", "\\": "\\", "/": "/", "`": "`", "“": "“", "”": "”", "\n": "\n",
    "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_REGEX_ESCAPES = frozenset("sSdDwWBAZzpP.()[]{}|^$?*+-")
_WINDOWS_PATH = Late(r"[A-Za-z]:\\{1,2}[^\\/]")
_SHARED_FOLDER = Late(r"\\\\\w[^\\]*\\[^\\]")
_BARE_PATH = Late(r"(?<![A-Za-z])[A-Za-z]:\\[^\\/\"]")
_FOREIGN = frozenset("'`“”\nxU")
_LEGAL = frozenset("\"\\/bfnrtux'")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Unescaped(NamedTuple):
    """`illegal`: an escape that JSON does not have was kept. `broken`: a \\u without its digits, no text can be told.
    `lone`: half of a surrogate pair was replaced by U+FFFD. `foreign`: an escape of Python or JavaScript was read."""

    text: str
    illegal: bool = False
    broken: bool = False
    lone: bool = False
    foreign: bool = False


def unescape(raw: str) -> Unescaped:
    """Decode a string's content.

    >>> unescape(r"^\\s*\\bword\\b$").text
    '^\\\\s*\\\\bword\\\\b$'
    """
    kinds = {match[1][:1] for match in _ESCAPE.finditer(raw)}
    if _WINDOWS_PATH.search(raw) and kinds - _LEGAL:
        return Unescaped(raw.replace("\\\\", "\\"), illegal=True)  # C:\Users\new: no escape is meant here
    if _SHARED_FOLDER.match(raw) and kinds - _LEGAL:
        return Unescaped(raw, illegal=True)  # \\\\server\share
    among_regex = bool(kinds & _REGEX_ESCAPES)
    illegal = broken = False

    def one(match: re.Match[str]) -> str:
        nonlocal illegal, broken
        code = match[1]
        if len(code) == 11:
            return chr(0x10000 + ((int(code[1:5], 16) - 0xD800) << 10) + int(code[7:], 16) - 0xDC00)
        if len(code) > 1:
            return chr(int(code[1:], 16))
        if code == "b" and among_regex:
            return "\\b"  # beside \s or \d this is a word boundary, not a backspace
        if code in _SIMPLE:
            return _SIMPLE[code]
        illegal = True
        broken = broken or code == "u"
        return "\\" + code

    text = _ESCAPE.sub(one, raw)
    if not text.isascii() and _SURROGATE.search(text):
        return Unescaped(_SURROGATE.sub("\ufffd", text), illegal, broken, lone=True)
    return Unescaped(text, illegal, broken, foreign=bool(kinds & _FOREIGN))


def may_be_path(raw: str) -> bool:
    """Whether single backslashes may be meant as they stand, although every escape is legal: `C:\\temp\\new`."""
    return _BARE_PATH.search(raw) is not None
