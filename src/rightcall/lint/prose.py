"""RC3xx: what the text tells and the schema does not, or tells otherwise: choices, formats, ranges, defaults, types,
units, and whether an argument is required.

Whatever stands behind `e.g.` or `such as` is an example and promises nothing. The patterns run in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import structs

from rightcall.base.text import render_json
from rightcall.catalog.tidy import as_list
from rightcall.gate.repair.words import singular, words_of
from rightcall.lint.addresses import find_address
from rightcall.lint.alternatives import alternatives_in
from rightcall.lint.choices import MOST_TEXT, QUOTED
from rightcall.lint.clashes import find_clashes
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.enums import (
    IS_SEVERAL,
    OF_OTHER_KIND,
    choices_of,
    find_choices,
    find_numbered,
    is_nullable,
    mistyped,
)
from rightcall.lint.explained import documented
from rightcall.lint.findings import Hit, bare, quote_name, quote_text, word_set
from rightcall.lint.forms import IS_CASE, find_form
from rightcall.lint.numbers import MOST_DESCRIPTION, find_range, find_told_bound, find_unit, in_unit, unit_of
from rightcall.lint.packed import find_packed
from rightcall.lint.shown import find_shown, find_shown_call, find_shown_parts

# ── one argument ──


def check(tool: ToolView) -> Iterator[Hit]:
    yield from _told_of(tool)
    yield from choices_of(tool)
    yield from find_shown_call(tool)
    told = dict(documented(tool))
    for argument in tool.arguments:
        text = argument.description or (told.get(argument.name, "") if argument.depth == 0 else "")
        long = len(text.split()) > _LONG_TEXT
        for hit in _of_argument(argument, _even(text[:MOST_TEXT]), tool):
            yield structs.replace(hit, certain=False) if long and hit.rule in _GUESSED else hit


_NARROW: Final = str.maketrans(
    {"（": " (", "）": ") ", "，": ", ", "、": ", ", "：": ": ", "；": "; ", "。": ". ", "～": "-"}
)
"""The signs of full width that Chinese and Japanese texts have."""


def _even(text: str) -> str:
    """A text with narrow signs, and with one pair of marks where it has two."""
    return _MARKED_TWICE.sub("", text.translate(_NARROW)).replace("``", "`").replace("http(s)", "https")


_MARKED_TWICE: Final = re.compile(r"``(?=[\"'])|(?<=[\"'])``")
_LONG_TEXT = 40
"""Words beyond which a text tells of cases, advice and parts as well."""
_GUESSED: Final = word_set("RC301 RC304 RC308 RC309 RC310 RC311")
"""What is read anywhere in a text, so that in a long one it is a guess."""


def _of_argument(argument: Argument, text: str, tool: ToolView) -> Iterator[Hit]:
    """`text`: the description of the argument, or what a section of the tool's says of it."""
    if text:
        chosen = [*find_choices(argument, text, tool)]
        yield from chosen
        yield from find_numbered(argument, text)
        forms = [*find_form(argument, _head(text), tool.description[:MOST_DESCRIPTION])]
        yield from forms
        yield from find_range(argument, text)
        yield from find_shown(argument, text)
        yield from find_shown_parts(argument, text, tool)
        defaults = [*_default(argument, text, tool)] or [*_default_bounds(argument, text)]
        yield from defaults
        yield from _type(argument, text, tool)
        told = any(hit.rule == "RC308" for hit in defaults)
        yield from () if told else _required(argument, _head(text), tool)
        yield from () if forms else find_address(argument, tool)
        inner = argument.item.get("description") if argument.kind == "array" and not chosen else None
        yield from find_choices(argument, inner[:MOST_TEXT], tool) if isinstance(inner, str) else ()
    yield from find_unit(argument, text, tool)
    yield from _default_beside(argument, text, tool)
    yield from find_told_bound(argument, tool) if argument in tool.top else ()
    yield from find_clashes(argument, tool)
    if argument.required and "default" in argument.part and not tool.is_strict:
        yield Hit(
            "RC312",
            f"{quote_name(argument.name)} is required, and has a default",
            "take it out of `required`, or remove the default",
            argument.path,
        )


def _head(text: str) -> str:
    """What a text says of the value itself: lists of its parts, and examples, come in later lines."""
    head = text.strip().split("\n", 1)[0]
    return (
        ""
        if re.match(r"\W*(?:\(optional\) )?(?:a )?(?:JSON|stringified)\b", head, re.IGNORECASE) and "\n" in text.strip()
        else head
    )


# ── defaults ──

