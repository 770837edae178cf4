"""`rightcall eval`: a table by damage, the totals, the failing cases."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.cli import EXAMPLES, Runner

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "text": {"type": "string"}}, "required": ["n"]}


def case(id: str, cls: str, emitted: Any, accepted: Any, recoverable: bool = True) -> dict[str, Any]:
    return {
        "id": id,
        "tool": "count",
        "cls": cls,
        "schema": SCHEMA,
        "emitted": emitted,
        "accepted": accepted,
        "recoverable": recoverable,
    }


@pytest.fixture
def corpus(tmp_path: Path) -> Any:
    def write(*rows: Any, name: str = "corpus.jsonl") -> str:
        file = tmp_path / name
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(file)

    return write


CALLS = [
    case("a", "clean", {"n": 1}, {"n": [1]}),
    case("b", "quotes", "{'n': 1}", {"n": [1]}),
    case("c", "quotes", "{'n': 2}", {"n": [3]}),
    case("d", "missing", {"text": "x"}, {"n": [1]}, recoverable=False),
    case("e", "lost", {"n": 1}, {"n": [1]}, recoverable=False),
]


def test_damaged_calls_are_counted_by_damage(run: Runner, corpus: Any) -> None:
    record = run("eval", corpus(*CALLS), "--json").json
    assert (record["shape"], record["cases"]) == ("calls", 5)
    assert record["groups"]["clean"] == {"n": 1, "restored": 1, "refused": 0, "wrong": 0, "right_percent": 100.0}
    assert record["groups"]["quotes"] == {"n": 2, "restored": 1, "refused": 0, "wrong": 1, "right_percent": 50.0}
    assert record["groups"]["missing"]["right_percent"] == 100.0
    assert record["totals"] == {
        "restored_percent": 50.0,
        "wrong_accepted": 2,
        "wrong_accepted_percent": 50.0,
        "rightly_refused_percent": 50.0,
        "clean_left_alone_percent": 100.0,
    }


def test_the_table_and_the_totals_are_readable(run: Runner, corpus: Any) -> None:
    done = run("eval", corpus(*CALLS))
    assert done.code == 0
    header, *rows = done.out.splitlines()[2:7]
    assert header.split() == ["damage", "n", "restored", "refused", "wrong", "accepted", "right"]
    assert rows[0].split() == ["clean", "1", "1", "0", "0", "100.0", "%"]
    assert "wrong accepted      50.0 % of all damaged calls (2)" in done.out
    assert "clean left alone    100.0 %" in done.out
    assert done.err == ""


def test_the_failing_cases_are_shown_on_request_by_kind_and_number(run: Runner, corpus: Any) -> None:
    file = corpus(*CALLS)
    assert [one["id"] for one in run("eval", file, "--json", "--failures").json["failures"]] == ["c", "e"]
    assert [one["id"] for one in run("eval", file, "--json", "--failures", "lost").json["failures"]] == ["e"]
    limited = run("eval", file, "--json", "--failures", "wrong", "--limit", "1").json
    assert (len(limited["failures"]), limited["failures_in_all"]) == (1, 2)
    text = run("eval", file, "--failures").out
    assert "2 of 2 failing cases" in text
    assert "c  quotes  wrong" in text


def test_broken_json_is_counted_by_suite_and_kind_and_flags_make_the_core(run: Runner, corpus: Any) -> None:
    rows = [
        {"id": "1", "suite": "own", "kind": "plain", "text": "{a: 1}", "expected": {"a": 1}},
        {"id": "2", "suite": "own", "kind": "plain", "text": '{"a": 1,}', "expected": {"a": 2}},
        {"id": "3", "suite": "own", "kind": "schema", "text": "{a: '5'}", "expected": {"a": 5},
         "json_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    ]  # fmt: skip
    file = corpus(*rows)
    flags = corpus({"id": "2", "flag": "convention", "also_accept": [{"a": 1}]}, name="flags.jsonl")
    plain = run("eval", file, "--json").json
    assert plain["shape"] == "json"
    assert plain["groups"]["own/plain"]["wrong"] == 1
    assert plain["groups"]["own/schema"]["exact"] == 1
    flagged = run("eval", file, "--flags", flags, "--json").json
    assert flagged["groups"]["own/plain"]["accepted"] == 1
    assert flagged["totals"]["all"]["n"] == 3
    assert flagged["totals"]["core"]["n"] == 2
    text = run("eval", file, "--flags", flags).out
    assert "core cases only" in text
    assert "core  100.0 % right, 0.0 % wrong (2 cases)" in text


def test_an_example_corpus_comes_out_right(run: Runner) -> None:
    totals = run("eval", str(EXAMPLES / "damaged_calls.jsonl"), "--json").json["totals"]
    assert totals["restored_percent"] == totals["clean_left_alone_percent"] == totals["rightly_refused_percent"] == 100
    assert totals["wrong_accepted"] == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "corpus.jsonl: holds no case"),
        ([CALLS[0], {"text": "a", "expected": 1}], "corpus.jsonl:2: a case of another shape"),
        ([CALLS[0] | {"schema": {"type": 17}}], "corpus.jsonl:1: the case cannot be used"),
        ([{"text": "x", "tools": []}], "corpus.jsonl:1: a case needs text, tools and expected"),
    ],
)
def test_a_corpus_that_cannot_be_used_is_named_with_its_line(
    run: Runner, corpus: Any, rows: list[Any], message: str
) -> None:
    done = run("eval", corpus(*rows))
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_nothing_of_a_corpus_reaches_the_terminal_raw(run: Runner, corpus: Any) -> None:
    hostile = case("\x1b[2J", "\x1b[8m", "\x1b[2Jnothing", {"n": [1]})
    assert "\x1b" not in run("eval", corpus(hostile), "--failures").out
