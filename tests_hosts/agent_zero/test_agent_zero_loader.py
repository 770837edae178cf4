"""The extension file in a running Agent Zero: its own loader, its own order of hooks, in every layout there is.

`drive.py` hands a model's messages to `Agent.process_tools`. The stand-in is written by us from the facts; with
AGENT_ZERO=folder (several with the path separator between them) the same tests run in copies of the real one too.
"""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import agent_zero_standin as standin
import pytest
from agent_zero_trees import REAL, Tree, tree_of

from rightcall import SqliteStore
from rightcall.hosts.install import agent_zero
from rightcall.record.admission import Reply, answer

UNSEEN = pytest.param(
    None, id="real", marks=pytest.mark.skip("AGENT_ZERO is not set: run in our stand-in only, not in the real one")
)
LAYOUTS: list[Any] = ["old", "user", "present", *(REAL or [UNSEEN])]
PRESENT = ["present", *(path for path in REAL if agent_zero.layout_of(path) == "present")]
BLOCK = '[gate.hosts.agent-zero]\nmode = "block"\n'
BASH = {"tool_name": "code_execution_tool", "tool_args": {"runtime": "bash", "command": "ls"}}
NO_CODE = {"tool_name": "code_execution_tool", "tool_args": {"runtime": "python"}}
ANSWER = {"tool_name": "response", "tool_args": {"message": "Done."}}
HELLO = {"tool_name": "memory_save", "tool_args": {"text": "hello"}}
CORRECTED = ["code_execution_tool", {"runtime": "terminal", "code": "ls", "session": 0, "reset": False}]
MISSING = "Tool 'code_execution_tool' is missing required arguments: code. Check the tool usage format and retry."

Make = Callable[..., Tree]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(which: Any, *, policy: str | None = None, gate: bool = True) -> Tree:
        tree = tree_of(tmp_path / "a0", which)
        if gate:
            agent_zero.install(tree.root)
        if policy is not None:
            (tree.root / "rightcall.toml").write_text(policy, encoding="utf-8")
        return tree

    return made


@pytest.mark.parametrize("which", LAYOUTS, ids=str)
def test_without_the_gate_the_wrong_names_reach_the_tool(make: Make, which: Any) -> None:
    (one,) = make(which, gate=False).send(BASH)
    assert one["ran"] == [["code_execution_tool", {"runtime": "bash", "command": "ls"}]]
    assert one["log"] == one["warnings"] == []


@pytest.mark.promise("H-06")
@pytest.mark.parametrize("package", [True, False], ids=["with the package", "alone"])
@pytest.mark.parametrize("which", LAYOUTS, ids=str)
def test_arguments_are_corrected_in_place_and_told_in_the_designs_words(make: Make, which: Any, package: bool) -> None:
    bash, no_code, answer, other = make(which).send(BASH, NO_CODE, ANSWER, HELLO, package=package)
    assert bash["ran"] == [CORRECTED]
    assert sorted(bash["log"]) == [
        ["info", "[MetaGate] Auto-corrected arg 'command' → 'code'"],
        ["info", "[MetaGate] Auto-corrected runtime value 'bash' → 'terminal'"],
    ]
    assert no_code["ran"] == [["code_execution_tool", {"runtime": "python", "session": 0, "reset": False}]]
    assert no_code["log"] == [["warning", "[MetaGate] Tool 'code_execution_tool' missing required args: ['code']"]]
    assert no_code["warnings"] == [MISSING]
    assert answer["ran"] == [["response", {"text": "Done."}]]
    assert (other["ran"], other["log"], other["warnings"]) == ([["memory_save", {"text": "hello"}]], [], [])


@pytest.mark.parametrize("which", PRESENT, ids=str)
def test_without_the_gate_agent_zero_stops_at_what_it_cannot_validate(make: Make, which: Any) -> None:
    shape, empty = make(which, gate=False).send(
        {"tool": "response", "args": {"text": "hi"}}, {**ANSWER, "tool_args": {}}
    )
    assert [one["failed"][0] for one in (shape, empty)] == ["ValueError", "ValueError"]


