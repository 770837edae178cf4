"""What makes an order to the model none, or a doubtful one: advice about an API, what a tool says of itself, and tools
that look for such orders and quote them."""

from __future__ import annotations

import re
from typing import Final, Literal

from rightcall.gate.repair.words import words_of
from rightcall.lint.definitions import ToolView
from rightcall.lint.findings import Steps, word_set

Verdict = Literal["order", "doubtful", "none"]

_NEAR: Final = 200
_ENDS: Final = re.compile(r"[.!?]\s|\n")
_WRAPPED: Final = re.compile(r"(?<=[a-z,])\n[ \t]{0,12}(?=[a-z])")
"""The end of a line inside of a sentence."""


def judge(tool: ToolView, path: Steps, text: str, found: re.Match[str]) -> Verdict:
    """What is to be held of something that reads like an order."""
    before = _ENDS.split(text[max(0, found.start() - _NEAR) : found.start()])[-1]
    behind = _ENDS.split(_WRAPPED.sub(" ", text[found.end() : found.end() + _NEAR]))[0]
    admits = _ADMITS.search(behind) is not None
    if _is_advice(found, behind, admits=admits):
        return "none"
    if (
        ((_IN_CASE.match(behind) or (_REPORTS.search(found[0]) and _AS_SUCH.match(behind))) and not admits)
        or (_LATER.match(behind) and not _GRAVE.search(behind))
        or _guards_a_secret(before, found)
        or (_ASKS_FIRST.search(found[0]) and (_is_switch(tool, path) or _needs_no_yes(before, behind)))
        or _is_effect(before, found, behind)
        or _is_its_work(tool, text, found)
        or ("shell" in found.re.groupindex and not _OF_SHELLS.isdisjoint(words_of(tool.name)))
        or (_DETAILS.search(found[0]) and not admits)
        or quotes_attack(text, found.start(), found.end())
    ):
        return "doubtful"
    return "order"


# ── advice about an API ──

_SHOWS_RAW: Final = re.compile(r"\bshow(?:ing)?\b[^.\n]*\b(?:raw|JSON|UUIDs?|IDs|HTML|XML|markup)\b", re.IGNORECASE)
"""How to present a result: `never show raw JSON to the user`."""
_NAMES_PEOPLE: Final = re.compile(r"\bmention(?:ing)? \w+ (?:with|by|using) (?:an? )?@", re.IGNORECASE)
"""In a comment."""
_QUOTE: Final = re.compile(r"['\"`”’“‘]")
_TWO_QUOTES: Final = re.compile(r"['\"`”’]\s*(?:,|/|,?\s*(?:or|and)\b)\s*['\"`“‘]")
"""The end of one quotation and the beginning of the next: nobody says the words between them in one breath."""
_INFORMS: Final = re.compile(
    r"\bsilently (?:fail|ignore|drop|skip|be )|(?<!stop)(?<!pause)(?<!wait)(?<!halt)(?<!interrupt)(?<!hesitate)"
    r" and (?:inform|tell|notify) (?:the )?user\b",
    re.IGNORECASE,
)
"""A fact about failures, or what the user is to hear."""
_USES: Final = re.compile(r"\S+(?: not)? (?:use|call|invoke|run)\b", re.IGNORECASE)
_ABOUT: Final = re.compile(
    r" (?:for|to|which|what|if(?! (?:they |the user )?ask)|whether|about (?:the )?(?:details|parameters)|"
    r"(?:that )?(?:an?|one) [\w\s]{2,30}(?:was|were|is|has been))\b",
    re.IGNORECASE,
)
"""What a model is not to ask for, or to report."""
_ADMITS: Final = re.compile(
    r"(?<!nothing )\b(?:was|were|is|are|has been|have been|had been|being|you(?: have)?|got)\b (?:\w+ ){0,2}?(?:read|"
    r"copied|sent|uploaded|forwarded|collected|recorded|shared|taken|transmitted|leaked|appended|passed|stolen)\b|"
    r"\b(?:copying|forwarding|uploading|the (?:\w+ )?(?:upload|transfer|copy)|leak|bcc|blind copy)\b",
    re.IGNORECASE,
)
"""A deed that nobody is to hear of, whatever else a sentence says."""


def _is_advice(found: re.Match[str], behind: str, *, admits: bool) -> bool:
    told = found[0]
    quote = _QUOTE.search(told)
    closes = quote is not None and re.match(r"\w\W(?!\w)", told[max(0, quote.start() - 1) :]) is not None
    if (
        _NAMES_PEOPLE.search(told)
        or _SHOWS_RAW.search(told)
        or _INFORMS.search(told)
        or (closes and _TWO_QUOTES.search(told))
    ):
        return True
    if not found.groupdict().get("tell"):
        return False
    asks = re.search(r"\bask(?:ing)?\b", told, re.IGNORECASE) is not None
    return (asks or not admits) and bool(_USES.match(told) or _ABOUT.match(behind))


