"""`edit_files` of design 003 on an executor: the name that models know, and the tool that writes."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, tool
from rightcall.hosts.normalizer import ArgumentNormalizer
from rightcall.record.tables import read_call

pytestmark = pytest.mark.promise("N-72")

FREE: dict[str, Any] = {"stage": "full", "write": "allow", "execute": "allow"}
FIBONACCI = {"type": "insert", "path": "experimental/fibonacci.sh", "content": "echo '1 1 2'\n"}
EMPTY = {"type": "insert", "path": "experimental/empty"}


def opened(root: Path, policy: dict[str, Any] = FREE, **more: Any) -> Any:
    settings = {"version": 1, "gate": {"packs": ["edit-files"]}, "policy": policy}
    return Executor.open_sync(root, {**settings, **more}, store="memory")


def edit(operations: Any) -> dict[str, Any]:
    return {"name": "edit_files", "arguments": {"operations": operations}}


@pytest.mark.parametrize(
    "written",
    [
        lambda operations: operations,
        json.dumps,
        repr,
        lambda operations: repr(operations).replace("\\", "\\\\").replace("'", "\\'"),
    ],
    ids=["list", "json", "python", "escaped"],
)
def test_operations_run_however_they_are_written(tmp_path: Path, written: Any) -> None:
    with opened(tmp_path) as ex:
        made = ex.run(edit(written([FIBONACCI, EMPTY])))
        record = read_call(ex.store.look(lambda tables: tables.entry(made.metadata.call)).body)
        changed = ex.run(
            edit(written([{**FIBONACCI, "type": "modify", "content": "2\n"}, {**EMPTY, "type": "delete"}]))
        )
    assert made.result["success"] is True
    assert [(one["path"], one["status"]) for one in made.result["results"]] == [
        ("experimental/fibonacci.sh", "added"),
        ("experimental/empty", "added"),
    ]
    assert (record.tool, "edit_files" in str(record.emission)) == ("code/edit", True)
    assert [one["status"] for one in changed.result["results"]] == ["modified", "deleted"]
    assert sorted(one.name for one in (tmp_path / "experimental").iterdir()) == ["fibonacci.sh"]
    assert (tmp_path / "experimental" / "fibonacci.sh").read_text(encoding="utf-8") == "2\n"
    assert changed.content.count("Changed 2 files") == 1


@pytest.mark.promise("W-05")
@pytest.mark.parametrize(
    ("operations", "why"),
    [
        ([FIBONACCI, {"type": "modify", "path": "experimental/none", "content": "x"}], "no such file"),
        ([FIBONACCI, FIBONACCI], "is there twice"),
        ([FIBONACCI, {"type": "insert", "path": "app.py", "content": "x"}], "No git repository"),
        (
            [{"type": "insert", "path": f"experimental/r/{name}"} for name in ("HEAD", "objects/a", "refs/b")],
            "repository",
        ),
        ([FIBONACCI, {"type": "insert", "path": "experimental/.env", "content": "x"}], "No such file"),
        ([FIBONACCI, {"type": "explode", "path": "experimental/a"}], "type"),
        ([FIBONACCI, {"type": "modify", "path": "experimental/a"}], "no such file"),
        ("delete everything", "operations"),
        ([], "operations"),
    ],
)
def test_all_of_a_call_is_done_or_nothing(tmp_path: Path, operations: Any, why: str) -> None:
    with opened(tmp_path) as ex:
        outcome = ex.run(edit(operations))
    assert not outcome.ok
    assert why in outcome.content
    assert not (tmp_path / "experimental").exists()


def test_it_is_a_dry_run_that_asks_a_person_until_the_policy_says_otherwise(tmp_path: Path) -> None:
    with opened(tmp_path, {"stage": "full"}) as ex:
        rehearsed = ex.run(edit([FIBONACCI]))
    with opened(tmp_path, {"stage": "full", "write": "ask", "execute": "ask"}) as ex:
        asked = ex.run(edit([FIBONACCI]))
        waiting = [one.tool for one in ex.waiting()]
    assert rehearsed.decision.kind == "dry_run"
    assert "+echo '1 1 2'" in rehearsed.content
    assert (asked.ok, waiting) == (False, ["code/edit"])
    assert not (tmp_path / "experimental").exists()


@pytest.mark.promise("P-01")
def test_whoever_may_not_use_code_edit_may_not_use_it_by_this_name(tmp_path: Path) -> None:
    with opened(tmp_path, {**FREE, "stage": "limited-write"}) as ex:
        assert ex.run(edit([FIBONACCI])).decision.rule == "allowlist"
    for name in ("code/edit", "edit_files"):
        with opened(tmp_path, callers={"default": {"deny": [name]}}) as ex:
            assert ex.run(edit([FIBONACCI])).decision.kind == "deny"
    with Executor.open_sync(tmp_path, {"policy": FREE}, store="memory") as ex:
        decision = ex.run(edit([FIBONACCI])).decision
    assert decision is not None
    assert decision.rule == "unknown_tool"


ASKING_NOBODY: dict[str, Any] = {"write": "allow", "execute": "allow"}


@pytest.mark.promise("P-01")
def test_who_may_use_it_by_this_name_may_use_it(tmp_path: Path) -> None:
    rows: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"allow": ["edit_files"]}, {}),
        ({"allow": ["edit_*"]}, {}),
        ({}, {"default": {"allow": ["edit_files"]}}),
        ({}, {"default": {"only": ["edit_files"]}}),
        ({"allow": ["code/edit"]}, {}),
    ]
    for number, (said, callers) in enumerate(rows):
        (root := tmp_path / str(number)).mkdir()
        with opened(root, {**ASKING_NOBODY, **said}, callers=callers) as ex:
            outcome = ex.run(edit([FIBONACCI]))
            offered = [one["name"] for one in ex.definitions(shape="mcp")]
        assert (outcome.ok, outcome.decision.rule) == (True, "allow:write"), (said, callers)
        assert {"code/edit", "edit_files"} <= set(offered)
        assert "only" not in str(callers) or set(offered) == {"code/edit", "edit_files"}
    with opened(
        tmp_path, {**ASKING_NOBODY, "allow": ["edit_files"]}, callers={"default": {"deny": ["code/edit"]}}
    ) as ex:
        assert ex.run(edit([FIBONACCI])).decision.kind == "deny"
        assert not any("edit" in one["name"] for one in ex.definitions(shape="mcp"))


@pytest.mark.promise("P-02")
def test_limits_of_either_name_count_for_both_and_the_stricter_wins(tmp_path: Path) -> None:
    for tools in (
        {"edit_files": {"minute": 1}},
        {"edit_files": {"minute": 5}, "code/edit": {"minute": 1}},
        {"edit_files": {"minute": 1, "hour": 9}, "code/edit": {"hour": 5}},
    ):
        with opened(tmp_path, {**FREE, "limits": {"tools": tools}}) as ex:
            ex.run(edit([FIBONACCI]))
            again = ex.run({**edit([EMPTY]), "name": "code/edit"})
        assert again.decision.rule == "limit:tool:minute", tools


def test_models_are_offered_it_and_refused_by_the_name_they_used(tmp_path: Path) -> None:
    with opened(tmp_path) as ex:
        offered = {one["function"]["name"]: one["function"]["parameters"] for one in ex.definitions()}
        prompt = ex.prompt()
        alone = [one["name"] for one in ex.definitions(shape="mcp", only=["edit_files"])]
        for name in ("edit_files", "code/edit"):
            assert ex.run({**edit(5), "name": name}).hint.startswith(f"⚠️ Invalid {name} call. `operations` must")
    assert offered["edit_files"] == offered["code_edit"]
    assert "edit_files" in prompt
    assert alone == ["edit_files"]
    with Executor.open_sync(tmp_path, {"policy": FREE}, store="memory") as ex:
        assert "edit_files" not in {one["name"] for one in ex.definitions(shape="mcp")}


@pytest.mark.promise("N-16")
def test_a_right_call_by_this_name_counts_as_direct(tmp_path: Path) -> None:
    with opened(tmp_path) as ex:
        ex.run(edit([FIBONACCI]))
        ex.run(edit(json.dumps([EMPTY])))
        usage = ex.run({"name": "analytics/tool-usage", "arguments": {}}).result["repairs"]["byTool"]["code/edit"]
    assert (usage["direct"], usage["repaired"], usage["strategies"]) == (2, 0, {})


@pytest.mark.promise("N-74")
def test_a_refusal_makes_one_demand(tmp_path: Path) -> None:
    with opened(tmp_path) as ex:
        for given, shown in ((5, "the number 5"), ("garbage", 'the text "garbage"'), ("5", 'the text "5"')):
            told = ex.run(edit(given)).error
            assert told == f"Validation failed: `operations` must be a list, got {shown}"


def test_with_a_branch_open_it_edits_there(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("one\n", encoding="utf-8")
    start = "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm one"
    subprocess.run(start, shell=True, cwd=tmp_path, check=True)
    change = [{"type": "modify", "path": "app.py", "content": "two\n"}, FIBONACCI]
    with opened(tmp_path) as ex:
        early = ex.run(edit(change))
        assert ex.run({"name": "code/create-branch", "arguments": {"name": "fix"}}).ok
        outcome = ex.run(edit(change))
    assert "code/create-branch" in early.error
    assert (outcome.result["branch"], len(outcome.result["results"])) == ("fix", 2)
    assert (tmp_path / "app.py").read_text(encoding="utf-8") == "one\n"
    assert not (tmp_path / "experimental").exists()


def test_a_function_of_the_programs_own_keeps_its_name(tmp_path: Path) -> None:
    @tool(effects=["read"])
    def edit_files(operations: Any) -> str:
        """Only looks."""
        return "mine"

    settings = {"gate": {"packs": ["edit-files"]}, "policy": {**FREE, "allow": ["edit_files"]}}
    with Executor.open_sync(tmp_path, settings, tools=[edit_files], store="memory", code=True) as ex:
        outcome = ex.run(edit([FIBONACCI]))
        offered = [one["name"] for one in ex.definitions(shape="mcp")]
    assert (outcome.tool, outcome.result) == ("edit_files", "mine")
    assert offered.count("edit_files") == 1
    limited = {**settings, "policy": {**ASKING_NOBODY, "allow": ["edit_files"]}}
    with Executor.open_sync(tmp_path, limited, tools=[edit_files], store="memory", code=True) as ex:
        other = ex.run({**edit([FIBONACCI]), "name": "code/edit"})
    assert other.decision is not None
    assert other.decision.rule == "allowlist"


@pytest.mark.parametrize("packs", [["edit-files", "gaia"], ["gaia", "edit-files", "code"]])
def test_it_runs_beside_other_packs(tmp_path: Path, packs: list[str]) -> None:
    with Executor.open_sync(tmp_path, {"gate": {"packs": packs}, "policy": FREE}, store="memory") as ex:
        assert ex.run(edit(repr([FIBONACCI]))).ok
        assert ex.run({"name": "ai.read", "arguments": {"path": "experimental/fibonacci.sh"}}).ok


@pytest.mark.promise("N-75")
@pytest.mark.parametrize(
    ("operations", "strategy", "ok"),
    [
        ([FIBONACCI], "direct", True),
        (json.dumps([FIBONACCI]), "direct", True),
        (r"[{\'type\': \'insert\', \'path\': \'experimental/a\'}]", "regex_quotes", True),
        ({"type": "insert", "path": "experimental/a"}, "structure", True),
        ([{"type": "modify", "path": "experimental/none", "content": "x"}], "direct", False),
        (repr([{"type": "modify", "path": "experimental/none", "content": "x"}]), "python_ast", False),
        ("delete everything", "failed", False),
    ],
)
def test_an_outcome_names_the_strategy(tmp_path: Path, operations: Any, strategy: str, ok: bool) -> None:
    with opened(tmp_path) as ex:
        outcome = ex.run(edit(operations))
        unknown = ex.run({"name": "no_such_tool", "arguments": {}})
        recorded = read_call(ex.store.look(lambda tables: tables.entry(outcome.metadata.call)).body).strategy
    assert (outcome.normalization_strategy, outcome.ok) == (strategy, ok)
    assert recorded == strategy
    assert ArgumentNormalizer().normalize_arguments({"operations": operations}, "edit_files")[1].value == strategy
    assert unknown.normalization_strategy == "failed"


@pytest.mark.promise("N-74")
def test_a_wrong_call_is_answered_with_the_designs_hint(tmp_path: Path) -> None:
    with opened(tmp_path) as ex:
        outcome = ex.run(edit("delete everything"))
    assert "Check argument format - operations should be valid JSON array." in outcome.hint
    assert outcome.content.startswith("Error: ")
