"""Talk about a call, or a call? What stands before the markup decides (R-06).

Quoted: inside quotes, inline code, a quotation or a comment. A sample: introduced as an example. Both are left in the
prose. Only text before the call is looked at, and no more than `REACH` characters of it.
"""

from __future__ import annotations

from rightcall.base.text import regex
from rightcall.gate.recover.calls import BRACE_HEAD as BRACE_CALL
from rightcall.gate.recover.calls import KEYS, brace_item, function_item, pairs_item, python_item
from rightcall.gate.recover.calls import OPENS as FUNCTION_TAGS
from rightcall.gate.recover.objects import Item, object_item, string_item
from rightcall.gate.recover.window import Format, Literals, Steps, Take, Waiting, Window, blank, literal, matched, skip

REACH = 400

_ENDS = {
    quote: Literals([close, "\n"])
    for quote, close in (("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"), ("«", "»"), ("「", "」"))
}
BLOCKS = {'"""': Literals(['"""']), "'''": Literals(["'''"]), '#"': Literals(['"#'])}
"""What quotes whole blocks: the strings of source code."""

_QUOTES = regex(r'(?<!\d)"')
"""After a digit it may mean inches."""

_LINE = Literals(["\n"])
_ESCAPED_END = regex(r"(?:\\[nrt])+$")
"""`'\\n<tool_call>`: in source code the quote stands before an escaped line break."""

_STRING_OPENS = regex(r"(?:^|[=(\[,:{+>]|\breturn|\bin)\s*[rbfuRBFU]{0,2}'[^']*$")
_COMMENT = regex(r"\s*(?:>|#|//|--|;;|%|\d{4}-\d\d-\d\d|\[?(?:INFO|DEBUG|WARN|ERROR))|\s+\*\s|.*\s//\s")
_CODE = regex(r"(?:[=(\[+|&\\]|\b(?:return|yield|const|append|push|print|json)|[\w\]]\(|\w\([^()]{0,30},)\s*$")
"""What stands before a literal in program source, and not before a call amid prose."""

_BLOCK_OPENS = regex(r"(?:^|[=(\[,:+]|\breturn)\s*[rbfuRBFU]{0,2}$")
_NEAR = 200
_CUES = (
    "example", "e.g.", "instance", "sample", "format", "syntax", "template", "look", "such as", "schema", "following",
    "usage", "like this", "exempl", "ejemplo", "beispiel", "esempio", "пример", "示例", "例如",
)  # fmt: skip
_INTRODUCES = frozenset(":：.,")
_HEADS = ("#", "*", "=")
_PLAIN_ENDS, _SURE_CUES = (".", ","), ("following", "e.g", "for example")
"""After a full stop or a comma, as most sentences end, only these introduce an example."""

_SPEAKER = regex(r"\b(?:i'll|i’ll|i will|i'm|i’m|i am|let me|calling|based on|here(?: is|'s|’s) (?:\w+ ){1,4}call)\b")
"""Who speaks of what they do now shows no example."""

