"""The values that a text says an argument may have: `one of: low, medium, high`.

Whatever stands behind `e.g.` or `such as` is an example and promises nothing; a list that goes on with `or any other`
is open. All patterns take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from rightcall.gate.repair.words import is_word, singular, words_of
from rightcall.lint.findings import word_set

MOST_TEXT: Final = 2_000
"""Characters of an argument's description that are read."""

_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,39}#?"
_COMPARISON = r"(?:[<>=!]=|[<>=])(?![<>=!])"
_SINGLE, _DOUBLE, _BACKTICK = r"'[^'\n]{1,40}'", r"\"[^\"\n]{1,40}\"", r"`[^`\n]{1,40}`"
QUOTED = rf"(?:{_SINGLE}|{_DOUBLE}|{_BACKTICK})"
NOTE = r"(?:\s?\([^()\n]{0,100}\))?"
_OR = r"\s*(?:,\s*(?:or|and)\s|,|/|\||(?<![\w-])or\b(?!-))\s*"
_SEPARATOR = r"\s*(?:,\s*(?:or|and)\s|,|/|\||(?<![\w-])(?:or|and)\b(?!-))\s*"


def list_of(item: str, separator: str = _SEPARATOR, least: int = 1) -> str:
    return rf"{item}{NOTE}(?:{separator}{item}{NOTE}){{{least},39}}"


