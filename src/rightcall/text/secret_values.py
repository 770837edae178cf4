"""Where in a text the value of a named secret stands: `password=…`, `"api_key": "…"`, `--token …`, `<pin>…</pin>`,
header lines, and the ways in which models write arguments. One pass from left to right, in linear time.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rightcall.text.secret_names import MARK

LONGEST = 10_000
"""How far the end of a quoted or bracketed value is looked for."""

_NAMED = re.compile(
    r"""(?<![\w.\-])(?:
      (?P<option>--?[A-Za-z][\w.\-]*+) (?:[ \t]++ | \\*+["'][ \t]*+,\s*+(?=\\*+["']))
    | (?P<name>[\w.\-]++)
      (?: \\*+["'`]?\]?[ \t]*+
          (?P<sign>=>|:=|(?:value[ \t]*+)?={1,3}
            |:(?:[ \t]*+(?:Optional\[)?(?:str|bytes|string|String|SecretStr)\]?
                (?:[ \t]*+\|[ \t]*+(?:None|null))?[ \t]*+=)?)
          [ \t]*+
        | \\*+(?:["'](?:[ \t]++[\w\-]++=["'][^"'<>\n]{0,40}+["']){0,4}+)?(?:>\s*+|(?P<token><\|)\w++\|>)
        | </[\w:|.\-]++>\s*+<(?P<element>[\w:|.\-]++)> ))""",
    re.VERBOSE,
)
"""A name and what leads from it to its value: a sign, a tag that ends behind it, an element for each of the two."""

_QUOTE = re.compile(r"""(\\{0,16})("{3}|'{3}|["'`])""")
_OPENED = re.compile(r"(?<![\w?])<(?!/)([\w:|.\-]*+)[^<>]*+\Z")
"""The tag in which a name stands; not `List<Token>`, nor a group of a pattern."""
_TAG = re.compile(r"<[^<>\s]{0,40}>")
_INSIDE = {quote: re.compile(rf"(?:[^\\{quote}]|\\.)*+", re.DOTALL) for quote in "\"'`"}
_BRACKETS = re.compile(r"""\"(?:[^"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|[\[\](){}]""", re.DOTALL)
_LINE = re.compile(r"[^\r\n]*+")
_HEADER = {quote: re.compile(rf"[^\r\n\\<{quote}]*+") for quote in ("", '"', "'", "`")}
_FIELD = re.compile(r"[^;\r\n\"'<\\]*+")
"""Of a connection string, `Server=…;Password=…;`."""
_SHELL_WORD = re.compile(r"(?:\\[^nrt\"']|<(?![/|])|[^\s\"'`<>\\])++")
_WORD = re.compile(r"(?:<(?![/|])|[^\s\"'`<>\\,;&)\]}|])++")
_REFERENCE = re.compile(r"\$(?:[A-Z][A-Z0-9_]*+|\{[A-Z][A-Z0-9_]*+\})(?![\w$])")
"""A variable of the shell, which is not the secret itself."""

_WITH_BLANKS = re.compile(r"(?:authori[sz]ation|cookie)\Z", re.IGNORECASE)
"""Headers whose value goes on to the end of the line."""

_SETTING = re.compile(r"(?:^|\n)[ \t]*(?:export|set|env|ENV|ARG)?[ \t]*\Z")
_NO_VALUE = frozenset(
    ("none", "null", "nil", "undefined", "true", "false", "str", "string", "bytes", "int", "integer", "bool", "boolean",
     "any", "object", "required", "optional")
)  # fmt: skip
"""Bare words that are a type, or say that there is nothing."""


class Span(NamedTuple):
    start: int
    end: int


def named_values(text: str, is_secret: Callable[[str], bool]) -> Iterator[Span]:
    """The values of names that are secret, in order, none within another."""
    at = 0
    while (found := _NAMED.search(text, at)) is not None:
        name = found.lastgroup if found.lastgroup == "option" else "name"
        at = found.end(name)
        if not is_secret(found[name]):
            continue
        span = _value(text, found)
        if span.end > span.start and not MARK.match(text, span.start):
            at = span.end
            yield span


def _value(text: str, found: re.Match[str]) -> Span:
    """What is to be hidden after a name; empty where there is nothing."""
    start = found.end()
    if _REFERENCE.match(text, start):
        return Span(start, start)
    if found["name"] and not found["sign"]:
        return _in_markup(text, found)
    quote = _QUOTE.match(text, start)
    if quote is not None:
        return _quoted(text, quote)
    if text[start : start + 1] in ("[", "{") and not MARK.match(text, start):
        return Span(start, _bracket_end(text, start))
    tag = _TAG.match(text, start)
    return _bare(text, found) if tag is None else _between(text, tag)


def _bare(text: str, found: re.Match[str]) -> Span:
    start = found.end()
    name = found["option"] or found["name"]
    if _WITH_BLANKS.search(name):
        around = text[found.start() - 1 : found.start()]
        end = _end(_HEADER[around if around in _HEADER else ""], text, start)
        return Span(start, end)
    if found["sign"] == "=" and text[found.start() - 1 : found.start()] == ";":
        return Span(start, _end(_FIELD, text, start))
    end = _end(_SHELL_WORD if _ends_with_the_word(text, found) else _WORD, text, start)
    value = text[start : min(end, start + 200)]
    nothing = value.casefold() in _NO_VALUE or (bool(found["option"]) and value.startswith("-"))
    return Span(start, start if nothing or _is_place(name, value) else end)


def _ends_with_the_word(text: str, found: re.Match[str]) -> bool:
    """An option, or a variable that is set at the beginning of a line, as the shell has them."""
    if (found["option"] or found["name"]).startswith("-"):
        return True
    return found["sign"] == "=" and bool(_SETTING.search(text, max(0, found.start() - 20), found.start()))


def _is_place(name: str, value: str) -> bool:
    """`PWD=/home/me` is where the shell is, and `secret://…` an address."""
    return value.startswith("//") or (name.lower().endswith("pwd") and value.startswith("/"))


def _quoted(text: str, quote: re.Match[str]) -> Span:
    """Up to the same quote behind as many backslashes; without one, up to the end of the line."""
    slashes, mark = quote.groups()
    start, limit = quote.end(), min(len(text), quote.end() + LONGEST)
    if len(mark) == 3:
        end = text.find(mark, start, limit)
    elif slashes:
        closing = re.compile(rf"(?<!\\){re.escape(slashes)}{mark}").search(text, start, limit)
        end = closing.start() if closing else -1
    else:
        end = _end(_INSIDE[mark], text, start, limit)
        end = -1 if end == limit else end
    if end < 0:
        end = _end(_LINE, text, start, limit)
    return Span(start, start if _REFERENCE.fullmatch(text, start, end) else end)


def _bracket_end(text: str, start: int) -> int:
    """Behind the bracket that closes the one at `start`; without one, as far as is looked."""
    limit, depth = min(len(text), start + LONGEST), 0
    for found in _BRACKETS.finditer(text, start, limit):
        depth += (found[0] in "[({") - (found[0] in "])}")
        if depth == 0:
            return found.end()
    return limit


def _in_markup(text: str, found: re.Match[str]) -> Span:
    start = found.end()
    if found["token"]:
        return _until(found["token"], text, start)
    if found["element"]:
        return _until("</" + found["element"], text, start)
    opened = _OPENED.search(text, max(0, found.start() - 60), found.start())
    return Span(start, start) if opened is None else _until("</" + opened[1], text, start)


def _until(closing: str, text: str, start: int) -> Span:
    """Up to the closing mark; without one, up to the end of the line."""
    limit = min(len(text), start + LONGEST)
    end = text.find(closing, start, limit)
    return _trimmed(text, start, _end(_LINE, text, start, limit) if end < 0 else end)


def _between(text: str, tag: re.Match[str]) -> Span:
    """A value between two marks of the same kind, or up to the next tag."""
    end = text.find(tag[0], tag.end(), tag.end() + LONGEST)
    return Span(tag.end(), end) if end >= 0 else _until("<", text, tag.end())


def _trimmed(text: str, start: int, end: int) -> Span:
    return Span(start, start + len(text[start:end].rstrip()))


def _end(pattern: re.Pattern[str], text: str, start: int, limit: int | None = None) -> int:
    found = pattern.match(text, start, len(text) if limit is None else limit)
    return start if found is None else found.end()
