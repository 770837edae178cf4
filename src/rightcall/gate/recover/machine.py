"""The machine that reads an emission piece by piece: prose flows on, calls are taken out (R-05, R-09).

`Scanner` finds where the first word of any format stands. The machine has one reader at a time (see `window`), and
knows of quotations, code, reasoning and channels. A whole text is one piece and the end; so there is only one way to
read.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from rightcall.base.text import regex
from rightcall.catalog.catalog import may_name_tool
from rightcall.gate.recover import prose, tags
from rightcall.gate.recover.calls import KEYS, pairs_item
from rightcall.gate.recover.objects import object_item
from rightcall.gate.recover.section import (
    BLOCKS,
    GLUE,
    REACH,
    WORD,
    closed,
    in_code,
    opens_block,
    placeholder,
    quoted,
    sample,
    starts_line,
)
from rightcall.gate.recover.tags import headed
from rightcall.gate.recover.window import (
    Format,
    Literals,
    Markers,
    Mute,
    Steps,
    Take,
    Tools,
    Waiting,
    Window,
    blank,
    literal,
    matched,
    one_of,
    skip,
)
from rightcall.types import Note, NoteCode

REASONING = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<mm:think>": "</mm:think>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|thought_start|>": "<|thought_end|>",
    "<|channel>thought": "<channel|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
}
"""Where reasoning begins and ends."""
CLOSES = Literals(REASONING.values())

_TAILS = (
    "</s>", "<|im_end|>", "<|endoftext|>", "<|tool_response>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>",
    "<|end_of_text|>", "<｜end▁of▁sentence｜>", "[/TOOL_CALLS]",
)  # fmt: skip
"""Tokens that end a message, and leak after a call."""


@cache
def builtin_formats() -> tuple[Format, ...]:
    """The formats of every family, in the order in which they are tried."""
    return (
        *prose.BARE,
        *tags.FUNCTION_TAGS,
        *tags.FUNCTIONARY,
        *prose.HALLUCINATED,
        *tags.HARMONY,
        *tags.JSON_IN_TAGS,
        *tags.KIMI_K3,
        *tags.LLAMA3,
        *tags.MINIMAX_M3,
        *prose.REACT,
        *tags.SPECIAL_TOKENS,
    )


class Scanner:
    """Looks for the opening words of all formats at once."""

    def __init__(self, formats: Iterable[Format]) -> None:
        self.formats = tuple(formats)
        self.table: dict[str, list[Format]] = {}
        self._names: dict[tuple[str, str], str] = {}
        ahead: dict[str, str] = {}
        self.ahead: dict[str, re.Pattern[str]] = {}
        """What has to follow some of the words."""
        for format_ in self.formats:
            for word in format_.opens:
                self.table.setdefault(word, []).append(format_)
                if format_.ahead:
                    ahead[word] = f"(?={format_.ahead}|{format_.maybe_ahead})"
                    self.ahead[word] = regex(format_.ahead)
        words = {*self.table, *REASONING, *REASONING.values(), *BLOCKS}
        ordered = sorted(words, key=lambda word: (-len(word), word))
        self.pattern = re.compile(one_of(words, ahead))
        self.marked = regex(one_of((word for word in words if len(word) > 1), ahead))
        """The same without the words that are brackets: for a text in which too much was tried in vain."""
        self.longest = len(ordered[0])
        self.prefixes = frozenset(word[:n] for word in words for n in range(1, len(word)))
        self.firsts = re.compile(f"[{re.escape(''.join(sorted({word[0] for word in words})))}]")
        self.markers = Markers(
            (word for one in self.formats if one.marker for word in one.opens),
            (*_TAILS, *(word for one in self.formats if one.name != "fenced" for word in one.closes)),
            (word for one in self.formats if one.named for word in one.opens),
        )

    def held(self, text: str, start: int) -> int:
        """From where on the end of `text` may be the beginning of an opening word."""
        at = max(start, len(text) - self.longest + 1)
        while True:
            found = self.firsts.search(text, at)
            if found is None:
                return len(text)
            if text[found.start() :] in self.prefixes:
                return found.start()
            at = found.end()

    def name_of(self, word: str, kind: str) -> str:
        """Which format it is, when its opening word and the shape of the call are known."""
        name = self._names.get((word, kind))
        if name is None:
            found = self.table[word]
            name = next((one.name for one in found if kind in one.kinds), found[0].name)
            self._names[word, kind] = name
        return name


@cache
def scanner_for(formats: tuple[Format, ...] = ()) -> Scanner:
    """The scanner for the built-in formats and these."""
    return Scanner((*formats, *builtin_formats()))


# ── opening ──
# The first words of a message, where they are a call whose opening marker got lost: a name, and its arguments.

UNMARKED = "functionary"
"""The format that such a call is reported as: the one that has no marker before its first call."""

_MAY_OPEN = regex(r"\s*+(?:[^\W\d_][^\s\"'`{}\[\]()<>,;=|｜\\]*+\s*+(?:[<{\[`\\=]|\Z)|\Z)")
_KEY = Literals(KEYS)
_DECORATED = regex(r"functions\.[\w.\-]+(?::\d+)?|[\w.\-]+:\d+")
_FENCES = regex(r"```(?:json)?|\\n")
_HEADED = ("t", "to", "function")
"""First words that are no names: of a header, and of a token that some templates write before the name."""
_HEADER = regex(r"to=[^\s<|]*")
_MESSAGE = Literals(["<|message|>"])


def may_open(text: str, at: int) -> bool:
    """Whether the first word may be such a name: a look before a reader is started for what is mostly prose."""
    return _MAY_OPEN.match(text, at) is not None


def opening(window: Window, start: int, at: int) -> Steps:
    """The first words of a message: a name, and what can only be its arguments."""
    at = yield from blank(window, at)
    name = yield from _first_word(window, at)
    if name is None or not name[0][0].isalpha():
        return -1
    if name[0] == "to" and window.text.startswith("=", name.end()):
        return (yield from _headed(window, start, at))
    return (yield from _after(window, start, name[0], name.end()))


def _first_word(window: Window, at: int) -> Waiting[re.Match[str] | None]:
    """The whole of it; none as soon as it can be seen that it is no tool's name: prose is not held back for it."""
    while True:
        name = WORD.match(window.text, at, at + 200)
        if name is None or not (name[0] in _HEADED or window.tools.may_begin(name[0])):
            return None
        if window.final or name.end() < len(window.text) or len(window.text) >= at + 200:
            return name
        yield


