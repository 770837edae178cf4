"""`rightcall eval` on emissions: what models wrote, scored by format, whole and as a stream."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from rightcall import Gate
from rightcall.cli.corpora import judge_emission
from rightcall.cli.eval import disagreement, found_calls, random_pieces
from rightcall.types import Call, Note, Reading, Verdict
from support.cli import EXAMPLES, Runner
from support.every import every

TOOLS = [{"name": "add", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}]


def tagged(arguments: str, name: str = "add") -> str:
    return f'<tool_call>{{"name": "{name}", "arguments": {arguments}}}</tool_call>'


def emission(id: str, format: str, text: str, *expected: Any, tools: Any = None) -> dict[str, Any]:
    calls = [{"name": "add", "arguments": arguments} for arguments in expected]
    return {"id": id, "format": format, "text": text, "tools": tools, "expected": calls}


EMISSIONS = [
    emission("exact", "tags", "Well. " + tagged('{"n": 1}') + " Bye.", {"n": 1}, tools=TOOLS),
    emission("by value", "tags", tagged('{"n": 1.0}'), {"n": 1}),
    emission("as text", "tags", tagged('{"n": 1}'), '{"n": 1}'),
    emission("no arguments", "tags", tagged("{}") + tagged("{}") + tagged("{}"), None, "", {}),
    emission("no type is changed", "tags", tagged('{"n": "1"}'), {"n": 1}, tools=TOOLS),
    emission("wrong order", "tags", tagged('{"n": 1}') + tagged('{"n": 2}'), {"n": 2}, {"n": 1}),
    emission("silent", "prose", "There is no call here."),
    emission("refused", "prose", "There is no call here, but one was wanted.", {"n": 1}),
    emission("made up", "prose", tagged('{"n": 1}')),
    emission("cut", "prose", '<tool_call>{"name": "add", "arguments": {"n": "a'),
]
FLAGS = [
    {"id": "wrong order", "flag": "convention",
     "also_accept": [[], [{"name": "add", "arguments": {"n": 1}}, {"name": "add", "arguments": '{"n": 2}'}]]},
    {"id": "made up", "flag": "bug", "corrected": [{"name": "add", "arguments": {"n": 1}}]},
    {"id": "refused", "flag": "convention", "also_accept": [[{"name": "other", "arguments": {}}]]},
]  # fmt: skip


@pytest.fixture
def corpus(tmp_path: Path) -> Any:
    def write(rows: list[Any], name: str = "emissions.jsonl") -> str:
        file = tmp_path / name
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(file)

    return write


def counts(n: int, exact: int, accepted: int, refused: int, wrong: int, right: float | None) -> dict[str, Any]:
    found = {"exact": exact, "accepted": accepted, "refused": refused, "wrong": wrong}
    return {"n": n, **found, "right_percent": right}


def test_emissions_are_counted_by_format_and_by_what_they_should_hold(run: Runner, corpus: Any) -> None:
    record = run("eval", corpus(EMISSIONS), "--json").json
    assert (record["shape"], record["cases"]) == ("emissions", 10)
    assert record["groups"] == {"prose": counts(4, 2, 0, 1, 1, 50.0), "tags": counts(6, 4, 0, 0, 2, 66.67)}
    assert record["totals"]["all"] == {
        **counts(10, 6, 0, 1, 3, 60.0),
        "expects_call": counts(7, 4, 0, 1, 2, 57.14),
        "expects_none": counts(3, 2, 0, 0, 1, 66.67),
    }
    assert record["totals"]["core"] == record["totals"]["all"]
    assert record["totals"]["streams"] == {"agree": 10, "agree_percent": 100.0}


def test_flags_say_what_else_is_right_and_make_the_core(run: Runner, corpus: Any) -> None:
    record = run("eval", corpus(EMISSIONS), "--flags", corpus(FLAGS, "flags.jsonl"), "--json").json
    assert record["groups"] == {"prose": counts(4, 3, 0, 1, 0, 75.0), "tags": counts(6, 4, 1, 0, 1, 83.33)}
    assert record["core_groups"] == {"prose": counts(3, 3, 0, 0, 0, 100.0), "tags": counts(5, 4, 0, 0, 1, 80.0)}
    assert record["totals"]["all"]["expects_none"] == counts(2, 2, 0, 0, 0, 100.0)
    assert record["totals"]["core"] == {
        **counts(8, 7, 0, 0, 1, 87.5),
        "expects_call": counts(6, 5, 0, 0, 1, 83.33),
        "expects_none": counts(2, 2, 0, 0, 0, 100.0),
    }


def test_the_tables_and_the_totals_are_readable(run: Runner, corpus: Any) -> None:
    done = run("eval", corpus(EMISSIONS), "--flags", corpus(FLAGS, "flags.jsonl"))
    assert (done.code, done.err) == (0, "")
    head, _, *table = done.out.splitlines()
    assert head.endswith("emissions.jsonl: 10 cases of emissions")
    assert table[0].split() == ["format", "n", "exact", "accepted", "refused", "wrong", "right"]
    assert table[2].split() == ["tags", "6", "4", "1", "0", "1", "83.3", "%"]
    assert "core cases only (expectations that are no mere convention)" in done.out
    totals = [line.split() for line in done.out.split("\ntotal ")[1].splitlines()[1:7]]
    assert totals[1] == ["expects", "a", "call", "8", "5", "1", "1", "1", "75.0", "%"]
    assert totals[3][:2] == ["core", "8"]
    assert totals[5] == ["expects", "none", "2", "2", "0", "0", "0", "100.0", "%"]
    assert done.out.endswith("the same calls and prose in 100.0 % (10 of 10)\n")
    plain = run("eval", corpus(EMISSIONS)).out
    assert "core" not in plain


def test_the_failing_cases_are_shown_on_request_by_format_and_outcome(run: Runner, corpus: Any) -> None:
    file = corpus(EMISSIONS)

    def failing(*kind: str) -> list[str]:
        return [one["id"] for one in run("eval", file, "--json", "--failures", *kind).json["failures"]]

    assert failing() == ["no type is changed", "wrong order", "refused", "made up"]
    assert failing("prose") == ["refused", "made up"]
    assert failing("refused") == ["refused"]
    assert failing("stream") == []
    text = run("eval", file, "--failures", "tags").out
    assert "2 of 2 failing cases" in text
    assert "wrong order  tags  wrong" in text
    assert '  wanted           [["add", {"n": 2}], ["add", {"n": 1}]]\n' in text
    assert '  got              [["add", {"n": 1}], ["add", {"n": 2}]]\n' in text


@pytest.mark.promise("R-09")
def test_a_stream_that_gives_something_else_is_counted_and_shown(
    run: Runner, corpus: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(self: Gate, text: str, finish_reason: str | None = None) -> Reading:
        return Reading((), text)

    monkeypatch.setattr(Gate, "read", forgetful)
    file = corpus([EMISSIONS[0], EMISSIONS[6]])
    record = run("eval", file, "--json", "--failures", "stream").json
    assert record["totals"]["streams"] == {"agree": 1, "agree_percent": 50.0}
    assert [(one["id"], one["stream"]) for one in record["failures"]] == [("exact", "character by character")]
    text = run("eval", file, "--failures", "stream").out
    assert "the same calls and prose in 50.0 % (1 of 2)" in text
    assert "  streams differ   character by character\n" in text


@pytest.mark.promise("R-09")
def test_a_right_case_whose_stream_differs_is_a_failing_case(
    run: Runner, corpus: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightcall.cli.eval.read_pieces", lambda gate, pieces: Reading((), "other"))
    record = run("eval", corpus([EMISSIONS[0]]), "--json", "--failures").json
    assert record["totals"]["all"]["right_percent"] == 100.0
    assert [(one["id"], one["outcome"]) for one in record["failures"]] == [("exact", "exact")]


@pytest.mark.promise("R-09")
def test_a_stream_must_give_the_same_calls_and_prose_but_may_note_more() -> None:
    text = "Well." + tagged('{"n": 1}')
    whole = Gate().read(text)
    assert disagreement(Gate(), text, replace(whole, notes=(Note("quoted", "more"),)), "x") == ""
    assert disagreement(Gate(), text, replace(whole, text="Well"), "x") == "character by character"
    assert disagreement(Gate(), text, replace(whole, calls=(), places=()), "x") == "character by character"


@pytest.mark.promise("R-09")
def test_random_pieces_that_read_differently_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(gate: Gate, pieces: Any, finish_reason: str | None = None) -> Reading:
        lengths = [len(piece) for piece in pieces]
        return Reading((), "same" if max(lengths) == 1 else "other")

    monkeypatch.setattr("rightcall.cli.eval.read_pieces", read)
    assert disagreement(Gate(), "a" * 60, Reading((), "same"), "x").startswith('in the pieces ["a')


def test_random_pieces_are_the_whole_text_and_the_same_on_every_run() -> None:
    text = "".join(map(chr, range(1000)))
    once, again = (list(random_pieces(text, Random(7))) for _ in range(2))
    assert once == again != list(random_pieces(text, Random(8)))
    assert "".join(once) == text
    assert min(map(len, once)) == 1
    assert max(map(len, once)) > 10
    assert list(random_pieces("", Random(7))) == []


def test_only_what_could_be_read_counts_as_a_call() -> None:
    call = Call("add", {"n": 1})
    verdicts = (Verdict(ok=False, call=None), Verdict(ok=False, call=None, found=call), Verdict(True, call, call))
    assert found_calls(Reading(verdicts, "")) == [["add", {"n": 1}], ["add", {"n": 1}]]


@every(
    ("expected", "others", "got", "outcome"),
    [
        ([["a", {}]], [], [["a", {}]], "exact"),
        ([], [], [], "exact"),
        ([], [], [["a", {}]], "wrong"),
        ([["a", {}]], [], [], "refused"),
        ([["a", {}]], [[]], [], "accepted"),
        ([["a", {"n": 1}]], [], [["a", {"n": True}]], "wrong"),
        ([["a", {"n": float("nan")}]], [], [["a", {"n": float("nan")}]], "exact"),
        ([["a", {}]], [[["b", {}]]], [["b", {}]], "accepted"),
        ([["a", {}]], [], [["a", {}], ["a", {}]], "wrong"),
    ],
)
def test_an_emission_is_exact_accepted_refused_or_wrong(expected: Any, others: Any, got: Any, outcome: str) -> None:
    assert judge_emission(expected, others, got) == outcome


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": 3}, "the case cannot be used: `text` must be a string"),
        ({"expected": {}}, "the case cannot be used: `expected` is a list of calls"),
        ({"expected": ["add"]}, "the case cannot be used: `expected` is a list of calls"),
        ({"tools": [3]}, "the case cannot be used: its tools cannot be used"),
        ({"tools": 3}, "the case cannot be used: its tools cannot be used"),
    ],
)
def test_a_case_that_cannot_be_used_is_named_with_its_line(
    run: Runner, corpus: Any, changes: dict[str, Any], message: str
) -> None:
    done = run("eval", corpus([EMISSIONS[0], EMISSIONS[1] | changes]))
    assert (done.code, done.out) == (2, "")
    assert f"emissions.jsonl:2: {message}" in done.err


def test_nothing_of_a_corpus_reaches_the_terminal_raw(run: Runner, corpus: Any) -> None:
    hostile = emission("\x1b[2J", "\x1b[8m", "\x1b[2J" + tagged('{"\x9b": 1}'), {"\x1b": 1})
    out = run("eval", corpus([hostile]), "--failures").out
    assert "1 of 1 failing cases" in out
    assert not {"\x1b", "\x9b"} & set(out)


def test_the_example_corpus_comes_out_right(run: Runner) -> None:
    totals = run("eval", str(EXAMPLES / "emissions.jsonl"), "--json").json["totals"]
    assert totals["all"]["right_percent"] == totals["streams"]["agree_percent"] == 100.0
    assert totals["all"]["expects_none"]["n"] > 0
