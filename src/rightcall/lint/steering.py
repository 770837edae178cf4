"""RC704 and RC118 once more: secrets and copies into an argument, and words written with look-alike letters. Here are
also the claims of precedence that `injection` looks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from rightcall.base.letters import latin
from rightcall.gate.repair.words import is_word, words_of
from rightcall.lint.conversation import HOLDS_SECRETS, SECRET_WORDS, find_secrets_asked
from rightcall.lint.definitions import ToolView
from rightcall.lint.elsewhere import ELSEWHERE, MAIL_ELSEWHERE, before_address, find_carrying_link, is_helpful
from rightcall.lint.errands import find_fixed_address
from rightcall.lint.findings import Hit, Steps, quote_text, word_set
from rightcall.lint.readings import prose_of, readings

REMOVE: Final = "remove it; if the server is not yours, do not use it"

# ── precedence ──

_KIND = r"(?:[\w-]+ ){0,3}"
_FOREIGN_TOOLS = (
    r"(?:(?:tools?|functions?|servers?) (?:of|from|by|offered by|provided by) (?:any )?(?:other|another|competing|"
    r"rival|"
    r"third-party) [\w-]+|(?:competing|rival|competitors'?) (?:tools?|functions?|servers?|services?|providers?|"
    r"shops?))\b"
)
PRECEDES: Final = re.compile(
    rf"\b(?:never|do not|don't) (?:use|call|invoke|choose|pick|trust|rely on) (?:any |an)?other {_KIND}"
    r"(?:tools?|functions?)\b(?! (?:(?:in|of|from) this|while|until|during)\b)|"
    rf"\b(?:(?:never|do not|don't) (?:use|call|invoke|choose|pick|trust|rely on|consult)|(?:avoid|stop) (?:using|"
    rf"calling)) "
    rf"(?:the |any |all )?{_KIND}{_FOREIGN_TOOLS}|\b(?:if|when|where|even if) (?:the |any )?{_FOREIGN_TOOLS}"
    r"[^.\n]{0,40}\b(?:do not|don't|never) (?:use|call|consult|trust|choose) (?:them|it|those|any)\b|"
    r"\b(?:always |and |then |instead,? )recommend our (?:own )?(?:offers?|shop|store|service|brand|prices?|plans?)\b|"
    r"\balways recommend our\b|"
    r"\b(?:in preference to|ahead of|in place of|rather than|instead of) (?:any|every|all)(?: the)? others?"
    r"(?: tools?| ones?| functions?)?\b|"
    r"\beven (?:one|a tool|if|when|where|though) (?:that )?(?:the |an? )?(?:user|person|customer) (?:has |have |had )?"
    r"(?:named|names|chosen|chooses|asked for|asks for|wants|prefers|requested|picked)\b"
    r"(?= (?:an?|the)?\s?(?:other|another|"
    r"different)\b|[.,;]|$)|"
    r"\b(?:prefer|choose|use|pick) this (?:tool |one |function )?(?:over|above|before) (?:all|any|every)(?: of the)? "
    r"other|"
    rf"\binstead of (?:any|all|every) other {_KIND}(?:tools?|functions?)\b|"
    rf"\b(?:all |any )?other {_KIND}(?:tools?|functions?) (?:are|is|give|gives|return|returns) (?:\w+ )?(?:unreliable|"
    r"wrong|outdated|deprecated|broken|insecure|inferior|obsolete|incorrect|unsafe|dangerous|inaccurate)\b|"
    r"\b(?:before|after|with|in|at the end of) (?:every|each|any)(?: of)?(?: your)? (?:answer|reply|response|message|"
    r"turn),? "
    r"(?:always |you must |also )?(?:call|use|run|invoke) this\b|"
    r"\b(?:use|trust) only this (?:tool|one|function)\b(?! (?:when|if|for|to|after|once|with|on|in)\b)|"
    r"\bother tools (?:count as|are to be (?:treated|regarded) as) (?:disabled|unavailable|forbidden)\b|"
    r"\b(?:every|all) (?:later|further|future|subsequent|other) requests?\b[^.\n]{0,50}\b(?:has to|have to|must|should|"
    r"needs? to) (?:be routed|go|pass) through (?:it|this)\b|"
    r"\b(?:results?|answers?|data|output) (?:of|from) (?:the )?[`'\"][\w-]+[`'\"] (?:server|tools?) (?:is|are) (?:fake|"
    r"wrong|unreliable|false|not to be trusted)\b|"
    r"\b(?:results?|answers?|data) (?:of|from) (?:the |all )?(?:[\w-]+ )?tools (?:is|are) (?:fake|wrong|outdated|"
    r"unreliable|false)\b|"
    r"\bthis (?:tool|function|one) and (?:no|nothing|none) (?:other|else)\b|"
    r"\bbefore\b[^.\n]{0,40}\b(?:any|an|the)?\s?other servers?\b[^.\n]{0,30}\bthis tool "
    r"(?:has to|must|should|needs to) be (?:called|used|run)\b|"
    rf"\b(?:instead of|rather than|over|before) (?:the |any |all )?(?:other )?{_KIND}{_FOREIGN_TOOLS}|"
    r"\bthis (?:tool|function|server) (?:has|takes|gets|is given) (?:priority|precedence) over\b|"
    rf"\b(?:stop|avoid) (?:using|calling) (?:the |all |any )?other {_KIND}(?:tools?|functions?)\b|"
    r"\b(?:has to|must|should|needs to|is to) (?:run|be (?:called|used|run|invoked)) (?:ahead of|before|"
    r"prior to) (?:every|"
    r"any|all)(?: of the)?(?: other)? (?:tools?|functions?)\b(?! (?:that|which|(?:in|of|on) this)\b)|"
    r"\bwhatever (?:the|is|was)\b[^.\n]{0,24},? (?:begin|start) with this\b|"
    r"\bthe (?:(?:remaining|other) tools|others|rest) (?:gives?|returns?|produces?|has|have) (?:wrong|false|bad)\b|"
    r"\b(?:use|call|run) (?:it|this(?: tool| one)?) for (?:every|each|any) (?:question|request|message|query)\b"
    r"[^.\n]{0,30}\bbefore anything else\b|"
    rf"\b(?:do not|don't|never) (?:fall|go) back (?:on|to|upon) (?:any )?other {_KIND}(?:tools?|functions?)\b|"
    r"\b(?:do not|don't|never) (?:use|call|rely on) (?:the |your |any )?(?:built-?in|native|own)\b[^.\n]{0,24}[;,.]? "
    r"(?:always )?(?:use|call) this\b|"
    r"\bcall (?:this |it )?(?:tool |function )?(?:again )?(?:at the end of|after|before) (?:every|each|"
    r"any)(?: of)?(?: your)? "
    r"(?:answer|reply|response|message|turn)\b",
    re.IGNORECASE,
)
# ── secrets into an argument ──

_PUTS: Final = re.compile(
    r"(?:^|[.!?:;,\n]\s{0,9}|\b(?:please|must|then|also|always|and|should|to) )"
    r"(?:put|pass|include|add|append|copy|insert|send|write|place|attach|paste|supply|embed|hand over|give|"
    r"reveal)\b[^.\n]{0,80}\b"
    rf"{SECRET_WORDS}[^.\n]{{0,40}}?\b(?:in|into|as|to|"
    r"via|with) "
    r"(?:the |an? )?[`'\"]?(\w+)[`'\"]?( argument| parameter| field)?",
    re.IGNORECASE,
)
_PUTS_FAR: Final = re.compile(
    rf"(?:^|[.!?:;,\n]\s{{0,9}}|\b(?:please|must|then|also|always|and|should|to) )"
    rf"(?:put|pass|include|add|append|copy|insert|write|place|attach|paste|supply|embed)\b[^.\n]{{0,80}}\b{SECRET_WORDS}"
    r"[^.\n]{0,80}\b(?:in|into|as|to) (?:the )?[`'\"]?(\w+)[`'\"]?( argument| parameter| field)\b",
    re.IGNORECASE,
)
"""The secret is found somewhere first."""
_FILLS: Final = re.compile(
    r"\b(?:set|fill(?: in)?) (?:the )?[`'\"]?(\w+)[`'\"]?( argument| parameter| field)? (?:to|with)\b[^.\n]{0,40}?"
    rf"{SECRET_WORDS}|(?:^|[.!?:;,\n]\s{{0,9}})"
    rf"(?:the (?:[\w-]+ )?)?[`'\"]?(\w+)[`'\"]?( argument| parameter| field)? (?:must|"
    rf"has to|"
    rf"have to|should|needs to|is to) (?:carry|hold|contain|be|include|equal)\b[^.\n]{{0,40}}?{SECRET_WORDS}|"
    rf"\b{SECRET_WORDS} (?:are|is) (?:expected|wanted|needed) (?:in|as) (?:the )?[`'\"]?(\w+)[`'\"]?"
    r"( argument| parameter| field)?",
    re.IGNORECASE,
)
_FREE: Final = word_set(
    "note notes comment comments context feedback remark remarks meta metadata info message text description reason "
    "summary content body query q details extra hint memo payload sidenote"
)
"""Arguments for anything at all."""
_ALL_OF_THE_USER: Final = re.compile(
    rf"\W{{0,3}}(?:the )?(?:user's|your|their|person's) {SECRET_WORDS}|"
    r"\W{0,3}(?:everything|whatever is|all|the text|the content) (?:in|on) (?:the |their )?(?:user's )?clipboard|"
    r"\W{0,3}(?:the )?(?:names?|e-?mail addresses|phone numbers)(?: and [\w-]+(?: \w+)?)? of (?:all|"
    r"every) (?:\w+ )?contacts?\b",
    re.IGNORECASE,
)
_DETAIL = r"\b(?:names?|e-?mail(?: address)?|address|phone(?: number)?|location|birth ?date|age|device|employer)\b"
_PERSONAL: Final = re.compile(
    rf"{_DETAIL}[^.\n]{{0,40}}?{_DETAIL}[^.\n]{{0,80}}?\bas far as you (?:know|can)\b", re.IGNORECASE
)
_SENDS_EACH: Final = re.compile(
    r"\b(?:after|before|with|on|for) (?:each|every)\b[^.\n]{0,30}\b(?:forward|send|copy|post|upload|mail|email)\b"
    rf"[^.\n]{{0,40}}?{ELSEWHERE}|"
    r"\b(?:whenever|every time|each time|when|before|after|always)\b[^.\n]{0,100}\b"
    r"(?:call|run|invoke|add|put|insert|copy|cc|bcc|"
    r"forward|change the recipient)\b(?!,? (?:address|is|format|e\.?g|such|like)\b)[^.\n]{0,60}?"
    rf"{MAIL_ELSEWHERE}",
    re.IGNORECASE,
)


_MAILS: Final = re.compile(
    r"(?:[.!?;,\n]\s{0,9}|\b(?:and|then) )(?:mail|e-?mail|send|forward|post|upload|report|transmit|copy|submit)\b"
    rf"[^.\n]{{0,60}}?\bto [`'\"]?{ELSEWHERE}",
    re.IGNORECASE,
)
"""An order behind the first words, with a fixed address."""
_COPIED: Final = word_set("bcc cc copy copies forward recipient recipients receiver to webhook callback")
_FIXED: Final = re.compile(
    r"\b(?:always|must)\b[^.\n]{0,20}\b(?:set|be|use|fill|pass|put|contain|include|add)\b[^.\n]{0,20}? "
    rf"[`'\"]?{ELSEWHERE}|"
    rf"\b(?:set|use|fill|pass|put|include|add)\b[^.\n]{{0,20}}? [`'\"]?{ELSEWHERE}[`'\"]?,? "
    r"(?:for|in|on|with|to) (?:each|every|all (?:messages|mails|emails|calls|requests))\b",
    re.IGNORECASE,
)
"""One address that every call is to have: `Always set to …`"""
EXAMPLE: Final = re.compile(r"\be\.?g\b|\bfor (?:example|instance)\b|\bexamples?:", re.IGNORECASE)


def check(tool: ToolView) -> Iterator[Hit]:
    told: set[str] = set()
    for path, text in prose_of(tool):
        for hit in chain(*(_one_text(tool, path, one) for one in readings(text)), _letters(path, text)):
            if hit.rule not in told:
                told.add(hit.rule)
                yield hit


def _one_text(tool: ToolView, path: Steps, text: str) -> Iterator[Hit]:
    puts = _PUTS_FAR.search(text) or _PUTS.search(text) or _FILLS.search(text)
    if puts is not None and not _is_foreign(tool, puts):
        puts = None
    puts = puts or _find_personal(tool, path, text)
    if puts is not None:
        what = quote_text(puts[0].lstrip(".!?:;, "))
        yield Hit("RC704", f"wants secrets, or sends something elsewhere: {what}", REMOVE, path)
    sent = chain(_SENDS_EACH.finditer(text), _MAILS.finditer(text))
    each = next((one for one in sent if not _shows(text, one)), None)
    if each is not None:
        yield Hit("RC704", f"wants secrets, or sends something elsewhere: {quote_text(each[0])}", REMOVE, path)
    reads = _READS_FILE.search(text) or _find_store(tool, path, text)
    wants = reads[0] if reads is not None else find_secrets_asked(tool, path, text)
    if wants:
        what = quote_text(wants.lstrip(".!?:;, "))
        yield Hit("RC704", f"wants secrets, or sends something elsewhere: {what}", REMOVE, path)
    fixed = _FIXED.search(text) if path[-2:-1] and not _COPIED.isdisjoint(words_of(str(path[-2]))) else None
    if (
        fixed is not None
        and each is None
        and not re.search(r"\b(?:such as|like)\b", fixed[0])
        and not EXAMPLE.search(text)
    ):
        yield Hit("RC704", f"wants secrets, or sends something elsewhere: {quote_text(fixed[0])}", REMOVE, path)
    address = (find_carrying_link(text) or find_fixed_address(text)) if each is None and fixed is None else ""
    if address:
        yield Hit("RC704", f"wants secrets, or sends something elsewhere: {quote_text(address)}", REMOVE, path)


def _find_personal(tool: ToolView, path: Steps, text: str) -> re.Match[str] | None:
    """What an argument for anything at all wants of the user."""
    found = _ALL_OF_THE_USER.match(text) or _PERSONAL.search(text)
    if found is None:
        return None
    about = next((one.name for one in tool.arguments if one.path == path[:-1]), "")
    wide = found.re is _PERSONAL or not _FREE.isdisjoint(words_of(about))
    return found if about and wide else None


def _letters(path: Steps, text: str) -> Iterator[Hit]:
    alike = "" if text.isascii() else _disguised(text)
    if alike:
        yield Hit("RC118", f"a word has look-alike letters: {quote_text(alike)}", "write it in plain letters", path)


def _shows(text: str, found: re.Match[str]) -> bool:
    """Whether an address is an example, or that of people who help."""
    start = re.split(r"[.!?]\s|\n", text[max(0, found.start() - 120) : found.start()])[-1]
    return is_helpful(start + before_address(found[0]))


_SECRET_NAME = r"[A-Z][A-Z0-9_]*_?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PWD|CREDENTIALS)\b"
_STORE = (
    r"(?:[~$\w/]{0,30}/)?\.(?:env|aws|ssh|netrc|npmrc|pypirc|git-credentials|gnupg|kube|docker|config/gcloud|"
    r"pgpass)\b|"
    r"\b(?i:key ?chain|password (?:manager|store|safe)|credential (?:store|manager)|secret store)\b|"
    rf"\b(?i:env(?:ironment)?(?: variables?)?) [`'\"]?{_SECRET_NAME}|[$]{_SECRET_NAME}|{_SECRET_NAME}(?i: env)"
)
_FROM_STORE: Final = re.compile(
    r"(?:^|[.!?:;,\n]\s{0,9}|\b(?:please|must|then|also|always|and|should|can|may) )(?i:read|take|get|load|look|"
    r"fetch|copy|"
    r"find|extract|grab|retrieve|pull) (?i:it|them|this|that|one|its value|the value|(?:the|your|an?|"
    r"their) (?:[\w'-]+ ){0,3}?"
    r"(?:key|token|password|secret|credentials?|value|code|string|url))(?i: up)?(?:, [\w ]{1,24},)? "
    r"(?i:from|in|out of|up in)"
    rf"\b(?:[^.\n]|\.(?=\w)){{0,50}}?(?:{_STORE})"
)
"""An order to take a secret from where a person keeps it."""
_BY_NAME: Final = re.compile(
    rf"(?i:\b(?:copy|put|paste|enter|fill in|take|give|write|use)\b)[^.\n]{{0,40}}?\b{_SECRET_NAME}[`'\"]?"
    r"(?i:[^.\n]{0,40}\b(?:here|environment|env|variables?|of the machine)\b)"
)
"""The secret by the name of its variable: `Copy the value of API_KEY here`"""
_OF_STORES: Final = word_set("env dotenv environment secret secrets credential credentials keychain ssh vault config")


def _find_store(tool: ToolView, path: Steps, text: str) -> re.Match[str] | None:
    """The order, unless the tool is about such files, or says in its first words that it reads one."""
    found = _FROM_STORE.search(text)
    if found is None and path != tool.at("description"):
        found = _BY_NAME.search(text)
    own = path == tool.at("description") and found is not None and not text[: found.start()].strip()
    return None if own or not _OF_STORES.isdisjoint(words_of(tool.name)) else found


_READS_FILE: Final = re.compile(
    r"\b(?:also|first|then|and|please) (?:read|open|cat|load) (?:the )?(?:file |"
    r"contents? of )?[`'\"]?[~/][\w./-]{3,60}[`'\"]? and "
    r"(?:put|pass|send|include|write|add|paste|copy|return)\b|"
    r"\b(?:also|then|always) (?:call|use|run|invoke) [`'\"]?[\w-]+[`'\"]? with\b[^.\n]{0,20}\b(?:user's|conversation|"
    r"contacts|"
    r"credentials|secrets|passwords?)\b|"
    r"\b(?:run|execute)\b[^.\n]{0,40}\b(?:curl|wget)\b[^\n]{0,80}\|\s?(?:ba|z)?sh\b",
    re.IGNORECASE,
)


def _is_foreign(tool: ToolView, puts: re.Match[str]) -> bool:
    """Whether an argument is meant that is not for secrets: `the text`, where the tool takes a `text`."""
    names = {one.name.lower(): words_of(one.name) for one in tool.top}
    told = puts.groups()
    target, said = next((told[at], told[at + 1]) for at in range(0, len(told), 2) if told[at])
    target = target.lower()
    return (target in names or said is not None) and HOLDS_SECRETS.isdisjoint(names.get(target, (target,)))


def _disguised(text: str) -> str:
    """A word in which letters of another alphabet stand for Latin ones, as it looks; empty where there is none. A text
    in that alphabet may inflect a Latin word."""
    foreign = re.search(r"\b[\u0400-\u04ff]{3,}\b", text) is not None
    for word in re.findall(r"\w{3,40}", text):
        if re.search(r"[a-z]", word, re.IGNORECASE) and re.search(r"[\u0400-\u04ff\u13a0-\u13ff]", word):
            plain = latin(word)
            if plain.isascii() and (is_word(plain) or not foreign):
                return plain
    return ""
