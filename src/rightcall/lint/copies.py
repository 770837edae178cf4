"""RC203, RC210: descriptions of tools that were copied from each other, or swapped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rightcall.gate.repair.words import singular, words_of
from rightcall.lint.definitions import ToolView
from rightcall.lint.evident import MOST_TEXT
from rightcall.lint.findings import Hit, quote_name, word_set
from rightcall.lint.meaning import same_act, stem
from rightcall.lint.wording import ACT_OF, TURNS, act_stem, alike, is_undone, telling


def check_list(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    yield from _same_description(tools)
    yield from _other_tool(tools)
    yield from _other_verb(tools)
    yield from _copied_tool(tools)
    yield from _begun_alike(tools)
    yield from _copied_arguments(tools)


def _same_description(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    seen: dict[str, ToolView] = {}
    for tool in tools:
        text = " ".join(tool.description.split()).lower()
        first = seen.setdefault(text, tool)
        if first is not tool and len(text) > 10 and first.name != tool.name and not text.startswith("deprecated"):
            yield (
                tool,
                Hit(
                    "RC203",
                    f"the same description as {quote_name(first.name)}",
                    "describe the difference",
                    tool.at("description"),
                ),
            )


def _other_tool(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    """A description that names the object of another tool with the same verb, and never its own. `search_all` that
    says it searches films is right, so the object must be that of the arguments too, or the two texts were swapped."""
    by_verb: dict[str, list[ToolView]] = {}
    for tool in tools:
        words = words_of(tool.name)
        if len(words) == 2:
            by_verb.setdefault(words[0], []).append(tool)
    for verb, family in by_verb.items():
        told = {tool.name: other for tool in family for other in [_described(tool, verb, family)] if other is not None}
        for tool in family:
            other = told.get(tool.name)
            if other is None or not (_takes_own(tool) or told.get(other.name) is tool):
                continue
            yield tool, _told_of_other(tool, other)


def _other_verb(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    """`discharge_patient`, whose text begins with `Admits`, beside `admit_patient`, whose text does, too."""
    by_object: dict[frozenset[str], list[ToolView]] = {}
    for tool in tools:
        words = words_of(tool.name)
        if len(words) > 1 and words_of(tool.description[:100]):
            by_object.setdefault(frozenset(map(stem, words[1:])), []).append(tool)
    for family in by_object.values():
        verbs = {stem(words_of(tool.name)[0]): tool for tool in family}
        for tool in family if len(family) > 1 else ():
            own, told = words_of(tool.name)[0], words_of(tool.description[:400])
            other = verbs.get(stem(told[0]))
            if other is None or other.description == tool.description:
                continue  # a copy is a finding of its own
            if stem(words_of(other.description)[0]) != stem(told[0]):
                continue
            verb = words_of(other.name)[0]
            if verb not in _ANY_ACT and not any(alike(word, own) for word in told) and not same_act(own, (verb,)):
                yield tool, _told_of_other(tool, other)


_ANY_ACT: Final = word_set(
    "update set change modify edit add create make send post put get return run use perform show"
)
"""What another verb may be a special case of: to close an issue updates it."""


_UNDOES: Final = word_set("delete end")


def _begun_alike(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    """`cancel_hold`, whose text begins as that of `place_hold` does, word by word, and never says that it cancels."""
    by_start: dict[tuple[tuple[str, ...], tuple[str, ...]], list[ToolView]] = {}
    for tool in tools:
        told = words_of(tool.description[:400])
        if len(told) > _SAME_START:
            by_start.setdefault((told[:_SAME_START], words_of(tool.name)[1:]), []).append(tool)
    for family in by_start.values():
        for tool in family if len(family) == 2 else ():
            other = family[family[0] is tool]
            verb, made = words_of(tool.name)[0], words_of(other.name)[0]
            acts = {ACT_OF.get(act_stem(word)) for word in words_of(tool.description[:MOST_TEXT])}
            undoes = ACT_OF.get(verb) in _UNDOES or frozenset((verb, made)) in TURNS or is_undone(verb, made)
            named = ACT_OF.get(verb) in acts or any(alike(word, verb) for word in telling(tool.description))
            if undoes and not named and ACT_OF.get(made) not in _UNDOES and tool.description != other.description:
                yield tool, _told_of_other(tool, other)


def _copied_arguments(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    """`invoice_id` with the text of the `customer_id` of another tool."""
    owners: dict[str, set[str]] = {}
    for tool in tools:
        for one in tool.top:
            words = words_of(one.name)
            if len(words) > 1 and words[-1] in _IDS and one.description:
                owners.setdefault(one.description, set()).add(singular(words[-2]))
    for tool in tools:
        named = {*telling(f"{tool.name} {tool.description[:400]}")}
        for one in tool.top:
            words = words_of(one.name)
            if one.description not in owners or len(words) != 2 or words[-1] not in _IDS:
                continue
            told, own = telling(one.description), singular(words[0])
            others = [word for word in owners[one.description] - {own} if word in told and word not in named]
            if others and own in named and not any(alike(word, own) for word in told):
                said = f"{quote_name(one.name)} has the text of a {quote_name('_'.join((others[0], words[-1])))}"
                yield tool, Hit("RC208", said, "write the text of this argument", one.path)


_IDS: Final = word_set("id uuid key slug number no code ref")


_SAME_START = 8
"""Words that two texts begin with alike."""


def _told_of_other(tool: ToolView, other: ToolView) -> Hit:
    told = f"the description is about {quote_name(other.name)}"
    return Hit("RC210", told, "write the description of this tool", tool.at("description"))


def _described(tool: ToolView, verb: str, family: Sequence[ToolView]) -> ToolView | None:
    """The other tool of a family whose object a description tells of, alone and instead of its own."""
    own, text = singular(words_of(tool.name)[1]), tool.description[:400]
    sentence = re.split(r"\.\s|\n\s*\n", text)[0]
    if any(alike(word, own) for word in telling(text)) or not any(word.startswith(verb) for word in words_of(sentence)):
        return None
    begins = telling(re.sub(r"\b[A-Za-z]+\d\w*", " ", sentence))[:6]  # `Frame0` is no frame
    objects = {singular(words_of(one.name)[1]): one for one in family if one is not tool}
    named = [word for word in begins if word in objects and len(word) > 3 and word not in ACT_OF]
    return objects[named[0]] if len(named) == 1 else None


_MOST_TOOLS = 400
"""Tools of one list whose texts are compared each with each."""
_LEAST_COPIED = 5
"""Words that two texts must share."""


def _copied_tool(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    """A description that has no word of its own name and arguments, and most words of another's that has: it was copied
    and only changed a little. What takes the same arguments may be the same by another name."""
    told = [(tool, {*telling(tool.description[:400])}, _object_of(tool)) for tool in tools[:_MOST_TOOLS]]
    for tool, words, named in told:
        takes = {one.name for one in tool.top}
        own = {word for name in takes for word in telling(name)}
        if len(words) < _LEAST_COPIED or not named or words & own or _names(words, named):
            continue
        for other, theirs, objects in told:
            near = 4 * len(words & theirs) > 3 * max(len(words), len(theirs)) and words != theirs
            if near and takes != {one.name for one in other.top} and _names(words & theirs, objects):
                yield tool, _told_of_other(tool, other)
                break


def _object_of(tool: ToolView) -> set[str]:
    """The words of a name but for its verb."""
    return {*telling(tool.name)} - ACT_OF.keys()


def _names(words: set[str], objects: set[str]) -> bool:
    return any(alike(word, name) or word[:_STEM] == name[:_STEM] for word in words for name in objects)


_STEM = 4


def _takes_own(tool: ToolView) -> bool:
    """Whether an argument is called by the object of the tool: `order_id` of `cancel_order`."""
    own = singular(words_of(tool.name)[1])
    return any(own in map(singular, words_of(one.name)) for one in tool.top)
