"""Holds back what a model writes for itself: reasoning between its tags, channels that are not for the user, and the
thoughts before a final answer.

    <think>…</think>It rains.                                       ─▶ It rains.
    <|channel|>analysis<|message|>…<|end|><|channel|>final<|message|>It rains. ─▶ It rains.
    Thought: …\\nFinal Answer: It rains.                              ─▶ It rains.
"""

import re
from typing import NamedTuple

from rightcall.recover.formats.harmony import ENDS
from rightcall.recover.registry import CLOSES, REASONING
from rightcall.recover.window import Literals
from rightcall.route.cleaning_code import Code, Part

_OPENS = re.compile(r"[<\[]")
_TAGS = Literals(REASONING)
_HEADER = re.compile(
    r"(?:<\|start\|>[ \t]*(?P<role>\w{0,40})(?P<to>[^<{}\"\n]{0,100}))?(?:<\|channel\|>[ \t]*(?P<channel>\w{0,40}))?"
    r"(?P<about>[^<{}\"\n]{0,160})(?:<\|constrain\|>[^<{}\"\n]{0,40})?<\|message\|>"
)
_HEADS = ("<|start|>", "<|channel|>")
_HEADER_BEGINS = re.compile(
    r"<\|(?:start|channel)\|>(?:[^<{}\"\n]|<\|?(?:start|channel|constrain|message)?\|?>?){0,300}"
)
_SECRET = frozenset(("analysis",))
_STOPS_THAT_OPEN = ("<|start|>", "<|channel|>")


class _Stretch(NamedTuple):
    """What is held back."""

    start: int
    ends: Literals
    opened: str
    """The tag that opened reasoning; what a header opens never comes back."""


class Opened:
    """Holds back reasoning that the prompt has opened, up to its closing tag. Without one there was none."""

    def __init__(self) -> None:
        self._kept: str | None = ""
        self._looked = 0

    def push(self, text: str) -> str:
        if self._kept is None:
            return text
        self._kept += text
        found = CLOSES.pattern.search(self._kept, self._looked)
        if found is None:
            self._looked = max(0, len(self._kept) - CLOSES.longest + 1)
            return ""
        rest, self._kept = self._kept[found.end() :], None
        return rest

    def close(self) -> str:
        kept, self._kept = self._kept, None
        return kept or ""


class Hidden:
    """`push` and `close` return what is not held back."""

    def __init__(self) -> None:
        self._code = Code()
        self._held = ""
        self._within: _Stretch | None = None
        self._kept = ""
        self._looked = 0
        self._fresh = True

    def push(self, text: str) -> str:
        shown: list[str] = []
        while text or self._within is not None:
            if self._within is not None:
                rest = self._over(self._within, text)
                if rest is None:
                    break
                text = rest
                self._code = Code(line_start=self._fresh)
                continue
            text = self._read(self._code.push(text), shown)
        return "".join(shown)

    def close(self) -> str:
        shown: list[str] = []
        rest = self._read(self._code.close(), shown)
        if self._within is None:
            rest = self._prose("", shown, ended=True)
        if self._within is not None:
            shown.append(self.push(rest))
        return "".join(shown) + self._never_closed()

    def _never_closed(self) -> str:
        """At the beginning it is reasoning without an answer; later perhaps only a tag that somebody mentions."""
        within, self._within = self._within, None
        if within is None or self._fresh or not within.opened:
            return ""
        again = Hidden()
        again._fresh = False
        kept, self._kept = self._kept, ""
        return within.opened + again.push(kept) + again.close()

    def _over(self, within: _Stretch, text: str) -> str | None:
        """What comes after the end of the stretch, once it is there."""
        self._kept += text
        found = within.ends.pattern.search(self._kept, self._looked)
        if found is None:
            self._looked = max(0, len(self._kept) - within.ends.longest + 1)
            return None
        goes_on = found.start() if found[0] in _STOPS_THAT_OPEN else found.end()
        rest, self._kept, self._looked, self._within = self._kept[goes_on:], "", 0, None
        return rest

    def _read(self, parts: list[Part], shown: list[str]) -> str:
        """Returns what is to be read anew, after something that is held back has begun."""
        for nth, part in enumerate(parts):
            if part.kind == "prose":
                rest = self._prose(part.text, shown, ended=False)
                if self._within is not None:
                    return rest + "".join(one.text for one in parts[nth + 1 :]) + self._code.unread()
                continue
            rest = self._prose("", shown, ended=True)
            if self._within is not None:
                return rest + "".join(one.text for one in parts[nth:]) + self._code.unread()
            self._show(part.text, shown)
        return ""

    def _show(self, text: str, shown: list[str]) -> None:
        text = text.lstrip() if self._fresh else text
        if text:
            shown.append(text)
            self._fresh = False

    def _prose(self, text: str, shown: list[str], *, ended: bool) -> str:
        text = self._held + text
        self._held = ""
        at = 0
        while (found := _OPENS.search(text, at)) is not None:
            self._show(text[at : found.start()], shown)
            at = found.start()
            if not ended and _may_open(text, at):
                self._held = text[at:]
                return ""
            opening = _opening(text, at)
            if isinstance(opening, _Stretch):
                self._within = opening
                return text[opening.start :]
            if opening > at:
                at = opening
                continue
            self._show(text[at], shown)
            at += 1
        self._show(text[at:], shown)
        return ""


