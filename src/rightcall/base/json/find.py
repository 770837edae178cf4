"""From a text to the value it was meant to be: strictly where it is JSON, else leniently, also amid prose."""

from __future__ import annotations

import re
from typing import Any

from rightcall.base.json.marks import is_list, is_object
from rightcall.base.json.reader import MAX_DEPTH, Read, Reader
from rightcall.base.json.shape import ANY, CONTAINERS, Shape, loses_digits
from rightcall.base.json.strict import NO_JSON, attempt, duplicate_keys
from rightcall.base.json.values import FENCE, Cut
from rightcall.base.text import regex
from rightcall.errors import Unreadable

# ── markup ──
# Arguments written as tags: `<parameter name="city">Bern</parameter>`, `<parameter=city>`, `<city>`, or pairs.

_NAMED = regex(
    r"<(?P<tag>parameter|param|arg|argument)(?:\s+name\s*=\s*[\"']?(?P<name>[^\"'>]+?)[\"']?|\s*=\s*[\"']?(?P<direct>[^\"'>]+?)[\"']?)"
    r"(?:\s+(?:type|string)\s*=\s*[\"']?\w+[\"']?)?\s*>"
)
_PAIR = regex(r"<arg_key>\s*(?P<name>.*?)\s*</arg_key>\s*<(?P<tag>arg_value)>", re.S)
_PLAIN = regex(r"<(?P<tag>[A-Za-z_][\w.\-]*)>")
_WRAPPER = regex(r"\s*(?:</?(?:parameters|arguments|args|params|invoke|function|tool_call|input)[^<>]*>\s*)*")
_STARTS_MARKUP = regex(
    r"\s*(?:<(?:parameters|arguments|args|params|input)>\s*)?<(?:parameter|param|arg|argument|arg_key)\b"
)


def looks_like_markup(text: str, shape: Shape) -> bool:
    """Whether a text begins with parameter tags, or with a tag that is the name of one of the shape's keys."""
    if _STARTS_MARKUP.match(text):
        return True
    plain = _PLAIN.match(text.lstrip())
    return plain is not None and plain["tag"] in shape.props


def read_markup(text: str, shape: Shape) -> Read:
    """The tags as an object. What is declared as text stays verbatim, the rest is read as JSON where it is JSON."""
    found: dict[str, Any] = {}
    duplicates: list[str] = []
    marks = {"markup": 0}
    cut: Cut = ""
    at = _WRAPPER.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        opening = _NAMED.match(text, at) or _PAIR.match(text, at) or _plain(text, at, shape)
        if opening is None:
            break
        groups = opening.groupdict()
        name = (groups.get("name") or groups.get("direct") or groups["tag"]).strip()
        end, resume = _value_end(text, opening.end(), groups["tag"])
        if end < 0:
            cut, end, resume = "value", len(text), len(text)
            marks["cut_value"] = end
        if name in found:
            duplicates.append(name)
        raw = text[opening.end() : end]
        if _NAMED.search(raw):
            raise Unreadable(f"a tag opens inside the value of {name!r:.80}", opening.end())
        found[name] = _typed(raw, shape.props.get(name, ANY))
        if type(found[name]) in (dict, list):
            duplicates.extend(f"{name}.{key}" for key in duplicate_keys(raw, found[name]))
        at = _WRAPPER.match(text, resume).end()  # type: ignore[union-attr]
    if not found:
        raise Unreadable("there are no parameter tags", 0)
    rest = text[at:].strip()
    if rest.startswith("<"):
        cut = "value"  # a tag that never ended, or one that nobody knows
        marks["cut_value"] = at
    elif rest:
        marks["prose"] = at
    return Read(found, at, marks, cut, tuple(duplicates))


def _plain(text: str, at: int, shape: Shape) -> re.Match[str] | None:
    match = _PLAIN.match(text, at)
    return match if match is not None and match["tag"] in shape.props else None


def _value_end(text: str, start: int, tag: str) -> tuple[int, int]:
    """The closing tag: the first one that another tag or the end of the text follows, so a value may contain it."""
    closing = f"</{tag}>"
    first = at = text.find(closing, start)
    for _ in range(64):
        if at < 0:
            break
        resume = at + len(closing)
        after = text[resume : resume + 400].lstrip()
        if not after or after.startswith("<"):
            return at, resume
        at = text.find(closing, resume)
    return first, first + len(closing)


def _typed(raw: str, shape: Shape) -> Any:
    if raw.startswith("\n") and raw.endswith("\n") and len(raw) > 1:
        raw = raw[1:-1]
    if shape.verbatim or (not shape.types and shape.enum is None):
        return raw
    value = attempt(raw.strip())
    return raw if value is NO_JSON else value


