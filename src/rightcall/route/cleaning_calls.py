"""Takes calls out of an answer, piece by piece: those that the gate would find, and those that it leaves to doubt and
that no answer holds on purpose. Nothing is checked or counted: nobody asked for these calls."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rightcall.parse.balance import Balance
from rightcall.recover.context import sample
from rightcall.recover.envelope import ARGUMENTS, NAMES
from rightcall.recover.formats.bare import bare_object, fenced
from rightcall.recover.formats.harmony import leaked
from rightcall.recover.machine import Machine
from rightcall.recover.registry import Scanner, scanner_for
from rightcall.recover.section import WORD
from rightcall.recover.take import Format, Steps, Take
from rightcall.recover.window import Literals, Window, blank, closing, literal, matched
from rightcall.recovering import CatalogTools
from rightcall.route.cleaning_code import Code, Part

if TYPE_CHECKING:
    from rightcall.gate import Gate

_REACH = 200
_NO_TICK = "·"
_TURNS = re.compile(r"\{|Final Answer:|<\|message\|>")
_LONGEST_TURN = 16
_SIGNS = "|?!.;"
_NAMED = re.compile(r"functions\.[\w.:\-]*\Z")
_KEYS = frozenset((*NAMES, "selected_tool"))
_BEGUN = re.compile(
    r"(?:[`~]{3,}[ \t]*\w*)?\s*\[?\s*\{\s*\"(?P<key>\w+)\"\s*(?::\s*(?:\"(?P<name>[^\"]*)(?:\"(?P<rest>.*))?)?)?", re.S
)
_NEXT_KEY = re.compile(r"\s*(?:,\s*(?:\"(\w*)(?:\"\s*(?::.*)?)?)?)?", re.S)
_SELECTED = Literals(['"selected_tool"'])
_INFO = re.compile(r"[ \t]*(?:json)?\s*")
_QUOTE_AHEAD = (r"\s*+[\"'“]", r"\s*+\Z")


def _selection(window: Window, start: int, at: int) -> Steps:
    """The router's own form of a choice, where an answer is due."""
    key = yield from blank(window, start + 1)
    if (yield from literal(window, key, _SELECTED)) < 0:
        return (yield from bare_object(window, start, at))
    end = yield from closing(window, start)
    end = end if end >= 0 else len(window.text)
    yield Take(start, end, "", None, fault="a choice is no answer")
    return end


def _fenced_selection(window: Window, start: int, at: int) -> Steps:
    info = yield from matched(window, _INFO, at)
    brace = info.end() if info is not None else at
    if window.text[brace : brace + 1] != "{":
        return (yield from fenced(window, start, at))
    key = yield from blank(window, brace + 1)
    if (yield from literal(window, key, _SELECTED)) < 0:
        return (yield from fenced(window, start, at))
    end = yield from closing(window, brace)
    end = end if end >= 0 else len(window.text)
    after = yield from blank(window, end)
    close = yield from literal(window, after, Literals([window.text[start:at]]))
    end = max(end, close)
    yield Take(start, end, "", None, fault="a choice is no answer")
    return end


def _function(window: Window, start: int, at: int) -> Steps:
    """`functions.get_weather({"city": "Bern"})`, of a tool that there is."""
    name = yield from matched(window, WORD, at, 200)
    if name is None or window.tools.name(name[0].partition(":")[0]) is None:
        return -1
    bracket = yield from blank(window, name.end())
    if window.text[bracket : bracket + 1] not in ("(", "{"):
        return -1
    end = yield from closing(window, bracket)
    end = end if end >= 0 else len(window.text)
    yield Take(start, end, name[0], None, fault="nobody asked for it")
    return end


OWN = (
    Format("selection", "a choice of the router's", ("{",), _selection, "", ahead=_QUOTE_AHEAD[0],
           maybe_ahead=_QUOTE_AHEAD[1], bare=True),
    Format("fenced_selection", "the same in a fence", ("```", "~~~"), _fenced_selection, "", quotable=False, bare=True),
    Format("function", "a call as its header names it", ("functions.",), _function, ""),
    Format("header", "a header without its tokens, from its first word", ("to=functions.",), leaked, ""),
)  # fmt: skip