# ── what is doubtful ──

_OF_SHELLS: Final = word_set("shell bash sh terminal command commands exec execute run script sandbox ssh git push")
_REPORTS: Final = re.compile(r"\b(?:report|show|present|describe)(?:ing)?\b", re.IGNORECASE)
_AS_SUCH: Final = re.compile(
    r"\s*as (?:low|high|safe|fixed|done|success\w*|final|certain|fact|confirmed)\b", re.IGNORECASE
)
"""`never report it to the user as safe`: how a result is to be read."""
_IN_CASE: Final = re.compile(
    r"[^.]{0,20}\b(?:ids?|dates?|numbers?|timestamps?|keys?)\b[^.]{0,40}\bunless (?:they|the user|he|she) asks?\b|"
    r"\s*as an? (?:error|failure|fault|problem|bug)\b|\s*is \w+ing\b|[^.\n]{0,40}\b(?:twice|more than once)\b|"
    r"\s*to (?:the|this) (?!user)\w+|"
    r",? was\b|[^.\n]{0,40}? (?:bevor|solange|avant|tant que|hasta que|antes de|finché|prima (?:di|che)|пока)\b",
    re.IGNORECASE,
)
"""What is said of details, of a wrong name for something, or of what such a deed would be."""
_LATER: Final = re.compile(
    r"[^.\n]{0,80}?\b(?:until|before|unless|if)\b (?:this|(?:this|the) (?:tool|call|function|command|request|task|job|"
    r"operation|action|change|deletion|result|response)|it|\w+_\w+) (?:(?:has|have|is|was) (?:\w+ )?(?:returned|"
    r"finished|completed?|succeeded|confirmed|ended|done|run|stored|saved|set|ready|known)|returns|fails|finishes|"
    r"completes|"
    r"succeeds|ends|confirms)\b",
    re.IGNORECASE,
)
"""When the user is to hear of it: `until this tool has returned`."""
_GRAVE: Final = re.compile(
    r"\b(?:keys?|passwords?|tokens?|secrets?|credentials?|cop(?:y|ied|ying)|forward\w*|leak\w*|bcc)\b", re.IGNORECASE
)
_ASKS_FIRST: Final = re.compile(r"\b(?:confirm|permission|approval|consent)", re.IGNORECASE)
_ONLY_READS: Final = re.compile(r" to (?:read|view|list|see|search)(?: (?:it|them|this))?\s*(?:[.;,]|$)", re.IGNORECASE)
_ASKED_BEFORE: Final = re.compile(r"[^.\n]{0,20}\b(?:again|a second time|too|as well|yourself)\b", re.IGNORECASE)
_CHANGES_NOTHING: Final = re.compile(
    r"\b(?:read[- ]only|(?:only|just) reads?|(?:reads?|lists?|shows?) only|changes? nothing|no side effects|"
    r"nothing (?:\w+ )?(?:is|gets) (?:\w+ )?(?:changed|sent|deleted|stored|booked|paid|written)|"
    r"does(?: not|n't) (?:change|send|delete|store) anything)\b",
    re.IGNORECASE,
)
_DETAILS: Final = re.compile(
    r"\b(?:internal|technical|numeric) (?:\w+ )?(?:ids?|identifiers?|codes?|names?)\b|"
    r"\b(?:tool|argument|parameter|column|table|function) names?\b|\b(?:report|show)(?:ing)? (?:success|progress|"
    r"the SQL)\b",
    re.IGNORECASE,
)
_CREDENTIAL: Final = re.compile(
    r"\b(?:is|are|returns?|creates?|issues?|generates?|shows?) (?:[\w-]+ ){0,4}(?:credential|token|password|secret key|"
    r"API key)s?\b",
    re.IGNORECASE,
)
_SECRET: Final = re.compile(r"keep (?:it|this|them) (?:secret|private|confidential|safe)", re.IGNORECASE)
_EFFECT: Final = re.compile(
    r"\s{0,3}(?:(?:and|it|which|that|this tool|the tool) )?"
    r"(?!(?:always|this|is|was|has|does|less|as|unless)\b)[a-z]+s\b",
    re.IGNORECASE,
)
"""A clause in the third person: `Changes a status`."""
_FORBIDS: Final = re.compile(r",? (?:never|do not|don't|you must not|nothing)\b", re.IGNORECASE)
_CARRIES: Final = re.compile(
    r"@|://|~/|\.env\b|\b(?:send|copies|forward|upload|transfer|post|share|keys?|passwords?|tokens?|assistant|model|"
    r"agent)s?\b",
    re.IGNORECASE,
)


