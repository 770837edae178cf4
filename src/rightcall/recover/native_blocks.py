"""The blocks that the content of a message is made of: prose, reasoning, calls, and what is neither.

A block either says its `type` (OpenAI, Anthropic, Gemini's interactions, LangChain, pydantic-ai) or is known by its
only key (Gemini, Bedrock).
"""

from typing import Any

from rightcall.recover.native_calls import read_call
from rightcall.recover.native_fields import field, is_thing, word
from rightcall.recover.native_parts import Basket
from rightcall.text.escape import escaped

TEXTS = {"text": False, "output_text": False, "refusal": False, "summary_text": True, "reasoning_text": True}
THINKING = {"thinking", "reasoning", "thought"}
CALLS = {
    "function", "function.call", "function_call", "custom", "custom_tool_call", "tool_use", "tool_call", "tool-call",
    "invalid_tool_call",
}  # fmt: skip
OTHER_CALLS = ("_call", "-call", "_use", "_request", ".execution")
"""How the types of calls end that the provider runs itself, or that no declared tool stands for."""
RESULTS = ("_result", "-result", ".result", "_output", "-return", "_response")
SILENT = {
    "audio", "compaction", "container_upload", "document", "file", "image", "image_url", "input_audio",
    "input_image", "mcp_list_tools", "output_audio", "output_image", "redacted_thinking", "user_input", "video",
}  # fmt: skip

KEYED_CALLS = ("functionCall", "function_call", "toolUse")
KEYED_OTHER_CALLS = ("executableCode", "executable_code", "toolCall")
KEYED_SILENT = (
    "inlineData", "inline_data", "fileData", "file_data", "functionResponse", "function_response", "toolResult",
    "toolResponse", "codeExecutionResult", "code_execution_result", "image", "document", "video", "cachePoint",
)  # fmt: skip


def kind_of(thing: Any) -> str | None:
    """What a block says it is."""
    return word(field(thing, "type", "part_kind"))


def read_typed(basket: Basket, thing: Any, kind: str) -> bool:
    """Read a block that says its type; False if this type is not known."""
    if kind in CALLS:
        basket.call(read_call(thing))
    elif is_others(kind):
        note_others(basket, kind)
    elif kind in TEXTS:
        basket.text(thing, reasoning=TEXTS[kind])
    elif kind in THINKING:
        for name in ("thinking", "reasoning", "summary", "content", "text"):
            basket.text(field(thing, name), reasoning=True)
    else:
        return kind in SILENT or kind.endswith(RESULTS)
    return True


def read_keyed(basket: Basket, thing: Any) -> bool:
    """Read a block without a type; False if it has none of the known keys."""
    thought = field(thing, "thought") is True
    call = field(thing, *KEYED_CALLS)
    if call is not None and thought:
        basket.note("reasoning", "a call inside a thought")
    elif call is not None:
        basket.call(read_call(call))
    elif field(thing, "text") is not None:
        basket.text(field(thing, "text"), reasoning=thought)
    elif is_thing(field(thing, "reasoningContent")):
        basket.text(field(thing, "reasoningContent"), reasoning=True)
    else:
        other = next((key for key in KEYED_OTHER_CALLS if field(thing, key) is not None), None)
        if other is not None:
            note_others(basket, other)
        return other is not None or field(thing, *KEYED_SILENT) is not None
    return True


def is_others(kind: str | None) -> bool:
    """Whether a call of this type is not ours to run. An unknown one is not: it would run twice."""
    return kind is not None and kind not in CALLS and kind.endswith(OTHER_CALLS)


def note_others(basket: Basket, kind: str) -> None:
    basket.note("elsewhere", f"`{escaped(kind, 60)}` is no call of a declared tool: whoever made it runs it")