def _headed(window: Window, start: int, at: int) -> Steps:
    """`to=self<|message|>`: a header whose first token the template has written."""
    header = yield from matched(window, _HEADER, at, 200)
    if header is None or not (yield from literal(window, header.end(), _MESSAGE)) >= 0:
        return -1
    return (yield from headed(window, start, at))


def _after(window: Window, start: int, name: str, end: int, *, inner: bool = False) -> Steps:
    glued = yield from skip(window, end, GLUE)
    token = bool(_FENCES.sub("", window.text[end:glued]).strip()) or inner
    if name == "function" and token:
        real = yield from matched(window, WORD, glued, 200)
        return (yield from _after(window, start, real[0], real.end(), inner=True)) if real is not None else -1
    if (yield from literal(window, glued, _KEY)) >= 0:
        item = yield from pairs_item(window, start, name, glued, window.markers.closes)
        kind = "pairs"
    elif glued < len(window.text) and window.text[glued] == "{" and (token or _sure(window, name, end, glued)):
        item = yield from object_item(window, glued, window.markers.ends, marked=True, name=name)
        kind = "json"
    else:
        return -1
    if item is None or any(take.arguments is None and not take.cut for take in item.takes):
        return -1
    for take in item.takes:
        lost = take.cut == "closers" and kind == "pairs"  # the marker that would close it got lost with the first
        yield take._replace(start=start, kind=kind, cut="" if lost else take.cut, marks={} if lost else take.marks)
    return (yield from closed(window, item.end))


