"""RC903: texts that cannot be the same in the next request: the time, a session, how old something is.

One list shows them: nobody has to ask the server twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from rightcall.lint.choices import is_example
from rightcall.lint.definitions import ToolView
from rightcall.lint.findings import Hit, Steps, quote_name, quote_text

MOST_TEXT: Final = 20_000
"""Characters of a text that are read."""
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_DAY = (
    rf"(?:\d{{4}}[-/]\d\d[-/]\d\d|\d{{1,2}}\.? {_MONTH},? \d{{4}}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}|"
    r"\d{1,2}[./]\d{1,2}[./]\d{4})"
)
_STAMP = rf"\w{{3}},? (?:{_MONTH} +\d{{1,2}}|\d{{1,2}} {_MONTH})"
_CLOCK = r"\d{1,2}:\d\d"
_DONE = r"generated|refreshed|updated|built|indexed|synced|synchronized|loaded|cached|fetched|started|connected"
_TEMPORARY = r"(?<![\w/])/(?:private/)?tmp/tmp[a-z0-9_]{6,}|(?<!\w)/var/folders/\w\w/\w+|\\Temp\\tmp\w{4,}"
_QUOTA = "quota|credits?|requests?|calls?|tokens?|balance|budget|queries|searches|messages"
_NUMBER = r"\d[\d,]{0,14}"
_COUNT = rf"\b{_NUMBER} (?:(?:out )?of (?:your |the )?{_NUMBER} (?:\w+ )?)?(?:\w+ )?(?:{_QUOTA})"
_NOW = "online|open|active|running|connected|waiting|queued"
_LEFT = "(?:left|remaining)"
_CHANGING: Final = re.compile(
    rf"\b(?:current|local|server|system|present) (?:UTC )?(?:date|time|day|date and time|date-?time|timestamp)"
    rf"(?: \([A-Z]{{2,4}}\))?\s?(?:is|:|=)\s{{0,2}}(?:\w+day,? )?(?:{_DAY}|{_CLOCK})|"
    rf"\btoday(?:'s date)?(?: is|:)\s?(?:\w+day,? )?(?:the )?{_DAY}|\b(?:it is now|now:) (?:{_DAY}|{_CLOCK}|{_STAMP})|"
    rf"\b(?:as of|{_DONE})(?: at| on|:)? {_DAY}[T ,]+(?:at )?{_CLOCK}|"
    rf"\b(?:seen|{_DONE})(?: about)? (?:\d+|an?|one) (?:seconds?|minutes?|hours?|days?) ago\b|"
    rf"{_TEMPORARY}|"
    rf"\b(?:you have |with )?{_NUMBER} unread (?:messages?|mails?|emails?|notifications?)\b|"
    rf"\b{_NUMBER} \w+ (?:are|is) currently (?:{_NOW}|available|indexed)\b|"
    rf"(?:^|[.\n]\s{{0,9}})date:\s\w+day,? {_DAY}|"
    rf"\bthere (?:are|is) (?:currently )?{_NUMBER} \w+[^.\n]{{0,30}}\b(?:right now|at the moment|currently)\b|"
    rf"{_COUNT} {_LEFT}(?=\s*(?:[.,;)!]|$)| (?:this|today|until|for this)\b)|"
    rf"\b(?:remaining|left)(?: \w+)? (?:{_QUOTA})\b\W{{0,2}}(?:is |are )?\d|"
    rf"\b(?:{_QUOTA}) (?:left|remaining)\s?(?:is|are|:|=)\s?\d|"
    rf"\bcurrently,? {_NUMBER} (?:\w+ ){{1,2}}(?:are )?(?:{_NOW}|logged in)\b|"
    r"\b(?:signed|logged) in as [\w.+-]{1,64}@[\w-]+\.\w+",
    re.IGNORECASE,
)
_RUNS = "session|connection|instance|conversation|request|run|process"
_OF_RUN: Final = re.compile(
    rf"\b(?:{_RUNS})(?: ?(?:id|token|key))?\b\W{{0,3}}(?:is )?[0-9a-f][0-9a-f-]{{18,62}}[0-9a-f]\b|"
    rf"\byour (?:{_RUNS})(?: ?(?:id|token|key))?(?: is|:)\s[`'\"]?(?=[\w-]{{0,40}}\d)[\w-]{{6,64}}|"
    r"\buptime\s?(?:is|of|:|=)\s?\d|\bup for \d+ (?:seconds|minutes|hours|days)\b|"
    r"[(\[]pid[ :=]{1,2}\d{2,7}[)\]]|"
    r"\b(?:running|started|listening|server|process)\b[^.\n]{0,30}\bpid[ :=]{1,2}\d{2,7}\b",
    re.IGNORECASE,
)
"""What one run of a server has. It counts in brackets too."""
_SAMPLE: Final = re.compile(r"123e4567|550e8400|0{8}|x{4}|12345|abcdef|deadbeef", re.IGNORECASE)
_MADE: Final = re.compile(
    rf"{_TEMPORARY}|\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.(?!0+(?!\d))\d{{3,9}}(?!\d)|"
    r"^(?:/home/|/Users/|[A-Za-z]:[\\/]Users[\\/])"
    r"(?!(?:user|users?name|you|your\w*|me|name|shared|public|default|ubuntu|node|app|runner|vscode|coder|jovyan|admin|"
    r"example|test|sandbox|agent|workspace|[<{$%]\w*)\b)[\w.-]{2,40}(?=[\\/]|$)",
    re.IGNORECASE,
)
"""Defaults that one run made, or that are there on one machine."""


def check(tool: ToolView) -> Iterator[Hit]:
    texts: list[tuple[Steps, str]] = [(tool.at("description"), tool.description)]
    texts += [((*one.path, "description"), one.description) for one in tool.arguments]
    for path, text in texts:
        places = chain(_CHANGING.finditer(text[:MOST_TEXT]), _OF_RUN.finditer(text[:MOST_TEXT]))
        found = next((one for one in places if _is_told(text, one)), None)
        if found is not None:
            yield Hit(
                "RC903",
                f"the text will differ in another request: {quote_text(found[0])}",
                "remove it, or return it as a result",
                path,
            )
            return

    for one in tool.arguments:
        default = one.part.get("default")
        if isinstance(default, str) and _MADE.search(default[:MOST_TEXT]):
            yield Hit(
                "RC903",
                f"the default of {quote_name(one.name)} is of one run or one machine: {quote_text(default)}",
                "leave it out, and let the server choose when it is called",
                (*one.path, "default"),
            )
            return


_SHOWN: Final = re.compile(
    r"['\"`(\[]\s*$|\bformat\b[^.\n]{0,40}$|\b(?:if|when|until|once|fewer|less|below)\b[^.\n]{0,40}$", re.IGNORECASE
)


def _is_told(text: str, found: re.Match[str]) -> bool:
    """Whether it is said of now: no example, and nothing in quotes."""
    before = text[max(0, found.start() - 60) : found.start()]
    if found.re is _OF_RUN:
        before = before.rstrip().removesuffix("(").removesuffix("[")
    return not is_example(text, found.start()) and not _SHOWN.search(before) and not _SAMPLE.search(found[0])
