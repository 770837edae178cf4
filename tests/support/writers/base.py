"""What a writer is: one tool-call format, written as its model writes it, and what that format can carry."""

import json
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

Call = tuple[str, dict[str, Any]]

ANY_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,20}([./-][A-Za-z0-9_]{1,12})?"
WORD_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,20}([.-][A-Za-z0-9_]{1,12})?"
"""Where the name stands in the open, before a bracket, a tag or the end of a line."""
PYTHON_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,20}(\.[A-Za-z_][A-Za-z0-9_]{0,12})?"


def _nothing(_text: str) -> bool:
    return False


def _plain(text: str) -> str:
    return text


class Writer(NamedTuple):
    """One format. `values` is "json" where native types survive, "text" where the tool's schema has to type them."""

    name: str
    write: Callable[[list[Call]], str]
    several: bool = True
    """Whether one piece of markup can hold several calls."""
    values: Literal["json", "text"] = "json"
    names: str = ANY_NAME
    """The tool names it can carry, as a regular expression."""
    needs_tools: bool = False
    """Whether only a known tool's name makes it a call."""
    cannot: Callable[[str], bool] = _nothing
    """Whether a text cannot stand in a value, because the format has no way to escape its own delimiter."""
    nulls: bool = True
    """Whether it can say null."""
    own_line: bool = False
    """Whether a call has to begin a line; other markup may follow a word at once."""
    say: Callable[[str], str] = _plain
    """How the model writes prose beside its calls."""
    quiet: bool = True
    """Whether the markup holds no words and no tokens of its own that may be left beside the prose."""


def compact(value: Any) -> str:
    """JSON as a chat template's `tojson` writes it."""
    return json.dumps(value, ensure_ascii=False)


def as_text(value: Any) -> str:
    """A value in markup: text verbatim, anything else as JSON."""
    return value if isinstance(value, str) else compact(value)


def between_tags(text: str) -> str:
    """Text between tags that follow at once; where it looks like text between newlines, those are written too."""
    return f"\n{text}\n" if text.startswith("\n") and text.endswith("\n") else text


def holds(*delimiters: str) -> Callable[[str], bool]:
    """What cannot stand in a value: a text with one of these in it."""
    return lambda text: any(delimiter in text for delimiter in delimiters)