_DEFAULT: Final = re.compile(
    r"(?:\bdefaults? (?:to|is|are|=)|\bdefault(?:\s?value)?(?: is|:|=)?|\bby default[,:]?)\s*[:=]?\s*"
    r"(" + QUOTED + r"|-?\d[\d,]*(?:\.\d+)?|true|false|null|none|[A-Za-z_][\w-]{0,30})(?!\.\d|,\d)"
    r"(?=\s*(?:[.,;)(\]]|$|\n))()",
    re.IGNORECASE,
)
_COUNTED_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS: Final = {word: number for number, word in enumerate(_COUNTED_WORDS.split())} | {
    "twenty": 20,
    "fifty": 50,
}
_STATES: Final = {"on": True, "enabled": True, "yes": True, "off": False, "disabled": False, "no": False}
_LEFT_OUT = r"(?:omitted|left (?:out|empty|blank|off)|not (?:given|specified|provided|supplied|passed))"
_VALUE = rf"({QUOTED}|-?\d[\d,]*(?:\.\d+)?|true|false|{'|'.join((*_NUMBER_WORDS, *_STATES))})"
_VALUE_OR_WORD = _VALUE.removesuffix(")") + r"|[a-z][\w-]{1,30})"
_NOT_GIVEN = (
    r"(?:omitted|left (?:out|empty|blank|off)|absent|missing|unset|"
    r"not (?:given|set|specified|provided|supplied|passed))"
)
_DEFAULT_TOO: Final = re.compile(
    rf"\b(?:if|when) (?:it is |this is )?{_NOT_GIVEN},? (?:the )?(?:(?!not\b|no\b)[a-z]+ )?{_VALUE}(?: [a-z]+){{0,2}} "
    r"(?:is|are|will be) (?:[a-z]+ed\b|[a-z]+(?=\s*(?:[.,;)]|$)))|"
    rf"(?<![\w.,-]){_VALUE_OR_WORD}(?: [a-z]+)?,? (?:by default|unless (?:it is |another is )?"
    rf"(?:given|specified|set|provided|stated|otherwise)(?: otherwise| specified)?\b|"
    rf"(?:if|when) (?:none is given|nothing is given|{_NOT_GIVEN})|is the default|"
    rf"is used (?:if|when|unless) [^.;\n]{{3,30}}?)(?=\s*(?:[.,;)]|$|\n))",
    re.IGNORECASE,
)
"""`If omitted, 20 is used`; `20 unless given`"""
_MISSING: Final = object()


_OF_SETTING: Final = re.compile(
    r"\benv(?:ironment)? var|\$[A-Z]|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|"
    r"\b(?:[Ii]f|[Ww]hen) (?:it is |it's |the path is )?relative\b"
)
"""What a default is of, where not of the argument: `the folder in DATA_DIR, or ~/data if not set`."""


_NOT_SURE: Final = re.compile(r"\b(?:often|usually|typically|normally|mostly|commonly) $", re.IGNORECASE)


def default_in(text: str, argument: Argument) -> Any:
    """The default that a text tells, as a value of the argument's type; `NO_DEFAULT` where it tells none."""
    found = _DEFAULT.search(text[:MOST_TEXT]) or _DEFAULT_TOO.search(text[:MOST_TEXT])
    if found is None or _OF_SETTING.search(re.split(r"\.\s|\n", text[: found.start()])[-1]):
        return NO_DEFAULT
    if _NOT_SURE.search(text[max(0, found.start() - 20) : found.start()]):
        return NO_DEFAULT
    word, kind = next(one for one in found.groups() if one), argument.kind
    quoted = word[0] in "'\"`"
    if re.search(r"[<{]\w", word):
        return NO_DEFAULT  # a part of it is to be filled in
    bare = word.strip("'\"`")
    if kind == "boolean":
        return {"true": True, "false": False, **_STATES}.get(bare.lower(), NO_DEFAULT)
    if kind in ("integer", "number"):
        return _read_number(str(_NUMBER_WORDS.get(bare.lower(), bare)), kind)
    if kind == "string" and bare.lower() not in (
        "null",
        "none",
        "true",
        "false",
        "undefined",
        "empty",
        "all",
        "any",
        "current",
    ):
        listed = as_list(argument.schema.get("enum"))
        if bare in listed or (quoted and not listed):
            return bare
    return NO_DEFAULT


NO_DEFAULT: Final = _MISSING


def _read_number(text: str, kind: str) -> Any:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return NO_DEFAULT
    if kind == "integer" or value == int(value):
        return int(value) if value == int(value) else NO_DEFAULT
    return value


