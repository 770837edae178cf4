"""Formats that spell arguments as tags, with their values as plain text between them.

From the chat templates of Qwen3-Coder, Seed-OSS, MiniCPM 5, GLM, Hunyuan, MiniMax, LongCat and Muse, and the prompts of
Step-3, dots and Claude. What they have no way to escape, they cannot carry: see each writer's `cannot`.
"""

from collections.abc import Callable
from typing import Any

from support.writers.base import WORD_NAME, Call, Writer, as_text, between_tags, holds

Spelling = Callable[[Any], str]


def _qwen(value: Any) -> str:
    """Lists and objects as JSON, true and none as Python says them: the template's `string` filter."""
    return as_text(value) if isinstance(value, str | list | dict) else str(value)


def _qwen3_coder(calls: list[Call]) -> str:
    return "\n".join(f"<tool_call>\n{_function(call)}</function>\n</tool_call>" for call in calls)


def _function(call: Call) -> str:
    parameters = "".join(f"<parameter={key}>\n{_qwen(value)}\n</parameter>\n" for key, value in call[1].items())
    return f"<function={call[0]}>\n{parameters}"


def _seed_oss(calls: list[Call]) -> str:
    def one(call: Call) -> str:
        lines = (f"<parameter={key}>{between_tags(str(value))}</parameter>\n" for key, value in call[1].items())
        return f"<seed:tool_call>\n<function={call[0]}>\n{''.join(lines)}</function>\n</seed:tool_call>"

    return "\n".join(map(one, calls))


def _character_data(value: Any) -> str:
    if isinstance(value, str) and any(mark in value for mark in "<&\n"):
        return f"<![CDATA[{value}]]>"
    return str(value)


def _minicpm(calls: list[Call]) -> str:
    def one(call: Call) -> str:
        inner = "".join(f'<param name="{key}">{_character_data(value)}</param>' for key, value in call[1].items())
        return f'<function name="{call[0]}">{inner}</function>'

    return "\n".join(map(one, calls))


def pairs(
    head: Callable[[str], str], tail: str, *, key: str = "arg_key", value: str = "arg_value", line: str = ""
) -> Callable[[list[Call]], str]:
    """Keys and values in tags of their own, one after the other."""

    def one(call: Call) -> str:
        inner = "".join(
            f"<{key}>{name}</{key}>{line}<{value}>{between_tags(as_text(item))}</{value}>{line}"
            for name, item in call[1].items()
        )
        return f"{head(call[0])}{line}{inner}{tail}"

    return lambda calls: line.join(map(one, calls))


def _hunyuan(suffix: str) -> Callable[[list[Call]], str]:
    write = pairs(
        lambda name: f"<tool_call{suffix}>{name}<tool_sep{suffix}>",
        f"</tool_call{suffix}>",
        key=f"arg_key{suffix}",
        value=f"arg_value{suffix}",
        line="\n",
    )
    return lambda calls: f"<tool_calls{suffix}>\n{write(calls)}\n</tool_calls{suffix}>"


def invokes(opening: str, closing: str, prefix: str = "", around: str = "\n") -> Callable[[list[Call]], str]:
    """`invoke` and `parameter` tags, all calls between one pair of tags."""

    def one(call: Call) -> str:
        lines = (
            f'<{prefix}parameter name="{key}">{between_tags(as_text(value))}</{prefix}parameter>\n'
            for key, value in call[1].items()
        )
        return f'<{prefix}invoke name="{call[0]}">\n{"".join(lines)}</{prefix}invoke>'

    return lambda calls: f"{opening}{around}{chr(10).join(map(one, calls))}{around}{closing}"


def _step3(calls: list[Call]) -> str:
    begin, end = "<｜tool_call_begin｜>function<｜tool_sep｜>", "<｜tool_call_end｜>"
    inner = "\n".join(invokes(begin, end, "steptml:", "")([call]) for call in calls)
    return f"<｜tool_calls_begin｜>\n{inner}\n<｜tool_calls_end｜>"


