"""RC313, RC315: lists and objects that are passed as text. And texts that are meant as yes or no, for RC306."""

from __future__ import annotations

import re
from typing import Final

from rightcall.gate.repair.words import singular, words_of
from rightcall.lint.definitions import Argument
from rightcall.lint.findings import Hit, quote_name, word_set

_IN_JSON: Final = re.compile(
    r"\W*(?:\(?optional\)?[:,.]? )?(?:an? |the )?(?:JSON[- ](?:encoded |formatted )?(?:array|object|list|"
    r"string)\b(?! (?:path|pointer|schema))|stringified JSON\b|(?:array|list|object|map|dictionary)\b"
    r"[^.;\n]{0,60}\bas (?:an? )?(?:JSON|stringified|JSON[- ]encoded)\b)",
    re.IGNORECASE,
)
"""The text begins with it: the whole value is a list or an object, packed into a text."""
_AS_JSON: Final = re.compile(
    r"[^.\n]{0,80}?(?:\bas (?:an? )?(?:JSON[- ]encoded|stringified|serialized JSON|JSON (?:string|object|array|list|"
    r"text))\b|"
    r"\((?:as )?(?:an? )?JSON[- ](?:encoded|string)[^()\n]{0,30}\)|\bJSON (?:object |string )?with the (?:keys|"
    r"fields)\b)",
    re.IGNORECASE,
)
"""`Address of the recipient, as a JSON string`"""
_DOCUMENT: Final = re.compile(
    r"\b(?:files?|paths?|pointers?|schemas?|documents?|output|returns?|returned|exports?|formats?|responses?|"
    r"results?|download|"
    r"or|body|payload|raw|to (?:parse|check|validate|format))\b",
    re.IGNORECASE,
)
"""JSON that is a text of its own, or one of several forms."""
_COMMAS: Final = re.compile(
    r"\b(?:comma|semicolon)[- ](?:separated|delimited)\b|\b(?:separated|delimited|divided) by (?:commas?|"
    r"semicolons?)\b|"
    r"\bwith commas between\b",
    re.IGNORECASE,
)
_ONE_VALUE: Final = re.compile(
    r"\b(?:not|without|CSV|coordinates?|lat\w*|lng|lon\w*|rows?|columns?|thousands|decimal|x ?, ?y|bounding|bbox|"
    r"range)\b",
    re.IGNORECASE,
)
_MEASURED: Final = word_set("bounds coords coordinates dimensions dims")
_SINGLE_TOO: Final = re.compile(
    r"\bor (?:an? )?(?:single|one|'all'|\"all\"|`all`|\*)|\bsingle\b|\bone or more\b|"
    r"\b(?:raw|verbatim|as it is|as[- ]is)\b",
    re.IGNORECASE,
)
_YES_OR_NO: Final = re.compile(
    r"[`'\"]?(?:Y|yes)[`'\"]? (?:if|to|when|for)\b[^.\n]{0,80}\b[`'\"]?(?:N|no)[`'\"]?(?: otherwise| if| to| when|"
    r" for|\W|$)|"
    r"(?:[^.\n]{0,60}(?:[:(–—]|\b(?:either|must be|is)) ?)?[`'\"]?(?:Y|yes)[`'\"]?(?: or |/| \| |\||, )[`'\"]?(?:N|"
    r"no)[`'\"]?"
    r"\W*(?:$|[.)\n])",
)
"""`Y if …, N otherwise`; `yes or no`"""


def is_yes_or_no(text: str) -> bool:
    return _YES_OR_NO.match(text[:1].lower() + text[1:] if text.startswith(("Yes", "No")) else text) is not None


def find_packed(argument: Argument, text: str) -> Hit | None:
    """A list or an object that is passed as text."""
    if _SINGLE_TOO.search(text):
        return None
    name, sentence = quote_name(argument.name), re.split(r"\.\s|\n", text)[0]
    if _IN_JSON.match(text) or (_AS_JSON.match(text) and not _DOCUMENT.search(sentence)):
        return Hit("RC315", f"{name} is JSON as text", "make it an `array` or an `object`", argument.path)
    words = words_of(argument.name)
    several = bool(words) and singular(words[-1]) != words[-1] and words[-1] not in _MEASURED
    if several and _COMMAS.search(sentence) and not _ONE_VALUE.search(re.sub(_NO_BLANKS, "", sentence)):
        return Hit("RC313", f"{name} is a list as text", "make it an `array`", argument.path)
    return None


_NO_BLANKS: Final = re.compile(r"\b(?:without|no|not) (?:any )?(?:blanks?|spaces?|whitespace|quotes)\b", re.IGNORECASE)
