"""JSON, or any other shape of a call, between tags: `<tool_call>{"name": …}</tool_call>` and its many kin."""

from rightcall.recover.section import tagged

_ONE = '{"name": "get_weather", "arguments": {"city": "Bern"}}'

FORMATS = (
    tagged(
        "hermes", "<tool_call>", ("</tool_call>", "</tool_call}", "</tool_call]"), kinds=("json", "name"), named=True,
        about="Hermes, Qwen 2.5 and 3, ERNIE, Granite 4, Apriel, SmolLM and many more",
        example=f"<tool_call>\n{_ONE}\n</tool_call>",
    ),
    tagged(
        "tool_calls_tag", "<tool_calls>", "</tool_calls>", kinds=("json",),
        about="Jamba, Hunyuan A13B", example=f"<tool_calls>[{_ONE}]</tool_calls>",
    ),
    tagged(
        "granite_20b", ("<function_call>", "<|function_call|>"), "</function_call>", kinds=("json",),
        about="Granite 20B FC, GigaChat 3", example=f"<function_call> {_ONE}",
    ),
    tagged(
        "nemotron", ("<TOOLCALL>", "<TOOL_CALL>", "<toolcall>"), ("</TOOLCALL>", "</TOOL_CALL>", "</toolcall>"),
        about="Nemotron Nano", example=f"<TOOLCALL>[{_ONE}]</TOOLCALL>",
    ),
    tagged("longcat", "<longcat_tool_call>", "</longcat_tool_call>", about="LongCat", named=True),
    tagged(
        "other_tags", ("<tool_use>", "<use_tool>", "<tool_code>", "<functioncall>", "<tool_request>"),
        ("</tool_use>", "</use_tool>", "</tool_code>", "</functioncall>", "</tool_request>"),
        about="tags that models make up when told to use some tag",
        example=f"<tool_use>{_ONE}</tool_use>",
    ),
)  # fmt: skip
