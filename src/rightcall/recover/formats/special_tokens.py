"""Calls between special tokens of a tokenizer: the same shapes, other markers."""

from rightcall.recover.section import tagged

_ONE = '{"name": "get_weather", "arguments": {"city": "Bern"}}'

FORMATS = (
    tagged(
        "granite", "<|tool_call|>", ("<|/tool_call|>", "<|/tool_calls|>"),
        about="Granite 3, Phi-4", example=f"<|tool_call|>[{_ONE}]",
    ),
    tagged(
        "lfm2", "<|tool_call_start|>", "<|tool_call_end|>",
        about="LFM2, MiniCPM 3", example='<|tool_call_start|>[get_weather(city="Bern")]<|tool_call_end|>',
    ),
    tagged(
        "command_r", "<|START_ACTION|>", "<|END_ACTION|>", about="Command R, R7B and A",
        example='<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Bern"}}]<|END_ACTION|>',
    ),
    tagged(
        "apertus", "<|tools_prefix|>", "<|tools_suffix|>",
        about="Apertus", example='<|tools_prefix|>[{"get_weather": {"city": "Bern"}}]<|tools_suffix|>',
    ),
    tagged(
        "internlm", ("<|action_start|>", "<|plugin|>", "<|interpreter|>"), "<|action_end|>",
        about="InternLM 2 and 3", example=f"<|action_start|><|plugin|>{_ONE}<|action_end|>",
    ),
    tagged(
        "gigachat", ("<|message_sep|>\n\nfunction call<|role_sep|>", "<|role_sep|>"), (),
        about="GigaChat 3", example=f"<|message_sep|>\n\nfunction call<|role_sep|>\n{_ONE}",
    ),
    tagged(
        "inkling", ("<|message_model|>", "<|content_invoke_tool_json|>"), "<|end_message|>", about="Inkling",
        example='<|message_model|>get_weather<|content_invoke_tool_json|>{"name":"get_weather","args":{"city":"Bern"}}<|end_message|>',
    ),
    tagged(
        "llama4", "<|python_start|>", "<|python_end|>",
        about="Llama 4", example='<|python_start|>[get_weather(city="Bern")]<|python_end|>',
    ),
    tagged("functools", "functools[", (), about="Phi-4-mini, FireFunction", example=f"functools[{_ONE}]"),
    tagged(
        "mistral", ("[TOOL_CALLS]", "[TOOL_CALL]"), ("[/TOOL_CALLS]", "[/TOOL_CALL]"),
        about="Mistral and Devstral, old and new shape", example='[TOOL_CALLS]get_weather[ARGS]{"city": "Bern"}',
    ),
    tagged(
        "gemma4", "<|tool_call>", "<tool_call|>",
        about="Gemma 4", example='<|tool_call>call:get_weather{city:<|"|>Bern<|"|>}<tool_call|>',
    ),
    tagged(
        "functiongemma", "<start_function_call>", "<end_function_call>", about="FunctionGemma",
        example="<start_function_call>call:get_weather{city:<escape>Bern<escape>}<end_function_call>",
    ),
    tagged(
        "kimi_k2", ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", "<|tool_call_begin|>"),
        ("<|tool_call_end|>", "<|tool_calls_section_end|>", "<|tool_call_section_end|>"), about="Kimi K2",
        example='<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Bern"}<|tool_call_end|><|tool_calls_section_end|>',
    ),
    tagged(
        "deepseek", ("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<|tool▁calls▁begin|>", "<|tool▁call▁begin|>"),
        ("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "<|tool▁call▁end|>", "<|tool▁calls▁end|>", "<｜end▁of▁sentence｜>"),
        about="DeepSeek V3, R1 and V3.1",
        example='<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Bern"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    ),
    tagged(
        "solar", ("<|tool_calls|>", "<|tool_call:begin|>"), ("<|tool_call:end|>", "<|calls|>"), about="Solar Open",
        example='<|tool_calls|><|tool_call:begin|>1<|tool_call:name|>get_weather<|tool_call:args|>{"city": "Bern"}<|tool_call:end|><|calls|>',
    ),
    tagged(
        "step3", ("<｜tool_calls_begin｜>", "<｜tool_call_begin｜>"), ("<｜tool_call_end｜>", "<｜tool_calls_end｜>"), about="Step 3",
        example='<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather"><steptml:parameter name="city">Bern</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
    ),
)  # fmt: skip
