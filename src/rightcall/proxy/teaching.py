"""Tools for models whose servers know none: described in the prompt, called in the text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import msgspec

from rightcall.catalog import Catalog
from rightcall.present.prompt import system_prompt


def tool_prompt(catalog: Catalog) -> str:
    """What to tell a model about the tools it may call in its text."""
    return system_prompt(catalog.tools.values())


def as_text(calls: Iterable[tuple[str, Any]]) -> str:
    """Calls as the model was taught to write them.

    >>> as_text([("add", '{"n": 1}')])
    '<tool_call>{"name":"add","arguments":{"n":1}}</tool_call>'
    """
    return "\n".join(f"<tool_call>{_written(name, arguments)}</tool_call>" for name, arguments in calls)


def _written(name: str, arguments: Any) -> str:
    if isinstance(arguments, str):
        with suppress(msgspec.MsgspecError, UnicodeError):  # what is no JSON is shown as the model wrote it
            arguments = msgspec.json.decode(arguments)
    call = {"name": name, "arguments": arguments}
    try:
        return msgspec.json.encode(call).decode()
    except UnicodeEncodeError:  # half a character, which nothing but an escape can write
        return json.dumps(call)


def result_text(result: str) -> str:
    """The result of a call, as a message of the user."""
    return f"<tool_response>\n{result}\n</tool_response>"