def _default(argument: Argument, text: str, tool: ToolView) -> Iterator[Hit]:
    told = default_in(text, argument)
    if told is NO_DEFAULT:
        return
    shown = render_json(told, 60)
    if "default" not in argument.part and "default" not in argument.schema:
        if argument.required and not tool.is_strict and not is_nullable(argument):
            yield Hit(
                "RC308",
                f"{quote_name(argument.name)} is required, and the text gives a default",
                "take it out of `required`",
                argument.path,
            )
        else:
            yield Hit(
                "RC305",
                f"only the text gives the default of {quote_name(argument.name)}",
                f'add "default": {shown}',
                argument.path,
            )
        return
    given = argument.part.get("default", argument.schema.get("default"))
    if IS_CASE.search(text[: max(0, text.lower().find("default"))]):
        return  # of one mode
    if given not in (None, "", told) and not (isinstance(given, str) and str(told).lower() == given.lower()):
        yield _other_default(argument, given, told)


_UNBOUNDED: Final = (
    r"(?:(?:there is |it is |it's )?(?:unlimited|unbounded|(?:has |with )?no (?:limit|maximum|upper limit|cap)|"
    r"without (?:a |any )?limit)|never expires)"
)
_NO_LIMIT: Final = re.compile(
    rf"(?:^|[.;,(]\s*|\bor ){_UNBOUNDED},? (?:if|when|unless|by default)(?: it is| this is)?"
    rf"(?: {_NOT_GIVEN}| given| set|(?<=default))\b|"
    rf"\b(?:if|when) (?:it is |this is )?{_NOT_GIVEN},? {_UNBOUNDED}|"
    r"\bdefaults? (?:to |is )?:?\s?(?:unlimited|no limit|unbounded|infinite)\b|"
    r"\b(?:omit|leave (?:it |this )?(?:out|empty|blank)) for (?:unlimited|no limit|no maximum)\b",
    re.IGNORECASE,
)
"""`Unlimited when left out`"""
_FAR = 10_000
"""A default from which on it is as good as no limit."""


def _default_bounds(argument: Argument, text: str) -> Iterator[Hit]:
    """A number that is the default of what has no limit when it is left out."""
    given = argument.part.get("default")
    number = isinstance(given, int | float) and not isinstance(given, bool) and 0 < given < _FAR
    if number and _NO_LIMIT.search(text) is not None:
        yield _other_default(argument, given, "unlimited")


_BY_DEFAULT: Final = re.compile(
    r"(?<![\w.,-])(\d[\d,]{0,12}(?:\.\d{1,6})?)(?: ([a-z]+)(?: [a-z]+){0,2})?,? "
    r"(?:by default|unless [`'\"]?(\w{1,64})[`'\"]? is (?:also )?(?:given|set|specified|passed|provided))\b|"
    r"\bdefaults? (?:(?:to|is|of) )?(\d[\d,]{0,12}(?:\.\d{1,6})?) ([a-z]+)\b|"
    r"[`'\"]?\b(\w{2,64})[`'\"]? ?\(defaults?(?: to| is|:|=)? ?(\d[\d,]{0,12}(?:\.\d{1,6})?) ?([a-z]*)\)",
    re.IGNORECASE,
)
"""In the text of the tool: `30 minutes by default`, `20 rows unless limit is given`, `limit (default 20)`"""


def _default_beside(argument: Argument, text: str, tool: ToolView) -> Iterator[Hit]:
    """A default that the text of the tool tells for an argument, by its name or by its unit and its other words; or the
    argument's own text, in a unit."""
    given, words = argument.part.get("default"), words_of(argument.name)
    if not words or argument not in tool.top or isinstance(given, bool) or not isinstance(given, int | float):
        return
    unit, others = unit_of(words[-1]), {singular(word) for word in words[:-1]}
    for sentence in re.split(r"[.;]\s|\n", tool.description[:MOST_DESCRIPTION]):
        for found in _BY_DEFAULT.finditer(sentence):
            measure = (found[2] or found[5] or found[8] or "").lower()
            named = (found[3] or found[6] or "").lower() == argument.name.lower()
            told = _measured(found[1] or found[4] or found[7], measure, unit)
            spoken = (
                bool(unit and others)
                and unit_of(measure) == unit
                and others <= {singular(word) for word in words_of(sentence)}
            )
            if (named or (spoken and not found[3] and not found[6])) and told not in (given, NO_DEFAULT):
                yield _other_default(argument, given, told)
                return
    own = _MEASURED.search(text) if unit and not IS_CASE.search(text) else None
    told = _measured(own[1], own[2].lower(), unit) if own is not None else NO_DEFAULT
    if told not in (given, NO_DEFAULT):
        yield _other_default(argument, given, told)


