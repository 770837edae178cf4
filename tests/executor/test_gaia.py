"""The tools of design 004 on an executor: what is ours under another name runs, the rest says why it does not."""

from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor
from rightcall.record.tables import read_call

pytestmark = pytest.mark.promise("V-08")

ALLOWED: dict[str, Any] = {"stage": "full"}
CALLERS = {"default": {"allow": ["ai.execute"]}}


def opened(root: Path, ask: Any = None, **policy: Any) -> Any:
    return Executor.open_sync(root, {"version": 1, "gate": {"packs": ["gaia"]}, **policy}, store="memory", ask=ask)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "design.md").write_text("# The design\n", encoding="utf-8")
    return tmp_path


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


@pytest.mark.parametrize("written", ["design.md", "{root}/design.md"])
def test_ai_read_reads_a_file_below_the_root_as_code_read(root: Path, written: str) -> None:
    with opened(root) as ex:
        outcome = ex.run(call("ai.read", file=written.format(root=root)))
        record = read_call(ex.store.look(lambda tables: tables.entry(outcome.metadata.call)).body)
    assert (outcome.result["content"], outcome.tool) == ("# The design\n", "code/read")
    assert outcome.decision.rule == "stage:read-only"
    assert (record.tool, "ai.read" in str(record.emission)) == ("code/read", True)


def test_the_pack_in_the_call_does_the_same_as_in_the_policy(root: Path) -> None:
    with Executor.open_sync(root, store="memory", packs="gaia") as ex:
        assert ex.run(call("ai.read", path="design.md")).ok
    with Executor.open_sync(root, store="memory") as ex:
        refused = ex.run(call("ai.read", path="design.md")).decision
    assert refused is not None
    assert refused.rule == "unknown_tool"


def test_a_path_outside_the_root_is_refused_under_that_name_too(root: Path) -> None:
    with opened(root) as ex:
        assert ex.run(call("ai.read", path="/etc/passwd")).decision.rule == "path:outside"
        assert ex.run(call("ai.read", path="../x")).decision.rule == "path:outside"


@pytest.mark.parametrize("name", ["ai.read", "code/read"])
def test_a_denial_hits_it_by_either_name(root: Path, name: str) -> None:
    with opened(root, callers={"default": {"deny": [name]}}) as ex:
        outcomes = [ex.run(call(written, path="design.md")) for written in ("ai.read", "code/read")]
        offered = ex.prompt()
    assert [(one.ok, one.decision.kind) for one in outcomes] == [(False, "deny")] * 2
    assert "**code/search**" in offered
    assert "code/read" not in offered


def test_hints_of_code_read_show_its_own_example(root: Path) -> None:
    with opened(root) as ex:
        assert "src/app.py" in ex.run(call("ai.read")).hint


@pytest.mark.promise("T-06")
def test_ai_write_is_not_for_readers_and_shows_its_change_before_anything_can_write(root: Path) -> None:
    (root / "experimental").mkdir()
    (root / "experimental" / "design.md").write_text("# The design\n", encoding="utf-8")
    wish = call("ai.write", path="experimental/design.md", text="# Another\n")
    with opened(root) as ex:
        assert ex.run(wish).decision.rule == "allowlist"
    with opened(root, policy=ALLOWED) as ex:
        rehearsed = ex.run(wish)
        outside = ex.run(call("ai.write", path="/etc/motd", text="x"))
    assert (rehearsed.tool, rehearsed.decision.kind) == ("file/save", "dry_run")
    assert "-# The design\n+# Another" in rehearsed.content
    assert outside.decision.rule == "path:outside"
    assert (root / "experimental" / "design.md").read_text(encoding="utf-8") == "# The design\n"


@pytest.mark.promise("T-06", "X-06")
def test_without_a_dry_run_a_person_is_asked_and_then_it_is_written_or_runs_in_the_sandbox(root: Path) -> None:
    asked: list[str] = []

    def ask(question: Any) -> str:
        asked.append(question.tool)
        return "ann"

    with opened(root, ask, policy={**ALLOWED, "write": "ask", "execute": "ask"}, callers=CALLERS) as ex:
        written = ex.run(call("ai.write", path="experimental/new.md", content="x"))
        executed = ex.run(call("ai.execute", command=f"echo made > made; cat made; cat {root}/design.md"))
    assert (written.ok, asked) == (True, ["file/save", "ai.execute"])
    assert (root / "experimental" / "new.md").read_text(encoding="utf-8") == "x"
    assert (executed.result["stdout"], executed.result["exitCode"]) == ("made\n", 1)
    assert sorted(one.name for one in root.iterdir()) == [".rightcall", "design.md", "experimental"]


def test_ai_execute_is_a_dry_run_that_shows_the_command_and_never_runs_it(root: Path) -> None:
    wish = call("ai.execute", cmd="touch made\nrm x")
    with opened(root) as ex:
        assert ex.run(wish).decision.rule == "allowlist"
    with opened(root, callers=CALLERS) as ex:
        outcome = ex.run(wish)
    assert outcome.decision.kind == "dry_run"
    assert 'Would run: "touch made\\nrm x"' in outcome.content
    assert not (root / "made").exists()


def test_embedding_query_refuses_without_a_host_and_runs_with_one(root: Path) -> None:
    with opened(root) as ex:
        refused = ex.run(call("embedding.query", q="memory"))

        @ex.tool(name="embedding.query", effects=["read"])
        def search(query: str, top_k: int) -> list[str]:
            return [query] * top_k

        found = ex.run(call("embedding.query", q="memory"))
        offered = ex.prompt()
    assert (refused.status, refused.decision.rule) == ("refused", "unavailable")
    assert "a host must register" in refused.content
    assert found.result == ["memory"] * 5
    assert "embedding.query" in offered


def test_what_cannot_run_is_offered_to_nobody(root: Path) -> None:
    with opened(root, policy=ALLOWED, callers=CALLERS) as ex:
        names = {one["function"]["name"] for one in ex.definitions()}
    assert {"code_read", "file_save", "ai_execute"} <= names
    assert not names & {"ai_read", "ai_write", "embedding_query"}


def test_a_function_of_the_programs_own_keeps_its_name(root: Path) -> None:
    with opened(root) as ex:

        @ex.tool(name="ai.read", effects=["read"])
        def read(path: str) -> str:
            return f"mine: {Path(path).name}"

        outcome = ex.run(call("ai.read", path="x"))
    assert (outcome.tool, outcome.result) == ("ai.read", "mine: x")
