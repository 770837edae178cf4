"""RC903: texts that cannot be the same in the next request: the time, a session, how old something is.

One list shows them: nobody has to ask the server twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rightcall.lint.choices import is_example
from rightcall.lint.definitions import ToolView
from rightcall.lint.findings import Hit, Steps, quote_text

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
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_CHANGING: Final = re.compile(
    rf"\b(?:current|local|server|system|present) (?:UTC )?(?:date|time|day|date and time|date-?time|timestamp)"
    rf"(?: \([A-Z]{{2,4}}\))?\s?(?:is|:|=)\s{{0,2}}(?:\w+day,? )?(?:{_DAY}|{_CLOCK})|"
    rf"\btoday(?:'s date)?(?: is|:)\s?(?:\w+day,? )?(?:the )?{_DAY}|\b(?:it is now|now:) (?:{_DAY}|{_CLOCK}|{_STAMP})|"
    rf"\b(?:as of|{_DONE})(?: at| on|:)? {_DAY}[T ,]+(?:at )?{_CLOCK}|"
    rf"\b(?:seen|{_DONE})(?: about)? (?:\d+|an?|one) (?:seconds?|minutes?|hours?|days?) ago\b|"
    rf"\b(?:session|connection|instance|conversation|request|run)(?: ?(?:id|token|key))?\b\W{{0,3}}"
    rf"(?:is )?(?:{_UUID}|[0-9a-f]{{20,64}})\b|"
    r"(?<![\w/])/(?:private/)?tmp/tmp[a-z0-9_]{6,}|(?<!\w)/var/folders/\w\w/\w+|\\Temp\\tmp\w{4,}|"
    r"\b(?:you have |with )?\d[\d,]* unread (?:messages?|mails?|emails?|notifications?)\b|"
    r"\b\d[\d,]* \w+ (?:are|is) currently (?:online|open|active|available|running|connected|indexed|waiting|queued)\b|"
    rf"(?:^|[.\n]\s{{0,9}})date:\s\w+day,? {_DAY}|"
    r"\bthere (?:are|is) (?:currently )?\d[\d,]* \w+[^.\n]{0,30}\b(?:right now|at the moment|currently)\b|"
    r"\b(?:signed|logged) in as [\w.+-]+@[\w-]+\.\w+",
    re.IGNORECASE,
)


def check(tool: ToolView) -> Iterator[Hit]:
    texts: list[tuple[Steps, str]] = [(tool.at("description"), tool.description)]
    texts += [((*one.path, "description"), one.description) for one in tool.arguments]
    for path, text in texts:
        found = next((one for one in _CHANGING.finditer(text[:MOST_TEXT]) if _is_told(text, one)), None)
        if found is not None:
            yield Hit(
                "RC903",
                f"the text will differ in another request: {quote_text(found[0])}",
                "remove it, or return it as a result",
                path,
            )
            return


_SHOWN: Final = re.compile(r"['\"`(\[]\s*$|\bformat\b[^.\n]{0,40}$|\bif\b[^.\n]{0,40}$", re.IGNORECASE)


def _is_told(text: str, found: re.Match[str]) -> bool:
    """Whether it is said of now: no example, and nothing in quotes."""
    return not is_example(text, found.start()) and not _SHOWN.search(text[max(0, found.start() - 60) : found.start()])
