"""Formats whose calls look like Python: Llama 3.2 and 4, Gemma 3, LFM2, OLMo 3, and Llama's built-in tools.

They differ in how they spell true and null: as Python does, as JSON does, or as JSON inside an object only.
"""

from collections.abc import Callable
from typing import Any

from support.writers.base import PYTHON_NAME, Call, Writer, compact

Spelling = Callable[[Any], str]


def _double_quoted(value: Any) -> str:
    """A Python literal with the double quotes that models prefer."""
    if isinstance(value, str):
        return compact(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_double_quoted, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{compact(key)}: {_double_quoted(item)}' for key, item in value.items())}}}"
    return repr(value)


def _lfm2(value: Any) -> str:
    return compact(value) if isinstance(value, dict) else repr(value)


def _olmo(value: Any) -> str:
    return repr(value) if isinstance(value, str) else compact(value)


def called(call: Call, spelling: Spelling, method: str = "") -> str:
    name, arguments = call
    return f"{name}{method}({', '.join(f'{key}={spelling(value)}' for key, value in arguments.items())})"


def in_brackets(opening: str, closing: str, spelling: Spelling) -> Callable[[list[Call]], str]:
    return lambda calls: f"{opening}[{', '.join(called(call, spelling) for call in calls)}]{closing}"


def on_lines(opening: str, closing: str, spelling: Spelling) -> Callable[[list[Call]], str]:
    return lambda calls: f"{opening}{chr(10).join(called(call, spelling) for call in calls)}{closing}"


def _built_in(calls: list[Call]) -> str:
    return f"<|python_tag|>{called(calls[0], _double_quoted, '.call')}"


BARE_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,20}"

PYTHON_CALLS = (
    Writer("pythonic", in_brackets("", "", _double_quoted), names=PYTHON_NAME, needs_tools=True, own_line=True),
    Writer("pythonic_single", in_brackets("", "", repr), names=PYTHON_NAME, needs_tools=True, own_line=True),
    Writer("gemma3_pythonic", in_brackets("", "", compact), names=PYTHON_NAME, needs_tools=True, own_line=True),
    Writer("llama4_tags", in_brackets("<|python_start|>", "<|python_end|>", _double_quoted), names=PYTHON_NAME),
    Writer("llama3_built_in", _built_in, several=False, names=BARE_NAME),
    Writer("lfm2", in_brackets("<|tool_call_start|>", "<|tool_call_end|>", _lfm2), names=PYTHON_NAME),
    Writer("olmo3", on_lines("<function_calls>\n", "\n</function_calls>", _olmo), names=PYTHON_NAME),
    Writer(
        "tool_code",
        on_lines("```tool_code\n", "\n```", _double_quoted),
        names=PYTHON_NAME,
        needs_tools=True,
        own_line=True,
    ),
)
