"""RC101, RC104, RC105: tools of one list that are taken for each other, by their names or by what they take and say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from rightcall.base.letters import skeleton
from rightcall.gate.repair.words import joined, opposed, singular, words_of
from rightcall.lint.definitions import ToolView
from rightcall.lint.evident import MOST_TEXT
from rightcall.lint.findings import Hit, join_names, quote_name, word_set
from rightcall.lint.likeness import OF_SPELLING, SHORT, one_letter_apart, spelt
from rightcall.lint.meaning import (
    NEAR_VERB,
    OF_STATE,
    QUANTITY,
    SAME_THING,
    find_alike,
    first_sentence,
    is_one_noun,
    nearness,
)
from rightcall.lint.styles import find_mixed, find_spellings, style_of

_VERBS = (
    "get fetch retrieve obtain|delete remove erase destroy|create add make|update modify edit|find search lookup|"
    "send submit|run execute exec|show display view|start launch begin|stop halt terminate|join connect|"
    "check verify validate"
)
_SAME_VERB: Final = [word_set(line) for line in _VERBS.split("|")]
_SAYS_LITTLE: Final = word_set("all the a an of for every any")
_LATER: Final = word_set(
    "new old legacy alt alternative copy final tmp temp beta alpha next latest improved better fixed ex v"
)
_SAYS_NO_MORE: Final = word_set("new old legacy alt alternative improved better fixed ex v")
"""Versions of which nobody knows what they change; `latest` or `copy` may say it."""
_BEFORE: Final = word_set("new old legacy")
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
    told = {(one.number, other.number) for one, other in find_alike(named)}
    for one, other in combinations(named, 2):
        why = resemblance(one.name, other.name) or _overlap(one, other)
        if why is None and (one.number, other.number) in told:
            why = _OF_TEXTS
        if why is not None and not (why not in _OF_STYLE and _tells_apart(one, other, why)):
            certain = why in (*_OF_STYLE, _OF_NUMBER, _OF_LENGTH) or _take_alike(one, other, why)
            found.setdefault((why, certain), []).append((one, other))
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
_OF_LENGTH: Final = "differ only in a word that one writes out"
_OF_VERSION: Final = "differ only in a version or a word such as `new`"
_OF_LITTLE: Final = "differ only in a word that says little"


_OF_STYLE: Final = ("differ only in style", "look the same", "have the same words in another order")
_FATAL: Final = word_set("delete remove erase destroy drop purge wipe cancel archive")


def _take_alike(one: ToolView, other: ToolView, why: str) -> bool:
    """Whether two tools need the same arguments, so that nothing but the name tells which is meant."""
    needed = [{joined(argument.name) for argument in tool.top if argument.required} for tool in (one, other)]
    mine, theirs = (
        needed if any(needed) else [{joined(argument.name) for argument in tool.top} for tool in (one, other)]
    )
    if why == _OF_VERSION and all(
        word in _SAYS_NO_MORE or len(word) == 1 for word in {*words_of(one.name)} ^ {*words_of(other.name)}
    ):
        return True
    if why == _OF_LITTLE and not QUANTITY.isdisjoint({*words_of(one.name)} ^ {*words_of(other.name)}):
        return mine == theirs  # `delete_all_orders` takes no ID
    ends = words_of(one.name)[-1], words_of(other.name)[-1]
    if why in _OF_MEANING and ends[0] != ends[1] and singular(ends[0]) == singular(ends[1]) and mine.isdisjoint(theirs):
        return False  # `lookup_member`, by its number, and `search_members`
    alike = len(mine) == len(theirs) if why in _OF_MEANING else mine == theirs
    return alike or why == _OF_TEXTS or not _FATAL.isdisjoint(words_of(one.name))


_OF_TEXTS: Final = "do nearly the same by their texts"
_OF_MEANING: Final = ("mean the same", "do nearly the same", "do the same by their descriptions", _OF_TEXTS)


_CLAUSE: Final = re.compile(r"[.;](?:\s|$)")
_UNLIKE: Final = re.compile(
    r"\b(?:without|only|but not|not just|rather than|instead of|unlike)\b|\(not? ", re.IGNORECASE
)


def _tells_apart(one: ToolView, other: ToolView, why: str) -> bool:
    """Whether the description of one says when to take the other: `For a few words use edit_poem instead`."""
    texts = ((one.description, other.name), (other.description, one.name))
    if why == _OF_VERSION and any(
        _tells_version(tool, other_tool) for tool, other_tool in ((one, other), (other, one))
    ):
        return True
    return any(
        (why in _OF_MEANING and _UNLIKE.search(_CLAUSE.split(text, maxsplit=1)[0]))
        or (name in text and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None)
        for text, name in texts
    )


def _tells_version(tool: ToolView, other: ToolView) -> bool:
    """Whether a text says which of two versions to take, or has the word that only its name has: `Marks it as old`."""
    told = {*words_of(tool.description[:MOST_TEXT])}
    own = {word for word in words_of(tool.name) if word in _LATER and len(word) > 1} - {*words_of(other.name)}
    return not told.isdisjoint(_VERSIONS | own)


_VERSIONS: Final = word_set(
    "deprecated obsolete outdated legacy superseded supersedes replaced replaces successor predecessor instead prefer "
    "preferred recommended former previous older newer version"
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
    numbered = {mine[-2:-1], theirs[-2:-1]} == {("v",)} and mine[:-2] == theirs[:-2]  # `send_sms_v1`, `send_sms_v2`
    if numbered or opposed(one, other):
        return _OF_VERSION if numbered else None
    if len(mine) == len(theirs) == 1 and singular(mine[0]) == singular(theirs[0]):
        return _OF_NUMBER
    turned = sorted(map(singular, mine)) == sorted(map(singular, theirs)) and mine[0] != theirs[0]
    if turned or sorted(mine) == sorted(theirs):
        return None if _TURNED & {*mine} else "have the same words in another order"
    if tuple(map(singular, mine)) == tuple(map(singular, theirs)):
        return _OF_NUMBER
    for without, why in ((_telling_words, _OF_LITTLE), (_without_version, _OF_VERSION)):
        if without(mine) == without(theirs):
            return why
    if [*map(_long, mine)] == [*map(_long, theirs)]:
        return _OF_LENGTH
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
    kept = words[1:] if words[0] in _BEFORE else words
    while len(kept) > 1 and (kept[-1] in _LATER or kept[-1].isdigit()):
        kept = kept[:-1]
    return kept


def _same_act(mine: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    """The same object, and verbs that mean the same."""
    if len(mine) != len(theirs) or len(mine) < 2:
        return False
    pairs = [(one, other) for one, other in zip(mine, theirs, strict=True) if singular(one) != singular(other)]
    if pairs == [(mine[-1], theirs[-1])] and mine[0] != singular(mine[0]):
        return False  # `pods_run`, `pods_exec`: what is done comes last, with words of the trade
    return len(pairs) == 1 and any(set(pairs[0]) <= group for group in (*_SAME_VERB, *SAME_THING))


def _overlap(one: ToolView, other: ToolView) -> str | None:
    """Why two tools are taken for each other whose names differ by one word alone."""
    mine, theirs = words_of(one.name), words_of(other.name)
    if opposed(one.name, other.name) or len(mine) != len(theirs) or len(mine) < 2:
        return None
    apart = [(left, right) for left, right in zip(mine, theirs, strict=True) if singular(left) != singular(right)]
    if len(apart) != 1:
        return None
    near = any({*apart[0]} <= group for group in NEAR_VERB)
    if not _take_the_same(one, other):
        return _OF_TEXTS if near and mine[0] == apart[0][0] and _do_the_same(one, other) else None
    takes = [{(side.name, side.kind, side.required and side.description) for side in tool.top} for tool in (one, other)]
    if mine[0] != apart[0][0] and takes[0] == takes[1] and is_one_noun(*apart[0]):
        near = near or nearness(first_sentence(one), first_sentence(other)) >= _ONE_DEED
        return "do nearly the same" if near else None
    near = near or ({*apart[0]} <= _SHOWS | {"check"} and mine[-1] in OF_STATE and "check" in apart[0])
    listed = {*apart[0]} == {"get", "list"} and mine[1:] == theirs[1:] and singular(mine[-1]) != mine[-1]
    shown = {*apart[0]} <= _FACTS or {*apart[0]} <= _SHOWS
    if mine[-1] == apart[0][0]:
        near = near and _do_the_same(one, other)  # `pods_run`: what is done comes last
        return "do nearly the same" if listed or shown or near else None
    return "do nearly the same" if listed or near else None


_ONE_DEED = 0.4
_FACTS: Final = word_set("info information details detail data profile")
_SHOWS: Final = word_set("get read show view fetch")


def _take_the_same(one: ToolView, other: ToolView) -> bool:
    """Whether half of the arguments are the same, two at least or all, and as many must be given."""
    mine, theirs = ({joined(argument.name) for argument in tool.top} for tool in (one, other))
    needed = [sum(argument.required for argument in tool.top) for tool in (one, other)]
    shared = mine & theirs
    return needed[0] == needed[1] and (
        mine == theirs != set() or (len(shared) > 1 and 2 * len(shared) >= len(mine | theirs))
    )


def _do_the_same(one: ToolView, other: ToolView) -> bool:
    """Whether two that need the same first argument have first sentences that are near each other."""
    needed = [next((side.name for side in tool.top if side.required), "") for tool in (one, other)]
    return needed[0] == needed[1] != "" and nearness(first_sentence(one), first_sentence(other)) >= _NEAR


_NEAR = 0.6


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
