"""Talk about a call, or a call? What stands before the markup decides (R-06).

Quoted: inside quotes, inline code, a quotation or a comment. A sample: introduced as an example. Both are left in the
prose. Only text before the call is looked at, and no more than `REACH` characters of it.
"""

from __future__ import annotations

import re

from rightcall.recover.window import Literals

REACH = 400

_ENDS = {
    quote: Literals([close, "\n"])
    for quote, close in (("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"), ("「", "」"))
}
_LINE = Literals(["\n"])
_STRING_OPENS = re.compile(r"(?:^|[=(\[,:{+>]|\breturn|\bin)\s*[rbfuRBFU]{0,2}'[^']*$")
_COMMENT = re.compile(r"\s*(?:>|#|//|\*|--|;;|%)")
_SAMPLE = re.compile(
    r"(?i)\b(?:examples?|e\.g\.|for instance|samples?|formats?|syntax|templates?|looks? like|such as|schema)\b[^.!?]{0,80}[:：]\s*$"
    r"|\bfollowing (?:examples?|formats?|samples?|syntax|structure|templates?|schema)\b[^.!?]{0,80}[.:：]\s*$"
)


def quoted(text: str, at: int) -> Literals | None:
    """What ends the quotation that `at` stands in; None when it stands in none."""
    line = text[text.rfind("\n", max(0, at - REACH), at) + 1 : at]
    line = line[-REACH:]
    if not line:
        return None
    if line[-1] in _ENDS:
        return _ENDS[line[-1]]
    for quote in '`"':
        if line.count(quote) % 2:
            return _ENDS[quote]
    if "'" in line and _STRING_OPENS.search(line):
        return _ENDS["'"]
    return _LINE if _COMMENT.match(line) else None


def sample(text: str, at: int) -> bool:
    """Whether what stands just before introduces an example."""
    before = text[max(0, at - REACH) : at].rstrip()
    return _SAMPLE.search(before[before.rfind("\n") + 1 :]) is not None
