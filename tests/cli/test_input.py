"""Files, lines and tool definitions: bounded, and with errors that name file and line."""

import io
import json
from pathlib import Path

import pytest

from rightcall.cli.corpora import cases, json_schema, read_flags
from rightcall.cli.lines import add_statistics
from rightcall.cli.options import InputError, bounded_lines, load_tools, read_text


def test_lines_come_with_their_numbers_and_a_long_one_is_skipped_whole() -> None:
    stream = io.BytesIO(b"one\r\n" + b"x" * 50 + b"\n\nlast")
    assert list(bounded_lines(stream, 10)) == [(1, b"one"), (2, None), (3, b""), (4, b"last")]


def test_a_line_of_exactly_the_limit_is_read() -> None:
    assert list(bounded_lines(io.BytesIO(b"1234567890\n12345678901\nx"), 10)) == [
        (1, b"1234567890"),
        (2, None),
        (3, b"x"),
    ]


def test_a_last_line_that_is_too_long_ends_the_reading() -> None:
    assert list(bounded_lines(io.BytesIO(b"x" * 5_000_000), 10)) == [(1, None)]


def test_a_file_that_is_too_large_absent_or_no_text_is_named(tmp_path: Path) -> None:
    file = tmp_path / "arguments.txt"
    file.write_bytes(b"12345678901")
    with pytest.raises(InputError, match=r"arguments\.txt: is larger than 10 bytes"):
        read_text(str(file), limit=10)
    file.write_bytes(b"ok\n\xff")
    with pytest.raises(InputError, match=r"arguments\.txt:2: is not UTF-8 text"):
        read_text(str(file))
    with pytest.raises(InputError, match=r"none\.txt: cannot be read: No such file"):
        read_text(str(tmp_path / "none.txt"))


TOOL = {"name": "add", "parameters": {"type": "object"}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tools.json", json.dumps([TOOL])),
        ("tools.json", json.dumps({"tools": [TOOL]})),
        ("tools.json", json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL]}})),
        ("tool.json", json.dumps(TOOL)),
        ("tools.jsonl", json.dumps(TOOL) + "\n\n"),
        ("tools.txt", json.dumps(TOOL) + "\n"),
    ],
)
def test_tools_come_from_lists_answers_and_lines(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    assert load_tools([str(file)]) == [TOOL]


def test_several_sources_keep_their_order_and_lines_need_no_suffix(tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other"
    one.write_text(json.dumps([TOOL]))
    other.write_text('{"name": "b"}\n{"name": "c"}\n')
    assert [tool["name"] for tool in load_tools([str(one), str(other)])] == ["add", "b", "c"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.json", '[\n{"name": "a",}\n]', r"t\.json:2: is not JSON: .*column"),
        ("t.json", "3", r"t\.json: holds a JSON int: a list of tools"),
        ("t.json", "[3]", r"t\.json: tool number 1 is 3, not a JSON object"),
        ("t.jsonl", '{"name": "a"}\n{"name"', r"t\.jsonl:2: is not JSON"),
        ("t.py", "TOOLS = []", r"give Python tools as module:attribute"),
        ("t.json", "[" * 100_000, r"t\.json: is nested too deeply|t\.json:1: is not JSON"),
    ],
)
def test_a_wrong_tool_file_is_named_with_its_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        load_tools([str(file)])


def test_python_tools_are_imported_only_when_named_and_faults_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_cli_tools.py").write_text("def add(n): ...\nTOOLS = (add,)\nclass Box:\n    one = add\n")
    (tmp_path / "my_broken_tools.py").write_text("raise RuntimeError('no database')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [
        tool.__name__ for tool in load_tools(["my_cli_tools:TOOLS", "my_cli_tools:add", "my_cli_tools:Box.one"])
    ] == ["add"] * 3
    for source, message in (
        ("my_cli_tools:NONE", "my_cli_tools has no `NONE`"),
        ("my_absent_tools:TOOLS", "importing my_absent_tools failed: ModuleNotFoundError"),
        ("my_broken_tools:TOOLS", "importing my_broken_tools failed: RuntimeError: no database"),
    ):
        with pytest.raises(InputError, match=message):
            load_tools([source])


CALL_CASE = {"schema": {}, "emitted": {}, "accepted": {}}
JSON_CASE = {"text": "{", "expected": {}}
EMISSION = {"text": "hi", "tools": None, "expected": []}


def corpus(tmp_path: Path, *rows: object) -> str:
    file = tmp_path / "corpus.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(file)


def test_the_shape_of_a_corpus_is_seen_from_its_fields(tmp_path: Path) -> None:
    assert [shape for shape, _, _ in cases(corpus(tmp_path, CALL_CASE, CALL_CASE))] == ["calls", "calls"]
    assert [shape for shape, _, _ in cases(corpus(tmp_path, JSON_CASE))] == ["json"]
    assert [shape for shape, _, _ in cases(corpus(tmp_path, EMISSION))] == ["emissions"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"text": "hi", "tools": []}], r"corpus\.jsonl:1: a case needs text, tools and expected .*has text, tools"),
        ([JSON_CASE, {"x": 1}], r"corpus\.jsonl:2: a case needs .*this one has x"),
        ([JSON_CASE, CALL_CASE], r"corpus\.jsonl:2: a case of another shape"),
        ([EMISSION, JSON_CASE], r"corpus\.jsonl:2: a case of another shape than the ones before it \(json, not emi"),
        ([[1]], r"corpus\.jsonl:1: a case is a JSON object, not list"),
    ],
)
def test_a_corpus_that_cannot_be_scored_is_named_with_its_line(
    tmp_path: Path, rows: list[object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        list(cases(corpus(tmp_path, *rows)))


def test_flags_belong_to_cases_by_id(tmp_path: Path) -> None:
    assert read_flags(None) == {}
    assert read_flags(corpus(tmp_path, {"id": "a", "flag": "bug"})) == {"a": {"id": "a", "flag": "bug"}}
    with pytest.raises(InputError, match="a flag needs the `id`"):
        read_flags(corpus(tmp_path, {"flag": "bug"}))


def test_only_a_json_schema_is_taken_for_one() -> None:
    schema = {"type": "object"}
    assert json_schema({"json_schema": schema, "schema": {"baml": "class A {}"}}) == schema
    assert json_schema({"schema": schema}) == schema
    assert json_schema({"schema": {"baml": "class A {}", "type": "A"}}) is None
    assert json_schema({"schema": None}) is None


def test_statistics_of_several_gates_add_up() -> None:
    def stats(direct: int, failed: int, tools: dict[str, object] | None = None) -> dict[str, object]:
        total = direct + failed
        counts = {"total_calls": total, "normalizations": {"direct": direct, "failed": failed}, "failures": failed}
        return counts | {"success_rate": 100.0 * direct / total, **({"provider": "x", "tools": tools} if tools else {})}

    one = stats(1, 1, {"a": stats(1, 1)})
    other = stats(2, 0, {"a": stats(1, 0), "b": stats(1, 0)})
    assert add_statistics(None, one) == one
    assert add_statistics(one, other) == {
        "total_calls": 4,
        "normalizations": {"direct": 3, "failed": 1},
        "failures": 1,
        "success_rate": 75.0,
        "provider": "x",
        "tools": {"a": {**stats(2, 1), "success_rate": pytest.approx(200 / 3)}, "b": stats(1, 0)},
    }
