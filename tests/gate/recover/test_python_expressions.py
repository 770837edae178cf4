"""A Python expression is no value: in a call as Python writes it, only literals are arguments (N-13, N-17)."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from rightcall import Gate
from rightcall.types import Verdict
from support.recover.streaming import differences

TYPES: dict[str, Any] = {
    "text": {"type": "string"}, "any": {}, "count": {"type": "integer"}, "list": {"type": "array"},
    "table": {"type": "object"}, "texts": {"type": "array", "items": {"type": "string"}},
}  # fmt: skip
SCHEMA = {"type": "object", "properties": TYPES | {"note": {"type": "string"}}}
TOOLS = [{"name": name, "parameters": SCHEMA} for name in ("tool", "get_path")]
KNOWN, NONE = Gate(TOOLS), Gate()

FORMATS = {
    "llama4": "<|python_start|>[{}]<|python_end|>",
    "llama4, bare": "[{}]",
    "llama3": "<|python_tag|>{}",
    "lfm2": "<|tool_call_start|>[{}]<|tool_call_end|>",
    "lfm2, no list": "<|tool_call_start|>{}<|tool_call_end|>",
    "lfm2, cut": "<|tool_call_start|>[{}",
    "olmo3": "<function_calls>{}</function_calls>",
    "olmo3, the second": '<function_calls>{}\ntool(any="1")</function_calls>',
    "tool_code": "```tool_code\n{}\n```",
    "hermes": "<tool_call>{}</tool_call>",
    "react": "Action: {}\n",
    "printed": "<tool_code>print({})</tool_code>",
}
EXPRESSIONS = (
    'get_path("x")', "get_path('x')", 'get_path(text="x")', 'os.getenv("HOME")', 'open("x").read()', "f()", "f(1)",
    'open("x", "r").read()', "datetime.now()", "str(1)", "dict(a=1)", 'Path("x")', "a.b", "a[0]", 'a["k"]',
    "[1, 2][0]", '{"a": 1}["a"]', '"a"[0]', '"a"[0:1]', "1 + n", "n + 1", "n+1", "2 * 3", "(1 + 2)", "2**10", "-x",
    "~1", "lambda: 1", "lambda a: a", "await get()", "yield x", "not x", "x or y", "a and b", "x if y else z",
    '"a" if y else "b"', "'a' if y else 'b'", '"a" or "b"', '"a" in "b"', '"a" == "b"', '"a" + b', 'b + "a"',
    '"a" + b + "c"', '"a" + get("b") + "c"', '"a" % b', '"%s" % ("b",)', '"a" * 3', '"a".upper()',
    '"a".join(["b"])', '"a,b".split(",")', '"a".replace("b", "c")', '"{}".format(x)', '"\\n".join(["a", "b"])',
    'f"a{b}"', "f'{b}'", 'F"{b}"', 'rf"{b}"', 'fr"{b}"', 'f"""{b}"""', "f\"it's {b}\"", "'a' f'{b}'",
    "[i for i in y]", "[f(i) for i in y]", '["a" for x in "b"]', "{k: v for k in y}", "(x for x in y)",
    '["a", get("b")]', "[a.b]", '{"a": f(1)}', '{"a": b.c}', '[f"{b}"]', '{"a": f"{b}"}', "*args", "x := 1",
    "1 < 2", "x == 1", "$HOME", "json.dumps({'a': 1})",
    '"a" \\\n + f()', '"a"\\\n.upper()', "'a' \\\r\n + f(\"x\")", '"a" \\\n if y else "b"', '"a"  # c\n + f()',
    '`get_path("a")`',
    "`a[0]`",
)  # fmt: skip
LITERALS = (
    ("1", 1), ("-1", -1), ("1.5", 1.5), ("True", True), ("None", None), ('""', ""), ('"a"', "a"), ("'a'", "a"),
    ('"a" "b"', "ab"), ("'a' \"b\" 'c'", "abc"), ('("a"\n  "b")', "ab"), ('f"ab"', "ab"), ('r"\\d"', "\\d"),
    ("[-1, -2]", [-1, -2]), ('{"a": -1}', {"a": -1}), ('[["a"], {"b": [None]}]', [["a"], {"b": [None]}]),
    ('("a", "b")', ["a", "b"]), ('"""x\ny"""', "x\ny"), ('"f(x)"', "f(x)"), ('"a.b()"', "a.b()"), ('"{x}"', "{x}"),
    ('"x if y else z"', "x if y else z"), ("'get(\"x\")'", 'get("x")'), ('"f\\"{b}\\""', 'f"{b}"'),
    ("\"f'{b}'\"", "f'{b}'"), ('"it\'s"', "it's"), ('"[i for i in y]"', "[i for i in y]"),
)  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def texts(value: str, argument: str) -> Iterator[tuple[str, str]]:
    """A call with this value, as the only argument, the first or the last, in each format."""
    shapes = ("tool({0}={1})", 'tool({0}={1}, note="b")', 'tool(note="b", {0}={1})')
    formats = list(FORMATS.items())
    for nth, (name, form) in enumerate(formats if argument in ("text", "any") else formats[:: len(value) % 3 + 4]):
        yield name, form.format(shapes[nth % 3].format(argument, value))


def passed(verdicts: tuple[Verdict, ...]) -> list[Any]:
    """The calls that would run, but for the one that is there to be swallowed."""
    calls = [one.call for one in verdicts if one.ok and one.call is not None]
    return [call for call in calls if call.arguments != {"any": "1"}]


@pytest.mark.promise("N-13", "N-17")
@pytest.mark.parametrize("argument", TYPES)
def test_an_expression_is_refused_with_a_hint_whatever_the_schema_wants(argument: str) -> None:
    for expression in EXPRESSIONS:
        for name, text in texts(expression, argument):
            verdicts = KNOWN.read(text).calls
            assert passed(verdicts) == [], text
            told = any(not one.ok and one.hint for one in verdicts)
            assert told or name == "llama4, bare", text  # without a marker it may be program source


@pytest.mark.promise("N-13", "N-17")
def test_without_a_catalogue_none_passes_either() -> None:
    for expression in EXPRESSIONS:
        for _, text in texts(expression, "text"):
            assert passed(NONE.read(text).calls) == [], text


@pytest.mark.promise("N-13", "N-17")
@pytest.mark.parametrize("gate", [KNOWN, NONE], ids=["known", "unknown"])
def test_arguments_that_are_written_as_a_call_hold_no_expression(gate: Gate) -> None:
    passed = [
        (expression, verdict.call)
        for expression in EXPRESSIONS
        for argument in TYPES
        if (verdict := gate.check("tool", f"tool({argument}={expression})")).ok
    ]
    assert passed == []


@pytest.mark.promise("R-01", "N-17")
def test_literals_are_read_as_python_reads_them() -> None:
    for written, value in LITERALS:
        for name, text in texts(written, "any"):
            if name == "lfm2, cut" or (name == "react" and "\n" in written):
                continue
            assert [call.arguments["any"] for call in passed(KNOWN.read(text).calls)] == [value], text


@pytest.mark.promise("N-13")
def test_a_plain_word_is_text_where_arguments_are_checked_and_a_name_where_they_are_read() -> None:
    assert KNOWN.check("tool", "tool(text=home)").call.arguments == {"text": "home"}  # type: ignore[union-attr]
    (verdict,) = KNOWN.read("<|tool_call_start|>[tool(text=home)]<|tool_call_end|>").calls
    assert (verdict.ok, verdict.hint) == (
        False,
        "⚠️ Invalid tool call. The tool call could not be read: an argument must be a literal value, not an expression.",
    )


@pytest.mark.promise("R-04")
def test_quotes_inside_a_text_are_still_text() -> None:
    for inside in ('the "best" of all', 'he said "no" to it', 'a 5" pipe and a 6" one', '"a" is first'):
        text = f'<|tool_call_start|>[tool(text="{inside}")]<|tool_call_end|>'
        verdicts = KNOWN.read(text).calls
        assert all(not one.ok or one.call.arguments == {"text": inside} for one in verdicts), text  # type: ignore[union-attr]


@pytest.mark.promise("R-06")
def test_program_source_amid_prose_is_no_call() -> None:
    for text in ('I wrote [tool(text=get_path("x"))] there.', "Use [tool(text=i) for i in y].", "f(x) = 2x + 1"):
        assert KNOWN.read(text).calls == NONE.read(text).calls == ()


@pytest.mark.promise("R-09")
@pytest.mark.parametrize("gate", [KNOWN, NONE], ids=["known", "unknown"])
def test_in_pieces_as_a_whole(gate: Gate) -> None:
    for nth, expression in enumerate(EXPRESSIONS):
        name = list(FORMATS)[nth % len(FORMATS)]
        assert differences(gate, FORMATS[name].format(f"tool(text={expression})"), chunkings=1) == []
