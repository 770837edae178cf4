"""The formats with tags or special tokens, by family: each ends in a tuple that `machine.py` lists."""

from __future__ import annotations

from typing import Any

from rightcall.base.json.shape import ANY, Shape
from rightcall.base.text import regex
from rightcall.gate.recover.calls import OPENS
from rightcall.gate.recover.objects import INTERPRETERS, edges, object_item, spoken, text_end, typed
from rightcall.gate.recover.section import WORD, arguments_of, closed, read_section, tagged
from rightcall.gate.recover.window import (
    Format,
    Literals,
    Mute,
    Steps,
    Take,
    Waiting,
    Window,
    blank,
    find,
    literal,
    matched,
    skip,
    watched,
)


def _from_tag(window: Window, start: int, _at: int) -> Steps:
    """The trigger is the call's own opening tag."""
    return read_section(window, start, start)


def _format(name: str, opens: tuple[str, ...], about: str, example: str, closes: tuple[str, ...] = ()) -> Format:
    return Format(name, about, opens, _from_tag, example, closes, ("tags",))


_SECTIONS = ("<function_calls>", "<antml:function_calls>")
_PARAMETER = '<parameter name="city">Bern</parameter>'

FUNCTION_TAGS = (
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
    Format("olmo3", "OLMo 3: Python calls, one a line", _SECTIONS, read_section,
           '<function_calls>get_weather(city="Bern")</function_calls>', tuple(f"</{word[1:]}" for word in _SECTIONS),
           ("python", "json"), marker=True),
    tagged("hunyuan", ("<tool_call:opensource>", "<tool_calls:opensource>"), ("</tool_call:opensource>", "</tool_calls:opensource>"), about="Hunyuan 3", named=True,
           example="<tool_calls:opensource><tool_call:opensource>get_weather<tool_sep:opensource><arg_key:opensource>city</arg_key:opensource><arg_value:opensource>Bern</arg_value:opensource></tool_call:opensource></tool_calls:opensource>"),
    Format("glm", "GLM 4.5 to 4.7, Hunyuan, Ling 3, Poolside", ("<tool_call>",), read_section,
           "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Bern</arg_value>\n</tool_call>", (), ("pairs",), marker=True),
)  # fmt: skip


# ── json in tags ──
# JSON, or any other shape of a call, between tags: `<tool_call>{"name": …}</tool_call>` and its many kin.

_ONE = '{"name": "get_weather", "arguments": {"city": "Bern"}}'

JSON_IN_TAGS = (
    tagged(
        "hermes", "<tool_call>", ("</tool_call>", "</tool_call}", "</tool_call]"), named=True,
        about="Hermes, Qwen 2.5 and 3, ERNIE, Granite 4, Apriel, SmolLM and many more",
        example=f"<tool_call>\n{_ONE}\n</tool_call>",
    )._replace(kinds=("json", "name")),
    tagged(
        "tool_calls_tag", "<tool_calls>", "</tool_calls>",
        about="Jamba, Hunyuan A13B", example=f"<tool_calls>[{_ONE}]</tool_calls>",
    )._replace(kinds=("json",)),
    tagged(
        "granite_20b", ("<function_call>", "<|function_call|>"), "</function_call>",
        about="Granite 20B FC, GigaChat 3", example=f"<function_call> {_ONE}",
    )._replace(kinds=("json",)),
    tagged(
        "nemotron", ("<TOOLCALL>", "<TOOL_CALL>", "<toolcall>"), ("</TOOLCALL>", "</TOOL_CALL>", "</toolcall>"),
        about="Nemotron Nano", example=f"<TOOLCALL>[{_ONE}]</TOOLCALL>",
    ),
    tagged("longcat", "<longcat_tool_call>", "</longcat_tool_call>", about="LongCat", named=True),
    tagged(
        "other_tags", ("<tool_use>", "<use_tool>", "<tool_code>", "<functioncall>", "<tool_request>"),
        ("</tool_use>", "</use_tool>", "</tool_code>", "</functioncall>", "</tool_request>"),
        about="tags invented by models when told to use a tag",
        example=f"<tool_use>{_ONE}</tool_use>",
    ),
)  # fmt: skip


# ── minimax m3 ──
# MiniMax M3: a token before every tag says what is markup; arguments are tags of their own name, nested as they are.

TOKEN = "]<]minimax[>["
_TAG = regex(r"<(/?)([^<>\s]+)(?:\s+name=\"([^\"]*)\")?[^<>]*>")
_CLOSES = "</invoke>"


