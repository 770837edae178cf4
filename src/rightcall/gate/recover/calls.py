"""A call as a program writes it: `get_weather(city="Bern", days=3)`, or with braces as Gemma does."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from rightcall.base.json.marks import RULES, is_object
from rightcall.base.json.reader import Read, Reader
from rightcall.base.json.shape import ANY, CONSTANTS, Shape
from rightcall.base.json.values import ARGUMENT, Balance
from rightcall.base.text import regex
from rightcall.errors import Unreadable
from rightcall.gate.recover.objects import NAME, Item, Lifted, edges, lift_python, object_item, typed
from rightcall.gate.recover.window import (
    Literals,
    Take,
    Waiting,
    Window,
    blank,
    bound,
    closing,
    find,
    literal,
    matched,
    search,
    skip,
)

HEAD = regex(r"[A-Za-z_][\w.]*\(")
_OWN_NOTATION = frozenset(
    {"python_call", "python_constant", "python_literal", "single_quotes", "foreign_escape", "odd_space"}
)
"""What is a repair elsewhere and simply the language here."""

_IDENTIFIER = regex(r"[A-Za-z_$][\w$.]*")
_EXPRESSIONS = frozenset({"unquoted_text", "call_value", "expression"})
"""A name, an attribute or a call where a value should stand: what it would be is not in the text."""
_NO_VALUE = "an argument must be a literal value, not an expression"

_NO_ARGUMENTS = regex(r"\(\s*\)")


def python_item(window: Window, at: int, bracket: int, closes: Literals, *, marked: bool) -> Waiting[Item | None]:
    """Read the call at `at` whose opening bracket stands at `bracket`."""
    if window.effort < 0:
        return None
    name = window.text[at:bracket]
    plain = _plain(window.text, bracket + 1, at + window.cap, window.tools.shape(name))
    if plain is not None and _IDENTIFIER.fullmatch(name):
        return Item(plain[1], (Take(at, plain[1], name, plain[0]),), "python")
    balance = Balance(bracket)
    look = bracket
    while True:
        text = window.text
        marker, limit = bound(window, at, look, closes if marked else None)
        end = balance.advance(text, limit)
        if end >= 0:
            item = _call(window, at, bracket, end)
            if item is None:
                window.effort -= 8 * (end - at)
            if item is not None or not marked:
                return item
            return (yield from _damaged(window, at, bracket, closes))
        if marker is not None and not balance.quote:
            return _lenient(window, at, bracket, limit)
        if marker is not None:
            item = _lenient(window, at, bracket, limit)
            if item is not None and item.takes[0].arguments is not None and not item.takes[0].cut:
                return item
            look = marker.end()
            continue
        too_long = len(text) >= at + window.cap
        if too_long or (window.final and not marked):
            window.effort -= min(len(text) - at, window.cap)
            return None
        if window.final:
            return _lenient(window, at, bracket, len(text))
        look = max(look, len(text) - closes.longest + 1)
        yield


def _damaged(window: Window, at: int, bracket: int, closes: Literals) -> Waiting[Item | None]:
    """The brackets close, but not where they should: the marker says where the calls end."""
    marker = yield from search(window, closes, bracket, at)
    end = marker.start() if marker is not None else min(len(window.text), at + window.cap)
    return _lenient(window, at, bracket, end)


def _call(window: Window, at: int, bracket: int, end: int) -> Item | None:
    """A call that is written as it should be, up to `end`."""
    text = window.text[at:end]
    name = text[: bracket - at]
    if _NO_ARGUMENTS.fullmatch(text, bracket - at):
        return Item(end, (Take(at, end, name, {}),), "python")
    lifted = lift_python(text)
    if lifted is None:
        return None
    try:
        read = Reader(lifted.text, window.tools.shape(name)).read(0)
    except Unreadable:
        return None
    if read.end != len(lifted.text) or read.cut or not is_object(read.value) or read.callee != name:
        return None
    if any(RULES[mark].confidence < 1 and mark not in _OWN_NOTATION for mark in read.marks):
        return None
    read = read._replace(value=lifted.restored(read.value))
    return Item(end, (_take(at, end, name, read, text),), "python")


_ARGUMENT = regex(
    r"\s*([A-Za-z_]\w*)\s*=\s*"
    r"(?:\"([^\"\\\n]*)\"|'([^'\\\n]*)'|(-?(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?)|(True|False|None|true|false|null)\b)"
    r"\s*(?:,(?!\s*\))|(\)))"
)


def _plain(text: str, at: int, limit: int, shape: Shape) -> tuple[dict[str, Any], int] | None:
    """Arguments of plain values, all of them sure, and where they end: most are like that. None where there is more to
    weigh, or not all of it is there."""
    found: dict[str, Any] = {}
    while (one := _ARGUMENT.match(text, at, limit)) is not None:
        key, double, single, number, word, last = one.groups()
        if key in found or (number is not None and shape.props.get(key, ANY).verbatim):
            return None
        if number is not None:
            found[key] = float(number) if "." in number else int(number)
        else:
            found[key] = CONSTANTS[word][0] if word is not None else double if double is not None else single
        at = one.end()
        if last is not None:
            return found, at
    return None


def _lenient(window: Window, at: int, bracket: int, end: int) -> Item | None:
    """A damaged call: the reader decides where it ends, at most at `end`."""
    text = window.text[at:end].rstrip()
    name = text[: bracket - at]
    window.effort -= 8 * len(text)
    trimmed, fault = text.removesuffix("]"), ""
    for body in dict.fromkeys((text, trimmed)):
        reader = Reader(body, window.tools.shape(name))
        try:
            read = reader.read(0)
        except Unreadable as error:
            fault = _NO_VALUE if "expression" in reader.marks else str(error)
            continue
        if _EXPRESSIONS & read.marks.keys():
            fault = _NO_VALUE
            continue
        if is_object(read.value) and read.callee == name:
            window.effort += 8 * len(text)  # not in vain
            stop = at + read.end
            return Item(stop, (_take(at, stop, name, read, body),), "python")
        fault = "its arguments have no names"
    named = fault == _NO_VALUE and ARGUMENT.match(text, bracket - at + 1)
    if not _is_tool(window, name) if window.tools.known else not named:
        return None  # any code looks like that
    return Item(end, (Take(at, end, name, None, source=text, fault=fault),), "python")


def _is_tool(window: Window, name: str) -> bool:
    """Whether a tool is called; also as Llama's built-in ones are, `brave_search.call(query="…")`."""
    return any(window.tools.name(one) is not None for one in (name, name.removesuffix(".call")))