@pytest.mark.promise("H-06")
@pytest.mark.parametrize("package", [True, False], ids=["with the package", "alone"])
@pytest.mark.parametrize("which", PRESENT, ids=str)
def test_names_and_shapes_are_repaired_before_the_tool_is_looked_up(make: Make, which: Any, package: bool) -> None:
    requests = [
        {"tool": "response", "args": {"message": "hi"}},
        {"tool_calls": [{"function": {"name": "response", "arguments": '{"text": "hi"}'}}]},
        {"thoughts": [], "tool_name": "response", "text": "hi"},
        {"tool_name": "Response", "tool_args": "hi"},
        {"toolName": "response", "toolArgs": {"text": "hi"}},
    ]
    for one in make(which).send(*requests, package=package):
        assert one["ran"] == [["response", {"text": "hi"}]], one
        assert one["failed"] is None
        assert {kind for kind, _ in one["log"]} == {"info"}


@pytest.mark.promise("H-06")
@pytest.mark.parametrize("package", [True, False], ids=["with the package", "alone"])
@pytest.mark.parametrize("which", PRESENT, ids=str)
def test_a_call_without_arguments_is_told_filled_or_let_through(make: Make, which: Any, package: bool) -> None:
    response, code, skills, own, cut = make(which).send(
        {"tool_name": "response", "tool_args": {}},
        {"tool_name": "code_execution_tool", "tool_args": {}},
        {"tool_name": "skills_tool:list", "tool_args": {}},
        {"tool_name": "my_tool", "tool_args": {}},
        "{'tool_name': 'my_tool', 'tool_args': {",
        package=package,
    )
    message = "Tool 'response' is missing required arguments: text. Check the tool usage format and retry."
    assert (response["ran"], response["failed"]) == ([], ["RepairableException", message])
    assert code["ran"] == [["code_execution_tool", {"session": 0, "reset": False}]]
    assert [line for _, line in code["log"]] == [
        "[MetaGate] Tool 'code_execution_tool' missing required args: ['runtime', 'code']"
    ]
    assert skills["ran"] == [["skills_tool", {"method": "list"}]]
    assert own["ran"] == [["my_tool", {}]]
    assert (cut["ran"], cut["failed"][0]) == ([], "RepairableException")


@pytest.mark.parametrize("which", PRESENT, ids=str)
def test_what_could_mean_two_things_is_left_to_agent_zero(make: Make, which: Any) -> None:
    requests = [
        {"tool": "response", "name": "memory_save", "args": {"text": "hi"}},
        {"tool_calls": [{"name": "response", "arguments": {}}, {"name": "memory_save", "arguments": {}}]},
        {"name": "Alice", "parameters": {"age": 7}},
    ]
    for one in make(which).send(*requests):
        assert (one["ran"], one["failed"][0], one["log"]) == ([], "ValueError", [])


@pytest.mark.parametrize("package", [True, False], ids=["with the package", "alone"])
@pytest.mark.parametrize("which", PRESENT, ids=str)
def test_arguments_that_are_none_are_told_and_not_made_up(make: Make, which: Any, package: bool) -> None:
    requests = [
        {"tool_name": "my_tool", "tool_args": "{'a': "},
        {"tool_name": "my_tool", "tool_args": [1, 2]},
        {"tool_name": "my_tool"},
        {"tool_name": "memory_save", "tool_args": None},
    ]
    for one in make(which).send(*requests, package=package):
        assert (one["ran"], one["failed"][0]) == ([], "RepairableException")
        assert one["failed"][1].endswith(" retry.")


@pytest.mark.promise("H-06")
@pytest.mark.parametrize("which", LAYOUTS, ids=str)
def test_a_policy_that_blocks_keeps_the_tool_from_running_and_the_model_reads_why(make: Make, which: Any) -> None:
    bash, no_code = make(which, policy=BLOCK).send(BASH, NO_CODE)
    assert bash["ran"] == [CORRECTED]
    assert no_code["ran"] == []
    kind, message = no_code["failed"]
    assert kind == "RepairableException"
    assert "code" in message


HALF = '{"thoughts": [], "tool_name": "memory_save", "tool_args": {"text": "rm -rf /tmp/a'
QUOTED = "{'tool_name': 'memory_save', 'tool_args': {'text': 'rm -rf /tmp/a'"  # all the stand-in's reader closes