def read_minimax_m3(window: Window, start: int, at: int) -> Steps:
    """All calls of a section: parts between tokens, each a tag and the text after it."""
    end = -1
    at = start
    while True:
        here = yield from blank(window, at)
        call = yield from find(window, f'{TOKEN}<invoke name="', here, 200)
        if call < 0 or window.text[here:call].replace(TOKEN + "<tool_call>", "").strip():
            return (yield from _closed(window, end))
        close = yield from find(window, TOKEN + _CLOSES, call)
        stop = close + len(TOKEN + _CLOSES) if close >= 0 else min(len(window.text), call + window.cap)
        yield _take(window, call if end >= 0 else start, stop, window.text[call:stop], close >= 0)
        end = at = stop


def _closed(window: Window, end: int) -> Waiting[int]:
    if end < 0:
        return -1
    after = yield from blank(window, end)
    closing = yield from find(window, TOKEN + "</tool_call>", after, 0 + len(TOKEN))
    return closing + len(TOKEN + "</tool_call>") if closing == after else end


def _take(window: Window, start: int, end: int, body: str, closed: bool) -> Take:
    parts = [part for part in body.split(TOKEN) if part]
    head = _TAG.match(parts[0])
    name = (head[3] or "") if head is not None else ""
    if not closed or not name:
        return Take(start, end, name, None, cut="value" if not closed else "", fault="it is truncated", kind="tags")
    root = _Node(name)
    stack = [root]
    for part in parts[1:]:
        tag = _TAG.match(part)
        if tag is None:
            stack[-1].text += TOKEN + part  # the token inside a text
        elif not tag[1]:
            stack.append(_Node(tag[2]))
            stack[-1].text = part[tag.end() :]
        elif tag[2] == stack[-1].name and len(stack) > 1:
            stack[-2].children.append(stack.pop())
        elif tag[2] != "invoke" or len(stack) > 1:
            return Take(
                start, end, name, None, fault=f"a tag {tag[2]!r:.60} closes a tag that is not open", kind="tags"
            )
    shape = window.tools.shape(name)
    found = {child.name: _value(child, shape.props.get(child.name) or ANY) for child in root.children}
    names = [child.name for child in root.children]
    twice = tuple(one for one in found if names.count(one) > 1) if len(found) < len(names) else ()
    return Take(start, end, name, found, kind="tags", duplicates=twice)


class _Node:
    def __init__(self, name: str) -> None:
        self.name = name
        self.text = ""
        self.children: list[_Node] = []


def _value(node: _Node, shape: Shape) -> Any:
    if not node.children:
        if not node.text and shape.types and shape.types <= {"array", "object"}:
            return [] if "array" in shape.types else {}
        return typed(edges(node.text), shape)
    names = {child.name for child in node.children}
    declared = bool(shape.types) and shape.allows("array")
    as_list = declared or (len(names) == 1 and names <= {"item", "element", "value"})
    option = next((one for one in (shape, *shape.options) if one.props or one.items), shape)
    if as_list and not (shape.types and not shape.allows("array")):
        return [_value(child, option.items or ANY) for child in node.children]
    return {child.name: _value(child, option.props.get(child.name) or ANY) for child in node.children}


MINIMAX_M3 = (
    Format(
        "minimax_m3",
        "MiniMax M3",
        (f"{TOKEN}<tool_call>", f"{TOKEN}<invoke name="),
        read_minimax_m3,
        f'{TOKEN}<tool_call>\n{TOKEN}<invoke name="get_weather">{TOKEN}<city>Bern{TOKEN}</city>{TOKEN}</invoke>\n{TOKEN}</tool_call>',
        (f"{TOKEN}</tool_call>",),
    ),
)


# ── kimi k3 ──
# Kimi K3: `<|open|>call tool="name"<|sep|>`, arguments in the same brackets, each with its type.

_CALL = "<|open|>call "
_OPENS = Literals([_CALL])
_ARGUMENT = Literals(["<|open|>argument "])
_END_CALL = Literals(["<|close|>call<|sep|>"])
_END_ARGUMENT = "<|close|>argument<|sep|>"
_END_SECTION = Literals(["<|close|>tools<|sep|>", "<|close|>message<|sep|>"])
_ATTRIBUTE = regex(r"(\w+)=\"([^\"]*)\"")
_HEADER = 400