_MEASURED: Final = re.compile(
    r"\bdefaults?(?: to| is| of|:|=)? ?(\d[\d,]{0,12}(?:\.\d{1,6})?) ?([a-z]{1,12})\b", re.IGNORECASE
)
"""`default 5 min`"""


def _measured(number: str, word: str, unit: str) -> Any:
    """A number of a text in the unit of the argument."""
    told = _read_number(number, "number")
    measured = unit_of(word)
    if told is NO_DEFAULT or measured == unit or not word:
        return told
    scaled = in_unit(told, word, unit) if measured and unit else None
    return NO_DEFAULT if scaled is None else int(scaled) if scaled == int(scaled) else scaled


def _other_default(argument: Argument, given: Any, told: Any) -> Hit:
    return Hit(
        "RC309",
        f"the default of {quote_name(argument.name)} is {render_json(given, 60)} in the schema and "
        f"{render_json(told, 60)} in the text",
        "make them the same",
        argument.path,
    )


# ── types, required ──

_IS_NUMBER: Final = re.compile(
    r"\W*(?:the |optional |a )?(?:max(?:imum)? |min(?:imum)? |total )?(?:number|count|quantity|"
    r"amount) of\b(?! (?:the|this|an?|your)\b)|\W*(?:an? )?(?:integer|numeric value)\b|\b(?:must be|"
    r"as) an? (?:integer|number|whole number)\b(?! of)|[^.;\n]{0,40}\bas a whole number\b|"
    r"[^.;\n]{0,60}, as an? (?:number|integer)\b(?! (?:or|of|with|followed|plus|and)\b)|"
    r"\W*(?:the )?(?:page number|index of)\b|\W*how many\b",
    re.IGNORECASE,
)
_IS_MEASURE: Final = re.compile(
    r"[^.;\n]{0,60}\bas a (?:decimal|floating[- ]point) number\b|[^.;\n]{0,60}\((?:an )?(?:integer|int|float)\)|"
    r"[^.;\n]{0,40}, an? (?:float|integer|decimal number) in \w+|"
    r"\W*(?:the )?(?:delay|timeout|duration|weight|height|width|length|padding|margin|distance) in (?:milliseconds|"
    r"seconds|minutes|hours|days|pixels|px|kg|kilograms|grams|metres|meters|kilometres|kilometers|km|centimetres|cm|mm|"
    r"percent)(?=\W*(?:$|[.,;]))",
    re.IGNORECASE,
)
"""A number in a unit, or so called."""
_IS_EPOCH: Final = re.compile(
    r"(?:\W*(?:[\w-]+ ){0,4}|[^.\n]{0,60}\()(?:(?:milli)?seconds since (?:(?:the )?(?:unix )?epoch|1970)|"
    r"(?:unix|epoch) (?:time(?:stamp)?|(?:milli)?seconds)\b(?: in (?:milli)?seconds)?)\W*(?:\.|\)|$)",
    re.IGNORECASE,
)
"""A moment as a number."""
_AS_LIST: Final = re.compile(
    r"\bcomma[- ](?:separated|delimited) (?:list|string|values|names|ids|text)\b|\w,? separated by commas\b|"
    r"\((?:comma|semicolon)[- ](?:separated|delimited)\)|\bas (?:a )?comma[- ]separated\b",
    re.IGNORECASE,
)
_AS_JSON: Final = re.compile(
    r"\W*(?:optional\W+)?(?:an? |the )?(?:JSON[- ](?:encoded |formatted )?(?:string|text)|"
    r"stringified (?:JSON|object|array)|JSON (?:array|object|list) (?:as|in) (?:an? )?(?:string|text))\b|"
    r"[^.\n]{0,60}\bas (?:a )?JSON[- ]?(?:encoded )?string\b",
    re.IGNORECASE,
)
_IS_FLAG: Final = re.compile(
    r"\W*(?:whether|if true|set to true|boolean(?! (?:expression|query|search|formula|condition|logic|filter|"
    r"operator))|[`'\"]?true[`'\"]? (?:if|to)|enable or disable|"
    r"[`'\"]?true[`'\"]? or [`'\"]?false\b)|[^.;\n]{0,60}(?:\bmust be [`'\"]?true[`'\"]? or [`'\"]?false\b|"
    r"\(true/false\)|\([`'\"]?true[`'\"]? or [`'\"]?false[`'\"]?\))",
    re.IGNORECASE,
)
_CHOICE = r"\s?(?:/|\||,|,? or\b|,? and\b)\s?"
_BEHIND = r"(?=\s*(?:[.,;)?]|$|\n))(?!\s*,?\s*(?:or|and)\b)"
_YES_OR_NO: Final = re.compile(
    rf"(?:^|(?<=[\s(:,?=]))(?<![/|,] )(?<!or )(?:yes{_CHOICE}no|y{_CHOICE}n|true{_CHOICE}false){_BEHIND}|"
    rf"(?:^\W*|[(:=] ?)on{_CHOICE}off{_BEHIND}|"
    r"(?:^|(?<=[\s(:,]))(?:yes|y|true)(?: if| to| for| when|,? when| =)\b[^.\n]{2,80}[\s,;](?:no|n|false)"
    r"(?: otherwise| if| to| for| when| =|(?=\s*(?:[.;)]|$)))|"
    r"\b1 (?:if|when)\b[^.\n]{2,60}\b0 (?:if|when|otherwise)\b|"
    r"\b1 (?:for|=|means|is) (?:yes|true|on)\b[^.\n]{1,20}\b0 (?:for|=|means|is) (?:no|false|off)\b|"
    r"\b(?:write|pass|give|enter|say) (?:yes|y) (?:if|for|to)\b[^.\n]{2,80}\b(?:else|otherwise) (?:no|n)\b",
    re.IGNORECASE,
)
"""In a bare text."""
_IS_LIST: Final = re.compile(
    r"\bcomma[- ](?:separated|delimited)\b|\bseparated by commas\b|\bsemicolon[- ]separated\b|\bJSON[- ](?:string|"
    r"encoded|array|object|formatted)\b|\bstringified\b|\bserialized JSON\b",
    re.IGNORECASE,
)
_IS_TEXT: Final = re.compile(
    r"\W*(?:the |a )?(?:full |first |last |display )?(?:names?|title|text|description|e-?mail(?: address)?|url|path|"
    r"address) (?:of|for|to)\b",
    re.IGNORECASE,
)
_AS_TEXT: Final = re.compile(r"\bas (?:a )?(?:string|text)\b|\((?:a )?string\b", re.IGNORECASE)
_COUNTS: Final = word_set(
    "count counts limit page pages offset skip top max maximum min minimum num number per results rows items days "
    "hours minutes seconds weeks months years age retries attempts copies people guests nights persons seats index "
    "position depth width height length port times"
)
"""Words in names of plain numbers. Amounts, sizes and prices are often sent as text, so that no digit is lost."""
_IS_WHOLE: Final = re.compile(
    r"\b(?:as|be) an? (?:integer|whole number)\b|, as a number\b|^\W*(?:an? )?(?:integer|numeric value)\b",
    re.IGNORECASE,
)
_BOUNDS = r"-?\d[\d.,]*(?: ?%)? ?(?:and|to|through|up to|-|–) ?-?\d"
_RANGED: Final = re.compile(
    r"(?:\b(?:an?|as|any|be) |^\W*)(?:(?:whole|decimal|positive|natural|real|rounded) )?"
    r"(?:number|integer|decimal|percentage)"
    rf"(?: of [a-z]+s)?,? ?\(?(?:between |from |in the range |ranging from )?(?:of |from |between )?{_BOUNDS}|"
    r"\b(?:number|count|quantity) of (?:[a-z]+ )?[a-z]+s,? ?\(?(?:between |from |in the range )?(?:of |from )?"
    rf"{_BOUNDS}|\b(?:an?|as|any) (?:whole|positive|natural) (?:number|integer)\b(?! of)",
    re.IGNORECASE,
)
"""`The volume, a number between 1 and 60`"""
_NOT_PLAIN: Final = re.compile(
    r"\b(?:or|and/or|strings?|text|precision|followed|prefix\w*|suffix\w*|preceded|char\w*|digits?|letters?|words?|"
    r"expressions?|(?<!in the )ranges?|lists?|comma|separated|each|unit|wei|int64|bigint|big|hex\w*|encoded|"
    r"zeros?|operators?|cron|version|format\w*|identif\w*|unique|phone|postal|serial|etc)\b|[<>|]",
    re.IGNORECASE,
)
"""The value has more than a number in it, may be something else, or is text on purpose."""
_LABELS: Final = word_set("id ids uuid no code ref reference phone zip postcode version range expression chapter")
"""Names of what is written in digits and counts nothing."""
_LISTED: Final = re.compile(r"\W*(?:an? |the )?(?:list|array) of\b|\bcomma[- ]separated\b", re.IGNORECASE)


