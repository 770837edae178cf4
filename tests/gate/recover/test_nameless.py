"""An index, a blank, a sign or a word of the envelope names no tool, in any format, natively, and when checked."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from rightcall import Gate
from rightcall.catalog.catalog import may_name_tool
from rightcall.gate.recover import objects
from rightcall.gate.recover.machine import builtin_formats
from support.recover.streaming import differences

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
GATES = {
    "none known": Gate(),
    "one known": Gate([{"name": "get_weather", "parameters": SCHEMA}]),
    "unknown ones pass": Gate([{"name": "get_weather", "parameters": SCHEMA}], {"gate": {"unknown_tool": "pass"}}),
}
NAMES = (
    "0", "1", "42", "-1", "[0]", "#1", "0:0", ":0", "functions.0", "", " ", "\t", ".", "-", "_", "arguments",
    "Arguments", "ARGUMENTS", "functions.arguments", "parameters", "params", "args", "kwargs", "input", "name",
    "function", "functions.", "tool", "tool_calls", "toolCalls", "tool_call", "function_call", "type", "id", "index",
    "action", "action_input", "call", "null", "None",
    "1e3", "0x0", "-1.5e-3", "True", "true", "False",
)  # fmt: skip
EXAMPLES = [one for one in builtin_formats() if "get_weather" in one.example]


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def messages(name: Any) -> Iterator[Any]:
    """A call of this name, in the words of each API."""
    arguments, text = {"city": "Bern"}, '{"city": "Bern"}'
    function = {"name": name, "arguments": text}
    yield {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}]}
    yield {"role": "assistant", "function_call": function}
    yield {"type": "function_call", "call_id": "c", "name": name, "arguments": text}
    yield {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": name, "input": arguments}]}
    yield {"parts": [{"functionCall": {"name": name, "args": arguments}}]}
    yield {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    yield {"name": name, "arguments": arguments}


@pytest.mark.promise("R-01", "N-13")
@pytest.mark.parametrize("gate", GATES.values(), ids=GATES.keys())
def test_in_no_format_it_is_a_call(gate: Gate) -> None:
    for format_ in EXAMPLES:
        for name in NAMES:
            text = format_.example.replace("get_weather", name).replace("get_time", name)
            verdicts = gate.read(text).calls
            assert [one.found for one in verdicts if one.found is not None or one.ok] == [], (format_.name, text)


@pytest.mark.promise("R-02", "N-13")
@pytest.mark.parametrize("gate", GATES.values(), ids=GATES.keys())
def test_natively_and_checked_it_is_refused_with_a_hint(gate: Gate) -> None:
    for name in (*NAMES, None, 0, [], {}):
        verdicts = [verdict for message in messages(name) for verdict in gate.read(message).calls]
        verdicts.append(gate.check(name, {"city": "Bern"}))  # type: ignore[arg-type]
        assert all(not one.ok and one.hint for one in verdicts), name


@pytest.mark.promise("R-03", "N-13")
@pytest.mark.parametrize("gate", GATES.values(), ids=GATES.keys())
def test_arguments_without_a_name_around_them_are_no_call(gate: Gate) -> None:
    for text in (
        '<tool_call>{"arguments": {"city": "Bern"}}</tool_call>', '<tool_call>{"0": {"city": "Bern"}}</tool_call>',
        '<tool_call>{"function": {"arguments": {"city": "Bern"}}}</tool_call>', "<tool_call>arguments</tool_call>",
        '[TOOL_CALLS]arguments{"city": "Bern"}', 'arguments:0\n{"city": "Bern"}', '[arguments(city="Bern")]',
        '{"name": "arguments", "arguments": {"city": "Bern"}}', '<tool_call>{"tool_calls": {"city": "B"}}</tool_call>',
        '<tool_call>{"parameters": {"city": "Bern"}',
    ):  # fmt: skip
        assert [one for one in gate.read(text).calls if one.found is not None] == [], text


@pytest.mark.promise("N-08")
def test_a_tool_that_is_really_called_so_is_called() -> None:
    for name in ("input", "0", "arguments", "tool_call"):
        gate = Gate([{"name": name, "parameters": SCHEMA}, {"name": "inputs_of", "parameters": SCHEMA}])
        assert gate.check(name, {"city": "Bern"}).ok
        (verdict,) = gate.read(f'<tool_call>{{"name": "{name}", "arguments": {{"city": "Bern"}}}}</tool_call>').calls
        assert verdict.ok
        assert verdict.call == verdict.found


@pytest.mark.promise("N-08", "N-13")
def test_a_tool_with_a_name_like_it_is_not_meant() -> None:
    gate = Gate([{"name": "server__input", "parameters": SCHEMA}, {"name": "argument_s", "parameters": SCHEMA}])
    assert not gate.check("input", {"city": "Bern"}).ok
    assert not gate.check("argments", {"city": "Bern"}).ok


def test_every_word_of_the_envelope_is_known_as_one() -> None:
    words = {*objects.NAMES, *objects.ARGUMENTS}
    assert [word for word in sorted(words) if may_name_tool(word)] == []


@pytest.mark.promise("V-03")
def test_the_hint_names_the_tools_there_are() -> None:
    assert GATES["one known"].check("arguments", {}).hint == (
        "⚠️ Invalid tool call. The tool name is missing. Resend the call with a tool name. Tools: get_weather"
    )


@pytest.mark.promise("R-09")
def test_in_pieces_as_a_whole() -> None:
    for nth, format_ in enumerate(EXAMPLES):
        text = format_.example.replace("get_weather", NAMES[nth % len(NAMES)])
        assert differences(GATES["none known"], text, chunkings=1) == []
