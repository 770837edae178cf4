"""What of an answer is code, told piece by piece: there people write about markup, and nothing is markup.

A fence opens a block, also where a model forgot the line break before it; a pair of backticks on one line encloses
code in a sentence. A backtick without a partner is only a backtick.
"""

import re
from typing import Literal, NamedTuple

Kind = Literal["prose", "inline", "open", "block"]
"""`open` is the line that opens a block, `block` what follows to its end."""

_RUN = re.compile(r"`+|~{3,}")
_INFO = re.compile(r"[ \t]*[\w+\-.#/]*[ \t]*\r?")
_MORE_INFO = re.compile(r"[ \t]*[\w+\-.#/:]*[ \t,]*(?:\{[^<>]*\}|[\w\-]+=[^<>]*|[\w./\-]*)[ \t]*\r?")
"""What may stand after a fence; where it begins a line also a file's name or settings."""
_MARGIN = " \t>"
_LONGEST_LINE = 2000


class Part(NamedTuple):
    text: str
    kind: Kind


class Code:
    """`push` and `close` return the parts that are settled, in order; together they are the whole text."""

    def __init__(self, *, line_start: bool = True) -> None:
        self._held = ""
        self._fence = ""
        self._blank = line_start
        self._parts: list[Part] = []

    def push(self, text: str) -> list[Part]:
        return self._read(self._held + text, final=False)

    def close(self) -> list[Part]:
        return self._read(self._held, final=True)

    def unread(self) -> str:
        """What is not settled yet; it is forgotten here."""
        held, self._held = self._held, ""
        return held

    def _read(self, text: str, *, final: bool) -> list[Part]:
        self._parts = []
        if not self._fence and "`" not in text and "~" not in text:  # most pieces
            self._held = ""
            self._add(text, "prose")
            return self._parts
        at = 0
        while 0 <= at < len(text):
            self._held = ""
            at = self._in_block(text, at, final=final) if self._fence else self._in_prose(text, at, final=final)
        if at >= 0:
            self._held = ""
        return self._parts

    def _hold(self, text: str, at: int) -> int:
        self._held = text[at:]
        return -1

    def _add(self, text: str, kind: Kind) -> None:
        if not text:
            return
        self._parts.append(Part(text, kind))
        last = text.rfind("\n")
        self._blank = not text[last + 1 :].strip(_MARGIN) and (last >= 0 or self._blank)

    def _in_block(self, text: str, at: int, *, final: bool) -> int:
        """One line, or what there is of it."""
        stop = text.find("\n", at) + 1 or len(text)
        line = text[at:stop]
        bare = line.lstrip(_MARGIN)
        if not self._blank or not (self._fence.startswith(bare) or bare.startswith(self._fence)):
            self._add(line, "block")
            return stop
        run = len(bare) - len(bare.lstrip(self._fence[0]))
        if len(bare) == run and not final and stop == len(text):
            return self._hold(text, at)
        if run < len(self._fence):
            self._add(line, "block")
            return stop
        end = stop - len(bare) + run
        self._add(text[at:end], "block")
        self._fence = ""
        return end

    def _in_prose(self, text: str, at: int, *, final: bool) -> int:
        found = _RUN.search(text, at)
        if found is None:
            waits = len(text) - len(text.rstrip("~")) if not final else 0
            self._add(text[at : len(text) - waits], "prose")
            return self._hold(text, len(text) - waits) if waits else len(text)
        start, end, run = found.start(), found.end(), found[0]
        self._add(text[at:start], "prose")
        line_ends = text.find("\n", end)
        open_ended = line_ends < 0 and not final and len(text) - start < _LONGEST_LINE
        rest = text[end : line_ends if line_ends >= 0 else len(text)]
        if run[0] == "`":
            partner = re.search(rf"(?<!`){run}(?!`)", rest)
            if partner is not None and (partner.end() < len(rest) or not open_ended):
                self._add(text[start : end + partner.end()], "inline")
                return end + partner.end()
        if open_ended:
            return self._hold(text, start)
        info = _MORE_INFO if self._blank else _INFO
        if len(run) >= 3 and info.fullmatch(rest) and (self._blank or line_ends >= 0):
            stop = line_ends + 1 or len(text)
            self._add(text[start:stop], "open")
            self._fence = run
            return stop
        self._add(run, "prose")
        return end