MINIMAX = "]<]minimax[>["


def _minimax_m3(calls: list[Call]) -> str:
    """Every tag after a token of its own; lists and objects are tags again, so their text is typed by the schema."""
    inner = "\n".join(f'{MINIMAX}<invoke name="{name}">{_nested(values)}{MINIMAX}</invoke>' for name, values in calls)
    return f"{MINIMAX}<tool_call>\n{inner}\n{MINIMAX}</tool_call>"


def _nested(value: Any) -> str:
    if isinstance(value, dict):
        return "".join(f"{MINIMAX}<{key}>{_nested(item)}{MINIMAX}</{key}>" for key, item in value.items())
    if isinstance(value, list):
        return "".join(f"{MINIMAX}<item>{_nested(item)}{MINIMAX}</item>" for item in value)
    return between_tags(as_text(value))


def _muse(recipient: Callable[[str], str]) -> Callable[[list[Call]], str]:
    block = invokes("<atem:function_calls>", "</atem:function_calls>", "atem:")

    def one(call: Call) -> str:
        name = recipient(call[0])
        return f"<|start|>assistant to={name}<|message|>{block([(name, call[1])])}<|eom|>"

    return lambda calls: "".join(map(one, calls))


def _muse_says(text: str) -> str:
    return f"<|start|>assistant to=user<|message|>{text}<|eom|>"


TAG_CALLS = (
    Writer("qwen3_coder", _qwen3_coder, values="text", cannot=holds("</parameter>")),
    Writer("seed_oss", _seed_oss, values="text", cannot=holds("</parameter>")),
    Writer("minicpm", _minicpm, values="text", cannot=holds("</param>", "]]>")),
    Writer(
        "glm45",
        pairs(lambda name: f"<tool_call>{name}", "</tool_call>", line="\n"),
        values="text",
        names=WORD_NAME,
        cannot=holds("</arg_value>"),
    ),
    Writer(
        "glm47",
        pairs(lambda name: f"<tool_call>{name}", "</tool_call>"),
        values="text",
        names=WORD_NAME,
        cannot=holds("</arg_value>"),
    ),
    Writer(
        "longcat_pairs",
        pairs(
            lambda name: f"<longcat_tool_call>{name}",
            "</longcat_tool_call>",
            key="longcat_arg_key",
            value="longcat_arg_value",
            line="\n",
        ),
        values="text",
        names=WORD_NAME,
        cannot=holds("</longcat_arg_value>"),
    ),
    Writer("hunyuan", _hunyuan(""), values="text", names=WORD_NAME, cannot=holds("</arg_value>")),
    Writer("hunyuan_open", _hunyuan(":opensource"), values="text", names=WORD_NAME, cannot=holds("</arg_value:")),
    Writer(
        "minimax_m2",
        invokes("<minimax:tool_call>", "</minimax:tool_call>"),
        values="text",
        cannot=holds("</parameter>"),
    ),
    Writer("minimax_m3", _minimax_m3, values="text", nulls=False, cannot=holds(MINIMAX)),
    Writer("step3", _step3, values="text", cannot=holds("</steptml:parameter>")),
    Writer(
        "dots", invokes("<dots_function_call>", "</dots_function_call>"), values="text", cannot=holds("</parameter>")
    ),
    Writer("anthropic", invokes("<function_calls>", "</function_calls>"), values="text", cannot=holds("</parameter>")),
    Writer(
        "muse",
        _muse(lambda name: name),
        values="text",
        names=WORD_NAME,
        cannot=holds("</atem:parameter>"),
        say=_muse_says,
        quiet=False,
    ),
    Writer(
        "muse_namespaced",
        _muse(lambda name: f"{name}.{name}"),
        values="text",
        names=r"[A-Za-z_][A-Za-z0-9_]{0,20}",
        needs_tools=True,
        cannot=holds("</atem:parameter>"),
        say=_muse_says,
        quiet=False,
    ),
)