def read_kimi_k3(window: Window, start: int, at: int) -> Steps:
    """The calls of a section, or one call whose section marker is missing."""
    end = -1
    at = start if window.text.startswith(_CALL, start) else at
    while True:
        here = yield from blank(window, at)
        opening = yield from literal(window, here, _OPENS)
        if opening < 0:
            break
        take = yield from _call(window, start if end < 0 else here, opening)
        yield take
        end = at = take.end
    while end >= 0:
        here = yield from blank(window, end)
        closing = yield from literal(window, here, _END_SECTION)
        if closing < 0:
            break
        end = closing
    return end


def _call(window: Window, start: int, at: int) -> Waiting[Take]:
    sep = yield from find(window, "<|sep|>", at, _HEADER)
    name = _attributes(window.text[at:sep]).get("tool", "") if sep >= 0 else ""
    if not name:
        cut = sep < 0 and len(window.text) < at + _HEADER
        end = len(window.text) if cut else at
        return Take(start, end, "", None, cut="value" if cut else "", fault="it names no tool", kind="tags")
    shape = window.tools.shape(name)
    found: dict[str, object] = {}
    twice: tuple[str, ...] = ()
    at = sep + len("<|sep|>")
    while True:
        at = yield from blank(window, at)
        closing = yield from literal(window, at, _END_CALL)
        if closing >= 0:
            return Take(start, closing, name, found, kind="tags", duplicates=twice)
        opening = yield from literal(window, at, _ARGUMENT)
        if opening < 0:
            rest = window.text[at:]
            if window.final and (_END_CALL.words[0].startswith(rest) or _ARGUMENT.words[0].startswith(rest)):
                at = len(window.text)  # a tag that was cut off
            if at < len(window.text):
                return Take(start, at, name, found, kind="tags", duplicates=twice)
            cut = (
                {"cut": "closers", "marks": {"cut_closers": 0}}
                if found
                else {"cut": "value", "fault": "it is truncated"}
            )
            return Take(start, at, name, found or None, kind="tags", **cut)  # type: ignore[arg-type]
        sep = yield from find(window, "<|sep|>", opening, _HEADER)
        end = (yield from find(window, _END_ARGUMENT, sep)) if sep >= 0 else -1
        if end < 0:
            stop = min(len(window.text), opening + (window.cap if sep >= 0 else _HEADER))
            return Take(start, stop, name, None, cut="value", fault="it is truncated", kind="tags")
        about = _attributes(window.text[opening:sep])
        key = about.get("key", "")
        stated = "string" if about.get("type", "string") == "string" else "json"
        if key in found:
            twice += (key,)
        found[key] = typed(edges(window.text[sep + len("<|sep|>") : end]), shape.props.get(key) or ANY, stated)
        at = end + len(_END_ARGUMENT)


def _attributes(header: str) -> dict[str, str]:
    return {found[1]: found[2] for found in _ATTRIBUTE.finditer(header)}


KIMI_K3 = (
    Format(
        "kimi_k3",
        "Kimi K3",
        ("<|open|>tools<|sep|>", _CALL),
        read_kimi_k3,
        '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>'
        "Bern<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
    ),
)


# ── functionary ──
# A recipient on a line of its own and JSON below it: Functionary 3.2.

_NEXT = Literals([">>>", "<|eot_id|>"])


def recipient(window: Window, start: int, at: int) -> Steps:
    """`>>>name`, a new line, JSON."""
    if start > window.begin and window.text[start - 1] in ">\"'`":
        return -1
    name = yield from matched(window, WORD, at, 200)
    if name is None or name[0] in {"all"}:
        return -1
    brace = yield from blank(window, name.end())
    if name[0] in INTERPRETERS and window.tools.name(name[0]) == name[0] and window.text[brace : brace + 1] != "{":
        end = yield from text_end(window, name.end(), _NEXT)
        code = spoken(window, start, end, name[0], window.text[name.end() : end])
        if code is None:
            return -1
        yield code
        return end
    if brace >= len(window.text) or window.text[brace] != "{" or "\n" not in window.text[name.end() : brace]:
        return -1
    return (yield from arguments_of(window, start, name[0], brace))


FUNCTIONARY = (Format("functionary", "Functionary 3.2", (">>>",), recipient, '>>>get_weather\n{"city": "Bern"}'),)


# ── harmony ──
# Messages with headers: `<|channel|>commentary to=functions.name<|message|>{…}`. The header says what a call is.