@pytest.mark.promise("H-06")
@pytest.mark.parametrize("package", [True, False], ids=["with the package", "alone"])
@pytest.mark.parametrize("which", LAYOUTS, ids=str)
def test_half_a_call_runs_without_the_gate_and_not_with_it(make: Make, which: Any, package: bool) -> None:
    cut = [HALF] if isinstance(which, Path) else [QUOTED]
    tree = make(which, gate=False)
    assert [one["ran"] for one in tree.send(*cut)] == [[["memory_save", {"text": "rm -rf /tmp/a"}]]]
    agent_zero.install(tree.root)
    for one in tree.send(*cut, package=package):
        assert (one["ran"], one["failed"][0]) == ([], "RepairableException")
        assert "was truncated and did not run" in one["failed"][1]


@pytest.mark.promise("H-06", "A-01")
def test_half_a_call_is_recorded_as_refused_and_passes_where_the_policy_only_observes(make: Make) -> None:
    tree = make("present", policy="version = 1\n")
    (one,) = tree.send(QUOTED)
    assert (one["ran"], "truncated" in one["failed"][1], statuses(tree)) == ([], True, ["refused"])
    (tree.root / "rightcall.toml").write_text('[gate.hosts.agent-zero]\nmode = "observe"\n', encoding="utf-8")
    (one,) = tree.send(QUOTED)
    assert (one["ran"], one["failed"]) == ([["memory_save", {"text": "rm -rf /tmp/a"}]], None)


@pytest.mark.promise("H-06")
@pytest.mark.parametrize("policy", [None, "version = 1\n", BLOCK])
def test_an_argument_that_nobody_declared_reaches_the_tool_as_it_is(make: Make, policy: str | None) -> None:
    tree = make("present", policy=policy)
    written = {"runtime": "bash", "code": "ls", "workdir": "/", "engine": "v8"}
    one, lacking = tree.send(
        {"tool_name": "code_execution_tool", "tool_args": written},
        {"tool_name": "code_execution_tool", "tool_args": {"runtime": "terminal", "workdir": "/"}},
    )
    assert one["ran"][0][1] == {**written, "runtime": "terminal", "session": 0, "reset": False}
    if policy == BLOCK:
        assert lacking["ran"] == []
    else:
        assert lacking["ran"][0][1] == {"runtime": "terminal", "workdir": "/", "session": 0, "reset": False}
        assert lacking["warnings"] == [MISSING]
    if policy == "version = 1\n":
        kept = b"".join(file.read_bytes() for file in (tree.root / ".rightcall").rglob("*") if file.is_file())
        assert b"workdir" in kept


@pytest.mark.parametrize("which", LAYOUTS, ids=str)
def test_with_a_policy_that_says_nothing_of_the_host_it_warns_and_records(make: Make, which: Any) -> None:
    tree = make(which, policy="version = 1\n")
    bash, no_code, broke, after = tree.send(BASH, NO_CODE, {**HELLO, "tool_args": {"text": "fail"}}, HELLO)
    assert [one["ran"][0][0] for one in (bash, no_code, after)] == ["code_execution_tool"] * 2 + ["memory_save"]
    assert no_code["warnings"] == [MISSING]
    assert broke["failed"] == ["OSError", "the tool broke"]
    assert statuses(tree) == ["success", "success", "failed", "success"]


def test_denials_and_questions_of_the_policy_hold_and_a_yes_lets_the_call_through_once(make: Make) -> None:
    policy = '[policy]\ndeny = ["memory_save"]\n[policy.approval]\ntools = ["response", "files/read_file"]\n'
    tree = make("present", policy=policy)
    denied, asked, mcp = tree.send(HELLO, ANSWER, {"tool_name": "files.read_file", "tool_args": {"path": "a"}})
    assert [one["ran"] for one in (denied, asked, mcp)] == [[], [], []]
    assert {one["failed"][0] for one in (denied, asked, mcp)} == {"RepairableException"}
    approval = re.findall(r"approvals approve (\w+)", asked["failed"][1])[0]
    said_yes(tree, approval)
    once, again = tree.send(ANSWER, ANSWER)
    assert once["ran"] == [["response", {"text": "Done."}]]
    assert (again["ran"], again["failed"][0]) == ([], "RepairableException")


