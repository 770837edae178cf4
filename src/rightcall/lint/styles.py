"""RC114, RC120: names of arguments in two styles, in one tool or in two of a list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from rightcall.gate.repair.words import joined, words_of
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.findings import Hit, join_names, quote_name

KEY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""A name that all providers take for an argument."""
_CAMEL: Final = re.compile(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+")
_SNAKE: Final = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)+")


_OPERATOR: Final = re.compile(
    r"(?<=[a-zA-Z])_(?:in|not|not_in|eq|ne|gte?|lte?|greater|lesser|like|i?contains|i?exact|starts_?with|ends_?with|"
    r"between)$"
)
"""`startDate_greater`: an operator behind the name of a field. `check_in` is a name, where no other has one."""


def _in_style(tool: ToolView, style: re.Pattern[str]) -> list[Argument]:
    fields = {one.name: _OPERATOR.sub("", one.name) for one in tool.top}
    filters = any(_CAMEL.fullmatch(field) and field != name for name, field in fields.items())
    return [one for one in tool.top if style.fullmatch(fields[one.name] if filters else one.name)]


_SEVERAL = 3
"""Tools from which on a name, or a mix of styles, is that of the service behind: what it fixes, nobody renames here."""


def find_mixed(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView, Hit, list[Argument]]]:
    """`userId` beside `user_name` in one tool, with the arguments to rename: into the style of the whole list, where it
    has one."""
    camels = sum(len(_in_style(tool, _CAMEL)) for tool in tools)
    snakes = sum(len(_in_style(tool, _SNAKE)) for tool in tools)
    uses = Counter(one.name for tool in tools for one in tool.top)
    mixed = sum(bool(_in_style(tool, _CAMEL) and _in_style(tool, _SNAKE)) for tool in tools)
    for tool in tools:
        camel, snake = _in_style(tool, _CAMEL), _in_style(tool, _SNAKE)
        if camel and snake:
            wins = camels > snakes if camels != snakes else len(camel) > len(snake)
            few, many = (snake, camel) if wins else (camel, snake)
            own = {one.name for one in tool.top}
            few = [one for one in few if _styled(one.name, wins) not in own]  # else RC111 tells of both
            if not few:
                continue
            names = f"{join_names(one.name for one in few)} beside {join_names(one.name for one in many)}"
            style = "camelCase" if wins else "snake_case"
            remedy = f"write all arguments in {style}: {join_names(_styled(one.name, wins) for one in few)}"
            others = all(uses[_styled(one.name, wins)] >= _SEVERAL for one in few)  # then no service behind fixes it
            usual = (mixed >= _SEVERAL and not others) or any(uses[one.name] >= _SEVERAL for one in few)
            yield tool, Hit("RC120", names, remedy, few[0].path, certain=not usual), few


def _styled(name: str, camel: bool) -> str:
    words = words_of(name)
    return "".join((words[0], *(word.title() for word in words[1:]))) if camel else "_".join(words)


def find_spellings(
    tools: Sequence[ToolView], told: Collection[tuple[int, str]]
) -> Iterator[tuple[ToolView | None, Hit]]:
    """The same words, written in two ways, in different tools; `told` has those that RC120 wants renamed already."""
    found: dict[str, dict[str, list[ToolView]]] = {}
    for tool in tools:
        for argument in tool.top:
            name = argument.name
            if (tool.number, name) not in told and KEY.fullmatch(name) and (
                len(words_of(name)) > 1 or name.lower() != name
            ):  # fmt: skip
                found.setdefault(joined(name), {}).setdefault(name, []).append(tool)
    for spellings in found.values():
        if len(spellings) < 2:
            continue
        ranked = sorted(spellings.items(), key=lambda item: -len(item[1]))
        usual, rest = ranked[0], ranked[1:]
        for name, users in rest:
            if users == [users[0]] and users[0] in usual[1]:
                continue  # both in one tool, which RC111 tells
            if any((tool.number, usual[0]) in told for tool in tools):
                continue  # the usual spelling is one that RC120 wants renamed elsewhere
            yield users[0], Hit(
                "RC114",
                f"the argument is {quote_name(name)} here and {quote_name(usual[0])} in "
                f"{join_names(tool.name for tool in usual[1])}",
                f"call it {quote_name(usual[0])} in {join_names(tool.name for tool in users)} too",
                (*users[0].schema_path, "properties", name),
                certain=style_of(name) == style_of(usual[0]) or not any(_is_even(tool, name) for tool in users),
            )  # fmt: skip


def _is_even(tool: ToolView, name: str) -> bool:
    """Whether the tool writes its other arguments in the style of this one, so that another would stand out."""
    styles = [style_of(one.name) for one in tool.top if one.name != name and style_of(one.name)]
    return {*styles} == {style_of(name)}


def style_of(name: str) -> str:
    if len(words_of(name)) < 2:
        return ""
    if "_" in name and "-" not in name:
        return "snake_case"
    if "-" in name and "_" not in name:
        return "kebab-case"
    if not name.isalnum() or not re.search(r"[a-z][A-Z]", name):
        return ""
    return "PascalCase" if name[0].isupper() else "camelCase"