def _guards_a_secret(before: str, found: re.Match[str]) -> bool:
    """`It is a bearer credential: keep it secret.`"""
    return _SECRET.fullmatch(found[0].strip()) is not None and _CREDENTIAL.search(before) is not None


def _needs_no_yes(before: str, behind: str) -> bool:
    """`This only reads, so do not ask for permission`; `do not ask for confirmation again`"""
    asked = _ONLY_READS.match(behind) or _ASKED_BEFORE.match(behind)
    return asked is not None or _CHANGES_NOTHING.search(before) is not None


def _is_switch(tool: ToolView, path: Steps) -> bool:
    """Whether a text says what a boolean argument does."""
    return any(one.path == path[:-1] and one.kind == "boolean" for one in tool.arguments)


def _is_effect(before: str, found: re.Match[str], behind: str) -> bool:
    """`Changes a status without notifying the user.`, and `Without asking the user, never …`"""
    if not found[0].lower().startswith("without"):
        return False
    clause = next((one for one in reversed(re.split(r"[:;,(]", before)) if one.strip()), "")
    if not clause:
        return _FORBIDS.match(behind) is not None
    return _EFFECT.match(clause) is not None and _CARRIES.search(before) is None


def _is_its_work(tool: ToolView, text: str, found: re.Match[str]) -> bool:
    """`Skips the approval of a step`, of `skip_approval`: the first words say what the tool does."""
    first = words_of(found[0])[:1]
    own = words_of(tool.name)
    return not text[: found.start()].strip() and len(own) > 1 and first == own[:1] and first[0] in ("skip", "bypass")


# ── those who look for attacks ──

_DETECTS: Final = re.compile(
    r"\W{0,3}(?:(?:detect|scan|check|score|find|flag|recogni[sz]e|identify|identifie|classify|classifie|block|reject|"
    r"filter|report|look|search|rate|test|screen|catch|spot|warn)(?:e?s|ing)?)\b",
    re.IGNORECASE,
)
_DETECTED: Final = re.compile(
    r"\b(?:is|are) (?:detected|scored|flagged|blocked|rejected|filtered|classified|recogni[sz]ed|caught)\b",
    re.IGNORECASE,
)
_MAY_HOLD: Final = re.compile(
    r"\b(?:may|might|can|could|tr(?:y|ies)) (?:\w+ ){0,3}(?:contain|hold|include|give|say|tell|write)\b", re.I
)
_WARNS: Final = re.compile(
    r"\b(?:treat|regard|consider) (?:it|them|this|that|these|such text|such content|all of it) as (?:plain |untrusted |"
    r"mere )?(?:data|text|content|untrusted)\b|\b(?:do not|don't|never) (?:follow|obey|act on|carry out) "
    r"(?:it|them|such|these|those)\b",
    re.IGNORECASE,
)
"""`It may hold orders such as "…"; treat them as data`"""
_QUOTED: Final = re.compile(r"(?<!\w)[\"'`“‘](?:[^\"'`“”‘’\n]|(?<=\w)['’](?=\w)){3,160}[\"'`”’](?!\w)")
_REPORTED: Final = re.compile(
    r"\b(?:texts?|descriptions?|prompts?|instructions?|messages?|phrases?|inputs?|definitions?|tools?|pages?|"
    r"documents?|content|results?|comments?)\b (?:that|which) (?:try to |attempt to |would )?(?:tell|ask|order|"
    r"instruct|make|urge|get|trick|want|push|force)s? (?:the |an? )?(?:model|assistant|agent|LLM|AI)s?\b",
    re.IGNORECASE,
)


def quotes_attack(text: str, start: int, end: int) -> bool:
    """Whether a sentence is about the detection of attacks, and a piece of it is one that it quotes or reports."""
    before = _ENDS.split(text[max(0, start - _NEAR) : start])[-1]
    sentence = before + text[start:end] + _ENDS.split(text[end : end + _NEAR])[0]
    warns = _MAY_HOLD.search(before) is not None and _WARNS.search(text[end : end + _NEAR]) is not None
    if not _DETECTS.match(sentence) and not _DETECTED.search(sentence) and not warns:
        return False
    first, last = len(before), len(before) + end - start
    quoted = any(one.start() < first and last < one.end() for one in _QUOTED.finditer(sentence))
    return quoted or (_DETECTS.match(sentence) is not None and _REPORTED.search(before) is not None)
