"""RC120: `camelCase` beside `snake_case` in one tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.findings import Hit, join_names

_CAMEL: Final = re.compile(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+")
_SNAKE: Final = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)+")


def _in_style(tool: ToolView, style: re.Pattern[str]) -> list[Argument]:
    return [one for one in tool.top if style.fullmatch(one.name)]


def find_mixed(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView, Hit, list[Argument]]]:
    """`userId` beside `user_name` in one tool, with the arguments to rename: into the style of the whole list, where it
    has one."""
    camels = sum(len(_in_style(tool, _CAMEL)) for tool in tools)
    snakes = sum(len(_in_style(tool, _SNAKE)) for tool in tools)
    for tool in tools:
        camel, snake = _in_style(tool, _CAMEL), _in_style(tool, _SNAKE)
        if camel and snake:
            wins = camels > snakes if camels != snakes else len(camel) > len(snake)
            few, many = (snake, camel) if wins else (camel, snake)
            names = f"{join_names(one.name for one in few)} beside {join_names(one.name for one in many)}"
            remedy = f"write all arguments in {'camelCase' if wins else 'snake_case'}"
            yield tool, Hit("RC120", names, remedy, few[0].path), few
