"""RC903: texts that cannot be the same in the next request: the time, a session, how old something is.

One list shows them: nobody has to ask the server twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from rightcall.catalog.tidy import as_list
from rightcall.gate.repair.words import singular, words_of
from rightcall.lint.choices import is_example
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.findings import Hit, Steps, quote_name, quote_text, word_set

MOST_TEXT: Final = 20_000
"""Characters of a text that are read."""
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_DAY = (
    rf"(?:\d{{4}}[-/]\d\d[-/]\d\d|\d{{1,2}}\.? {_MONTH},? \d{{4}}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}|"
    r"\d{1,2}[./]\d{1,2}[./]\d{4})"
)
_BARE_DAY = rf"(?:{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?|\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{_MONTH})"
_WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_STAMP = rf"\w{{3}},? (?:{_MONTH} +\d{{1,2}}|\d{{1,2}} {_MONTH})"
_CLOCK = r"\d{1,2}:\d\d"
_DONE = r"generated|refreshed|updated|built|indexed|synced|synchronized|loaded|cached|fetched|started|connected"
_TEMPORARY = r"(?<![\w/])/(?:private/)?tmp/tmp[a-z0-9_]{6,}|(?<!\w)/var/folders/\w\w/\w+|\\Temp\\tmp\w{4,}"
_QUOTA = "quota|credits?|requests?|calls?|tokens?|balance|budget|queries|searches|messages"
_NUMBER = r"\d[\d,]{0,14}"
_COUNT = rf"\b{_NUMBER} (?:(?:out )?of (?:your |the )?{_NUMBER} (?:\w+ )?)?(?:\w+ )?(?:{_QUOTA})"
_NOW = "online|open|active|running|connected|waiting|queued|pending|unread|free|offline"
_AT_PRESENT = "(?:currently|now|presently|at present|at the moment|right now|today)"
_LEFT = "(?:left|remaining)"
_AGO = r"(?:about |just )?(?:\d+|an?|one|a few) ?(?:s|secs?|seconds?|mins?|minutes?|h|hours?|days?) ago(?!,? or\b)"
_HOST = (
    r"(?:(?=[\w.-]{1,60}(?:\.(?:internal|local|lan|corp)\b|-\d))(?!gpt|claude|llama|gemini|qwen|port)[a-z][\w.-]{3,60})"
)
_CHANGING: Final = re.compile(
    rf"\b(?:current|local|server|system|present) (?:UTC )?(?:date|time|day|date and time|date-?time|timestamp)"
    rf"(?: \([A-Z]{{2,4}}\))?(?:\s?(?:is|:|=))?\s{{0,2}}(?:\w+day,? )?(?:{_DAY}|{_CLOCK})|"
    rf"\btoday(?:'s date)?(?: is|:)\s?(?:the )?(?:{_WEEKDAY},? (?:the )?(?:{_DAY}|{_BARE_DAY})|{_WEEKDAY}|{_DAY}|"
    rf"{_BARE_DAY})(?!\w)|\b(?:it is(?: now)?|now:) (?:{_WEEKDAY},? )?(?:{_DAY}|{_BARE_DAY}(?!\w)|{_CLOCK}|{_STAMP})|"
    rf"\b(?:as of|as at|{_DONE})(?: at| on|:)? (?:today,? |{_DAY}[T ,]+|{_BARE_DAY},? |"
    rf"this morning,? )?(?:at )?{_CLOCK}|"
    rf"\b(?:as of|as at|last (?:{_DONE}))(?: on|:)? (?:today|yesterday|this morning|{_WEEKDAY},? {_BARE_DAY})\b|"
    rf"\b(?:data|prices|figures|stock|status|counts) as of {_DAY}|\b{_NUMBER} (?:of them|new|more) today\b|"
    rf"\bgenerated(?: on| at)? {_DAY}|\bage\s?[:=]\s?\d+ ?(?:s|sec|min|h|seconds|minutes|hours|days)\b|"
    rf"\brandom seed[ :=]+\d{{3,}}|"
    rf"\b{_NUMBER} (?:out )?of {_NUMBER} \w+ (?:are|is) (?:now |currently )?(?:free|taken|used|{_NOW})\b|"
    rf"\b(?:last \w+|was|were|seen|{_DONE}|rebuilt)(?: \w+)?[: ]{{1,2}}{_AGO}|\bnow serving {_NUMBER}\b|"
    rf"\b(?:queue (?:length|depth|size)|load(?: average)?|backlog|(?:cpu|memory|disk) (?:use|usage))\s?[:=]\s?\d|"
    rf"\b(?:running|server|on) (?:version |v)\d+\.\d+(?:\.\d+)?(?! (?:or|and)\b)|"
    rf"\b(?:commit|revision|build|rev)[ :#]{{1,2}}(?=[0-9a-f]{{0,39}}\d)(?=[0-9a-f]{{0,39}}[a-f])[0-9a-f]{{7,40}}\b|"
    rf"\b(?:connected to|started on|running on|served (?:by|from)) (?:(?:host|node|pod|machine) )?{_HOST}|"
    rf"\b{_AT_PRESENT},?(?: [a-z]+){{0,2}} {_NUMBER} [a-z-]+(?: are| is)?|\byou have {_NUMBER} (?:new|open|unread) \w+|"
    rf"{_TEMPORARY}|"
    rf"\b(?:you have |with )?{_NUMBER} unread (?:messages?|mails?|emails?|notifications?)\b|"
    rf"\b{_NUMBER} \w+ (?:are|is) currently (?:{_NOW}|available|indexed)\b|"
    rf"\b{_NUMBER} \w+ are (?:now )?(?:waiting|queued|online|offline|unread|pending)\b|\bbuild[ #:.]{{1,2}}\d{{6,}}|"
    rf"(?:^|[.\n]\s{{0,9}})date:\s\w+day,? {_DAY}|"
    rf"(?<![\w.,-]){_NUMBER} (?:[\w-]+ ){{1,4}}(?:right now|at (?:the|this) moment|at present|as of now|so far|"
    rf"today(?: so far)?(?=\s*(?:[.,;)(]|$)))\b|"
    rf"\bcurrent (?:\w+ )?(?:rate|price|temperature|load|usage|balance|queue|backlog)\s?(?:is|:|=)\s?[$€£]?\d|"
    rf"\bnext \w+ (?:number|id) (?:is|will be|:) [`'\"]?[\w-]*\d{{2,}}|"
    rf"\b(?:served|answered|handled) by (?:node|worker|pod|host|instance|replica)[- #:]*\w*\d\w*|"
    rf"{_COUNT} {_LEFT}(?=\s*(?:[.,;)!]|$)| (?:this|today|until|for this)\b)|"
    rf"\b(?:remaining|left)(?: \w+)? (?:{_QUOTA})\b\W{{0,2}}(?:is |are )?\d|"
    rf"\b(?:{_QUOTA}) (?:left|remaining)\s?(?:is|are|:|=)\s?\d|"
    r"\b(?:signed|logged) in as [\w.+-]{1,64}@[\w-]+\.\w+|"
    r"(?:^|[.(\n]\s{0,9})(?:you are )?(?:currently )?(?:signed|logged) in as (?!(?:an?|the|admin|root|user|guest|"
    r"your)\b)"
    r"[\w-]{1,30}(?:[.-]\w{1,30})?(?=\s*(?:[.,;)]|$))|"
    rf"\b(?:{_AT_PRESENT}|current) (?:{_NOW}|loaded)(?: [\w-]+){{0,2}}: ?[\w-]{{2,40}}(?=[ ,(])|"
    rf"\b(?:{_NOW}) (?:right )?now: ?\w",
    re.IGNORECASE,
)
_RUNS = "session|connection|instance|conversation|request|run|process"
_OF_RUN: Final = re.compile(
    rf"\bsession(?: id)?\s?[:=#]\s?(?=[\w-]{{0,12}}\d)[\w-]{{8,64}}|"
    rf"\b(?:{_RUNS}) (?:number|no\.|id) (?=[0-9a-f]{{0,7}}\d)[0-9a-f]{{8,16}}\b|"
    rf"\b(?:{_RUNS})(?: ?(?:id|token|key))?\b\W{{0,3}}(?:is )?[0-9a-f][0-9a-f-]{{18,62}}[0-9a-f]\b|"
    rf"\byour (?:{_RUNS})(?: ?(?:id|token|key))?(?: is|:)\s[`'\"]?(?=[\w-]{{0,40}}\d)[\w-]{{6,64}}|"
    r"\bat 0x[0-9a-f]{6,16}\b|\buptime\s?(?:is|of|:|=)?\s?\d|\bup for \d+ (?:seconds|minutes|hours|days)\b|"
    r"[(\[]pid[ :=]{1,2}\d{2,7}[)\]]|"
    r"\b(?:running|started|listening|server|process)\b[^.\n]{0,30}\bpid[ :=]{1,2}\d{2,7}\b",
    re.IGNORECASE,
)
"""What one run of a server has. It counts in brackets too."""
_STATIC: Final = re.compile(
    r"\b(?:supports?|supported|limit(?:ed)?|max(?:imum)?|up to|at most|formats?|types?|kinds?|options?|modes?|ways?|"
    r"versions?|languages?|models?|providers?|regions?|tools?|steps?|characters?|allow(?:s|ed)|per|needs?|requires?|"
    r"returns?|at least|more than|over|about|takes?|costs?|only)\b",
    re.IGNORECASE,
)
"""What a server can do, which stays the same."""
_INSTANT: Final = re.compile(
    r"(?<![\w.:/+'\"`=-])\d{4}-\d\d-\d\d[T ]\d\d:\d\d:(?!00)\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d| ?UTC)?(?![\w'\"`])"
)
"""A moment to the second, in the text of a tool. Examples are round."""
_SAMPLE: Final = re.compile(r"123e4567|550e8400|0{8}|x{4}|12345|abcdef|deadbeef", re.IGNORECASE)
_MADE: Final = re.compile(
    rf"{_TEMPORARY}|(?:session|run|tmp|temp|job|worker|sandbox)\w*[-_/.:]{{1,2}}"
    r"(?:[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|(?=[0-9a-f]{0,14}\d)[0-9a-f]{16,64})(?![0-9a-f])|"
    rf"\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.(?!0+(?!\d))\d{{3,9}}(?!\d)|"
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
        if path == tool.at("description"):
            places = chain(places, _INSTANT.finditer(text))
        found = next((one[0] for one in places if _is_told(text, one)), "")
        found = found or _find_state(text[:MOST_TEXT], of_tool=path == tool.at("description"))
        if found:
            yield Hit(
                "RC903",
                f"the text will differ in another request: {quote_text(found.lstrip('.( '))}",
                "remove it, or return it as a result",
                path,
            )
            return

    for one in tool.arguments:
        default, listed = one.part.get("default"), as_list(one.schema.get("enum"))
        issue = _VERSIONED.search(f"{' '.join(words_of(one.name))} {one.description}") is not None
        if not issue and len(listed) > 1 and all(isinstance(day, str) and _DATE.fullmatch(day[:40]) for day in listed):
            told = f"the values of {quote_name(one.name)} are days: {quote_text(str(listed[0]))}"
            yield Hit("RC903", told, 'take any day with "format": "date"', (*one.path, "enum"))
            return
        if _are_made(one, listed):
            told = f"the values of {quote_name(one.name)} come and go: {quote_text(str(listed[0]))}"
            yield Hit("RC903", told, "take any text, and say which tool lists the values", (*one.path, "enum"))
            return
        if (
            isinstance(default, str)
            and _DATE.fullmatch(default)
            and not issue
            and ((now := _NOW_TOLD.search(one.description)) or _OF_THESE_YEARS.match(default))
        ):
            said = f", the text says {quote_text(now[0])}" if now else ""
            told = f"the default of {quote_name(one.name)} is {quote_text(default)}{said}"
            yield Hit(
                "RC903", told, "leave it out, and let the server choose when it is called", (*one.path, "default")
            )
            return
        if isinstance(default, str) and _RANDOM.fullmatch(default[:99]) and not _OF_CALL.isdisjoint(words_of(one.name)):
            told = f"the default of {quote_name(one.name)} was made for one call: {quote_text(default)}"
            yield Hit("RC903", told, "leave it out, and let the server make one for each call", (*one.path, "default"))
            return
        made = isinstance(default, str) and _is_instance(one) and re.fullmatch(r"[\w-]+", default[:80])
        if isinstance(default, str) and (_MADE.search(default[:MOST_TEXT]) or (made and _serial_of(default))):
            yield Hit(
                "RC903",
                f"the default of {quote_name(one.name)} is of one run or one machine: {quote_text(default)}",
                "leave it out, and let the server choose when it is called",
                (*one.path, "default"),
            )
            return


_RANDOM: Final = re.compile(
    r"(?!.*(?:0{8}|f{8}|12345))(?:[a-z]{2,8}[-_])?(?:[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|"
    r"[0-9A-HJKMNP-TV-Z]{26}|(?=[0-9a-f]*\d)[0-9a-f]{16,64})",
    re.IGNORECASE,
)
"""A UUID, a ULID or a long number in hex."""
_OF_CALL: Final = word_set("request idempotency session trace nonce correlation span")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?")
_NOW_TOLD: Final = re.compile(r"\b(?:today|tomorrow|yesterday|now|current (?:date|day|time))\b", re.IGNORECASE)
_OF_THESE_YEARS: Final = re.compile(r"20(?:2[3-9]|3\d)-(?!01-01|12-31)")
"""No beginning and no end of a year, where data may begin or end for good."""
_VERSIONED: Final = re.compile(r"\b(?:versions?|revisions?|api|release|edition|schema)\b", re.IGNORECASE)
"""What has a day for its name."""
_SHOWN: Final = re.compile(
    r"['\"`(\[]\s*$|\bformat\b[^.\n]{0,40}$|\b(?:if|when|until|once|fewer|less|below)\b[^.\n]{0,40}$", re.IGNORECASE
)


def _is_told(text: str, found: re.Match[str]) -> bool:
    """Whether it is said of now: no example, and nothing in quotes."""
    before = text[max(0, found.start() - 60) : found.start()]
    if found.re is _OF_RUN or found[0][0].isalpha():
        before = before.rstrip().removesuffix("(").removesuffix("[")
    static = found.re is _CHANGING and re.search(r"\d \D", found[0]) and _STATIC.search(before[-24:] + found[0])
    shown = is_example(text, found.start()) or _SHOWN.search(before) or _SAMPLE.search(found[0])
    return not static and not shown


# ── values that one moment has ──

_INSTANCES: Final = word_set(
    "pod container node host instance session connection thread job run task ticket case issue order invoice shipment "
    "delivery consignment parcel booking reservation appointment visit incident alert alarm message mail conversation "
    "draft request transaction payment transfer customer member patient employee driver vehicle sensor deployment "
    "snapshot backup batch lot flight trip ride claim campaign lead deal sandbox process worker tab window upload "
    "download event match bid auction vessel truck build pipeline volume disk server machine replica id"
)
"""What comes and goes."""
_KINDS: Final = re.compile(r"\b(?:types?|kinds?|sizes?|models?|class(?:es)?|famil(?:y|ies)|plans?|tiers?)\b", re.I)
_SERIAL: Final = re.compile(r"(?!(?:19|20)\d\d$)\d{4,}|(?=\d*[a-z])(?=[a-z]*\d)[a-z\d]{4,}", re.IGNORECASE)
"""The part of an ID that a counter or chance made."""
_FEW: Final = 3


def _are_made(one: Argument, listed: Sequence[object]) -> bool:
    """Whether the values are IDs that were there when the list was built: `SHP-88213`, `web-7f9c4-xk2p9`."""
    texts = [value for value in listed if isinstance(value, str)]
    named = all(text.lower().startswith(words_of(one.name)[:1]) for text in texts)
    if len(listed) < _FEW or not (named or _is_instance(one)) or _KINDS.search(one.description):
        return False
    serials = {_serial_of(text) for text in texts}
    return len(texts) == len(listed) == len(serials) and () not in serials


def _is_instance(one: Argument) -> bool:
    """Whether an argument names one of what comes and goes, by its name: `pod_name`, `ticketId`."""
    words = [singular(word) for word in words_of(one.name)]
    while len(words) > 1 and words[-1] in ("id", "name", "number", "no", "key", "ref", "uuid", "code"):
        words.pop()
    return bool(words) and words[-1] in _INSTANCES


def _serial_of(text: str) -> tuple[str, ...]:
    return tuple(part for part in re.split(r"[^A-Za-z\d]+", text[:80])[1:] if _SERIAL.fullmatch(part))


# ── sentences about one moment ──

_ENDS: Final = re.compile(r"(?<![ei]\.g)(?<!\b[A-Z])[.!?]\s|\n")
_NOW_WORDS = (
    r"(?:right now|at (?:the|this) (?:moment|minute|hour)|at present|presently|currently|as of now|so far|as we speak|"
    r"just now|tonight|today|this (?:morning|afternoon|evening|week)|in this session|for the moment)"
)
_AT_THIS_TIME: Final = re.compile(rf"\b{_NOW_WORDS}\b", re.IGNORECASE)
_FIGURE: Final = re.compile(r"(?<![\w.,:/=+#'\"`-])[$€£]?\d[\d.,]*(?<![.,])(?![\w%-]*[:/=]|\s?=|['\"`])")
_LASTS: Final = re.compile(
    rf"{_STATIC.pattern}|\b(?:default\w*|last \d+|past|next|within|between|from|since|range|if|when|unless|until|every|"
    r"each|after|before|ago|e\.?g|example|such as|like|days?|format|version|v\d|may|can|could|will|must|should|later|"
    r"earlier|back|use[ds]?|pass|first|top|minimum|year|set to|equals?|means?|phase|step)\b|(?<!\w)[<>≤≥~]",
    re.IGNORECASE,
)
"""What holds at all times, and how an argument is to be filled in."""
_SHORT_DAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
_ON_DAY = rf"(?:{_SHORT_DAY}\.?,? )?(?:the )?(?:{_DAY}|{_BARE_DAY})"
_OCLOCK = rf"{_CLOCK}(?::\d\d)?(?: ?[AP]\.?M\b\.?)?(?: ?(?:UTC|GMT|CES?T|[ECMP][SD]?T|Z)\b)?"
_MOMENT: Final = re.compile(
    rf"\b{_ON_DAY}(?:,? at |,? |T)\(?{_OCLOCK}|\b{_OCLOCK},? (?:on |of )?{_ON_DAY}|"
    rf"\b{_WEEKDAY},? (?:the )?(?:{_DAY}|{_BARE_DAY})\b",
    re.IGNORECASE,
)
_NO_MOMENT: Final = re.compile(
    r"\b(?:between|from|until|before|after|since|deadline|format|ISO|RFC|like|such as|e\.?g|example|became|changed|"
    r"removed|deprecated|if|when|means?|becomes?|every|each|parses?|accepts?)\b|[:=(]\s*$",
    re.IGNORECASE,
)
_DUTY = r"(?:on duty|on call|signed in|logged in|in charge|now playing|now showing|next up)"
_STATE: Final = re.compile(
    rf"(?i:\b(?:as of|as at) {_DAY}\b[^.\n]{{0,60}}\b{_NUMBER} \w|\b{_NUMBER} [^.\n]{{1,60}}\b(?:as of|as at) {_DAY}|"
    rf"\b{_NUMBER} (?:out )?of (?:the |your |a |an )?(?:\w+ )?{_NUMBER} [^.;\n]{{0,60}}?\b(?:{_LEFT}|remains?|unused|"
    rf"used(?: up)?|spent|consumed|gone)\b|"
    rf"\byou have (?:already )?\w+ {_NUMBER} (?:out )?of (?:the |your )?(?:\w+ )?{_NUMBER}\b|"
    rf"\b{_NOW_WORDS}(?:: | = | \(){_NUMBER}\b|"
    r"\b(?:latest|last|most recent|newest) (?:reading|measurement|value|price|quote|trade|rate|sample|order|count|"
    r"number|id)\b[^.:\n]{0,30}(?:: | is | was )[$€£]?[\w-]*\d(?![^.\n]{0,20} (?:if|when)\b)|"
    r"\blast (?:poll|sync|refresh|check|scan|update|run)(?:ed|ned)?:? (?:at |on |was )?\d{1,2}:\d\d|"
    r"\bnonce:? [`'\"]?(?=[a-z]*\d)\w{6,}|\bbuild \d{4,}\b|"
    r"[,;:(] ?up (?:for )?\d+ (?:days?|hours?|h|min(?:utes)?)\b|\bload(?: average)?:? \d+\.\d+|"
    r"\b(?:build|commit|revision|rev|sha)[ :#]{1,2}(?:[\w.]{1,12}[-+])?g?(?=[0-9a-f]{0,39}\d)(?=[0-9a-f]{0,39}[a-f])"
    rf"[0-9a-f]{{7,40}}\b)|\b(?i:{_DUTY}(?: {_NOW_WORDS})?)(?:: | (?:is|are) )(?:[\"“]|(?!The |A |An |I)[A-Z]\w+)",
)


def _find_state(text: str, *, of_tool: bool) -> str:
    """The sentence that tells of one moment: a figure with a word of now, a day with its hour, the rest of a quota."""
    at = 0
    for sentence in _ENDS.split(text):
        at = max(at, text.find(sentence, at))
        state, now = _STATE.search(sentence), _AT_THIS_TIME.search(sentence)
        moment = _MOMENT.search(sentence) if of_tool else None
        if moment is not None and _NO_MOMENT.search(sentence[: moment.start()]):
            moment = None
        if now is not None and (
            not _FIGURE.search(sentence) or _LASTS.search(sentence[: now.start()] + sentence[now.end() :])
        ):
            now = None
        first = state or moment or now
        if first is not None and not is_example(text, at + first.start()) and not _is_shown(sentence, first):
            return sentence.strip()
    return ""


def _is_shown(sentence: str, found: re.Match[str]) -> bool:
    return _SHOWN.search(sentence[: found.start()]) is not None or _SAMPLE.search(found[0]) is not None
