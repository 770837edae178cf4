"""The text between two tags, as the value it stands for: the schema decides, then what the markup says of itself."""

from __future__ import annotations

from typing import Any

from rightcall.errors import Unreadable
from rightcall.parse.find import read_value
from rightcall.parse.kinds import json_type
from rightcall.parse.marks import RULES
from rightcall.parse.shape import CONTAINERS, NUMERIC, Shape
from rightcall.parse.strict import NO_JSON, attempt

_TEXT = frozenset({"string"})
_CERTAIN = 0.9
_WORDS = {"true": True, "false": False}


def edges(raw: str) -> str:
    """A value between newlines: one at each end belongs to the markup, everything else to the value.

    >>> edges("\\n  indented\\n")
    '  indented'
    """
    return raw[1:-1] if len(raw) > 1 and raw[0] == raw[-1] == "\n" else raw


def typed(raw: str, shape: Shape, stated: str = "") -> Any:
    """`raw` as the type the schema declares, else as the markup states (`string`, `json`), else as it is."""
    types = shape.types
    if types == _TEXT:
        return raw
    if not types and shape.enum is not None:
        types = frozenset(json_type(choice) for choice in shape.enum)
    if not types:
        return raw if stated in ("", "string") else _stated(raw)
    bare = raw.strip()
    if "null" in types and bare in ("null", "None"):  # some templates write Python's word
        return None
    if types <= {"string", "null"}:
        return raw
    if "boolean" in types and bare.lower() in _WORDS:
        return _WORDS[bare.lower()]
    value = _number(bare) if types & NUMERIC else NO_JSON
    if value is NO_JSON and types & CONTAINERS and bare[:1] in ("{", "[", "(", "<", "\\", '"'):
        value = _container(bare, shape)
    if value is NO_JSON:
        return raw if "string" in types or not stated else _fitting(raw, types)
    return value


def _stated(raw: str) -> Any:
    value = attempt(raw.strip())
    if value is NO_JSON and raw.strip() in ("True", "False", "None"):
        return {"True": True, "False": False, "None": None}[raw.strip()]
    return raw if value is NO_JSON else value


def _fitting(raw: str, types: frozenset[str]) -> Any:
    value = _stated(raw)
    return value if json_type(value) in types else raw


def _number(bare: str) -> Any:
    value = attempt(bare)
    return value if type(value) in (int, float) else NO_JSON


def _container(bare: str, shape: Shape) -> Any:
    """Only where one reading is certain: else the text stays, and the gate repairs it or says what is wrong."""
    try:
        read = read_value(bare, shape)
    except Unreadable:
        return NO_JSON
    certain = not read.cut and not read.duplicates and all(RULES[mark].confidence >= _CERTAIN for mark in read.marks)
    return read.value if certain and json_type(read.value) in shape.types else NO_JSON
