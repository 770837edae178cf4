"""`rightcall formats`: the list, one format with its example, and every example read back."""

import re

import pytest
from msgspec import json

from rightcall import Gate
from rightcall.cli.packs import words_filled
from rightcall.gate.recover.machine import builtin_formats
from rightcall.gate.recover.window import Format
from support.cli import ROOT, Runner

FORMATS = builtin_formats()
NO_CALL = {"hallucinated", "final_answer"}
every = pytest.mark.parametrize("one", FORMATS, ids=[one.name for one in FORMATS])


@pytest.mark.parametrize("one", [pytest.param(one, id=one.name) for one in FORMATS if one.name not in NO_CALL])
@pytest.mark.promise("R-01")
def test_every_example_holds_the_call_it_shows(one: Format) -> None:
    reading = Gate().read(one.example)
    assert all(verdict.ok for verdict in reading.calls)
    first = reading.calls[0].call
    assert first
    assert (first.name, first.arguments) == ("get_weather", {"city": "Bern"})


def test_no_format_is_left_out_of_what_the_examples_prove() -> None:
    names = [one.name for one in FORMATS]
    assert set(names) >= NO_CALL
    assert len(names) == len(set(names)) > 40


@pytest.mark.promise("R-07")
def test_the_example_of_made_up_markup_is_refused_and_leaves_no_markup() -> None:
    (made_up,) = (one for one in FORMATS if one.name == "hallucinated")
    reading = Gate([{"name": "get_weather"}]).read(made_up.example)
    assert [(verdict.ok, verdict.call) for verdict in reading.calls] == [(False, None)]
    assert "get_weather" in (reading.calls[0].hint or "")
    assert reading.text == ""


@pytest.mark.promise("R-06")
def test_the_example_of_a_final_answer_holds_no_call_and_comes_back() -> None:
    (final,) = (one for one in FORMATS if one.name == "final_answer")
    reading = Gate().read(final.example)
    assert (reading.calls, reading.text) == ((), final.example)
    assert [note.code for note in reading.notes] == ["final"]


@pytest.mark.parametrize("columns", [40, 100, 160])
def test_the_list_has_a_row_for_every_format_with_its_opening_words(run: Runner, columns: int) -> None:
    done = run("formats", columns=columns)
    assert (done.code, done.err) == (0, "")
    first_words = [line.split()[0] for line in done.out.splitlines() if line and line[0] != " "]
    assert [word for word in first_words if word in {one.name for one in FORMATS}] == [one.name for one in FORMATS]
    assert "<tool_call>" in done.out
    assert f"{len(FORMATS)} formats; `rightcall formats NAME`" in done.out


def test_json_has_name_about_words_and_example_of_each(run: Runner) -> None:
    records = run("formats", "--json").json["formats"]
    assert [(one["name"], one["about"], one["example"]) for one in records] == [
        (one.name, one.about, one.example) for one in FORMATS
    ]
    assert all(set(one) == {"name", "about", "opens", "closes", "example"} for one in records)
    assert all(len(one["opens"]) == len(set(one["opens"])) for one in records)


@every
def test_one_format_shows_its_example_and_what_is_read(run: Runner, one: Format) -> None:
    done = run("formats", one.name, columns=160)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{one.name}\n")
    assert one.example.split("\n")[0] in done.out
    assert ('{"city": "Bern"}' in done.out.split("what is read")[1]) is (one.name not in NO_CALL)
    (record,) = run("formats", one.name, "--json").json["formats"]
    found = [call["name"] for call in record["reading"]["calls"]]
    assert found[:1] == ([] if one.name in NO_CALL else ["get_weather"])


def test_a_format_without_a_call_says_why_there_is_none(run: Runner) -> None:
    out = run("formats", "final_answer", columns=160).out
    assert "no call found\n" in out
    assert "text meant for the user is not searched for calls  [final]\n" in out


def test_a_misspelt_format_is_told_the_right_one(run: Runner) -> None:
    done = run("formats", "hermez")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: unknown format `hermez`: did you mean `hermes`?\n"
    assert "run `rightcall formats` to list them" in run("formats", "\x1b[2J").err
    assert "\x1b" not in run("formats", "\x1b[2J").err


def test_opening_words_are_never_broken_and_the_rest_is_counted() -> None:
    words = ("<a b=", "<a b=", "\nlong opening word", "<c>", "<d>")
    assert words_filled(words, 12) == ["<a b=", "\\nlong opening word", "<c>  <d>"]
    assert words_filled(("<c>", "<d>"), 8) == ["<c>  <d>"]
    assert words_filled(("<c>", "<d>"), 7) == ["<c>", "<d>"]
    assert words_filled(words, 80, most=2) == ["<a b=  \\nlong opening word  … 2 more"]
    assert words_filled((), 80) == []


def test_pages_name_as_many_formats_as_the_command(run: Runner) -> None:
    count = len(json.decode(run("formats", "--json").out)["formats"])
    for page in ("README.md", "docs/start/first-call.md", "docs/concepts/pipeline.md", "docs/faq.md"):
        assert set(re.findall(r"(\d+) (?:text )?formats", (ROOT / page).read_text())) == {str(count)}, page
