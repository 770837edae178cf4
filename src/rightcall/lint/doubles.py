"""RC101, RC104, RC105: tools of one list that are taken for each other, by their names or by what they take and say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from rightcall.base.letters import skeleton
from rightcall.gate.repair.words import joined, opposed, singular, words_of
from rightcall.lint.definitions import ToolView
from rightcall.lint.findings import Hit, join_names, quote_name, word_set
from rightcall.lint.likeness import OF_KIND, OF_SPELLING, SHORT, one_letter_apart, spelt
from rightcall.lint.pairs import find_mixed, find_spellings, style_of

_VERBS = (
    "get fetch retrieve obtain|delete remove erase destroy|create add make|update modify edit|find search lookup|"
    "send submit|run execute exec|show display view|start launch begin|stop halt terminate|join connect|"
    "check verify validate"
)
_SAME_VERB: Final = [word_set(line) for line in _VERBS.split("|")]
_NEAR_VERBS = (
    "set update change modify edit adjust alter amend revise|create new add place raise|read open|"
    "cancel void kill abort stop terminate halt end interrupt|"
    "find search lookup query|start run launch begin trigger execute|send post submit deliver|save store write put|"
    "copy duplicate clone|generate create make build produce|calculate compute calc|book reserve|pause suspend hold|"
    "resume continue restart|request order|approve accept confirm|reject decline deny refuse|"
    "delete remove discard drop|close finish complete resolve|describe explain|get read show view load|assign allocate|"
    "open load|import load ingest|file submit lodge|detect identify recognize recognise determine|"
    "inspect examine review|evaluate assess score grade|publish release announce|notify alert inform|schedule book|"
    "enable activate|disable deactivate|register enroll enrol|transfer move|merge combine join|list enumerate browse|"
    "track trace monitor watch|lock freeze block|unlock unfreeze unblock|verify validate confirm check|"
    "estimate predict forecast|extract parse|refund reimburse|charge bill|record log enter|restore recover undelete"
)
_NEAR_VERB: Final = [word_set(line) for line in _NEAR_VERBS.split("|")]
"""Verbs that tell two tools apart only where the tools take different arguments."""
_SAYS_LITTLE: Final = word_set("all the a an of for every any")
_SAME_THING: Final = [
    word_set(line)
    for line in [
        "mail email",
        "directory folder",
        "picture image photo",
        "repo repository",
        "doc document",
        "song track",
        "stock inventory",
        "similar related",
        "vector semantic",
        "status state",
        "customer client",
        "vendor supplier",
        "movie film",
        "comment remark",
    ]
]
_LATER: Final = word_set(
    "new old legacy alt alternative copy final tmp temp beta alpha next latest improved better fixed v"
)
_MOST_PAIRS = 400
"""Tools of one list that are compared each with each."""
_MOST_TOLD = 3
"""Pairs of one kind that are told one by one."""


def check_list(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    yield from _duplicates(tools)
    yield from _near_equal(tools)
    mixed = list(find_mixed(tools))
    yield from ((tool, hit) for tool, hit, _ in mixed)
    yield from find_spellings(tools, {(tool.number, one.name) for tool, _, few in mixed for one in few})
    yield from _styles(tools)


def _duplicates(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    seen: set[str] = set()
    for tool in tools:
        if tool.name and tool.name in seen:
            yield (
                tool,
                Hit(
                    "RC104",
                    f"a second tool is called {quote_name(tool.name)}",
                    "rename or remove one of them",
                    tool.at("name"),
                ),
            )
        seen.add(tool.name)


def _near_equal(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    found: dict[tuple[str, bool], list[tuple[ToolView, ToolView]]] = {}
    named = [tool for tool in tools if tool.name][:_MOST_PAIRS]
    told = _told_alike(named)
    for one, other in combinations(named, 2):
        why = resemblance(one.name, other.name) or _overlap(one, other) or told.get((one.number, other.number))
        if why is not None and not (why not in _OF_STYLE and _tells_apart(one, other, why)):
            found.setdefault((why, why in _OF_STYLE or _take_alike(one, other, why)), []).append((one, other))
    remedy = "name the difference, or make one tool of both"
    for (why, certain), pairs in found.items():
        if len(pairs) > _MOST_TOLD:
            shown = "; ".join(
                f"{quote_name(other.name)} and {quote_name(one.name)}" for one, other in pairs[:_MOST_TOLD]
            )
            yield None, Hit("RC101", f"{len(pairs)} pairs of tools {why}: {shown}, …", remedy, certain=certain)
            continue
        for one, other in pairs:
            text = f"{quote_name(other.name)} and {quote_name(one.name)} {why}"
            yield other, Hit("RC101", text, remedy, other.at("name"), certain=certain)


_OF_NUMBER: Final = "differ only in singular and plural"


_OF_STYLE: Final = ("differ only in style", "look the same", "have the same words in another order")
_FATAL: Final = word_set("delete remove erase destroy drop purge wipe cancel archive")


def _take_alike(one: ToolView, other: ToolView, why: str) -> bool:
    """Whether two tools need the same arguments, so that nothing but the name tells which is meant: `get_order`, which
    needs an id, is not taken for `get_orders`."""
    needed = [{joined(argument.name) for argument in tool.top if argument.required} for tool in (one, other)]
    mine, theirs = (
        needed if any(needed) else [{joined(argument.name) for argument in tool.top} for tool in (one, other)]
    )
    if why == _OF_NUMBER:
        return _are_alike_in_number(one, other, mine, theirs)
    ends = words_of(one.name)[-1], words_of(other.name)[-1]
    if why in _OF_MEANING and ends[0] != ends[1] and singular(ends[0]) == singular(ends[1]) and mine.isdisjoint(theirs):
        return False  # `lookup_member`, by its number, and `search_members`
    alike = len(mine) == len(theirs) if why in _OF_MEANING else mine == theirs
    return alike or why == _OF_TEXTS or not _FATAL.isdisjoint(words_of(one.name))


def _are_alike_in_number(one: ToolView, other: ToolView, mine: set[str], theirs: set[str]) -> bool:
    """Of two names that differ in a plural alone. What deletes one is not to be taken for what deletes several, if a
    call of the one fits the other."""
    if words_of(one.name)[:1] == ("list",):
        return True  # what lists gives several, whatever its name says
    if mine and theirs and _say_the_same(one, other):
        return True  # no text tells what the one for several selects by
    kinds = {(argument.name, argument.kind) for tool in (one, other) for argument in tool.top if argument.required}
    lists = [name for name, kind in kinds if kind == "array"]
    fits = not any(
        singular(name.lower()) == single.lower() for name in lists for single, kind in kinds if kind != "array"
    )
    if not _FATAL.isdisjoint(words_of(one.name)):
        return fits
    if not mine and not theirs:
        return True
    several = {_TELLS_NUMBER.isdisjoint(words_of(tool.description[:400])) for tool in (one, other)}
    if len(several) > 1:
        return False  # the text of one says that it is for several
    more = len(mine & theirs) > 1 and len(mine ^ theirs) == 1  # one argument more is no help
    return mine == theirs or more or _hides_number(one, other)


def _hides_number(one: ToolView, other: ToolView) -> bool:
    """Whether the one letter is inside of the name, as in `get_lifts_status`, and no text tells of several."""
    mine, theirs = words_of(one.name), words_of(other.name)
    apart = [at for at, (left, right) in enumerate(zip(mine, theirs, strict=True)) if left != right]
    told = words_of(f"{one.description[:400]} {other.description[:400]}")
    return len(apart) == 1 and apart[0] < len(mine) - 1 and _TELLS_NUMBER.isdisjoint(told)


_TELLS_NUMBER: Final = word_set("several multiple many all every batch bulk list lists array once")
"""Words of a text for several."""
_OF_TEXTS: Final = "do nearly the same by their texts"
_OF_MEANING: Final = ("mean the same", "do nearly the same", "do the same by their descriptions", _OF_TEXTS)


_UNLIKE: Final = re.compile(r"\b(?:without|only|but not|rather than|instead of|unlike)\b", re.IGNORECASE)


def _tells_apart(one: ToolView, other: ToolView, why: str) -> bool:
    """Whether the description of one says when to take the other: `For a few words use edit_poem instead`."""
    texts = ((one.description, other.name), (other.description, one.name))
    return any(
        (why in _OF_MEANING and _UNLIKE.search(text.split(". ", 1)[0]))
        or re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None
        for text, name in texts
    )


_TURNED: Final = frozenset(("to", "from", "2", "for", "by", "in"))
"""`text_to_speech` and `speech_to_text`: what is on which side of such a word tells them apart."""


def resemblance(one: str, other: str) -> str | None:
    """Why two names of tools are taken for each other; None where they are not.

    >>> resemblance("get_user", "getUser"), resemblance("get_user", "delete_user")
    ('differ only in style', None)
    """
    if one == other or not joined(one) or not joined(other):
        return None
    if joined(one) == joined(other):
        return "differ only in style"
    if skeleton(one) == skeleton(other):
        return "look the same"
    mine, theirs = words_of(one), words_of(other)
    if opposed(one, other):
        return None
    if len(mine) == len(theirs) == 1 and singular(mine[0]) == singular(theirs[0]):
        return _OF_NUMBER
    turned = sorted(map(singular, mine)) == sorted(map(singular, theirs)) and mine[0] != theirs[0]
    if turned or sorted(mine) == sorted(theirs):
        return None if _TURNED & {*mine} else "have the same words in another order"
    if tuple(map(singular, mine)) == tuple(map(singular, theirs)):
        return _OF_NUMBER
    if _telling_words(mine) == _telling_words(theirs):
        return "differ only in a word that says little"
    if _without_version(mine) == _without_version(theirs):
        return "differ only in a version or a word such as `new`"
    if [*map(_long, mine)] == [*map(_long, theirs)]:
        return "mean the same"
    if {mine[:2], theirs[:1]} == {("get", "all"), ("list",)} or {mine[:1], theirs[:2]} == {("get", "all"), ("list",)}:
        longer, shorter = sorted((mine, theirs), key=len, reverse=True)
        if longer[2:] == shorter[1:]:
            return "mean the same"
    if [*map(spelt, mine)] == [*map(spelt, theirs)]:
        return OF_SPELLING
    if one_letter_apart(one, other):
        return "are one letter apart"
    return "mean the same" if _same_act(mine, theirs) else None


def _long(word: str) -> str:
    """A word of a name written out, in the singular: `db` as `database`."""
    one = singular(word)
    return _FULL.get(one) or SHORT.get(one) or one


_FULL_TEXT = """
    db=database config=configuration env=environment var=variable msg=message org=organization app=application
    txn=transaction dir=directory repo=repository doc=document info=information desc=description img=image
    stat=statistic param=parameter attr=attribute auth=authentication cmd=command ref=reference spec=specification
    """
_FULL: Final = {pair.split("=")[0]: pair.split("=")[1] for pair in _FULL_TEXT.split()}
"""Beside `SHORT`: what everybody knows, and nobody tells from the long word."""


def _telling_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Without the words that say little. `approve_all` and `reply_all_to` say another thing than without `all`."""
    last = len(words) - 1
    return tuple(
        word
        for at, word in enumerate(words)
        if word not in _SAYS_LITTLE or (word == "all" and (at == last or words[at - 1] == "reply"))
    )