_STARTS = re.compile(
    r"[\[{(\"'“”‘’„`´«「\-+.\d]|(?:true|false|null|True|False|None|NaN|Infinity|undefined)\b|[A-Za-z_$][\w$.]*\s*\("
)
_LEFTOVER = re.compile(r"[\s,;)}\]`]*")
_CONTAINER = regex(r"[{\[]")
_ESCAPED = regex(r"\s*(?:[\[{]\s*)*\\+[\"']")
_ESCAPE = regex(r"\\([\"'\\/])")
_AROUND = "\ufeff \t\r\n\x00"
_STRUCTURE = regex(r"[\"{}\[\]]")
_BETWEEN = regex(r"[\s,;]*")
_MOST_CANDIDATES = 16
_FIRST_QUOTE = regex(r"['‘’`“”„]")
_NESTED_QUOTES = regex("“[^”]*[“„‟]|”[^“]*[”„‟]")
_TYPOGRAPHIC = str.maketrans("“”", '""')


def read_value(text: str, shape: Shape = ANY, *, max_depth: int = MAX_DEPTH) -> Read:
    """Read the value a text holds. Raises `Unreadable` where no reading is likely."""
    value = attempt(text)
    if value is NO_JSON or loses_digits(value, shape):
        return read_lenient(text, shape, max_depth=max_depth)
    if _wants_inner(value, shape):
        return _inner(value, shape, max_depth)._replace(end=len(text))
    return Read(value, len(text), {}, "", duplicate_keys(text, value))


def read_lenient(text: str, shape: Shape = ANY, *, max_depth: int = MAX_DEPTH) -> Read:
    """As `read_value`, for a text that is known not to be JSON."""
    body = text.lstrip(_AROUND)
    lead = len(text) - len(body)
    body = body.rstrip(_AROUND)
    if not body:
        raise Unreadable("the text is empty", 0)
    try:
        read = _read_body(body, shape, max_depth)
    except Unreadable as error:
        error.position += lead
        raise
    if not read.marks:
        read.marks["odd_space"] = 0  # nothing else was amiss
    if lead == 0:
        return read
    return read._replace(end=read.end + lead, marks={rule: at + lead for rule, at in read.marks.items()})


def _read_body(body: str, shape: Shape, max_depth: int) -> Read:
    first = None if '"' in body or body.isascii() or body[0] == "<" else _FIRST_QUOTE.search(body)
    if first is not None and first[0] == "“" and not _NESTED_QUOTES.search(body):
        plain = _read_body(body.translate(_TYPOGRAPHIC), shape, max_depth)
        return plain._replace(marks={"other_quotes": 0, **plain.marks})
    if "&quot;" in body and '"' not in body:
        from html import unescape  # late: few texts need it

        plain = _read_body(unescape(body), shape, max_depth)
        return plain._replace(end=len(body), marks={"escaped_text": 0, **plain.marks})
    if body[0] == "<" and looks_like_markup(body, shape):
        return read_markup(body, shape)
    if _ESCAPED.match(body):
        return _unescaped(body, shape, max_depth)
    found = _at_start(body, shape, max_depth) or _amid_prose(body, shape, max_depth)
    if found is None:
        return _bare(body, shape)
    if _wants_inner(found.value, shape):
        inner = _inner(found.value, shape, max_depth)
        return inner._replace(end=found.end, marks={**found.marks, **inner.marks})
    return found


def _wants_inner(value: Any, shape: Shape) -> bool:
    """A string where only an object or a list may stand is JSON that was encoded twice."""
    return isinstance(value, str) and bool(shape.types) and shape.types <= (CONTAINERS | {"null"})


def _inner(value: str, shape: Shape, max_depth: int) -> Read:
    read = read_value(value, shape, max_depth=max_depth) if value.lstrip()[:1] in tuple("{[\"<('") else None
    if read is None or isinstance(read.value, str):
        raise Unreadable("the text holds a string where an object is due", 0)
    return read._replace(marks={"double_encoded": 0, **read.marks})


def _unescaped(body: str, shape: Shape, max_depth: int) -> Read:
    """`{\\"a\\": 1}` and `{\\'a\\': 1}`: the text was written inside a string, and the string's own quotes are gone."""
    plain = _ESCAPE.sub(r"\1", body)
    if plain == body:
        raise Unreadable("expected a value, got a backslash", 0)
    read = read_value(plain, shape, max_depth=max_depth)
    dropped = sum(match.start() - nth < read.end for nth, match in enumerate(_ESCAPE.finditer(body)))
    rule = "escaped_quotes" if _ESCAPED.match(body)[0].endswith("'") else "escaped_text"  # type: ignore[index]
    return read._replace(end=read.end + dropped, marks={rule: 0, **read.marks})


def _at_start(body: str, shape: Shape, max_depth: int) -> Read | None:
    """The text begins with a value, perhaps behind a comment, and nothing but leftovers comes after it."""
    reader = Reader(body, shape, max_depth=max_depth)
    start = reader.skip(0)
    if not _STARTS.match(body, start) or body.startswith("```", start):
        return None
    try:
        read = reader.read(start)
    except Unreadable:
        if body[start] in "{[":
            raise
        return None
    rest = _LEFTOVER.match(body, read.end).end()  # type: ignore[union-attr]
    if rest >= len(body):
        if any(char in "}])" for char in body[read.end : rest]):
            read.marks.setdefault("surplus_closer", read.end)
        return _not_empty(read, body)
    if body[start] in "{[":
        return _several(body, read, shape, max_depth)
    return None


