"""RC313, RC315: a list or an object that an argument takes as text, with separators or as JSON.

What a text holds by nature promises nothing: the contents of a file, a position, a name in two parts.
"""

from __future__ import annotations

import re
from typing import Final

from rightcall.gate.repair.words import singular, words_of
from rightcall.lint.definitions import Argument
from rightcall.lint.findings import Hit, bare, quote_name, word_set

_SIGN = r"(?:comma|semicolon|pipe|bar)"
_BLANK = r"(?:(?:white)?space|blank|new ?line|line break|tab)"
_APART = "separated|delimited|divided|joined|split"
_THING = r"(?:(?:name|id|item|value|url|address|tag|key|entry|path) )?"
_SEPARATED: Final = re.compile(
    rf"(?<!not )(?<!no )\b(?:{_SIGN}|(?P<blank>{_BLANK}))s?[- ](?:{_APART})\b|"
    rf"\b(?:separate[d]?|{_APART}|separate them) (?:by|with|using|through|on) (?:an? |single )?"
    rf"(?:{_SIGN}s?\b|(?P<blanks>{_BLANK})s?\b|[,;|](?=\W|$))|"
    rf"\b(?:with|put|and) (?:an? |one )?{_SIGN}s?(?: sign| character)? "
    rf"(?:(?:in )?between|after each|behind each)\b|\bCSV (?:list |string )?of\b|\bcomma list\b|"
    rf"\b{_SIGN}s? to separate\b|(?P<lines>\b(?:one|each) {_THING}(?:per|on each|on its own|on a) line\b)|"
    rf"\bno (?:blanks|spaces) (?:after|around) the {_SIGN}s\b",
    re.IGNORECASE,
)
_SHOWN_LIST: Final = re.compile(
    r"\b(?:e\.?g\.?|for example|for instance|such as|like|examples?)[,:]? (?!\d{1,3}(?:,\d{3})+(?![\w,]))"
    r"[\w.@/:-]+(?:,[\w.@/:-]+)+(?=[\s).;]|$)",
    re.IGNORECASE,
)
"""A list that only an example shows: `e.g. red,round`."""
_BEGINS: Final = re.compile(
    rf"\W*(?:{_SIGN}s?[- ](?:separated|delimited) (?:list|string|names|ids|values|tags|keys)\b|"
    rf"(?:list|names|ids|values|tags|keys)\b[^.;(\n]{{0,40}}(?:, | \(| )"
    rf"(?:{_SIGN}s?[- ]separated|separated by {_SIGN}s)\b)",
    re.IGNORECASE,
)
"""The whole value, whatever its name."""
_OF_PARTS: Final = re.compile(
    r"\b(?:lat|lng|lon|latitude|longitude|coordinates?|bounding|bbox|x,\s?y|rgb|csv (?:content|data|text|file)|files?\b"
    r"(?= (?:content|with))|contents?|rows?|lines?|each|column values)\b|\bfile\b(?! (?:ids?|names?|paths?|keys?)\b)",
    re.IGNORECASE,
)
"""Parts of one value, or of a file."""
_WRITTEN: Final = word_set(
    "words terms keywords scopes args arguments flags options params parameters classes characters letters digits "
    "variables headers cookies notes statements sentences contents details instructions steps commands"
)
"""What has blanks or lines in it by nature."""
_PLACES: Final = word_set("coordinate coordinates bounds bbox box point position location latlng content contents csv")
_SINGLE_TOO: Final = re.compile(
    r"\bor (?:single|one|all|\*)|\bone [\w-]+ or\b|\bsingle\b|\b(?:raw|verbatim|as it is|as[- ]is)\b|"
    r"\bor (?:JSON )?(?:array|list)\b|\b(?:JSON )?array or\b",
    re.IGNORECASE,
)

# ── JSON ──

