"""Formats built from special tokens: DeepSeek, Kimi, Solar Open, Gemma 4, FunctionGemma, GPT-OSS harmony, Inkling.

From the models' own chat templates. Values keep their types: as JSON, or by a mark on each argument.
"""

from collections.abc import Callable
from typing import Any

from support.writers.base import WORD_NAME, Call, Writer, as_text, between_tags, compact, holds


def _deepseek(one: Callable[[Call], str], between: str) -> Callable[[list[Call]], str]:
    def write(calls: list[Call]) -> str:
        inner = between.join(f"<｜tool▁call▁begin｜>{one(call)}<｜tool▁call▁end｜>" for call in calls)
        return f"<｜tool▁calls▁begin｜>{inner}<｜tool▁calls▁end｜>"

    return write


def _deepseek_v3(call: Call) -> str:
    return f"function<｜tool▁sep｜>{call[0]}\n```json\n{compact(call[1])}\n```"


def _deepseek_v31(call: Call) -> str:
    return f"{call[0]}<｜tool▁sep｜>{compact(call[1])}"


def _dsml(block: str) -> Callable[[list[Call]], str]:
    def parameter(key: str, value: Any) -> str:
        is_text = "true" if isinstance(value, str) else "false"
        inner = between_tags(as_text(value))
        return f'<｜DSML｜parameter name="{key}" string="{is_text}">{inner}</｜DSML｜parameter>\n'

    def one(call: Call) -> str:
        lines = "".join(parameter(key, value) for key, value in call[1].items())
        return f'<｜DSML｜invoke name="{call[0]}">\n{lines}</｜DSML｜invoke>\n'

    return lambda calls: f"<｜DSML｜{block}>\n{''.join(map(one, calls))}</｜DSML｜{block}>"


def _kimi_k2(calls: list[Call]) -> str:
    inner = "".join(
        f"<|tool_call_begin|>functions.{name}:{at}<|tool_call_argument_begin|>{compact(arguments)}<|tool_call_end|>"
        for at, (name, arguments) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{inner}<|tool_calls_section_end|>"


def _solar(calls: list[Call]) -> str:
    inner = "".join(
        f"<|tool_call:begin|>call{at}<|tool_call:name|>{name}<|tool_call:args|>{compact(arguments)}<|tool_call:end|>"
        for at, (name, arguments) in enumerate(calls)
    )
    return f"<|tool_calls|>{inner}<|calls|>"


def _element(tag: str, attributes: dict[str, str], inner: str) -> str:
    quoted = {key: value.replace("&", "&amp;").replace('"', "&quot;") for key, value in attributes.items()}
    opening = tag + "".join(f' {key}="{value}"' for key, value in quoted.items())
    return f"<|open|>{opening}<|sep|>{inner}<|close|>{tag}<|sep|>"


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    kinds = {int: "number", float: "number", str: "string", dict: "object", list: "array"}
    return kinds[type(value)]


def _kimi_k3(calls: list[Call]) -> str:
    def one(at: int, call: Call) -> str:
        inner = "".join(
            _element("argument", {"key": key, "type": _kind(value)}, as_text(value)) for key, value in call[1].items()
        )
        return _element("call", {"tool": call[0], "index": str(at)}, inner)

    return _element("tools", {}, "".join(one(at, call) for at, call in enumerate(calls, 1)))


def _gemma(quote: str) -> Callable[[Any], str]:
    """Keys bare and sorted, text between tokens, null as the template's Python says it."""

    def value_of(value: Any) -> str:
        if isinstance(value, str):
            return f"{quote}{value}{quote}"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, dict):
            return f"{{{','.join(f'{key}:{value_of(value[key])}' for key in sorted(value, key=str.lower))}}}"
        if isinstance(value, list):
            return f"[{','.join(map(value_of, value))}]"
        return str(value)

    return value_of


def _gemma_calls(opening: str, closing: str, quote: str) -> Callable[[list[Call]], str]:
    value_of = _gemma(quote)
    return lambda calls: "".join(f"{opening}call:{name}{value_of(values)}{closing}" for name, values in calls)


def _harmony(calls: list[Call]) -> str:
    thought = "<|start|>assistant<|channel|>analysis<|message|>The user wants facts.<|end|>"
    return thought + "".join(f"<|start|>assistant{_harmony_first([call])}" for call in calls)


def _harmony_first(calls: list[Call]) -> str:
    """As generation begins: the prompt has said `<|start|>assistant` already."""
    return "".join(
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{compact(arguments)}<|call|>"
        for name, arguments in calls
    )


def _harmony_recipient(calls: list[Call]) -> str:
    return "".join(
        f"<|start|>assistant to=functions.{name}<|channel|>commentary json<|message|>{compact(arguments)}<|call|>"
        for name, arguments in calls
    )


def _harmony_says(text: str) -> str:
    return f"<|start|>assistant<|channel|>commentary<|message|>{text}<|end|>"


def _inkling(calls: list[Call]) -> str:
    return "".join(
        f"<|message_model|>{name}<|content_invoke_tool_json|>"
        f"{compact({'name': name, 'args': arguments})}<|end_message|>"
        for name, arguments in calls
    )


def _inkling_says(text: str) -> str:
    return f"<|message_model|><|content_text|>{text}<|end_message|>"


def _kimi_k3_says(text: str) -> str:
    return _element("response", {}, text)


TOKEN_CALLS = (
    Writer("deepseek_v3", _deepseek(_deepseek_v3, "\n"), names=WORD_NAME),
    Writer("deepseek_v31", _deepseek(_deepseek_v31, ""), names=WORD_NAME),
    Writer("deepseek_v32", _dsml("function_calls"), cannot=holds("</｜DSML｜parameter>")),
    Writer("deepseek_v4", _dsml("tool_calls"), cannot=holds("</｜DSML｜parameter>")),
    Writer("kimi_k2", _kimi_k2, names=WORD_NAME),
    Writer("solar_open", _solar, names=WORD_NAME),
    Writer("kimi_k3", _kimi_k3, cannot=holds("<|open|>", "<|close|>", "<|sep|>"), say=_kimi_k3_says, quiet=False),
    Writer("gemma4", _gemma_calls("<|tool_call>", "<tool_call|>", '<|"|>'), names=WORD_NAME, cannot=holds('<|"|>')),
    Writer(
        "functiongemma",
        _gemma_calls("<start_function_call>", "<end_function_call>", "<escape>"),
        names=WORD_NAME,
        cannot=holds("<escape>"),
    ),
    Writer("harmony", _harmony, names=WORD_NAME, say=_harmony_says, quiet=False),
    Writer("harmony_first", _harmony_first, several=False, names=WORD_NAME),
    Writer("harmony_recipient", _harmony_recipient, names=WORD_NAME, say=_harmony_says, quiet=False),
    Writer("inkling", _inkling, names=WORD_NAME, say=_inkling_says, quiet=False),
)