def expression_item(window: Window, at: int, bracket: int) -> Waiting[Item | None]:
    """The refusal of a call that stands without a marker and has an expression for a value; None for any other."""
    end = yield from closing(window, bracket)
    item = _lenient(window, at, bracket, end) if end >= 0 else None
    return item if item is not None and item.takes[0].fault == _NO_VALUE else None


def _take(at: int, end: int, name: str, read: Read, text: str) -> Take:
    marks = {mark: place for mark, place in read.marks.items() if mark not in _OWN_NOTATION}
    return Take(at, end, name, read.value, marks=marks, source=text, cut=read.cut, duplicates=read.duplicates)


def arguments_follow(window: Window, at: int) -> Waiting[bool]:
    """Whether what comes after an opening bracket can be the arguments of a call: `name=`, or `)`."""
    at = yield from blank(window, at)
    while True:
        found = _FIRST.match(window.text, at)
        if found is None or found.end() < len(window.text) or window.final:
            return found is not None and found[1] is not None
        yield


_FIRST = regex(r"(?:[A-Za-z_]\w*\s*)?([=)])?")


# ── brace call ──
# A call as Gemma writes it: `call:name{city:<|"|>Bern<|"|>,days:3}`, where a word of its own stands for the quotes.

BRACE_HEAD = Literals(["call:"])
_NAME = regex(r"call:\s*([^\s{}()\[\]<>\"']+)\s*")
_QUOTES = Literals(['<|"|>', "<escape>"])
_OWN_NOTATION_BRACE = frozenset({"unquoted_key", "odd_space", "single_quotes"})
_STOP = regex(r"<\|\"\|>|<escape>|[\"{}\[\]]")
_PLAIN_STRING = regex(r"[^\"\\]*(?:\\.[^\"\\]*)*", re.S)


