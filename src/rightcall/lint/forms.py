"""RC302, RC303: the form of a value that only the text gives, by a name that JSON Schema knows or by a pattern.

A text that allows another form beside it, or tells of one case alone, promises nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from rightcall.base.text import render_json
from rightcall.gate.repair.words import singular, words_of
from rightcall.lint.alternatives import alternatives_in
from rightcall.lint.choices import is_example
from rightcall.lint.definitions import Argument
from rightcall.lint.findings import Hit, quote_name, quote_text, word_set
from rightcall.lint.numbers import unit_of
from rightcall.lint.packed import find_packed
from rightcall.lint.samples import given_values, passed_texts, shown_dates, shown_texts


def is_free(argument: Argument) -> bool:
    """A string, or a list of strings, of which the schema says nothing more."""
    schema = argument.item if argument.kind == "array" else argument.schema
    kinds = schema.get("type")
    free = not {"enum", "const", "pattern", "format", "anyOf", "oneOf", "allOf", "$ref"} & schema.keys()
    return free and (kinds == "string" or (kinds is None and argument.kind == ""))


_OTHER_FORMS: Final = re.compile(
    r"\b(?:relative|natural language|yesterday|ago\b|unix|epoch|usually|typically|often|generally|normally|"
    r"preferably|recommended|ideally|depending|without an? (?:offset|zone|time ?zone)|all-day|or (?:RFC|ISO)|"
    r"timestamp or|or (?:its|their|his|her)\b|"
    r"(?:or|and(?! [\w-]+ numbers?\b)) (?:a |an |the |as )?(?:[\w-]+ ){0,2}(?:dates?|times?|timestamps?|"
    r"date-?times?|relative|names?|paths?|ids?|strings?|numbers?|urls?|keys?|slugs?|aliases|objects?|now|today)\b)|"
    r"[`'\")] or [`'\"(\[]|\b(?:or|use) (?:[`'\"]|YYYY)|\bor (?:an? |the )?\[|inequalit|[<>]=?\s?YYYY|"
    r"\beither\b[^.\n]*\bor\b|\bnamed colou?r|\bcan also be\b|\balso (?:accepts?|supports?|allowed|used)\b|"
    r"\b(?:component|portion|prefix|suffix)\b|"
    r"\b(?:or|and) (?:a |an |the )?(?:[\w-]+ ){0,3}(?:identifiers?|addresses|address)\b|"
    r"\b(?:multiple|several|various|any|different) (?:common |known )?(?:formats?|forms?|notations?)\b|"
    r"\b(?:names?|slugs?|keys?|paths?|aliases) or\b|\bwith or without\b|\bpartial\b|\w, [\w ]{3,30}, or [a-z]",
    re.IGNORECASE,
)
"""The value may have another form as well."""
IS_CASE: Final = re.compile(
    r"(?:^|[.;(\n]\s*)(?:(?:if|unless)\b|(?:for|when|with)\b[^.;\n]{0,50}[:=])[^.;\n]{0,120}$|"
    r"\bor (?:for|when|if|in)\b[^.;\n]{0,80}$|\w\s?=\s?[`'\"]?[\w-]+[`'\"]?\s?:[^.;\n]{0,80}$",
    re.IGNORECASE,
)
"""What stands behind it counts in one case alone: `For a date: ISO 8601`."""
_IS_OTHER: Final = re.compile(r"(?:\b(?:or|oder|ou|eller|lub|или)|或者?|または|또는)\s*(?:an? |the )?$", re.IGNORECASE)
"""What stands behind it is one form of several: `TASK_12 or UUID`."""
_OF_RESULT: Final = re.compile(
    r"\b(?:(?:of|in) the (?:answer|response|output|results?)|(?:answers?|responses?|outputs?|results?) "
    r"(?:is|are|has|have|shows?|comes?|begins?))\b[^.;\n]{0,60}$",
    re.IGNORECASE,
)
"""What stands behind it is the form of what comes back."""
_IS_LISTED: Final = re.compile(r"\W*comma[- ]separated\b", re.IGNORECASE)
_LOCAL_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?![\d:.]|Z|\s?[+-]\d|\s?UTC)|"
    r"YYYY-MM-DD[T ]HH?:?MM(?::?SS)?(?:\.\w+)?(?!\s?(?:Z|[+±-]|:|X|TZ|\[))|YYYY-MM-DD HH|:\d\d(?:\.\d+)?[+-]\d{4}\b",
    re.IGNORECASE,
)
"""A time without a zone, or with one that has no colon, which the format `date-time` refuses."""
_FORMATS: Final = (
    ("duration", re.compile(r"\bISO[- ]?8601 duration", re.IGNORECASE)),
    ("date", re.compile(r"(?<![A-Za-z])(?i:YYYY-MM-DD)(?![A-Za-z-]|[T ]?(?i:HH))|\bISO[- ]?8601 dates?\b(?!.time)|"
                        r"\bISO[- ]dates?\b(?!.?time)|\b(?i:as|written) \d{4}-\d\d-\d\d\b(?![T ]\d)|"
                        r"\b[Dd]ate in ISO[- ]?(?:8601)? format\b")),
    ("date-time", re.compile(r"\bYYYY-MM-DD[T ]HH|\bISO[- ]?8601\b|\bRFC[- ]?3339\b|\bISO (?:date-?time|"
                             r"timestamp)\b|\bISO format\b", re.IGNORECASE)),
    ("email", re.compile(r"\bvalid e-?mail\b|\bmust be (?:a |an )?(?:valid )?e-?mail\b|"
                         r"\be-?mail address(?:es)? (?:in|of) the form\b|\bRFC[- ]?5322\b", re.IGNORECASE)),
    ("uri", re.compile(r"\b(?:must be|has to be|needs to be) (?:a |an )?(?:valid |full |absolute |complete |"
                       r"public |https? )*UR[LI]\b(?![- ]?(?:en|de)coded)|"
                       r"\b(?:(?:must|has to|have to|needs to|is to) be (?:an? |the )?(?:(?:valid|full|absolute|"
                       r"complete|public|direct|secure|plain) ){0,3}|(?:full|absolute|complete) (?:public )?)"
                       r"(?:https? (?:web )?|web )(?:link|address)\b|\b(?:link|address)(?: that)? "
                       r"(?:must (?:start|begin)|(?:start|begin)(?:s|ing)) with [`'\"]?https?\b|"
                       r"\bvalid (?:https? )?UR[LI]\b|\b(?:fully[- ]qualified|absolute) UR[LI]\b|"
                       r"\b(?:must|should) (?:start|begin) with [`'\"]?https?://|"
                       r"\b(?:starting|beginning) with [`'\"]?https?://|"
                       r"\bUR[LI],? (?:including|with|that starts with|starting with) (?:the )?(?:protocol|scheme|"
                       r"[`'\"]?https?)", re.IGNORECASE)),
    ("uuid", re.compile(r"^\W*(?:the |a )?UUID (?:of|for)\b|"
                        r"\b(?:valid|must be a|in|as a|a v4) UUID|\bUUID(?:v4| v4| format| string)\b|\((?:an? )?UUID\)|"
                        r"(?:'s|s') UUID\s*(?:[.,;(]|$)|"
                        r"\bx{8}-x{4}-", re.IGNORECASE)),
    ("uuid", re.compile(r"(?<![-_][<{])(?<!same )(?<!whose )\bUUIDs?\b(?! (?:of|for)\b)", re.IGNORECASE)),
    ("ipv4", re.compile(r"\b(?:valid |must be an? )IP(?:v4)?(?: address)?\b|\bIPv4 address\b", re.IGNORECASE)),
)  # fmt: skip
_NUMERALS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|twenty"
)
_ALONE, _AT_END = r"(?:^|[,;:(]\s?|\b(?:as|of|always|is) )", r"(?=\s*(?:[.,;)]|$))"
_PATTERNS: Final = (
    ("", re.compile(r"\bsem(?:antic )?ver(?:sion)?\b|\bMAC address\b|\bIBAN\b|(?<!whose )\bISBN\b", re.IGNORECASE)),
    ("^[a-z]{2}$", re.compile(r"\bISO[- ]?639-1\b|\b(?:two|2)[- ]letter (?:ISO )?language\b", re.IGNORECASE)),
    ("^[A-Z]{2}$", re.compile(r"\b(?:two|2) (?:capital|upper-?case|lower-?case|small) letters\b|"
                              r"\b(?:two|2)[- ](?:letter|character|char)s?\b[^.]{0,30}\b(?:code|country|language|"
                              r"state)|\bISO[- ]?3166-1(?: alpha)?-2|\b3166 alpha-2|"
                              r"\bISO[- ]3166\b(?!-[23])", re.IGNORECASE)),
    ("^[A-Z]{3}$", re.compile(r"\b(?:three|3) (?:capital|upper-?case|lower-?case|small) letters\b|"
                              r"\b(?:three|3)[- ](?:letter|character|char)s?\b[^.]{0,30}\b(?:code|currency|country|"
                              r"airport)|\bISO[- ]?4217\b|\bIATA (?:airport )?code\b", re.IGNORECASE)),
    ("^[A-Z]{2}$", re.compile(rf"{_ALONE}(?:two|2) letters{_AT_END}", re.IGNORECASE)),
    ("^[A-Z]{3}$", re.compile(rf"{_ALONE}(?:three|3) letters{_AT_END}", re.IGNORECASE)),
    ("^#[0-9A-Fa-f]{6}$", re.compile(r"#RRGGBB\b|(?:#|\bhash(?: sign)?|\bpound sign)[`'\"]?,? (?:followed by|and|"
                                     r"then|with|plus) (?:six|6) hex(?:adecimal)?(?: digits| characters)?\b",
                                     re.IGNORECASE)),
    ("^#[0-9A-Fa-f]{6}$", re.compile(r"\b(?:six|6) hex(?:adecimal)? (?:digits|characters)\b[^.\n]{0,24}(?:#|\bhash\b)|"
                                     r"(?:#|\bhash\b)[^.\n]{0,24}\b(?:six|6) hex(?:adecimal)? (?:digits|characters)\b",
                                     re.IGNORECASE)),
    ("", re.compile(r"\bhex(?:adecimal)? (?:code|value)\b(?=[^\n]{0,40}#[0-9a-f]{6}\b)|\bhex(?:adecimal)? RGB\b",
                    re.IGNORECASE)),
    ("", re.compile(r"\b(?:phone )?number in (?:the )?international (?:format|form)\b|"
                    r"^\W*international (?:format|form)\b", re.IGNORECASE)),
    ("", re.compile(r"\bhex (?:code|value) (?:of|for) (?:the |an? )?colou?r|"
                    r"\bhex(?:adecimal)? colou?r|\bcolou?r (?:as|in) (?:an? )?hex", re.IGNORECASE)),
    ("^\\+[1-9]\\d{1,14}$", re.compile(r"\bE\.?164\b", re.IGNORECASE)),
    ("^([01]\\d|2[0-3]):[0-5]\\d$", re.compile(r"\bHH:MM\b(?!:)", re.IGNORECASE)),
    ("^[A-Za-z0-9]{2}$", re.compile(r"\b(?:airline|carrier)(?:'s)? (?:two-letter )?IATA (?:carrier |airline )?(?:code|"
                                    r"designator)\b|\bIATA (?:airline|carrier) (?:code|designator)\b", re.IGNORECASE)),
    ("", re.compile(r"\blat(?:itude)?(?:,? ?and |,\s?)(?:lng|lon|long|longitude)\b(?=[`'\")]|[^;\n]{0,50}"
                    r"\b(?:comma|separated|joined|pair|string)\b)|\bas [`'\"]?lat(?:itude)?,\s?lo?ng?|"
                    r"\b(?:min|west|left|south|x)_?(?:lon|lng|lat|x|1)?,\s?\w{1,12},\s?\w{1,12},\s?\w{1,12}|"
                    r"\b(?:width|w) ?[x×] ?(?:height|h)\b|"
                    r"\b(?:hours?|minutes?|width):(?:minutes?|seconds?|height)\b|"
                    r"(?-i:(?<![\w-])[A-Z]{1,6}[-_/](?:N{3,}|X{3,}|#{3,})(?!\w))", re.IGNORECASE)),
    ("", re.compile(r"(?:^|[:(,;]\s?)(?:only )?(?:(?:small|lower-?case|capital|upper-?case|latin|ASCII) )?letters,? "
                    r"(?:and )?(?:digits|numbers),? (?:and|or) (?:hyphens|dashes|underscores|dots)\b|"
                    r"\b(?:as|in) hex(?:adecimal)?\b(?=[^\n]{0,40}#)|"
                    r"\b(?:start(?:s|ing)?|begin(?:s|ning)?) with (?:a )?(?:\+|plus\b)|\bleading (?:\+|plus\b)|"
                    r"\b(?:number|integer) (?:and|with|plus) an? (?:time )?unit\b|\bBCP[- ]?47\b|"
                    r"\bhex(?:adecimal)?, \d{1,3} (?:characters|digits)\b", re.IGNORECASE)),
    ("", re.compile(r"\b(?:starts|begins) with [`'\"](?!https?)[^`'\"\s]{1,12}[`'\"](?:,| and|, and)? (?:(?:it "
                    r")?is )?(?:followed by|"
                    r"then|plus)\b|(?-i:\b[A-Z#@]\w{0,4}) followed by (?:exactly )?(?:\d{1,2}|two|three|four|five|"
                    r"six|seven|"
                    r"eight|nine|ten|twelve) (?:[\w-]+ )?(?:letters|digits|characters)\b|"
                    r"\b\d{1,2} (?:capital |upper-?case |small |lower-?case )?(?:letters|characters) (?:and|or) "
                    r"digits\b",
                    re.IGNORECASE)),
    ("", re.compile(r"\bmust (?:start|begin) with an? (?:(?:lower|upper)-?case |capital |small )?(?:letter|digit)\b|"
                    r"\bonly (?:contain )?\[?a-z\b(?!-\w{2})", re.IGNORECASE)),
    ("", re.compile(r"\bA1[- ]notation\b|\bCIDR (?:notation|format|block|range)\b|"
                    r"[`'\"(]?\b(?:owner|org|user|namespace|group|key)[/=](?:name|repo|project|value)[`'\")]? "
                    r"(?:form|format|"
                    r"notation|syntax|pairs?)\b", re.IGNORECASE)),
    ("", re.compile(r"\bwrite (?:[\w-]+ ){0,5}(?:like|as) [`'\"]?\d{1,3}[a-z]\d{1,3}[a-z]?[`'\"]?(?=\s*(?:[.,;)]|$))|"
                    r"\bwritten (?:like|as) [`'\"]?(?=[^\s`'\"]*\d)[A-Za-z\d.:/#+-]{3,30}[`'\"]?(?=\s*(?:[.,;)]|$))|"
                    r"\bwritten (?:like|as) [`'\"]?\d{1,3} ?(?:h|m|s|d|w|min|hrs?|days?)\b|"
                    r"\b(?:Go|Prometheus)(?:[- ]style)? durations?\b|"
                    r"\b(?:number|integer|digits) (?:directly |immediately )?followed (?:directly |immediately )?by "
                    r"(?:an? )?(?:time unit|"
                    r"[`'\"]?(?:[smhdwy]|min)\b[`'\"]?(?:,| or\b|/))", re.IGNORECASE)),
    ("", re.compile(r"\bday[./-]month[./-]year\b|\bmonth[./-]day[./-]year\b|\byear[./-]month[./-]day\b|\bISO weeks?\b|"
                    r"^\W*(?:starts|begins) with [`'\"]?(?=[A-Z#@/$\d-])[\w#@/$-]{1,20}[`'\"]? "
                    r"(?:followed|and|then|plus)\b",
                    re.IGNORECASE)),
    ("", re.compile(r"\bHH:MM:SS\b|\b24[- ]?h(?:our|ours)? (?:notation|format|time|clock)\b", re.IGNORECASE)),
    ("", re.compile(r"\b(?:DD?-?MMM-?YY(?:YY)?|YYMMDD|DDMMYY(?:YY)?|MMDDYY(?:YY)?|YYYYMMDD|YYYY-MM(?!-))\b|"
                    r"(?<![\w:/.-])(?:YYYY|JJJJ|AAAA|YY|MM?M?|DD?|TT|JJ|HH?)(?:[./:-](?:YYYY|JJJJ|AAAA|YY|MM|DD|TT|SS)){1,2}(?![\w:/-])|"
                    r"(?-i:(?<![\w.-])(?=(?:[^\w\s]?\w){4})(?:N+|X+|#+|A+)(?:[./: -](?:N+|X+|#+|A+)){1,4}(?![\w#-]))|"
                    r"(?-i:\bas [`'\"]?[A-Z]{3,}(?:[.:@][A-Z]{3,}){1,3}\b)", re.IGNORECASE)),
    ("", re.compile(r"\b(?:must match|match(?:es|ing)?|follows?) (?:the |this )?(?:regex|regular expression|"
                    r"pattern)\b[^.]{0,20}[`'\":/^]|(?:^|[\s`'\":(/])\^[^\s]{3,80}\$")),
    ("", re.compile(r"\bonly (?:contain |contains |consist of |use |allows? )?(?:lower-?case |upper-?case |"
                    r"ASCII )?(?:letters|alphanumeric|digits)\b|\b(?:alphanumeric|digits|"
                    r"hyphens|underscores|dashes|lower-?case)(?: characters| letters)? only\b|"
                    r"\bmust (?:only )?(?:contain|be|"
                    r"consist of) (?:only )?(?:lower-?case|upper-?case|alphanumeric|digits)\b", re.IGNORECASE)),
    ("", re.compile(r"\b\d{1,3}[- ](?:characters?|chars?|digits?)[ -](?:[\w-]+ ){0,2}?hex(?:adecimal)?\b|"
                    r"\b(?:\d{1,3}|eight|sixteen|thirty-two|forty|sixty-four) hex(?:adecimal)? (?:digits|"
                    r"characters)\b|\bhex(?:adecimal)? (?:digits|characters)\b",
                    re.IGNORECASE)),
    ("", re.compile(r"(?<!to )(?<!least )(?<!most )(?<![-–])\b(?:exactly )?(?:[2-9]|1\d|2\d|3\d|40|64|"
                    rf"{_NUMERALS})[- ](?:digit|"
                    r"character hex|char hex)s?\b|\bexactly \d{1,3} (?:digits|characters)\b|"
                    rf"(?<!to )(?<!least )(?<!most )\b(?!two|three)(?:{_NUMERALS}|[4-9]|"
                    r"1\d) (?:digits|figures|numerals)\b", re.IGNORECASE)),
    ("", re.compile(r"(?<!rounded to )(?<!rounds to )(?<!up to )(?<!at most )\b(?:exactly |always )?"
                    r"(?:one|two|three|four|six|[1-8]) (?:decimals|decimal (?:places|digits)|fraction(?:al)? digits|"
                    r"digits (?:after|behind) the (?:decimal )?(?:point|comma|dot|separator))\b|"
                    r"\b(?:no|without(?: any| a)?) thousands? separators?\b|\b(?:point|dot|comma) as (?:the |"
                    r"a )?decimal separator\b|\bdigits (?:with|and) (?:an? |an optional |one )?(?:dot|point|comma|"
                    r"decimal (?:point|comma))\b", re.IGNORECASE)),
    ("", re.compile(r"\bmust (?:start|begin) with (?!https?|[`'\"]https?|(?:the|an?|your|its)\b)[`'\"]?[\w#@/$-]{1,20}|"
                    r"\b(?:in|of|with) the (?:format|form)\b:? ?[`'\"(]?[\w{}<>$#.:/@-]{3,60}|"
                    r"\bformat(?:ted)?(?: as|:| is) ?[`'\"][^`'\"\n]{3,60}[`'\"]")),
)  # fmt: skip


_SIGNS: Final = {
    "hyphen": "-", "dash": "-", "underscore": "_", "slash": "/", "colon": ":", "dot": ".", "hash": "#", "comma": ",",
    "semicolon": ";", "plus": "+", "pipe": "|", "letter x": "x", "x": "x", "point": ".", "full stop": ".",
    "at sign": "@",
}  # fmt: skip
_COUNT = rf"(?:an?|one|{_NUMERALS}|\d{{1,2}})"
_OF_CASE = r"(?:capital|upper-?case|lower-?case|small|latin|check|running)"
_CLASS = rf"(?:(?:{_OF_CASE} )?(?:letters?|digits?|numerals?|characters?)|capitals)"
_COMPOSED: Final = re.compile(
    rf"\b{_COUNT}(?: to {_COUNT})?[ -]{_CLASS}\b|\b(?:{_CLASS}|prefix|year|numbers?)(?=,? (?:then |and |followed by )?"
    rf"(?:an?|one|another) (?:{'|'.join(_SIGNS)})\b)|"
    rf"\b(?:an?|one|another) ({'|'.join(_SIGNS)}|space|blank)\b",
    re.IGNORECASE,
)
"""One of the parts of `two letters, a hyphen and six digits`"""
_NOT_ALWAYS: Final = re.compile(
    r"\b(?:or|if|when|unless|contains?|may|can|optional(?:ly)?|usually|typically)\b", re.IGNORECASE
)


_SIGN = rf"(?P<sign>{'|'.join(_SIGNS)}|space|blank)(?:e?s)?(?: sign| character| mark)?"
_JOINED: Final = tuple(
    re.compile(one.format(_SIGN), re.IGNORECASE)
    for one in (
        r"\b(?:separated|divided|joined|split|connected|delimited) (?:by|with|through) (?:an? |one |the )?{}\b",
        r"\b(?:an? |one |the )?{} (?:in (?:between|the middle)|between(?! words)|(?:after|behind) each)\b",
        r"\b(?:then|followed by|plus|and) (?:an? |one |the ){},? (?:and )?(?:then|followed by|and|plus)\b",
    )
)
"""What stands between the parts of one value: `width, then an x, then height`."""
_MEASURED: Final = word_set(
    "number digit letter figure numeral degree latitude longitude lat lon lng first last lower upper minimum maximum "
    "year month day hour minute second week width height length depth pixel pressure amount count hh mm ss page row "
    "column port code start end from to quarter north south east west integer decimal"
)
_TEXTUAL: Final = word_set(
    "path paths dir directory folder file filename query url uri address text body title name names label message "
    "notes content filter expression sql search q topic headers"
)
"""What has signs in it by nature."""


def _joined(argument: Argument, sentence: str) -> str:
    """The words that tell a sign between the parts of a value, where the parts are numbers or the examples have it."""
    found = next(filter(None, (one.search(sentence) for one in _JOINED)), None)
    if found is None or argument.kind == "array" or find_packed(argument, sentence):
        return ""
    sign = _SIGNS.get(found["sign"].lower(), " ")
    around = f"{sentence[: found.start()]} {sentence[found.end() : found.end() + _APART]}"
    measured = sum(singular(word) in _MEASURED or unit_of(word) != "" for word in {*words_of(around)})
    shown = shown_texts(argument, sentence)
    if any(sign not in one for one in shown) or _NOT_ALWAYS.search(sentence) or is_example(sentence, found.start()):
        return ""
    measured += found.re is _JOINED[1] and sign not in " ,.-"
    return found[0] if measured > (sign in " ,.") or any(re.search(r"\d", one) for one in shown) else ""


_DRAWN: Final = re.compile(r"(?<![\w:/.<{])[A-Za-z]+( x | ?[×:/+@#] ?)[A-Za-z]+(?:\1[A-Za-z]+)*(?![\w:/.>}])")
_BETWEEN: Final = re.compile(r"[^\w\s]|(?<=[\d ])x(?=[\d ])")


def _drawn(argument: Argument, sentence: str) -> str:
    """The words that stand as the values do, with the same sign between them: `columns x rows, e.g. 4x3`."""
    shown = [_BETWEEN.findall(one) for one in shown_texts(argument, sentence) if re.search(r"\d", one)]
    for drawn in _DRAWN.finditer(sentence):
        if is_example(sentence, drawn.start()):
            continue
        even = not drawn[1].endswith(" ") or drawn[1].startswith(" ")
        signs = _BETWEEN.findall(drawn[0])
        if even and signs and signs in shown and all(one == signs for one in shown):
            return "" if _NOT_ALWAYS.search(sentence) else drawn[0]
    return ""


def _told_in_words(argument: Argument, text: str) -> str:
    """The words that tell how a value is made up of letters, digits and signs, where its examples are made up so."""
    if not _TEXTUAL.isdisjoint(words_of(argument.name)[-1:]):
        return ""
    for sentence in re.split(r"(?<!e\.g)\.\s", text)[:3]:
        parts = [*_COMPOSED.finditer(sentence)]
        signs = [_SIGNS.get(one[1].lower(), " ") for one in parts if one[1]]
        classes = [one[0] for one in parts if not one[1]]
        joined = _joined(argument, sentence)
        if joined or (joined := _drawn(argument, sentence)):
            return joined
        if not classes or len(parts) < 2 or _NOT_ALWAYS.search(sentence) or is_example(sentence, parts[0].start()):
            continue
        far = any(two.start() - one.end() > _APART for one, two in pairwise(parts))
        if not far and all(signs[0] in one for one in shown_texts(argument, text) if signs):
            return sentence[parts[0].start() : parts[-1].end()]
    return ""


_APART = 60
"""Letters between two parts of a value that are told in one breath."""


_MOMENT = r"(?:YYYY|MM|DD|HH?|SS)(?:[:./-](?:YYYY|MM|DD|HH?|SS)){1,2}"
_MASKS: Final = re.compile(
    rf"(?<![\w:/.-]){_MOMENT}(?: ?[-–/] ?{_MOMENT})?(?:\.m{{1,3}}|\.S{{1,3}})?(?![\w:/-])", re.IGNORECASE
)
_IS_SPAN_OR_LENGTH: Final = re.compile(rf"{_MOMENT}( ?[-–/] ?){_MOMENT}|mm:ss(?:\.\w+)?", re.IGNORECASE)


def _find_mask(text: str) -> str:
    """The mask of a span or of a length of time, `HH:MM-HH:MM` or `mm:ss`, where a text has no other."""
    found = [one for one in _MASKS.finditer(text) if not is_example(text, one.start())]
    if _is_open(text) or not found:
        return ""
    masks = {one[0] for one in found}
    alone = len(masks) == 1 and not IS_CASE.search(text[: found[0].start()])
    return found[0][0] if alone and _IS_SPAN_OR_LENGTH.fullmatch(found[0][0]) else ""


def _mask_advice(mask: str, shown: Sequence[str]) -> str:
    """A pattern with a digit for each letter, where the values that are shown fit it."""
    digits = re.sub("[A-Za-z]+", lambda letters: f"\\d{{{len(letters[0])}}}", re.escape(mask).replace("\\-", "-"))
    fits = shown and all(re.fullmatch(digits, one) for one in shown)
    return f'add "pattern": "^{digits}$"' if fits else _PATTERN_ADVICE


_MAY_BE_BLANK: Final = re.compile(
    r"\b(?:leave|pass|give|set(?: it)? to|use|send)(?: it| this)?(?: an?)? (?:empty|blank)\b|\bempty string\b|"
    r"(?<!\w)(?:''|\"\")(?!\w)",
    re.IGNORECASE,
)
"""An empty text is a value too, which no format takes."""


_REFUSED: Final = re.compile(
    r"[^.;\n]{0,120}\b(?:is|are) (?:not|never) (?:resolved|accepted|supported|allowed|valid|taken|permitted|"
    r"understood)\b",
    re.IGNORECASE,
)


def _is_open(text: str) -> bool:
    """Whether another form counts as well."""
    text = _REFUSED.sub(" ", text)
    return _OTHER_FORMS.search(text) is not None or _MAY_BE_BLANK.search(text) is not None


_FAMILY: Final = re.compile(r"\bISO\b", re.IGNORECASE)
"""A name for many forms, not one that a pattern could tell: `ISO 8601`."""
_ZONE_BESIDE: Final = word_set("timezone tz timezoneid")
_LANGUAGES: Final = word_set("lang language locale hl")
_COSTLY: Final = re.compile(r"\bsem(?:antic )?ver|\*(?: \*){3}", re.IGNORECASE)
"""What everybody knows, and whose pattern is long: versions, cron expressions."""
_OTHER_ID: Final = re.compile(r"['\"`](?![0-9a-f]{1,8}-|[0-9a-f]{8})[A-Za-z][\w.-]{2,60}['\"`]")
"""An example of an ID that is no UUID: `"ord-1234-…"`."""
_IS_JSON: Final = re.compile(r"\W*(?:an? |the )?(?:JSON[- ]encoded|stringified)\b", re.IGNORECASE)
"""What follows is said of parts of the value."""


def find_form(argument: Argument, text: str, calls: str = "") -> Iterator[Hit]:
    """`calls`: the description of the tool, whose examples pass values too."""
    text = re.sub(r"\bdate and time\b", "date-time", text)
    if not is_free(argument):
        return
    words = _told_in_words(argument, text) or _find_mask(text)
    if words:
        told = f"only the text gives the form of {quote_name(argument.name)}: {quote_text(words)}"
        yield Hit("RC303", told, _mask_advice(words, shown_texts(argument, text)), argument.path)
        return
    if _is_open(text) or _IS_JSON.match(text) or alternatives_in(text, argument.name):
        return
    for name, pattern in _FORMATS:
        found = pattern.search(text)
        if found is None or (is_example(text, found.start()) and "YYYY" not in found[0]):
            continue
        if name == "uuid" and _OTHER_ID.search(text):
            return
        own = found[0].lower() in ("uuid", "uuids") or found[0].lower().endswith((" of", " for"))
        if own and "uuid" in map(singular, words_of(argument.name)):
            continue  # the server's own word for an ID, in whatever form
        if _IS_OTHER.search(text[: found.start()]) or _OF_RESULT.search(text[: found.start()]):
            return
        if IS_CASE.search(text[: found.start()]) is None and not _DEFAULTS.search(text[: found.start()]):
            shown = " ".join((text, *passed_texts(argument, calls)))
            yield from _formatted(argument, name, found[0], shown, is_local=_LOCAL_TIME.search(calls) is not None)
        return
    if not (found := [*_shaped(argument, text)]) and not _IS_LISTED.match(text):  # else what is told may be of some
        found = [*_patterned(argument, text)]
    yield from found


_SHAPES: Final = (
    ("date", word_set("date day"), r"\d{4}-\d\d-\d\d"),
    (
        "date-time",
        word_set("date time moment timestamp datetime start end at"),
        r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?Z",
    ),
    (
        "",
        word_set("date day time moment start end begin from until at"),
        r"(?:[0-2]\d|3[01])[/.](?:[0-2]\d|3[01])[/.]\d{4}(?: \d\d:\d\d)?",
    ),
    ("", word_set("time hour clock"), r"(?:[01]\d|2[0-3]):[0-5]\d"),
    ("", word_set("color colour"), r"#[0-9A-Fa-f]{6}"),
)
"""Forms that an example alone shows, where the name or the text says what it is."""


def _shaped(argument: Argument, text: str) -> Iterator[Hit]:
    words = {*map(singular, words_of(f"{argument.name} {text[:_APART]}"))}
    shown = shown_texts(argument, text) or re.findall(r"(?<=: )[\d#][\w:-]{3,}(?=\W*$)", text)
    for name, about, shape in _SHAPES:
        if not shown or words.isdisjoint(about) or not all(re.fullmatch(shape, one) for one in shown):
            continue
        if name:
            yield from _formatted(argument, name, shown[0], text, is_local=False)
        elif _LENGTHS.isdisjoint(words):
            told = f"only the text gives the form of {quote_name(argument.name)}: {quote_text(shown[0])}"
            yield Hit("RC303", told, f'add "pattern": "^{shape}$"', argument.path)
        return


_IS_CODE: Final = word_set("query sql statement script command cmd expression")
"""What is written in a language: a pattern of its beginning refuses blanks and small letters."""


def _patterned(argument: Argument, text: str) -> Iterator[Hit]:
    sized = {"minLength", "maxLength"} & (argument.item if argument.kind == "array" else argument.schema).keys()
    if not _IS_CODE.isdisjoint(words_of(argument.name)):
        return
    for pattern, told in _PATTERNS:
        found = told.search(text)
        if found is not None and not is_example(text, found.start()) and not _is_vague(found[0]):
            if (
                sized
                or _OF_RESULT.search(text[: found.start()])
                or IS_CASE.search(text[: found.start()])
                or _IS_DEFAULT.search(text[: found.start()])
            ):
                return
            if "Y" in found[0] and any(
                isinstance(one, str) and one and not re.search(r"\d", one) for one in given_values(argument)
            ):
                return  # the default is no date
            shown = [one for one in shown_texts(argument, text) if one.lower() != argument.name.lower()]
            is_language = not _LANGUAGES.isdisjoint(words_of(f"{argument.name} {found[0]}"))
            if is_language and "[A-Z]{2}" in pattern.upper():
                pattern = ""  # some need a region: `pt-BR`
            if ":" in pattern and not _LENGTHS.isdisjoint(words_of(f"{argument.name} {text}")):
                pattern = ""  # a length of time may have more hours than a day
            if pattern and any(re.match(pattern, one, re.IGNORECASE) is None for one in shown):
                return  # the text has values of another form
            said = _SAYS_CASE.search(text)
            if said is not None and not shown and said[0].lower().startswith(("lower", "small")):
                pattern = pattern.replace("[A-Z]", "[a-z]")
            elif not _CAPITALS.search(text) or (not shown and said is None):
                pattern = pattern.replace("[A-Z]", "[A-Za-z]").replace("[a-z]", "[A-Za-z]")  # either may be taken
            exact = pattern and all(map(re.compile(pattern).match, shown))
            exact = exact and not ("#" in pattern and _BARE_HEX.search(text))
            advice = f'add "pattern": "{pattern}"' if exact else _PATTERN_ADVICE
            advice += " (on `items`)" if argument.kind == "array" else ""
            yield Hit(
                "RC303",
                f"only the text gives the form of {quote_name(argument.name)}: {quote_text(found[0])}",
                advice,
                argument.path,
                certain=not _COSTLY.search(found[0])
                and (not shown or not is_language)
                and not _IN_PROSE.search(text[found.start() : found.end() + 60]),
            )
            return


_IN_PROSE: Final = re.compile(
    r"[`'\"](?!lat)[A-Za-z]+(?: [A-Za-z]+)+[`'\"]|[`'\"]example\.\w|"
    r"[`'\"](?!lat)\w+(?: \w+)*, \w+(?: \w+)*",
    re.IGNORECASE,
)
"""`formatted as 'City, State'`: words in an order, which no pattern helps with."""
_LENGTHS: Final = word_set("duration length elapsed spent effort worked estimate estimated")
_CAPITALS: Final = re.compile(r"\b(?:upper|lower)[- ]?case|\bcapital|\bISO\b|\bIATA\b", re.IGNORECASE)
_SAYS_CASE: Final = re.compile(r"\b(?:upper|lower)[- ]?case|\bcapital|\bsmall letters", re.IGNORECASE)
_DEFAULTS: Final = re.compile(r"\bdefaults?\b[^.;\n]{0,50}$", re.IGNORECASE)
"""What follows is the form of the default alone."""
_IS_DEFAULT: Final = re.compile(r"\bdefaults?(?: \w+)? ?(?:is|to|:|=)[^.;\n]{0,40}$", re.IGNORECASE)
_PATTERN_ADVICE: Final = "add a `pattern` that says so, anchored with `^` and `$`"
_BARE_HEX: Final = re.compile(r"(?<![#\w])[0-9A-Fa-f]{6}\b|\bwithout\b")


def _formatted(argument: Argument, name: str, found: str, text: str, *, is_local: bool) -> Iterator[Hit]:
    """The finding for a format that JSON Schema has a name for. One that a value of the definition itself would break
    is not proposed; times without a zone need a pattern instead. `is_local`: the tool has one for another argument."""
    shown, told = quote_name(argument.name), quote_text(found)
    values = shown_dates(argument, text) if name in ("date", "date-time") else shown_texts(argument, text)
    if name == "date-time" and (_LOCAL_TIME.search(text) or (is_local and not values and not _ZONED.search(text))):
        if not any(fits_format(one, "date") for one in values):
            why = f"only the text gives the form of {shown}: {told}"
            yield Hit("RC303", why, _PATTERN_ADVICE, argument.path, certain=not _FAMILY.search(found))
        return
    words = {*words_of(argument.name), *words_of(text)}
    beside = {one.lower().replace("_", "") for one in argument.siblings}
    if name == "date-time" and not beside.isdisjoint(_ZONE_BESIDE):
        return  # the zone is an argument of its own
    either = (
        name == "date-time"
        and "RFC" not in found
        and "date" in words
        and words.isdisjoint(("time", "datetime", "timestamp", "hh"))
    )
    either = either or (name == "date" and "YYYY" not in found.upper() and "iso" in found.lower())
    either = either and not re.search(r"(?<![A-Za-z])YYYY-MM-DD(?![A-Za-z-]|[T ]?HH)", text)
    if name == "date-time" and not either and re.search(r"\(YYYY-MM-DD\)", text):
        name = "date"
    names = ["date", "date-time"] if either else [name]
    if name == "date" and "YYYY" not in found and values and not any(fits_format(one, "date") for one in values):
        names = ["date-time"]
    if name == "ipv4" and "v4" not in found.lower():
        names = ["ipv4", "ipv6"]
    fitting = [one for one in names if all(fits_format(value, one) for value in values)]
    if fitting == ["uri"]:  # which OpenAI's strict mode refuses
        begins = any(word in text.lower() for word in ("http", "protocol", "scheme"))
        fix = 'add "pattern": "^https?://"' if begins else 'add "format": "uri"'
        yield Hit("RC302", f"only the text gives the format of {shown}: {told}", fix, argument.path, certain=begins)
    elif fitting:
        fix = f'add "format": {" or ".join(render_json(one, 20) for one in fitting)}'
        unzoned = "date-time" in fitting and not values and _ZONED.search(text) is None
        fix += " to `items`" if argument.kind == "array" else ""
        fix += " (which needs a time zone)" if unzoned else ""
        certain = not unzoned or len(fitting) > 1 or "8601" in found  # `ISO datetime` may be a local time
        if either and name == "date-time" and fitting == ["date"]:
            certain = False  # the day is an example of ISO 8601
        yield Hit("RC302", f"only the text gives the format of {shown}: {told}", fix, argument.path, certain=certain)


_ZONED: Final = re.compile(r"\bzone\b|\btimezone\b|\boffset\b|\bUTC\b|RFC[- ]?3339|SSZ\b|Z\b", re.IGNORECASE)


def fits_format(value: str, name: str) -> bool:
    """Whether a value has a format of JSON Schema."""
    import jsonschema_rs  # late: only what compiles a schema pays for it

    return jsonschema_rs.Draft202012Validator({"format": name}, validate_formats=True).is_valid(value)


def _is_vague(found: str) -> bool:
    """`in the format of a list`, `in the format specified`: no form that could be a pattern."""
    last = re.split(r"[\s:]+", found.strip())[-1].strip("`'\"(")
    return (
        found.lower().startswith(("in the form", "of the form", "with the form")) and last.isalpha() and last.islower()
    )
