"""RC101 by the sense: tools that take the same and do the same in other words, as `rate_page` and `add_page_rating` do.

Three things must come together: the same arguments, near first sentences by the vectors of the router, and names of
which no word is the tool's own. `list_movies` and `list_songs` are as near as any two, and nobody mixes them up.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, takewhile
from operator import eq
from typing import Final

from rightcall.gate.repair.words import is_word, joined, opposed, singular, words_of
from rightcall.lint.definitions import ToolView
from rightcall.lint.findings import word_set

_MOST_OF_KIND = 60
"""Tools with the same required arguments that are compared each with each."""
_MOST_PIECES = 46
_LEAST, _LEAST_ALONE = 0.85, 0.95
"""What the cosines of names and of sentences add up to; more is asked where tools share one argument alone."""
_LEAST_SENTENCE, _SAME_SENTENCE = 0.4, 0.8
_NEAR_VERB = 0.35


def find_alike(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView, ToolView]]:
    """Pairs of a list that do the same in other words."""
    groups: dict[frozenset[str], list[ToolView]] = {}
    for tool in tools:
        if tool.top and words_of(tool.description[:_LONGEST_SENTENCE]) != words_of(tool.name):
            groups.setdefault(frozenset(joined(one.name) for one in tool.top if one.required), []).append(tool)
    for needed, group in groups.items():
        for one, other in combinations(group[:_MOST_OF_KIND], 2):
            if _take_alike(one, other) and _mean_alike(one, other, _LEAST if len(needed) > 1 else _LEAST_ALONE):
                yield one, other


def _take_alike(one: ToolView, other: ToolView) -> bool:
    """Whether half of the arguments, or all of one of the two, are the same in name and type."""
    mine, theirs = ({(joined(argument.name), argument.kind) for argument in tool.top} for tool in (one, other))
    shared = len(mine & theirs)
    return 2 * shared >= len(mine | theirs) or (shared > 1 and shared == min(len(mine), len(theirs)))


def _mean_alike(one: ToolView, other: ToolView, least: float) -> bool:
    texts = (first_sentence(one), first_sentence(other))
    if not all(_LETTERS.sub("", text).isascii() for text in texts):
        return False  # the vectors know English
    same_words = sorted(words_of(one.name)) == sorted(words_of(other.name))
    apart = opposed(one.name, other.name) or opposed(*(_SIDED.sub("", text) for text in texts))
    apart = apart or _takes_back(one.name) != _takes_back(other.name)
    if same_words or apart or not _stems(_told(one)) & _stems(_told(other)) or _tell_number(one, other):
        return False
    sentence = nearness(*texts)
    if sentence < _LEAST_SENTENCE or sentence + nearness(one.name, other.name) < least:
        return False
    mine, theirs = _own_words(one, other), _own_words(other, one)
    mine, theirs = mine or _opposite(theirs, other, one), theirs or _opposite(mine, one, other)
    if (mine and theirs) or _names_a_part(one, other) or _names_a_part(other, one):
        return False
    own = _stems(mine or theirs)  # what one name alone says, of two sentences that say the same
    return not own or (sentence >= _SAME_SENTENCE and own.isdisjoint(_stems(_told(one if mine else other))))


def _names_a_part(one: ToolView, other: ToolView) -> bool:
    """Whether a name has more words than that of another tool, and its text the same words in a row: `get_service_logs`
    gets the service logs, and `get_service` a service."""
    words, others = words_of(one.name), words_of(other.name)
    part = words[len(others) - 1 :]
    told = words_of(first_sentence(one))
    return words[: len(others)] == others and any(told[at : at + len(part)] == part for at in range(len(told)))


def _takes_back(name: str) -> bool:
    """`untrash_thread`, which is no way of deleting it."""
    return any(word.startswith("un") and len(word) > _SHORT_TAKEN_BACK and is_word(word[2:]) for word in words_of(name))


_SHORT_TAKEN_BACK = 5
_LETTERS: Final = re.compile(r"[^\w]+")
_SIDED: Final = re.compile(r"\b(?:from|to|in|by)\b", re.IGNORECASE)
"""Words that are sides of something in a name, and seldom in a sentence."""

# ── the sentence ──


def first_sentence(tool: ToolView) -> str:
    return _SENTENCE.split(tool.description[:_LONGEST_SENTENCE].strip(), maxsplit=1)[0]


_SENTENCE: Final = re.compile(r"[.;!?](?:\s|$)|\n")
_LONGEST_SENTENCE = 300


@lru_cache(maxsize=20_000)
def nearness(one: str, other: str) -> float:
    """The cosine of two texts or names."""
    from rightcall.router.vectors import near  # late: most lists have no two tools to compare

    return near(_embed(one), _embed(other))


@lru_cache(maxsize=4096)
def _embed(text: str) -> tuple[float, ...]:
    from rightcall.router.vectors import spoken_name, table

    return table().embed(text if " " in text else spoken_name(text), _MOST_PIECES)


def _told(tool: ToolView) -> list[str]:
    """The words of the first sentence, without what it is not about."""
    return _WORD.findall(_DENIED.sub(" ", first_sentence(tool).lower()))


_WORD: Final = re.compile(r"[^\W_]+")
_DENIED: Final = re.compile(r"\b(?:no|not|without|except|never)\s+\w+")


def _tell_number(one: ToolView, other: ToolView) -> bool:
    """Whether the text of one alone says that it is for several, or one is for all and the other for the best of
    them."""
    if not QUANTITY.isdisjoint({*words_of(one.name)} ^ {*words_of(other.name)}):
        return True
    first = [{*_told(tool)} for tool in (one, other)]
    picks = any("all" in first[at] and "all" not in first[1 - at] and _ONE & first[1 - at] for at in (0, 1))
    return picks or len({tells_several(tool, _SEVERAL) for tool in (one, other)}) > 1


def tells_several(tool: ToolView, words: Collection[str]) -> bool:
    """Whether a text has a word for several. `every` and `each` count only before the first comma or colon: behind it,
    they are about the parts of one thing, `the balance of an account: every token that it holds`."""
    text = tool.description[:400]
    head, *_ = _CLAUSE.split(text, maxsplit=1)
    told = {*words_of(head), *({*words_of(text[len(head) :])} - _PARTS)}
    return not told.isdisjoint(words)


QUANTITY: Final = word_set("all every any one single each many multiple several bulk batch")
_SEVERAL: Final = word_set("several multiple many every each batch bulk array")
_PARTS: Final = word_set("every each")
_CLAUSE: Final = re.compile(r"[,.:;(\n]")
_ONE: Final = word_set("best first single one latest last default main primary next newest oldest")

# ── the words of the names ──


def _own_words(one: ToolView, other: ToolView) -> list[str]:
    """The words of a name that the other tool has nowhere: neither in its name, nor in its text or arguments."""
    words, theirs = words_of(one.name), words_of(other.name)
    prefix = _count_shared(words, theirs)
    words, theirs = words[prefix:], theirs[prefix:]
    heard = _told(other)
    told = _stems((*theirs, *heard, *(word for argument in other.top for word in words_of(argument.name))))
    verbs, others = _verbs(words, _told(one), prefix), _verbs(theirs, heard, prefix)
    little = _LITTLE if _list_apart(one, other) else _LITTLE | _FACTS
    little = little | _CHECKS if all(not OF_STATE.isdisjoint(_told(tool)) for tool in (one, other)) else little
    found: list[str] = []
    for word in words:
        if word in little or stem(word) in _stems(theirs):
            continue
        if stem(word) in _stems(verbs):
            objects = [one for one in words if one not in theirs]
            lent = any(_is_made_of(verb, objects, word) for verb in others)  # `add_comment`, where another comments
            if not (
                lent or _is_made_of(word, theirs[1:]) or same_act(word, [one for one in others if one not in words])
            ):
                found.append(word)
        elif stem(word) not in told and not any(
            _same_thing(word, side) or _is_made_of(verb, (word,)) for side in theirs for verb in others
        ):
            found.append(word)
    return found


def _opposite(words: Collection[str], one: ToolView, other: ToolView) -> list[str]:
    """The word of another name in the place of the one that a name has for itself: `current_weather` is no other way to
    say `forecast_weather`."""
    mine, theirs = words_of(one.name), words_of(other.name)
    apart = [pair for pair in zip(mine, theirs, strict=False) if pair[0] != pair[1]]
    lone = len(mine) == len(theirs) > 1 and len(apart) == 1 and apart[0][0] in words
    return [apart[0][1]] if lone and (apart[0][0] != mine[0] or apart[0][1] in _LITTLE) else []


def _list_apart(one: ToolView, other: ToolView) -> bool:
    """Whether a first sentence lists what comes back, and the other lists other things or nothing."""
    texts = [first_sentence(tool) for tool in (one, other)]
    lists = [_stems(_WORD.findall(text.lower())[1:]) - _STEMS_OF_LITTLE for text in texts if "," in text]
    return len(lists) == 1 or (len(lists) > 1 and max(map(len, (lists[0] - lists[1], lists[1] - lists[0]))) > _MOST_OWN)


_MOST_OWN = 2


def _verbs(words: Sequence[str], told: Sequence[str], prefix: int) -> list[str]:
    """The word that a text begins with, and the one that the name begins with, unless that is a prefix of both names
    or no verb, as in `html_formatter`."""
    verb = singular(told[0]) if told else ""
    if prefix or (_is_made_of(verb, words[1:]) and words[0] not in _ANY_VERB):
        return [verb]
    return [*words[:1], verb]


def same_act(verb: str, others: Sequence[str]) -> bool:
    """Whether a verb is one of the others, or near it, and the contrary of none."""
    if any(frozenset((verb, other)) in _APART for other in others):
        return False
    return any(
        stem(verb) == stem(other)
        or any({verb, other} <= group for group in _SAME)
        or nearness(verb, other) > _NEAR_VERB
        for other in others
    )


def _is_made_of(verb: str, words: Collection[str], but: str = "") -> bool:
    """Whether one of the words is made of the verb: `summary` of `summarise`."""
    for word in words:
        begun, least = _count_shared(verb, word), min(len(verb), len(word))
        if word != but and begun >= min(len(stem(verb)), least, max(_LONG_STEM, least - 2)) >= _SHORT_STEM:
            return True
    return False


_SHORT_STEM, _LONG_STEM = 3, 5


def _count_shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words, or letters, two begin with alike."""
    return sum(1 for _ in takewhile(bool, map(eq, one, other)))


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """`baking`, `baked` and `bakes` as `bak`. A `baker` is somebody else."""
    return re.sub(r"(\w)\1$", r"\1", re.sub(r"(?<=\w{3})(?:ing|ed|es|e|s)$", "", singular(word)))


