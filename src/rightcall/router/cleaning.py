"""An answer for people, as it comes: no call in it, no marker of one, no reasoning that some models write first.

    pieces ─▶ reasoning that the prompt opened ─▶ what the gate would read, three times ─▶ two last looks ─▶ people

It is the gate's own machine that reads, with other rules. Quotes and examples excuse nothing, only code does: a fence,
or a pair of backticks on one line. What opens no call goes too, and so do hidden stretches. Taking something out can
make another of what stood around it, so all of it is done several times; where a last look still finds something, the
answer ends there: what is built like that is no answer. Text without any markup comes back as it is.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from rightcall.base.json.values import Balance
from rightcall.gate.recover.calls import KEYS, PREFIXES
from rightcall.gate.recover.machine import CLOSES, REASONING, FoundCall, Machine, Scanner, builtin_formats, scanner_for
from rightcall.gate.recover.objects import NAMES
from rightcall.gate.recover.section import GLUE, WORD, sample
from rightcall.gate.recover.tags import ENDS, leaked
from rightcall.gate.recover.window import (
    Format,
    Literals,
    Mute,
    Reader,
    Steps,
    Take,
    Waiting,
    Window,
    blank,
    closing,
    find,
    literal,
    matched,
    search,
    watched,
)
from rightcall.gate.stream import CatalogTools

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate

_PASSES = 3
_MARKER = "marker"
_CUT = re.compile(r"[<\[].{3}|<[|｜]", re.S)
_ODD_SPACE = re.compile(r"[^\S \t\r\n]\s*\Z")
"""Nobody is shown what is blank at the end; to the gate only these are more than blanks."""

_INLINE = ("`", "``")
_ENDS = "..."
"""Says that something is missing; what stands before it is then no call that was cut off."""


class Cleaner:
    """`push` each piece and show what it returns; `close` gives the rest. Together the same as of the whole text."""

    def __init__(self, gate: "Gate") -> None:
        tools, cap = CatalogTools(gate.catalog), gate.policy.max_text
        scanner = _scanner(gate.formats)
        steps = [_Step(_Machine(scanner, tools, cap), is_last=number == _PASSES) for number in range(_PASSES + 1)]
        steps.append(_Step(Machine(scanner_for(gate.formats), tools, cap), is_last=True))
        self._steps = steps
        self._hidden: str | None = "" if gate.reasoning == "open" else None
        self._looked = 0

    @property
    def calls(self) -> int:
        """How many calls stood in it."""
        return sum(step.calls for step in self._steps)

    def push(self, piece: str) -> str:
        if self._hidden is not None:
            piece = self._after_reasoning(self._hidden + piece)
        return self._through(0, piece)

    def close(self) -> str:
        unclosed, self._hidden = self._hidden or "", None
        shown = self._through(0, unclosed)
        return shown + "".join(self._through(number + 1, step.close()) for number, step in enumerate(self._steps))

    def _after_reasoning(self, text: str) -> str:
        """Holds back reasoning that the prompt has opened, up to its closing tag. Without one there was none."""
        found = CLOSES.pattern.search(text, self._looked)
        self._hidden, self._looked = (text, max(0, len(text) - CLOSES.longest + 1)) if found is None else (None, 0)
        return "" if found is None else text[found.end() :]

    def _through(self, number: int, text: str) -> str:
        for step in self._steps[number:]:
            if not text:
                return ""
            text = step.push(text)
        return text


def clean_answer(gate: "Gate", text: str) -> tuple[str, int]:
    """A whole answer without its calls, and how many there were.

    >>> from rightcall import Gate
    >>> clean_answer(Gate(), '<think>Hm.</think>It is <tool_call>{"name": "f", "arguments": {}}</tool_call>42.')
    ('It is 42.', 1)
    """
    cleaner = Cleaner(gate)
    return (cleaner.push(text) + cleaner.close()).strip(), cleaner.calls


# ── the steps ────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Machine(Machine):
    """Reads as the gate does, but for people: only a fence that is introduced as an example keeps its call."""

    is_over = False
    """Whether there was more to take out than anybody reads through: nothing after that is shown."""

    def _open(self, word: str, start: int, end: int) -> None:
        if word not in self.scanner.table:
            self.at = end
            return
        format_ = self.scanner.table[word][0]
        self.window.fresh = self.fresh
        if format_.name == "fenced":
            self.signs.look()
            document = self.signs.document and not self.window.tools.known
            self.doubt = document or sample(self.window.text, start, max(0, self.call_end))
        self._read(format_.read(self.window, start, end), start, end, word)

    def _took(self, take: Take) -> None:
        self.takes.append((take, ""))
        if not self.doubt:
            self._hand_out((take, ""))

    def _finish(self, result: int | Mute) -> None:
        super()._finish(result if self.takes or self.word else -1)  # the first words are read as any others

    def _be_mute(self, mute: Mute, start: int) -> None:
        super()._be_mute(mute, start)
        if mute.until is None and not self.is_over:
            self.is_over = True
            self.events.append(_ENDS)

    def close(self, *, is_cut: bool = False) -> list[str | FoundCall]:
        """A marker that the end of the answer has cut off goes, too; also behind a backtick that has no partner."""
        text = "".join((self.window.text, *self.pending)).rstrip()
        cut = self.scanner.held(text, self.sent)
        is_open = self.steps is not None and self.word not in _INLINE
        if not is_open and self.mute is None and _CUT.match(text, cut):
            self.window.text = text[:cut]
            self.pending.clear()
        return super().close(is_cut=is_cut)

    def _emit(self, end: int) -> None:
        if self.is_over:
            self.sent = max(self.sent, end)
        super()._emit(end)


class _Step:
    """What a machine leaves of the answer; the last ones let nothing pass from the first thing on that they find."""

    def __init__(self, machine: Machine, *, is_last: bool) -> None:
        self._machine = machine
        self._is_last = is_last
        self._over = self._begun = False
        self._held: str = ""
        self.calls = 0

    def push(self, text: str) -> str:
        text = self._held + text if self._begun else text.lstrip()  # as it is shown
        self._begun = self._begun or bool(text)
        odd = _ODD_SPACE.search(text)
        end = len(text) if odd is None else odd.start()
        self._held = text[end:]
        return self._left(self._machine.push(text[:end]))

    def close(self) -> str:
        return self._left(self._machine.close())

    def _left(self, events: Sequence[str | FoundCall]) -> str:
        prose: list[str] = []
        for event in () if self._over else events:
            if isinstance(event, str):
                prose.append(event)
            elif self._is_last:
                self._over = True
                prose.append(_ENDS)
                break
            else:
                self.calls += event[0].kind != _MARKER
        return "".join(prose)


# ── what is taken out ────────────────────────────────────────────────────────────────────────────────────────────────

_OF_TEMPLATES = (
    "<bos>", "<eos>", "<pad>", "<unk>", "<mask>", "<escape>", "<start_of_turn>", "<end_of_turn>", "<start_of_image>",
    "<<SYS>>", "<</SYS>>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]", "[CALL_ID]", "[PREFIX]", "[SUFFIX]",
    "[MIDDLE]",
    *(f"<{end}{name}>" for end in ("", "/") for name in (
        "tool_response", "tool_result", "tool_results", "tool_outputs", "function_results", "function_response")),
    "<start_function_response>", "<end_function_response>",
    "<start_function_declaration>", "<end_function_declaration>", "]<]minimax[>[", "<|message|>", "<|constrain|>",
    "<|im_start|>", "<|start_header_id|>", "<parameter=",
)  # fmt: skip
_SPECIAL = re.compile(r"<(?!function name=|tool name=)[^<>\n]{2,}[>=|]?|\[/?[A-Z_]{3,}\]|\]<\]")
"""What of the words of formats stands for itself: `Action:`, `>>>` and brackets are also just text."""

_MARKED = re.compile(r"<|\[/?[A-Z]")
_COMMON = tuple(f"</{name}>" for name in ("s", "function", "tool", "parameter", "invoke"))
"""What closes a call in some format, and is also what people write, where it closes something that they opened."""

_VALUE = re.compile(r"[\"']?[\w.\-]{0,160}[\"']?>?")
_WORD = re.compile(r"[a-z]{0,12}\n?")
_ROLES = frozenset(("assistant", "user", "system", "tool", "model"))
_ROLE_FOLLOWS = ("<|im_start|>", "<start_of_turn>", "<|start_header_id|>")
_TOKEN = re.compile(r"[\w▁./:\-\s]{0,240}(?:[|｜]>?)?")
_OPERATOR = re.compile(r"<[|｜]>|(?<=\s)<[|｜][ \t](?!\s*(?i:start|begin|end) of)")
"""`a <| b` and `a <|> b` in some languages."""

_TALK = tuple(
    f"{bracket}{of} " for bracket in ("<", "</", "[", "[/") for word in ("Start", "Begin", "End")
    for of in (f"{word} of", f"{word} of".lower())
)  # fmt: skip
_SHAPES = (
    (tuple(f"<{end}{space}" for space in PREFIXES if space for end in ("", "/")),
     r"[a-z_]{0,20}(?:[ =][^<>\n]{0,160})?>?",
     r".*?(?:(?:tool|function)s?(?:_?calls?)?|invoke|param(?:eter)?|arg(?:ument)?)(?:[ =].*)?>"),
    (_TALK, r"[A-Za-z ]{0,80}[>\]]?", r".*(?:Tool|Function) (?:Call|Use)[>\]]"),
    (("<unused",), r"\d{0,4}>?", r"<unused\d+>"),
    (("<reserved_",), r"\w{0,40}>?", r"<reserved_\w+>"),
)  # fmt: skip
"""Markers with something in them: how they begin, what may follow, and what they are as a whole."""


def _drop(start: int, end: int, kind: str = _MARKER) -> Take:
    return Take(start, end, "", None, fault="it is not for people", kind=kind)


def _alone(read: Reader) -> Reader:
    """As the format reads, and where it finds no call its opening word goes alone."""

    def reader(window: Window, start: int, at: int) -> Steps:
        result, taken = yield from watched(read(window, start, at))
        label = isinstance(result, Mute) and window.fresh
        if not taken and (label or _SPECIAL.match(window.text[start:at])):
            return (yield from _marker(window, start, at))
        return -1 if not taken else result.at if isinstance(result, Mute) else result

    return reader


def _marker(window: Window, start: int, at: int) -> Steps:
    word = window.text[start:at]
    if word.endswith("=") or word in _ROLE_FOLLOWS:
        after = yield from matched(window, _VALUE if word.endswith("=") else _WORD, at)
        at = after.end() if after is not None and (word[-1] == "=" or after[0].rstrip() in _ROLES) else at
    yield _drop(start, at)
    return at


def _shape(eats: re.Pattern[str], whole: re.Pattern[str]) -> Reader:
    def read(window: Window, start: int, at: int) -> Steps:
        found = yield from matched(window, eats, at)
        end = found.end() if found is not None else at
        if whole.fullmatch(window.text, start, end) is None and not (yield from _is_cut(window, end)):
            return -1
        yield _drop(start, end)
        return end

    return read


def _is_cut(window: Window, end: int) -> Waiting[bool]:
    after = yield from blank(window, end)
    return window.final and after >= len(window.text)


def _token(read: Reader) -> Reader:
    """`<|im_end|>`, `<|Start of Memory Helper Tool Call|>`, whole or cut off; else the bracket goes."""

    def reader(window: Window, start: int, at: int) -> Steps:
        found = yield from matched(window, _TOKEN, at)
        end = found.end() if found is not None else at
        if _OPERATOR.match(window.text, start):
            return -1
        if window.text[end - 1] == ">":
            result, taken = yield from watched(read(window, start, at))
            if taken:
                return result
        elif not (yield from _is_cut(window, end)):
            end = at
        yield _drop(start, end)
        return end

    return reader


def _common(window: Window, start: int, at: int) -> Steps:
    """A tag that people write too: it goes where it closes nothing."""
    yield from ()
    name = window.text[start + 2 : at - 1]
    before = window.text[max(0, start - 400) : start]
    if len(re.findall(rf"<{name}[\s>]", before)) > before.count(f"</{name}>"):
        return -1
    yield _drop(start, at)
    return at


def _strike(window: Window, start: int, at: int) -> Steps:
    """`<s>` begins a text of some models, or strikes a few words out."""
    closes = yield from find(window, "</s>", at, 200)
    if closes >= 0 and not window.fresh and "\n" not in window.text[at:closes]:
        return -1
    yield _drop(start, at)
    return at


def _reasoning(window: Window, start: int, at: int) -> Steps:
    """Without an end it is reasoning at the beginning, and later perhaps only a tag that somebody mentions."""
    closes = REASONING[window.text[start:at]]
    found = yield from find(window, closes, at)
    end = found + len(closes) if found >= 0 else len(window.text) if window.fresh else at
    yield _drop(start, end)
    return end


_HEADER = re.compile(r"(?:<\|start\|>\s*(?P<role>\w*)[^<]*)?(?:<\|channel\|>\s*(?P<channel>\w*))?[^{}\"]*")


def _message(read: Reader) -> Reader:
    """`<|channel|>analysis<|message|>…<|end|>`: a call, a message for somebody else, or only a header."""

    def reader(window: Window, start: int, at: int) -> Steps:
        result, taken = yield from watched(read(window, start, at))
        if taken:
            return result.at if isinstance(result, Mute) else result
        message = yield from find(window, "<|message|>", at, 300)
        header = _HEADER.fullmatch(window.text, start, message) if message >= 0 else None
        if header is None:
            return (yield from _marker(window, start, at))
        end = message + len("<|message|>")
        if header["channel"] == "analysis" or header["role"] not in (None, "", "assistant") or "to=" in header[0]:
            stop = yield from search(window, ENDS, end, end)
            opens = stop is not None and stop[0] in ("<|start|>", "<|channel|>")
            end = len(window.text) if stop is None else stop.start() if opens else stop.end()
        yield _drop(start, end)
        return end

    return reader


_FINAL = re.compile(r"^[ \t*]*Final Answer:[ \t*]*", re.M)
_THOUGHT, _ACTION = re.compile(r"^[ \t*]*Thought:", re.M), re.compile(r"^[ \t*]*Action:", re.M)


def _scratchpad(window: Window, start: int, at: int) -> Steps:
    """Thoughts, actions and observations, as some prompts ask for them, up to the final answer."""
    if not window.fresh:
        return -1
    look = at
    while True:
        final = _FINAL.search(window.text, look)
        if (final is not None and final.end() < len(window.text)) or window.final:
            break
        look = max(at, window.text.rfind("\n", at))
        yield
    text = window.text[start : final.start() if final is not None else len(window.text)]
    if not (_THOUGHT.search(text) and (final is not None or _ACTION.search(text))):
        return -1
    end = final.end() if final is not None else len(window.text)
    yield _drop(start, end)
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
    yield _drop(start, end, "json")
    return end


# ── code, and calls that look like code ──────────────────────────────────────────────────────────────────────────────

_CHOICE = re.compile(r"((?:[`~]{3,})?)[ \t]*\w*\s*\{?\s*(\"?\w*\"?)")
_BEGUN = re.compile(r"(?:[`~]{3,}[ \t]*\w*)?\s*\[?\s*\{\s*\"(\w+)\"\s*(?::\s*(?:\"([^\"]*)(\".*)?)?)?", re.S)
_INFO = re.compile(r"[ \t]*[\w+\-.#/]*[ \t]*\r?")
_MORE_INFO = re.compile(r"[ \t]*[\w+\-.#/:]*[ \t,]*(?:\{[^<>]*\}|[\w\-]+=[^<>]*|[\w./\-]*)[ \t]*\r?")
"""What may stand after a fence; where it begins a line also a file's name or settings."""

