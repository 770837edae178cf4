"""Takes lone markers out of prose, piece by piece."""

import re
from collections import Counter

from rightcall.route.cleaning_code import Code, Part
from rightcall.route.cleaning_markers import OPERATOR, Markers

_OPENS = re.compile(r"[<\[\]]")
_STRUCK = re.compile(r"<s>[^\n]{0,200}?</s>")
_STRIKES = re.compile(r"<s>[^\n]{0,200}")
_TAG = re.compile(r"<(/?)(s|function|tool|parameter|param|invoke|argument|arg)(?=[\s>])>?")
_TAG_BEGINS = re.compile(r"</?[a-z]{0,9}")
_CLOSES = frozenset(("s", "function", "tool", "parameter", "invoke"))
"""What closes a call in some format, and is also what people write, where it closes something that they opened."""


class Sweep:
    """`push` and `close` return what may be shown."""

    def __init__(self, markers: Markers) -> None:
        self._markers = markers
        self._code = Code()
        self._held = ""
        self._last = ""
        self._opened: Counter[str] = Counter()
        self.first: int | None = None
        """How much had been shown when something was taken out for the first time."""
        self._shown = 0

    def push(self, text: str) -> str:
        return "".join(map(self._part, self._code.push(text)))

    def close(self) -> str:
        text = "".join(map(self._part, self._code.close()))
        return text + self._prose("", ended=True, final=True)

    def _part(self, part: Part) -> str:
        if part.kind == "prose":
            return self._prose(part.text, ended=False)
        before = self._prose("", ended=True)
        code = self._markers.harmless(part.text) if part.kind == "inline" else part.text
        self._show(code)
        self._last = code[-1:]
        return before + code

    def _show(self, text: str) -> str:
        self._shown += len(text)
        return text

    def _prose(self, text: str, *, ended: bool, final: bool = False) -> str:
        """`ended`: no marker goes on after this text."""
        text = self._held + text
        self._held = ""
        shown: list[str] = []
        at = 0
        while (found := _OPENS.search(text, at)) is not None:
            shown.append(self._show(text[at : found.start()]))
            at = found.start()
            self._last = text[at - 1] if at else self._last
            if not ended and self._may_go_on(text, at):
                self._held = text[at:]
                return "".join(shown)
            end = len(text) if final and self._markers.cut(text, at) else self._end(text, at)
            if end > at:
                self.first = self._shown if self.first is None else self.first
                self._last = text[end - 1]
                at = end
                continue
            shown.append(self._show(text[at]))
            at += 1
        rest = text[at:]
        self._last = rest[-1:] or self._last
        shown.append(self._show(rest))
        return "".join(shown)

    def _may_go_on(self, text: str, at: int) -> bool:
        if self._markers.begins(text, at) or self._markers.cut(text, at) or _TAG_BEGINS.fullmatch(text, at):
            return True
        return _STRIKES.fullmatch(text, at) is not None and _STRUCK.match(text, at) is None

    def _end(self, text: str, at: int) -> int:
        """Where the marker that begins here ends; -1 for none."""
        tag = _TAG.match(text, at)
        if tag is not None:
            return self._tag(text, tag)
        end = self._markers.end(text, at)
        if end >= 0 or text[at] != "<" or text[at + 1 : at + 2] not in ("|", "｜"):
            return end
        operator = OPERATOR.match(text, at) is not None
        return -1 if operator and (text[at + 2 : at + 3] == ">" or self._last.isspace()) else at + 2

    def _tag(self, text: str, tag: re.Match[str]) -> int:
        closes, name = tag[1], tag[2]
        if closes:
            if name not in _CLOSES or self._opened[name]:
                self._opened[name] -= 1
                return -1
            return tag.end() if text[tag.end() - 1] == ">" else -1
        if name == "s" and (not self._shown or _STRUCK.match(text, tag.start()) is None):
            return tag.end()
        if name == "invoke" and (end := self._markers.end(text, tag.start())) >= 0:
            return end
        self._opened[name] += 1
        return -1