def _stems(words: Iterable[str]) -> set[str]:
    return {stem(word) for word in words}


def _same_thing(word: str, other: str) -> bool:
    return any({singular(word), singular(other)} <= group for group in SAME_THING) or is_one_noun(
        word, other, _SURELY_ONE
    )


@lru_cache(maxsize=20_000)
def is_one_noun(word: str, other: str, least: float = 0.48) -> bool:
    """Whether two nouns mean the same by the vectors, as `booking` and `reservation` do. Those that begin or end alike
    are of a kind: `sunrise` and `sunset`."""
    left, right = singular(word), singular(other)
    ended = left[-_OF_A_KIND:] == right[-_OF_A_KIND:]
    if ended or left[:_OF_A_KIND] == right[:_OF_A_KIND] or not QUANTITY.isdisjoint((left, right)):
        return left == right
    return min(len(left), len(right)) >= _OF_A_KIND and nearness(left, right) >= least


_OF_A_KIND, _SURELY_ONE = 3, 0.6
"""More is asked where arguments have texts of their own: a `bill` to pay is no `invoice`."""


_LITTLE: Final = word_set(
    "a an the of for to in on at by with from and or as into is it its this that their be are new existing given per "
    "via using use can you one data record records result results value values list specified specific current"
)
_FACTS: Final = word_set("info information detail details profile")
"""They say little where no sentence lists what comes back."""
_CHECKS: Final = word_set("check checks get")
_STEMS_OF_LITTLE: Final = frozenset(_stems(_LITTLE | _FACTS))
OF_STATE: Final = word_set("status state level availability balance progress health current latest")
"""What can be checked by reading it. To check an address is to judge it."""
_SAME_THING_TEXT = """
    mail email|song track|stock inventory|similar related|vector semantic|status state|customer client
    """
