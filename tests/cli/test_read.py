"""`rightcall read`: what a model wrote in, its calls out; one text, a native message, or JSON lines."""

import io
import json
import signal
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall import Gate
from rightcall.cli.lines import LineGates, answer_lines
from rightcall.cli.read import MAX_TEXT, LineReader
from rightcall.gate.records import place_records
from rightcall.gate.stream import Stream
from rightcall.types import Call, Place, Reading, Verdict
from support.cli import TOOLS, Runner, start
from support.every import every

RIGHT = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
STYLED = "<tool_call>{'name': 'getWeather', 'arguments': {'city': 'Rome', 'days': '3'}}</tool_call>"
REFUSED = '<tool_call>{"name": "book_table", "arguments": {"guests": 4}}</tool_call>'
CUT = '<tool_call>{"name": "get_weather", "arguments": {"city": "Os'
MADE_UP = '<|Start of Memory Helper Tool Call|>{"query": "x"}<|End of Memory Helper Tool Call|>'
SEARCH = [{"name": "search", "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}}]
SPOKEN = "Action: search\nAction Input: weather in Os"


def unwrapped(text: str) -> str:
    """Lines that were wrapped beside their label, joined again."""
    return " ".join(text.replace("\n                   ", " ").split())


# one text


@pytest.mark.promise("H-02", "R-05")
def test_each_call_is_shown_with_its_verdict_and_arguments_and_then_the_prose(run: Runner) -> None:
    done = run("read", f"First Oslo.\n{RIGHT}\nThen Rome: {STYLED} Bye.", "--tools", TOOLS)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "✓ get_weather may run, untouched\n"
        '  arguments        {"city": "Oslo"}\n'
        "✓ get_weather may run, repaired (confidence 0.97)\n"
        '  repaired         {"city": "Rome", "days": 3}\n'
        "  remaining text   First Oslo.\n"
        "\n"
        "                   Then Rome:  Bye.\n"
    )


@pytest.mark.promise("H-02")
def test_a_refused_call_ends_with_1_and_shows_the_hint(run: Runner) -> None:
    done = run("read", f"{RIGHT} {REFUSED}", "--tools", TOOLS)
    assert done.code == 1
    assert "✓ get_weather may run" in done.out
    assert '✗ book_table is refused\n  what was read    {"guests": 4}\n' in done.out
    assert "⚠️ Invalid book_table call. Missing required fields: restaurant, date. Example: {" in unwrapped(done.out)


@pytest.mark.promise("R-06")
def test_a_text_without_a_call_comes_back_and_ends_with_0(run: Runner) -> None:
    done = run("read", "It is sunny in Oslo.", "--tools", TOOLS)
    assert (done.code, done.out) == (0, "no call found\n  remaining text   It is sunny in Oslo.\n")
    assert run("read", RIGHT, "--tools", TOOLS).out.endswith("  remaining text   (none)\n")


@pytest.mark.promise("R-08")
def test_a_call_that_is_cut_off_is_refused_and_said_to_be_cut_off(run: Runner) -> None:
    done = run("read", CUT, "--tools", TOOLS)
    assert done.code == 1
    assert done.out.startswith("✗ a tool call is refused\n  truncated        the text ends before the call does\n")
    assert "resend it complete" in unwrapped(done.out)


@pytest.mark.promise("R-07")
def test_made_up_markup_is_refused_with_the_real_tools(run: Runner) -> None:
    done = run("read", MADE_UP, "--tools", TOOLS)
    assert done.code == 1
    assert "get_weather" in done.out
    assert "<|Start" not in done.out


def test_the_text_comes_from_an_argument_a_file_or_standard_input(run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "answer.txt"
    file.write_text(RIGHT)
    outputs = {
        run("read", RIGHT, "--json").out,
        run("read", "--file", str(file), "--json").out,
        run("read", "-", "--json", stdin=RIGHT).out,
        run("read", "--json", stdin=RIGHT).out,
    }
    assert len(outputs) == 1
    assert json.loads(outputs.pop())["calls"][0]["name"] == "get_weather"


def test_explain_says_where_each_call_stood_in_which_format_and_what_was_repaired(run: Runner) -> None:
    text = f"Here:\n\n{STYLED}\nand `{RIGHT}`"
    done = run("read", text, "--tools", TOOLS, "--explain", columns=160)
    start = text.index(STYLED)
    (found,) = [line for line in done.out.splitlines() if line.startswith("  found  ")]
    assert f"line 3, characters {start} to " in found
    assert found.endswith(", in the format hermes")
    assert "  input            <tool_call>{'name': 'getWeather', 'arguments': " in done.out
    assert '  read as          getWeather {"city": "Rome", "days": "3"}' in done.out
    assert '  repairs          (the call)  "getWeather" → "get_weather"  [tool_style, structure, ' in done.out
    assert 'days        "3" → 3  [number_text, structure, certain]' in done.out
    assert "  left alone       line " in done.out
    assert ": a call in quotes or code was left in the text  [quoted]" in done.out


def test_explain_gives_the_reasons_of_a_refusal(run: Runner) -> None:
    done = run("read", REFUSED, "--tools", TOOLS, "--explain")
    assert "  problems         `restaurant` is missing  [missing]\n" in done.out
    assert "  trying again     can help" in done.out


def test_what_was_left_alone_is_counted_without_explain(run: Runner) -> None:
    done = run("read", f"Write `{RIGHT}` to call it.")
    assert done.out.startswith("no call found\n")
    assert "left alone       1 place that may look like a call; --explain says why" in done.out


@pytest.mark.promise("R-05")
def test_json_output_is_one_object_with_calls_prose_and_notes(run: Runner) -> None:
    text = f"A\n{STYLED} B `{RIGHT}` {MADE_UP}"
    done = run("read", text, "--tools", TOOLS, "--json")
    assert done.code == 1
    record = done.json
    assert list(record) == ["calls", "unread", "text", "notes"]
    (call,) = record["calls"]
    assert list(call) == [
        "name", "arguments", "ok", "call", "found", "id", "repairs", "problems", "hint", "confidence", "truncated",
        "strategy", "retry", "mode", "place",
    ]  # fmt: skip
    found = {"name": "getWeather", "arguments": {"city": "Rome", "days": "3"}}
    assert (call["name"], call["arguments"]) == (found["name"], found["arguments"])
    assert call["found"] == found
    assert call["call"] == {"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}
    assert call["ok"] is True
    assert (call["place"]["start"], call["place"]["line"], call["place"]["format"]) == (2, 2, "hermes")
    (unread,) = record["unread"]
    assert list(unread) == ["ok", "problems", "hint", "truncated", "retry", "place"]
    assert unread["ok"] is False
    assert unread["problems"][0]["code"] == "unknown_tool"
    assert unread["place"]["format"] == "hallucinated"
    assert record["text"] == f"A\n B `{RIGHT}` "
    (note,) = record["notes"]
    assert (note["code"], note["line"]) == ("quoted", 2)
    assert {"message", "start", "end"} < set(note)


def test_a_call_of_an_unknown_tool_is_refused_with_the_call_still_in_it(run: Runner) -> None:
    done = run("read", '<tool_call>{"name": "teleport", "arguments": {"to": "Oslo"}}</tool_call>', "--tools", TOOLS,
               "--json")  # fmt: skip
    (call,) = done.json["calls"]
    assert (done.code, call["ok"], call["name"], call["arguments"]) == (1, False, "teleport", {"to": "Oslo"})


@pytest.mark.promise("R-08")
def test_the_finish_reason_length_makes_plain_text_at_the_end_a_cut_call(run: Runner, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(SEARCH))
    whole = run("read", SPOKEN, "--tools", str(tools), "--finish-reason", "stop", "--json")
    assert (whole.code, whole.json["calls"][0]["arguments"]) == (0, {"query": "weather in Os"})
    cut = run("read", SPOKEN, "--tools", str(tools), "--finish-reason", "length", "--json")
    assert (cut.code, cut.json["calls"]) == (1, [])
    assert cut.json["unread"][0]["truncated"] is True


@pytest.mark.promise("R-09")
@every("size", [1, 2, 7, 1000])
def test_reading_as_a_stream_prints_the_same(run: Runner, size: int) -> None:
    text = f"A {STYLED} B `{RIGHT}` {MADE_UP} {REFUSED} C {CUT}"
    for more in (("--json",), ("--finish-reason", "length", "--json"), ()):
        whole = run("read", text, "--tools", TOOLS, *more)
        assert run("read", text, "--tools", TOOLS, "--stream", str(size), *more) == whole


@pytest.mark.promise("R-09")
def test_a_stream_is_really_read_in_pieces_and_told_its_end(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def push(self: Stream, chunk: str) -> list[Any]:
        seen.append(chunk)
        return [chunk]

    def close(self: Stream, finish_reason: str | None = None) -> list[Any]:
        seen.append(finish_reason)
        return []

    monkeypatch.setattr(Stream, "push", push)
    monkeypatch.setattr(Stream, "close", close)
    assert run("read", "abcde", "--stream", "2", "--finish-reason", "length", "--json").json["text"] == "abcde"
    assert run("read", "--jsonl", "--stream", "3", stdin=b'"abcde"').lines[0]["text"] == "abcde"
    assert seen == ["ab", "cd", "e", "length", "abc", "de", None]


def test_places_name_their_line_in_whatever_order_they_come() -> None:
    places = [Place(4, 5, "a"), Place(5, 6, "b"), Place(0, 1, "c"), Place(9, 9, "d")]
    lines = [place["line"] for place in place_records(places, "a\nb\nc\nd\ne")]
    assert lines == [3, 3, 1, 5]
    assert [place["line"] for place in place_records(places, None)] == [None] * 4


def test_statistics_are_printed_to_standard_error(run: Runner) -> None:
    done = run("read", f"{RIGHT}{REFUSED}", "--tools", TOOLS, "--stats")
    assert json.loads(done.err)["total_calls"] == 2


@every(
    ("arguments", "message"),
    [
        (["a", "--file", "b"], "read takes one of TEXT, --file and --message, not TEXT and --file"),
        (["--file", "a", "--message", "b"], "not --file and --message"),
        (["a", "--stream", "0"], "--stream is the number of characters of a piece, 1 or more, not 0"),
        (["a", "--stream", "x"], "invalid int value"),
        (["--message", "m.json", "--stream", "3"], "it does not go with --stream"),
        (["--message", "m.json", "--jsonl"], "it does not go with --jsonl"),
        (["--file", "absent.txt"], "absent.txt: cannot be read: No such file"),
        (["--message", "absent.json"], "absent.json: cannot be read: No such file"),
        (["--jsonl", "absent.jsonl"], "absent.jsonl: cannot be read: No such file"),
        (["a", "--tools", "absent.json"], "absent.json: cannot be read"),
        (["a", "--pack", "agent-zer"], "agent-zer"),
    ],
)
def test_wrong_usage_ends_with_2_and_a_plain_message(run: Runner, arguments: list[str], message: str) -> None:
    done = run("read", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err


@pytest.mark.promise("R-10")
@pytest.mark.parametrize(
    "text", ["\x1b[2J<tool_call>\x07{'name': '\x1b[8m', 'arguments': {'\u202e': '\x9b2J'}}</tool_call>\x1b[H", "\ud800"]
)
def test_nothing_a_model_wrote_reaches_the_terminal_raw(run: Runner, text: str) -> None:
    for more in ((), ("--explain",), ("--json",), ("--explain", "--tools", TOOLS)):
        done = run("read", text, *more)
        assert done.out
        assert not {"\x1b", "\x07", "\u202e", "\x9b", "\ud800"} & set(done.out + done.err)


@pytest.mark.promise("R-10")
def test_twenty_megabytes_are_read_and_more_than_the_limit_is_refused(run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_text("word " * 4_000_000 + RIGHT)
    done = run("read", "--file", str(file))
    assert done.code == 0
    assert done.out.startswith("! get_weather can be read")
    done = run("read", stdin=b"x" * (MAX_TEXT + 1))
    assert done.code == 2
    assert f"standard input: is larger than {MAX_TEXT:,} bytes" in done.err


# a native message


def reading_of(seen: list[Any]) -> Any:
    """Stands in for `Gate.read`: it keeps what it was given and finds one native call."""
    call = Call("get_weather", {"city": "Oslo"}, "c1")

    def read(self: Gate, message: Any, finish_reason: str | None = None) -> Reading:
        seen.append((message, finish_reason))
        return Reading((Verdict(ok=True, call=call, found=call),), "Well.", (), (Place(0, 0, "native"),))

    return read


MESSAGE = {"role": "assistant", "content": "Well.", "tool_calls": [{"id": "c1"}]}


@pytest.mark.promise("R-02")
def test_a_native_message_is_handed_to_the_gate_as_it_is(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(Gate, "read", reading_of(seen))
    file = tmp_path / "message.json"
    file.write_text(json.dumps(MESSAGE))
    done = run("read", "--message", str(file), "--finish-reason", "stop", "--explain")
    assert done.code == 0
    assert "  found            in the message, in the format native\n" in done.out
    record = run("read", "--message", "-", "--json", stdin=json.dumps(MESSAGE)).json
    assert record["calls"][0]["id"] == "c1"
    assert record["calls"][0]["place"] == {"start": 0, "end": 0, "line": None, "format": "native"}
    lines = run("read", "--jsonl", stdin=json.dumps({"id": 7, "message": MESSAGE, "finish_reason": "length"})).lines
    assert (lines[0]["id"], lines[0]["text"]) == (7, "Well.")
    assert seen == [(MESSAGE, "stop"), (MESSAGE, None), (MESSAGE, "length")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"role":\n nonsense}', "message.json:2: is not JSON: Expecting value (column 2)"),
        ('{"input": {"a": 1, "a": 2}}', "message.json: cannot be used: a key is given twice"),
        ("[" * 100_000, "message.json: cannot be used"),
    ],
)
def test_a_message_that_is_no_json_is_named_with_its_line(run: Runner, tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "message.json"
    file.write_text(text)
    done = run("read", "--message", str(file))
    assert (done.code, done.out) == (2, "")
    assert message in done.err


# JSON lines


@pytest.mark.promise("H-02")
def test_lines_are_answered_one_by_one_in_order_and_a_bad_line_does_not_end_the_run(run: Runner) -> None:
    lines = [
        json.dumps({"id": 1, "text": f"Hi {RIGHT}"}),
        json.dumps(RIGHT),
        "nonsense",
        json.dumps({"id": 4, "words": "x"}),
        json.dumps({"id": 5, "text": "x", "message": {}}),
        json.dumps({"id": 6, "text": 3}),
        json.dumps({"id": 7, "text": "x", "finish_reason": 3}),
        json.dumps({"id": 8, "text": "x", "tools": {}}),
        json.dumps({"id": 9, "text": "x", "tools": [3]}),
        "[1]",
        '{"id": 11, "text": "a", "text": "b"}',
        json.dumps({"id": None, "text": "No call."}),
    ]
    done = run("read", "--jsonl", "--tools", TOOLS, stdin="\n".join(lines) + "\n\n")
    assert done.code == 0
    one, two, *bad, last = done.lines
    assert (one["id"], one["calls"][0]["name"], one["calls"][0]["arguments"]) == (1, "get_weather", {"city": "Oslo"})
    assert (one["calls"][0]["ok"], one["text"]) == (True, "Hi ")
    assert "id" not in two
    assert len(two["calls"]) == 1
    assert [(line["id"], line["line"]) for line in bad] == [
        (None, 3), (4, 4), (5, 5), (6, 6), (7, 7), (8, 8), (9, 9), (None, 10), (None, 11),
    ]  # fmt: skip
    words = ["not JSON", 'expected "text"', "both", '"text" must be', '"finish_reason" is', '"tools" is a list', "tool",
             'expected "text"', "a key is given twice"]  # fmt: skip
    assert [word for word, line in zip(words, bad, strict=True) if word not in line["error"]] == []
    assert last == {"id": None, "calls": [], "unread": [], "text": "No call.", "notes": []}


def test_refused_calls_do_not_change_the_exit_code_of_lines(run: Runner) -> None:
    done = run("read", "--jsonl", "--tools", TOOLS, stdin=json.dumps(REFUSED))
    assert (done.code, done.lines[0]["calls"][0]["ok"]) == (0, False)


def test_a_line_can_bring_its_own_tools(run: Runner) -> None:
    tools = [{"name": "add", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}]
    text = '{"name": "add", "arguments": {"n": "1"}}'
    lines = [{"text": text, "tools": tools}, {"text": text}, {"text": text, "tools": None}, {"text": text, "tools": []}]
    done = run("read", "--jsonl", "--tools", TOOLS, stdin="\n".join(map(json.dumps, lines)))
    own, given, none, unknown = done.lines
    assert own["calls"][0]["call"] == {"name": "add", "arguments": {"n": 1}}
    assert given["calls"] == none["calls"] == []
    assert unknown["calls"][0]["arguments"] == {"n": "1"}


def test_the_finish_reason_of_a_line_comes_before_the_one_for_all(run: Runner) -> None:
    line = {"text": SPOKEN, "tools": SEARCH}
    lines = [line, line | {"finish_reason": None}, line | {"finish_reason": "stop"}, line | {"finish_reason": "length"}]
    stdin = "\n".join(map(json.dumps, lines))
    assert [len(one["calls"]) for one in run("read", "--jsonl", stdin=stdin).lines] == [1, 1, 1, 0]
    ended = run("read", "--jsonl", "--finish-reason", "length", stdin=stdin)
    assert [len(one["calls"]) for one in ended.lines] == [0, 0, 1, 0]


def test_lines_come_from_a_file_as_well_and_can_be_streamed(run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps({"id": "a", "text": f"x {STYLED} y"}) + "\n")
    whole = run("read", "--jsonl", str(file), "--tools", TOOLS)
    assert whole.lines[0]["calls"][0]["ok"] is True
    assert run("read", "--jsonl", "--file", str(file), "--tools", TOOLS, "--stream", "1") == whole


def test_a_line_beyond_the_limit_is_refused_clearly_and_the_next_is_answered(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightcall.cli.read.MAX_TEXT", 1000)
    done = run("read", "--jsonl", "--stats", stdin=json.dumps("x" * 1000) + "\n" + json.dumps(RIGHT))
    assert done.code == 0
    assert done.lines[0] == {"id": None, "line": 1, "error": "the line is longer than 1,000 bytes"}
    assert done.lines[1]["calls"][0]["ok"] is True
    assert json.loads(done.err)["total_calls"] == 1


def answers(lines: bytes, stream: int) -> list[Any]:
    options = Namespace(pack=[], provider=None, stats=False)
    out = io.StringIO()
    answer_lines(io.BytesIO(lines), LineGates(options, Gate()), out, LineReader(None, stream))
    return [json.loads(line) for line in out.getvalue().splitlines()]


LINE = st.text(max_size=8) | st.fixed_dictionaries(
    {},
    optional={
        "id": st.none() | st.integers() | st.text(max_size=3),
        "text": st.none() | st.sampled_from([RIGHT, STYLED, CUT, MADE_UP, f"`{RIGHT}"]) | st.text(max_size=8),
        "tools": st.sampled_from([None, [], [{}], [{"name": "get_weather"}], {"name": "add"}, "add", [3]]),
        "finish_reason": st.sampled_from([None, "stop", "length", 3]),
    },
)


@given(st.lists(LINE.map(json.dumps).map(str.encode) | st.binary(max_size=20), max_size=5), st.integers(0, 3))
@pytest.mark.promise("R-10")
def test_every_line_gets_exactly_one_answer_that_is_json(lines: list[bytes], stream: int) -> None:
    text = b"\n".join(lines)
    found = answers(text, stream)
    assert len(found) == sum(bool(line.strip()) for line in text.split(b"\n"))
    assert all(("error" in one) != ("calls" in one) for one in found)


@pytest.mark.promise("R-10")
@every("field", ["text", "tools", "id", "other"])
def test_nesting_without_end_in_a_line_is_answered(field: str) -> None:
    deep = b"[" * 50_000 + b"1" + b"]" * 50_000
    (answer,) = answers(b'{"text": "x", "%s": %s}' % (field.encode(), deep), 0)
    assert answer["error"] == "the line cannot be read: its JSON is nested too deeply"


# as a process


def test_a_program_can_talk_to_it_line_by_line_and_ctrl_c_ends_it_quietly() -> None:
    process = start("read", "--jsonl", "--tools", TOOLS)
    assert process.stdin
    assert process.stdout
    for number in range(3):
        process.stdin.write(json.dumps({"id": number, "text": RIGHT}).encode() + b"\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith(b'{"id": %d, "calls": [{"name": "get_weather", ' % number)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")


def test_colours_appear_on_demand_only() -> None:
    def output(**more: str) -> str:
        process = start("read", RIGHT, "--tools", TOOLS, **more)
        out, err = process.communicate()
        assert (process.returncode, err) == (0, b"")
        return out.decode()

    assert "\x1b" not in output()
    assert "\x1b[32m" in output(FORCE_COLOR="1")


@pytest.mark.promise("R-06")
@pytest.mark.parametrize(
    ("options", "calls"), [((), 2), (("--reasoning", "open"), 1), (("--model", "R1:7b"), 1), (("--stream", "3"), 2)]
)
def test_calls_before_a_lone_closing_tag_count_unless_the_prompt_opened_the_reasoning(
    options: tuple[str, ...], calls: int, tmp_path: Path, run: Runner
) -> None:
    policy, lines, text = tmp_path / "rightcall.toml", tmp_path / "lines.jsonl", f"Hm. {RIGHT}</think>{RIGHT}"
    policy.write_text('version = 1\n[gate.models."r1*"]\nreasoning = "open"\n', encoding="utf-8")
    lines.write_text(json.dumps({"text": text, "tools": [{"name": "get_weather"}]}), encoding="utf-8")
    for words in ((text, "--json"), ("--jsonl", str(lines))):
        done = run("read", *words, "--policy", str(policy), *options)
        assert len(json.loads(done.out)["calls"]) == calls
