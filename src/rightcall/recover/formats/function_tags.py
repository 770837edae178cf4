"""Calls as tags of their own, with or without a section around them; and pairs of key and value tags."""

from rightcall.recover.items.function_tags import OPENS
from rightcall.recover.section import section, tagged
from rightcall.recover.take import Format, Steps
from rightcall.recover.window import Window


def _from_tag(window: Window, start: int, _at: int) -> Steps:
    """The trigger is the call's own opening tag."""
    return section(window, start, start)


def _format(name: str, opens: tuple[str, ...], about: str, example: str, closes: tuple[str, ...] = ()) -> Format:
    return Format(name, about, opens, _from_tag, example, closes, ("tags",))


_SECTIONS = ("<function_calls>", "<antml:function_calls>")
_PARAMETER = '<parameter name="city">Bern</parameter>'

FORMATS = (
    _format(
        "qwen3_coder", ("<function=", "<tool_call>"), "Qwen3-Coder, Functionary 3.1",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nBern\n</parameter>\n</function>\n</tool_call>",
    ),
    _format(
        "minicpm", tuple(word for word in OPENS if "function" in word and not word.endswith("function=")), "MiniCPM 5",
        '<function name="get_weather"><param name="city">Bern</param></function>',
    ),
    _format(
        "invoke", (*(word for word in OPENS if "function" not in word), *_SECTIONS), "invoke tags, as Claude and many after it",
        f'<function_calls>\n<invoke name="get_weather">\n{_PARAMETER}\n</invoke>\n</function_calls>',
    ),
    tagged("seed_oss", "<seed:tool_call>", "</seed:tool_call>", about="Seed-OSS",
           example="<seed:tool_call>\n<function=get_weather>\n<parameter=city>Bern</parameter>\n</function>\n</seed:tool_call>"),
    tagged("minimax_m2", "<minimax:tool_call>", "</minimax:tool_call>", about="MiniMax M2",
           example=f'<minimax:tool_call>\n<invoke name="get_weather">\n{_PARAMETER}\n</invoke>\n</minimax:tool_call>'),
    tagged("dots", "<dots_function_call>", "</dots_function_call>", about="dots",
           example=f'<dots_function_call><invoke name="get_weather">{_PARAMETER}</invoke></dots_function_call>'),
    tagged("deepseek_dsml", ("<｜DSML｜function_calls>", "<｜DSML｜tool_calls>"), ("</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"),
           about="DeepSeek V3.2 and V4",
           example='<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Bern</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'),
    tagged("muse", "<atem:function_calls>", "</atem:function_calls>", about="Muse",
           example='<atem:function_calls>\n<atem:invoke name="get_weather">\n<atem:parameter name="city">Bern</atem:parameter>\n</atem:invoke>\n</atem:function_calls>'),
    tagged("steptml", "<steptml:toolcall>", "</steptml:toolcall>", about="Step 3 without its tokens"),
    Format("olmo3", "OLMo 3: Python calls, one a line", _SECTIONS, section,
           '<function_calls>get_weather(city="Bern")</function_calls>', tuple(f"</{word[1:]}" for word in _SECTIONS),
           ("python", "json"), marker=True),
    tagged("hunyuan", ("<tool_call:opensource>", "<tool_calls:opensource>"), ("</tool_call:opensource>", "</tool_calls:opensource>"), about="Hunyuan 3", named=True,
           example="<tool_calls:opensource><tool_call:opensource>get_weather<tool_sep:opensource><arg_key:opensource>city</arg_key:opensource><arg_value:opensource>Bern</arg_value:opensource></tool_call:opensource></tool_calls:opensource>"),
    Format("glm", "GLM 4.5 to 4.7, Hunyuan, Ling 3, Poolside", ("<tool_call>",), section,
           "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Bern</arg_value>\n</tool_call>", (), ("pairs",), marker=True),
)  # fmt: skip