ENDS = Literals(["<|end|>", "<|start|>", "<|return|>", "<|call|>", "<|eom|>", "<|eot|>", "<|channel|>"])
_CHANNEL = regex(r"<\|channel\|>\s*(\w+)")
_TO = regex(r"\bto=([^\s<|]+)")
_ROLE = regex(r"<\|start\|>\s*(\w+)")
_NO_HEADER = regex(r"[{}\"]|\n\s*\n|<(?!\|(?:start|channel|constrain)\|>)")
"""What stands in calls and in prose, and never in a header."""

_PEOPLE = frozenset({"user", "self", "assistant", "all"})
_LONGEST_HEADER = 300
_LEAKED = regex(r"[^\s<{]{1,160}")
_AFTER_NAME = Literals(
    ["<|constrain|>json", "<|constrain|>", "<|channel|>commentary", "commentary", "json", "code", "<|message|>"]
)


def headed(window: Window, start: int, at: int) -> Steps:
    """A header and its message."""
    message = yield from find(window, "<|message|>", at, _LONGEST_HEADER)
    if message < 0:
        return -1
    header = window.text[start:message]
    header = header[max(header.rfind("<|start|>"), 0) :]
    if _NO_HEADER.search(header):
        return -1
    body = message + len("<|message|>")
    channels = _CHANNEL.findall(header)
    recipients = _TO.findall(header)
    role = _ROLE.match(header)
    if role is not None and role[1] != "assistant" and not recipients:
        return Mute(body, ENDS, "final")
    if not recipients or recipients[-1] in _PEOPLE or (channels and channels[-1] == "final"):
        muted = bool(recipients) or bool(channels)
        return Mute(body, ENDS, "final") if muted else -1
    return (yield from _read_addressed(window, start, recipients[-1], body))


def _read_addressed(window: Window, start: int, name: str, at: int) -> Steps:
    name = name.removeprefix("functions.")
    at = yield from blank(window, at)
    if at < len(window.text) and window.text[at] == "{":
        item = yield from object_item(window, at, window.markers.ends, marked=True, name=name)
        if item is None:
            return -1
        for take in item.takes:
            yield take._replace(start=start)
        return (yield from closed(window, item.end))
    if at < len(window.text) and window.text[at] == "<":
        return (yield from read_section(window, start, at))
    end = yield from text_end(window, at, ENDS)
    taken = spoken(window, start, end, name, window.text[at:end])
    if taken is not None:
        yield taken
        return (yield from closed(window, end))
    return Mute(end, ENDS, "final") if end < len(window.text) else end


def leaked(window: Window, start: int, at: int) -> Steps:
    """`to=functions.name json{…}`: the same, after a server has stripped the special tokens."""
    name = yield from matched(window, _LEAKED, at, 200)
    if name is None:
        return -1
    brace = yield from skip(window, name.end(), _AFTER_NAME)
    if brace >= len(window.text) or window.text[brace] != "{":
        return -1
    return (yield from arguments_of(window, start, name[0], brace))


HARMONY = (
    Format("harmony", "GPT-OSS; the final channel never holds a call", ("<|channel|>", "<|start|>"), headed,
           '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Bern"}<|call|>',
           ("<|call|>", "<|end|>", "<|eom|>", "<|eot|>", "<|return|>"), headed=True),
    Format("harmony_leaked", "GPT-OSS without its tokens", ("=functions.",), leaked, 'to=functions.get_weather json{"city": "Bern"}'),
)  # fmt: skip


# ── llama3 ──
# Llama 3: a tag, and after it JSON, a call of a built-in tool, or plain code for the interpreter.

_ENDS = Literals(["<|eom_id|>", "<|eot_id|>", "<|end_of_text|>"])


def read_llama3(window: Window, start: int, at: int) -> Steps:
    """The calls after the tag; where there are none and the tools include an interpreter, code for it."""
    opens = window.fresh  # code without any sign of a call counts only as the whole message
    end, taken = yield from watched(read_section(window, start, at))
    interpreter = next((name for name in INTERPRETERS if window.tools.name(name) == name), None)
    if taken or interpreter is None or not opens:
        return end
    end = yield from text_end(window, at, _ENDS)
    take = spoken(window, start, end, interpreter, window.text[at:end])
    if take is None:
        return -1
    yield take
    return (yield from closed(window, end))


LLAMA3 = (
    Format(
        "llama3",
        "Llama 3.1, 3.2 and 3.3",
        ("<|python_tag|>",),
        read_llama3,
        '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Bern"}}',
        ("<|eom_id|>", "<|eot_id|>"),
        marker=True,
    ),
)


# ── special tokens ──
# Calls between special tokens of a tokenizer: the same shapes, other markers.

SPECIAL_TOKENS = (
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