def _may_open(text: str, at: int) -> bool:
    rest = text[at : at + 400]
    if rest in _TAGS.prefixes or any(head.startswith(rest) for head in _HEADS):
        return True
    return "<|message|>" not in rest and _HEADER_BEGINS.fullmatch(rest) is not None


def _opening(text: str, at: int) -> "_Stretch | int":
    """What is held back from here on; else where the text goes on, after a header of what the user may see."""
    tag = _TAGS.pattern.match(text, at)
    if tag is not None:
        return _Stretch(tag.end(), _closing(tag[0]), tag[0])
    header = _HEADER.match(text, at) if text.startswith(_HEADS, at) else None
    if header is None or "to=" in f"{header['to']}{header['about']}":
        return at
    role, channel = header["role"] or "assistant", header["channel"]
    if channel in _SECRET or role != "assistant":
        return _Stretch(header.end(), ENDS, "")
    return header.end()


def _closing(tag: str) -> Literals:
    return _CLOSING[tag]


_CLOSING = {opens: Literals([closes]) for opens, closes in REASONING.items()}

_LABELS = ("Thought:", "Question:", "Action:")
_FINAL = re.compile(r"^[ \t*]*Final Answer:[ \t*]*", re.M)
_THOUGHT = re.compile(r"^Thought:", re.M)
_ACTION = re.compile(r"^Action:", re.M)
_ASIDE = re.compile(
    r"^(?:Question|Thought|Observation):.*?(?=^(?:Action|Question|Thought|Observation):|\Z)", re.M | re.S
)


class Scratchpad:
    """Thoughts, actions and observations, as some prompts ask for them, up to the final answer."""

    def __init__(self) -> None:
        self._held = ""
        self._passed = False

    def push(self, text: str) -> str:
        if self._passed:
            return text
        self._held += text
        bare = self._held.lstrip()
        if not bare or any(label.startswith(bare) for label in _LABELS):
            return ""
        if bare.startswith(_LABELS):
            return ""
        return self._pass(self._held)

    def close(self) -> str:
        if self._passed:
            return ""
        text = self._held
        final = _FINAL.search(text)
        if final is not None and (_THOUGHT.search(text, 0, final.start()) or _ACTION.search(text, 0, final.start())):
            return self._pass(text[final.end() :])
        if _ACTION.search(text) and _THOUGHT.search(text):
            return self._pass(_ASIDE.sub("", text))
        return self._pass(text)

    def _pass(self, text: str) -> str:
        self._passed, self._held = True, ""
        return text