SAME_THING: Final = [word_set(line) for line in _SAME_THING_TEXT.split("|")]
"""Beside those that the vectors find."""
_NEAR_VERBS = """
    navigate goto visit open browse|
    set update change modify edit adjust alter amend revise|create new add place raise|read open|
    cancel void kill abort stop terminate halt end interrupt|find search lookup query|
    start run launch begin trigger execute|send post submit deliver|post publish|save store write put|
    copy duplicate clone|generate create make build produce|calculate compute calc|book reserve schedule|
    pause suspend hold|resume continue restart|request order|approve accept confirm|reject decline deny refuse|
    delete remove discard drop|close finish complete resolve|describe explain|get read show view load|assign allocate|
    open load|import load ingest|file submit lodge|detect identify recognize recognise determine|
    inspect examine review|evaluate assess score grade|publish release announce|notify alert inform|
    enable activate|disable deactivate|register enroll enrol|transfer move|merge combine join|list enumerate browse|
    track trace monitor watch|lock freeze block|unlock unfreeze unblock|verify validate confirm check|
    estimate predict forecast|extract parse|refund reimburse|charge bill|record log enter|restore recover undelete|
    extend renew prolong|postpone reschedule|mute silence|water irrigate
    """
NEAR_VERB: Final = [word_set(line) for line in _NEAR_VERBS.split("|")]
"""Verbs that mean the same where tools take the same."""
_SAME_TEXT = """
    get fetch retrieve obtain read find search lookup look list query show view see display return load browse|
    move set update change mark rename|add insert register put log record raise open submit file lodge|
    issue process make perform do give cast|attach upload add|discharge release|tag label mark add|crop cut trim|
    convert transform translate|send dispatch mail share|remind notify send|add invite enroll
    """
_SAME: Final = [*NEAR_VERB, *map(word_set, _SAME_TEXT.split("|"))]
"""Also those that do so where the texts are near each other as well."""
_ANY_VERB: Final = frozenset[str]().union(*_SAME)
_APART_TEXT = (
    "import/export upload/download buy/sell start/stop start/restart stop/restart send/receive pause/resume open/close "
    "create/delete add/remove get/set read/write encode/decode push/pull login/logout attach/detach enable/disable "
    "approve/reject lock/unlock mute/unmute archive/restore publish/draft insert/update describe/explain "
    "join/leave copy/move charge/refund void/refund book/cancel record/play back/forward find/play search/play "
    "split/merge pause/stop trash/delete archive/delete"
)
_APART: Final = {frozenset(pair.split("/")) for pair in _APART_TEXT.split()}
"""Verbs that the vectors take for each other."""