class Calls:
    """`push` and `close` return the answer without its calls.

    What stands before a call can make it seem a part of a program, or meant for the user. `anew`: where that may be
    only what a model ran together, the reading begins anew. That is for a second look: it would cut a call in two.
    """

    def __init__(self, gate: "Gate", *, anew: bool) -> None:
        self._begins_anew = anew
        self._scanner: Scanner = scanner_for((*OWN, *gate.formats))
        self._tools = CatalogTools(gate.catalog)
        self._cap = gate.policy.max_text
        self._code = Code()
        self._machine = Machine(self._scanner, self._tools, self._cap)
        self._text = ""
        self._base = 0
        self._before = ""
        self.found = 0
        """How many calls stood in it."""

    def push(self, text: str) -> str:
        return "".join(map(self._part, self._code.push(text)))

    def close(self) -> str:
        text = "".join(map(self._part, self._code.close()))
        rest = self._prose(self._machine.close())
        return text if self._cut_off(rest) else text + rest

    def _cut_off(self, text: str) -> bool:
        """Whether a text is the beginning of a call, too short for the gate to see one."""
        text = text.rstrip()
        begun = _BEGUN.fullmatch(text)
        if begun is None or begun["key"] not in _KEYS or Balance(text.index("{")).advance(text, len(text)) >= 0:
            return False
        name, rest = begun["name"], begun["rest"]
        if name is None:
            return True
        if rest is None:
            return any(one.startswith(name) for one in self._tools.catalog.names)
        key = _NEXT_KEY.fullmatch(rest)
        known = not self._tools.known or self._tools.name(name) is not None
        return known and key is not None and any(one.startswith(key[1] or "") for one in ARGUMENTS)

    def _part(self, part: Part) -> str:
        if part.kind == "prose":
            return self._spoken(part.text)
        if self._begins_anew and part.text.startswith("```") and part.kind == "inline":
            return self._feed(part.text)  # for the gate it would open a block
        anew = self._anew() if self._begins_anew and part.kind == "open" and self._glued("") else ""
        return anew + self._feed(part.text, part.text)

    def _spoken(self, text: str) -> str:
        shown: list[str] = []
        at = 0
        near = self._before[-_LONGEST_TURN:]
        for turn in _TURNS.finditer(near + text) if self._begins_anew else ():
            place = (turn.start() if turn[0] == "{" else turn.end()) - len(near)
            if place < at or (place == 0 and turn[0] != "{"):
                continue
            shown.append(self._feed(text[at:place]))
            at = place
            if turn[0] != "{" or self._glued(_SIGNS):
                shown.append(self._anew())
        shown.append(self._feed(text[at:]))
        return "".join(shown)

    def _glued(self, to: str) -> bool:
        """Whether what comes now stands right after a word, or one of these signs."""
        line = self._before[self._before.rfind("\n") + 1 :]
        if sample(self._before, len(self._before)) or not line.strip():
            return False
        return not to or (line[-1].isalnum() and _NAMED.search(line) is None) or line[-1] in to

    def _anew(self) -> str:
        rest = self._prose(self._machine.close())
        self._machine = Machine(self._scanner, self._tools, self._cap)
        self._text, self._base = "", 0
        return rest

    def _feed(self, text: str, view: str | None = None) -> str:
        """`view`: as the machine sees it. A lone backtick encloses nothing."""
        if not text:
            return ""
        self._text += text
        self._before = (self._before + text)[-_REACH:]
        return self._prose(self._machine.push(text.replace("`", _NO_TICK) if view is None else view))

    def _prose(self, events: Sequence[object]) -> str:
        prose: list[str] = []
        machine = self._machine
        for event, start in zip(events, machine.starts, strict=False):
            if not isinstance(event, str):
                self.found += 1
                continue
            first = start - self._base
            prose.append(self._without_samples(self._text[first : first + len(event)], start))
        settled = machine.window.base + machine.sent - self._base
        self._text, self._base = self._text[settled:], self._base + settled
        return "".join(prose)

    def _without_samples(self, text: str, start: int) -> str:
        """Markup that is introduced as an example, and in no code, would lose its markers and look like a call."""
        for note in reversed(self._machine.notes):
            first, last = note.start - start, note.end - start
            if last <= 0:
                break
            if note.code == "sample" and 0 <= first < last <= len(text) and text[first] == "<":
                text = text[:first] + text[last:]
        return text