def brace_item(window: Window, at: int) -> Waiting[Item | None]:
    """Read the call at `at`, which begins with `call:`."""
    head = yield from matched(window, _NAME, at)
    if head is None:
        return None
    name, opening = head[1], head.end()
    if opening >= len(window.text) or window.text[opening] != "{":
        return None
    scan = _Braces(opening)
    while True:
        held = 0 if window.final else _QUOTES.held(window.text, opening)
        done = scan.advance(window.text, min(len(window.text) - held, at + window.cap))
        if done or window.final or len(window.text) >= at + window.cap:
            break
        yield
    end = scan.at if done else min(len(window.text), at + window.cap)
    if scan.inside or (not done and scan.depth > 1):
        return Item(end, (Take(at, end, name, None, cut="value", fault="it is truncated"),), "braces")
    item = _read(window, at, end, name, scan.lifted(window.text))
    if "unquoted_text" in item.takes[0].marks:
        after = yield from blank(window, end)
        if after < len(window.text) and (yield from literal(window, after, window.markers.closes)) < 0:
            return _refused(at, end, name, window.text[at:end], "text without quotes has brackets in it")
        own = {mark: place for mark, place in item.takes[0].marks.items() if mark != "unquoted_text"}
        item = item._replace(takes=(item.takes[0]._replace(marks=own),))
    return item


def _refused(at: int, end: int, name: str, body: str, fault: str) -> Item:
    return Item(end, (Take(at, end, name, None, source=body, fault=fault),), "braces")


def _read(window: Window, at: int, end: int, name: str, lifted: Lifted) -> Item:
    body = lifted.text
    if not lifted.sound:
        return _refused(at, end, name, body, "it contains a control character")
    try:
        read = Reader(body, window.tools.shape(name)).read(0)
    except Unreadable as error:
        return _refused(at, end, name, body, str(error))
    if not is_object(read.value):
        return _refused(at, end, name, body, "its arguments are not an object")
    marks = {mark: place for mark, place in read.marks.items() if mark not in _OWN_NOTATION_BRACE}
    value = lifted.restored(read.value)
    take = Take(at, end, name, value, marks=marks, source=body, cut=read.cut, duplicates=read.duplicates)
    return Item(end, (take,), "braces")


class _Braces:
    """Finds the closing brace of a growing text and, on the way, where the strings are."""

    def __init__(self, start: int) -> None:
        self.start = self.at = start
        self.depth = 0
        self.inside: str = ""
        self.opened = 0
        self.strings: list[tuple[int, int, str]] = []  # begin and end of the content, and the quote around it

    def advance(self, text: str, limit: int) -> bool:
        while self.at < limit:
            if self.inside:
                if not self._over_string(text, limit):
                    return False
                continue
            found = _STOP.search(text, self.at, limit)
            if found is None:
                self.at = limit
                return False
            self.at = found.end()
            if found[0] in "{[":
                self.depth += 1
            elif found[0] in "}]":
                self.depth -= 1
                if self.depth <= 0:
                    return True
            else:
                self.inside, self.opened = found[0], found.end()
        return False

    def _over_string(self, text: str, limit: int) -> bool:
        if self.inside == '"':
            end = _PLAIN_STRING.match(text, self.at, limit).end()  # type: ignore[union-attr]
            if end >= limit or text[end] != '"':
                self.at = end
                return False
        else:
            end = text.find(self.inside, self.at, limit)
            if end < 0:
                self.at = max(self.at, limit - len(self.inside) + 1)
                return False
        if self.inside != '"':
            self.strings.append((self.opened, end, self.inside))
        self.at = end + len(self.inside)
        self.inside = ""
        return True

    def lifted(self, text: str) -> Lifted:
        """The same without its strings, for the lenient reader."""
        lifted = Lifted()
        at = self.start
        for begin, end, quote in self.strings:
            lifted.add(text[at : begin - len(quote)])
            lifted.lift(text[begin:end])
            at = end + len(quote)
        lifted.add(text[at : self.at])
        return lifted


# ── tags ──
# A call as tags: `<function=name><parameter=key>value</parameter></function>`, `<invoke name="…">` and their kin; and
# as pairs of key and value tags.

