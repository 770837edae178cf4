"""`rightcall tools --write-examples`: a model writes requests once, people see whose they are and may edit them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall.router.packets import examples_file
from support.cli import TOOLS, Runner
from support.scripted.server import Answer, Dies, ScriptedUpstream, Text

pytestmark = pytest.mark.promise("T-03")

WEATHER = ["will I need an umbrella in Oslo?", "how cold does it get on Sunday"]
TABLE = ["a table for two tonight, please"]
WRITE = ("tools", "--tools", TOOLS, "--write-examples")


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as upstream:
        yield upstream


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ScriptedUpstream) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    server.play([])
    return tmp_path / "work"


def model(server: ScriptedUpstream, *replies: Any) -> tuple[str, ...]:
    server.play([Answer([Text(one if isinstance(one, str) else json.dumps(one))]) for one in replies])
    return (*WRITE, "--upstream", server.address, "--model", "m\x1b")


def kept() -> dict[str, Any]:
    return json.loads(Path(examples_file(".")).read_text(encoding="utf-8"))


def test_examples_are_written_once_shown_with_whose_they_are_and_used(run: Runner, server: ScriptedUpstream) -> None:
    done = run(*model(server, WEATHER, TABLE))
    assert done.code == 0, done.err
    path = examples_file(".")
    assert done.err == (
        f"get_weather: 2 examples\nbook_table: 1 example\nrightcall: the examples are in {path}; edit them there\n"
    )
    assert "\n  examples of requests: 2 by model m\\u001b\n" in done.out
    assert done.out.endswith("2 tools\n")
    again = run(*WRITE, "--upstream", server.address, "--model", "other")
    assert (again.code, len(server.requests)) == (0, 2)
    (shown, _) = run("tools", "--tools", TOOLS, "--json").json["tools"]
    assert (shown["examples"], shown["examples_by"]) == (WEATHER, "model m\x1b")
    assert WEATHER[0] in run("tools", "get_weather", "--tools", TOOLS).out
    found = run("route", "do I need an umbrella tomorrow?", "--tools", TOOLS, "--json").json
    assert found["candidates"][0]["name"] == "get_weather"


def test_a_tool_that_changed_is_asked_for_again_and_a_persons_words_stay(
    run: Runner, server: ScriptedUpstream, folder: Path
) -> None:
    assert run(*model(server, WEATHER, TABLE)).code == 0
    edited = kept()
    edited["book_table"] |= {"by": "you", "examples": ["somewhere to eat"]}
    Path(examples_file(".")).write_text(json.dumps(edited), encoding="utf-8")
    changed = json.loads(Path(TOOLS).read_text().replace("The weather", "The forecast").replace("guest", "visitor"))
    (folder / "changed.json").write_text(json.dumps(changed), encoding="utf-8")
    asked = model(server, ["is it going to snow?"])
    done = run("tools", "--tools", "changed.json", *asked[3:])
    assert done.code == 0
    assert "book_table: your examples are for another definition" in done.err
    assert done.out.endswith("2 tools, 1 without examples of requests\n")
    assert kept()["get_weather"]["examples"] == ["is it going to snow?"]
    assert kept()["book_table"] == edited["book_table"]


def test_no_list_is_told_and_the_others_are_kept(run: Runner, server: ScriptedUpstream) -> None:
    done = run(*model(server, "I would rather not.", TABLE))
    assert done.code == 1
    assert "get_weather: the model wrote no JSON list of requests\n" in done.err
    assert list(kept()) == ["book_table"]


def test_a_server_that_fails_ends_it_and_nothing_that_was_written_is_lost(
    run: Runner, server: ScriptedUpstream
) -> None:
    asked = model(server)
    server.play([Answer([Text(json.dumps(WEATHER))]), Dies(Answer([Text("[")]), after=0)])
    assert run(*asked).code == 2
    assert list(kept()) == ["get_weather"]


def test_without_a_model_it_says_how_to_name_one(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody() -> list[Any]:
        return []

    monkeypatch.setattr("rightcall.models.endpoint.find_local", nobody)
    done = run(*WRITE)
    assert done.code == 2
    assert "no model to ask. Name one in ./rightcall.toml" in done.err
    assert "rightcall tools --write-examples … --upstream http://127.0.0.1:8080/v1" in done.err


def test_a_model_without_the_option_is_a_mistake(run: Runner) -> None:
    done = run("tools", "--tools", TOOLS, "--upstream", "http://127.0.0.1:9")
    assert (done.code, done.out) == (2, "")
    assert "--upstream needs `--write-examples`" in done.err


def test_a_damaged_file_is_told_and_not_written_over(run: Runner, server: ScriptedUpstream) -> None:
    path = Path(examples_file("."))
    path.parent.mkdir(parents=True)
    path.write_text("{")
    shown = run("tools", "--tools", TOOLS)
    assert shown.code == 0
    assert "are damaged" in shown.err
    assert shown.out.endswith("2 tools, 2 without examples of requests\n")
    assert run(*model(server, WEATHER)).code == 2
    assert (path.read_text(), server.requests) == ("{", [])


def test_examples_that_come_with_a_tool_are_told_too(run: Runner, folder: Path) -> None:
    tools = [{"name": "ledger", "examples": ["book this"]}, {"name": "room/list"}, {"name": "other"}]
    (folder / "own.json").write_text(json.dumps(tools))
    listed = run("tools", "--tools", "own.json", "--json").json["tools"]
    assert [one["examples_by"] for one in listed] == ["definition", "rightcall", None]
    out = run("tools", "--tools", "own.json").out
    assert "  examples of requests: 1 in its definition\n" in out
    assert " by RightCall\n" in out
