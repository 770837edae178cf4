"""`rightcall route`: a decision with its evidence, for people, programs and JSON lines; nothing runs without --run."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall.cli import route as route_lines
from rightcall.cli.route import MOST_ROUTERS
from support.cli import TOOLS, Done, Runner, start
from support.routers import (
    APPROVED,
    EVIL,
    NONE,
    READING,
    READS,
    UNAPPROVED,
    choice,
    none,
    reads,
    says,
    write_folder,
    write_policy,
)
from support.scripted.server import ScriptedUpstream

Route = Callable[..., Done]
MODULE = '''
from rightcall import tool

@tool(effects=["write"])
def save(path: str) -> str:
    """Save a file under a path."""
    with open(path, "w") as file:
        file.write("saved")
    return "saved"

TOOLS = [save]
'''
SHOWN = '[policy]\nallow = ["save"]'
WRITES = '[policy]\nwrite = "ask"'
SAVES = choice("save", path="new.txt")


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as upstream:
        yield upstream


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path)
    (tmp_path / "routedtools.py").write_text(MODULE)
    return tmp_path


@pytest.fixture
def route(run: Runner, folder: Path) -> Route:
    return lambda *arguments, **more: run("route", *arguments, **more)


def labels(done: Done) -> list[str]:
    return [line[2:18].strip() for line in done.out.splitlines()[1:] if line[:2] == "  " and line[2:18].strip()]


@pytest.mark.promise("T-02", "T-03")
def test_without_a_model_the_need_and_the_candidates_are_shown_and_how_to_name_a_model(
    route: Route, folder: Path
) -> None:
    done = route("what is the weather in Oslo", "--tools", TOOLS, "--mode", "keywords", "--limit", "2")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("✓ a tool is needed: most likely get_weather\n  intent           a tool is needed (")
    assert labels(done)[:3] == ["intent", "tools", "candidates"]
    assert "margin between the first two: " in done.out
    assert "No model is configured" in done.out
    assert "[router.prime]" in done.out
    assert sorted(path.name for path in folder.iterdir()) == ["docs", "routedtools.py"]


def test_without_tools_of_its_own_the_code_tools_on_this_folder_are_chosen_from(route: Route) -> None:
    done = route(READING, "--mode", "keywords", "--json", "--limit", "3")
    assert done.code == 0
    assert "code/read" in [one["name"] for one in done.json["candidates"]]
    assert len(done.json["candidates"]) == 3
    assert (done.json["model"], done.json["selected"], done.json["would_run"]) == (False, None, None)


def test_a_request_without_a_need_says_so(route: Route) -> None:
    done = route("hello there", "--tools", TOOLS, "--mode", "regex")
    assert (done.code, done.out.splitlines()[0]) == (0, "– no tool is needed")


@pytest.mark.promise("T-04", "T-05")
def test_with_a_model_all_evidence_is_shown_and_nothing_runs(
    route: Route, folder: Path, server: ScriptedUpstream
) -> None:
    write_policy(folder, server)
    server.play(
        says(reads(reason=EVIL, alternatives=[{"tool": "code/list", "params": {}, "reason": "or so"}]), APPROVED)
    )
    done = route(READING)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("✓ code/read would run\n")
    assert labels(done) == [
        "intent", "tools", "candidates", "chosen", "alternatives", "review", "confidence", "would run",
    ]  # fmt: skip
    assert '{"arguments":{"path":"docs/design.md"},"name":"code/read"}' in done.out
    assert "reaches the threshold, which is 0.01 now" in done.out
    assert "made of: reads 1.00, needs 1.00" in done.out
    assert "\x1b" not in done.out
    assert not (folder / ".rightcall").exists()


def test_a_program_gets_every_piece_of_evidence(route: Route, folder: Path, server: ScriptedUpstream) -> None:
    write_policy(folder, server)
    server.play(says(reads(), UNAPPROVED))
    done = route(READING, "--json")
    told = done.json
    assert (done.code, told["status"], told["would_run"]) == (0, "awaiting_confidence", None)
    assert told["selected"]["params"] == READS
    assert told["review"] == {"approved": False, "confidence": 0.5, "reasoning": "Another city was meant."}
    assert told["confidence"] <= 0.5
    assert told["evidence"].keys() >= {"needs", "tool", "margin", "agrees", "fits", "repairs", "stated", "review"}
    assert "the reviewer did not approve it" in told["why"]


@pytest.mark.parametrize(
    ("policy", "router", "headline", "reason"),
    [
        ("", {}, "✗ save would be refused", "by rule allowlist"),
        (SHOWN, {}, "○ save would only be rehearsed", 'write = "ask" (a person approves each call)'),
        (WRITES, {}, "… save would wait for a person's approval", "by rule approval:write"),
    ],
)
@pytest.mark.promise("T-06")
def test_what_the_policy_would_say_of_the_call_is_told_beforehand(
    route: Route,
    folder: Path,
    server: ScriptedUpstream,
    policy: str,
    router: dict[str, Any],
    headline: str,
    reason: str,
) -> None:
    write_policy(folder, server, policy, **router)
    server.play(says(SAVES, APPROVED))
    done = route("save new.txt", "--tools", "routedtools:TOOLS")
    assert (done.code, done.out.splitlines()[0].startswith(headline)) == (0, True), done.out
    assert reason in done.out
    assert not (folder / "new.txt").exists()


def test_a_definition_alone_can_be_chosen_but_not_run(route: Route, folder: Path, server: ScriptedUpstream) -> None:
    write_policy(folder, server)
    server.play(says(choice("get_weather", city="Oslo"), APPROVED))
    weather = ("what is the weather in Oslo", "--tools", TOOLS)
    assert "nobody here can run it" in route(*weather).out
    refused = route(*weather, "--run")
    assert (refused.code, refused.out) == (2, "")
    assert "--tools: nobody here can run a tool of which only the definition is known" in refused.err


@pytest.mark.promise("T-07")
def test_run_runs_what_is_sure_and_tells_where_the_story_is(
    route: Route, run: Runner, folder: Path, server: ScriptedUpstream
) -> None:
    write_policy(folder, server)
    server.play(says(reads(), APPROVED))
    done = route(READING, "--run")
    assert (done.code, done.out.splitlines()[0]) == (0, "✓ code/read ran")
    assert "# Design" in done.out
    assert len(server.requests) == 2  # no model was asked for an answer
    assert "saved request    rightcall requests show p" in done.out
    assert "rightcall audit show" in run("requests", "show", "last").out


@pytest.mark.promise("T-08")
def test_run_takes_in_no_more_than_the_policy_allows(route: Route, folder: Path, server: ScriptedUpstream) -> None:
    write_policy(folder, server, reinjections=0)
    server.play(says(reads(), APPROVED))
    done = route(READING, "--run", "--json")
    assert (done.code, done.json["status"], len(server.requests)) == (1, "skipped", 0)


def test_run_tells_what_a_call_waits_for(route: Route, folder: Path, server: ScriptedUpstream) -> None:
    write_policy(folder, server, '[policy.approval]\ntools = ["code/read"]')
    server.play(says(reads(), APPROVED))
    done = route(READING, "--run", "--json")
    assert (done.code, done.json["state"], done.json["status"]) == (1, "waiting", "awaiting_approval")
    assert done.json["approval"] in done.json["commands"]["approve"]
    assert done.json["commands"]["resume"] == f"rightcall ask --resume {done.json['packet']}"


def test_a_model_that_is_down_or_wants_no_tool_is_told(route: Route, folder: Path, server: ScriptedUpstream) -> None:
    down = route(READING, "--mode", "keywords", "--upstream", "http://127.0.0.1:9", "--model", "m")
    assert (down.code, down.out.splitlines()[0]) == (1, "✗ no tool was chosen")
    assert "cannot be reached" in down.out
    write_policy(folder, server)
    server.play(says(NONE))
    wants_none = route(READING)
    assert (wants_none.code, wants_none.out.splitlines()[0]) == (0, "– the model wants no tool")
    assert "  chosen           none\n                   because: Nothing to look up.\n" in wants_none.out


@pytest.mark.parametrize("more", [[], ["--run"]])
def test_a_model_that_has_to_know_more_is_told_in_its_words(
    route: Route, folder: Path, server: ScriptedUpstream, more: list[str]
) -> None:
    write_policy(folder, server)
    server.play(says(none("Which file is meant?")))
    told = route("read the file", *more)
    assert (told.code, told.out.splitlines()[0]) == (
        int(bool(more)),
        "? the model has to know more: Which file is meant?",
    )
    assert ("waits for what is missing: Which file is meant?" in told.out) is bool(more)
    server.play(says(none("Which file is meant?")))
    record = route("read the file", *more, "--json").json
    assert (record["none_because"], record["selected"]) == ("Which file is meant?", None)


def line(**fields: Any) -> str:
    return json.dumps(fields) + "\n"


def tool(name: str, text: str = "The weather of a city.") -> dict[str, Any]:
    properties = {"city": {"type": "string"}}
    return {"name": name, "description": text, "parameters": {"type": "object", "properties": properties}}


def test_lines_are_judged_one_by_one_and_a_bad_one_stops_nothing(route: Route) -> None:
    openai = {"type": "function", "function": tool("forecast")}
    lines = [
        line(id="a", text="what is the weather in Oslo", tools=[openai, tool("other", "Nothing at all.")]),
        line(id=2, text="what is the weather in Oslo"),
        line(id="c", text="hello there", tools=[]),
        line(id="d", text="hello there", tools=None),
        "no JSON\n",
        line(id="f"),
        line(id="g", text="hi", tools=[{"nameless": 1}]),
        line(id="h", text="hi", tools="many"),
        '{"id": "i", "text": "hi", "text": "ho"}\n',
        "[1]\n",
        line(id="k", text=EVIL, tools=[]),
    ]
    done = route("--jsonl", "--tools", TOOLS, "--mode", "keywords", "--limit", "1", stdin="".join(lines))
    assert (done.code, done.err, len(done.lines)) == (0, "", len(lines))
    assert "\x1b" not in done.out
    a, b, c, d, *bad, k = done.lines
    assert [one["id"] for one in (a, b, c, d, k)] == ["a", 2, "c", "d", "k"]
    assert a["intent"] | {"why": 0, "scores": 0} == {
        "answer": "call", "probability": 1.0, "sure": True, "scores": 0, "missing": [], "why": 0,
    }  # fmt: skip
    assert [one["candidates"][0]["name"] for one in (a, b)] == ["forecast", "get_weather"]
    assert a["candidates"][0].keys() == {"name", "score", "confidence", "why"}
    assert c["candidates"] == d["candidates"] == []
    assert [one["id"] for one in bad] == [None, "f", "g", "h", None, None]
    assert all(one["error"] for one in bad)


def test_lines_come_from_a_file_too_and_ask_no_model(route: Route, folder: Path, server: ScriptedUpstream) -> None:
    write_policy(folder, server)
    server.play([])
    (folder / "requests.jsonl").write_text(line(text=READING))
    assert route("--jsonl", "@requests.jsonl").out == route("--jsonl", "requests.jsonl").out
    done = route("--jsonl", "requests.jsonl")
    assert (done.code, done.lines[0]["id"], server.requests) == (0, None, [])
    assert "code/read" in [one["name"] for one in done.lines[0]["candidates"]]


@pytest.mark.promise("T-03")
def test_lines_with_the_same_tools_share_one_router_and_only_the_last_sets_are_kept(
    route: Route, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[route_lines.LineRouters] = []
    made: list[Any] = []

    class Watched(route_lines.LineRouters):
        def __init__(self, make: Any) -> None:
            super().__init__(lambda tools: made.append(tools) or make(tools))
            kept.append(self)

    monkeypatch.setattr(route_lines, "LineRouters", Watched)
    same = [tool(f"tool_{number}") for number in range(30)]
    others = [[tool(f"other_{number}")] for number in range(MOST_ROUTERS)]
    lines = [line(id=number, text="weather?", tools=same) for number in range(50)]
    done = route("--jsonl", stdin="".join([*lines, *(line(text="x", tools=one) for one in others), lines[0]]))
    assert [one["id"] for one in done.lines[:50]] == list(range(50))
    assert [len(tools) for tools in made] == [30, *[1] * MOST_ROUTERS, 30]
    assert len(kept[0]) == MOST_ROUTERS


def test_every_line_is_answered_before_the_next_is_asked(folder: Path) -> None:
    process = start("route", "--jsonl", "--mode", "regex")
    assert process.stdin is not None
    assert process.stdout is not None
    for number in range(2):
        process.stdin.write(line(id=number, text="hi", tools=[]).encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == number
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "route needs a request, or --jsonl"),
        ([""], "route needs a request, or --jsonl"),
        (["--jsonl", "a", "b"], "--jsonl takes one file"),
        (["--jsonl", "--run"], "does not go with --run"),
        (["--jsonl", "--upstream", "http://127.0.0.1:9"], "does not go with --upstream"),
        (["--jsonl", "absent.jsonl"], "absent.jsonl: cannot be read"),
        (["hi", "--tools", "absent.json"], "absent.json: cannot be read"),
        (["hi", "--root", "absent"], "no such folder"),
        (["hi", "--limit", "0"], "a number from 1 to 1000, not 0"),
        (["hi", "--mode", "magic"], "invalid value `magic` for `--mode`"),
    ],
)
def test_what_is_wrong_is_said(route: Route, arguments: list[str], complaint: str) -> None:
    done = route(*arguments)
    assert (done.code, done.out) == (2, "")
    assert complaint in done.err


@pytest.mark.promise("T-02")
def test_a_line_whose_tools_are_not_known_is_judged_by_its_text_alone(route: Route) -> None:
    lines = [line(text="Search the web for cats", tools=tools) for tools in (None, [])]
    done = route("--jsonl", "--tools", TOOLS, "--mode", "keywords", stdin="".join(lines))
    assert [one["intent"]["answer"] for one in done.lines] == ["call", "call"]
    assert [one["candidates"] for one in done.lines] == [[], []]


@pytest.mark.promise("T-05")
def test_a_preview_knows_the_tools_by_the_definitions_that_the_audit_has_of_them(
    route: Route, run: Runner, folder: Path, server: ScriptedUpstream
) -> None:
    write_policy(folder, server)
    assert run("run", "code/read", '{"path": "docs/design.md"}').code == 0
    server.play(says(reads(), APPROVED))
    assert route(READING).out.startswith("✓ code/read would run\n")
    explained = run("policy", "explain", "code/read", '{"path": "rightcall.toml"}', "--live", "--json")
    assert json.loads(explained.out)["decision"]["rule"].startswith("path")  # as for an executor, which guards it


@pytest.mark.promise("T-05")
def test_own_functions_that_the_policy_does_not_allow_are_named_before_and_with_run(
    route: Route, folder: Path, server: ScriptedUpstream
) -> None:
    write_policy(folder, server)
    for more in ([], ["--run"]):
        server.play(says(SAVES, APPROVED))
        done = route("save new.txt", "--tools", "routedtools:TOOLS", *more)
        assert "not allowed      save\n" in done.out, done.out
        assert "is not whitelisted for default" in done.out
    assert done.out.startswith("– the policy allows none of the tools\n")
    for review in (APPROVED, UNAPPROVED):
        server.play(says(SAVES, review))
        found = route("save new.txt", "--tools", "routedtools:TOOLS", "--json").json
        assert found["not_allowed"] == ["save"]
        assert (found["outcome"], found["would_run"]["kind"]) == ("save would be refused", "deny"), "nobody is asked"