PREFIXES = ("", "｜DSML｜", "|DSML|", "atem:", "antml:", "steptml:", "minimax:", "seed:", "ns:")
"""Name spaces in front of a tag's name."""

OPENS = (
    "<function=", "<function name=", "<functionname=", "<function_call name=", "<tool name=", "<tool_call name=",
    *(f"<{prefix}invoke name=" for prefix in PREFIXES), "<invokename=",
)  # fmt: skip
_TAGS = ("parameter", "param", "argument", "arg")
_PARAMETERS = Literals(
    f"<{prefix}{tag}{end}" for prefix in PREFIXES for tag in _TAGS for end in ("=", " name=", "name=", " key=", ">")
)
_CLOSES = Literals(
    [*(f"</{prefix}{tag}>" for prefix in PREFIXES for tag in ("invoke", "function")), "</function_call>", "</tool>"]
)
_HEAD = regex(
    r"<[^\s=<>]*?(?:function_call|tool_call|function|invoke|tool)\s*(?:name)?\s*=(?P<name>\s*\"[^\"]*\"|\s*'[^']*'|[^\s>]*)"
)
_PARAMETER = regex(
    r"<(?P<tag>[^\s=<>]*?(?:parameter|param|argument|arg))\s*(?:(?:name|key)\s*)?(?:=\s*(?P<name>\"[^\"]*\"|'[^']*'|[^\s>]*))?(?P<rest>[^>]*)>"
)
_WHOLE = regex(r"<parameter=([^\s\"'<>=]+)>([^<]*+)</parameter>\s*+(?=<parameter=|</function>)")
_STRAY = Literals(f"</{prefix}{tag}>" for prefix in PREFIXES for tag in _TAGS)
_CUT, _NO_TAG = -2, -3
_SHORT_TAG = 100
_STATED = regex(r"(string|type)\s*=\s*[\"']?(\w+)")
_CDATA_OPENS = Literals(["<![CDATA["])
_CDATA = regex(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.S)
_PLAIN = regex(r"<([A-Za-z_][\w.\-]*)>")
MOST_PARAMETERS = 1000
_HEADER = 400
_TRIES = 64


def function_item(window: Window, at: int, closes: Literals) -> Waiting[Item | None]:
    """Read the call whose opening tag begins at `at`."""
    end = yield from find(window, ">", at, _HEADER)
    head = _HEAD.match(window.text, at, end + 1) if end >= 0 else None
    if head is None or not NAME.fullmatch(name := head["name"].strip("\"' \t\n")):
        return None
    reading = _Tags(window, at, name, closes)
    return (yield from reading.read(end + 1))