def _sure(window: Window, name: str, end: int, glued: int) -> bool:
    """Without any token: a name as formats decorate it, or a known tool's on a line of its own."""
    if _DECORATED.fullmatch(name):
        return may_name_tool(name) or window.tools.name(name) is not None
    line = "\n" in window.text[end:glued]
    return line and window.tools.known and window.tools.name(name) is not None


# ── signs ──
# What kind of text the prose so far is: a message of the model's own, a document, a template, a dialogue.

_DOCUMENT = 3
"""A text with so many headings or comment lines is a document, one with so many tags a template."""

_TAIL = 12
_MUCH = 65536


class Signs:
    """Keeps prose until somebody asks; long texts are looked through on the way, so that memory stays small."""

    __slots__ = ("_headings", "_itself", "_others", "_size", "_tags", "_tail", "_unseen", "foreign")

    def __init__(self) -> None:
        self.foreign = False
        """Whether it is a template, or a dialogue in which others speak: nothing in it is a call of the model's own."""
        self._headings = 0  # lines that begin with #
        self._tags = 0  # of a template
        self._others = self._itself = False  # who has spoken
        self._unseen: list[str] = []
        self._size = 0
        self._tail = "\n"  # the end of what was looked through

    def remember(self, prose: str, *, code: bool) -> None:
        """More prose. Code may hold anything, and tells nothing."""
        self._unseen.append("\0" if code else prose)
        self._size += len(prose)
        if self._size > _MUCH and len(self._unseen) > 1:
            self.look()

    @property
    def document(self) -> bool:
        return self._headings >= _DOCUMENT

    def look(self) -> None:
        """Look through what was remembered, across the places where it was cut."""
        if not self._unseen:
            return
        tail = self._tail
        text = tail + "".join(self._unseen)
        if "#" in text:
            self._headings += text.count("\n#") - tail.count("\n#")
        if "%" in text:
            self._tags += text.count("{%") - tail.count("{%")
            self.foreign = self.foreign or self._tags >= _DOCUMENT or "\n{%" in text
        if ":" in text:
            self._others = self._others or "\nUser:" in text
            self._itself = self._itself or "\nAssistant:" in text or "\nAI:" in text
            spoken = (self._others and self._itself) or "\nUSER:" in text or "\nHuman:" in text
            self.foreign = self.foreign or spoken
        self._tail = text[-_TAIL:]
        self._unseen.clear()
        self._size = 0


log = logging.getLogger("rightcall")

FoundCall = tuple[Take, str]
"""A call, and the name of its format."""

MOST_CALLS = 1000
_IN_VAIN = 64
"""What it costs to look at a word that begins no call."""

_ENOUGH = -1_000_000
"""Who has looked in vain that often looks no further."""

_KEEP = 4096
_SMALL = 65536
_CLOSES = {word: Literals([word]) for word in REASONING.values()}
_MESSAGES: dict[NoteCode, str] = {
    "quoted": "a call in quotes or code was left in the text",
    "sample": "a call introduced as an example was left in the text",
    "unreadable": "a call marker without a call was left in the text",
    "final": "text meant for the user is not searched for calls",
    "reasoning": "a call in reasoning truncated by the token limit was left in the text",
    "too_many": f"no more than {MOST_CALLS} calls, or attempts at one, are read from one message",
}


