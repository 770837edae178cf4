"""RC406 and RC310 once more: values that the text of an argument shows, and that its own schema refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from rightcall.catalog.tidy import Schema, as_list
from rightcall.lint.choices import QUOTED
from rightcall.lint.definitions import Argument
from rightcall.lint.findings import Hit, quote_name, quote_text, word_set
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