def _without_version(words: tuple[str, ...]) -> tuple[str, ...]:
    kept = words
    while len(kept) > 1 and (kept[-1] in _LATER or kept[-1].isdigit() or re.fullmatch(r"v\d+", kept[-1])):
        kept = kept[:-1]
    return kept


def _same_act(mine: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    """The same object, and verbs that mean the same."""
    if len(mine) != len(theirs) or len(mine) < 2:
        return False
    pairs = [(one, other) for one, other in zip(mine, theirs, strict=True) if singular(one) != singular(other)]
    if pairs == [(mine[-1], theirs[-1])] and mine[0] != singular(mine[0]):
        return False  # `pods_run`, `pods_exec`: what is done comes last, with words of the trade
    return len(pairs) == 1 and any(set(pairs[0]) <= group for group in (*_SAME_VERB, *_SAME_THING))


def _overlap(one: ToolView, other: ToolView) -> str | None:
    """Why two tools are taken for each other that take the same arguments and differ by their verb alone."""
    mine, theirs = words_of(one.name), words_of(other.name)
    if opposed(one.name, other.name):
        return None
    if _unfilled(mine) == _unfilled(theirs) and _take_the_same(one, other) and _say_the_same(one, other):
        return "differ only in a word that says little"
    if len(mine) != len(theirs) or len(mine) < 2:
        return None
    apart = [(left, right) for left, right in zip(mine, theirs, strict=True) if singular(left) != singular(right)]
    if len(apart) == 1 and _uninflected(apart[0][0]) == _uninflected(apart[0][1]) and _take_all_the_same(one, other):
        return "differ only in the form of a word"
    if len(apart) == 1 and not _take_the_same(one, other):
        near = mine[0] == apart[0][0] and any({*apart[0]} <= group for group in _NEAR_VERB)
        return _OF_TEXTS if near and _do_the_same(one, other) else None
    if len(apart) != 1:
        return None
    if {*apart[0]} == {"get", "list"} and mine[1:] == theirs[1:] and singular(mine[-1]) != mine[-1]:
        return "do nearly the same"
    if mine[-1] == apart[0][0]:
        return "do nearly the same" if {*apart[0]} <= _FACTS or {*apart[0]} <= _SHOWS else None
    if mine[0] == apart[0][0] and {*apart[0]} <= _ASKS and mine[-1] in _OF_STATE:
        return "do nearly the same"
    if any({*apart[0]} <= group for group in _NEAR_VERB):
        return "do nearly the same"
    return "do the same by their descriptions" if _tells_verb_of(other, one, apart[0]) else None


_FACTS: Final = word_set("info information details detail data profile")
_SHOWS: Final = word_set("get read show view fetch")
_ASKS: Final = word_set("get check read fetch query show")
_FILLS: Final = _FACTS - {"profile"} | word_set("record records entry entries result results value values list")
_OF_NONE: Final = _FILLS | word_set("one single")
"""Words that do not say which of two things a text is about."""


def _unfilled(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a name in the singular, without those at the end that say little: `get_order` for
    `get_orders_data`."""
    kept = words
    while len(kept) > OF_KIND and kept[-1] in _FILLS:
        kept = kept[:-1]
    return tuple(map(singular, kept))


def _say_the_same(one: ToolView, other: ToolView) -> bool:
    """Whether two texts have the same words, but for those of the names, in brackets, and those that say little."""
    names = {*words_of(f"{one.name} {other.name}")} | _JOINS | _OF_NONE
    mine, theirs = (
        {_uninflected(word) for word in words_of(_IN_BRACKETS.sub(" ", tool.description[:400]))}
        - {_uninflected(word) for word in names}
        for tool in (one, other)
    )
    return mine == theirs and len(mine) >= _LEAST_TOLD


def _do_the_same(one: ToolView, other: ToolView) -> bool:
    """Whether two that need the same first argument share half of what their first sentences say."""
    needed = [next((side.name for side in tool.top if side.required), "") for tool in (one, other)]
    names = {_uninflected(word) for word in {*words_of(f"{one.name} {other.name}")} | _JOINS}
    mine, theirs = (
        {_uninflected(word) for word in words_of(tool.description[:400].split(". ")[0])} - names
        for tool in (one, other)
    )
    shared = len(mine & theirs)
    return needed[0] == needed[1] != "" and shared > _LEAST_TOLD and 2 * shared >= min(len(mine), len(theirs))


_IN_BRACKETS: Final = re.compile(r"\([^()]*\)")


def _take_the_same(one: ToolView, other: ToolView) -> bool:
    """Whether half of the arguments are the same, two at least or all, and as many must be given."""
    mine, theirs = ({joined(argument.name) for argument in tool.top} for tool in (one, other))
    needed = [sum(argument.required for argument in tool.top) for tool in (one, other)]
    shared = mine & theirs
    return needed[0] == needed[1] and (
        mine == theirs != set() or (len(shared) > 1 and 2 * len(shared) >= len(mine | theirs))
    )


def _take_all_the_same(one: ToolView, other: ToolView) -> bool:
    mine, theirs = (
        {(argument.name, argument.kind, argument.required) for argument in tool.top} for tool in (one, other)
    )
    return mine == theirs != set()


def _tells_verb_of(one: ToolView, other: ToolView, verbs: tuple[str, str]) -> bool:
    """Whether both descriptions begin with the verb of one of the names, the other name's verb is in no first sentence,
    and none names the other tool."""
    texts = [tool.description[:200].lower() for tool in (one, other)]
    begins = {next(iter(words_of(text)), "").removesuffix("s") for text in texts}
    told = [verb for verb in verbs if any(verb.removesuffix("s") in text.split(".")[0] for text in texts)]
    same = {joined(argument.name) for argument in one.top} == {joined(argument.name) for argument in other.top}
    return (
        same
        and len({" and " in text.split(".")[0] for text in texts}) == 1  # else one of them does more
        and len(begins) == len(told) == 1
        and begins == {told[0].removesuffix("s")}
        and one.name not in other.description
        and other.name not in one.description
    )


_READS: Final = word_set("get gets fetch fetches retrieve retrieves obtain obtains read reads see find finds search "
                         "searches list lists look looks return returns query queries")  # fmt: skip
_CHECKS: Final = word_set("check checks")
_OF_STATE: Final = word_set("status state level availability balance progress health current latest")
"""What can be checked by reading it. To check an address is to judge it."""
_JOINS: Final = word_set("the a an s of on in into for its their this that by with and to up")
_LEAST_TOLD = 3
"""Words behind the verb that two descriptions must share."""
_Gist = tuple[str, tuple[str, ...]]
"""The verb that a description begins with, and the words behind it that tell something."""


def _told_alike(tools: Sequence[ToolView]) -> dict[tuple[int, int], str]:
    """Pairs with the same arguments whose descriptions have the same words: behind two verbs that read, or under two
    forms of one name. What is copied whole is a finding of its own."""
    groups: dict[object, list[tuple[ToolView, _Gist]]] = {}
    for tool in tools:
        verb, *rest = words_of(tool.description[:400]) or ("",)
        gist = tuple(word for word in rest if word not in _JOINS)
        if len(gist) >= _LEAST_TOLD - 1:
            takes = sorted((one.name, one.kind, one.required) for one in tool.top)
            groups.setdefault((str(takes), *sorted(map(_uninflected, gist))), []).append((tool, (verb, gist)))
    found: dict[tuple[int, int], str] = {}
    for group in groups.values():
        for (one, mine), (other, theirs) in combinations(group, 2):
            same = mine[0] == theirs[0] or _uninflected(mine[0]) == _uninflected(theirs[0])
            if one.description == other.description or opposed(one.name, other.name):
                continue
            if same and [*map(_stem, words_of(one.name))] == [*map(_stem, words_of(other.name))]:
                found[one.number, other.number] = "differ only in the form of a word"
            elif not same and mine[1] == theirs[1] and len(mine[1]) >= _LEAST_TOLD and _read(mine) and _read(theirs):
                found[one.number, other.number] = "do the same by their descriptions"
    return found


def _read(gist: _Gist) -> bool:
    verb, words = gist
    return verb in _READS or (verb in _CHECKS and not _OF_STATE.isdisjoint(words))


def _uninflected(word: str) -> str:
    """`baking`, `baked` and `bakes` as `bak`, `scanning` as `scan`."""
    return _undoubled(re.sub(r"(?<=\w{3})(?:ing|ed|es|e|s)$", "", word))


def _stem(word: str) -> str:
    """`mixer` and `mixing` as `mix`."""
    return _undoubled(re.sub(r"(?<=\w{3})(?:er|or)$", "", _uninflected(word)))


def _undoubled(stem: str) -> str:
    return re.sub(r"(\w)\1$", r"\1", stem)


def _styles(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    styles: dict[str, list[str]] = {}
    for tool in tools:
        style = style_of(tool.name)
        if style:
            styles.setdefault(style, []).append(tool.name)
    if len(styles) > 1:
        ranked = sorted(styles.items(), key=lambda item: -len(item[1]))
        for style, names in ranked[1:]:
            yield None, Hit(
                "RC105", f"{join_names(names)}: {style}, while {len(ranked[0][1])} others are {ranked[0][0]}",
                f"use {ranked[0][0]} for all",
            )  # fmt: skip