def _type(argument: Argument, text: str, tool: ToolView) -> Iterator[Hit]:
    kind = argument.kind
    plain = {"enum", "const", "anyOf", "oneOf", "pattern", "format"}.isdisjoint(argument.schema)
    packed = find_packed(argument, text) if kind == "string" and plain else None
    if packed is not None:
        yield packed
    elif kind == "string" and plain:
        around = tool.description[:MOST_DESCRIPTION]
        passed = rf"\b{re.escape(argument.name)}\b[^.\n]{{1,60}} strings?\b"  # `Pass `start` as Unix-ms strings`
        if _AS_TEXT.search(text) or (argument.name in around and re.search(passed, around)):
            return
        counted = not _COUNTS.isdisjoint(words_of(argument.name)) or _IS_WHOLE.search(text)
        moment = _IS_EPOCH.match(text) and not re.search(r"\bor\b|\bISO\b|string", text)
        ranged = _RANGED.search(text) and not _NOT_PLAIN.search(text) and _LABELS.isdisjoint(words_of(argument.name))
        ranged = ranged or _IS_MEASURE.match(text)
        if moment or ((ranged or (_IS_NUMBER.match(text) and counted)) and not _others(argument, text)):
            whole = moment or counted or re.search(r"\b(?:integer|whole|natural|number of|count of)\b", text, re.I)
            yield mistyped(argument, "text", "a number", "integer" if whole else "number")
        elif _is_flag(text) and not _others(argument, text) and not IS_SEVERAL.search(text):
            yield mistyped(argument, "text", "true or false", "boolean")
        elif (
            _LISTED.match(text)
            and not _IS_LIST.search(text)
            and not re.search(r"\bline|newline|space|JSON|\b(?:pipe|tab|bar)[- ]", text)
        ):
            yield mistyped(argument, "text", "a list", "array")
    elif kind == "array" and _AS_LIST.search(text) and not re.search(r"\b(?:or|each|also|items?)\b", text):
        yield _mistold(argument, "a list", "text with commas")
    elif kind in ("array", "object") and _AS_JSON.match(text) and not re.search(r"\b(?:or|each|also)\b", text):
        yield _mistold(argument, "a list" if kind == "array" else "an object", "JSON as text")
    elif (
        kind == "object"
        and re.match(r"\W*(?:an? |the )?(?:list|array) of\b(?! (?:key|name|pairs))", text, re.I)
        and ("properties" not in argument.schema and "additionalProperties" not in argument.schema)
    ):
        yield mistyped(argument, "an object", "a list", "array")
    elif kind in ("integer", "number", "boolean") and _LISTED.match(text):
        yield mistyped(argument, _A_KIND[kind], "a list", "array")
    elif kind in ("integer", "number", "boolean") and _IS_TEXT.match(text):
        yield mistyped(argument, _A_KIND[kind], "text", "string")
    elif kind in ("integer", "number") and _IS_FLAG.match(text):
        yield mistyped(argument, _A_KIND[kind], "true or false", "boolean")
    elif kind == "boolean" and _IS_NUMBER.match(text):
        yield mistyped(argument, "true or false", "a number", "integer")


