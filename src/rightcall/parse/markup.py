"""Arguments written as tags: `<parameter name="city">Bern</parameter>`, `<parameter=city>`, `<city>`, or pairs."""

from __future__ import annotations

import re
from typing import Any

from rightcall.errors import Unreadable
from rightcall.parse.cursor import Cut
from rightcall.parse.late import Late
from rightcall.parse.reader import Read
from rightcall.parse.shape import ANY, Shape
from rightcall.parse.strict import NO_JSON, attempt, duplicate_keys

_NAMED = Late(
    r"<(?P<tag>parameter|param|arg|argument)(?:\s+name\s*=\s*[\"']?(?P<name>[^\"'>]+?)[\"']?|\s*=\s*[\"']?(?P<direct>[^\"'>]+?)[\"']?)"
    r"(?:\s+(?:type|string)\s*=\s*[\"']?\w+[\"']?)?\s*>"
)
_PAIR = Late(r"<arg_key>\s*(?P<name>.*?)\s*</arg_key>\s*<(?P<tag>arg_value)>", re.S)
_PLAIN = Late(r"<(?P<tag>[A-Za-z_][\w.\-]*)>")
_WRAPPER = Late(r"\s*(?:</?(?:parameters|arguments|args|params|invoke|function|tool_call|input)[^<>]*>\s*)*")
_STARTS = Late(r"\s*(?:<(?:parameters|arguments|args|params|input)>\s*)?<(?:parameter|param|arg|argument|arg_key)\b")


def looks_like_markup(text: str, shape: Shape) -> bool:
    """Whether a text begins with parameter tags, or with a tag that is the name of one of the shape's keys."""
    if _STARTS.match(text):
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
