"""Adding tables to a TOML file and taking them out again: one block at its end, between two comments that name us.

TOML has no place for a table but after the last one, so nothing else moves. A program that appends a table later puts
it before the comment at the end, as Codex does with `[hooks.state]`, where it notes which hooks are trusted: so only
the tables at the beginning of the block count as ours.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.installing.json_edits import line_end
from rightcall.installing.jsonc import NotReadable

_FIRST = "# RightCall: `rightcall uninstall codex` removes its hooks, down to the line that says end."
_LAST = "# RightCall: end."
_OTHERS = re.compile(r"^\[(?!\[hooks\.[A-Z][A-Za-z]*(?:\.hooks)?\]\])", re.MULTILINE)


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a text. Raises NotReadable."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise NotReadable(str(error), len(text)) from None


def hook_tables(events: Mapping[str, Mapping[str, Any]]) -> str:
    """One group of hooks for each event, as `[[hooks.EVENT]]` tables."""
    return "\n".join(line for event, group in events.items() for line in _group(event, group))


def _group(event: str, group: Mapping[str, Any]) -> list[str]:
    lines = [f"[[hooks.{event}]]"]
    lines += [f"{key} = {_scalar(value)}" for key, value in group.items() if key != "hooks"]
    handlers: Sequence[Mapping[str, Any]] = group["hooks"]
    for handler in handlers:
        lines += [f"[[hooks.{event}.hooks]]", *(f"{key} = {_scalar(value)}" for key, value in handler.items())]
    return lines


def _scalar(value: str | int) -> str:
    """JSON's way to write a text, or a number, is TOML's too, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def with_block(text: str, block: str) -> str:
    """The text with our block at its end; one that is there is replaced."""
    bare = without_block(text)
    end = line_end(bare)
    before = end if bare.removeprefix("\ufeff") else ""
    return bare + before + "\n".join((_FIRST, block, _LAST, "")).replace("\n", end)


def block_of(text: str) -> str | None:
    """Our block with its two comments, as it stands in the text."""
    start = text.find(_FIRST)
    end = text.find(_LAST, start)
    if start < 0 or end < 0:
        return None
    end += len(_LAST)
    return text[start : end + len(_line_end_at(text, end))]


def without_block(text: str) -> str:
    """The text without our block and the blank line before it; what others wrote into it stays."""
    block = block_of(text)
    if block is None:
        return text
    start = text.index(block)
    before, behind = text[:start], _others(block) + text[start + len(block) :]
    end = line_end(text)
    if before.endswith(end * 2) or not behind:
        before = before.removesuffix(end)
    return before + behind


def _others(block: str) -> str:
    """What stands in our block from the first table on that we would not write."""
    found = _OTHERS.search(block)
    return "" if found is None else block[found.start() : block.index(_LAST)]


def _line_end_at(text: str, at: int) -> str:
    return "\r\n" if text.startswith("\r\n", at) else "\n" if text.startswith("\n", at) else ""
