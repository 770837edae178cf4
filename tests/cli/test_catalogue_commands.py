"""`rightcall tools`, `packs` and `demo`."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightcall.catalog.packs import available_packs
from rightcall.cli.demo import load_demo
from rightcall.cli.packs import arguments_of, type_words
from rightcall.cli.terminal import visible_width
from rightcall.types import Rules
from support.cli import TOOLS, Runner
from support.every import every


def test_tools_shows_arguments_types_and_required_marks(run: Runner) -> None:
    done = run("tools", "--tools", TOOLS)
    assert done.code == 0
    assert "get_weather  [given; any effect (none declared)]\n" in done.out
    assert "  * city  text\n" in done.out
    assert "    days  integer 1 to 14\n" in done.out
    assert "    unit  celsius | fahrenheit\n" in done.out
    assert done.out.endswith("2 tools, 2 without examples of requests\n")


def test_tools_of_a_pack_show_aliases_defaults_and_effects(run: Runner) -> None:
    done = run("tools", "--pack", "agent-zero")
    assert "code_execution_tool  [pack:agent-zero; " in done.out
    assert "also " in done.out
    assert "default 0" in done.out


def test_a_deprecated_tool_names_its_replacement(run: Runner) -> None:
    assert "  deprecated: use " in run("tools", "--pack", "local-toolkit").out


def test_one_tool_is_shown_whole_also_by_another_spelling(run: Runner) -> None:
    done = run("tools", "getWeather", "--tools", TOOLS)
    assert done.code == 0
    assert "The weather of the coming days." in done.out
    assert '"properties": {' in done.out
    pack = run("tools", "code_execution_tool", "--pack", "agent-zero")
    for words in ("schema\n", "rules\n", "example\n"):
        assert words in pack.out


def test_the_catalogue_as_json_holds_schema_and_rules(run: Runner) -> None:
    tools = {
        tool["name"]: tool for tool in run("tools", "--pack", "agent-zero", "--tools", TOOLS, "--json").json["tools"]
    }
    assert tools["get_weather"]["parameters"]["required"] == ["city"]
    assert tools["get_weather"]["effects"] == ["execute", "network", "read", "write"]
    assert tools["get_weather"]["effects_declared"] is False
    assert tools["code_execution_tool"]["rules"]["aliases"]["command"] == "code"
    assert list(run("tools", "get_weather", "--tools", TOOLS, "--json").json) == ["tools"]


def test_packs_lists_every_pack_with_its_tools(run: Runner) -> None:
    done = run("packs")
    assert done.code == 0
    assert all(f"{name}\n  " in done.out for name in available_packs())
    listed = run("packs", "--json").json["packs"]
    assert [pack["name"] for pack in listed] == list(available_packs())
    assert all(pack["description"] for pack in listed)


@every("name", available_packs())
def test_every_pack_can_be_shown(run: Runner, name: str) -> None:
    done = run("packs", name)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{name}\n")
    assert run("packs", name, "--json").json["packs"][0]["tools"]


def test_an_own_pack_is_shown_by_its_path(run: Runner, tmp_path: Path) -> None:
    pack = tmp_path / "mine.toml"
    pack.write_text(
        '[pack]\nname = "mine"\ndescription = "My own."\n'
        '[tools.send]\nrequired = ["text"]\naliases = { message = "text" }\nexample = { text = "hello" }\n'
    )
    done = run("packs", str(pack))
    assert (done.code, done.err) == (0, "")
    assert "mine\nMy own.\n" in done.out
    assert "aliases: message → text" in done.out
    pack.write_text('[pack]\nname = "mine"\ndescription = "My own."\n[tools.send]\naliasses = { a = "text" }\n')
    wrong = run("packs", str(pack))
    assert wrong.code == 2
    assert "mine.toml:5: " in wrong.err


def test_the_demo_repairs_most_and_refuses_the_rest_with_a_hint(run: Runner) -> None:
    done = run("demo", "--json")
    assert done.code == 0
    lines = {line["title"]: line for line in done.lines}
    assert len(lines) == len(load_demo().cases) >= 12
    refused = {title for title, line in lines.items() if not line["ok"]}
    assert refused == {
        "truncated in the middle of a value",
        "one argument twice",
        "two names that could be either",
        "a required argument is missing",
        "a tool that does not exist",
    }
    assert all(lines[title]["hint"] for title in refused)
    assert all(line["repairs"] for title, line in lines.items() if title not in refused)
    assert json.loads(lines["a Python list where the tool wants JSON text"]["arguments"]["operations"]) == [
        {"type": "modify", "path": "fibonacci.sh", "content": 'echo "it\'s done"'}
    ]
    code = lines["code with raw line breaks and quotes that nobody escaped"]["arguments"]["content"]
    assert code == 'def hello():\n    print("hello")\n'
    assert lines["encoded twice"]["arguments"]["amount"] == 1250.5
    assert lines["encoded twice"]["arguments"]["from_account"] == "00123"


@pytest.mark.parametrize("width", [60, 100, 160])
def test_the_demo_fits_the_terminal(run: Runner, width: int) -> None:
    done = run("demo", "--plain", columns=width)
    assert done.code == 0
    assert (" │ " in done.out) is (width >= 100)
    assert "input" in done.out
    assert "\x1b" not in done.out
    shown, _, commands = done.out.partition("Try next:")
    assert max(visible_width(line) for line in shown.splitlines()) <= width
    assert commands.count("  rightcall ") == 4


@pytest.mark.promise("X-01")
def test_the_demo_also_runs_calls_under_a_policy_and_leaves_nothing_behind(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, _, ran = run("demo", "--plain", columns=100).out.partition("And then they run")
    assert ran.count("✓ word_count ran in") == 4
    assert "○ save_note was rehearsed" in ran
    assert "Tool 'drop_table' is not whitelisted for AI use" in ran
    assert "Use the result of call 2" in ran
    assert "rate limit: 5 a" in ran
    assert "their chain is unbroken" in ran
    assert list(tmp_path.iterdir()) == []


@every(
    ("schema", "words"),
    [
        ({"type": "string"}, "text"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "integer 1 to 9"),
        ({"type": "number", "minimum": 0}, "number from 0"),
        ({"type": "array", "items": {"type": "string"}}, "list of text"),
        ({"type": ["string", "null"]}, "text or null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({"enum": ["a", "b", ""]}, 'a | b | ""'),
        ({"enum": list(range(9))}, "0 | 1 | 2 | 3 | 4 | 5 | … 9 in all"),
        ({"const": 3}, "3"),
        ({"properties": {"x": {}, "y": {}}}, "object {x, y}"),
        ({"$ref": "#/$defs/point"}, "object {x}"),
        ({"$ref": "#/$defs/loop"}, "anything"),
        ({}, "anything"),
        (True, "anything"),
        ({"type": "string\x1b[2J"}, "string\\u001b[2J"),
    ],
)
def test_a_type_is_said_in_few_words(schema: Any, words: str) -> None:
    root = {"$defs": {"point": {"type": "object", "properties": {"x": {}}}, "loop": {"$ref": "#/$defs/loop"}}}
    assert type_words(schema, root) == words


def test_arguments_carry_marks_aliases_and_defaults() -> None:
    schema = {"properties": {"code": {"type": "string"}, "session": {"type": "integer"}}, "required": ["code"]}
    rules = Rules(aliases={"command": "code"}, defaults={"session": 0}, required_any=(("to", "recipient"),))
    arguments = {one.name: one for one in arguments_of(schema, rules)}
    assert list(arguments) == ["code", "session", "to", "recipient"]
    assert arguments["code"].required
    assert arguments["code"].aliases == ("command",)
    assert arguments["session"].default == 0
    assert not arguments["session"].required


def test_tools_alone_are_those_that_run_has_in_this_folder(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [tool["name"] for tool in run("tools", "--json").json["tools"]]
    assert {"code/read", "code/edit", "ping"} <= set(names)
    parameters = '{ type = "object", properties = { n = { type = "integer" } } }'
    (tmp_path / "own.toml").write_text(f"[gate.tools.add]\nparameters = {parameters}\n")
    more = [tool["name"] for tool in run("tools", "--policy", "own.toml", "--json").json["tools"]]
    assert set(more) == {*names, "add"}


def test_without_tools_nothing_is_called_checked(run: Runner) -> None:
    said = "no tools were given, so no name and no argument was checked"
    next_step = "Pass `--tools FILE` or `--pack NAME`; `rightcall packs` lists the packs"
    checked = run("check", "add", "{}")
    assert checked.code == 0
    assert checked.out.startswith(f"! add can be read: {said}\n")
    assert next_step in checked.out
    found = run("read", '<tool_call>{"name": "add", "arguments": {}}</tool_call>', columns=160)
    assert found.out.startswith("! add can be read\n")
    assert said in found.out
    bare = run("read", 'I call {"name": "add", "arguments": {}}', columns=200)
    assert bare.out.startswith("no call found\n")
    assert "A JSON object alone counts as a call only if it names one of the tools" in bare.out
    assert next_step in bare.out
    assert "may run" in run("check", "get_weather", '{"city": "Rome"}', "--tools", TOOLS).out


def test_functions_are_shown_with_the_effects_they_declare(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "effecttools.py").write_text(
        "from rightcall import tool\n\n@tool(effects=['read'])\ndef look(at: str) -> str:\n    return at\n\n"
        "def bare(at: str) -> str:\n    return at\n\nTOOLS = [look, bare]\n"
    )
    told = run("tools", "--tools", "effecttools:TOOLS").out
    assert "look  [given; read]\n" in told
    assert "bare  [given; any effect (none declared)]\n" in told
    (look, _) = run("tools", "--tools", "effecttools:TOOLS", "--json").json["tools"]
    assert (look["effects"], look["effects_declared"]) == (["read"], True)
