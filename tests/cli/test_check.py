"""`rightcall check`: one call, or JSON lines."""

import argparse
import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall import Gate
from rightcall.cli.lines import LineGates, answer_lines
from rightcall.cli.options import MAX_BYTES
from support.cli import EXAMPLES, TOOLS, Runner
from support.every import every

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.promise("H-02")
def test_a_right_call_may_run_untouched(run: Runner) -> None:
    done = run("check", "get_weather", '{"city": "Oslo", "days": 3}', "--tools", TOOLS)
    assert done.code == 0
    assert done.out.startswith("✓ get_weather may run, untouched\n")
    assert done.err == ""


@pytest.mark.promise("H-02")
def test_a_repaired_call_says_what_was_written_what_comes_out_and_why(run: Runner) -> None:
    done = run("check", "get_weather", "{'city': 'Oslo', days: '3'}", "--tools", TOOLS)
    assert done.code == 0
    assert done.out.startswith("✓ get_weather may run, repaired")
    assert "input            {'city': 'Oslo', days: '3'}" in done.out
    assert 'repaired         {"city": "Oslo", "days": 3}' in done.out
    assert "(the call)  single quotes read as double quotes  [single_quotes, " in done.out
    assert 'days        "3" → 3  [' in done.out


@pytest.mark.promise("H-02")
def test_a_refused_call_ends_with_1_and_shows_the_hint(run: Runner) -> None:
    done = run("check", "book_table", '{"restaurant": "Da Enzo"}', "--tools", TOOLS)
    assert done.code == 1
    assert done.out.startswith("✗ book_table is refused\n")
    assert "⚠️ Invalid book_table call. Missing required fields: guests, date. Example: {" in done.out.replace(
        "\n                   ", " "
    )


def test_json_output_is_one_object_with_every_field(run: Runner) -> None:
    done = run("check", "getWeather", "{'city': 'Oslo', days: '3'}", "--tools", TOOLS, "--json")
    assert done.code == 0
    record = done.json
    assert record["ok"] is True
    assert (record["name"], record["arguments"]) == ("get_weather", {"city": "Oslo", "days": 3})
    assert record["found"]["arguments"] == {"city": "Oslo", "days": "3"}
    assert {"path", "before", "after", "strategy", "rule", "confidence", "note"} == set(record["repairs"][0])
    assert record["mode"] == "block"