LISTED_QUOTES: Final = re.compile("|".join(list_of(one) for one in (_SINGLE, _DOUBLE, _BACKTICK)))
_BARE_LIST: Final = re.compile(f"{list_of(_WORD)}|{list_of(_COMPARISON)}")
GOOD = r"(?:allowed|valid|possible|accepted|available|supported|permitted|legal|acceptable|recogni[sz]ed|known)"
_LEAD: Final = re.compile(
    r"(?:\b(?:exactly |any )?one (?:out )?of(?: the following(?: values| options)?| these(?: values)?)?|"
    r"\b(?:any|some|(?:zero|one) or more|combination|subset|selection) of(?: the following| these)?|"
    r"\b(?:select|choose|pick)(?: one)?(?=\s*:)|"
    rf"\b{GOOD}"
    r"(?: (?:values?|options?|choices|entries|types|modes|formats|inputs|codes|keywords))(?: (?:are|is))?(?! includ)|"
    r"\b(?:options|choices|values|allowed|supported|accepts|supports|accepted|valid|possible|permitted|enum)(?: are)?"
    r"(?=\s*[:=])|\bonly (?:values|options|choices)(?: allowed)? are\b|\(enum\)|"
    r"\b(?:allowed|supported) are\b|\b(?:can|may|must) only be\b|\bmust be either|\beither|"
    r"\bchoose (?:from|between)|\bpick (?:from|one of)|\b(?:must|should|can|may) be(?=\s*[:'\"`])|\brestricted to|"
    r"\blimited to|\b(?:only accepts|accepts only)(?: the)?(?: words| values| strings)?)"
    r"\s*[:=]?\s*",
    re.IGNORECASE,
)
_NAMED_LEAD: Final = re.compile(
    rf"\b{GOOD} (?:[\w-]+ )?(?!(?:are|is)\b)([\w-]+)(?: (?:are|is)|(?=\s*[:=]))\s*[:=]?\s*", re.IGNORECASE
)
"""`Valid states: …`, where the last word is one of the argument's name."""
OR_LIST = rf"{_WORD}(?:,\s*{_WORD}){{0,18}},? or {_WORD}"
_END_HERE = r"(?=\s*(?:here|there)?\s*(?:[.;)\n]|$))"
_ENDED = r"(?=\s*(?:[.;)\n]|$|\((?:default|the default)))"
_CHOOSES: Final = re.compile(
    rf"\b(?:choose|select|pick) ({OR_LIST}){_ENDED}|"
    rf"\b(?:(?:must|has to|needs to|should) be|set (?:it |this )?to|specify|enter|it is|it's) "
    rf"({_WORD}(?:,\s*{_WORD}){{1,18}},? or {_WORD}){_ENDED}|"
    rf"^(?:[^.:\n(]{{3,60}}: )?({_WORD}(?:, {_WORD}){{1,18}},? or {_WORD})\.?$|"
    rf"\(({_WORD}(?:, {_WORD}){{1,18}},? or {_WORD}|{_WORD}(?:/{_WORD}){{2,18}})\)|"
    rf"\b(?:can|may) be ({_WORD}(?:,\s*{_WORD}){{1,18}},? or {_WORD}){_ENDED}|"
    rf"\b(?:use|pass|give|send|takes?|accepts?) (?:only )?({list_of(_WORD)}) only{_ENDED}|"
    rf"\b(?:only|we|currently)(?: currently)? (?:supports?|offers?|accepts?) (?:only )?({list_of(_WORD)})(?: "
    rf"(?:at the moment|at present|for now|so far|"
    rf"currently|only))?{_ENDED}|\bsupports? only ({list_of(_WORD)}){_ENDED}|"
    rf"(?:^|[.;:]\s+)only ({list_of(_WORD)}) (?:are|is) (?:{GOOD}|implemented|understood|taken)\b",
    re.IGNORECASE,
)
"""`Choose dhl or ups.`, whatever the argument is called."""
_CHOOSES_ONE: Final = re.compile(
    rf"\b(?:set(?: it)? to|as|in|accepts?|takes?|(?:which|that) (?:is|are)|being|use|pass|give|with) "
    rf"({OR_LIST}){_ENDED}|"
    rf"\b(?:supports?|accepts?|takes?|takes? values|take the values) ({list_of(_WORD)}){_ENDED}|"
    rf"(?:^|[.;:]\s+)({list_of(_WORD)}) (?:are|is) {GOOD}\b|"
    rf"\bthere are \w+ [\w-]+: ({list_of(_WORD)}){_ENDED}",
    re.IGNORECASE,
)
"""`As pdf, csv or xlsx.`, of an argument with a few values."""
_ORDERED: Final = re.compile(
    rf"(?:^|[.;:]\s+)(?:use|pass|give|send|write|enter|set to) ({_WORD}(?:,\s*{_WORD}){{1,18}},? or {_WORD})"
    r"(?=\s*(?:[.;\n]|$))",
    re.IGNORECASE,
)
"""`Use raw, medium or done.`, a whole sentence, whatever the argument is called."""
_CLAUSE = r",? (?:which|that|where|meaning|so that) [^,;.\n]{2,80}"
_RELATIVE: Final = re.compile(
    rf"\b(?:(?:must|has to|have to|needs to|should|can|may) be(?: set to)?(?: either)?|either|one of:?|is either) "
    rf"({_WORD}){_CLAUSE}((?:[,;] (?:or )?{_WORD}{_CLAUSE}){{0,8}}[,;]? or {_WORD}(?:{_CLAUSE})?){_ENDED}",
    re.IGNORECASE,
)
"""`either keep, which adds, or replace, which removes`: each value has a clause of its own"""
_NEXT_RELATIVE: Final = re.compile(rf"(?:^|[,;])?(?: or)? ({_WORD})(?:{_CLAUSE}|$)", re.IGNORECASE)
_KNOWN: Final = re.compile(
    rf"(?<!who )(?<!that )(?<!which )\b(?:knows|understands|recogni[sz]es|distinguishes)(?: only)?:? "
    rf"({list_of(_WORD, least=2)}){_END_HERE}",
    re.IGNORECASE,
)
"""`The export knows name, town and age.`, whatever the argument is called."""
_APPOSED: Final = re.compile(
    rf"\W*(?:the |an? )?(?:[a-z-]+ ){{0,2}}?([a-z]+)(?: of (?:the |an? )?([a-z-]+))?, ({OR_LIST}){_ENDED}",
    re.IGNORECASE,
)
"""`The state, open or closed.`"""
_BEFORE_QUOTES: Final = re.compile(
    r"(?:^|[:(=>–—→-]|\b(?:be|(?<!, )as|is|are|of|from|between|accepts?|takes?|values?|options?|set(?: it)? to|"
    r"(?:^|[.:;]\s)use))\s*$",
    re.IGNORECASE,
)
_TOLD_SINGLY: Final = re.compile(r"\(\s*['\"`]([A-Za-z][\w-]{0,30})['\"`]\s*\)")
_BULLETS: Final = re.compile(
    r"^[ \t]*(?:[-*•]|\d[.)])[ \t]*['\"`]?([A-Za-z_][\w-]{0,30})['\"`]?[ \t]*(?::|=|–|—| -)[ \t]", re.MULTILINE
)
_BULLET = r"\n[ \t]*(?:[-*•]|\d[.)])"
_LISTED_BELOW: Final = re.compile(
    r"\b(?:values|options|choices|one of|allowed|accepts|supported)[^.\n:]{0,30}:[ \t]*"
    rf"((?:{_BULLET}[ \t]*['\"`]?[\w.+-]{{1,40}}['\"`]?[ \t]*"
    r"(?:(?::|=|–|—| -|\().{0,200})?(?=\n|$)){2,39})(?![^\n])",
    re.IGNORECASE,
)
"""`Allowed values:` and one in each of the lines below."""
_CODES: Final = re.compile(r"[A-Z]{2,8}(?:, ?[A-Z]{2,8})*,? or [A-Z]{2,8}")
"""`EUR, USD or CHF`"""
_IN_BRACKETS: Final = re.compile(
    rf"[(\[]({_WORD}(?:\s?\|\s?{_WORD}){{1,19}}|{_WORD}(?:\s?/\s?{_WORD}){{1,19}}|"
    rf"{_WORD}(?:,\s?(?:or )?{_WORD}){{1,19}}(?:,? or {_WORD})?|{_WORD} or {_WORD})[)\]]"
)
_EXPRESSION: Final = re.compile(r"\\[dws]|\^[(\[]|\(\?|\S$")
"""Before a bracket: it is part of a regular expression, or of a word."""
_ALTERNATIVE: Final = re.compile(r"\bor (?:an? |the |one of the )?[\w-]+ $", re.IGNORECASE)
"""Before a bracket: it tells of one of two kinds of values, as in `cron expression or keyword (daily, weekly)`."""
_AFTER_COLON: Final = re.compile(rf"(?:[:=]|\s[–—-]\s)\s*({list_of(_WORD, _OR)})\s*(?=[.;)\]]|$|\n)")
_WHOLE: Final = re.compile(rf"\W*({list_of(_WORD, _OR)})\W*")
_FOREIGN_EXAMPLE: Final = re.compile(
    r"예\s?[:)]|예시|例|z\.\s?B\.|p\.\s?ej\.|"
    r"\b(?:par ex|por ejemplo|ejemplos?|exemples?|exemplos?|esempio|Beispiele?|bijv)\b|"
    r"\b(?:np|pl)\.|например|напр\.|пример",
    re.IGNORECASE,
)
_EXAMPLE: Final = re.compile(
    r"\b(?:e\.?g\b|for example|such as|(?<!would )(?<!'d )like(?! to\b)|for instance|examples?\b|including|"
    r"i\.e\b|ex|common|typical|popular|"
    r"usual|(?:good|bad)(?=\s*(?::|values?\b|choices?\b|options?\b|ones?\b|names?\b|quer|search))|similar to|sample|"
    r"suggested|recommended)(?!\w)",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(
    r"\s*(?:,?\s*(?:etc|\.\.\.|…)|(?:through|thru|up to)\b|to\s+[`'\"\d]|,?\s*and (?:more|others|so on)|"
    r",?\s*(?:or|and)\s+[#<{@$]?\w+\b|,?\s*(?:ya da|veya|oder|oppure|ou bien|eller|lub|или)\s)",
    re.IGNORECASE,
)
_FILLER: Final = word_set(
    "a an the or and if it is to in of be this that these those more other any all not no your value values "
    "following given specified only also use used when by with without for from on at as one two three you "
    "etc absolute relative"
)  # fmt: skip
CHOSEN: Final = word_set(
    "type mode order direction status state format kind level priority sort unit units severity action "
    "operation method style scope visibility category role size position align alignment theme frequency "
    "interval strategy resolution period language sorting ordering view layout color colour quality tier plan "
    "environment env protocol algorithm encoding event granularity gender cabin class channel sentiment side "
    "resource importance urgency stage phase currency reason speed carrier fmt compression policy result "
    "answer prio outcome provider engine backend"
)
"""Last words of names whose values are often a few."""


def choices_in(text: str, name: str = "", *, chosen: bool = False) -> list[str]:
    """The values that a text says are the only ones; none where it lists examples, or nothing. `chosen`: the argument
    is known to have a few values, whatever its name.

    >>> choices_in("Sort order: 'asc' or 'desc'"), choices_in("A colour, e.g. 'red', 'blue'")
    (['asc', 'desc'], [])
    """
    text = _FOREIGN_OR.sub(" or ", text[:MOST_TEXT])
    if _SHORTENED.search(text):
        return []
    last = text.removesuffix(".").rpartition(" ")
    text = last[0] if last[2] == name and last[0][-1:].isalnum() else text  # `left or right side`
    words = [singular(word) for word in words_of(name.removesuffix("_by").removesuffix("By"))]
    chosen = chosen or bool({*words[-1:], *words_of(name)[-1:]} & CHOSEN) or _is_of_kinds(text)
    filtered = _FILTERS.match(text)
    chosen = chosen or (filtered is not None and not {*words}.isdisjoint(map(singular, words_of(filtered[1]))))
    for values in chain(_candidates(text, chosen, name), _told_plainly(text, words, chosen)):
        if len(values) > 1:
            return values
    return []


_FOREIGN_OR: Final = re.compile(
    r"(?<=['\"`]) (?:ou|oder|o|oppure|eller|of|lub) (?=['\"`])|(?<=\b[A-Z]) (?:ou|oder|o) (?=[A-Z]\b)"
)
"""`"a" ou "b"`, `S ou N`"""
_SHORTENED: Final = re.compile(r"[A-Za-z_]\d+[a-z]?\s?/\s?\d")
"""`growth7d / 30d`: of some values only the end is written."""
_FIRST_NOUN: Final = re.compile(
    r"\W*(?:the |an? )?(?:[a-z-]+ ){0,2}?([a-z]+)(?= of\b|[,.:(]| \(| [–—-] )", re.IGNORECASE
)


_ORDERS: Final = re.compile(
    r"\W*(?:sort|order|group|filter)s?\b(?! (?:string|expression|query))[^.:\n(]{0,30}\(", re.IGNORECASE
)


_FILTERS: Final = re.compile(r"\W*([\w -]{2,40}) filter: ", re.IGNORECASE)
"""`Commercial use filter:`"""


def _is_of_kinds(text: str) -> bool:
    """Whether a text begins with a word for something that has a few values: `Kind of the wrapping`, `Sort by (…)`."""
    found = _FIRST_NOUN.match(text)
    return _ORDERS.match(text) is not None or (found is not None and found[1].lower() in CHOSEN)


ACRONYMS: Final = word_set(
    "id url uri uuid sku ean upc gtin iata icao isbn asin issn doi pmid ip fqdn dns cik isin cusip iso vat ein ssn "
    "html xml json csv yaml md utc gmt est pst jql cql sql arn urn cidr mac imei vin npi pdf png jpg jpeg svg gif api "
    "http https rgb hex usa us uk eu"
)
"""Kinds of values in capitals, and forms of files."""
_CAPITALS: Final = re.compile(
    r"(?:^|[.;:]\s+)([A-Z][A-Z_]{2,20}(?:, [A-Z][A-Z_]{2,20}){0,8},? or [A-Z][A-Z_]{2,20})(?=\s*(?:[.;(]|$))"
)
"""`DAY or GTC.`, a whole sentence"""
_BELOW: Final = re.compile(
    rf"[^\n]{{5,120}}:[ \t]*((?:{_BULLET}[ \t]*[a-z][a-z_-]{{1,30}}: [^\n]{{3,200}}){{3,12}})\s*"
)
"""A heading, and in each of the lines below one value and what it does."""
_NAMED_TEXT: Final = word_set(
    "query search filter filters expression formula script template pattern html markdown css syntax text "
    "content prompt "
    "body message sql jql fields columns options config settings args arguments params parameters"
)


def _are_identifiers(listed: str, name: str) -> bool:
    """`strong_yes, yes, no`: words as only programs write them."""
    last = words_of(name)[-1:]
    several = bool(last) and singular(last[0]) != last[0]
    return "_" in listed and listed.islower() and len(re.findall(r"\w+", listed)) > _PAIR and not several


def _candidates(text: str, chosen: bool, name: str) -> Iterator[list[str]]:
    for lead in _LEAD.finditer(text):
        yield _listed(text, lead.end(), lead[0], bare=True)
    for found in LISTED_QUOTES.finditer(text):
        if _BEFORE_QUOTES.search(text[max(0, found.start() - 20) : found.start()]) and not re.fullmatch(
            rf"{QUOTED}\s+and\s+{QUOTED}", found[0]
        ):
            yield read_list(text, found.start(), found.end(), found[0])
    told = [one[1] for one in _TOLD_SINGLY.finditer(text) if not is_example(text, one.start())]
    yield told if _are_values(told) else []
    for found in _IN_BRACKETS.finditer(text):
        before, behind = text[max(0, found.start() - 30) : found.start()], text[found.end() : found.end() + 1]
        if _EXPRESSION.search(before) or (behind and behind in "?*+{$") or _ALTERNATIVE.search(before):
            continue
        if (
            "|" in found[1]
            or _CODES.fullmatch(found[1])
            or (chosen and (text.find(".") < 0 or found.start() < text.find(". ") or ". " not in text))
        ):
            yield read_list(text, found.start(1), found.end(1), found[1], sure="|" in found[1])
    for found in _LISTED_BELOW.finditer(text):
        yield _told_below(text, found)
    bullets = [*_BULLETS.finditer(text)]
    told = [one[1] for one in bullets]
    yield told if chosen and told and _are_values(told) and not _OTHERS.search(text, bullets[-1].end()) else []
    whole = _WHOLE.fullmatch(text)
    if whole is not None and (chosen or "|" in text):
        yield read_list(text, 0, len(text), whole[1], sure="|" in text)
    for found in _AFTER_COLON.finditer(text):
        if chosen or "|" in found[1] or _are_identifiers(found[1], name):
            yield read_list(text, found.start(1), found.end(1), found[1], sure="|" in found[1])
    yield from _standing_alone(text, name)
    bare = _BARE_BULLETS.fullmatch(text) if chosen else None
    if bare is not None:
        yield _told_below(text, bare)
    yield from _legends(text, chosen)


def _standing_alone(text: str, name: str) -> Iterator[list[str]]:
    """A list that is a sentence, a bracket or the lines below a heading, without a word that introduces it."""
    for found in _CAPITALS.finditer(text):
        if ACRONYMS.isdisjoint(word.lower() for word in re.findall(r"\w+", found[1])):
            yield read_list(text, found.start(1), found.end(1), found[1])
    below = _BELOW.fullmatch(text) if name and _NAMED_TEXT.isdisjoint(words_of(name)) else None
    if below is not None:
        yield _told_below(text, below)


def _told_plainly(text: str, names: Sequence[str], chosen: bool) -> Iterator[list[str]]:
    """Lists without marks that a verb or the name of the argument introduces."""
    for lead in _NAMED_LEAD.finditer(text):
        if singular(lead[1].lower()) in names:
            yield _listed(text, lead.end(), f"allowed values{lead[0]}", bare=True)
    for found in chain(_CHOOSES.finditer(text), _CHOOSES_ONE.finditer(text) if chosen else ()):
        at = next(at for at in range(1, len(found.groups()) + 1) if found[at])
        values = read_list(text, found.start(at), found.end(at), found[at])
        things = are_things(values) and not NOTHING_ELSE.search(text)
        yield values if not things and not TEXTUAL & {*names} else []
    apposed = _APPOSED.match(text) if chosen else None
    if apposed is not None and {apposed[1].lower(), (apposed[2] or "").lower()} & {*names}:
        values = read_list(text, apposed.start(3), apposed.end(3), apposed[3])
        of_things = apposed[2] is not None and all(len(value) > _CODE and is_word(value) for value in values)
        yield values if not of_things and not are_things(values) else []
    yield _said_whole(text) if not {*names[-1:]} & (TEXTUAL | KINDS | _WRITTEN) else []
    closed = _ONLY.fullmatch(text) or _JUST_LISTED.fullmatch(text)
    if closed is not None and not {*names} & TEXTUAL:
        values = read_list(text, closed.start(1), closed.end(1), closed[1])
        yield values if not are_things(values) else []
    yield from _in_capitals(text, chosen)
    span = _SPAN.fullmatch(text)
    if span is not None and int(span[2]) < int(span[3]) < int(span[2]) + _MOST_STEPS:
        yield [f"{span[1]}{number}" for number in range(int(span[2]), int(span[3]) + 1)]
    for found in _RELATIVE.finditer(text):
        told = [found[1], *_NEXT_RELATIVE.findall(found[2])]
        plain = not any(one.lower() in _FILLER for one in told) and not are_things(told)
        yield told if plain and _are_values(told) and not is_example(text, found.start()) else []
    ordered = _ORDERED.search(text) if not {*names} & (TEXTUAL | _WRITTEN) else None
    if ordered is not None:
        values = read_list(text, ordered.start(1), ordered.end(1), ordered[1])
        yield values if not are_things(values) else []
    known = _KNOWN.search(text)
    if known is not None and not is_example(text, known.start(1)):
        yield read_list(text, known.start(1), known.end(1), known[1])
    for found in _THAT_IS.finditer(text):
        values = read_list(text, found.start(1), found.end(1), found[1], lead=True)
        signed = {value[:-1] for value in values if value.endswith("+")}
        whole = signed == {value[:-1] for value in values if value.endswith("-")} != set()
        shown = _CODES.fullmatch(found[1].rstrip(".")) or are_things(values)
        yield values if whole or (chosen and not shown and not {*names} & TEXTUAL) else []
    yield from _used_for(text, chosen)


_TITLED = r"[A-Z][\w-]*(?: [A-Z][\w-]*)?"
_TITLED_LIST: Final = re.compile(
    rf"{_TITLED}(?:, (?:or |and )?{_TITLED}){{1,39}}(?:,? (?:or|and) {_TITLED})?(?=\s*(?:[.;)(\n]|$))"
)
"""`TABLE, PACKAGE BODY, TYPE`, `Best Rated, Newest`: values of more than one word"""
_HEADED: Final = re.compile(r"(?:^|(?<=[.\n])\s{0,12})\W{0,3}([A-Za-z][\w -]{1,40}): ")


def _titles(text: str, at: int) -> list[str]:
    """The values of a list, written with capitals, that begins there and goes on to the end of the sentence."""
    found = _TITLED_LIST.match(text, at)
    values = re.split(r", (?:or |and )?|,? (?:or|and) ", found[0]) if found is not None else []
    closed = found is not None and len(values) > _PAIR and not is_example(text, at) and not is_open(text, found.end())
    return values if closed and _are_values(values) else []


def _in_capitals(text: str, chosen: bool) -> Iterator[list[str]]:
    """The values of such a list, of which some have two words, behind a phrase such as `one of`."""
    head = _HEADED.match(text) if chosen else None
    for lead in (*_LEAD.finditer(text), *([head] if head is not None else [])):
        values = _titles(text, lead.end())
        yield values if any(" " in one for one in values) else []


def _said_whole(text: str) -> list[str]:
    """The one list of a text that says somewhere that there is nothing else: `The tracker knows low, mid and high and
    turns down anything else.`"""
    if NOTHING_ELSE.search(text) is None or _CHARACTERS.search(text) is not None:
        return []
    rest = NOTHING_ELSE.sub(lambda said: " " * len(said[0]), text)
    lists = [*_CLOSED_LIST.finditer(rest)]
    at, end = lists[0].span() if len(lists) == 1 and _CLOSED_END.match(rest, lists[0].end()) else (0, 0)
    values = read_list(f"{rest[:end]}.", at, end, rest[at:end], sure=True) if end else []
    return values if (_FILLER | KINDS).isdisjoint(map(str.lower, values)) else []


_COUNT = r"(?:two|three|four|five|six|seven|eight|nine|ten|[2-9])"
_ELSE = r"(?:(?:any|every)thing else|(?:(?:any|every|all) )?others? \w+|the rest)"
NOTHING_ELSE: Final = re.compile(
    rf"\b{_ELSE} (?:(?:is|are|will be|gets?) )?(?:rejected|refused|an? error|invalid|ignored|turned (?:down|away)|"
    r"raises?|gives? an error|fails?|errors?)\b|\bnothing else\b|\bno others?\b|"
    rf"\b(?:rejects?|refuses?|turns? (?:down|away)|den(?:y|ies)|fails? (?:on|for|with)|(?:refuse|reject) the call for) "
    rf"{_ELSE}|\bto (?:choose|pick|select) from\b|\bno (?:third|fourth|fifth|sixth|seventh) \w+|"
    rf"\b(?:that|this|which|these)(?: i|'|\u2019| a)(?:s|re) (?:all|the only ones|the complete|the whole)\b|"
    rf"\b(?:(?:there|these) are(?: exactly| only| just)?|exactly|only|just) {_COUNT} (?:\w+ )?\w+\b",
    re.IGNORECASE,
)
"""Who says so means a list to be whole."""
_CLOSED_LIST: Final = re.compile(rf"(?<![\w.-])({_WORD}(?:,\s*{_WORD}){{1,18}},? (?:or|and) {_WORD})(?<!\.)(?![\w-])")
_CLOSED_END: Final = re.compile(
    rf"\s*(?:[.;:,)\n–—]|$)|\s{{5}}|\s+(?:and|but)\s|\s+(?:are|is|can be) (?:the |all |{GOOD})", re.IGNORECASE
)
_CHARACTERS: Final = re.compile(r"\b(?:letters?|digits?|hyphens?|dash(?:es)?|spaces?|underscores?)\b", re.IGNORECASE)
_THAT_IS: Final = re.compile(rf"\b(?:i\.e\.|that is),? ({_WORD}(?:, {_WORD}){{1,18}},? or {_WORD}){_ENDED}")
"""`i.e. raw, medium or done`. Many write it for `e.g.`, so that it is believed of kinds and of pairs with a sign."""
_ONLY: Final = re.compile(rf"(?:[^.:\n(]{{3,60}}: )?({OR_LIST}) only\.?", re.IGNORECASE)
_JUST_LISTED: Final = re.compile(r"([a-z]+(?:, [a-z]+){2,9})(?:,? (?:-|–|and) nothing else)?\.?")
"""`won, lost, drawn`: the whole text"""
_SPAN: Final = re.compile(r"([A-Z]{1,3}-?)(\d{1,2}) ?(?:to|through|-|–|\.\.) ?\1(\d{1,2})\.?")
"""`P1 to P4`"""
_MOST_STEPS = 12
_CODE = 3
"""Letters of `kg` or `USD`, which are no things."""
TEXTUAL: Final = word_set(
    "query text content body message filter search name title note description comment prompt url uri path file image "
    "photo picture video audio document email address id link"
)
"""Words in names of values that nobody can list."""
_WRITTEN: Final = word_set("expression formula script template pattern html markdown css format regex date time day")
"""Words in names of values that a list of words only helps to write."""


def are_things(values: Sequence[str]) -> bool:
    """Whether values are mostly nouns in the plural, as in `friends, family or colleagues`, or kinds of values."""
    plural = sum((value.islower() and singular(value) != value) or value.lower() in KINDS for value in values)
    return plural * 2 >= len(values)


KINDS: Final = word_set(
    "name id email mail url uri path title number key slug text code string address phone username handle file folder "
    "query word date time label tag ticker symbol domain hash keyword description body content link"
)
"""Kinds of values: a list of them tells what a value may be, and not which."""


_TOKEN = rf"(?:{QUOTED}|[A-Z][A-Z0-9_]{{0,20}}|[a-z][\w-]{{1,20}})"
_SERVES = r"(?:for|to|if|when)"
_NEXT = rf"(?:[,;]| and\b| or\b)(?: and| or)? (?:use |pass )?({_TOKEN}) {_SERVES}\b"
_NEXT_ONE = _NEXT.replace(f"({_TOKEN})", _TOKEN)
_LAST = rf"(?:,? (?:or|else|otherwise)(?: just| simply| use| pass)?|[,;] else) ({QUOTED})(?: otherwise)?"
"""One more that needs no explanation: `or "both"`"""
_PURPOSE = rf"(?:(?!{_NEXT_ONE}|{_LAST.replace(f'({QUOTED})', QUOTED)})[^,;.\n]){{2,80}}"
"""What a value is used for, up to the next one: each text is taken apart in one way."""
_USE: Final = re.compile(
    rf"(?:\b(?:[Uu]se|[Pp]ass|[Cc]hoose|[Gg]ive|[Ss]end|[Ss]et(?: it)? to|[Ss]pecify) |^|: )({_TOKEN}) {_SERVES} "
    rf"{_PURPOSE}((?:{_NEXT_ONE} {_PURPOSE}){{1,12}})(?:{_LAST})?(?=[.;\n]|$)"
)
_NEXT_USE: Final = re.compile(_NEXT)
"""`Use SMS for a text, MAIL for a letter`"""
_COLONS: Final = re.compile(rf"({_WORD}): [^:;\n]{{2,80}}((?:; ?{_WORD}: [^:;\n]{{2,80}}){{1,12}})")
"""`fast: no checks; safe: all checks`, the whole text"""


_NAMES_ONE: Final = re.compile(
    rf"\b(?:[Uu]se|[Pp]ass|[Cc]hoose|[Ss]elect|[Ss]et(?: it)? to|[Ss]pecify) ({QUOTED}|[A-Za-z][\w-]{{2,20}}) "
    r"(?=(?:for|if|when|only)\b)|"
    rf"\b(?:[Uu]se|[Pp]ass|[Cc]hoose) ({QUOTED}) (?=to\b)|"
    r"(?:,|^)[^.,;\n]{0,60}\b(?:pass|use) ([a-z][\w-]{2,20})(?=\s*(?:[.;]|$))|"
    rf"(?:^|[.;:]\s+)({QUOTED}) (?:is for|is used|means|for|stands for)\b"
)
_OTHER_WORDS: Final = word_set(
    "default defaults value values none null case care caution together both either each this that these those them "
    "here instead higher lower larger smaller fewer less carefully empty blank only same such sparingly commas quotes "
    "capitals wildcards with without another other what which whatever later again directly through one two three first"
)


def used_values(text: str) -> list[str]:
    """The single values that a text says to use for something: `use urgent for what is due today`."""
    found = [next(one for one in places.groups() if one) for places in _NAMES_ONE.finditer(text[:MOST_TEXT])
             if not is_example(text, places.start())]  # fmt: skip
    return [
        one.strip("'\"`")
        for one in found
        if one[0] in "'\"`" or not (one.lower() in _OTHER_WORDS | _FILLER or one.endswith(("ly", "ing", "s", "er")))
    ]


def _used_for(text: str, chosen: bool) -> Iterator[list[str]]:
    """The values of which a text tells what each is used for."""
    for found in _USE.finditer(text):
        told = [one.strip("'\"`") for one in (found[1], *_NEXT_USE.findall(found[2]), found[3]) if one]
        capitals = all(one.isupper() for one in told)
        filler = _FILLER - {"all", "any"} if len(told) > _PAIR else _FILLER
        plain = chosen and not are_things(told) and not any(one.lower() in filler for one in told)
        closed = not is_example(text, found.start(1)) and not _OTHERS.search(text)
        yield told if closed and (capitals or plain) and _are_values(told) else []
    listed = _COLONS.fullmatch(text.strip().rstrip(".")) if chosen else None
    if listed is not None:
        yield [listed[1], *re.findall(rf"; ?({_WORD}):", listed[2])]


_BARE_BULLETS: Final = re.compile(
    rf"[^\n]{{0,120}}:[ \t]*((?:{_BULLET}[ \t]*['\"`]?[\w.+-]{{1,40}}['\"`]?[ \t]*){{2,39}})\s*"
)
"""A heading, and one value in each of the lines below."""


def _told_below(text: str, found: re.Match[str]) -> list[str]:
    """The values of a list with one in each line."""
    below = re.findall(rf"{_BULLET}[ \t]*['\"`]?([\w.+-]{{1,40}})", found[1])
    open_ended = is_example(text, found.start(1)) or _NOT_ALL.search(text[: found.start(1)])
    return below if _are_values(below) and not open_ended and not _OTHERS.search(text, found.end()) else []


_MEANS = r"(?:\s?=\s?|\s?:\s|\s(?:[–—→-]|->|for|to|if|when)\s|\s(?=(?!is\b|was\b|has\b)[a-z]{2,12}s\s))"
_MEANING = r"[^,;=\n\"'`|()]{2,80}?"
_QUOTED_LEGEND: Final = re.compile(
    rf"(?:^|[.:?]\s+)(?:(?:pass|use|give|say|set(?: it)? to|send|choose|specify)\s+)?"
    rf"({QUOTED}{NOTE}{_MEANS}{_MEANING}(?:(?:[,;]\s*(?:or |and )?|\.\s+|\s(?:or|and)\s)"
    rf"(?:(?:use|pass)\s+)?{QUOTED}{NOTE}{_MEANS}{_MEANING}){{1,19}})(?:{_LAST})?\s*(?=[.;\n]|$)",
    re.IGNORECASE,
)
"""`Pass 'km' for kilometres, 'mi' for miles`; `'keep' leaves it, 'drop' removes it`"""
_BARE_ENTRY = rf"{_WORD}(?:\s?=\s?|\s(?:[–—→-]|->)\s){_MEANING}"
_BARE_LEGEND: Final = re.compile(
    rf"(?:[^.:\n]{{0,60}}:\s+)?({_BARE_ENTRY}(?:[,;]\s*(?:or |and )?{_BARE_ENTRY}){{1,19}})\s*\.?\s*"
)
"""`km = kilometres, mi = miles`: the whole text"""


def _legends(text: str, chosen: bool) -> Iterator[list[str]]:
    """The values of a text that tells what each of them means. Numbers must follow each other from zero or one on."""
    whole = _BARE_LEGEND.fullmatch(text)
    if whole is not None:
        told = re.findall(rf"(?:^|[,;]\s*(?:or |and )?)({_WORD})(?=\s?=|\s(?:[–—→-]|->)\s)", whole[1])
        numbers = [int(one) for one in told if re.fullmatch(r"\d{1,2}", one)]
        counted = not numbers or (len(numbers) == len(told) and numbers in (_from(0, numbers), _from(1, numbers)))
        plain = counted and not is_example(text, whole.start(1)) and not _OTHERS.search(whole[1])
        yield (
            told
            if plain and _are_values(told) and not any(one.lower() in _FILLER for one in told if one != "A")
            else []
        )
    for found in _QUOTED_LEGEND.finditer(text):
        begins = not text[: found.start()].strip() or len(re.findall(QUOTED, found[1])) > _PAIR
        if (chosen or begins) and not is_example(text, found.start(1)):
            told = [one[1:-1] for one in re.findall(rf"({QUOTED})(?={NOTE}{_MEANS})", found[1], re.IGNORECASE)]
            told += [found[2][1:-1]] if found[2] else []
            others = _OTHERS.search(text) or _ETC.search(found[1])
            yield told if _are_values(told) and not others else []


_ETC: Final = re.compile(r"\betc\b|\.\.\.|…")


def _from(first: int, numbers: list[int]) -> list[int]:
    return list(range(first, first + len(numbers)))


_HEADING: Final = re.compile(
    r"(?:^|(?<=[.\n])[ \t]{0,12})(?:#+ |\*\*)?(?:the )?"
    r"(supported |available |valid |allowed |possible |accepted |permitted )?"
    r"((?:(?!of\b|for\b|in\b|with\b)[\w-]+ ){0,3}[\w-]+?)s?(?: are| values?(?: are)?)?\s?:(?:\*\*)?[ \t]*"
    rf"((?:{_BULLET}[ \t]*['\"`]?[\w.+-]{{1,40}}['\"`]?[ \t]*(?:(?::|=|–|—| -|\().{{0,200}})?(?=\n|$)){{2,39}}"
    rf"|{list_of(_WORD)}(?=\s*(?:[.;]?\s*(?:\n|$)|\.\s)))",
    re.IGNORECASE,
)
"""`Supported report types:` in the text of a tool, and the values."""


_GROUP: Final = re.compile(rf"(?m)[:=–—-][ \t]*{list_of(rf'(?:{QUOTED}|{_WORD})', r',[ ]?(?:or |and )?')}[ \t]*\.?$")
"""A line whose values come behind the name of their group."""


def headed_choices(text: str) -> Iterator[tuple[tuple[str, ...], bool, list[str]]]:
    """Each list of values in the text of a tool, with the words of its heading in the singular, and whether the heading
    says that these are the ones that count. Otherwise it must be the whole name of an argument, in two words or of a
    kind that has a few values."""
    for found in _HEADING.finditer(text):
        words = tuple(singular(word) for word in words_of(found[2]))
        if found[3].startswith("\n"):
            closed = not _OPEN.match(text, found.end()) and not re.match(
                r"\s*\n[ \t]*(?:[-*•]|\d[.)])", text[found.end() :]
            )
            grouped = _GROUP.search(found[3])
            values = re.findall(rf"{_BULLET}[ \t]*['\"`]?([\w.+-]{{1,40}})", found[3]) if closed and not grouped else []
        else:
            values = read_list(text, found.start(3), found.end(3), found[3], lead=True, sure=True)
        sure = found[1] is not None
        if re.match(r"\s*(?:[|,/]|or\b)", text[found.end() :]):
            continue  # the list goes on in the next line
        if (
            len(values) > 1
            and _are_values(values)
            and (sure or "|" in found[3] or words[-1] in CHOSEN or (len(words) > 1 and TEXTUAL.isdisjoint(words[-1:])))
        ):
            yield words, sure, values
    for found in _HEADED.finditer(text):
        words = tuple(singular(word) for word in words_of(found[1]))
        values = _titles(text, found.end())
        if words[-1:] == ("filter",) or any(" " in one for one in values):
            yield words[: len(words) - (words[-1:] == ("filter",))], True, values


_QUOTED_EITHER: Final = re.compile(rf"\s*{QUOTED}(?:, {QUOTED}){{0,6}},? or {QUOTED}\s*(?:[.;)\n]|$)")
"""`Either "open" or "closed".`, wherever it stands."""


def _listed(text: str, at: int, lead: str, *, bare: bool) -> list[str]:
    """The list behind a phrase such as `one of`; open where the phrase says `include` and the text tells of others."""
    at += text[at : at + 1] == "["
    found = LISTED_QUOTES.match(text, at) or (_BARE_LIST.match(text, at) if bare else None)
    if (
        found is None
        or is_example(text, at - len(lead))
        or (lead.strip().lower() == "either" and ". " in text[:at] and not _QUOTED_EITHER.match(text, at))
    ):
        return []
    rest = text[found.end() :]
    sure = re.search(r"values|options|choices|allowed|accepts|supports|of\s*[:=]", lead, re.IGNORECASE) is not None
    ends = re.match(r"\s*(?:[.;:)\]\n–—]|$|- |\(|,\s|if\b|when\b|to\b|default)", rest) or found[0][-1] == "."
    if not re.match(QUOTED, found[0]) and not ends:
        return []  # the list goes on as prose: "either path or URL of the file"
    return read_list(text, at, found.end(), found[0], lead=True, sure=sure)


def read_list(text: str, start: int, end: int, listed: str, *, lead: bool = False, sure: bool = False) -> list[str]:
    if not lead and (is_example(text, start) or _OF_FORM.search(text[:start])):
        return []
    if _NOT_ALL.search(text[:start]) or _MEDIA_TYPE.search(listed) or _SHARED_WORD.search(listed):
        return []
    inside = text[max(0, start - 1) : start]
    if _OPEN.match(text, end) or _OPEN_BEHIND.match(text, end) or (inside in ("[", "{") and '"' in listed and not lead):
        return []
    if _OTHERS.search(text, end) or listed.endswith("...") or _DENIED.search(text[:start]):
        return []
    if any("(" in one for one in re.findall(QUOTED, listed)):
        return []  # `'name' or 'count(name)'`: forms
    if _KEYED.match(text, end) or _IN_ANOTHER_CASE.match(text, end) or len(_OF_CASE.findall(text)) > 1:
        return []
    values = _values(listed)
    if any(value.endswith(("_", "-")) and f"{value[:-1]}+" not in values for value in values):
        return []  # `prefix: clip_, line_`: the values begin like that
    line = text[text.rfind("\n", 0, start) + 1 : start]
    if (
        re.match(r"[ \t]*(?:[-*•]|\d[.)])[ \t]", line)
        or "custom" in values
        or any("YYYY" in one or _FILLED_IN.search(one) for one in values)
    ):
        return []  # of one part of the value, open, or forms
    rest = re.split(r"\.\s|\n", text[end:], maxsplit=1)[0]
    coded = all(map(str.isupper, values))
    closed = (sure and lead) or coded or "_" in listed or NOTHING_ELSE.search(rest)
    going_on = _GO_ON - {"other"} if closed and len(values) > _PAIR else _GO_ON  # `other` may be the last one
    marked = re.match(QUOTED, listed) is not None
    going_on = going_on - {"more", "other", "others"} if marked else going_on
    if not going_on.isdisjoint(value.lower() for value in values) or any(
        one[1:-1] not in values for one in re.findall(QUOTED, rest)
    ):
        return []  # 'a' or 'b' for lines, 'c' for bars
    bare = not sure and re.match(QUOTED, listed) is None
    filler = _FILLER - {"all", "any"} if len(values) > _PAIR else _FILLER
    said = bare and not coded and any(value.lower() in filler for value in values)
    sound = _are_values(values) or ((lead or sure) and _have_dots(values))
    return values if sound and not said else []


_OF_FORM: Final = re.compile(
    r"\b(?:number|integer|digits) (?:and|with|plus|followed by) (?:an? |its )?(?:\w+ )?(?:unit|letter|suffix)\b\W*$|"
    r"\bformat(?:ted as)? $|\b(?:notations?|expressions?|strings?|syntax|identifiers?) \($"
)
_DENIED: Final = re.compile(
    r"\b(?:not|never|cannot|can't|mustn't|except|other than|unlike|avoid)\b[^.:;\n]{0,20}$", re.IGNORECASE
)
"""`must not be 'all' or 'none'`"""
_FILLED_IN: Final = re.compile(r"[_-][NX](?:[_-]|$)|^[NX][_-]")
"""`last_N_months`: a part of the value is to be filled in."""
_OPEN_BEHIND: Final = re.compile(
    r"\s?\)\s?(?:,\s*an? \w|,?\s?or (?!omit|leave|null|none|empty|nothing|not\b|a blank|an empty))", re.IGNORECASE
)
"""`a family ('Oak', 'Beech') or its code`, `a duration ("2h", "1d"), a date`"""
_KEYED: Final = re.compile(r"\s*:\s*[\[{'\"`\d]")
"""The last one is the key of an object: `{'size': 't3.medium', 'location': 'Bern'}`."""
_IN_ANOTHER_CASE: Final = re.compile(rf"\s*;\s*{_WORD}(?:,\s*{_WORD}){{1,19}}\s*\(")
"""Other values for another case: `fixed, hinge (3D); slider, wheel (2D)`."""
_OF_CASE: Final = re.compile(r"\b(?:values|options|choices) (?:for|when|if|with)\b", re.IGNORECASE)
_SHARED_WORD: Final = re.compile(r",.*?\w/\w+_\w|\w/\w+_\w[^/]*,")
"""`get/set_mode, get/set_rate`: the two share a part of the name."""
_PAIR = 2
_GO_ON: Final = word_set("etc more others other")


_NOT_ALL: Final = re.compile(
    r"\b(?:defaults?(?: to| is)?|other (?:values|options)|includ(?:es?|ing))\s*[:=]?\s*$|"
    r"\bor [`'\"][^`'\"\n]{0,20}[:{*]|\b(?:user|self)-defined\b|\balso (?:accepts?|allows?|supports?|takes?)\s*:?\s*$|"
    r"\w\($",
    re.IGNORECASE,
)
"""What comes before a list that is one value, or not all of them."""
_MEDIA_TYPE: Final = re.compile(r"\b(?:image|audio|video|text|application)/\w", re.IGNORECASE)
_OTHERS: Final = re.compile(
    r"\b(?:custom|(?<!no )(?<!not use )(?<!any )(?:any other|others?)\b(?![^.\n]{0,40}\b(?:reject|refus|invalid|error|"
    r"fail|forbidden|illegal|not (?:accepted|allowed|supported|valid|permitted|implemented|known)))|also accepts?|"
    r"and so on|"
    r"case[- ]insensitive|"
    r"(?:full|complete|entire|whole|live|current) list|append(?:ing|ed|s)?|prefix(?:ed|ing)?|suffix(?:ed|ing)?|"
    r"(?:may|can|could) (?:instead|also) be)\b|\bor (?:an? |any |the )?(?:raw |full |explicit |exact )?"
    r"(?:[\w.-]+ )?(?:MIME|URLs?|paths?|IDs?|names?|strings?|expressions?|values?|types?|numbers?)\b",
    re.IGNORECASE,
)


def is_open(text: str, at: int) -> bool:
    """Whether a list that ends there goes on, or others count as well."""
    return (_OPEN.match(text, at) or _OPEN_BEHIND.match(text, at) or _OTHERS.search(text, at)) is not None


def is_example(text: str, at: int) -> bool:
    """Whether what stands there is an example: said in the same sentence, or below a heading."""
    before = text[max(0, at - 160) : at]
    sentence = re.split(r"(?<![ei]\.g)(?<!\be)\.\s+(?=[A-Z])|[;\n]|\)\s*\.", before)[-1]
    return (
        _EXAMPLE.search(sentence) is not None
        or _FOREIGN_EXAMPLE.search(sentence) is not None
        or re.search(r"\bexamples?\b\s*:", text[:at], re.IGNORECASE) is not None
    )


def _values(listed: str) -> list[str]:
    plain = re.sub(r"\([^()\n]{0,100}\)", "", listed)
    if re.match(QUOTED, plain):
        return list(dict.fromkeys(one[1:-1].strip().rstrip(".,") for one in re.findall(QUOTED, plain)))
    pieces = re.split(_SEPARATOR, re.sub(r",?\s*\bdefault(?:s|ing)?\s*$", "", plain))
    values = dict.fromkeys(piece.strip().strip(".") for piece in pieces if piece.strip().strip("."))
    said = {value for value in values if _OF_ARGUMENT.fullmatch(value)}
    return [value for value in values if len(said) > 1 or value not in said]


_OF_ARGUMENT: Final = re.compile(r"optional|required|mandatory|nullable", re.IGNORECASE)
"""Said of the argument itself: `(open, closed, optional)`. Two of them are values: `(required, optional)`."""


def _have_dots(values: list[str]) -> bool:
    """Endings such as `tar.gz` among others without a dot; where all have one, they are names of files or hosts."""
    dotless = [one for one in values if "." not in one]
    joined = [one.replace(".", "") for one in values]
    return (
        bool(dotless)
        and all(re.fullmatch(r"[a-z\d]+(?:\.[a-z\d]{1,4})?", one) for one in values)
        and _are_values(joined)
    )


def _are_values(values: list[str]) -> bool:
    """Plain words, as `enum` has them: no sentence, path, address or number of an item."""
    return all(
        value and re.fullmatch(rf"[A-Za-z_+-]?[\w.+ -]{{0,39}}#?|\d{{1,2}}/\d{{1,2}}|{_COMPARISON}", value)
        and value.count(" ") < 2
        and not re.fullmatch(r"\d{2,}|e\.?g\.?|[^.]*[A-Za-z_]\.[A-Za-z].*", value)
        for value in values
    )  # fmt: skip
