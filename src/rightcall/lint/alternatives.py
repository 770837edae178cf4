"""The values of an argument that a text lists without a word that says so: `How it is paid: cash, card or invoice`.

Such a list is known by where it stands (behind a colon, in brackets, as a sentence, up to the end of a clause) and by
what is in it (single words written in one way). What a value is about, what it may hold and whom it names is listed in
the same way, so that names of texts are left out here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from rightcall.gate.repair.words import singular, words_of
from rightcall.lint.choices import (
    ACRONYMS,
    CHOSEN,
    GOOD,
    KINDS,
    LISTED_QUOTES,
    MOST_TEXT,
    NOTE,
    NOTHING_ELSE,
    QUOTED,
    TEXTUAL,
    are_things,
    choices_in,
    is_example,
    is_open,
    list_of,
    read_list,
)
from rightcall.lint.findings import word_set
from rightcall.lint.legends import told_one_by_one

_TOKEN = r"[a-z\d][a-z\d]*(?:[_-][a-z\d]+){0,4}"
_CODE = r"[A-Z][A-Z\d]{0,9}(?:_[A-Z\d]+){0,3}"
_END = r"(?=\s*(?:[.;)\]\n]|$|\((?:the )?default\b|,? (?:default|depending|anything else)\b|[–—-] nothing\b))"
_STARTS = r"(?:^|(?<=[:;.(\[–—|] )|(?<=[(\[])|(?<= - )|(?<=\n))"
"""A place where a list begins, and not the rest of a sentence."""


def _either(item: str) -> str:
    """Three items or more with `or` before the last one, or signs between all of them."""
    one = rf"{item}{NOTE}"
    return rf"{one}(?:,\s?{one}){{0,18}},? or {one}|{one}(?:\s?[/|]\s?{one}){{2,18}}"


_CHOICE: Final = re.compile(
    rf"{_STARTS}({_either(_TOKEN)}|{_either(_CODE)}){_END}|"
    rf"(?<=[a-z], )({_CODE}(?:, {_CODE}){{0,18}},? or {_CODE}){_END}"
)
"""`light, medium or dark`"""
_GLOSS = r"\s\([^()\n]{1,60}\)"
_SERIES: Final = re.compile(
    rf"{_STARTS}({_TOKEN}{NOTE}(?:,\s?{_TOKEN}{NOTE}){{2,18}}|{_CODE}{NOTE}(?:,\s?{_CODE}{NOTE}){{2,18}}|"
    rf"{_CODE}{_GLOSS}(?:,\s?{_CODE}{_GLOSS}){{1,18}},? and {_CODE}{_GLOSS}){_END}"
)
"""`light, medium, dark`, which counts where the text asks for one of a few things."""
_SENTENCE: Final = re.compile(
    rf"(?:^|(?<=\. ))([A-Z][a-z\d]{{1,20}}(?:, {_TOKEN}){{0,9}},? or {_TOKEN}|[A-Z][a-z\d]{{1,20}} or {_TOKEN}){_END}"
)
"""`Breakfast, lunch or dinner.`"""
_LED: Final = re.compile(
    r"(?:\b(?:available|comes?|offered) (?:in|as)|\b(?:out of|among|amongst|(?:we|they|it|I) (?:know|have|stock|"
    r"offer|take)|"
    r"there (?:is|are)|pick|choose|select|write|enter|code is|codes are|"
    r"(?:has|have|needs|ought) to be|from this list:?|each must be|options are|(?:the|this) [a-z]+ (?:takes|accepts|"
    r"knows|offers|has|supports))|^send (?:by|as|via|in)) "
    rf"({list_of(_TOKEN)}|{list_of(_CODE)})"
    r"(?=\s*(?:[.;)\n]|$|, anything else\b))",
    re.IGNORECASE,
)
"""`available in red, green and blue`"""
_JUDGED: Final = re.compile(
    rf"(?:^|(?<=[.;:] ))(?:[Oo]nly )?({list_of(_TOKEN)}|{list_of(_CODE)}) (?:are|is|exist|can be|may be)"
    r"(?: (?:the only|understood|offered|known|stocked|possible|what|in the|named|chosen|given|used|taken|all)\b|"
    r"(?=\s*(?:[.;]|$)))"
)
"""`red, green and blue exist`, `a4 or letter are the only ones`"""
_ASKS: Final = re.compile(
    r"\W*(?:which|how(?! (?:many|much|long))|what kind|codes?:|whether|days? of|what (?:sort|type))\b", re.IGNORECASE
)
_ABOUT: Final = re.compile(
    r"\b(?:contain(?:s|ing)?|named|called|includ(?:es?|ing)|with|without|keys?|fields?|columns?|propert(?:y|ies)|"
    r"prefix(?:es)?|suffix(?:es)?|endings?|extensions?|operators?|wildcards?|placeholders?|variables?|syntax|format|"
    r"formats|symbols?|alias(?:es)?|than|match(?:es|ing)?|by|about|not|never|except|no|ignored?|tags?|tools?|"
    r"tokens?|or|"
    r"words?|phrases?|terms?|characters?|returns?|units?|in|on|at|from|via|using|see|calls?|regex|pattern|paths?)"
    r"[ :(]*$",
    re.IGNORECASE,
)
"""What comes before words in marks that are not the value itself."""
_ABOUT_NAMES: Final = word_set(
    "filter filters expression formula script template pattern html markdown css syntax columns config settings args "
    "arguments params parameters options description instructions notes reason feedback context details summary topic "
    "subject goal task idea value values data payload conditions condition regex date time day table selector "
    "format location place"
)
"""Names of values that a list only helps to write, beside those of texts."""
_PAIR = 2


def alternatives_in(text: str, name: str = "", *, chosen: bool = False) -> list[str]:
    """The values that a text says are the only ones, with or without a word that introduces them.

    >>> alternatives_in("How it is paid: cash, card or invoice.", "payment")
    ['cash', 'card', 'invoice']
    """
    found = choices_in(text, name, chosen=chosen)
    words = words_of(name)
    if not found and [*words[-1:]] == ["code"]:
        found = told_one_by_one(text, asked=False)
    if found or not words or not (TEXTUAL | KINDS).isdisjoint({*words[-1:], singular(words[-1])}):
        return found
    asked = chosen or not CHOSEN.isdisjoint({words[-1], singular(words[-1])}) or _ASKS.match(text) is not None
    asked = asked or _names_itself(text, words)
    if not asked and not _ABOUT_NAMES.isdisjoint(words[-1:]):
        return []
    closed = asked or NOTHING_ELSE.search(text) is not None
    for values in chain(
        [told_one_by_one(text, asked=closed), _told_apart(text[:MOST_TEXT])], _standing(text[:MOST_TEXT], name, asked)
    ):
        if len(values) > 1:
            return values
    return []


_HEAD: Final = re.compile(r"\W*([\w' -]{2,60}?)(?::| [–—-] | \()")


def _names_itself(text: str, words: Sequence[str]) -> bool:
    """Whether what comes before a list is about the argument: `Days it runs on: mon, tue`, of `days`."""
    head = _HEAD.match(text)
    told = {singular(word) for word in words_of(head[1])} if head is not None else set[str]()
    return singular(words[-1]) in told and _ABOUT_NAMES.isdisjoint(words[-1:])


_DOTS: Final = re.compile(r"\s[·•|]\s")
_SIGNED = r"\s?[=:<>≤≥–—-]"
_OF_DOTS: Final = re.compile(rf"(?:({_CODE})(?:{_SIGNED}|\s[a-z])|({_TOKEN}){_SIGNED}).{{1,60}}")
_BEFORE_DOTS: Final = re.compile(r"^[^.:\n·|]{3,60}:\s")
_LEAST_DOTTED = 3


def _told_apart(text: str) -> list[str]:
    """`S up to an hour · M a day · L longer`: values with what each means, and dots or bars between them."""
    pieces = _DOTS.split(_BEFORE_DOTS.sub("", text.strip().rstrip(".")))
    told = [found for piece in pieces if (found := _OF_DOTS.fullmatch(piece)) is not None]
    values = [found[1] or found[2] for found in told]
    whole = len(told) == len(pieces) >= _LEAST_DOTTED and len({*values}) == len(values)
    return values if whole and not is_example(text, len(text)) and not is_open(text, 0) else []


def _standing(text: str, name: str, asked: bool) -> Iterator[list[str]]:
    for found in LISTED_QUOTES.finditer(text):
        values = read_list(text, found.start(), found.end(), found[0])
        joined = " or " in found[0] or re.search(r"['\"`]\s?[/|]\s?['\"`]", found[0]) is not None
        sentence = re.split(r"\.\s|\n", text[: found.start()])[-1]
        told = len(values) > _PAIR or (len(values) == _PAIR and joined)
        told = told and not _ABOUT.search(sentence) and not re.search(QUOTED, sentence)
        yield values if told and _are_alike(values) else []
    yield from _explained(text, asked)
    for pattern in (_CHOICE, _SENTENCE, _LED, _JUDGED, _SERIES):
        for found in pattern.finditer(text):
            listed = next(one for one in found.groups() if one)
            at = found.start() + found[0].find(listed)
            if (pattern is _SERIES and not (asked or _CODES.fullmatch(listed))) or _GROUPED.search(text[:at]):
                continue
            values = read_list(text, at, at + len(listed), listed)
            whole = pattern is _SENTENCE
            values = [values[0].lower(), *values[1:]] if whole and values else values
            few = len(values) == _PAIR and not asked and pattern is not _JUDGED and "_" not in listed
            yield [] if few or not _are_words(values, name) else values


_LINE = rf"(?:{_TOKEN}|{_CODE})(?::|\s=|\s[–—-])\s[^\n]{{2,200}}"
_LINES: Final = re.compile(rf"(?:[^\n]{{3,120}}[:.]\n\s*)?({_LINE}(?:\n\s*{_LINE}){{2,18}})\s*")
"""`fast: no checks`, and others in the lines below"""


def _explained(text: str, asked: bool) -> Iterator[list[str]]:
    """The values of which a text tells what each of them means."""
    lines = _LINES.fullmatch(text)
    if lines is not None and (asked or len(lines[1]) * 2 > len(text)):
        yield re.findall(rf"(?m)^\s*({_TOKEN}|{_CODE})(?=:|\s=|\s[–—-])", lines[1])


_GROUPED: Final = re.compile(r",[^;.\n]{0,200}; $")
"""Behind another list: `fixed, hinge (3D); slider, wheel (2D)`."""
_CODES: Final = re.compile(r"[A-Z\d_]{2,}(?:, ?[A-Z\d_]{2,}){2,}")


def _are_alike(values: list[str]) -> bool:
    """Whether values are single words that a program would write."""
    return all(re.fullmatch(r"[A-Za-z\d][\w+-]{0,30}", value) for value in values) and any(
        re.search(r"[a-zA-Z]", value) for value in values
    )


def _are_words(values: list[str], name: str) -> bool:
    """Whether bare words are values, and not things that the value is about or kinds of it."""
    lowered = {value.lower() for value in values}
    return (
        bool(values)
        and not are_things(values)
        and ("format" in words_of(name) or ACRONYMS.isdisjoint(lowered))
        and _NO_VALUES.isdisjoint(values)
        and lowered.isdisjoint(words_of(name))
        and not any(value.isdecimal() for value in values)
    )


_NO_VALUES: Final = word_set(
    "not none null optional required both etc so more less other others else otherwise it them this that which who "
    "what when where if a an the to be is are by in on of for with without from"
) - word_set("none other both in on")


# ── in the text of the tool ──

_GAP = (
    r"(?:[\s,:;(=–—-]|\b(?:which|that|it|is|are|can|could|may|must|should|be|being|chosen|set|given|limited|one|"
    r"either|of|"
    r"to|as|the|a|an|values?|following|from|among|between|out|any|with|use|pass|choose|takes?|accepts?|understands?|"
    r"supports?|knows?|only|exactly|argument|parameter|option|filter|field|codes?)\b){1,24}?"
)
_ITEM = rf"(?:{_TOKEN}|{_CODE}|{QUOTED}){NOTE}"
_MANY = rf"{_ITEM}(?:(?:,\s?(?:or |and )?|\s?[/|]\s?| or | and ){_ITEM}){{1,18}}"
_ALLOWED = rf" (?:are|is|can be|may be) (?:{GOOD}|offered|understood|possible|chosen|used)\b"
_ENDED = rf"(?=(?: only)?\s*(?:[.;:)\n]|$)|{_ALLOWED})"
_TELLS: Final = re.compile(
    r"[:(=]|\b(?:are|be|one|either|of|among|between|use|pass|choose|takes?|accepts?|understands?|supports?|knows?|only|is)\b"
)
_CONDITION: Final = re.compile(
    r"\b(?:if|when|unless|while|whose|where|once|until|only|whether|as soon|not|returns?|returned)\b", re.IGNORECASE
)
"""What makes a list the state in which something counts, and not the values to choose from."""


def spoken_name(name: str) -> str:
    """A pattern for the name of an argument as a text may write it: `tripKind`, `trip_kind` or `trip kind`."""
    return r"[ _-]?".join(map(re.escape, words_of(name)))


def told_alternatives(text: str, name: str) -> str:
    """The list of values that a sentence gives for the argument that it names: `… by status, which is open or lost`."""
    words = words_of(name)
    unlisted = TEXTUAL | KINDS | _ABOUT_NAMES
    unlisted = unlisted - {"format"} if len(words) > 1 else unlisted
    if not words or not unlisted.isdisjoint({words[-1], singular(words[-1])}):
        return ""
    spoken = spoken_name(name)
    spoken += rf"|{words[1]} of (?:the )?{words[0]}" if len(words) == _PAIR else ""
    spoken = rf"(?:{spoken})"
    behind = re.compile(rf"(?<![\w-]){spoken}(e?s)?(?![\w-])({_GAP})(?<![\w-])({_MANY}){_ENDED}", re.IGNORECASE)
    before = re.compile(
        rf"(?:^|(?<=[ (])(?<!the )(?<!an )(?<!a ))({_MANY})(?: (?:are|is) (?:the |all |all the )?|"
        rf" ){spoken}(?:e?s)?(?![\w-])"
    )
    for sentence in re.split(r"(?<=[.;])\s|\n", text):
        found = behind.search(sentence)
        if found is not None:
            told, listed, at = found[2], found[3], found.start()
            said = _TELLS.search(told + sentence[at - 12 : at]) or re.match(_ALLOWED, sentence[found.end() :])
            several = (
                found[1] is not None and len(re.findall(_ITEM, listed)) > _PAIR
            )  # `the phases draft, filed and paid`
            joined = " or " in listed or "|" in listed or said is not None or several
        else:
            found = before.search(sentence)
            if found is None:
                continue
            told, listed, at = "", found[1], found.start()
            joined = " or " in listed or f"{listed} are " in sentence
        values = read_list(sentence, at + found[0].find(listed), at + found[0].find(listed) + len(listed), listed)
        few = len(values) == _PAIR and " or " not in listed
        if joined and not few and not _CONDITION.search(sentence[:at]) and _are_words(values, name):
            return listed
    return ""


def told_in_turn(text: str, name: str) -> list[str]:
    """The values of which a text tells what each means, right behind the name of the argument: `The class is F for
    first, S for second.`"""
    words = words_of(name)
    if not words or not (TEXTUAL | KINDS | _ABOUT_NAMES).isdisjoint({words[-1], singular(words[-1])}):
        return []
    named = re.compile(
        rf"(?:^|[.;(\n]\s{{0,9}})(?:the |its )?{spoken_name(name)}(?:e?s)?`?"
        r"(?:\s?[:(]| (?:is|are|takes|can be|may be)\b:?)\s?([^\n]+)",
        re.IGNORECASE,
    )
    asked = not CHOSEN.isdisjoint({words[-1], singular(words[-1])})
    told = (told_one_by_one(found[1].rstrip(")"), asked=asked, at_start=True) for found in named.finditer(text))
    return next((values for values in told if values), list[str]())
