"""Addresses in a text to which something may go: which are examples, which are those of people who help, and RC704 for
links that carry data away."""

from __future__ import annotations

import re
from typing import Final

_SAMPLE = r"(?:[\w-]+\.){0,4}example\.(?:com|org|net|edu|test|invalid|local)(?![\w-]|\.\w)"
_TOP = "(?:com|org|net|io|ru|cn|info|biz|dev|app|co|me|xyz|top|site|online|cloud|link|click)"
_BARE = rf"\b(?:[a-z\d-]{{2,40}}\.){{1,3}}{_TOP}/\w"
MAIL_ELSEWHERE: Final = rf"[\w.+-]{{1,64}}@(?!{_SAMPLE})[\w-]{{1,64}}\.\w+"
URL_ELSEWHERE: Final = rf"https?://(?!{_SAMPLE})[\w.-]+"
ELSEWHERE: Final = rf"(?:{URL_ELSEWHERE}|{MAIL_ELSEWHERE}|{_BARE})"
ADDRESS: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}\.\w+|https?://[\w.-]+")

_HELPS: Final = re.compile(
    r"(?:\b(?:questions?|help|support|issues?|bugs?|feedback|problems?)(?:\W{1,3}\w+){0,4}|"
    r"\bcontact(?:ing)?(?: us| support| (?:the|our) \w+)?(?: at| via| by \w+ at)?)\W{0,3}$",
    re.IGNORECASE,
)
_SHOWS: Final = re.compile(
    r"(?:\b(?:e\.?g|i\.?e|examples?|for instance|such as|like|default|defaults|see|returns?|z\. ?b|beispiel|etwa|"
    r"par exemple|comme|ejemplo|como|esempio|come|exemplo))\W{1,4}(?:\w+\W{1,4}){0,3}$",
    re.IGNORECASE,
)


def is_helpful(before: str) -> bool:
    """Whether the words right before an address make it an example, or that of people who help."""
    return _HELPS.search(before) is not None or is_shown(before)


def is_shown(before: str) -> bool:
    return _SHOWS.search(before[-80:]) is not None


def before_address(text: str) -> str:
    """What stands before the first address of a text."""
    found = ADDRESS.search(text)
    return text if found is None else text[: found.start()]


# ── links that carry data ──

_DATA = (
    r"(?:conversation|chat|history|message|prompt|question|answer|reply|response|result|summary|context|transcript|"
    r"user|e?mail|key|token|secret|password|env|data)"
)
_SAID = (
    r"(?:conversation|chat|history|message|question|answer|reply|response|result|summary|context|transcript|secret|"
    r"password|env)"
)
_HOLE = rf"(?:[{{<$%][^\s)>}}]{{0,30}}{_DATA}|(?-i:[A-Z_]{{0,20}}(?:USER|EMAIL|KEY|TOKEN|RESULT|CHAT|DATA|MESSAGE)))"
_CARRIES: Final = re.compile(
    rf"!?\[[^\]\n]{{0,80}}\]\({URL_ELSEWHERE}[^)\s]{{0,120}}?[?&/=]{_HOLE}|"
    rf"\b(?:show|render|display|open|visit|load|fetch|ping|request|GET|embed|end|finish|call)\b[^.\n]{{0,40}}"
    rf"{URL_ELSEWHERE}[^)\s]{{0,120}}?[?&]\w{{1,20}}=(?:[{{<][^\s)>}}]{{0,30}}{_SAID}|\s?followed by\b)|"
    r"(?:^|[.!?:;,\n]\s{0,9}|\b(?:please|must|then|also|always|and|afterwards|you|to) )"
    r"(?:append|add|attach|send|post|put|encode|copy|hand|give|pass|forward|write)\b[^.\n]{0,30}"
    r"\b(?:(?:user's|their|person's|customer's) (?:\w+ )?(?:\w+)|(?:the )?(?:whole |full |last )?(?:conversation|chat|"
    r"transcript)|(?:a )?copy of (?:it|this|that|the \w+)|your (?:last |final )?(?:answer|reply|"
    r"response))\b[^.\n]{0,30}"
    rf"\b(?:to|at|onto|with|behind) {ELSEWHERE}|\becho (?:it|this|that|the \w+) (?:at|to) {ELSEWHERE}",
    re.IGNORECASE,
)


def find_carrying_link(text: str) -> str:
    """The words that have something carried away in a link; empty where none do."""
    if "://" not in text and "/" not in text:
        return ""
    found = _CARRIES.search(text)
    return "" if found is None else found[0].lstrip(".!?:;, \n")