class _Tags:
    """The parameters of one call, read one after the other."""

    def __init__(self, window: Window, start: int, name: str, closes: Literals) -> None:
        self.window = window
        self.start = start
        self.name = name
        self.shape = window.tools.shape(name)
        self.closes = closes
        self.found: dict[str, object] = {}
        self.at = start
        self.count = 0
        self.twice: list[str] = []

    def read(self, at: int) -> Waiting[Item | None]:
        window = self.window
        while True:
            at = yield from blank(window, at)
            if at >= len(window.text):
                return self.item(at, cut=bool(self.found) or None)
            at = self.plain_parameters(at)
            end = yield from literal(window, at, _CLOSES)
            if end >= 0:
                after = yield from blank(window, end)
                if (yield from literal(window, after, _STRAY)) >= 0:
                    return self.unreadable(end, "a value continues after the call")
                return self.item(end)
            opening = yield from literal(window, at, _PARAMETERS)
            if opening >= 0:
                begin, at = at, (yield from self.parameter(at))
                if at == _NO_TAG:
                    return self.unreadable(begin, "a tag is not closed")
                if at < 0:
                    return self.unfinished()
                self.count += 1
                if self.count > MOST_PARAMETERS:
                    return self.unreadable(at, f"it has more than {MOST_PARAMETERS} parameters")
                self.at = at
                continue
            if window.text[at] == "{" and not self.found:
                return (yield from self.json(at))
            end = yield from literal(window, at, self.closes)
            if end >= 0:
                return self.item(at)  # the section closes, and with it the call
            plain = yield from self.plain(at)
            if plain == _CUT:
                return self.unfinished()
            if plain < 0 and self.ends_with_tag(at):
                return self.item(len(window.text), cut=True) if self.found else self.unfinished()
            if plain < 0:
                return self.item(at) if self.found else self.unreadable(at)
            self.at = at = plain

    def ends_with_tag(self, at: int) -> bool:
        """Whether the text ends inside a tag that begins at `at`."""
        rest = self.window.text[at : at + _SHORT_TAG]
        return self.window.final and rest[:1] == "<" and ">" not in rest and at + _SHORT_TAG > len(self.window.text)

    def plain_parameters(self, at: int) -> int:
        """Over parameters of which all is there and nothing is odd: most are like that, and it is quick."""
        while (one := _WHOLE.match(self.window.text, at)) is not None and one[1] not in self.found:
            shape = self.shape.props.get(one[1]) or self.shape.additional or ANY
            self.found[one[1]] = typed(edges(one[2]), shape)
            self.at = at = one.end()
            self.count += 1
            if self.count > MOST_PARAMETERS:
                break
        return at

    def parameter(self, at: int) -> Waiting[int]:
        """Read one parameter; where the next thing begins, or -1 when the text ends inside it."""
        end = yield from find(self.window, ">", at, _HEADER)
        head = _PARAMETER.match(self.window.text, at, end + 1) if end >= 0 else None
        if head is None:
            return -1 if end < 0 and len(self.window.text) <= at + _HEADER else _NO_TAG
        name = (head["name"] or "").strip("\"' \t\n")
        stated = _STATED.search(head["rest"])
        return (yield from self.value(name, head["tag"], head.end(), _stated(stated)))

    def plain(self, at: int) -> Waiting[int]:
        """`<city>Bern</city>`, where the tool has an argument of that name. -1 when there is none, `_CUT` when the text
        ends inside it."""
        end = yield from find(self.window, ">", at, _SHORT_TAG)
        tag = _PLAIN.match(self.window.text, at, end + 1) if end >= 0 else None
        if tag is None or tag[1] not in self.shape.props:
            return -1
        end = yield from self.value(tag[1], tag[1], tag.end(), "")
        return end if end >= 0 else _CUT

    def value(self, name: str, tag: str, at: int, stated: str) -> Waiting[int]:
        end, resume = yield from value_end(self.window, at, f"</{tag}>", self.closes, self.shape)
        if end < 0:
            return -1
        raw = self.window.text[at:end]
        if end == resume:  # what should close it is missing: the line break before the next tag is none of the value's
            raw = raw if raw.startswith("\n") else raw.removesuffix("\n")
        if name in self.found:
            self.twice.append(name)
        unwrapped = _CDATA.fullmatch(raw)
        shape = self.shape.props.get(name) or self.shape.additional or ANY
        if name:
            self.found[name] = typed(unwrapped[1] if unwrapped else edges(raw), shape, stated)
        return resume

    def json(self, at: int) -> Waiting[Item | None]:
        """`<function=name>{"city": "Bern"}</function>`"""
        closes = Literals((*self.closes.words, *_CLOSES.words))
        item = yield from object_item(self.window, at, closes, marked=True, name=self.name)
        if item is None:
            return None
        after = yield from blank(self.window, item.end)
        end = yield from literal(self.window, after, _CLOSES)
        return Item(
            end if end >= 0 else item.end, tuple(take._replace(start=self.start) for take in item.takes), "tags"
        )

    def item(self, end: int, cut: bool | None = False) -> Item:
        if cut is None:  # nothing but the name, and then the text ends
            return self.unfinished()
        take = Take(self.start, end, self.name, self.found, cut="closers" if cut else "")
        return Item(
            end, (take._replace(marks={"cut_closers": 0} if cut else {}, duplicates=tuple(self.twice)),), "tags"
        )

    def unfinished(self) -> Item:
        end = min(len(self.window.text), self.at + self.window.cap)
        return Item(end, (Take(self.start, end, self.name, None, cut="value", fault="it is truncated"),), "tags")

    def unreadable(self, end: int, fault: str = "it has no parameters that could be read") -> Item:
        return Item(end, (Take(self.start, end, self.name, None, fault=fault),), "tags")


