"""RC301, RC310: the values of an argument that only a text lists, its own or the tool's, or that `enum` lacks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from rightcall.base.text import escaped
from rightcall.catalog.tidy import as_list, as_schema
from rightcall.gate.repair.words import singular, words_of
from rightcall.lint.alternatives import alternatives_in, told_alternatives, told_in_turn
from rightcall.lint.choices import (
    KINDS,
    NOTHING_ELSE,
    OR_LIST,
    QUOTED,
    headed_choices,
    is_example,
    used_values,
)
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.explained import documented
from rightcall.lint.findings import Hit, plain, quote_name, quote_text, word_set
from rightcall.lint.forms import IS_CASE, is_free
from rightcall.lint.numbers import MOST_DESCRIPTION
from rightcall.lint.samples import given_values

# ── in the text of the tool ──


def choices_of(tool: ToolView) -> Iterator[Hit]:
    """What the description of a tool says of its arguments."""
    yield from _headed(tool)
    told = [*_serving_of(tool)]
    yield from told
    named = {hit.path for hit in told}
    yield from (hit for hit in _listed_of(tool) if hit.path not in named)


_BEGINS: Final = re.compile(r"(?:^|[.;:(\n])\s{0,9}(?:the )?$", re.IGNORECASE)


_SORTED: Final = re.compile(
    rf"\b(sort|order|group|export|rank)(?:ed|ing|s)? (?:by|as|in|to) ({OR_LIST})(?=\s*(?:[.;)\n]|$))", re.IGNORECASE
)
"""`Results can be sorted by name, town or age.`"""
_SORTS: Final = word_set("by key field column criterion")


_MAY_LIST: Final = re.compile(r"\bor\b|\||\bare\b|:|,|\b(?:accepts|takes|supports|allows)\b")
"""Without one of these no list is found."""
_IS_NAME: Final = re.compile(
    r"\W*(?:the )?(?:[\w-]+ ){0,2}?(?:name|id|number|identifier|slug|login|address|url|path)\b", re.IGNORECASE
)
_SHOWS: Final = re.compile(rf"{QUOTED}|\betc\b|\be\.?g\b|\bsuch as\b|\bfor example\b|\.\.\.|…")


def _listed_of(tool: ToolView) -> Iterator[Hit]:
    """`Set sort_order to newest or oldest`, in the description of the tool, for a free string."""
    marked = tool.description[:MOST_DESCRIPTION]
    text = plain(marked)
    lowered = text.lower()
    told = {name for name, _ in documented(tool)}  # read as the texts of their arguments
    for argument in tool.top[:60] if _MAY_LIST.search(lowered) else ():
        if not is_free(argument) or argument.name in told or alternatives_in(argument.description, argument.name):
            continue
        if not all(word in lowered for word in words_of(argument.name)):
            continue  # before patterns are made for the name
        if _IS_NAME.match(argument.description):
            continue  # `Login name of the account`: what the tool's text lists are kinds of accounts
        if _SHOWS.search(argument.description) or len(re.findall(rf"\b{re.escape(argument.name)}\s?=", text)) > 1:
            continue  # its own text has values, or the text has a call for each of them
        listed = told_alternatives(text, argument.name) or told_alternatives(marked, argument.name)
        if argument.kind != "array" and IS_SEVERAL.search(listed):
            continue  # `"a", "b" (comma-separated)`
        listed = listed or ", ".join(told_in_turn(text, argument.name))
        others = {one.name.lower() for one in tool.arguments} & {*re.findall(r"\w+", listed.lower())}
        yield from find_choices(argument, _as_choices(listed), tool) if listed and not others else ()
    for found in _SORTED.finditer(text):
        yield from _sorted_by(tool, found)


def _split(listed: str) -> list[str]:
    plain_list = re.sub(r"\s?\([^()\n]{0,100}\)", "", listed)
    return [one.strip(".`'\"") for one in re.split(r",? (?:or|and) |, ?|\s?[|/]\s?", plain_list)]


def _as_choices(listed: str) -> str:
    """A list as the text of an argument would have it."""
    return f"One of: {', '.join(f'`{one}`' for one in _split(listed))}."


def _sorted_by(tool: ToolView, found: re.Match[str]) -> Iterator[Hit]:
    values = _split(found[2])
    for argument in tool.top:
        words = words_of(argument.name)
        named = found[1].lower() in words and ({*words} & _SORTS or words == (found[1].lower(),))
        if is_free(argument) and (named or (found[1].lower() in words and argument.part.get("default") in values)):
            yield from find_choices(argument, _as_choices(found[2]), tool)


_MARKED: Final = re.compile(r"[`'\"]([A-Za-z][\w.+-]{0,30})[`'\"]")
_IS_SET: Final = re.compile(
    r"[`'\"]?(?: \([^()\n]{1,40}\))?,?(?: (?:argument|parameter|field|option))?\s?"
    r"(?:(?:can|may|must|should|has to|needs to|could) be(?: set| given)?|is(?: set)?|takes|accepts|to|as|:|=|, )?"
    r"(?: to| as| either| exactly| the values?| use| choose| pass| give)*\s?"
)
_SERVING: Final = re.compile(
    r"(?: \([^()\n]{1,40}\))?,?(?: (?:for|if|when|to|where|in|which|while|gives|means|makes|returns|is for|with|on)\b"
    r"[^.;\n`'\"]{2,70}?)?[,;]?\s?(?:\b(?:or|and|else|otherwise|while)\b)?"
    r"(?: to| use| pass| choose| set(?: it)? to| as)*\s?"
)
_JOINED: Final = re.compile(r"\b(?:or|and|else|otherwise|while)\b|[,;]")
_OPEN_BEHIND: Final = re.compile(
    r"\b(?:any|another|other|others|else|custom|own|etc|more|similar|different|such as|e\.?g|like|examples?|default|"
    r"unless|instead|not|name[ds]?|called)\b|\.\.\.|…",
    re.IGNORECASE,
)


def _serving_of(tool: ToolView) -> Iterator[Hit]:
    """`` `style` can be set to `plain` for letters or to `formal` for the court ``: values with words between them."""
    names = {one.name.lower(): one for one in tool.top if is_free(one) and one.kind == "string"}
    taken = {one.name for one in tool.arguments} | {tool.name}
    for sentence in re.split(r"\.\s|\n", tool.description[:MOST_DESCRIPTION]) if names else ():
        marked = [*_MARKED.finditer(sentence)][:12]
        values = [one for one in marked if one[1] not in taken]
        before = sentence[: values[0].start()] if len(values) > 1 else ""
        spoken = reversed(re.findall(r"[\w-]+", before.lower()))
        argument = next((names[word] for word in spoken if word in names), None)
        if (
            argument is None
            or _OPEN_BEHIND.search(NOTHING_ELSE.sub(" ", sentence))
            or alternatives_in(argument.description, argument.name)
            or IS_SEVERAL.search(sentence)
        ):
            continue
        at = before.lower().rfind(argument.name.lower())
        head, verb = before[:at], before[at + len(argument.name) :]
        gaps = [sentence[one.end() : two.start()] for one, two in pairwise(values)]
        head = head.rstrip("`'\"")
        told = not re.search(r"\bis\b", verb) and _SETS.search(head)
        led = _IS_SET.fullmatch(verb) and (_BEGINS.search(head) or told) and not _GOES_ON.search(sentence)
        others = taken - {argument.name}
        apart = any("=" in gap or others & {*re.findall(r"[\w-]+", gap)} for gap in gaps)
        if len(re.findall(QUOTED, sentence)) > len(marked) or f"'{argument.name}', '" in sentence:
            continue  # one of the values is no word, something else is quoted, or the name is one of the values
        joins = not apart and all(_SERVING.fullmatch(gap) and _JOINED.search(gap) for gap in gaps)
        if led and verb.strip("`'\" ") and joins and not _OR_ELSE.match(sentence, values[-1].end()):
            yield from find_choices(argument, f"One of: {', '.join(f'`{one[1]}`' for one in values)}.", tool)


_OR_ELSE: Final = re.compile(
    r"(?:\s?\([^()\n]{1,60}\))?,?\s+or\s+(?!omit|leave|null|none|empty|nothing)", re.IGNORECASE
)
"""Something else is taken as well: `'a', 'b', or the id`."""
_GOES_ON: Final = re.compile(r"(?:,|\b(?:or|and))\s*$")
"""The list has more in the next line."""
_SETS: Final = re.compile(r"\b(?:set|setting|for|with|use|pass|choose|give|the)(?: the)?\s$", re.IGNORECASE)


def _headed(tool: ToolView) -> Iterator[Hit]:
    """`Supported report types:` in the description of the tool, for the argument `report_type`."""
    for words, sure, values in headed_choices(tool.description[:MOST_DESCRIPTION]):
        meant = [one for one in tool.top if tuple(map(singular, words_of(one.name))) == words]
        meant = meant or [
            one
            for one in tool.top
            if len(words) > 1 and tuple(map(singular, words_of(one.name)))[-len(words) :] == words
        ]
        meant = meant or [one for one in tool.top if sure and words[-1:] == (singular(one.name.lower()),)]
        if len(meant) == 1 and _SHOWS.search(meant[0].description) is not None:
            continue  # its own text has values
        if len(meant) == 1 and not alternatives_in(meant[0].description, meant[0].name):
            yield from find_choices(meant[0], f"One of: {', '.join(f'`{one}`' for one in values)}.", tool)


_NUMBERED: Final = re.compile(
    r"(?<![\w.])(-?\d{1,2})\s?(?:=|:|→|(?<=\s)[-–]|[-–](?=\s)|means|is|for|stands for)\s?([A-Za-z]\w*)"
)
_NUMBERED_ON: Final = re.compile(
    r"(?:,|;|\bor\b|\band\b)\s?(?:or |and )?(\d{1,2}) ([a-z]{2,20})(?=\s*(?:[,;.]|$|or\b|and\b))"
)
"""The next ones of `0 is off, 1 heating, 2 cooling`."""
_GLOSSED: Final = re.compile(
    r"(?<![\w.])(\d{1,2})\s?\((?![^()]*\d)([A-Za-z][^()\n]{1,40})\)(?=\s?(?:[,;./|]|$|or\b|and\b))"
)
"""`0 (off), 1 (heating)`"""
_MEANING = r"[a-z][a-z -]{1,40}"
_IN_A_ROW: Final = re.compile(
    rf"(?:^|[:(.]\s?)([01] {_MEANING}(?:[,;] (?:or |and )?\d{{1,2}} {_MEANING}){{2,14}})(?=[.;)\n]|$)"
)
"""`0 new, 1 read, 2 answered`"""
_GOES_UP: Final = re.compile(r"\betc\b|\.\.\.|…|\b\d+\+|\b\d+ or (?:more|higher|above|greater)\b", re.IGNORECASE)
_REST: Final = word_set("other others unknown else unspecified undefined none failed fail")
"""Meanings of a number that stands apart: `9 = other`."""
_N = r"-?\d{1,5}(?:\.\d{1,3})?"
_NUMBERS: Final = re.compile(
    rf"(?:\b(must be|one of:?|either|allowed(?: values)?(?: are)?:?|supported:?|can be|only|valid:?|choose|use)\s|"
    rf"[:,;(–—]\s?|^|\. )({_N}(?:, {_N}){{0,18}},? (?:or|and) {_N}|{_N}(?:, {_N}){{2,18}}|{_N}(?:\s?[/|"
    rf"]\s?{_N}){{2,18}})"
    r"(?= (?:are|is) (?:offered|allowed|supported|valid|possible|accepted)\b|(?: (?!or\b|"
    r"and\b)[a-z]+)?\s*(?:[.;)\n]|$))",
    re.IGNORECASE,
)
"""`must be 150, 300 or 600`"""


def _are_codes(told: dict[int, str]) -> bool:
    """Whether numbers stand for things, and are not points of a scale: they follow each other, but for those that stand
    apart."""
    numbers = sorted(told)
    steps = [two - one for one, two in pairwise(numbers)]
    if not steps or numbers[0] < 0:
        return False  # -1 for all, 0 for none
    if all(step == 1 for step in steps):
        return True
    rest = told[numbers[-1]].lower() in _REST
    return len(numbers) > 2 and steps[0] == 1 and (len(set(steps)) > 1 or rest)


def find_numbered(argument: Argument, text: str) -> Iterator[Hit]:
    """`1 = low, 2 = high`: numbers that stand for something; `12, 24 or 36`: numbers that are the only ones."""
    bound = {"enum", "const", "maximum", "anyOf", "oneOf", "multipleOf"} & argument.schema.keys()
    if argument.kind not in ("integer", "number") or bound or _GOES_UP.search(text):
        return
    signed = [*_NUMBERED.finditer(text)]
    places = [*signed, *(_NUMBERED_ON.finditer(text, signed[0].end()) if signed else _GLOSSED.finditer(text))]
    told = {int(one[1]): one[2] for one in places if not is_example(text, one.start())} or _told_in_a_row(text)
    if argument.kind == "number" and sorted(told) == [0, 1]:  # the ends of a scale
        why = f"only the text gives the range of {quote_name(argument.name)}"
        yield from (
            () if "minimum" in argument.schema else [Hit("RC304", why, 'add "minimum": 0, "maximum": 1', argument.path)]
        )
        return
    numbers = [*map(str, sorted(told))] if _are_codes(told) else _listed_numbers(argument, text)
    if not numbers:
        return
    follow = numbers[-1].isdecimal() and len(numbers) == int(numbers[-1]) - int(numbers[0]) + 1
    advice = (
        f'add "minimum": {numbers[0]}, "maximum": {numbers[-1]}' if follow else f'add "enum": [{", ".join(numbers)}]'
    )
    meaning = ", or take text values that say what they mean" if told else ""
    yield Hit(
        "RC301",
        f"only the text lists the values of {quote_name(argument.name)}: {quote_text(', '.join(numbers))}",
        advice + meaning,
        argument.path,
    )


def _told_in_a_row(text: str) -> dict[int, str]:
    """Numbers that are told one by one, each with its own words: `1 day, 2 days` are amounts."""
    found = _IN_A_ROW.search(text)
    if found is None or is_example(text, found.start(1)):
        return {}
    told = {int(number): words for number, words in re.findall(rf"(\d{{1,2}}) ({_MEANING})", found[1])}
    ends = {singular(words.split()[-1]) for words in told.values()}
    return told if len(ends) == len(told) else {}


def _listed_numbers(argument: Argument, text: str) -> list[str]:
    for found in _NUMBERS.finditer(text):
        numbers = re.findall(_N, found[2])
        least = 2 if found[1] else 3
        sure = found[1] or " or " in found[2]
        shown = {float(one) for one in given_values(argument) if isinstance(one, int | float)}
        start, end = text.rfind(". ", 0, found.start(2)) + 1, text.find(". ", found.end())
        open_ended = _OPEN_BEHIND.search(text[start : end if end > 0 else None])
        others = is_example(text, found.start(2)) or open_ended or not shown <= {*map(float, numbers)}
        if sure and len({*numbers}) >= least and not others:
            return numbers
    return []


# ── in the text of the argument ──


def _unlisted(text: str) -> str:
    """A text without the lines that tell of one value each."""
    return re.sub(r"(?m)^[ \t]*(?:[-*•]|\d[.)])[ \t].*$", "", text)


def _is_of_another(argument: Argument, text: str, values: list[str], tool: ToolView) -> bool:
    """Whether a list tells when the argument counts: `action='add' or 'remove'`, or has the choices of another one."""
    before = re.search(r"(\w+)\s?={1,2}\s?[`'\"]?$", text[: text.find(values[0])])
    if before is not None and before[1] in (*argument.siblings, *(one.name for one in tool.top)):
        return True
    lowered = {value.lower() for value in values}
    return any(
        lowered <= {str(one).lower() for one in as_list(other.schema.get("enum"))}
        for other in tool.arguments
        if other.name != argument.name
    )


OF_OTHER_KIND: Final = re.compile(r"\b(?:an?|the) (?:number|text|string|date|list) (?:for|if|when|of)\b", re.IGNORECASE)
"""`true or false for switches, a number for limits`"""
_FREE: Final = word_set(
    "id ids query search keyword keywords term terms q prompt path paths file files filename url uri folder "
    "directory image photo"
)
"""What people write in their own words, whatever examples a text gives, and what points to something: `orders must be
'paid'` is said of that."""
_ONE_OF_THESE: Final = re.compile(r"\b(?:one of:|allowed values|valid values|must be one of)", re.IGNORECASE)
_OF_STANDARD: Final = word_set("currency currencies country countries language languages locale lang")
"""What has codes of a standard: `Currency code (EUR, USD)` may show some of them."""
_SHOWN = 5
"""Values of a list that may be examples."""
_IS_CLOSED: Final = re.compile(
    r"\b(?:one of|allowed|valid|supported|supports|accepted|accepts|only|must|either|options|choices|values|or)\b",
    re.IGNORECASE,
)
_KEYWORD: Final = re.compile(
    r"\bor (?:any |an? )?(?:keywords?|free[- ]?text|search terms?|phrase)\b|"
    r"\bin (?:your|their|any|free) (?:own )?words\b|\b(?:any|free) wording\b|\bfree(?:[- ]form)? (?:description|"
    r"text)\b|"
    r"\bfree-form\b|\bideas?:|(?<!the )(?<!only )(?<!key )\bin words\b|\bany \w+ (?:column|name|phrase)|"
    r"\bsubstring\b|\band more\b|\bcase[- ]insensitive\b|\b(?:accepted|allowed|supported) too\b|\balso "
    r"(?:accepted|allowed)\b",
    re.IGNORECASE,
)


_OF_ADDRESS: Final = word_set("apartment apt suite unit floor building room flat entrance door landmark")
"""What a line of an address may hold."""


def _are_kinds(values: list[str], name: str, text: str) -> bool:
    """Whether two values say what may be written, and not which, as `name or code` of a town, or values show kinds."""
    chooses = not (_SORTS | _CHOOSES_KIND).isdisjoint(words_of(name))
    pair = len(values) == 2 and not KINDS.isdisjoint(map(str.lower, values)) and not chooses
    return pair or _OF_KINDS.search(text[: text.find(values[0])]) is not None


_OF_KINDS: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(KINDS))}),? or (?:an? |the |its )?(?:\w+ )?(?:{'|'.join(sorted(KINDS))})s?"
    r"\s{0,3}[:(–—-]\s{0,3}['\"`]?$",
    re.IGNORECASE,
)
"""`Code, number or name — "PER", "7"`: each shows one kind."""


_CHOOSES_KIND: Final = word_set("sort order group type kind mode format")


_IN_CASE: Final = re.compile(
    r",? (?:(?:all|always|written) )?in (lower|small|upper|capital)[ -]?(?:case|letters)\.?$", re.IGNORECASE
)
"""`Open or closed, in lower case.`"""


def _cased_choices(text: str, name: str, *, chosen: bool) -> tuple[str, list[str]]:
    """The values, and the text without what it says of their letters."""
    cased = _IN_CASE.search(text)
    if cased is None:
        return text, alternatives_in(text, name, chosen=chosen)
    write = str.upper if cased[1].lower() in ("upper", "capital") else str.lower
    rest = text[: cased.start()]
    return rest, [*map(write, alternatives_in(rest, name, chosen=chosen))]


def _lists_default(argument: Argument, text: str) -> bool:
    """Whether a text has the default among other words as well: `left, right. Defaults to left.`"""
    default = argument.part.get("default")
    named = isinstance(default, str) and re.fullmatch(r"[a-z]{2,20}", default) is not None
    return named and len(re.findall(rf"(?<!\w){default}(?!\w)", text)) > 1


_OF_PLACES: Final = re.compile(r"\W*(?:[\w-]+ ){0,2}(?:paths?|urls?|links?) (?:to|of) ", re.IGNORECASE)
"""`Paths to files: images, audio or PDFs`: what lies there, and no value."""


_STATES: Final = word_set("optional required mandatory nullable")
_TYPES: Final = word_set("str string int integer float number bool boolean list array dict object any none null json")


def find_choices(argument: Argument, text: str, tool: ToolView) -> Iterator[Hit]:
    schema = argument.item if argument.kind == "array" else argument.schema
    listed = as_list(schema.get("enum"))
    yield from _strange_use(argument, text, listed, tool)
    text, found = _cased_choices(text, argument.name, chosen=bool(listed) or _lists_default(argument, text))
    titled = all(value[:1].isupper() for value in found)
    values = [value for value in found if value not in ("null", "undefined") and (value != "None" or titled)]
    lowered = {value.lower() for value in values}
    if (
        len(values) < 2
        or "not" in lowered
        or len(lowered & _OF_ADDRESS) > 2
        or not (lowered.isdisjoint(_STATES) or lowered.isdisjoint(_TYPES))  # `tags (list, optional): …`
        or lowered <= {name.lower() for name in argument.siblings}
    ):
        return
    if lowered == {*words_of(argument.name)} or ("null" in found and not listed and not is_nullable(argument)):
        return  # `State/Province/Region` of `state_province_region`; null must stay a value
    if not lowered <= {str(one).lower() for one in listed} and _is_of_another(argument, text, values, tool):
        return
    if lowered <= {"true", "false", "yes", "no", "y", "n"}:
        case = IS_CASE.search(text[: text.lower().find("true")]) or OF_OTHER_KIND.search(text)
        if lowered == {"true", "false"} and argument.kind == "string" and is_free(argument) and case is None:
            yield mistyped(argument, "text", "true or false", "boolean")
        return
    if is_free(argument):
        if _is_longer_elsewhere(text, lowered) or _are_kinds(values, argument.name, text) or _OF_PLACES.match(text):
            return
        if "type" not in argument.schema and argument.part.get("default", "") is None:
            return  # it may take numbers and objects, too
        if (
            (argument.part.get("default") == "" and not (_ONE_OF_THESE.search(text) or re.match(QUOTED, text)))
            or not _FREE.isdisjoint(words_of(argument.name)[-1:])
            or _KEYWORD.search(text)
        ):
            return
        quoted = {one[1:-1].lower() for one in re.findall(QUOTED, text)}
        if quoted and quoted.isdisjoint(lowered):
            return  # `ascending or descending: use 'asc' or 'desc'`
        if (argument.name.lower() in lowered and not all(map(str.isupper, values))) or (
            argument.kind == "string" and IS_SEVERAL.search(_unlisted(text))
        ):
            return
        shown = [one for one in given_values(argument) if isinstance(one, str) and one]
        if any(one.lower() not in lowered for one in shown) or IS_CASE.search(text[: text.find(values[0])]):
            return
        yield Hit(
            "RC301", f"only the text lists the values of {quote_name(argument.name)}: "
                     f"{quote_text(', '.join(values))}",
            f'add "enum": {escaped(json.dumps(values, ensure_ascii=False), 2_000)}{_place_of_enum(argument)}',
            argument.path,
            certain=_IS_CLOSED.search(text) is not None
            or (
                (_OF_STANDARD.isdisjoint(words_of(argument.name)) or len(values) > _SHOWN)
                and not _takes_several(argument)
            ),
        )  # fmt: skip
    elif listed and all(isinstance(one, str) for one in listed):
        known = {one.lower() for one in listed}
        whole = [one for one in known if one in text.lower()]  # a value may hold what separates others
        strange = [one for one in map(str, values) if not any(one.lower() in other for other in {*known, *whole})]
        quoted = {one[1:-1].lower() for one in re.findall(QUOTED, text)}
        told_before = known <= quoted and quoted.isdisjoint(one.lower() for one in strange)  # the rest is about them
        few = len(strange) * 2 <= len(values) and not any(_is_same(one, other) for one in strange for other in known)
        strange = [one for one in strange if _stands_as_value(one, text, known)]
        if strange and few and not told_before:
            yield Hit(
                "RC310",
                f"the text of {quote_name(argument.name)} lists {quote_text(strange[0])}, which `enum` does not have",
                "make them the same",
                argument.path,
            )


_SAME = 3
"""Letters at the beginning that make two words the same one: `descending` and `desc`."""


def _is_same(word: str, value: str) -> bool:
    one, two = word.lower(), value.lower()
    return one != two and len(two) >= _SAME and (one.startswith(two) or f"{one[:4]}" == f"{two[:4]}")


def _stands_as_value(value: str, text: str, known: set[str]) -> bool:
    """Whether a word stands where values do: not behind a word, as in `left or right in place`, nor in the bracket that
    explains a value."""
    word = re.escape(value)
    if (
        re.search(
            rf"(?:^|[,:;|/('\"`*=–—-]|\b(?:or|and|either|of|are|is|be|to|use|as|by))\s*['\"`*]*{word}(?!\w)", text
        )
        is None
    ):
        return False
    glossed = "|".join(map(re.escape, known))
    outside = re.sub(rf"(?i)\b(?:{glossed})['\"`*]*\s?\([^()]*\)", " ", text)
    return re.search(rf"(?<!\w){word}(?!\w)", outside) is not None


_OF_ARGUMENT: Final = re.compile(r"^$|\b(?:default|optional|required|mandatory|nullable|null|none)\b")


_BEFORE_LIST: Final = re.compile(r"^[^,|/`'\"]{0,40}\b(?:of|either|be|are|is|between)\s")


def _takes_several(argument: Argument) -> bool:
    """Whether a text has a name in the plural, so that a service may take several values in it."""
    last = words_of(argument.name)[-1:]
    several = last and singular(last[0]) != last[0] and last[0] not in ("units", "status", "series")
    return argument.kind == "string" and bool(several)


def _is_longer_elsewhere(text: str, lowered: set[str]) -> bool:
    """Whether a bracket of the same text lists some of the values together with others."""
    for inside in re.findall(r"\(([^()\n]{5,200})\)", text):
        inside = _BEFORE_LIST.sub("", inside.rpartition(":")[2])
        listed = {one.strip("`'\" ").lower() for one in re.split(r"[,|/]|\bor\b|\band\b", inside)}
        if len(listed & lowered) > 1 and any(not _OF_ARGUMENT.search(one) for one in listed - lowered):
            return True
    return False


def _strange_use(argument: Argument, text: str, listed: list[Any], tool: ToolView) -> Iterator[Hit]:
    """A value that the text says to use and `enum` does not have. A bare word must be written as the values are."""
    known = {str(one).lower() for one in listed}
    if len(known) < 2 or not all(isinstance(one, str) for one in listed):
        return
    others = {one.name.lower() for one in tool.arguments} | {
        str(value).lower() for one in tool.arguments for value in as_list(one.schema.get("enum"))
    }
    styles = {(one.islower(), one.isupper()) for one in map(str, listed)}
    for value in used_values(text):
        quoted = re.search(rf"[`'\"]{re.escape(value)}[`'\"]", text) is not None
        if value.lower() in known | others or value.lower() in words_of(f"{argument.name} {tool.name}"):
            continue
        if quoted or (value.islower(), value.isupper()) in styles:
            yield Hit(
                "RC310",
                f"the text of {quote_name(argument.name)} tells to use {quote_text(value)}, which `enum` does not have",
                "make them the same",
                argument.path,
            )
            return


def _place_of_enum(argument: Argument) -> str:
    """Where `enum` belongs, so that `null` and lists stay valid."""
    if argument.kind == "array":
        return " to `items`"
    if argument.part.get("default") == "":
        return ', and let it be left out, in place of ""'  # Gemini refuses an empty value
    if "anyOf" in argument.part or "oneOf" in argument.part:
        return f" beside its `type: {argument.kind or 'string'}`"
    return ", with null in it" if is_nullable(argument) else ""


IS_SEVERAL: Final = re.compile(
    r"\b(?:comma|semicolon|space|pipe|newline)s?[- ](?:separated|delimited)\b|\bseparated by\b|\bmultiple values\b|"
    r"\bone or more\b|\blist of\b|\bcombin(?:e|ed|ation)\b",
    re.IGNORECASE,
)
"""A text in which several values may be."""


def is_nullable(argument: Argument) -> bool:
    kinds = argument.part.get("type")
    listed = any(as_schema(one).get("type") == "null" for one in as_list(argument.part.get("anyOf")))
    return (isinstance(kinds, list) and "null" in kinds) or listed or argument.part.get("nullable") is True


def mistyped(argument: Argument, given: str, told: str, right: str) -> Hit:
    return Hit(
        "RC306",
        f"{quote_name(argument.name)} is {given} in the schema and {told} in the text",
        f'make it "type": "{right}"',
        argument.path,
    )