class Machine:
    """Feed it with `push`, end with `close`; both return prose and calls in order."""

    def __init__(self, scanner: Scanner, tools: Tools, cap: int, *, opened: bool = False) -> None:
        self.scanner = scanner
        self.window = Window(tools, scanner.markers, cap)
        self.notes: list[Note] = []
        self.events: list[str | FoundCall] = []
        self.starts: list[int] = []
        """Where each of the events that were handed out last begins in the whole text."""
        self.pending: list[str] = []
        self.waiting = 0  # characters in `pending`
        self.sent = 0  # up to here everything is prose that was handed out, or a call
        self.at = 0  # up to here the scanner has looked
        self.idle = False  # nothing is held back, and nothing but an opening word would matter
        self.fresh = True
        self.try_opening = True
        self.mute: Mute | None = None
        self.opened = opened
        """Whether the text begins inside of reasoning, as far as anybody knows: the prompt has opened it. It is read
        like any other until a closing tag stands there; then nothing before that tag has been said."""
        self.reasoning = CLOSES if opened else None  # the tags that would close it
        self.looked = 0  # up to here they were looked for
        self.effort = self.window.effort
        self.reasons = False  # whether a tag has opened any
        self.closes_alone = False
        """Whether a tag closed reasoning that none has opened."""
        self.is_cut = False
        self.steps: Steps | None = None
        self.start = 0
        self.resume = 0  # where scanning goes on when the reader finds nothing
        self.word = ""
        self.doubt = False
        self.takes: list[FoundCall] = []
        self.calls = 0
        self.call_end = 0
        self.signs = Signs()

    # ── feeding ──────────────────────────────────────────────────────────────────────────────────────────────────

    def push(self, chunk: str) -> list[str | FoundCall]:
        """More of the text."""
        if not chunk:
            return []
        if self.idle and self.scanner.firsts.search(chunk) is None:
            return self._pass_on(chunk)
        self.hold(chunk)
        size = len(self.window.text)
        if self.steps is not None and size > _SMALL and self.waiting * 16 < size:
            return []  # copying a long text for every little piece would take quadratic time
        return self._advance()

    def hold(self, chunk: str) -> None:
        """Take more of the text without looking at it yet."""
        self.pending.append(chunk)
        self.waiting += len(chunk)

    def close(self, *, is_cut: bool = False) -> list[str | FoundCall]:
        """The end of the text; `is_cut`: the token limit has set it."""
        self.window.final = True
        self.is_cut = is_cut
        return self._advance()

    def _advance(self) -> list[str | FoundCall]:
        window = self.window
        if self.pending:
            piece = self.pending[0] if len(self.pending) == 1 else "".join(self.pending)
            window.text += piece
            self.pending.clear()
            self.waiting = 0
        self.starts = []
        while self._step():
            pass
        events, self.events = self.events, []
        if self.steps is None and self.sent > _KEEP:
            self._forget(self.sent - REACH - 16)
        unsettled = self.steps or self.mute or self.reasoning or self.try_opening or self.fresh
        self.idle = not unsettled and self.sent == len(window.text)
        return events

    def _pass_on(self, chunk: str) -> list[str | FoundCall]:
        """Prose in which nothing can begin: the way most pieces of a stream go."""
        window = self.window
        self.starts = [window.base + self.sent]
        window.text += chunk
        self.sent = self.at = len(window.text)
        self.signs.remember(chunk, code=False)
        if self.sent > _KEEP:
            self._forget(self.sent - REACH - 16)
        return [chunk]

    def _forget(self, cut: int) -> None:
        self.window.text = self.window.text[cut:]
        self.window.base += cut
        self.sent -= cut
        self.at -= cut
        self.looked -= cut
        self.call_end -= cut
        self.window.begin = max(0, self.window.begin - cut)

    # ── one step ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _step(self) -> bool:
        """Do one thing; False when more text is needed or none is left."""
        if self.reasoning is not None and self._reasoning_over():
            return True
        if self.steps is None:
            return self._seek()
        try:
            step = next(self.steps)
        except StopIteration as stop:
            self._finish(stop.value)
            return True
        except Exception:  # an error of ours must not lose the message: what was read in vain stays prose
            log.exception("rightcall: reading a call in format %s failed", self.word[:40])
            self._finish(-1)
            return True
        if isinstance(step, Take):
            self._took(step)
            return True
        if step is not None:
            log.error("rightcall: the reader of %r yields something other than a Take", self.word[:40])
            self._finish(-1)
            return True
        if not self.window.final:
            return False
        self._finish(-1)
        return True

    def _seek(self) -> bool:
        """Look for the next opening word and start its reader; hand out the prose before it."""
        window = self.window
        text = window.text
        if self.mute is not None:
            return self._muted(self.mute)
        if window.effort < _ENOUGH:
            self._be_mute(Mute(self.at, None, "too_many"), self.at)
            return True
        if self.try_opening:
            self.try_opening = False
            if may_open(text, self.at):
                self._read(opening(window, self.at, self.at), self.at, self.at, "")
                return True
        scan = self.scanner.pattern if window.effort >= 0 else self.scanner.marked
        found = scan.search(text, self.at)
        if found is None:
            self.at = len(text) if window.final else self.scanner.held(text, self.at)
            self._emit(self.at)
            return False
        start, word = found.start(), found[0]
        if len(text) - start < self.scanner.longest and not window.final:
            held = self.scanner.held(text, self.at)
            if held <= start:  # the end of the text may be the beginning of another, longer word
                self.at = held
                self._emit(held)
                return False
        self._emit(start)
        ahead = self.scanner.ahead.get(word)
        if ahead is not None and not ahead.match(text, found.end()):
            self.at = found.end() if window.final else start
            return window.final  # whether it opens anything is seen when there is more
        self._open(word, start, found.end())
        return True

    def _open(self, word: str, start: int, end: int) -> None:
        text = self.window.text
        if word in self.scanner.table:
            format_ = self.scanner.table[word][0]
            since = max(0, self.call_end)
            until = quoted(text, start, since, headed=format_.headed) if format_.quotable else None
            if until is not None:
                self.window.effort -= _IN_VAIN
                self._be_mute(Mute(end, until, "quoted"), start)
                return
            self.signs.look()
            # a fence in a document may still be the answer, if it calls a tool that there is
            shown = self.signs.document and (format_.quotable or not self.window.tools.known)
            unmarked = format_.bare and (shown or in_code(text, start, since))
            self.doubt = unmarked or self.signs.foreign or sample(text, start, since)
            if self.doubt:
                self.window.effort -= 4 * _IN_VAIN
            self.window.fresh = self.fresh
            self._read(format_.read(self.window, start, end), start, end, word)
            return
        self.at = end
        self.window.effort -= _IN_VAIN
        if word in BLOCKS:
            if opens_block(text, start):
                self._be_mute(Mute(end, BLOCKS[word], "quoted"), start)
        elif word in _CLOSES:
            self.closes_alone = self.closes_alone or (not self.reasons and quoted(text, start) is None)
            self._emit(end)
            self._begin_again()
        elif self.reasoning is None and quoted(text, start, self.window.begin) is None:
            self.reasoning, self.reasons = _CLOSES[REASONING[word]], True
            self.looked = end
            self.effort = self.window.effort

    def _read(self, steps: Steps, start: int, resume: int, word: str) -> None:
        self.steps, self.start, self.resume, self.word = steps, start, resume, word
        self.takes = []

    def _took(self, take: Take) -> None:
        found = (take, self.scanner.name_of(self.word, take.kind) if self.word else UNMARKED)
        if self.window.tools.name(take.name) is None:
            if placeholder(take.name):
                self.window.effort -= 4 * _IN_VAIN
                self._note("sample", take.start, take.end)
                if self.window.effort < _ENOUGH:
                    self._finish(take.end)
                return
            if take.arguments is not None and not may_name_tool(take.name):
                found = (take._replace(name="", arguments=None, fault="it names no tool"), found[1])
        if found[0].fault:
            self.window.effort -= take.end - take.start
        self.takes.append(found)
        if not self.doubt and not self.reasoning:
            self._hand_out(found)

    def _hand_out(self, found: FoundCall) -> None:
        if self.calls >= MOST_CALLS:
            self._note("too_many", found[0].start, found[0].end)
            self.steps = None
            self._be_mute(Mute(found[0].end, None), found[0].end)
            return
        take = found[0]
        base = self.window.base
        self.calls += 1
        if base:
            found = (take._replace(start=take.start + base, end=take.end + base), found[1])
        self.events.append(found)
        self.starts.append(found[0].start)
        self.sent = self.call_end = max(self.sent, take.end)

    def _finish(self, result: Any) -> None:
        self.steps = None
        if not isinstance(result, Mute | int):
            result = -1  # a reader that forgot to say where prose goes on
        end = result.at if isinstance(result, Mute) else result
        drops = self.doubt or (self.opened and self.is_cut)
        if self.takes and drops:
            self._note("sample" if self.doubt else "reasoning", self.start, end)
        elif self.takes and self.reasoning is not None:
            if not self.window.final:
                self._read_on(result)
                return
            self.reasoning, self.opened = None, False  # it never closes: what it holds counts
            for found in self.takes:
                self._hand_out(found)
        if self.takes and not drops and end >= 0:
            self.sent = self.call_end = max(self.sent, end)
        if not self.takes:
            self.window.effort -= _IN_VAIN
            if self.word and self.scanner.table[self.word][0].marker:
                self._note("unreadable", self.start, max(end, self.resume))
        self.takes, self.doubt = [], False
        self.at = max(end, self.resume, self.sent) if end >= 0 else max(self.resume, self.sent)
        if isinstance(result, Mute):
            self._be_mute(result, self.start)

    def _read_on(self, result: int | Mute) -> None:
        """Calls in reasoning: whether they count is known when it is closed, or at the end."""

        def waiting() -> Steps:
            while not self.window.final:
                yield None
            return result

        self.steps = waiting()

    # ── what is not searched ─────────────────────────────────────────────────────────────────────────────────────

    def _be_mute(self, mute: Mute, start: int) -> None:
        self.mute = mute
        self.at = max(self.at, mute.at)
        if mute.code is not None:
            self._note(mute.code, start, self.at)

    def _muted(self, mute: Mute) -> bool:
        text, until = self.window.text, mute.until
        found = until.pattern.search(text, self.at) if until is not None else None
        while found is not None and mute.line and not starts_line(text, found.start()):
            self.at = found.end()
            found = until.pattern.search(text, self.at) if until is not None else None
        if found is not None:
            keeps = mute.code == "final" or found[0] == "\n"
            self.at = found.start() if keeps else found.end()
            self._emit(self.at)
            self.mute = None
            return True
        held = 0 if until is None or self.window.final else until.held(text, self.at)
        self.at = max(self.at, len(text) - held)
        if self.reasoning is not None and not self.window.final:
            held = max(held, self.reasoning.longest - 1)
        self._emit(min(self.at, len(text) - held))
        return False

    def _reasoning_over(self) -> bool:
        """Reasoning that is closed holds no calls, whatever was found in it."""
        text, closes = self.window.text, self.reasoning
        assert closes is not None
        close = closes.pattern.search(text, max(self.sent, self.looked))
        if close is None:
            self.looked = max(self.sent, len(text) - closes.longest + 1)
            return False
        self.steps, self.mute, self.takes, self.doubt = None, None, [], False
        self.at = close.end()
        self._emit(self.at)
        self.call_end = self.window.begin = self.at
        if self.opened:
            self.opened, self.signs = False, Signs()
            self.notes.clear()
        self.reasoning = None
        self.window.effort = self.effort  # how far a reader got in there depends on how the text was cut
        self._begin_again()
        return True

    def _begin_again(self) -> None:
        """After reasoning the message begins."""
        self.fresh = self.try_opening = True

    # ── prose ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _emit(self, end: int) -> None:
        if end <= self.sent:
            return
        prose = self.window.text[self.sent : end]
        self.starts.append(self.window.base + self.sent)
        self.sent = end
        self.events.append(prose)
        if self.reasoning is not None and not self.opened:
            return
        if self.fresh and not prose.isspace():
            self.fresh = False
        self.signs.remember(prose, code=self.mute is not None)

    def _note(self, code: NoteCode, start: int, end: int) -> None:
        if len(self.notes) < MOST_CALLS and (self.reasoning is None or self.opened):
            base = self.window.base
            self.notes.append(Note(code, _MESSAGES[code], start + base, max(start, end) + base))