_WHICH_OF_TWO: Final = re.compile(r"\W*whether to (?!not\b)\w+ or (?!not\b)\w+\b", re.IGNORECASE)


def _is_flag(text: str) -> bool:
    told = bare(text)
    if _WHICH_OF_TWO.match(told) or OF_OTHER_KIND.search(text):
        return False
    found = _YES_OR_NO.search(told)
    return _IS_FLAG.match(text) is not None or (found is not None and not IS_CASE.search(told[: found.start()]))


def _others(argument: Argument, text: str) -> bool:
    """Whether the text tells of values that are neither yes nor no: `whether it is a 'user' or a 'group'`."""
    quoted = {one[1:-1].lower() for one in re.findall(QUOTED, text)} | {
        one.lower() for one in alternatives_in(text, argument.name)
    }
    return bool(quoted - _FLAGS)


_FLAGS: Final = word_set("true false yes no y n on off 1 0")
_A_KIND: Final = {"integer": "an integer", "number": "a number", "boolean": "a boolean"}


def _mistold(argument: Argument, given: str, told: str) -> Hit:
    """The schema is right, and the text tells of another way to write the value."""
    return Hit(
        "RC306",
        f"{quote_name(argument.name)} is {given} in the schema and {told} in the text",
        "correct the text",
        argument.path,
    )


