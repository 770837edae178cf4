"""Calls in prose, as five families of models write them."""

import json
from collections.abc import Callable
from typing import Any

from bench.inputs import edits
from bench.prose import prose

Writer = Callable[[str, dict[str, Any]], str]


def bare_json(name: str, arguments: dict[str, Any]) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def hermes(name: str, arguments: dict[str, Any]) -> str:
    return f"<tool_call>\n{bare_json(name, arguments)}\n</tool_call>"


def mistral(name: str, arguments: dict[str, Any]) -> str:
    return f"[TOOL_CALLS][{bare_json(name, arguments)}]"


def qwen3_coder(name: str, arguments: dict[str, Any]) -> str:
    parameters = "".join(
        f"<parameter={key}>\n{value if isinstance(value, str) else json.dumps(value)}\n</parameter>\n"
        for key, value in arguments.items()
    )
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


def pythonic(name: str, arguments: dict[str, Any]) -> str:
    return f"[{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})]"


WRITERS: dict[str, Writer] = {
    "hermes": hermes,
    "mistral": mistral,
    "qwen3-coder XML": qwen3_coder,
    "pythonic": pythonic,
    "bare JSON": bare_json,
}


def amid_prose(call: str, size: int) -> tuple[str, str]:
    """The call in the middle of prose, about `size` characters in all; and the prose without it."""
    words = prose(size - len(call))
    middle = words.rindex(" ", 0, len(words) // 2)
    before, after = f"{words[:middle]}.\n", f"\n{words[middle:]}"
    return f"{before}{call}{after}", before + after


def long_call(size: int) -> str:
    """One call of `apply_edits` that takes up the whole text."""
    return hermes("apply_edits", edits(size))


def many_calls(size: int) -> str:
    """A call every 5,000 characters, since no more than a thousand are read from one text."""
    call, parts = hermes("apply_edits", edits(4_000)), prose(1_000)
    return f"{parts}\n{call}\n" * max(1, size // (len(call) + len(parts)))