def _stated(found: re.Match[str] | None) -> str:
    """What the markup says of a value's type: `string="false"`, `type="number"`."""
    if found is None:
        return ""
    if found[1] == "string":
        return "string" if found[2] == "true" else "json"
    return "string" if found[2] in ("string", "str") else "json"


def value_end(window: Window, at: int, close: str, closes: Literals, shape: Shape) -> Waiting[tuple[int, int]]:
    """Where a value ends and what follows it begins; (-1, -1) when the text ends inside it.

    A value may contain its own closing tag: the one that counts is followed by markup of the call, or by the end. A
    closing tag may be missing: then the next parameter or the end of the call closes the value.
    """
    look = yield from _after_cdata(window, at)
    marks = _ends(close)
    inside = False
    for _ in range(_TRIES):
        found = yield from search(window, marks, look, at)
        if found is None:
            return -1, -1
        if found[0] == close:
            if (yield from _markup_follows(window, found.end(), closes, shape)):
                return found.start(), found.end()
            inside = True
        elif not inside and (yield from _ends_here(window, found, at, closes, shape)):
            return found.start(), found.start()
        look = found.end()
    return -1, -1


def _markup_follows(window: Window, at: int, closes: Literals, shape: Shape) -> Waiting[bool]:
    """Whether the call goes on or ends at `at`: another parameter, what closes the call or its section, the end."""
    after = yield from blank(window, at)
    if after >= len(window.text):
        return True
    for words in (_PARAMETERS, _CLOSES, closes, window.markers.opens):
        if (yield from literal(window, after, words)) >= 0:
            return True
    if window.text[after] != "<":
        return False
    end = yield from find(window, ">", after, 100)
    tag = _PLAIN.match(window.text, after, end + 1) if end >= 0 else None
    return tag is not None and tag[1] in shape.props


def _after_cdata(window: Window, at: int) -> Waiting[int]:
    """Where to begin to look for the closing tag: what is marked as text holds no tags."""
    begin = yield from blank(window, at)
    if (yield from literal(window, begin, _CDATA_OPENS)) < 0:
        return at
    end = yield from find(window, "]]>", begin)
    return end if end >= 0 else at


@lru_cache(maxsize=512)  # plain tags are named by the tool's arguments
def _ends(close: str) -> Literals:
    """What may end a value: its closing tag, the next parameter, or what closes the call."""
    tag = close[2:-1]
    opening = (f"<{tag}=", f"<{tag} name=") if tag.endswith(_TAGS) else ()
    return Literals((close, *opening, *_CLOSES.words))


def _ends_here(window: Window, found: re.Match[str], at: int, closes: Literals, shape: Shape) -> Waiting[bool]:
    """Whether a tag inside a value that was never closed really ends it: what closes the call, where markup follows;
    what opens a parameter, where it begins a line or follows a tag, and the tool has such a parameter."""
    if found[0].startswith("</"):
        return (yield from _markup_follows(window, found.end(), closes, ANY))
    before = window.text[found.start() - 1] if found.start() > at else "\n"
    end = yield from find(window, ">", found.start(), _HEADER)
    head = _PARAMETER.match(window.text, found.start(), end + 1) if end >= 0 else None
    known = head is not None and (not shape.props or (head["name"] or "").strip("\"' \t\n") in shape.props)
    return known and before in "\n>"


# ── key pairs ──
# A call as pairs of tags: `name<arg_key>city</arg_key><arg_value>Bern</arg_value>` (GLM and its kin).

KEYS = ("<arg_key>", "<longcat_arg_key>", "<arg_key:opensource>")
_KEYS = Literals(KEYS)
_BETWEEN = Literals(["\\n", "<tool_sep>", "<tool_sep:opensource>"])
"""White space that was escaped once too often, and a separator of some of these formats."""
_LONGEST_KEY = 400


class _Dialect:
    """The tags of one dialect, told by how it writes a key."""

    def __init__(self, key: str) -> None:
        self.key_ends = f"</{key[1:]}"
        value = key.replace("arg_key", "arg_value")
        self.value = Literals([value])
        self.value_ends = f"</{value[1:]}"
        self.closing = Literals([self.value_ends])
        self.ends = Literals([self.value_ends, key, "</tool_call>", "</longcat_tool_call>", "</tool_call:opensource>"])


