"""Syntax tokens: comments, strings, numbers, keywords, identifiers and operators, for whoever wants to colour a text.
A lexer of one expression per language. Each step takes what it has looked at, so the time is linear in the text."""

import re
from functools import cache

from msgspec import Struct

from rightcall.execute.code.languages import language_of
from rightcall.execute.code.tokens_styles import OTHER, STYLES
from rightcall.text.cut import AnswerRoom
from rightcall.text.escape import cut_end

MOST_TOKENS = 5_000
_LONGEST = 200

_BLOCKS = {"/*": "*/", "--[[": "]]"}
_OVER_LINES = frozenset(('"""', "'''", "`"))


class SyntaxToken(Struct, frozen=True):
    """Lines and columns are counted from 1, columns in characters. A long text is cut."""

    type: str
    line: int
    column: int
    text: str


def tokens_of(text: str, path: str, first: int, last: int, room: AnswerRoom) -> tuple[list[SyntaxToken], bool]:
    """The tokens in these lines, and whether that is all of them: there are so many at most, and no more than fit. The
    first may begin above the lines. The text is the whole file: whether a line lies in a comment is decided further
    up."""
    lexer, keywords = _lexer(language_of(path, text) or "")
    found: list[SyntaxToken] = []
    line, line_start, seen = 1, 0, 0
    for token in lexer.finditer(text):
        start = token.start()
        if breaks := text.count("\n", seen, start):
            line += breaks
            line_start = text.rindex("\n", seen, start) + 1
        seen = start
        if line > last:
            break
        if line >= first or line + text.count("\n", start, token.end()) >= first:
            kind, written = token.lastgroup or "", token.group()
            kind = "keyword" if kind == "identifier" and written in keywords else kind
            one = SyntaxToken(kind, line, start - line_start + 1, cut_end(written, _LONGEST))
            if len(found) == MOST_TOKENS or not room.take(one):
                return found, False
            found.append(one)
    return found, True


@cache
def _lexer(language: str) -> tuple[re.Pattern[str], frozenset[str]]:
    comments, quotes, keywords = STYLES.get(language, OTHER)
    longest_first = sorted(comments, key=len, reverse=True)
    unless = f"(?!{'|'.join(map(re.escape, comments))})" if comments else ""
    parts = {
        "comment": "|".join(_comment(mark) for mark in longest_first) or "(?!)",
        "string": "|".join(_string(quote) for quote in quotes.split()),
        "number": r"(?<!\w)\d(?:[eE][+-]|\.(?=\d)|\w)*+",
        "identifier": r"[^\W\d]\w*+[?!]?(?<=[\w?!])" if language == "ruby" else r"[$@]?[^\W\d]\w*+",
        "operator": rf"(?:{unless}[-+*/%=<>!&|^~?:.])++|[^\w\s]",
    }
    return re.compile("|".join(f"(?P<{name}>{part})" for name, part in parts.items())), frozenset(keywords.split())


def _comment(mark: str) -> str:
    if mark in _BLOCKS:
        return rf"{re.escape(mark)}(?s:.*?)(?:{re.escape(_BLOCKS[mark])}|\Z)"
    return rf"{re.escape(mark)}[^\n]*+"


def _string(quote: str) -> str:
    """Up to its end; one that is not closed ends with its line, or with the text where it may hold lines."""
    mark = re.escape(quote)
    if quote in _OVER_LINES:
        return rf"{mark}(?s:\\.|(?!{mark}).)*+(?:{mark}|\Z)"
    return rf"{mark}(?:\\(?s:.)|[^\\\n{mark}])*+(?:{mark})?"
