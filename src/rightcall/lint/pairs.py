"""RC121, RC122: one thing under names that are made in two ways, in one tool or in two of a list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, permutations
from typing import Final

from rightcall.gate.repair.words import is_word, joined, opposed, same_meaning, singular, words_of
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.findings import Hit, Steps, join_names, quote_name, word_set
from rightcall.lint.meaning import stem
from rightcall.lint.polarity import find_doubled
from rightcall.lint.samples import shown_texts
from rightcall.lint.senses import find_forms, find_synonyms
from rightcall.lint.styles import style_of

_MOST_TOOLS = 400
"""Tools of one list that are compared each with each."""
_MOST_SIBLINGS = 80
_MOST_NAMES = 800
"""Names of arguments that are compared each with each."""
# ── the two sides of one thing, in one tool ──

_SIDES_TEXT = (
    "old/new from/to source/target source/destination src/dst src/dest start/end begin/end min/max first/last "
    "before/after left/right input/output in/out sender/receiver parent/child primary/secondary first/second"
)
_SIDES: Final = frozenset(frozenset(pair.split("/")) for pair in _SIDES_TEXT.split())
_FULL_TEXT = (
    "str=string txt=text msg=message dir=directory num=number dt=date ts=timestamp fpath=path loc=location "
    "addr=address acct=account val=value idx=index img=image doc=document desc=description ref=reference "
    "repo=repository org=organization env=environment cmd=command config=configuration cfg=configuration "
    "param=parameter arg=argument lang=language pkg=package db=database qty=quantity amt=amount attr=attribute "
    "app=application proj=project usr=user pwd=password dest=destination dst=destination src=source col=column "
    "max=maximum min=minimum coord=coordinate dept=department info=information spec=specification var=variable "
    "txn=transaction curr=currency q=query subj=subject cust=customer no=number nr=number "
    "lat=latitude lng=longitude lon=longitude freq=frequency avg=average pct=percent tz=timezone ver=version "
    "prio=priority lvl=level emp=employee mgr=manager tel=telephone cat=category prev=previous temp=temperature"
)
_FULL: Final = {pair.split("=")[0]: pair.split("=")[1] for pair in _FULL_TEXT.split()}


def check(tool: ToolView) -> Iterator[Hit]:
    groups: dict[Steps, list[Argument]] = {}
    for argument in tool.arguments:
        groups.setdefault(argument.path[:-1], []).append(argument)
        yield from find_doubled(argument)
    for group in groups.values():
        yield from _uneven(group[:_MOST_SIBLINGS])
        yield from _sideless(group[:_MOST_SIBLINGS])
        yield from _swapped(group[:_MOST_SIBLINGS])
        yield from _beside_id(group[:_MOST_SIBLINGS])


def _uneven(group: Sequence[Argument]) -> Iterator[Hit]:
    """`old_text` and `new_txt`: one word tells the sides apart, and another is short in one of them."""
    for one, other in combinations(group, 2):
        mine, theirs = words_of(one.name), words_of(other.name)
        if len(mine) != len(theirs) or len(mine) < 2 or one.kind != other.kind:
            continue
        apart = [pair for pair in zip(mine, theirs, strict=True) if pair[0] != pair[1]]
        rest = [pair for pair in apart if frozenset(pair) not in _SIDES]
        if len(apart) == 2 and len(rest) == 1 and len({_FULL.get(word, word) for word in rest[0]}) == 1:
            long = max(rest[0], key=len)
            yield Hit(
                "RC121", f"{quote_name(one.name)} beside {quote_name(other.name)}",
                f"write {quote_name(long)} in both", other.path,
            )  # fmt: skip


_STARTS: Final = word_set("begins begin starts start origin source departure departs leaves sender")
_STOPS: Final = word_set("ends end destination target arrival arrives receiver recipient")


def _sideless(group: Sequence[Argument]) -> Iterator[Hit]:
    """`station_a` and `station_b`, of which only the texts say where something begins and ends; `limit1` and `limit2`,
    of which they tell two things."""
    for one, other in combinations(group, 2):
        mine, theirs = words_of(one.name), words_of(other.name)
        if mine[:-1] != theirs[:-1] or {mine[-1], theirs[-1]} not in ({"a", "b"}, {"1", "2"}):
            continue
        told = [{*words_of(side.description)} for side in (one, other)]
        if any(told[at] & _STARTS and told[1 - at] & _STOPS and not told[at] & _STOPS for at in (0, 1)):
            yield Hit(
                "RC112", f"{quote_name(one.name)} and {quote_name(other.name)} do not say which is the beginning",
                "name the sides, such as `from` and `to`", other.path,
            )  # fmt: skip
        elif _are_two_things(mine, one.description, other.description):
            yield Hit(
                "RC112", f"{quote_name(one.name)} and {quote_name(other.name)} differ in one letter or digit alone: "
                "their texts tell two things", "name each by what its text tells", other.path,
            )  # fmt: skip


_LEAVES: Final = _STARTS | word_set("out leaves leave sends gives gave payer debited giver giving removed taken from")
_ARRIVES: Final = _STOPS | word_set("into receives gets payee credited taker lands put placed added")


def _swapped(group: Sequence[Argument]) -> Iterator[Hit]:
    """`from`, the warehouse that receives, and `to`, the one that the goods leave."""
    for first in group:
        begun = next((word for word in words_of(first.name) if word in _BEGINS), "")
        for last in group if begun else ():
            words = words_of(last.name)
            swapped = next((word for word in words if word in _ENDS), "")
            pair = [word if word != swapped else begun for word in words]
            if not swapped or (pair != [*words_of(first.name)]):
                continue
            told = [{*words_of(side.description[:200])} - {begun, swapped} for side in (first, last)]
            if (told[0] & _ARRIVES and told[1] & _LEAVES) and not (told[0] & _LEAVES or told[1] & _ARRIVES):
                yield Hit(
                    "RC208", f"{quote_name(first.name)} and {quote_name(last.name)} are told the other way round",
                    "swap the two descriptions", first.path,
                )  # fmt: skip


_LEAST_OWN = 2
_COUNTED_UP: Final = word_set(
    "first second third 1st 2nd 1 2 a b one two other another both either each additional next alternative same "
    "primary secondary main left right lower upper start end start from to"
)
_TAKEN: Final = word_set("address line street phone email mail city lat lon lng latitude longitude coord point param")
"""What has more lines of its own kind, or stands in a plane."""


def _are_two_things(name: Sequence[str], one: str, other: str) -> bool:
    """Whether each of two texts has words of its own, most of its words, and none that counts them up."""
    alone = len(name) == 1  # `a` and `b`
    if not (_TAKEN | _IDS | {"1", "2"}).isdisjoint(name[:-1]) or (len(name[0]) < _SHORT and not alone):
        return False
    one, other = (_QUOTED.sub("", text[:200]) for text in (one, other))
    if not _COUNTED_UP.isdisjoint(words_of(f"{one} {other}")):
        return False
    shared, apart = _compare_told(_CLAUSE.split(one)[0], _CLAUSE.split(other)[0])
    if apart and (not shared or (alone and apart >= shared)):
        return True
    shared, apart = _compare_told(one, other)
    return apart >= max(_LEAST_OWN, shared)


def _compare_told(one: str, other: str) -> tuple[int, int]:
    """How many telling words two texts share, and how many each has for itself, at least."""
    mine, theirs = ({stem(word) for word in words_of(text) if word not in _LITTLE | _SORTS} for text in (one, other))
    return len(mine & theirs), min(len(mine - theirs), len(theirs - mine))


_QUOTED: Final = re.compile(r'"[^"\n]*"')
_CLAUSE: Final = re.compile(r"[,.;:(\n]")
_LITTLE: Final = word_set("the a an of for in on at by with from is are be as that which its it this and to then or")
_SORTS: Final = word_set("address absolute relative full path file id name url text content value number string")
"""What two values of one kind are both told to be."""


def _beside_id(group: Sequence[Argument]) -> Iterator[Hit]:
    """`tank` and `tank_id`, both required, of one form, and told to be two of a kind: which is which is a guess."""
    by_name = {words_of(one.name): one for one in group if one.kind == "string" and one.required}
    for words, other in by_name.items():
        one = by_name.get(words[:-1])
        if one is None or words[-1] not in _IDS | _KINDS - {"name"}:
            continue
        patterns = {str(side.schema.get("pattern", "")) for side in (one, other)}
        begins = [words_of(side.description[:60])[:6] for side in (one, other)]
        of_a_kind = all(words[-2] in map(singular, told) and _NAMES_KIND.isdisjoint(told) for told in begins)
        if len(patterns) == 1 and of_a_kind and begins[0] != begins[1]:
            yield Hit(
                "RC111", f"arguments {quote_name(one.name)} and {quote_name(other.name)} look like one",
                "name the difference, or merge the two", other.path,
            )  # fmt: skip


_NAMES_KIND: Final = word_set(
    "id ids identifier number no code key name names title slug label email uuid uri url path same either text json"
)

# ── one thing, in two tools ──

_OF_FILES: Final = word_set("path filepath filename file fpath file_path file_name filePath fileName")
_TELLING, _TELLING_SHORT, _TELLING_LONG = 4, 1, 5
"""Words of a description that can be compared; fewer will do where one name is short for the other, and more are needed
where the names have nothing in common."""
_USUAL, _TELLING_ALONE = 2, 8
"""Tools that use a name from which on it is the usual one, whatever the other is; one is enough for a longer text."""
_BARE: Final = word_set("id name key code type")
_Told = tuple[tuple[str, ...], ToolView]
_Texts = dict[tuple[tuple[str, ...], str, tuple[str, ...]], dict[str, list[ToolView]]]
"""By the words of a description, its type and its form: each name, and the tools that use it."""


def check_list(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    """One thing that two tools describe in the same words and call by different names."""
    users: dict[tuple[str, str], list[_Told]] = {}
    texts: _Texts = {}
    for tool in tools[:_MOST_TOOLS]:
        for one in tool.top:
            words = tuple(map(_full, words_of(one.description[:400])))
            if len(words) >= _TELLING_SHORT and one.kind:
                users.setdefault((one.name, one.kind), []).append((words, tool))
            if len(words) >= _TELLING and one.kind:
                form = tuple(str(one.schema.get(keyword)) for keyword in ("pattern", "format", "enum"))
                texts.setdefault((words, one.kind, form), {}).setdefault(one.name, []).append(tool)
    told: set[str] = set()
    uses = Counter(one.name for tool in tools for one in tool.top)
    for tool, hit in chain(_told_in_one_way(users), _described_alike(texts, uses)):
        told.add(str(hit.path[-1]))
        yield tool, hit
    yield from _described_as(tools[:_MOST_TOOLS], told)
    yield from _left_out(tools[:_MOST_TOOLS], told)
    yield from _limits(tools[:_MOST_TOOLS], told)
    yield from _shown_alike(tools[:_MOST_TOOLS], told)
    yield from _named_whole(tools[:_MOST_TOOLS], told)
    yield from find_forms(tools[:_MOST_TOOLS])
    yield from find_synonyms(tools[:_MOST_TOOLS], told)


def _told_in_one_way(users: dict[tuple[str, str], list[_Told]]) -> Iterator[tuple[ToolView | None, Hit]]:
    styles = Counter(style_of(name) for name, _ in users if style_of(name))
    for left, right in combinations([*users][:_MOST_NAMES], 2):
        if left[1] == right[1] and _may_be_one(left[0], right[0]):
            usual, rare = sorted(
                (left, right),
                key=lambda key: (-len(users[key]), key[0] in _BARE, _is_shortened(key[0]), -styles[style_of(key[0])]),
            )
            yield from _called_otherwise(rare[0], users[rare], usual[0], users[usual])


def _is_shortened(name: str) -> bool:
    return any(word in _FULL for word in words_of(name))


def _described_alike(texts: _Texts, uses: Counter[str]) -> Iterator[tuple[ToolView | None, Hit]]:
    for (words, *_), names in texts.items():
        least = _MOST_TOOLS if len(words) < _TELLING_LONG else _USUAL if len(words) < _TELLING_ALONE else 1
        yield from _told_alike(names, least, uses)


def _has_twin(tool: ToolView, name: str) -> bool:
    """Whether another name differs in the one letter at its end: `plant_a` and `plant_b` cannot both be `plant`."""
    words = words_of(name)
    twins = (words_of(one.name) for one in tool.top if one.name != name)
    return (
        len(words) > 1
        and len(words[-1]) == 1
        and any(one[:-1] == words[:-1] and len(one[-1]) == 1 for one in twins if one)
    )


def _is_numbered(name: str) -> bool:
    """`user_id_1`: there are several in one tool."""
    return any(word.isdigit() for word in words_of(name))


def _called_otherwise(
    name: str, mine: list[_Told], usual: str, theirs: list[_Told]
) -> Iterator[tuple[ToolView | None, Hit]]:
    if {tool.number for _, tool in mine} & {tool.number for _, tool in theirs}:
        return  # one tool has both: they are two things
    if _is_numbered(name) or _is_numbered(usual):
        return
    if usual in _BARE and len(words_of(name)) > 1:
        return  # the longer name says whose it is
    for words, tool in mine:
        if _has_twin(tool, name):
            continue
        if any(one.name != name and words_of(one.name)[1:] == words_of(usual) for one in tool.top):
            continue  # `first_path` and `second_path` cannot both be `path`
        telling = len(words) >= _TELLING or _is_short_for(name, usual)
        other = next((one for others, one in theirs if telling and _say_the_same(words, others)), None)
        if other is not None:
            yield tool, _other_name(tool, name, usual, other)
            return


def _told_alike(
    names: dict[str, list[ToolView]], least: int, uses: Counter[str]
) -> Iterator[tuple[ToolView | None, Hit]]:
    """Names of one type and one long text, word for word: the one that most tools use, and the others."""
    usual, users = max(names.items(), key=lambda item: len(item[1]))
    for name, tools in names.items():
        if len(users) < least and not _on_one_side(words_of(name), words_of(usual)):
            continue
        if name == usual or usual in _BARE or _is_numbered(name) or _is_numbered(usual) or _are_two(name, usual):
            continue
        if _may_be_one(name, usual) or joined(name) == joined(usual) or _has_twin(tools[0], name):
            continue
        if uses[name] > uses[usual]:
            continue  # other tools, with other words, have it so
        if not any(one.name == name for tool in users for one in tool.top) and not any(
            one.name == usual for tool in tools for one in tool.top
        ):
            yield tools[0], _other_name(tools[0], name, usual, users[0])


_BEGINS: Final = word_set("from origin source src start departure")
_WHEN: Final = word_set("date time datetime timestamp day month year at on")
_ENDS: Final = word_set("to destination target dst dest end arrival")


def _on_one_side(mine: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    """`from_id` and `origin_stop_id`: both say where something begins, or both where it ends."""
    one, other = ([{*words} & side for side in (_BEGINS, _ENDS)] for words in (mine, theirs))
    if not _WHEN.isdisjoint((*mine, *theirs)):
        return False  # `startDate` and `fromDate` have texts that every date has
    return one != other and [*map(bool, one)] == [*map(bool, other)] and bool(one[0]) != bool(one[1])


def _are_two(name: str, usual: str) -> bool:
    """Whether names say that a text was copied to another thing: `pod_name` and `node_name`, `from_id` and `to_id`."""
    mine, theirs = words_of(name), words_of(usual)
    if _on_one_side(mine, theirs):
        return False
    sided = any(one in pair for pair in _SIDES for one in {*mine} ^ {*theirs})
    same_head = len(mine) > 1 and len(theirs) > 1 and mine[-1] == theirs[-1]
    number = [*map(singular, mine)] == [*map(singular, theirs)]
    shorter, longer = sorted((mine, theirs), key=len)
    if longer[-len(shorter) :] == shorter or {*mine} ^ {*theirs} <= _IDS:
        return True
    return opposed(name, usual) or sided or same_head or number or not _DOES.isdisjoint({*mine} ^ {*theirs})


_PAGERS: Final = word_set("cursor offset page pagetoken pagenum pagenumber after before start skip")
_COUNTED: Final = word_set("limit size pagesize perpage count max maxresults first top take rows num results")


def _other_name(tool: ToolView, name: str, usual: str, other: ToolView, *, sure: bool = False) -> Hit:
    pagers = [{joined(argument.name) for argument in one.top} & _PAGERS for one in (tool, other)]
    pages = {joined(name), joined(usual)} <= _COUNTED and pagers[0] != pagers[1]  # `limit` goes with a cursor
    shorter, longer = sorted((words_of(name), words_of(usual)), key=len)
    ends = longer != shorter and longer[-len(shorter) :] == shorter
    says_more = ends and shorter != ("id",) and longer[0] not in _OF_FILES  # `from_path` and `path`
    certain = sure or (not pages and not says_more)
    return Hit(
        "RC122", f"{quote_name(name)} here is {quote_name(usual)} in {quote_name(other.name)}",
        f"call it {quote_name(usual)} here too", (*tool.schema_path, "properties", name), certain=certain,
    )  # fmt: skip


def _described_as(tools: Sequence[ToolView], told: set[str]) -> Iterator[tuple[ToolView | None, Hit]]:
    """`cust_no`, described as `ID of the customer`, where other tools have a `customer_id`; or any short name of
    which the text says that it is that `customer_id`."""
    known: dict[tuple[frozenset[str], str], list[tuple[str, ToolView]]] = {}
    for tool in tools:
        for one in tool.top:
            if len(words_of(one.name)) > 1:
                known.setdefault((frozenset(words_of(one.name)), one.kind), []).append((one.name, tool))
    for tool in tools:
        own = {one.name for one in tool.top}
        for one in tool.top:
            head = re.split(r"[,.;:(\n]| (?:as|that|which|to|in|from|with|whose|such)\b", one.description[:80])[0]
            words = frozenset("id" if word == "identifier" else word for word in words_of(head)) - _SMALL
            mine = frozenset(words_of(one.name))
            found = known.get((words, one.kind), [])
            others = [(name, other) for name, other in found if other is not tool]
            if not others or not mine or one.name in told or {name for name, _ in found} & own or mine & words - _KINDS:
                continue
            name, other = others[0]
            if _is_of_another(tool, mine - {"id"}, words - {"id"}) and {"id"} < mine and {"id"} < words:
                told.add(one.name)
                if any(each.description == one.description for _, its in others for each in its.top):
                    continue  # told as a copy
                why = f"{quote_name(one.name)} has the text of a {quote_name(name)}"
                yield tool, Hit("RC208", why, "correct the text", one.path)
                continue
            named = not any(map(is_word, mine - _KINDS)) and re.search(rf"\bthe {re.escape(name)}\b", one.description)
            same = named or _mean_the_same(mine, words)
            if words_of(one.name)[-1] in _KINDS and same and not _are_two(one.name, name):
                told.add(one.name)
                yield tool, _other_name(tool, one.name, name, other)


def _is_of_another(tool: ToolView, own: frozenset[str], told: frozenset[str]) -> bool:
    """Whether a tool is named for what an ID is called, and not for what the text says it is of."""
    named = {*map(singular, words_of(tool.name))}
    return len(own) == 1 and own <= named and told.isdisjoint(named) and not _mean_the_same(own, told)


_TOLD_OTHERWISE: Final = word_set("name names title url email object json text label path login handle slug either or")


def _left_out(tools: Sequence[ToolView], told: set[str]) -> Iterator[tuple[ToolView | None, Hit]]:
    """`issue` or `iid`, a number, where two other tools take an `issue_number` or `issue_id`; or `file_no`, `The
    patient whose file to open`, where they take a `patient_id`."""
    uses: dict[tuple[str, str], list[ToolView]] = {}
    for tool in tools:
        for one in tool.top:
            words = words_of(one.name)
            if len(words) == _USUAL and words[1] in _NUMBERS:
                uses.setdefault((one.name, one.kind), []).append(tool)
    shorts: dict[tuple[str, str], list[str]] = {}
    for name, kind in uses:
        word, number = words_of(name)
        initials = word[0] + number[0]
        for short in {word, word[0] + number, *(() if is_word(initials) else (initials,))}:
            shorts.setdefault((short, kind), []).append(name)
    for tool in tools if uses else ():
        own = {one.name for one in tool.top}
        for one in tool.top:
            names = [name for name in shorts.get((one.name.lower(), one.kind), ()) if name != one.name]
            names = names or _of_owner(one, uses)
            same = [] if names else _of_pattern(one, uses) or _of_noun(one, uses)
            names = names or same
            if not names or one.name in told or not own.isdisjoint(names) or (not same and _is_other(one)):
                continue
            if len(names) == 1 and len(uses[names[0], one.kind]) >= _USUAL:
                told.add(one.name)
                yield tool, _other_name(tool, one.name, names[0], uses[names[0], one.kind][0])
            elif len(names) > 1:
                told.add(one.name)
                text = f"{quote_name(one.name)} may be short for {join_names(names)}, which other tools take"
                yield tool, Hit("RC113", text, "write it out", one.path)


_WHOSE: Final = re.compile(r"\W*(?:the |an? )?([a-z]+) whose ([a-z]+)\b", re.IGNORECASE)


def _of_owner(one: Argument, uses: dict[tuple[str, str], list[ToolView]]) -> list[str]:
    """The one name that other tools have for what the text says that the value is, and the name does not."""
    whose, words = _WHOSE.match(one.description), words_of(one.name)
    if whose is None or len(words) < 2 or words[0] != whose[2].lower() or words[-1] not in _NUMBERS | _REFERS:
        return []
    names = [name for name, kind in uses if kind == one.kind and words_of(name)[0] == whose[1].lower()]
    return names if len(names) == 1 else []


def _of_pattern(one: Argument, uses: dict[tuple[str, str], list[ToolView]]) -> list[str]:
    """The one name that other tools have for values of the pattern of a bare `id`."""
    pattern = one.schema.get("pattern")
    if one.name.lower() not in _NUMBERS or not isinstance(pattern, str) or len(pattern) < _SPECIFIC_PATTERN:
        return []
    names = [
        name for (name, _), tools in uses.items()
        if any(other.name == name and other.schema.get("pattern") == pattern for tool in tools for other in tool.top)
    ]  # fmt: skip
    return names if len(names) == 1 else []


def _of_noun(one: Argument, uses: dict[tuple[str, str], list[ToolView]]) -> list[str]:
    """The one name that other tools have for the number of what the text begins with, where it never says what the name
    does: `group_id`, `The class that has the lesson`."""
    (*mine, number), told = words_of(one.name) or ("",), {*map(singular, words_of(one.description))}
    if number not in _NUMBERS | _REFERS or not mine or not told.isdisjoint(map(singular, mine)):
        return []
    names = [
        name for (name, kind), tools in uses.items()
        if kind == one.kind and len(tools) >= _USUAL and (noun := words_of(name)[0]) in told and noun not in mine
        and not any(_is_role(word, noun) for word in mine) and _leads(noun, one)
        and any(other.name == name and _one_form(one, other) for tool in tools for other in tool.top)
    ]  # fmt: skip
    return names if len(names) == 1 else []


def _is_role(word: str, noun: str) -> bool:
    """Whether a word may say which one of several is meant, not what it is: the `owner` of a project is a user."""
    if word in _ROLES:
        return True
    acts = noun in _PEOPLE or word.endswith(("er", "or", "ee"))
    return acts and not _are_twins(word, noun)


def _leads(noun: str, side: Argument) -> bool:
    leads = re.compile(_LEADS.format(re.escape(noun)), re.IGNORECASE)
    return leads.match(side.description[:120]) is not None


_SPECIFIC_PATTERN = 8
"""Letters of a pattern that says which kind of number it is: `^AB-[0-9]+$`."""


_COUNTS: Final = re.compile(
    r"\W*(?:the )?(?:max(?:imum)?\b|number of\b|how many\b|most\b|at most\b|up to\b)", re.IGNORECASE
)
_BARE_COUNTS: Final = word_set("n k x m num max cnt count amount")


def _limits(tools: Sequence[ToolView], told: set[str]) -> Iterator[tuple[ToolView | None, Hit]]:
    """`n`, how many rows come back, where two other tools say `limit`."""
    users = [tool for tool in tools if any(one.name == "limit" and one.kind == "integer" for one in tool.top)]
    for tool in tools if len(users) >= _USUAL else ():
        bare = next((one for one in tool.top if one.name in _BARE_COUNTS and one.kind == "integer"), None)
        if tool not in users and bare is not None and bare.name not in told and _COUNTS.match(bare.description):
            told.add(bare.name)
            yield tool, _other_name(tool, bare.name, "limit", users[0])


def _shown_alike(tools: Sequence[ToolView], told: set[str]) -> Iterator[tuple[ToolView | None, Hit]]:
    """`parcel_no`, `The crate to weigh, e.g. CR-2041`, where two other tools show the same value for a `crate_id`; or
    `since_dt`, `Opening day`, where they have a `start_date`, `Opening day to list`."""
    shown: dict[tuple[str, str], dict[str, list[tuple[Argument, ToolView]]]] = {}
    for tool in tools:
        for one in tool.top:
            for value in {*shown_texts(one, one.description[:400])} if one.kind in ("string", "integer") else ():
                if len(value) >= _SPECIFIC and any(map(str.isdigit, value)):
                    shown.setdefault((one.kind, value), {}).setdefault(one.name, []).append((one, tool))
    for names in shown.values():
        for name, usual in permutations([*names][:_MOST_SIBLINGS], 2):
            few, many = names[name], names[usual]
            if name in told or joined(name) == joined(usual) or len(many) < _USUAL * len(few):
                continue
            (mine, tool), (theirs, other) = few[0], many[0]
            if any(one.name == usual for _, side in few for one in side.top):
                continue  # one tool has both: they are two things
            if _one_form(mine, theirs) and (_one_span(mine, theirs) or _one_noun(mine, theirs)):
                told.add(name)
                yield tool, _other_name(tool, name, usual, other)


_SPECIFIC = 4
"""Characters of a value that is no example of many things."""


def _named_whole(tools: Sequence[ToolView], told: set[str]) -> Iterator[tuple[ToolView | None, Hit]]:
    """`version_id`, without a text, of `get_model_version`, where another tool has a `model_version_id`."""
    whole: dict[tuple[tuple[str, ...], str], tuple[Argument, ToolView]] = {}
    for tool in tools:
        for one in tool.top:
            words = words_of(one.name)
            if len(words) > _USUAL and words[-1] in _IDS:
                whole.setdefault((words[1:], one.kind), (one, tool))
    for tool in tools if whole else ():
        for one in tool.top:
            longer, other = whole.get((words_of(one.name), one.kind), (None, tool))
            if longer is None or one.description or one.name in told or tool is other:
                continue
            object_of = words_of(longer.name)[:-1]
            both = any({one.name, longer.name} <= {side.name for side in each.top} for each in tools)
            if words_of(tool.name)[-len(object_of) :] == object_of and not both:
                told.add(one.name)
                yield tool, _other_name(tool, one.name, longer.name, other, sure=True)


def _one_form(one: Argument, other: Argument) -> bool:
    forms = ("pattern", "format", "enum")
    mine, theirs = ({key: side.schema[key] for key in forms if key in side.schema} for side in (one, other))
    return mine == theirs or not mine or not theirs


_DAYS: Final = word_set("date day dt datetime time ts timestamp on at")
_FIRST: Final = word_set("start from since begin first after")
_LAST: Final = word_set("end to until till thru through last before")


def _one_span(one: Argument, other: Argument) -> bool:
    """Whether both names say that a span begins, or that it ends, and the one text says no more than the other."""
    mine, theirs = ({*words_of(side.name)} - _DAYS for side in (one, other))
    sides = (_FIRST, _LAST)
    if not any(mine and theirs and mine <= side and theirs <= side for side in sides):
        return False
    less, more = ([word for word in words_of(_head(side)) if word not in _SMALL] for side in (one, other))
    return len(less) > 1 and more[: len(less)] == less


def _head(argument: Argument) -> str:
    return re.split(r"[,.;:(\n]", argument.description[:120])[0]


_PEOPLE: Final = word_set("user person employee member customer client contact guest patient agent account staff team")
"""Who has roles that other names tell: `owner_id`."""
_ROLES: Final = frozenset(chain.from_iterable(_SIDES)) | word_set(
    "original origin previous next other linked related replacement replaced duplicate base main root dependency "
    "blocker blocking depends epic thread merged alternative backup copy clone current default final reply "
    "return departure arrival"
)
_LEADS = (
    r"\W*(?:(?:the|an?|one|existing|unique) ){{0,3}}(?:(?:id|identifier|number|code|key|reference) (?:of|for) "
    r"(?:the |an? )?)?{0}s?(?: (?:id|identifier|number|code|key|reference))?"
    r"(?=\s*(?:[,.;:(]|$)| (?:to|the|this|that|which|whose|of|in|on|for|by|as|from|with|an?|it|is|you)\b)"
)


def _one_noun(one: Argument, other: Argument) -> bool:
    """Whether both texts begin with the noun of the usual name, and the other name is a noun, too, or another kind of
    number of it."""
    (*mine, number), (*theirs, kind) = words_of(one.name) or ("",), words_of(other.name) or ("",)
    if number not in _NUMBERS | _REFERS or kind not in _NUMBERS | _REFERS or len(mine) != 1 or len(theirs) != 1:
        return False
    noun = theirs[0]
    if mine[0] != noun and (mine[0] in _ROLES or (noun in _PEOPLE and not _are_twins(mine[0], noun))):
        return False
    return all(_leads(noun, side) for side in (one, other))


_REFERS: Final = word_set("ref reference num nr identifier")
_NUMBERS: Final = word_set("id number no key code uuid")


def _is_other(argument: Argument) -> bool:
    """Whether no text says that the number of the other tools is meant."""
    words = words_of(argument.description)
    if argument.kind == "integer":
        return argument.name.lower() in _COUNTED_ITSELF and _IDS.isdisjoint(words)
    untold = (_NUMBERS - {"no"}).isdisjoint(words) if is_word(argument.name.lower()) else not words
    return untold or not _TOLD_OTHERWISE.isdisjoint(words)


_COUNTED_ITSELF: Final = word_set(
    "version revision status state priority severity level year month week day page position rank step stage grade "
    "line port score rating size order round chapter"
)
"""What has numbers that are no IDs: `Version to read`, beside a `version_id`."""


def _mean_the_same(mine: frozenset[str], theirs: frozenset[str]) -> bool:
    """Each word of the one that is no kind of value has one in the other that means the same."""
    left, right = ({_FULL.get(word, word) for word in words - _KINDS} for words in (mine, theirs))
    return bool(left) and all(any(one == other or _are_twins(one, other) for other in right) for one in left)


def _are_twins(one: str, other: str) -> bool:
    return same_meaning(one, other) or any({one, other} <= group for group in _TWINS)


_TWINS_TEXT = (
    "customer client|supplier vendor|employee staff worker personnel|car vehicle|patron borrower|lawyer attorney"
)
_TWINS: Final = [word_set(line) for line in _TWINS_TEXT.split("|")]
_IDS: Final = word_set("id uid uuid guid gid")
_SMALL: Final = word_set("the a an of for this unique new existing given")
_KINDS: Final = word_set("id ids number no code key name")


_OF_KIND: Final = word_set(
    "path id name file folder directory date time day text url code key number address email type"
)
"""Last words that say no more than the kind of a value: `source_path`, where another tool has a `src`."""
_DOES: Final = word_set("add remove set unset include exclude delete new old")
"""`add_labels` says what is done with the labels."""


def _may_be_one(left: str, right: str) -> bool:
    """Names of files, one short for the other, or the same words with one more before them: `id` and `user_id`."""
    if joined(left) == joined(right):
        return False
    if _is_short_for(left, right):
        return True
    mine, theirs = words_of(left), words_of(right)
    if (*mine, "id") == theirs or (*theirs, "id") == mine:
        return True
    if {left, right} <= _OF_FILES:
        return True
    longer, shorter = (mine, theirs) if len(mine) > len(theirs) else (theirs, mine)
    if len(longer) != len(shorter) + 1:
        return False
    whole, part = [*map(_full, longer)], [*map(_full, shorter)]
    return (longer[1:] == shorter and longer[0] not in _DOES) or (whole[:-1] == part and whole[-1] in _OF_KIND)


def _is_short_for(left: str, right: str) -> bool:
    """The same words, of which one is short in one of them: `repo_name` and `repository_name`."""
    mine, theirs = words_of(left), words_of(right)
    if len(mine) == len(theirs) > 1 and all(map(_begins, mine, theirs)):
        return mine != theirs  # `resId` and `reservation_id`
    return [*map(_full, mine)] == [*map(_full, theirs)]


def _begins(one: str, other: str) -> bool:
    """Whether one word is the other, or its beginning."""
    short, long = sorted((one, other), key=len)
    return short == long or (len(short) >= _SHORT and len(long) >= 2 * _SHORT and long.startswith(short))


_SHORT = 3


def _full(word: str) -> str:
    """A word written out: `dirs` as `directories`, roughly."""
    one = singular(word)
    return _FULL.get(word) or (f"{_FULL[one]} s" if one in _FULL else f"{one} s" if one != word else word)


def _say_the_same(words: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """The same words, but for one verb: `File to read, below the root` and `File to write, below the root`."""
    if words == others or (len(words) > _TELLING_LONG and sorted(words) == sorted(others)):
        return True
    apart = [at for at, pair in enumerate(zip(words, others, strict=False)) if pair[0] != pair[1]]
    alike = len(words) == len(others) >= _TELLING + 2 and len(apart) == 1
    return alike and words[apart[0] - 1 : apart[0]] == ("to",)