_TICKS = re.compile(r"`+|~+")
_LONGEST_LINE = 2000


def _bare(read: Reader) -> Reader:
    """JSON in the open or in a fence: a call, the router's own form of a choice, or the beginning of one of them."""

    def reader(window: Window, start: int, at: int) -> Steps:
        end = yield from _choice(window, start)
        if end < 0:
            result, taken = yield from watched(read(window, start, at))
            if taken:
                return result
            if not (window.final and _is_begun(window, start)):
                if window.text[start] in "`~":
                    return (yield from _code(window, start, at))
                end = result.at if isinstance(result, Mute) else result
                return -1 if _MARKED.search(window.text, at, max(at, end)) else end
            end = len(window.text)
        yield _drop(start, end, "json")
        return end

    return reader


def _choice(window: Window, start: int) -> Waiting[int]:
    """The end of `{"selected_tool": …}`, also in a fence; -1 where none begins."""
    head = yield from matched(window, _CHOICE, start)
    if head is None or head[2] != '"selected_tool"':
        return -1
    end = yield from closing(window, window.text.index("{", start))
    if end < 0:
        return len(window.text)
    after = yield from blank(window, end)
    return max(end, (yield from literal(window, after, Literals([head[1]])))) if head[1] else end


def _is_begun(window: Window, start: int) -> bool:
    """Whether the end of the text is the beginning of a call, too short for the gate to see one."""
    text, tools = window.text[start:].rstrip(), window.tools
    begun = _BEGUN.fullmatch(text)
    if begun is None or begun[1] not in (*NAMES, "selected_tool"):
        return False
    if Balance(text.index("{")).advance(text, len(text)) >= 0:
        return False
    if begun[3] is not None:
        return not tools.known or tools.name(begun[2]) is not None
    return isinstance(tools, CatalogTools) and any(one.startswith(begun[2] or "") for one in tools.catalog.names)