_SAYS_REQUIRED: Final = re.compile(
    r"\W*(?:required|mandatory)\b(?!\s+\w)\W|"
    r"\((?:required|mandatory)\)|\b(?:this )?(?:field|argument|parameter|value) is (?:always )?(?:required|"
    r"mandatory)\b(?!\s+(?:if|when|for|unless|only|in|with))|"
    r"must (?:always )?be (?:provided|specified|given|set|supplied)\b(?!\s+(?:if|when|for|unless|only|in|with|"
    r"together|as|by))|\[required\]|\balways required\b",
    re.IGNORECASE,
)
_SAYS_OPTIONAL: Final = re.compile(
    r"\W*optional(?:ly)?\b(?! (?:chaining|arguments?))|\(optional\b|\[optional\]|,\s*optional\b|\b(?:field|"
    r"argument|parameter) is optional\b|\b(?:if|when) (?:it is |this is )?(?:omitted|not (?:provided|specified|"
    r"given|set|supplied))\b|\bleave (?:it )?(?:empty|blank|out)\b|\bcan be omitted\b|\bmay be omitted\b",
    re.IGNORECASE,
)


_OF_PART: Final = re.compile(r"\b[a-z]+(?:_[a-z]+)+ ?\(|\b(?:each|includes?|contains?|with)\b", re.IGNORECASE)
"""What follows is said of a part of the value."""


_TO_CHOOSE: Final = re.compile(
    r"optional (?:[\w-]+ ){0,3}[\w-]+s\b[^\n]{0,60}\b(?:options|values|choices)\b", re.IGNORECASE
)
"""`Optional kinds of numbering. Options: …`: to choose from."""


_OF_NEED: Final = word_set("required optional mandatory nullable")
"""An argument that is about what is needed."""


def _required(argument: Argument, text: str, tool: ToolView) -> Iterator[Hit]:
    if tool.is_strict or tool.ruled or not _OF_NEED.isdisjoint(words_of(argument.name)):
        return
    if argument.required and not is_nullable(argument):
        found = (None if _TO_CHOOSE.match(text) else _SAYS_OPTIONAL.match(text)) or re.search(
            r"[.;]\s*(?:optional|not (?:required|mandatory|needed|necessary))\s*(?:[.;:,]|$)|\bnot needed for\b|"
            r"\(optional\s*[),;.:]|\[optional\]|\b(?:argument|parameter|field) is optional\b|"
            r"\b(?:can|may) be (?:omitted|skipped|left (?:out|empty|blank|away))\b|\b(?:you )?(?:can|"
            r"may) (?:omit|skip|leave out|"
            r"leave (?:it|this) out)\b|"
            rf"\b(?:if|when) (?:it is |this is |it's )?{_LEFT_OUT}\b|\bif you (?:leave it out|omit it|skip it|"
            rf"give none)\b|"
            r"\bleave (?:it |this )?out (?:if|when|unless)\b|(?:^|[.;]\s+)without (?:it|one|this),? (?:all|"
            r"every|the)\b|"
            r"\bdefaults? to\b|(?<!automatically )(?<!added )\bif omitted\b|"
            r"\bleave (?:it |this )?(?:out|empty|blank) (?:for|to)\b|(?:^|[.;]\s*)omit (?:it |this )?(?:for|to)\b",
            text,
            re.IGNORECASE,
        )
        said = _sentence_at(text, found.start() + 2) if found is not None else ""
        needed = _NEEDED.search(said) is not None or _OF_SETTING.search(text) is not None
        if found is not None and not needed and _OF_PART.search(text[: found.start()]) is None:
            yield Hit(
                "RC308",
                f"{quote_name(argument.name)} is required, and the text says {quote_text(found[0])}",
                "correct `required`, or the text",
                argument.path,
            )
    elif not argument.required and "default" not in argument.part:
        found = _SAYS_REQUIRED.match(text) or re.search(
            r"\((?:required|mandatory)\)|\[required\]|(?<=[.;] )this is an? (?:required|mandatory) \w+\s*(?=[.;]|$)|"
            r"\b(?:field|argument|parameter) is (?:always )?(?:required|"
            r"mandatory)\b(?!\s+(?:if|when|for|unless|only|in|with))|(?:^|[.;,]\s*)(?:(?:it|this|this \w+) )?must "
            r"(?:always )?be (?:given|provided|specified|supplied)\b(?!\s+(?:if|when|for|unless|only|in|with|"
            r"together|as|by))|(?<=[.;,] )(?:required|mandatory)(?=\s*(?:[.;!]|$))|"
            r"(?:^|(?<=[.;,] ))(?:(?:it|this) is |which is )?always (?:needed|necessary)(?=\s*(?:[.;,!]|$))|"
            r", which must be given(?=\s*(?:[.;]|$))|"
            r"\b(?:cannot|can't|must not|may not|must never|may never) be (?:left out|omitted|"
            r"skipped)(?=\s*(?:[.;,!]|$))|"
            r"(?:^|(?<=[.;] ))(?:never|do not|don't) (?:leave (?:it|this) out|omit (?:it|this))(?=\s*(?:[.;!]|$))|"
            r"(?:^|(?<=[.;] ))(?:a|the|any|every) call without (?:it|this) (?:fails|is refused|is rejected)\b",
            text,
            re.IGNORECASE,
        )
        if found is None or IS_CASE.search(text[: found.start()]):
            return
        alone = text[: found.start()].endswith(". ") and found[0].lower() in ("required", "mandatory")
        if not alone and _OF_PART.search(text[: found.start()]):
            return
        near = text[max(0, found.start() - 40) : found.end() + 40]
        labelled = _LABEL.match(text)  # `create: the size. Required.`
        of_case = labelled is not None and labelled.end() <= found.start()
        if labelled is not None and of_case and words_of(labelled[1]) != words_of(argument.name):
            return
        if not re.search(r"\b(?:if|when|unless|either|or)\b", near, re.IGNORECASE) and not _is_one_case(text, found):
            yield Hit(
                "RC308",
                f"{quote_name(argument.name)} is optional, and the text says {quote_text(found[0].strip())}",
                "add it to `required`, or correct the text",
                argument.path,
            )


