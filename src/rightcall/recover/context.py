"""Talk about a call, or a call? What stands before the markup decides (R-06).

Quoted: inside quotes, inline code, a quotation or a comment. A sample: introduced as an example. Both are left in the
prose. Only text before the call is looked at, and no more than `REACH` characters of it.
"""

from __future__ import annotations

from rightcall.parse.late import Late
from rightcall.recover.window import Literals

REACH = 400

_ENDS = {
    quote: Literals([close, "\n"])
    for quote, close in (("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"), ("「", "」"))
}
BLOCKS = {'"""': Literals(['"""']), "'''": Literals(["'''"]), '#"': Literals(['"#'])}
"""What quotes whole blocks: the strings of source code."""

_BACKSLASHED = ("n", "r", "t")
_QUOTES = Late(r'(?<!\d)"')
"""After a digit it may mean inches."""

_LINE = Literals(["\n"])
_ESCAPED_END = Late(r"(?:\\[nrt])+$")
"""`'\\n<tool_call>`: in source code the quote stands before an escaped line break."""

_STRING_OPENS = Late(r"(?:^|[=(\[,:{+>]|\breturn|\bin)\s*[rbfuRBFU]{0,2}'[^']*$")
_COMMENT = Late(r"\s*(?:>|#|//|--|;;|%|\d{4}-\d\d-\d\d|\[?(?:INFO|DEBUG|WARN|ERROR))|\s+\*\s|.*\s//\s")
_CODE = Late(r"(?:[=(\[+|&\\]|\b(?:return|yield|const|append|push|print|json)|[\w\]]\(|\w\([^()]{0,30},)\s*$")
"""What stands before a literal in program source, and not before a call amid prose."""

_BLOCK_OPENS = Late(r"(?:^|[=(\[,:+]|\breturn)\s*[rbfuRBFU]{0,2}$")
_NEAR = 200
_CUES = (
    "example", "e.g.", "instance", "sample", "format", "syntax", "template", "look", "such as", "schema", "following",
    "usage", "like this", "exempl", "ejemplo", "beispiel", "esempio", "пример", "示例", "例如",
)  # fmt: skip
_INTRODUCES = frozenset(":：.,")
_HEADS = ("#", "*", "=")
_PLAIN_ENDS, _SURE_CUES = (".", ","), ("following", "e.g", "for example")
"""After a full stop or a comma, as most sentences end, only these introduce an example."""

_SPEAKER = Late(r"\b(?:i'll|i’ll|i will|i'm|i’m|i am|let me|calling|based on|here(?: is|'s|’s) (?:\w+ ){1,4}call)\b")
"""Who speaks of what they do now shows no example."""

_WORDS = (
    r"(?:examples?|e\.g\.(?!\w)|for instance|samples?|formats?|syntax|templates?|looks? like|such as|schema|usage"
    r"|exemples?|exemplo|ejemplos?|beispiele?|esempio|esempi|пример)"
)
_SAMPLE = Late(
    rf"\b{_WORDS}(?!\w)[^.!?]{{0,80}}[:：]$"
    r"|\bfollowing (?:examples?|formats?|samples?|syntax|structure|templates?|schema)\b[^.!?]{0,80}[.:：]$"
    r"|\b(?:you|one|they|models?) [^.!?]{0,80}like this[:：]$"
    r"|\b(?:e\.g\.|for example),?$"
    r"|(?:示例|例如)[^。！？]{0,40}[:：]$"
    rf"|^\s*(?:#+|\*\*|==+)\s?.{{0,60}}\b{_WORDS}(?!\w).{{0,60}}$"
)
_PLACEHOLDER = Late(
    r"(?i)[.…]+|[<$%{\[].*|.*[>}]|(?:example|your|sample)[_\- ].*"
    r"|(?:function|func|tool|method|plugin|action)(?:[_\- ]call)?[_\- ]?name[_\- ]?\d*"
    r"|name[_\- ]of[_\- ].*|(?:name|tool|function)[_\- ]here"
)


def quoted(text: str, at: int, since: int = 0, *, headed: bool = False) -> Literals | None:
    """What ends the quotation that `at` stands in; None when it stands in none. What is before `since` does not count:
    it was a call. `headed`: a header stands wherever the last message ended; only a quote right before it counts."""
    first = max(since, at - REACH)
    line = text[text.rfind("\n", first, at) + 1 or first : at]
    if not line:
        return None
    last = line[-1]
    if last in _BACKSLASHED and "\\" in line:
        line = _ESCAPED_END.sub("", line) or " "
        last = line[-1]
    if last in _ENDS:
        return _ENDS[last]
    if headed:
        return None
    if "`" in line and line.count("`") % 2:
        return _ENDS["`"]
    if '"' in line and len(_QUOTES.findall(line)) % 2:
        return _ENDS['"']
    if "'" in line and _STRING_OPENS.search(line):
        return _ENDS["'"]
    return _LINE if _COMMENT.match(line) else None


def sample(text: str, at: int, since: int = 0) -> bool:
    """Whether what stands just before introduces an example."""
    before = text[max(since, at - _NEAR) : at].rstrip()
    line = before[before.rfind("\n") + 1 :]
    last = before[-1:]
    if last not in _INTRODUCES and line[:1] not in _HEADS:
        return False
    line = line.lower()
    if last in _PLAIN_ENDS and not any(cue in line for cue in _SURE_CUES) and line[:1] not in _HEADS:
        return False
    return any(cue in line for cue in _CUES) and _SAMPLE.search(line) is not None and not _SPEAKER.search(line)


def starts_line(text: str, at: int, since: int = 0) -> bool:
    """Whether nothing but white space, or the sign of a quotation, stands before `at` on its line."""
    first = max(since, at - 80)
    return not text[max(text.rfind("\n", first, at) + 1, first) : at].strip(" \t>")


def in_code(text: str, at: int, since: int = 0) -> bool:
    """Whether a bracket at `at` belongs to an expression of program source, or stands in the middle of a sentence."""
    first = max(since, at - 40)
    line = text[text.rfind("\n", first, at) + 1 or first : at].rstrip()
    return bool(line) and (line[-1].isalnum() or _CODE.search(line) is not None)


def opens_block(text: str, at: int) -> bool:
    """Whether three quotes at `at` open a string of program source: at the start of a line, or where a value stands."""
    first = max(0, at - 80)
    return _BLOCK_OPENS.search(text[text.rfind("\n", first, at) + 1 or first : at]) is not None


def spoken_for(text: str, at: int) -> bool:
    """Whether somebody says just before that they do it now."""
    before = text[max(0, at - _NEAR) : at].rstrip()
    return _SPEAKER.search(before[before.rfind("\n") + 1 :].lower()) is not None


def placeholder(name: str) -> bool:
    """`example_function_name`, `<tool>`, `...`: what stands for a name in a description."""
    return _PLACEHOLDER.fullmatch(name) is not None
