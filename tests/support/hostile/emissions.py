"""Emissions for `Gate.read`: opening words by the million, everything unclosed, nested, long, or nearly a call."""

from rightcall.gate.recover.machine import REASONING, builtin_formats
from support.hostile.kinds import Kind
from support.hostile.texts import DEEP, fill, numbered, repeat

CALL = '{"name": "note", "arguments": {"text": "x"}}'
HALF = '{"name": "note", "arguments": {"text": "x'
MARKED = f"<tool_call>{CALL}</tool_call>"
OPENING = sorted({word for one in builtin_formats() for word in one.opens} | {*REASONING})
CLOSING = sorted({word for one in builtin_formats() for word in one.closes} | {*REASONING.values()})


def deep(name: str, opening: str, middle: str = "", closing: str = "") -> Kind:
    def make(size: int) -> str:
        levels = min(DEEP, max(1, size // len(opening + closing)))
        return opening * levels + middle + closing * levels

    return Kind(f"read nest {name}", make)


def _flood(name: str, unit: str, before: str = "", after: str = "") -> Kind:
    return fill(f"read {name}", unit, before, after)


def _all(form: str, words: list[str]) -> str:
    return "".join(form.replace("WORD", word) for word in words)


WORDS = [
    *(_flood(f"opening {word!r}", word) for word in OPENING),
    *(_flood(f"half the example of {one.name}", one.example[: len(one.example) * 2 // 3]) for one in builtin_formats()),
    _flood("every opening word", _all("WORD", OPENING)),
    _flood("every opening word, words between", _all("WORD and then ", OPENING)),
    _flood("every opening word, a name after each", _all("WORDnote\n", OPENING)),
    _flood("every opening word, half an object after each", _all("WORD" + HALF, OPENING)),
    _flood("every opening word, brackets after each", _all('WORD{"a": [', OPENING)),
    _flood("every opening word, then x", "x", _all("WORD", OPENING)),
    _flood("every opening word, then blanks", " \n", _all("WORD", OPENING)),
    _flood("every closing word", _all("WORD", CLOSING)),
    _flood("every closing word, a call before each", _all(f"{CALL}WORD", CLOSING)),
    _flood("every example", "\n".join(one.example for one in builtin_formats())),
]

NESTED = [
    deep("[ after a marker", "<tool_call>" + "[", "1", "]"),
    deep("brackets in arguments", '<tool_call>{"name": "note", "arguments": {"extra": [', "", "]}}</tool_call>"),
    deep("envelopes", '{"name": "note", "arguments": ', "{}", "}"),
    deep("envelopes in a list", '[{"name": "note", "arguments": ', "{}", "}]"),
    deep("inner functions", '{"function": ', "{}", "}"),
    deep("lists of calls", '{"tool_calls": [', CALL, "]}"),
    deep("python calls", "[note(text=", "1", ")]"),
    deep("python lists after a marker", "<|tool_call_start|>[", 'note(text="x")', "]"),
    deep("braces of Gemma", "<start_function_call>call:note{text:{", "1", "}"),
    deep("markers", "<tool_call>", CALL, "</tool_call>"),
    deep("parameters", "<function=note><parameter=text>", "x", "</parameter></function>"),
    deep("fences", "```json\n", CALL, "\n```"),
    deep("thoughts", "<think>", MARKED, "</think>"),
    deep("quotes", '"`', MARKED, '`"'),
    deep("tags of MiniMax M3", ']<]minimax[>[<invoke name="note">]<]minimax[>[<text>', "x", "]<]minimax[>[</text>"),
]

LONG = [
    _flood("prose", "It is what it is, and that's that. The tool isn't called. "),
    _flood("lines of prose", "It's a line, (one) of [many], {a set} and <b>bold</b>.\n"),
    _flood("Markdown", "# Title\n\n- `code` and **bold**\n\n```python\nprint({'a': 1})\n```\n\n"),
    _flood("JSON lines", '{"a": 1, "b": ["x", {"c": null}]}\n'),
    Kind("read one JSON list", lambda size: "[" + numbered(size, '{{"id": {}, "name": "Ada"}}, ') + "{}]"),
    Kind("read one JSON object", lambda size: '{"a": 1' + numbered(size, ', "k{}": "v"') + "}"),
    Kind("read calls in a JSON list", lambda size: "[" + repeat(CALL + ", ", size) + CALL + "]"),
    _flood("calls", MARKED + "\n"),
    _flood("calls with prose between", "And now:\n" + MARKED + "\nThat was that.\n"),
    _flood("bare calls", CALL + "\n"),
    _flood("calls of unknown tools, bare", '{"name": "nobody", "arguments": {"a": 1}}\n'),
    _flood("calls in quotes", f"`{MARKED}` and "),
    _flood("calls introduced as samples", f"For example:\n{MARKED}\n"),
    _flood("calls in comments", f"# {MARKED}\n"),
    _flood("calls in thoughts", f"<think>{MARKED}</think> and "),
    _flood("calls in a thought that never closes", MARKED + " and ", "<think>"),
    _flood("placeholders", '<tool_call>{"name": "your_tool", "arguments": {}}</tool_call>'),
    _flood("one long string", "x", '<tool_call>{"name": "note", "arguments": {"text": "', '"}}</tool_call>'),
    _flood("one long string, bare", "x", '{"name": "note", "arguments": {"text": "', '"}}'),
    _flood("one long string that never ends", "x ", '<tool_call>{"name": "note", "arguments": {"text": "'),
    _flood("one long string that never ends, bare", "x ", '{"name": "note", "arguments": {"text": "'),
    _flood("one long python string", "x", '<|tool_call_start|>[note(text="', '")]<|tool_call_end|>'),
    _flood("one long parameter", "x ", "<function=note><parameter=text>", "</parameter></function>"),
    _flood(
        "one long value of a pair",
        "x ",
        "<tool_call>note\n<arg_key>text</arg_key>\n<arg_value>",
        "</arg_value></tool_call>",
    ),
    _flood("one long input of an action", "x ", "Action: note\nAction Input: "),
    _flood("one long name", "n", "<tool_call>", "(a=1)</tool_call>"),
    _flood("one long final answer", MARKED, "Final Answer: "),
    _flood("one long message of harmony", MARKED, "<|channel|>final<|message|>"),
    _flood("one long fence", MARKED + "\n", "```python\n"),
    _flood("one long word", "a"),
    _flood("one long first name", "a", "", '\n{"text": "x"}'),
    _flood("blanks after a first name", " ", "note", '{"text": "x"}'),
    _flood("blanks between a call and its closing marker", " ", f"<tool_call>{CALL}", "</tool_call>"),
    _flood(
        "closing tags in a string",
        "</tool_call>",
        '<tool_call>{"name": "note", "arguments": {"text": "',
        '"}}</tool_call>',
    ),
    _flood(
        "closing tags in a parameter", "</parameter> x ", "<function=note><parameter=text>", "</parameter></function>"
    ),
    _flood(
        "closing tags in a pair",
        "</arg_value> x ",
        "<tool_call>note<arg_key>text</arg_key><arg_value>",
        "</arg_value></tool_call>",
    ),
    _flood("surplus brackets", "}", MARKED[:-12]),
    _flood("tails", "<|im_end|>", MARKED),
    _flood("parameters of one call", "<parameter=text>x</parameter>", "<function=note>", "</function>"),
    _flood("pairs of one call", "<arg_key>text</arg_key><arg_value>x</arg_value>", "<tool_call>note", "</tool_call>"),
]

UNITS = (
    "<", "<|", "<｜", "|>", "{", "[", '{"', '[{"', "[a(", "[a(b=", "{ ", "{'a': ", '"', "'", "`", "``", "~~~", '"""',
    "#", "# a\n", "{%", "\\", "\\n", "\n", "\r\n", "> ", "[[", "]]", "({[", "<tool", "</", "<function", "call:",
    "name", '"name": ', "Action", "to=", "=", ">>", "\u2028", "\ud800", "\0", '"{"', "'{'", "`<tool_call>",
    '"<tool_call>"', "For example: <tool_call>", '{"name": "', '{"name": "note"', '{"name": "note", ',
    '{"name": "note", "arguments": {', "<tool_call>note(", "<tool_call>note{", "<tool_call>note", "<tool_call>{",
    "<tool_call>[", '<tool_call>{"', "<tool_call>call:note{text:<escape>", "<tool_call>note<arg_key>",
    "<tool_call>note<arg_key>text</arg_key>", "<tool_call>note<arg_key>text</arg_key><arg_value>",
    "<arg_key>text</arg_key>", "<function=note>", "<function=note><parameter=text>", "<function=note><parameter=",
    '<invoke name="', '<invoke name="note">{', "<![CDATA[", "<function=note><parameter=text><![CDATA[",
    "Action: note\n", "\nAction: note\nAction Input: ", "\nAction: note\nAction Input: `", "\nAction:\n```\n",
    ">>>note\n", ">>>note\n{", "to=functions.note json{", "to=functions.note ", "<|channel|>to=note<|message|>",
    "<|channel|>to=note", "<|start|>", "<|Start of Note Tool Call|>", "<|Start of Note Tool Call|>{",
    "<|call the tool", "<|open|>call ", '<|open|>call tool="note"<|sep|>',
    '<|open|>call tool="note"<|sep|><|open|>argument key="text" type="string"<|sep|>', "]<]minimax[>[",
    ']<]minimax[>[<invoke name="note">', "[TOOL_CALLS]note[ARGS]{", "[TOOL_CALLS]note[CALL_ID]",
    "functions.note:0{", "<think><tool_call>", "<think>`", "<think>```\n", "[THINK][/THINK]",
)  # fmt: skip

NEARLY = [_flood(repr(unit), unit) for unit in UNITS]

EMISSIONS = [*WORDS, *NESTED, *LONG, *NEARLY]