_DIALECTS = {key: _Dialect(key) for key in KEYS}


def pairs_item(window: Window, start: int, name: str, at: int, closes: Literals) -> Waiting[Item | None]:
    """Read the pairs from `at` on; the call's name stands from `start`."""
    shape = window.tools.shape(name)
    found: dict[str, object] = {}
    twice: list[str] = []
    count = 0
    while True:
        at = yield from skip(window, at, _BETWEEN)
        opening = yield from literal(window, at, _KEYS)
        if opening < 0:
            break
        count += 1
        if count > MOST_PARAMETERS:
            fault = f"it has more than {MOST_PARAMETERS} parameters"
            return Item(at, (Take(start, at, name, None, fault=fault),), "pairs")
        tags = _DIALECTS[window.text[at:opening]]
        key_end = yield from find(window, tags.key_ends, opening, _LONGEST_KEY)
        if key_end < 0:
            return _cut(window, start, name, opening, _LONGEST_KEY)
        key = window.text[opening:key_end].strip()
        at = yield from skip(window, key_end + len(tags.key_ends), _BETWEEN)
        value = yield from literal(window, at, tags.value)
        if value < 0 and (
            (yield from literal(window, at, closes)) >= 0 or (yield from literal(window, at, _KEYS)) >= 0
        ):
            continue  # a key without a value
        value = at if value < 0 else value
        end, resume = yield from _value_end(window, value, tags, closes)
        if end < 0:
            return _cut(window, start, name, value, window.cap)
        if key in found:
            twice.append(key)
        raw = window.text[value:end]
        if end == resume:  # what should close it is missing: the line break before the next tag is none of the value's
            raw = raw.removesuffix("\n")
        found[key] = typed(edges(raw), shape.props.get(key) or shape.additional or ANY)
        at = resume
    rest = window.text[at:]
    cut = not rest or (
        window.final and len(rest) <= _KEYS.longest and (rest in _KEYS.prefixes or rest in closes.prefixes)
    )
    take = Take(start, at, name, found, cut="closers" if cut else "", marks={"cut_closers": 0} if cut else {})
    return Item(at, (take._replace(duplicates=tuple(twice)),), "pairs")


def _value_end(window: Window, at: int, tags: _Dialect, closes: Literals) -> Waiting[tuple[int, int]]:
    """Where the value ends and what follows begins. A tag that closes counts when another or the end follows."""
    look, inside = at, False
    for _ in range(_TRIES):
        found = yield from search(window, tags.ends, look, at)
        if found is None:
            return -1, -1
        if found[0] in KEYS:
            if not inside and (yield from _opens_pair(window, found.end(), tags)):
                return found.start(), found.start()
        else:
            after = yield from skip(window, found.end(), _BETWEEN)
            if (yield from _pair_ends(window, after, found[0] == tags.value_ends, tags, closes)):
                return found.start(), found.end() if found[0] == tags.value_ends else found.start()
            inside = inside or found[0] == tags.value_ends
        look = found.end()
    return -1, -1


def _pair_ends(window: Window, at: int, closed: bool, tags: _Dialect, closes: Literals) -> Waiting[bool]:
    """Whether markup of the call follows at `at`: the next key, what closes the call, the next one, or the end."""
    if at >= len(window.text):
        return True
    if not closed and (yield from literal(window, at, tags.closing)) >= 0:
        return False
    for words in (_KEYS, closes, window.markers.opens):
        if (yield from literal(window, at, words)) >= 0:
            return True
    return False


def _opens_pair(window: Window, at: int, tags: _Dialect) -> Waiting[bool]:
    """Whether a key inside a value that was never closed is the next key: a value tag follows it."""
    end = yield from find(window, tags.key_ends, at, _LONGEST_KEY)
    if end < 0:
        return False
    after = yield from skip(window, end + len(tags.key_ends), _BETWEEN)
    return (yield from literal(window, after, tags.value)) >= 0


def _cut(window: Window, start: int, name: str, at: int, reach: int) -> Item:
    end = min(len(window.text), at + reach)
    return Item(end, (Take(start, end, name, None, cut="value", fault="it is truncated"),), "pairs")