def test_arguments_come_from_a_file_or_from_standard_input(run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "arguments.txt"
    file.write_text('{"city": "Oslo",}')
    for argument, stdin in ((f"@{file}", ""), ("-", '{"city": "Oslo",}')):
        done = run("check", "get_weather", argument, "--tools", TOOLS, "--json", stdin=stdin)
        assert done.json["arguments"] == {"city": "Oslo"}


def test_explain_says_how_the_call_was_read_and_which_tool_it_was_taken_for(run: Runner) -> None:
    done = run("check", "getWeather", "{'city': 'Oslo'}", "--tools", TOOLS, "--explain")
    for words in ("read as", "strategy", "confidence", "block: a call with problems is refused", "* city"):
        assert words in done.out
    unknown = run("check", "teleport", "{}", "--tools", TOOLS, "--explain")
    assert unknown.code == 1
    assert "get_weather, book_table" in unknown.out


def test_without_tools_a_readable_call_passes_as_it_was_read(run: Runner) -> None:
    done = run("check", "anything", "{'a': 1,}", "--json")
    assert (done.code, done.json["arguments"]) == (0, {"a": 1})


def test_the_policy_file_decides_the_mode(run: Runner, tmp_path: Path) -> None:
    policy = tmp_path / "rightcall.toml"
    policy.write_text('version = 1\n[gate]\nmode = "warn"\n')
    done = run("check", "book_table", '{"restaurant": "Da Enzo"}', "--tools", TOOLS, "--policy", str(policy))
    assert done.code == 0
    assert done.out.startswith("! book_table runs with a warning (mode warn)\n")
    policy.write_text('version = 1\n[gate]\nmode = "observe"\n')
    done = run("check", "book_table", "{'restaurant': 'Da Enzo'}", "--tools", TOOLS, "--policy", str(policy))
    assert done.code == 0
    assert done.out.startswith("○ book_table passes as it is (mode observe); what would have happened:\n")


def test_a_wrong_policy_file_is_named_with_its_line(run: Runner, tmp_path: Path) -> None:
    policy = tmp_path / "rightcall.toml"
    policy.write_text('version = 1\n[gate]\nmode = "blok"\n')
    done = run("check", "t", "{}", "--policy", str(policy))
    assert done.code == 2
    assert "rightcall.toml:3: " in done.err


def test_tools_from_toml_and_python_work_too(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tools.toml").write_text(
        "[tools.add]\n[tools.add.parameters]\ntype = 'object'\nrequired = ['n']\nproperties.n.type = 'integer'\n"
    )
    (tmp_path / "my_check_tools.py").write_text("def add(n: int) -> int:\n    return n\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for source in ("tools.toml", "my_check_tools:add"):
        done = run("check", "add", '{"n": "5"}', "--tools", source, "--json")
        assert (done.code, done.json["arguments"]) == (0, {"n": 5})


@pytest.mark.parametrize("text", ["\x1b[2J\x1b[H{'city': '\x07\u202eOslo'}", '{"city": "\x9b2J"}', "\ud800"])
def test_nothing_a_model_wrote_reaches_the_terminal_raw(run: Runner, text: str) -> None:
    for more in ((), ("--explain",), ("--json",)):
        done = run("check", "get_weather\x1b[8m", text, "--tools", TOOLS, *more)
        assert not {"\x1b", "\x07", "\u202e", "\x9b", "\ud800"} & set(done.out + done.err)


# JSON lines


@pytest.mark.promise("H-02")
def test_lines_are_answered_one_by_one_in_order_and_a_bad_line_does_not_end_the_run(run: Runner) -> None:
    lines = [
        {"id": 1, "name": "get_weather", "arguments": {"city": "Oslo"}},
        {"id": "two", "tool": "get_weather", "args": "{'city': 'Rome', days: '3'}"},
        "nonsense",
        {"id": 4, "arguments": {}},
        {"name": "get_weather", "emitted": "{}"},
        [1],
    ]
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n\n"
    done = run("check", "--jsonl", "--tools", TOOLS, stdin=text)
    assert done.code == 0
    one, two, three, four, five, six = done.lines
    assert (one["id"], one["ok"], one["arguments"]) == (1, True, {"city": "Oslo"})
    assert (two["id"], two["ok"], two["arguments"]) == ("two", True, {"city": "Rome", "days": 3})
    assert three["id"] is None
    assert three["line"] == 3
    assert "not JSON" in three["error"]
    assert four == {"id": 4, "line": 4, "error": 'the line needs "name" (or "tool"): the name of the tool, as text'}
    assert five["ok"] is False
    assert "id" not in five
    assert six == {"id": None, "line": 6, "error": "the line is JSON, but no object"}


def test_lines_come_from_a_file_as_well(run: Runner) -> None:
    done = run("check", "--jsonl", str(EXAMPLES / "calls.jsonl"), "--tools", TOOLS)
    assert done.code == 0
    assert [line.get("ok") for line in done.lines] == [True, True, False, None, True]
    assert done.lines[4]["arguments"] == {"a": 1, "b": 2}


def test_a_line_can_bring_its_own_tools_or_the_schema_of_its_tool(run: Runner) -> None:
    tools = [{"name": "add", "parameters": SCHEMA}]
    lines = [
        {"name": "add", "arguments": {"n": "1"}, "tools": tools},
        {"tool": "add", "emitted": {"n": "2"}, "schema": SCHEMA},
        {"name": "add", "arguments": {"n": "3"}},
        {"name": "add", "arguments": {}, "tools": {"no": "list"}},
        {"name": "add", "arguments": {}, "schema": "string"},
        {"id": 6, "name": "add", "arguments": {}, "schema": {"type": 17}},
    ]
    done = run("check", "--jsonl", "--tools", TOOLS, stdin="\n".join(map(json.dumps, lines)))
    assert done.code == 0
    first, second, third, *rest = done.lines
    assert (first["ok"], first["arguments"]) == (True, {"n": 1})
    assert (second["ok"], second["arguments"]) == (True, {"n": 2})
    assert third["problems"][0]["code"] == "unknown_tool"
    assert [line["line"] for line in rest] == [4, 5, 6]
    assert rest[2]["id"] == 6


@pytest.mark.promise("N-11")
def test_a_key_that_stands_twice_in_a_line_is_not_chosen_silently(run: Runner) -> None:
    lines = b'{"name": "get_weather", "arguments": {"city": "Oslo", "city": "Rome"}}\n'
    done = run("check", "--jsonl", "--tools", TOOLS, stdin=lines)
    assert done.lines[0]["ok"] is False
    assert done.lines[0]["problems"][0]["code"] == "duplicate_key"


def test_nan_and_broken_utf8_in_a_line_are_answered(run: Runner) -> None:
    lines = b'{"id": 1, "name": "get_weather", "arguments": {"city": "Oslo", "days": NaN}}\n{"name": "\xff"}\n'
    done = run("check", "--jsonl", "--tools", TOOLS, stdin=lines)
    assert done.code == 0
    nan, broken = done.lines
    assert (nan["id"], nan["ok"]) == (1, False)
    assert broken["error"].startswith("the line is not UTF-8")


def test_two_sets_of_arguments_in_one_line_are_not_guessed_at(run: Runner) -> None:
    done = run("check", "--jsonl", stdin=b'{"id": 1, "name": "x", "args": {}, "arguments": {}}')
    assert done.lines == [{"id": 1, "line": 1, "error": "the line has both arguments and args; which one is meant?"}]


def test_a_line_of_20_mb_is_refused_clearly_and_the_next_is_answered(run: Runner) -> None:
    long = b'{"name": "get_weather", "arguments": "' + b"x" * 20_000_000 + b'"}\n'
    done = run("check", "--jsonl", "--tools", TOOLS, stdin=long + b'{"name": "get_weather", "args": {"city": "Oslo"}}')
    assert done.code == 0
    assert done.lines[0] == {"id": None, "line": 1, "error": f"the line is longer than {MAX_BYTES:,} bytes"}
    assert done.lines[1]["ok"] is True


def test_arguments_of_20_mb_are_refused_clearly(run: Runner) -> None:
    done = run("check", "get_weather", "-", "--tools", TOOLS, stdin=b"x" * 20_000_000)
    assert done.code == 2
    assert f"is larger than {MAX_BYTES:,} bytes" in done.err


@pytest.mark.promise("N-16")
def test_statistics_of_a_run_are_printed_to_standard_error(run: Runner) -> None:
    lines = [
        {"name": "get_weather", "arguments": {"city": "Oslo"}},
        {"name": "get_weather", "arguments": {"days": 1}},
        {"name": "add", "arguments": {"n": "1"}, "schema": SCHEMA},
    ]
    text = "\n".join(map(json.dumps, lines))
    done = run("check", "--jsonl", "--tools", TOOLS, "--provider", "ollama", "--stats", stdin=text)
    stats = json.loads(done.err)
    assert len(done.lines) == 3
    assert (stats["provider"], stats["total_calls"], stats["failures"]) == ("ollama", 3, 1)
    assert stats["success_rate"] == pytest.approx(200 / 3)
    assert stats["normalizations"]["direct"] == 1
    assert stats["tools"]["add"]["total_calls"] == 1
    assert json.loads(run("check", "x", "{}", "--stats", "--json").err)["total_calls"] == 1


def test_many_lines_with_tools_of_their_own_are_all_counted(run: Runner) -> None:
    lines = [json.dumps({"name": f"t{n}", "arguments": {"n": 1}, "schema": SCHEMA}) for n in range(150)]
    done = run("check", "--jsonl", "--stats", stdin="\n".join(lines))
    assert json.loads(done.err)["total_calls"] == 150
    assert all(line["ok"] for line in done.lines)


def test_a_folder_that_cannot_be_written_does_not_matter(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(os.listdir(tmp_path))
    assert run("check", "get_weather", "{'city': 'Oslo'}", "--tools", TOOLS).code == 0
    assert set(os.listdir(tmp_path)) == before


def answers(lines: bytes) -> list[object]:
    options = argparse.Namespace(pack=[], provider=None, stats=True)
    out = io.StringIO()
    answer_lines(io.BytesIO(lines), LineGates(options, Gate([{"name": "add", "parameters": SCHEMA}])), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


LINE = st.fixed_dictionaries(
    {},
    optional={
        "id": st.none() | st.integers() | st.text(max_size=3),
        "name": st.sampled_from(["add", "Add", "ad", "", 3, None]),
        "tool": st.text(max_size=3),
        "arguments": st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["n", "m"]), inner, max_size=2),
            max_leaves=4,
        ),
        "tools": st.sampled_from([None, [], [{}], [{"name": "add"}], {"name": "add"}, "add", [3]]),
        "schema": st.sampled_from([None, {}, SCHEMA, {"type": "nonsense"}, {"$ref": "file:///etc/passwd"}, [], 3]),
    },
)


@given(st.lists(LINE.map(json.dumps).map(str.encode) | st.binary(max_size=20), max_size=5))
def test_every_line_gets_exactly_one_answer_that_is_json(lines: list[bytes]) -> None:
    text = b"\n".join(lines)
    assert len(answers(text)) == sum(bool(line.strip()) for line in text.split(b"\n"))


@every("field", ["arguments", "tools", "schema", "id", "other"])
def test_nesting_without_end_in_a_line_is_answered(field: str) -> None:
    for opening, closing in ((b"[", b"]"), (b'{"properties":', b"}")):
        deep = opening * 50_000 + b"1" + closing * 50_000
        (answer,) = answers(b'{"name": "add", "%s": %s}' % (field.encode(), deep))
        assert isinstance(answer, dict)
        assert "error" in answer or answer["ok"] is False
