"""RC117, RC122, RC208: two names of one meaning in a tool, one name of two meanings in the tools of a list, and a name
that ends in another kind of value than the text or the format tells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from rightcall.gate.repair.words import opposed, same_meaning, singular, words_of
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.findings import Hit, bare, join_names, quote_name, quote_text, word_set

_USUAL: Final = 2
"""Tools that take one form from which on it is the usual one."""
_SPECIFIC: Final = 8
"""Letters of a pattern that says which kind of value it is: `^AB-[0-9]+$`."""
_NEAR: Final = 4
_NUMBERS: Final = word_set("id number no nr num key code uuid ref reference identifier")
_OTHER: Final = {
    "email": "an e-mail address", "mail": "an e-mail address", "url": "a URL", "link": "a URL", "uri": "a URL",
    "phone": "a phone number", "telephone": "a phone number", "login": "a login", "username": "a user name",
    "iban": "an IBAN", "name": "a name", "title": "a title", "slug": "a slug",
}  # fmt: skip
"""What a text says that is no number of a thing."""
_BY_FORMAT: Final = {"email": "an e-mail address", "uri": "a URL", "url": "a URL"}
_HEAD: Final = re.compile(r"[^,.;:(\n]{0,80}")
_NUMBER: Final = "an ID"


def find_forms(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    """`employee_id` that is an e-mail address here, and a number of the firm in the other tools."""
    uses: dict[str, list[tuple[Argument, ToolView]]] = {}
    for tool in tools:
        for one in tool.top:
            words = words_of(one.name)
            if one.kind == "string" and len(words) > 1 and words[-1] in _NUMBERS and _OTHER.keys().isdisjoint(words):
                uses.setdefault(one.name, []).append((one, tool))
    for name, found in uses.items():
        if len(found) <= _USUAL:
            continue
        kinds: dict[str, list[tuple[Argument, ToolView]]] = {}
        for one, tool in found:
            kinds.setdefault(_form_of(one), []).append((one, tool))
        usual = kinds.pop(_NUMBER, [])
        kinds.pop("", None)
        for kind, others in kinds.items():
            if len(others) * _USUAL <= len(usual):
                (one, tool), names = others[0], [other.name for _, other in usual]
                yield tool, Hit(
                    "RC122",
                    f"{quote_name(name)} is {kind} here and {_NUMBER} in {join_names(names)}",
                    "name it by what it takes, or take the ID here too", one.path,
                )  # fmt: skip


def _form_of(one: Argument) -> str:
    """What the value of something like an ID is, by its format, its pattern or its text; empty where nothing tells."""
    shape, pattern = one.schema.get("format"), one.schema.get("pattern")
    if isinstance(shape, str) and shape in _BY_FORMAT:
        return _BY_FORMAT[shape]
    if shape == "uuid" or (isinstance(pattern, str) and len(pattern) >= _SPECIFIC and "@" not in pattern):
        return _NUMBER
    head = _HEAD.match(one.description[:80].lower().replace("e-mail", "email"))
    told = words_of(head[0]) if head is not None else ()
    if "or" in told or "/" in one.description[:80]:
        return ""
    if not {*_NUMBERS, "ids"}.isdisjoint(told):
        return _NUMBER
    return next((_OTHER[word] for word in told[:_NEAR] if word in _OTHER), "")


# ── one name, another kind of value ──

_IS_KEY: Final = re.compile(r"\W*(?:the )?(?:unique )?(?:UUID|ID|identifier|timestamp) of (?:the|an?)\b", re.IGNORECASE)
_TOLD_KIND: Final = re.compile(
    r"\W*(?:[Tt]he |[Aa]n? )?(?:[Uu]nique )?(?:[A-Za-z]+ ){0,2}?(UUID|ID|URL|(?i:e-?mail address|(?:tele)?phone number|"
    r"(?:absolute|file) path|country|city|currency|language)(?: code)?)"
    r"(?= (?:of (?:the|an?)|as|from|returned|where)\b|\s*(?:[.,;(]|$))"
)
_NO_KIND: Final = {
    "uuid": word_set("name title email mail phone url link city country"),
    "id": word_set("name title email mail phone url link city country"),
    "url": word_set("email mail phone title city country"),
    "address": word_set("phone title url link city country"), "number": word_set("name email mail title url link"),
    "path": word_set("url link email mail title"), "country": word_set("city currency language"),
    "city": word_set("country currency language"), "currency": word_set("city country language"),
    "language": word_set("city country currency"),
}  # fmt: skip
"""By the last word of what a text says that the value is: the last words of names of other things."""


def _is_other_kind(last: str, told: str, text: str) -> bool:
    """Whether a name is that of another thing than a text begins with, and its first sentence does not have it."""
    kind = words_of(told.removesuffix(" code"))[-1]
    sentence = _SENTENCE.split(text[:200].lower(), maxsplit=1)[0]
    return last in _NO_KIND.get(kind, ()) and last not in map(singular, words_of(sentence.replace("e-mail", "email")))


_HOLDS_WORDS: Final = word_set("text content body message comment title description")
_FORMATS: Final = {
    **_BY_FORMAT, "uuid": "a UUID", "date": "a date", "date-time": "a time",
}  # fmt: skip
_OTHER_FORMS: Final = {
    "name": word_set("uuid email uri url date date-time"), "title": word_set("uuid email uri url date date-time"),
    "email": word_set("uuid uri url date date-time"), "mail": word_set("uuid uri url date date-time"),
    "url": word_set("uuid email date date-time"), "link": word_set("uuid email date date-time"),
    "date": word_set("uuid email uri url"), "day": word_set("uuid email uri url"),
    "path": word_set("uuid email date date-time"), "phone": word_set("uuid email uri url date date-time"),
    "id": word_set("date date-time"), "label": word_set("uuid date date-time"), "city": word_set("uuid email uri url"),
}  # fmt: skip
"""The last word of a name, and the formats of values that are no such thing."""


def find_kind(argument: Argument, text: str) -> Iterator[Hit]:
    """What the text or the format says that the value is, where the name ends in another kind: a `text` that is the
    `ID of the file`, a `room_name` of the format `uuid`. Models send what the name says."""
    words, shape = words_of(argument.name), argument.schema.get("format")
    if not words:
        return
    last, told, remedy = words[-1], "", "name it by what it takes, or correct the description"
    found = _IS_KEY.match(text) if last in _HOLDS_WORDS else None
    if found is None and (kind := _TOLD_KIND.match(text)) is not None and _is_other_kind(last, kind[1], text):
        found = kind
    if found is not None and text[found.end() :].split()[:1] != [last]:  # `ID of the body`, in space
        told = f"described as {quote_text(found[0].strip())}: {quote_text(text)}"
    elif isinstance(shape, str) and shape in _OTHER_FORMS.get(last, ()):
        told = f"{_FORMATS[shape]} by its format"
    elif argument.kind == "array" and _is_of_several(words, bare(text[:200])):
        told, remedy = f"a list, and its name is that of one value: {quote_text(text)}", "name it in the plural"
    if told:
        yield Hit("RC208", f"{quote_name(argument.name)} is {told}", remedy, argument.path)


_SINGLES: Final = word_set("id uuid url email hostname name path address uri key number code slug username")
_ALONE: Final = word_set("id uuid url email hostname")
_SEVERAL_TOLD: Final = re.compile(
    r"\W*(?:(?:list|array|set) of |one or more |several |multiple |up to |\w+ (?:to|or) )*"
    r"(?:[\w'-]+ ){0,2}?(?:[\w-]{2,}(?<!s)s|people)\b",
    re.IGNORECASE,
)


def _is_of_several(words: Sequence[str], text: str) -> bool:
    """Whether a name is that of one value, and the text of its list begins with several: `label_id`, `IDs of …`."""
    if words[-1] not in _SINGLES or (found := _SEVERAL_TOLD.match(text)) is None:
        return False
    told = words_of(found[0])
    same = words[-1] in map(singular, told) and words[-1] not in told
    return same or ((len(words) > 1 or words[0] in _ALONE) and not _PARTS.search(text))


_PARTS: Final = re.compile(
    r"\b(?:order|first|last|outermost|root|top|down|parts?|pieces|segments?|levels?|components|nested|from|sort|composite|"
    r"each)\b",
    re.IGNORECASE,
)
"""Parts of one value: the steps of a path, the columns of a key."""


# ── two names, one thing, in two tools ──

_OF_TEXT: Final = re.compile(r"\W*((?:[\w-]+ ){1,3}?[\w-]+?)(?= (?:to|that|which|whose|as|for)\b|\s*[.,;:(\n]|\s*$)")


def find_synonyms(tools: Sequence[ToolView], told: Collection[str]) -> Iterator[tuple[ToolView, Hit]]:
    """`query`, `The SQL query to check`, where two other tools have an `sql`, `The SQL query to run`: the texts begin
    with one noun that has both names in it; or `item_id`, where it is `entry_id` in the others."""
    heads: dict[tuple[str, frozenset[str]], dict[str, list[tuple[Argument, ToolView]]]] = {}
    for tool in tools:
        for one in tool.top:
            head = _OF_TEXT.match(one.description[:120])
            words = frozenset(words_of(head[1])) - _SMALL if head is not None else frozenset[str]()
            if len(words) > 1 and words >= {*words_of(one.name)} and len(words_of(one.name)) == 1:
                heads.setdefault((one.kind, words), {}).setdefault(one.name, []).append((one, tool))
    for names in heads.values():
        usual = max(names, key=lambda name: len(names[name]))
        for name, uses in names.items():
            (one, tool), own = uses[0], {side.name for _, other in uses for side in other.top}
            if name == usual or name in told or usual in own or len(names[usual]) < _USUAL * len(uses):
                continue
            text = f"{quote_name(name)} here is {quote_name(usual)} in {quote_name(names[usual][0][1].name)}"
            yield tool, Hit("RC122", text, f"call it {quote_name(usual)} here too", one.path)
    yield from _of_nobody(tools)


def _of_nobody(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView, Hit]]:
    """`note_id`, which one tool has, where three others that do something to a note need an `item_id`, and nothing
    else, while most of their texts tell of no item."""
    needs = [(tool, one.name) for tool in tools if (one := _only_id(tool)) is not None]
    uses = Counter(one.name for tool in tools for one in tool.top)
    for tool, name in needs:
        noun = words_of(name)[0]
        if uses[name] > 1 or not _is_object(noun, tool):
            continue
        others = [(other, usual) for other, usual in needs if usual != name and _is_object(noun, other)]
        for usual, count in Counter(usual for _, usual in others).most_common(1):
            silent = sum(words_of(usual)[0] not in _own_words(other) for other, one in others if one == usual)
            if count >= _SEVERAL and 2 * silent > count:
                first = next(other for other, one in others if one == usual)
                text = f"{quote_name(name)} here is {quote_name(usual)} in {quote_name(first.name)}"
                yield (
                    tool,
                    Hit(
                        "RC122", text, f"call it {quote_name(usual)} here too", (*tool.schema_path, "properties", name)
                    ),
                )


_SEVERAL: Final = 3


def _only_id(tool: ToolView) -> Argument | None:
    """The ID that a tool needs, where it needs no other."""
    ids = [one for one in tool.top if one.required]
    one = ids[0] if len(ids) == 1 else None
    return one if one is not None and len(words_of(one.name)) == 2 and words_of(one.name)[1] == "id" else None


def _is_object(noun: str, tool: ToolView) -> bool:
    """Whether the first words of a text tell what is done to the thing, or its name does."""
    return noun in words_of(tool.description[:60])[:6] or words_of(tool.name)[-1:] == (noun,)


def _own_words(tool: ToolView) -> set[str]:
    return {singular(word) for word in words_of(f"{tool.name} {tool.description[:400]}")}


# ── two names, one meaning, in one tool ──

_FORMS: Final = ("enum", "pattern", "format", "minimum", "maximum", "minLength", "maxLength", "const")
_SMALL: Final = word_set(
    "the a an of for to in on at by with from is are be as that which who it its this and or if will should must can "
    "may here how what when where please set use used optional required e g most many number maximum max up"
)
_COUNTED: Final = {"num": "number", "max": "maximum", "min": "minimum"}
_KINDS: Final = word_set("id name date time text value number str string code key type")
_MOST_APART, _LEAST_SHARED = 1, 2
"""Words that each of two texts may have for itself, and those that they must share beside their names."""
_SENTENCE: Final = re.compile(r"[.;(\n]")


def say_one_thing(one: Argument, other: Argument) -> bool:
    """Whether two arguments of one form have names that mean the same or turn one word round, and texts of the same
    words: `target_heat`, `Heat wanted in the oven`, beside `heat_setpoint`, `Heat setpoint of the oven`. Texts that
    differ in the very words of the names tell two things apart, such as a width and a height."""
    mine, theirs = ({_COUNTED.get(word, singular(word)) for word in words_of(side.name)} for side in (one, other))
    left, right = mine - theirs - _KINDS, theirs - mine - _KINDS
    if not left or not right or (one.required and other.required) or opposed(one.name, other.name):
        return False
    synonyms = _synonyms(left, right)
    if not synonyms and not _turned(one.name, other.name):
        return False
    if any(one.schema.get(form) != other.schema.get(form) for form in _FORMS):
        return False
    said, told = (_said(side.description) for side in (one, other))
    if one.description == other.description or (left & said and right & told):
        return False  # RC206 tells of the same text
    if not synonyms and not (said & mine or told & theirs):
        return False
    names = mine | theirs
    apart = said - told - names, told - said - names
    if len((said & told) - names) < _LEAST_SHARED or max(map(len, apart)) > _MOST_APART:
        return False
    return not any(map(_tells_apart, apart[0] | apart[1])) and not opposed(" ".join(apart[0]), " ".join(apart[1]))


def _turned(one: str, other: str) -> bool:
    """Whether a word ends one name and begins the other."""
    mine, theirs = words_of(one), words_of(other)
    return (mine[0] == theirs[-1] and mine[0] not in _KINDS) or (mine[-1] == theirs[0] and theirs[0] not in _KINDS)


def _said(text: str) -> set[str]:
    sentence = _SENTENCE.split(text[:200].strip())[0]
    return {singular(word) for word in words_of(sentence) if word not in _SMALL}


def _synonyms(left: set[str], right: set[str]) -> bool:
    return all(any(same_meaning(word, side) for side in right) for word in left) or all(
        any(same_meaning(word, side) for side in left) for word in right
    )


def _tells_apart(word: str) -> bool:
    return word.isdigit() or len(word) == 1 or word in _ORDER


_ORDER: Final = word_set(
    "first second third last next previous other another old new before after start end from to until since begin left "
    "right source origin destination primary secondary parent child total average default original current final "
    "exclude include not no without only all any local remote"
)
