"""RC406 and RC310 once more: values that the text of an argument shows, and that its own schema refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, cast

from rightcall.catalog.tidy import Schema, as_list, as_schema
from rightcall.gate.repair.words import singular, words_of
from rightcall.lint.choices import QUOTED
from rightcall.lint.definitions import TYPES, Argument, ToolView, effective
from rightcall.lint.evident import MOST_TEXT
from rightcall.lint.findings import Hit, join_names, quote_name, quote_text, word_set
from rightcall.lint.forms import fits_format
from rightcall.lint.schemas import fits_schema

_MARK = r"(?:\be\.?g\.?,?|\bfor (?:example|instance)\b,?|\bexamples?\s?:|\bsuch as\b|\blike(?= [`'\"]))"
_BARE = r"[^\s,;()'\"`\[\]{}<>]{1,60}"
_AND = r"(?:,\s*(?:or |and )?|\s+(?:or|and)\s+|\s*/\s*)"
_SHOWN: Final = re.compile(
    rf"{_MARK}\s*[:=]?\s*(?:(?P<quoted>{QUOTED}(?:{_AND}{QUOTED}){{0,5}})|(?P<bare>{_BARE}))"
    r"(?=\s*(?:[,;)\]\n]|\.(?:\s|$)|$))",
    re.IGNORECASE,
)
_PLACEHOLDER: Final = re.compile(r"<[^<>@]*>|[{}\[\]…*]|\.\.\.|YYYY|HH|x{3}|#{2}|\s{2}", re.IGNORECASE)
_LIMITS: Final = word_set(
    "enum pattern format minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength multipleOf const"
)
_NO_VALUE: Final = word_set(
    "it this that them one these those only all none any both either caution care sparingly true false null default "
    "with the a an your when if for tool tools value values other another search filter filters same what which no not"
)

_DEFAULTED: Final = re.compile(rf"\bdefaults? (?:to|is|value is) ({QUOTED})", re.IGNORECASE)


def find_shown(argument: Argument, text: str) -> Iterator[Hit]:
    schema = argument.item if argument.kind == "array" else argument.schema
    limits = {key: schema[key] for key in (*_LIMITS, "type") if key in schema}
    if not limits.keys() & _LIMITS or "anyOf" in argument.part or "oneOf" in argument.part:
        return
    listed = [str(one) for one in as_list(schema.get("enum"))]
    values = [
        one
        for found in _SHOWN.finditer(text)
        if not any(re.search(rf"\b{re.escape(value)}\b", text[: found.start()]) for value in listed)  # of one choice
        and not _is_of_others(argument, text[: found.start()])
        for one in _values(found, argument.kind, limits)
    ]
    wrong = next((one for one in values if not _fits(one, limits)), None)
    if wrong is not None:
        yield Hit(
            "RC406",
            f"the text of {quote_name(argument.name)} shows {quote_text(str(wrong))}, which the schema refuses",
            "show a value that the schema takes, or correct the schema",
            argument.path,
        )
        return
    told = next((one[1][1:-1] for one in _DEFAULTED.finditer(text)), "") if listed else ""
    if told and told.lower() not in {one.lower() for one in listed} | {"null", "none", "all", ""}:
        yield Hit(
            "RC310",
            f"the text of {quote_name(argument.name)} gives the default {quote_text(told)}, which `enum` does not have",
            "make them the same",
            argument.path,
        )


_OF_OTHERS: Final = re.compile(r"\b(?:for|by|with|in|on) (?:[\w-]+ ){0,3}([a-z]{2,}s) ?\($")


def _is_of_others(argument: Argument, before: str) -> bool:
    """Whether an example is one of other things, which the text names before it: `for interval series (e.g. ohlcv)`."""
    found = _OF_OTHERS.search(before)
    return found is not None and singular(found[1]) not in map(singular, words_of(argument.name))


def _values(found: re.Match[str], kind: str, limits: Schema) -> Iterator[Any]:
    """The values that stand behind a mark, as the argument would have them."""
    quoted = found["quoted"]
    told = [one[1:-1] for one in re.findall(QUOTED, quoted)] if quoted else [found["bare"].rstrip(".:")]
    for one in told:
        if not one or _PLACEHOLDER.search(one):
            continue
        if limits.get("type") in ("integer", "number"):
            if re.fullmatch(r"-?\d{1,12}(?:\.\d{1,6})?", one):
                yield float(one) if "." in one else int(one)
        elif limits.get("type") == "string" and kind in ("string", "array"):
            plain = re.fullmatch(r"[a-z][\w-]*", one) is not None
            if quoted or re.search(r"[\d@]", one) or ("enum" in limits and plain and one.lower() not in _NO_VALUE):
                yield one


def _fits(value: Any, limits: Schema) -> bool:
    """Whether a schema takes a value. Of choices, the case of the letters is no matter here."""
    listed = as_list(limits.get("enum"))
    if listed and isinstance(value, str):
        return value.lower() in {str(one).lower() for one in listed}
    form = limits.get("format")
    formed = not isinstance(value, str) or form not in _FORMS or fits_format(value, form)
    return formed and fits_schema(value, limits, {})


_FORMS: Final = word_set("date date-time email uri uuid ipv4")


# ── objects and lists ──

_MOST_SHOWN = 6
_NOT_ITS_OWN: Final = re.compile(
    r"\b(?:returns?|returned|results?|responses?|outputs?|produces?|becomes?|stored as|not|never|instead of|wrong|"
    r"invalid|old|legacy|deprecated|header|body)\b[^.\n]{0,60}$",
    re.IGNORECASE,
)
"""What comes back, or what is not to be written."""
_IS_CALL: Final = re.compile(
    r"(?:\b(?:example|sample|typical|minimal) (?:call|input|arguments?|request|usage|payload)|\b(?:call|called|use|"
    r"invoke)(?: it| this| this tool)? with|\barguments|\binput|\busage)[^\w{}\[\]]{0,8}(?:json\s{0,4})?$",
    re.IGNORECASE,
)
_TO_JSON: Final = (("'", '"'), ("True", "true"), ("False", "false"), ("None", "null"))


def _is_item(value: Any, schema: Schema) -> bool:
    """Whether an object may be one of a list inside, of which any object may be an item."""
    lists = [as_schema(as_schema(one).get("items")) for one in as_schema(schema.get("properties")).values()]
    return isinstance(value, dict) and any(one.get("type") == "object" and "properties" not in one for one in lists)


def find_shown_parts(argument: Argument, text: str, tool: ToolView) -> Iterator[Hit]:
    """The first object or list in the text of an argument that its schema refuses: `[{"item": "egg"}]`, where an item
    has a `name`."""
    if argument.kind not in ("array", "object") or ("{" not in text and "[" not in text):
        return
    root = tool.schema or {}
    for value, before in _literals(text[:MOST_TEXT]):
        if not _is_of_kind(value, argument, root) or _NOT_ITS_OWN.search(before):
            continue
        whole = isinstance(value, dict) and value.keys() <= {*argument.siblings}
        wrong = "" if whole or _is_item(value, argument.schema) else _wrong_part(value, argument.schema, root)
        if wrong:
            yield Hit(
                "RC406",
                f"the text of {quote_name(argument.name)} shows {wrong}",
                "show a value that the schema takes, or correct the schema",
                argument.path,
            )
            return


def find_shown_call(tool: ToolView) -> Iterator[Hit]:
    """A call in the description of the tool that passes an argument a value which its schema refuses."""
    known = {one.name: one for one in tool.top}
    root = tool.schema or {}
    for value, before in _literals(tool.description[:MOST_TEXT]):
        call = as_schema(value)
        named = call.get("name") == tool.name and isinstance(call.get("arguments"), dict)
        call = as_schema(call["arguments"]) if named else call
        of_tool = before.endswith(f"{tool.name}(") or _IS_CALL.search(before) is not None
        if not call or not call.keys() <= known.keys() or not of_tool or _NOT_ITS_OWN.search(before):
            continue
        for name, one in call.items():
            wrong = _wrong_part(one, known[name].schema, root)
            if wrong:
                told = f"a call in the text gives {quote_name(name)} {wrong}"
                yield Hit("RC406", told, "correct the call, or the schema", tool.at("description"))
                return


def _literals(text: str) -> Iterator[tuple[Any, str]]:
    """The objects and lists that a text writes as JSON or as Python does, each with the words before it."""
    decoder = json.JSONDecoder()
    at, shown = 0, 0
    while shown < _MOST_SHOWN and (found := _OPENS.search(text, at)) is not None:
        at, shown = found.end(), shown + 1
        piece = text[found.start() : found.start() + _LONGEST]
        for written in (piece, _as_json(piece)):
            try:
                value, length = decoder.raw_decode(written)
            except (ValueError, RecursionError):
                continue
            at = found.start() + length
            yield value, text[max(0, found.start() - _BEFORE) : found.start()].rsplit("\n", 1)[-1].rstrip("`'\" ")
            break


def _as_json(piece: str) -> str:
    for python, plain in _TO_JSON:
        piece = piece.replace(python, plain)
    return re.sub(r"([{,]\s?)([A-Za-z_]\w{0,40})(\s?:)", r'\1"\2"\3', piece)


_OPENS: Final = re.compile(r"[{\[](?=\s*[{\[\"'\w-])")
_LONGEST: Final = 2_000
_BEFORE: Final = 120


def _is_of_kind(value: Any, argument: Argument, root: Schema) -> bool:
    """Whether a value is written for the argument: a list, or one item of it that is an object."""
    if argument.kind == "array":
        item = effective(argument.item, root)
        return isinstance(value, list) or (isinstance(value, dict) and bool(item.get("properties")))
    return isinstance(value, dict)


def _wrong_part(value: Any, schema: Schema, root: Schema) -> str:
    """What a schema refuses of a value, in words; empty where it takes it. Keys of its own beside none that the schema
    has are wrong even where other keys are allowed: nobody shows those."""
    schema = effective(schema, root)
    item = effective(as_schema(schema.get("items")), root) if schema.get("type") == "array" else schema
    parts: list[Any] = cast("list[Any]", value) if isinstance(value, list) and item is not schema else [value]
    properties = as_schema(item.get("properties"))
    if properties and not _OPENED & item.keys() and not item.get("additionalProperties"):
        for part in parts:
            strange = [key for key in as_schema(part) if key not in properties]
            if strange:
                return f"the keys {join_names(strange)}, which its schema does not have"
    whole: Any = cast("Any", value) if isinstance(value, list) or item is schema else [value]
    if _has_hole(value) or fits_schema(whole, schema, root):
        return ""
    needed = [
        key for part in parts for key in as_list(item.get("required")) if properties and key not in as_schema(part)
    ]
    if needed:
        return f"an object without {join_names(needed)}, which its schema requires"
    return f"{quote_text(json.dumps(value, ensure_ascii=False))}, which the schema refuses"


_OPENED: Final = word_set("anyOf oneOf allOf $ref patternProperties")


def _has_hole(value: Any) -> bool:
    """Whether a value only says what belongs there: `<id>`, `...`, `string`."""
    if isinstance(value, str):
        return _PLACEHOLDER.search(value) is not None or value in TYPES or not value
    if isinstance(value, dict):
        return any(map(_has_hole, cast("dict[str, Any]", value).values()))
    return isinstance(value, list) and any(map(_has_hole, cast("list[Any]", value)))