@pytest.mark.parametrize("which", LAYOUTS, ids=str)
def test_tools_of_mcp_servers_are_repaired_by_their_own_schema(make: Make, which: Any) -> None:
    tree = make(which, policy="version = 1\n")
    (one,) = tree.send({"tool_name": "files.read_file", "tool_args": {"Path": "a.txt"}})
    assert one["ran"] == [["files.read_file", {"path": "a.txt"}]]


@pytest.mark.promise("A-02")
@pytest.mark.parametrize("layout", ["old", "user", "present"])
def test_a_secret_reaches_the_tool_and_no_record(make: Make, layout: standin.Layout) -> None:
    tree = make(layout, policy="version = 1\n")
    code = {"runtime": "bash", "command": "login §§secret(KEY)"}
    (one,) = tree.send({"tool_name": "code_execution_tool", "tool_args": code})
    assert one["ran"][0][1]["code"] == "login hunter2-hunter2"
    kept = b"".join(file.read_bytes() for file in (tree.root / ".rightcall").rglob("*") if file.is_file())
    assert b"secret(KEY)" in kept
    assert b"hunter2" not in kept


@pytest.mark.parametrize("which", LAYOUTS, ids=str)
def test_where_the_package_is_gone_a_policy_that_blocks_lets_nothing_run(make: Make, which: Any) -> None:
    tree = make(which, policy=BLOCK)
    (blocked,) = tree.send(BASH, package=False)
    assert (blocked["ran"], blocked["failed"][0]) == ([], "RepairableException")
    (tree.root / "rightcall.toml").write_text('[gate.hosts.agent-zero]\nmode = "warn"\n', encoding="utf-8")
    (warned,) = tree.send(BASH, package=False)
    assert warned["ran"] == [CORRECTED]
    assert "is not in force" in warned["log"][0][1]


@pytest.mark.promise("P-09")
@pytest.mark.parametrize("package", [True, False], ids=["with the package", "alone"])
@pytest.mark.parametrize("policy", ["[gate\n", None])
def test_a_policy_that_cannot_be_read_lets_nothing_run(make: Make, package: bool, policy: str | None) -> None:
    tree = make("present", policy=policy)
    named = {"RIGHTCALL_POLICY": str(tree.root / "rightcall.toml")}
    (one,) = tree.send(HELLO, package=package, env=named)
    assert (one["ran"], one["failed"][0]) == ([], "RepairableException")
    assert "rightcall.toml" in one["failed"][1]


@pytest.mark.promise("H-06")
@pytest.mark.parametrize("which", LAYOUTS, ids=str)
def test_the_installer_changes_no_file_and_leaves_none_behind(make: Make, which: Any) -> None:
    tree = make(which, gate=False)
    before = tree.files()
    first = agent_zero.install(tree.root)
    assert agent_zero.install(tree.root) == []
    assert {name: content for name, content in tree.files().items() if name in before} == before
    tree.send(BASH, env={"PYTHONDONTWRITEBYTECODE": ""})
    assert sorted(agent_zero.uninstall(tree.root)) == sorted(first)
    after = {name: content for name, content in tree.files().items() if not name.endswith(".pyc")}
    assert after == before
    assert not any("meta_reasoning" in name for name in tree.files())


@pytest.mark.promise("H-06")
def test_the_gate_is_still_there_after_an_update_that_changes_the_layout(make: Make, tmp_path: Path) -> None:
    old = make("user")
    new = tree_of(tmp_path / "new", "present")
    agent_zero.uninstall(new.root)
    for file in (old.root / "usr" / "extensions").rglob("*.py"):  # an update leaves `usr` alone
        copy = new.root / file.relative_to(old.root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    (one,) = new.send({"tool": "response", "args": {"message": "hi"}})
    assert one["ran"] == [["response", {"text": "hi"}]]


def said_yes(tree: Tree, approval: str) -> None:
    with closing(SqliteStore(tree.root / ".rightcall" / "audit.db")) as store:
        digest = store.look(lambda tables: tables.approval(approval)).digest  # type: ignore[union-attr]
        store.transact(lambda tables: answer(tables, approval, Reply("approved", "ann", digest), 3600, ()))


def statuses(tree: Tree) -> list[str]:
    with closing(sqlite3.connect(tree.root / ".rightcall" / "audit.db")) as database:
        return [status for (status,) in database.execute("SELECT status FROM tool_usage_logs ORDER BY id")]