def _code(window: Window, start: int, _at: int) -> Steps:
    """There people write about markup, and nothing is markup. A backtick without a partner is only a backtick."""
    ticks = yield from matched(window, _TICKS, start)
    end = ticks.end() if ticks is not None else start + 1
    run = window.text[start:end]
    partner = re.compile(rf"(?P<pair>[^\n]*?(?<!`){run}(?!`))|[^\n]*" if run[0] == "`" else r"(?P<pair>(?!))|[^\n]*")
    line = yield from matched(window, partner, end, _LONGEST_LINE)
    after = line.end() if line is not None else end
    if line is not None and line["pair"] is not None:
        return after
    rest = window.text[end:after]
    blank_before = not window.text[max(window.text.rfind("\n", 0, start) + 1, start - 80) : start].strip(" \t>")
    opens = (_MORE_INFO if blank_before else _INFO).fullmatch(rest) and (blank_before or after < len(window.text))
    return Mute(after, Literals([run]), "quoted", line=True) if len(run) >= 3 and opens else end


def _words(formats: Iterable[Format]) -> Iterable[str]:
    """The special words that open nothing: what closes or divides calls, and what templates write."""
    closes = (word for one in formats for word in one.closes)
    pairs = (form for key in KEYS for word in (key, key.replace("key", "value")) for form in (word, f"</{word[1:]}"))
    tails = scanner_for().markers.closes.words
    for word in (*closes, *tails, *GLUE.words, *ENDS.words, *REASONING.values(), *pairs, *_OF_TEMPLATES):
        if _SPECIAL.match(word) and word not in _COMMON:
            yield word


_READERS = {"fenced": _bare, "json": _bare, "list": _bare, "hallucinated": _token, "harmony": _message}


@cache
def _scanner(formats: tuple[Format, ...]) -> Scanner:
    every = (*formats, *builtin_formats())
    ours = (
        one._replace(
            read=_READERS.get(one.name, _alone)(one.read), ahead="" if one.name == "hallucinated" else one.ahead
        )
        for one in every
    )
    own = [Format(name, "", opens, read, "") for name, opens, read in (
        ("inline", _INLINE, _code), ("function", ("functions.",), _function),
        ("header", ("to=functions.",), leaked), ("reasoning", tuple(REASONING), _reasoning),
        ("scratchpad", ("Thought:", "Question:"), _scratchpad), ("strike", ("<s>",), _strike),
        ("common", _COMMON, _common), ("token", ("</|", "</｜"), _token(_marker)),
        *((_MARKER, opens, _shape(re.compile(eats), re.compile(whole, re.S))) for opens, eats, whole in _SHAPES),
        (_MARKER, tuple(dict.fromkeys(_words(every))), _marker),
    )]  # fmt: skip
    return Scanner((*ours, *own))