_KIND = r"(?:string|text|object|array|list|map|dictionary|dict)"
_ENDS = r"(?=\s*(?:[.,;:)({]|$|\n|with\b|of\b|holding\b|containing\b|whose\b|that\b|e\.g\b|for example\b|like\b))"
_IN_JSON: Final = re.compile(
    rf"^\W*(?:valid )?JSON[- ](?:encoded |formatted |seriali[sz]ed )?{_KIND}\b(?! (?:path|pointer|schema))|"
    r"^\W*JSON with (?:keys|fields|properties|entries)\b|"
    rf"\b(?:as|in|(?<!may )(?<!can )(?<!could )be|is|into|to) (?:an? |the )?(?:valid |stringified |seriali[sz]ed )?JSON"
    rf"(?:[- ](?:encoded|formatted|seriali[sz]ed))?(?: {_KIND}| format| form| notation)?(?: {_KIND})?{_ENDS}|"
    rf"[.,:–-] (?:valid )?JSON(?:[- ](?:encoded|formatted))?(?: {_KIND})?{_ENDS}|"
    r"^\W*JSON\W*$|\(JSON(?:[- ][\w ]{1,20})?\)|\bJSON[- ]encoded\b|\bstringified (?:JSON|object|array|list|map)\b|"
    r"\b(?:JSON|object|array|list|map)\b[^.;\n]{0,24}\bstringified\b|\bseriali[sz]ed JSON\b|"
    r"\bJSON (?:objects?|arrays?|lists?|map|dict(?:ionary)?|structure)\b[^.;\n]{0,24}\b(?:seriali[sz]ed|encoded|dumped|"
    r"passed|given|written|sent|turned) (?:to|as|into|in) (?:string|text)\b",
    re.IGNORECASE,
)
_OTHER_JSON: Final = re.compile(
    r"\bJSON (?:file|path|pointer|schema|lines|document|response|output|API|RPC|patch|query|5|logic)\b|"
    r"\bJSON-?(?:RPC|LD|L)\b|"
    r"\b(?:returns?|returned|responses?|outputs?|results?|format of|path|file|filename|url|address that|"
    r"to (?:validate|format|check|parse|convert|lint|test|minify|prettify|read))\b|"
    r"\b(?:or|and|,) (?:YAML|XML|CSV|TOML|SQL)\b|\bor (?:an? )?(?:text|plain|HTML|markdown)\b|"
    r"\b(?:YAML|XML|CSV|text|markdown|SQL),? or JSON\b|"
    r"\bJSON,? (?:or|and|/) ",
    re.IGNORECASE,
)
"""JSON that is the subject itself, or one form among others."""
_HOLDS_TEXT: Final = word_set(
    "json content contents document text body code script file path url uri format type output template message prompt "
    "schema pointer expression query jsonpath response raw source html input"
)
"""Names of values that are text by nature."""


_AS_STRING: Final = re.compile(r"\bJSON\.stringify\b|\bJSON-encoded as a string\b", re.IGNORECASE)
"""The author knows that it is text."""
_OF_SERVICE: Final = word_set("dsl data sql payload")
"""What services themselves take as text."""
_OF_ANSWER: Final = (("fields",), ("include",), ("expand",), ("embed",))
"""What an answer is to hold: services take that in one text."""
_STATEMENTS: Final = (("sql",), ("query",), ("script",), ("code",), ("command",))
"""What has such signs in its own language."""


_LISTS: Final = re.compile(r"\s?\([\w-]+(?:, ?[\w-]+)+")
"""The values behind the sign: `comma-separated (red, green)`."""
_NEXT_WORDS = 24
_NEAR = 4
"""Words at the beginning of a text that say what the value is: `Recipients, separated by commas`."""


def find_packed(argument: Argument, text: str) -> Hit | None:
    """A list or an object that is passed as text. What counts is said of the value in the first two sentences."""
    told = ". ".join(re.split(r"\.\s+", bare(text).split("\n\n", 1)[0])[:2])
    if _SINGLE_TOO.search(told):
        return None
    words, name = words_of(argument.name), quote_name(argument.name)
    begins = re.match(
        rf"\W*(?:valid )?(?:JSON[- ](?:encoded |formatted )?{_KIND}|stringified JSON)\b", told, re.IGNORECASE
    )
    encoded = _IN_JSON.search(told)
    other = encoded is not None and _OTHER_JSON.search(told[: encoded.end() + _NEXT_WORDS])  # keys come later
    if encoded is not None and not other and (begins or _HOLDS_TEXT.isdisjoint(words[-1:])):
        meant = _AS_STRING.search(told) is not None or (words[-1:] and words[-1] in _OF_SERVICE)
        told_kind = re.search(r"\bJSON (object|array)\b", told, re.IGNORECASE)
        fix = f"make it an `{told_kind[1].lower()}`" if told_kind else "make it an `array` or an `object`"
        return Hit("RC315", f"{name} is JSON as text", fix, argument.path, certain=not meant)
    several = bool(words) and singular(words[-1]) != words[-1] and words[-1] not in _WRITTEN
    found = _SEPARATED.search(told) or (_SHOWN_LIST.search(told) if several else None)
    if (
        found is None
        or _OF_PARTS.search(told.replace(found[0], " "))
        or not _PLACES.isdisjoint(words)
        or words[-1:] in _OF_ANSWER
        or words[-1:] in _STATEMENTS
    ):
        return None
    if found.re is _SHOWN_LIST or found["blank"] or found["blanks"] or found["lines"]:
        return Hit("RC313", f"{name} is a list as text", "make it an `array`", argument.path) if several else None
    before = words_of(told[: found.start()])
    plural = any(singular(word) != word for word in before[:_NEAR]) and len(before) <= _NEAR + 2
    if (
        _BEGINS.match(told)
        or _LISTS.match(told, found.end())
        or plural
        or any(singular(word) != word for word in words[-2:])
    ):
        return Hit("RC313", f"{name} is a list as text", "make it an `array`", argument.path)
    return None
