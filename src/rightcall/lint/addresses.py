"""RC302 for addresses: an argument whose name or text says plainly that the value is an email address or a URL.

A text that allows anything else beside it, a part of one, or several in one text promises nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rightcall.gate.repair.words import words_of
from rightcall.lint.choices import MOST_TEXT
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.findings import Hit, quote_name, quote_text, word_set
from rightcall.lint.forms import fits_format, is_free
from rightcall.lint.samples import passed_texts, shown_texts

_BEFORE = (
    r"\W*(?:optional\W{1,3})?(?:(?!of\b|to\b|for\b|in\b|by\b|with\b|from\b|on\b|at\b|use\b|if\b)[\w'’:/-]{1,20} ){0,4}"
)
_EMAIL: Final = re.compile(
    rf"{_BEFORE}e-?mail address(es)?\b(?! (?:id|book|list|type|domain))|"
    r"\W*(?:the )?e-?mail of (?:the|an?|your|each) (?!message|letter|thread)\w+(?=\s*(?:[.,;(]|$| to\b| who\b))|"
    r"\W*(?:the |an? )?\w+(?:'s|s'|’s) e-?mails?(?=\s*(?:[.,;(]|$))",
    re.IGNORECASE,
)
_URL: Final = re.compile(
    rf"{_BEFORE}UR[LI](s)?\b(?![- ](?:path|slug|structure|pattern|prefix|suffix|parameter|template|fragment|key|name|"
    r"encod|safe|query|segment|id\b|title|scheme|component|part\b|handle|alias|friendly))",
    re.IGNORECASE,
)
_OTHERWISE: Final = re.compile(
    r"\b(?:or|either|and/or|comma|separated|partial|relative|domain|slug|pattern|wildcard|regex|glob|template|placeholder|"
    r"substring|contain\w*|filter\w*|search\w*|match\w*|look ?up|empty|blank|null|usually|typically|namespace|jdbc|"
    r"(?:should|must) be https?|"
    r"bare|localhost|file|paths?|git|repo\w*|clone|ssh|base|data:|connection|database|endpoint|username|"
    r"alias|identifier|ids?)\b|/\s?(?:name|id|path)\b|\b(?!https?:)[a-z][a-z0-9]{1,7}://|<[^>\s]+>|[{*]",
    re.IGNORECASE,
)
"""The value may be something else, or several addresses, or a part of one."""
_MESSAGE: Final = re.compile(
    r"\b(?:body|content|contents|message|text|draft|subject|reply|html|to send)\b", re.IGNORECASE
)
"""An email that is a letter."""
_NAMED: Final = re.compile(r"\b(?:from|sender|reply)\b", re.IGNORECASE)
"""Who sends a mail is often written with a name: `Ann <ann@example.org>`."""


_NO_ADDRESS: Final = word_set("regex regexp pattern patterns glob prefix suffix path paths template")
"""A part of an address, or what many of them fit."""


_SCHEME: Final = re.compile(
    r"https?\b(?! ?(?:\d|status|codes?\b|errors?\b|requests?\b|responses?\b|methods?\b|headers?\b|calls?\b|verbs?\b))",
    re.IGNORECASE,
)
"""And not what is said of the protocol: `answers with HTTP 402`."""


def find_address(argument: Argument, tool: ToolView) -> Iterator[Hit]:
    """An email address or a URL that nothing but the name or the text tells."""
    several = argument.kind == "array"
    inner = argument.item.get("description")
    text = inner if several and isinstance(inner, str) and inner else argument.description
    text = text[:MOST_TEXT]
    if (
        not text.strip()
        or not is_free(argument)
        or tool.is_strict
        or not _NO_ADDRESS.isdisjoint(words_of(argument.name))
        or _OTHERWISE.search(f"{argument.description[:MOST_TEXT]} {text}")
    ):
        return
    kind, by_text = _told(argument, text, several and text == argument.description)
    if not kind:
        return
    begins = kind == "uri" and _SCHEME.search(text) is not None
    by_text = by_text or begins or (kind == "email" and "mail" in text.lower())
    calls = passed_texts(argument, tool.description[:MOST_TEXT])
    if not all(fits_format(one, kind) for one in (*shown_texts(argument, text), *calls)):
        return
    who = (
        f"text says that {quote_name(argument.name)}"
        if by_text
        else f"name of {quote_name(argument.name)} says that it"
    )
    told = f"only the {who} is {_WORDS[kind]}{f': {quote_text(text)}' if by_text else ''}"
    key = '"pattern": "^https?://"' if begins else f'"format": "{kind}"'
    certain = begins or kind != "uri"  # a format that OpenAI's strict mode refuses
    yield Hit("RC302", told, f"add {key}{' to `items`' if several else ''}", argument.path, certain=certain)


_WORDS: Final = {"email": "an email address", "uri": "a URL"}


def _told(argument: Argument, text: str, many: bool) -> tuple[str, bool]:
    """The format that name or text tells, and whether the text does; `many`: the text is about a list."""
    words = words_of(argument.name)
    mail, url = _EMAIL.match(text), _URL.match(text)
    if (mail is not None or words[-1:] == ("email",)) and _NAMED.search(f"{' '.join(words)} {text}"):
        return "", False
    if mail is not None and many is bool(mail[1]):
        return "email", True
    if url is not None and many is bool(url[1]):
        return "uri", True
    if mail is not None or url is not None:
        return "", False
    last = words[-1] if words else ""
    if (last == ("emails" if many else "email") or words[-2:] == ("email", "address")) and not _MESSAGE.search(text):
        return "email", False
    named = last == ("urls" if many else "url") and not {"base", "path", "repo", "git"} & {*words}
    return "uri" if named else "", False
