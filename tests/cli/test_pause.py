"""`rightcall pause` and `rightcall resume`, and where everybody sees that calls are paused (P-17)."""

from contextlib import closing
from pathlib import Path

import pytest

from cli_running import Runner
from rightcall.door import Door
from rightcall.record.sqlite import SqliteStore

pytestmark = pytest.mark.promise("P-17")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a policy, and a state folder of its own."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "rightcall.toml").write_text("[policy]\n[callers.teacher]\n")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(folder)
    return folder


def hooks_record(tmp_path: Path) -> Path:
    return tmp_path / "state" / "rightcall" / "audit.db"


def test_a_pause_is_shown_everywhere_until_calls_are_resumed(run: Runner, project: Path) -> None:
    done = run("pause", "--reason", "smoke in room 4", "--by", "anna", columns=200)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("All calls are paused since 20")
    assert "by anna: smoke in room 4" in done.out
    again = run("pause", "--by", "berta", columns=200)
    assert "already paused since" in again.out
    assert "by anna" in again.out
    for command in (["audit", "tail"], ["approvals", "list"], ["status"]):
        shown = run(*command, columns=200).out
        assert "PAUSED since" in shown, command
        assert "by anna: smoke in room 4" in shown, command
    (state,) = run("status", "--json").json["paused"]
    assert (state["by"], state["reason"]) == ("anna", "smoke in room 4")
    assert run("approvals", "list", "--json").json["paused"]["by"] == "anna"
    called = run("call", "code/list", '{"pattern": "*"}')
    assert called.code == 1
    assert "paused by the operator" in called.out + called.err
    assert "smoke" not in called.out + called.err
    assert run("resume", "--by", "anna").out.startswith("Calls may run again: ")
    assert run("resume", "--by", "anna").out.startswith("Calls are not paused: ")
    assert run("call", "code/list", '{"pattern": "*"}').code == 0
    for command in (["audit", "tail"], ["approvals", "list"], ["status"]):
        assert "PAUSED" not in run(*command).out


def test_the_state_is_one_json_object(run: Runner, project: Path) -> None:
    (before,) = run("pause", "--status", "--json").json["stores"]
    assert not (project / ".rightcall").exists()  # to look makes nothing
    assert (before["paused"], before["store"]) == (False, str(project / ".rightcall" / "audit.db"))
    (held,) = run("pause", "--json", "--by", "anna").json["stores"]
    assert (held["paused"], held["changed"], held["by"], held["reason"]) == (True, True, "anna", None)
    assert run("pause", "--status", "--json").json["stores"][0]["paused"] is True
    (ended,) = run("resume", "--json", "--by", "anna").json["stores"]
    assert (ended["paused"], ended["changed"]) == (False, True)


def test_everywhere_also_reaches_the_hooks_of_projects_without_a_policy(run: Runner, tmp_path: Path) -> None:
    assert len(run("pause", "--json", "--by", "anna").json["stores"]) == 1
    assert not hooks_record(tmp_path).exists()
    stores = run("pause", "--everywhere", "--json", "--by", "anna").json["stores"]
    assert [one["store"] for one in stores][1] == str(hooks_record(tmp_path))
    with Door.open("claude-code", store=SqliteStore(hooks_record(tmp_path)), mode="observe") as door:
        passage = door.judge("Bash", {"command": "ls"})
        door.store.close()
    assert (passage.action, passage.decision.rule, passage.observed) == ("deny", "paused", False)


def test_without_a_policy_both_stores_of_this_folder_are_paused(run: Runner, project: Path, tmp_path: Path) -> None:
    (project / "rightcall.toml").unlink()
    stores = run("pause", "--json", "--by", "anna").json["stores"]
    assert [one["store"] for one in stores] == [str(project / ".rightcall" / "audit.db"), str(hooks_record(tmp_path))]
    assert len(run("pause", "--json", "--by", "anna", "--db", str(tmp_path / "one.db")).json["stores"]) == 1


def test_a_store_that_cannot_be_used_is_an_error_and_the_others_are_paused(run: Runner, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.db"
    wrong.write_text("a diary\n" * 1000)
    done = run("pause", "--db", str(wrong), "--everywhere", "--by", "anna")
    assert done.code == 2
    assert "cannot be used" in done.err
    with closing(SqliteStore(hooks_record(tmp_path))) as store:
        assert store.look(lambda tables: tables.paused()) is not None


def test_a_policy_that_is_wrong_stops_nobody_from_stopping(run: Runner, project: Path, tmp_path: Path) -> None:
    (project / "rightcall.toml").write_text("nonsense")
    assert run("pause", "--by", "anna").code == 2
    assert run("pause", "--db", str(tmp_path / "one.db"), "--by", "anna", "--reason", "smoke").code == 0


def test_a_caller_of_the_policy_can_neither_stop_nor_let_go(run: Runner) -> None:
    assert run("pause", "--by", "teacher").code == 2
    run("pause", "--by", "anna")
    assert run("resume", "--by", "teacher").code == 2
    assert run("pause", "--status", "--json").json["stores"][0]["paused"] is True


def test_a_secret_in_the_reason_is_not_recorded(run: Runner, project: Path) -> None:
    run("pause", "--reason", "leaked password=Zq8hunter2", "--by", "anna")
    assert "Zq8hunter2" not in run("pause", "--status").out
    files = [path for path in project.rglob("*") if path.is_file()]
    assert not any(b"Zq8hunter2" in path.read_bytes() for path in files)