def _sentence_at(text: str, at: int) -> str:
    return re.split(r"[.;]\s", text[:at])[-1] + re.split(r"[.;]\s", text[at:])[0]


_NEEDED: Final = re.compile(
    r"\b(?:fails?|errors?|refuse[sd]?|reject(?:s|ed)?|invalid|required|must|not (?:allowed|possible|valid)|raises?)\b",
    re.IGNORECASE,
)
"""What happens without the value, so that it is needed after all."""
_LABEL: Final = re.compile(r"\W*([\w/ -]{2,40}?)[`'\"]?:\s", re.IGNORECASE)


def _is_one_case(text: str, found: re.Match[str]) -> bool:
    """Whether something is said of one case alone: `In create mode, summary is required`."""
    if found[0].endswith((")", "]")) or not found.start():
        return False
    sentence = re.split(r"[.;]\s|\n", text[: found.start()])[-1]
    return (
        re.search(r"\b(?:if|when|unless|without|with|for|in|on|during|only|to)\b|[\w)\]`'\"]\s*:", sentence, re.I)
        is not None
    )


_OF_TOOL = (
    r"[`'\"]?\b{0}\b[`'\"]?\s*(?:\((required|optional)\)|"
    r"(?:argument |parameter |field )?is (required|mandatory|optional)(?=\s*(?:[.,;:)!]|$)))"
)


_BOTH: Final = re.compile(
    r"\bboth [`'\"]?(\w{1,40})[`'\"]? and [`'\"]?(\w{1,40})[`'\"]? (?:are|have to be|must be) (?:always )?(?:required|"
    r"mandatory|needed|given|set|provided)\b(?! (?:if|when|for|unless|only|in|with)\b)",
    re.IGNORECASE,
)


def _both_needed(tool: ToolView, text: str) -> Iterator[Hit]:
    """`Both start and end are mandatory`, of which one is optional in the schema."""
    by_name = {one.name: one for one in tool.top}
    for found in _BOTH.finditer(text):
        for one in (by_name.get(found[1]), by_name.get(found[2])):
            if one is not None and not one.required and not _is_one_case(text, found):
                told = f"{quote_name(one.name)} is optional, and the text of the tool says {quote_text(found[0])}"
                yield Hit("RC308", told, "correct `required`, or the text", one.path)


def _told_of(tool: ToolView) -> Iterator[Hit]:
    """What the description of the tool says of an argument."""
    text = tool.description[:MOST_DESCRIPTION]
    if tool.is_strict or tool.ruled or not re.search(r"required|mandatory|optional", text):
        return
    yield from _both_needed(tool, text)
    if tool.has_operations:
        return
    for argument in tool.top[:60]:
        pattern = _OF_TOOL.format(re.escape(argument.name))
        found = re.search(pattern, text, re.IGNORECASE)
        before = text[max(0, found.start() - 30) : found.start()] if found is not None else ""
        if found is None or re.search(r"\b(?:or|either|one of|and)\b", before) or _is_one_case(text, found):
            continue
        optional = (found[1] or found[2]).lower() == "optional"
        if optional is argument.required and not (optional and is_nullable(argument)):
            yield Hit(
                "RC308",
                f"{quote_name(argument.name)} is {'required' if argument.required else 'optional'}, and the text "
                f"of the "
                f"tool says {quote_text(found[0])}",
                "correct `required`, or the text",
                argument.path,
            )