def _not_empty(read: Read, body: str) -> Read | None:
    """A lone quote is no string."""
    return None if read.value == "" and read.cut and len(body) < 3 else read


def _amid_prose(body: str, shape: Shape, max_depth: int) -> Read | None:
    """The first value in a fence, else the first container in the prose that is one."""
    attempts = _Attempts(body, shape, max_depth)
    for fence in list(FENCE.finditer(body))[:_MOST_CANDIDATES]:
        start = len(body) - len(body[fence.end() :].lstrip())
        if start < len(body) and body[start] in "{[(":
            read = _fenced(body, start, shape) or attempts.at(start)
            if read is not None:
                read.marks["fence"] = fence.start()
                if body[: fence.start()].strip() or body[read.end :].strip("`~ \r\n\t,;"):
                    read.marks["prose"] = 0
                return _several(body, read, shape, max_depth) if "prose" in read.marks else read
    best: Read | None = None
    at = 0
    for _ in range(_MOST_CANDIDATES):
        match = _CONTAINER.search(body, at)
        if match is None:
            break
        read = attempts.at(match.start())
        if read is not None and _plausible(read.value, body[match.start() : read.end], shape):
            read.marks["prose"] = match.start()
            return _several(body, read, shape, max_depth)
        at = match.start() + 1 if read is None or read.cut else read.end
        best = best or read
    wanted = best is not None and bool(shape.types) and _fits(best.value, shape)
    return best if wanted and best is not None and not best.cut and best.value else None


def _fenced(body: str, start: int, shape: Shape) -> Read | None:
    """What a fence holds, if that is strict JSON up to the closing fence."""
    end = body.find("\n```", start)
    value = attempt(body[start:end]) if end > 0 else NO_JSON
    if value is NO_JSON or loses_digits(value, shape):
        return None
    return Read(value, end, {}, "", duplicate_keys(body[start:end], value))


class _Attempts:
    """Attempts to read a value at one place after the other, with one effort for all of them together."""

    def __init__(self, body: str, shape: Shape, max_depth: int) -> None:
        self.body = body
        self.shape = shape
        self.max_depth = max_depth
        self.spent = Reader(body, shape, max_depth=max_depth)

    def at(self, start: int) -> Read | None:
        reader = Reader(self.body, self.shape, max_depth=self.max_depth)
        reader.effort, reader.patience = self.spent.effort, self.spent.patience
        self.spent = reader
        try:
            return reader.read(start)
        except Unreadable:
            return None


def _plausible(value: Any, source: str, shape: Shape) -> bool:
    """`{"a": 1}` amid prose is a value; `[1]` and `{name}` usually are not."""
    if is_object(value):
        return (bool(value) or source == "{}") and bool(not shape.types or shape.types & CONTAINERS)
    if source.startswith("{"):
        return False
    return bool(value) and _fits(value, shape) and ("{" in source or '"' in source or "," in source)


def _fits(value: Any, shape: Shape) -> bool:
    return shape.allows("object" if is_object(value) else "array")


def _several(body: str, first: Read, shape: Shape, max_depth: int) -> Read:
    """More containers after the first: a list of them where a list is wanted or nothing else is known."""
    values, at, apart = [first.value], first.end, False
    attempts = _Attempts(body, shape, max_depth)
    for _ in range(_MOST_CANDIDATES * 64):
        match = _CONTAINER.search(body, at)
        if match is None:
            break
        read = attempts.at(match.start())
        if read is None or not _plausible(read.value, body[match.start() : read.end], ANY):
            at = match.start() + 1 if read is None else max(read.end, match.start() + 1)
            continue
        apart = apart or _BETWEEN.match(body, at).end() < match.start()  # type: ignore[union-attr]
        values.append(read.value)
        at = read.end
    if len(values) == 1:
        rest = body[first.end :].strip(" \t\r\n`,;)}]")
        if rest:
            first.marks.setdefault("prose", first.end)
        if _STRUCTURE.search(rest.partition("\n")[0]) and not body.startswith("\n", first.end):
            first.marks["doubtful_rest"] = first.end
        return first
    first.marks["several_values"] = first.end
    if shape.types and not shape.allows("array"):
        return first
    wanted = shape.allows("array") and shape.items is not None
    if wanted and is_list(first.value):
        return first
    return Read(values, at, first.marks, first.cut, first.duplicates)


def _bare(body: str, shape: Shape) -> Read:
    """No quotes, no brackets: the text is the value where text, a word or a number is declared."""
    if not shape.types or shape.types <= (CONTAINERS | {"null"}) or not any(char.isalnum() for char in body):
        raise Unreadable("the text holds no value", 0)
    return Read(body, len(body), {"bare_text": 0}, "", ())
