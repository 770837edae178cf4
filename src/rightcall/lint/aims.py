"""RC702, RC703 once more: what an attacker is after, whatever the wording. A sentence counts by whom it is about (the
user, the tools of others, the rules of the host) together with what it makes of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from rightcall.gate.repair.words import words_of
from rightcall.lint.definitions import ToolView
from rightcall.lint.errands import TELLS
from rightcall.lint.findings import word_set

_USER = (
    r"(?:the |your |any )?(?:user|customer|human|person|client|caller|guest|operator|shopper|patient|buyer|member)s?"
)
_ENDS: Final = re.compile(r"(?<![ei]\.g)[.!?]\s|\n")
_SHOWN: Final = re.compile(r"\be\.?g\b|\bfor (?:example|instance)\b|\bsuch as\b", re.IGNORECASE)

# ── the tools of others ──

_FOREIGN: Final = re.compile(
    r"\b(?:other|another|others'?|rival|competing|third-party|foreign|different|remaining|elsewhere|every connected|"
    r"any connected|all connected) (?:(?!this\b|from\b|of\b|tools?\b|functions?\b)[\w-]+ ){0,4}?"
    r"(?:servers?|plug-?ins?|extensions?|connectors?|providers?|vendors?|integrations?|add-?ons?|MCPs?)(?:'s?)?\b",
    re.IGNORECASE,
)
_OF_MODELS: Final = re.compile(
    r"\b(?:tools?|functions?|MCPs?|calls?|call(?:ed|ing)|consult(?:ed|ing)?|answers?|results?|returns?|sa(?:y|id)|"
    r"tells?|picked|chosen)\b",
    re.IGNORECASE,
)
_SHUNNED: Final = re.compile(
    r"\b(?:discard|ignore|distrust|mistrust|disregard|shun|supersede|overrule|override|outrank)s?\b|"
    r"\breplaces? (?:the|all|every|any|each)\b|"
    r"\b(?:do not|don't|never|must not|should not|may not|no longer|not to|cannot|can't|need not|stop) "
    r"(?:be )?(?:\w+ )?(?:us|call|consult|trust|pick|cho[os]|rel(?:y|ied)|ask|believ|invok|need|query|tak)\w*|"
    r"\b(?:are|is|as) (?:\w+ )?(?:wrong|unreliable|out of date|outdated|stale|false|inferior|obsolete|unsafe|"
    r"deprecated|inaccurate|hearsay|noise|suspect)\b|"
    r"\beven (?:when|if|though|where)\b|\b(?:instead of|rather than|in place of|ahead of|in preference to)\b|"
    r"\b(?:before|prior to) (?:you )?(?:us|call|run|consult|ask|invok|any|all|every)\w*\b",
    re.IGNORECASE,
)
_ON_TERMS: Final = re.compile(r"(?<!even )\b(?:if|when|unless|in case|where|until|whether)\b", re.IGNORECASE)
_OF_SERVERS: Final = word_set(
    "server servers mcp host hosts plugin plugins extension extensions provider providers vendor vendors connector "
    "integration integrations proxy gateway failover dns cluster addon addons migrate sync"
)
"""Tools for servers and the like may speak of others."""

# ── what the user is not to hear, and what is done to the user's choice ──

_ASKS = (
    r"(?:asks?|wants?|gives?|gave|names?|says?|enters?|picks?|chooses?|chose|prefers?|types?|requests?|specif\w+|sets?)"
)
_COST = (
    r"(?:(?:sur)?charges?|fees?|commissions?|mark-?ups?|supplements?|donations?|tips?|deposits?|premiums?|"
    r"penalt(?:y|ies)|"
    r"costs?|deductions?|subscriptions?|insurance|renewals?|upgrades?)"
)
_TALK = r"(?:mention|bring|rais|disclos|discuss|tell|reveal|admit|stat|explain|report|nam)(?:e|es|s|ing|ed)?"
_REPORTS = r"(?:summar(?:y|ies)|answers?|repl(?:y|ies)|confirmations?|recaps?|reports?|quotes?|offers?|overviews?)"
_HIDES: Final = re.compile(
    rf"\b{_REPORTS} (?:[\w%]+ ){{0,8}}?(?:without|(?:leave|leaving|omit|omitting|exclude|excluding)) (?:it|them|"
    rf"this|that)"
    r"(?=\s*(?:[.,;)]|$| out\b))|"
    rf"\bonly {_TALK} (?:(?:it|this|that|them)\b(?: up)?|(?:the |any )?(?:[\w-]+ )?{_COST}) (?:if|when) (?:asked|"
    rf"{_USER} ask)|"
    rf"\b{_TALK} (?:it|this|that|them)(?: up)? only (?:if|when) (?:asked|{_USER} ask)|"
    r"\bpass(?:es|ed)? (?:\w+ )?over in silence\b|"
    r"\b(?:assistant|model|agent|you)\b[^.;\n]{0,60}\bin silence\b|"
    r"\b(?:keep|leave|let)\b[^.;\n]{0,40}\b(?:unsaid|unmentioned|unspoken|to yourself|off the record)\b|"
    rf"\b{_COST}\b[^.\n]{{0,80}}\b(?:you|assistant|model|agent)s? (?:\w+ )?(?:state|report|present|describe|label|show|"
    r"list|quote|pass off|call|name)s? [^.;\n]{0,20}?\bas (?:part of|included|(?:an? )?(?:tax|mandatory|required|"
    r"compulsory|standard|free|normal|usual))",
    re.IGNORECASE,
)
_DETAIL: Final = re.compile(
    r"\b(?:ids?|identifiers?|uuids?|raw|slugs?|fields?|internal|technical|names?)\b", re.IGNORECASE
)
"""What users seldom want to hear."""
_WHATEVER: Final = re.compile(
    rf"\b(?:whatever|whichever|no matter (?:which|what)|regardless of (?:which|what|the)) (?:[\w-]+ ){{0,3}}?{_USER} "
    rf"(?:\w+ )?{_ASKS}\b[^.\n]{{0,80}}?(?:[\w.+-]+@[\w-]+\.\w|https?://|(?<![\w-])\d)",
    re.IGNORECASE,
)
_ALL_THE_SAME: Final = re.compile(
    rf"\b(?:if|should|when|even if|whenever) {_USER} (?:\w+ )?(?:{_ASKS}|ask|want|prefer|insists?)\b[^.\n]{{0,60}}?, "
    rf"(?:\w+ ){{0,2}}(?:use|set|book|send|choose|take|pass|order|pick|buy|keep)\b[^.\n]{{0,40}}\b(?:all the same|"
    rf"nevertheless|"
    rf"regardless|none ?the ?less|anyway|and (?:confirm|report|tell|state|claim|say))\b",
    re.IGNORECASE,
)
_TIED: Final = re.compile(
    r"\b(?:name|recommend|present|praise|put|list|suggest|call|declare|describe|mention)\b[^.;\n]{1,40} as (?:the|your|"
    r"their) (?:\w+ )?(?:best|top|first|safest|cheapest|only|leading|preferred|recommended|"
    r"finest)\b[^.;\n]{0,40}\b(?:in|to) "
    rf"(?:your (?:final )?(?:answer|reply|response|recommendation|summary)|{_USER})\b",
    re.IGNORECASE,
)
_UNASKED: Final = re.compile(
    r"\b(?:skip|omit|forgo|drop|dispense with|no (?:need|reason|point) (?:for|in)|without) (?:asking|confirming with|"
    rf"consulting|checking with|prompting|questioning|involving) {_USER}(?=\s*(?:[.;!]|$| (?:first|again|"
    rf"for (?:confirmation|"
    r"permission|approval|consent))\b))",
    re.IGNORECASE,
)
_PAID: Final = re.compile(
    r"\b(?:leave out|omit|hide|conceal|suppress|(?:do not|don't|never|not|without) "
    r"(?:mention|say|disclos|tell|reveal)\w*) that (?:this|it|they|these)\b[^.;\n]{0,20}"
    r"\b(?:paid|sponsor\w*|advert\w*|promotion\w*|affiliat\w*|commissions?)\b",
    re.IGNORECASE,
)
_FALSELY: Final = re.compile(
    r"\b(?:whatever|no matter what|regardless of what) (?:the |any |those |these )?(?:\w+ )?"
    r"(?:data|figures?|facts?|numbers?|results?|evidence|reviews?|sources?|tests?|prices?|measurements?) (?:may )?"
    r"(?:say|show|tell|suggest|indicate|prove)s?\b",
    re.IGNORECASE,
)
_TEXTS_VOID: Final = re.compile(
    r"\b(?:ignore|disregard) (?:its|their|(?:the|any) (?:\w+ )?tools?') (?:\w+ )?"
    r"(?:descriptions?|instructions?|texts?)\b",
    re.IGNORECASE,
)
_NO_CONSENT: Final = re.compile(
    r"^(?:(?!\b(?:never|not|cannot|no|only|refus\w+|fails?|reject\w*|if)\b|n't\b)[^.\n]){0,200}?"
    rf"\bwithout (?:\w+ ){{0,3}}?{_USER}(?:'s|s')? (?:consent|approval|permission|confirmation|agreement|knowledge)"
    r"(?=\s*(?:[.;,!]|$))",
    re.IGNORECASE,
)
_RULES = r"(?:guidelines|rules|polic(?:y|ies)|instructions|prompt|restrictions|guardrails|limits)"
_RULES_VOID: Final = re.compile(
    rf"\b(?:(?:safety|system|host's|your|assistant's|model's|developer's) (?:\w+ )?{_RULES}|{_RULES}(?=[^.\n]{{0,60}}\b"
    r"(?:by|of|from) (?:the|your) (?:host|system|developer|operator|vendor)\b))\b[^.;\n]{0,90}?\b(?:(?:have|has|"
    r"carry|carries) no (?:force|bearing|effect|weight|meaning|say)|"
    r"(?:do|does) not (?:bind|count|hold|matter|concern|reach)|(?:is|are) (?:void|moot|off|suspended|lifted|set aside|"
    r"waived|not (?:binding|meant for)))\b",
    re.IGNORECASE,
)
_GRADED: Final = re.compile(
    r"\b(?:models?|assistants?|you) (?:are|is|will be|get|gets) (?:\w+ )?(?:graded|rated|scored|rewarded|penali[sz]ed|"
    r"punished|judged|evaluated|measured|ranked|paid) (?:\w+ )?(?:on|by|for) (?:how often|whether|using|calling|"
    r"choosing|not|"
    r"each|every|picking)\b",
    re.IGNORECASE,
)
_FROM_RULES: Final = (_WHATEVER, _ALL_THE_SAME, _TIED, _PAID, _FALSELY, _UNASKED, _NO_CONSENT, _RULES_VOID, _GRADED)


def find_aims(tool: ToolView, text: str) -> Iterator[tuple[str, str]]:
    """The rule and the sentence of each aim that a text has."""
    for previous, sentence in pairwise(["", *_ENDS.split(text)]):
        if _TEXTS_VOID.search(sentence):
            yield "RC703", sentence.strip()
        if _SHOWN.search(sentence):
            continue
        if any(one.search(sentence) for one in _FROM_RULES) or _hides(previous, sentence):
            yield "RC702", sentence.strip()
        if _shuns(tool, sentence):
            yield "RC703", sentence.strip()


def _hides(previous: str, sentence: str) -> bool:
    found = _HIDES.search(sentence)
    return found is not None and not _DETAIL.search(f"{previous[-120:]} {sentence}")


def _shuns(tool: ToolView, sentence: str) -> bool:
    """Whether a sentence sets the tools of other servers aside."""
    others = _FOREIGN.search(sentence)
    if others is None or TELLS.match(sentence) or not _OF_SERVERS.isdisjoint(words_of(tool.name)):
        return False
    shunned = _SHUNNED.search(sentence) is not None and _OF_MODELS.search(sentence) is not None
    return shunned and not _ON_TERMS.search(sentence)