_WORDS = (
    r"(?:examples?|e\.g\.(?!\w)|for instance|samples?|formats?|syntax|templates?|looks? like|such as|schema|usage"
    r"|exemples?|exemplo|ejemplos?|beispiele?|esempio|esempi|пример)"
)
_SAMPLE = regex(
    rf"\b{_WORDS}(?!\w)[^.!?]{{0,80}}[:：]$"
    r"|\bfollowing (?:examples?|formats?|samples?|syntax|structure|templates?|schema)\b[^.!?]{0,80}[.:：]$"
    r"|\b(?:you|one|they|models?) [^.!?]{0,80}like this[:：]$"
    r"|\b(?:e\.g\.|for example),?$"
    r"|(?:示例|例如)[^。！？]{0,40}[:：]$"
    rf"|^\s*(?:#+|\*\*|==+)\s?.{{0,60}}\b{_WORDS}(?!\w).{{0,60}}$"
)
_PLACEHOLDER = regex(
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
    if last in ("n", "r", "t") and "\\" in line:
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


# ── section ──
# A marker, calls in any of the shapes of `items`, and perhaps a marker at the end: what most formats are.
#
# Between calls any known marker, bracket, comma or fence may stand, and any may be missing: only the calls matter. That
# is how a dropped opening tag, a surplus bracket or a wrong closing tag costs nothing.

WORD = regex(r"[^\s\"'`{}\[\]()<>,;=|｜\\]{1,160}")
"""A word that may be a name, as far as what follows tells; `envelope.NAME` is what may be one in quotes."""

GLUE = Literals(
    [
        "<｜tool▁sep｜>", "<|tool▁sep|>", "<｜tool_sep｜>", "<|tool_sep|>", "<|tool_call_argument_begin|>", "[ARGS]",
        "<tool_sep>", "<tool_sep:opensource>", "```json", "```", "\\n",
        "<|content_invoke_tool_json|>", "<|constrain|>json", "<|message|>", "<|tool_call:args|>",
    ]
)  # fmt: skip
"""What may stand between a name and its arguments."""

_CALL_ID = regex(r"\[CALL_ID\]\w*")
_FUNCTION_TAGS = Literals(FUNCTION_TAGS)
_KEY = Literals(KEYS)
_NAME_FOLLOWS = Literals(["<|tool_call:name|>"])
_FENCE = Literals(["```"])
_FOR = Literals(["for "])
_ESCAPED_BREAK = Literals(["\\n"])
_BRACKETS = ("}", "]", ")")
_NAMELESS = frozenset({"function"})
"""Words that stand where a name could and announce one."""


def read_section(window: Window, start: int, at: int) -> Steps:
    """Read the calls from `at` on, after the marker that begins at `start`."""
    end, done, kind, opened = -1, -1, "", ""
    while True:
        at = yield from skip(window, at, window.markers.between)
        if end >= 0 and not (yield from _goes_on(window, done, end, at, kind)):
            return end
        item = yield from read_item(window, at)
        if item is None:
            again = window.text[end:at].strip() if end >= 0 else ""
            if end < 0 or (again and window.text.startswith(again, start)):
                return at  # no marker in this run leads anywhere; or the opening one was written to close
            return end
        for take in item.takes:
            here = Take(start, *take[1:]) if end < 0 else take  # quicker than _replace, and every call comes by
            yield here if item.kind == here.kind else here._replace(kind=item.kind)
        if end < 0:
            opened = window.text[start:at]
        done, kind = item.end, item.kind
        end = at = yield from closed(window, item.end, opened)
        if not item.takes:
            return end


def _goes_on(window: Window, done: int, end: int, at: int, kind: str) -> Waiting[bool]:
    """Whether another call may follow: after an opening marker any; else one of the same shape, where no marker has
    closed the section. `foo(1)` in the prose after a call is no call."""
    if window.markers.opens.pattern.search(window.text, end, at) is not None:
        return True
    if window.text[done:end].strip("}])\n ") or at >= len(window.text):
        return False
    if kind == "json":
        return window.text[at] == "{"
    if kind == "tags":
        return (yield from literal(window, at, _FUNCTION_TAGS)) >= 0
    return kind == "python"


def closed(window: Window, at: int, opened: str = "") -> Waiting[int]:
    """After a call: over the closing markers and surplus brackets that belong to it, and over what closes the list or
    the fence that stands in `opened`."""
    end, closes = at, window.markers.closes
    lists, fences = "[" in opened, "```" in opened
    while True:
        after = at
        if at >= len(window.text) or window.text[at].isspace():
            after = yield from blank(window, at)
        char = window.text[after : after + 1]
        if char == "\\" and (yield from literal(window, after, _ESCAPED_BREAK)) > 0:
            at = after + 2  # a line break that was escaped once too often
            continue
        if char not in closes.firsts and char not in _BRACKETS and not (fences and char == "`"):
            return end
        found = yield from literal(window, after, closes)
        if found < 0 and fences:
            found = yield from literal(window, after, _FENCE)
            fences = found < 0
        if found < 0 and lists and window.text.startswith("]", after):
            found, lists = after + 1, False
        if found < 0:
            surplus = yield from _surplus(window, at)
            if surplus == at:
                return end
            found = surplus
        end = at = found


def _surplus(window: Window, at: int) -> Waiting[int]:
    while at < len(window.text) or not window.final:
        if at >= len(window.text):
            yield
            continue
        if window.text[at] not in _BRACKETS:
            break
        at += 1
    return at


def read_item(window: Window, at: int) -> Waiting[Item | None]:
    """The call that stands at `at`, in whatever shape; None when there is none."""
    if at >= len(window.text):
        return None
    markers = window.markers
    char = window.text[at]
    if char == "{":
        return (yield from object_item(window, at, markers.ends, marked=True))
    if char == '"':
        return (yield from string_item(window, at))
    if char == "<":
        tag = yield from literal(window, at, _FUNCTION_TAGS)
        return (yield from function_item(window, at, markers.closes)) if tag >= 0 else None
    if (yield from literal(window, at, BRACE_CALL)) >= 0:
        return (yield from brace_item(window, at))
    return (yield from _after_name(window, at))


def _after_name(window: Window, at: int) -> Waiting[Item | None]:
    markers = window.markers
    found = yield from matched(window, WORD, at, 200)
    if found is None:
        return None
    name, end = found[0], found.end()
    if end < len(window.text) and window.text[end] == "(":
        if name == "print" and window.tools.name(name) is None:
            return (yield from read_item(window, (yield from blank(window, end + 1))))  # what is printed is the call
        item = yield from python_item(window, at, end, markers.closes, marked=True)
        if item is None or (yield from _comprehends(window, item.end)):
            return None
        return _without_method(item, window)
    call_id = yield from matched(window, _CALL_ID, end)
    glued = yield from skip(window, call_id.end() if call_id else end, GLUE)
    if name in _NAMELESS and glued > end:
        return (yield from read_item(window, glued))
    if (yield from literal(window, glued, _NAME_FOLLOWS)) >= 0:  # what stood before was the call's id
        return (yield from _after_name(window, (yield from skip(window, glued, _NAME_FOLLOWS))))
    if glued < len(window.text):
        if window.text[glued] == "{":
            return (yield from _arguments(window, at, name, glued))
        pairs = yield from literal(window, glued, _KEY)
        if pairs >= 0:
            return (yield from pairs_item(window, at, name, glued, markers.closes))
    named = window.text[max(0, at - 64) : at].rstrip().endswith(markers.named)
    if (
        not named
        or not (name[0].isalpha() or name[0] == "_")
        or (yield from literal(window, glued, markers.closes)) < 0
    ):
        return None
    if window.tools.known and window.tools.name(name) is None:
        return None
    return Item(glued, (Take(at, glued, name, {}),), "name")


def _comprehends(window: Window, at: int) -> Waiting[bool]:
    """`[f(x) for x in y]` is a program, not a list of calls."""
    after = yield from blank(window, at)
    return (yield from literal(window, after, _FOR)) >= 0


def arguments_of(window: Window, start: int, name: str, brace: int) -> Steps:
    """The call of `name`, whose object of arguments stands at `brace`; nothing where that cannot be read."""
    item = yield from object_item(window, brace, window.markers.ends, marked=True, name=name)
    if item is None or any(take.arguments is None and not take.cut for take in item.takes):
        return -1
    for take in item.takes:
        yield take._replace(start=start)
    return (yield from closed(window, item.end))


def _without_method(item: Item, window: Window) -> Item:
    """Llama's built-in tools are objects: `brave_search.call(query="…")`."""
    takes = tuple(
        take._replace(name=take.name.removesuffix(".call")) if window.tools.name(take.name) is None else take
        for take in item.takes
    )
    return item._replace(takes=takes)


def _arguments(window: Window, at: int, name: str, brace: int) -> Waiting[Item | None]:
    item = yield from object_item(window, brace, window.markers.ends, marked=True, name=name)
    if item is None:
        return None
    end = item.end
    if "```" in window.text[at:brace]:
        after = yield from blank(window, end)
        end = max(end, (yield from literal(window, after, _FENCE)))
    return Item(end, tuple(take._replace(start=at) for take in item.takes))


def tagged(
    name: str,
    opens: str | tuple[str, ...],
    closes: str | tuple[str, ...] = (),
    *,
    about: str = "",
    example: str = "",
    named: bool = False,
) -> Format:
    """A format of your own: calls between markers, in any shape that is known.

    >>> tagged("mine", "<<call>>", "<</call>>").opens
    ('<<call>>',)
    """
    opening = (opens,) if isinstance(opens, str) else opens
    closing = (closes,) if isinstance(closes, str) else closes
    if not opening or not all((*opening, *closing)):
        raise ValueError(f"format {name!r}: every opening and closing word must have at least one character")
    shown = example or f'{opening[0]}{{"name": "get_weather", "arguments": {{"city": "Bern"}}}}{"".join(closing[:1])}'
    return Format(name, about, opening, read_section, shown, closing, marker=True, named=named)
