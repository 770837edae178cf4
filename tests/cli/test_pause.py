"""`rightcall pause` and `rightcall resume`, and where everybody sees that calls are paused (P-17)."""

import os
import sys
from contextlib import closing
from pathlib import Path
from shutil import rmtree

import pytest

from rightcall.executor.door import Door
from rightcall.policy.trust import EVERYWHERE, Stops, put_stop, stop_at, stopped
from rightcall.policy.types import Pause
from rightcall.record.sqlite import SqliteStore
from support.cli import Runner, Terminal, write_trusted

pytestmark = pytest.mark.promise("P-17")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a policy, and a state folder of its own."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "rightcall.toml").write_text("[policy]\n[callers.teacher]\n")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(folder)
    return folder


def hooks_record(tmp_path: Path) -> Path:
    return tmp_path / "state" / "rightcall" / "audit.db"


def store_at(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    SqliteStore(path).close()


def is_paused(path: Path) -> bool:
    with closing(SqliteStore(path)) as store:
        return store.look(lambda tables: tables.paused()) is not None


def test_a_server_that_cannot_be_reached_is_told_as_not_paused_and_nothing_else_is_claimed(
    run: Runner, project: Path
) -> None:
    store_at(project / ".rightcall" / "audit.db")
    write_trusted(project / "rightcall.toml", 'version = 1\n[store]\nurl = "postgresql://ann@127.0.0.1:1/x"\n')
    done = run("pause", "--by", "anna", columns=200)
    assert done.code == 2
    assert done.err.strip() == (
        "error: NOT paused on postgresql://127.0.0.1:1/x: it cannot be reached. Run "
        f"`rightcall pause --root {project}` again when it is back, or stop the nodes."
    )
    assert done.out.strip() == f"Only what uses {project / '.rightcall' / 'audit.db'} is paused."
    done = run("resume", "--by", "anna", columns=200)
    assert done.code == 2
    assert "NOT resumed on postgresql://127.0.0.1:1/x: it cannot be reached." in done.err


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
    called = run("run", "code/list", '{"pattern": "*"}')
    assert called.code == 1
    assert "paused by the operator" in called.out + called.err
    assert "smoke" not in called.out + called.err
    assert run("resume", "--by", "anna").out.startswith("Calls may run again: ")
    assert run("resume", "--by", "anna").out.startswith("Calls are not paused: ")
    assert run("run", "code/list", '{"pattern": "*"}').code == 0
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


def test_a_store_that_an_untrusted_policy_names_is_told_as_not_reached_unless_everything_is(
    run: Runner, project: Path, tmp_path: Path
) -> None:
    (project / "rightcall.toml").write_text(f'[audit]\npath = "{tmp_path}/other/audit.db"\n')
    store_at(tmp_path / "other" / "audit.db")
    done = run("pause", "--by", "anna", columns=300)
    assert done.code == 2
    assert f"names another audit log, {tmp_path}/other/audit.db, and is not trusted" in done.err
    assert "run: rightcall pause --everywhere" in done.err
    done = run("pause", "--everywhere", "--by", "anna", columns=300)
    assert done.code == 0
    assert "was not reached" not in done.err
    assert stop_at(EVERYWHERE) is not None
    assert run("resume", "--everywhere", "--by", "anna").code == 0


def test_everywhere_reaches_what_has_no_store_and_what_is_made_later(
    run: Runner, project: Path, tmp_path: Path
) -> None:
    whole = run("pause", "--everywhere", "--json", "--by", "anna", "--reason", "smoke").json["everywhere"]
    assert (whole["paused"], whole["changed"], whole["by"], whole["reason"]) == (True, True, "anna", "smoke")
    assert run("pause", "--everywhere", "--json", "--by", "berta").json["everywhere"]["by"] == "anna"
    other = tmp_path / "other"
    other.mkdir()
    with Door.open("wrap", {"version": 1}, root=str(other)) as door:  # in memory, as `wrap` without a policy
        assert door.judge("read", {}).decision.rule == "paused"
    called = run("run", "code/list", '{"pattern": "*"}', "--root", str(other))
    assert "paused by the operator" in called.out + called.err
    left = run("resume", "--by", "anna")
    assert "rightcall resume --everywhere" in left.out
    ended = run("resume", "--everywhere", "--json", "--by", "anna").json["everywhere"]
    assert (ended["paused"], ended["changed"]) == (False, True)
    assert run("run", "code/list", '{"pattern": "*"}', "--root", str(other)).code == 0


@pytest.mark.parametrize("where", ["", "elsewhere"])
def test_everywhere_reaches_what_has_another_state_folder(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """The stop also lies where it would if no variable named another folder, and everybody looks there too."""
    told = run("pause", "--everywhere", "--by", "anna").out
    assert f"This holds for what runs with HOME={tmp_path / 'home'} or XDG_STATE_HOME={tmp_path / 'state'}" in told
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / where) if where else "")
    with Door.open("wrap", {"version": 1}) as door:
        assert door.judge("read", {}).decision.rule == "paused"
        assert "HOME=" in run("pause", "--status").out
        run("resume", "--everywhere", "--by", "anna")
        assert door.judge("read", {}).action == "allow"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Door.open("wrap", {"version": 1}) as door:  # resumed elsewhere, it still stops where it was given
        assert door.judge("read", {}).decision.rule == "paused"


def test_a_store_is_stopped_also_where_the_stop_everywhere_cannot_be_kept(
    run: Runner, project: Path, tmp_path: Path
) -> None:
    stops = tmp_path / "state" / "rightcall" / "stops"
    stops.parent.mkdir(parents=True)
    stops.write_text("a file where the folder should be")
    done = run("pause", "--everywhere", "--by", "anna")
    assert done.code == 2
    assert "this does not hold everywhere" in done.err
    assert is_paused(project / ".rightcall" / "audit.db")


def test_the_state_of_a_store_is_its_own(run: Runner, project: Path) -> None:
    store_at(project / ".rightcall" / "audit.db")
    run("pause", "--everywhere", "--by", "anna")
    run("resume", "--by", "anna")
    told = run("pause", "--status", "--json").json
    assert (told["stores"][0]["paused"], told["everywhere"]["paused"]) == (False, True)


def test_a_stop_that_cannot_be_read_still_stops(run: Runner, tmp_path: Path) -> None:
    run("pause", "--everywhere", "--by", "anna")
    run("resume", "--by", "anna")
    (tmp_path / "state" / "rightcall" / "stops" / "everywhere.json").write_text("{")
    assert run("run", "code/list", '{"pattern": "*"}').code == 1
    assert run("resume", "--everywhere", "--by", "anna").code == 0
    assert run("run", "code/list", '{"pattern": "*"}').code == 0


def test_a_stop_that_is_a_pipe_stops_and_nobody_waits_for_it(tmp_path: Path) -> None:
    stop = tmp_path / "everywhere.json"
    os.mkfifo(stop)
    assert stop_at(str(stop)) is not None


def test_a_stop_that_is_a_link_to_nowhere_stops(tmp_path: Path) -> None:
    stop = tmp_path / "everywhere.json"
    assert stop_at(str(stop)) is None
    for target in (tmp_path / "gone", stop):
        stop.symlink_to(target)
        assert stop_at(str(stop)) is not None, target
        stop.unlink()
    assert stop_at(str(stop)) is None


@pytest.mark.usefixtures("run")
def test_no_call_begins_once_a_stop_was_put() -> None:
    stops = Stops(EVERYWHERE)
    for _ in range(5):
        assert stops.standing() is None
        put_stop(Pause("anna", "2030-01-01T00:00:00Z"))
        assert stops.standing() is not None
        put_stop(None)


def test_whoever_removes_the_store_does_not_lift_the_stop(run: Runner, project: Path) -> None:
    run("pause", "--by", "anna", "--reason", "smoke")
    rmtree(project / ".rightcall")
    called = run("run", "code/list", '{"pattern": "*"}')
    assert called.code == 1
    assert "paused by the operator" in called.out
    assert "by anna: smoke" in run("pause", "--status", columns=200).out
    run("resume", "--by", "anna")
    rmtree(project / ".rightcall")
    assert run("run", "code/list", '{"pattern": "*"}').code == 0


def test_without_a_policy_both_stores_of_this_folder_are_paused(run: Runner, project: Path, tmp_path: Path) -> None:
    (project / "rightcall.toml").unlink()
    alone = run("pause", "--json", "--by", "anna")
    assert [one["store"] for one in alone.json["stores"]] == [str(hooks_record(tmp_path))]
    assert "has no policy file, here or above, so this is meant for everything that you run" in alone.err
    assert not (project / ".rightcall").exists()  # nobody records there
    store_at(project / ".rightcall" / "audit.db")
    stores = run("pause", "--json", "--by", "anna").json["stores"]
    assert [one["store"] for one in stores] == [str(project / ".rightcall" / "audit.db"), str(hooks_record(tmp_path))]
    assert len(run("pause", "--json", "--by", "anna", "--store", str(stores[0]["store"])).json["stores"]) == 1


@pytest.mark.parametrize("place", ["typo/audit.db", "typo.db"])
def test_a_store_or_folder_that_is_missing_is_refused_and_not_made(run: Runner, project: Path, place: str) -> None:
    before = sorted(project.rglob("*"))
    for options in (["--store", place], ["--root", "nowhere"]):
        for command in (["pause"], ["pause", "--status"], ["resume"], ["token", "new", "--as", "ci"]):
            if "token" in command and place == "typo.db" and "--store" in options:
                continue  # a token may be made before the first call
            done = run(*command, *options)
            assert (done.code, done.out) == (2, ""), (command, options)
            assert "nothing was changed" in done.err
    assert sorted(project.rglob("*")) == before


def test_a_subfolder_pauses_the_project_above_it(run: Runner, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".git").mkdir()
    (project / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(project / "src" / "deep")
    (held,) = run("pause", "--json", "--by", "anna").json["stores"]
    assert held["store"] == str(project / ".rightcall" / "audit.db")
    assert not (project / "src" / "deep" / ".rightcall").exists()
    (ended,) = run("resume", "--json", "--by", "anna").json["stores"]
    assert (ended["store"], ended["changed"]) == (held["store"], True)
    (project / "rightcall.toml").unlink()
    assert run("pause", "--json", "--by", "anna").json["stores"][0]["store"] == held["store"]


def test_a_store_that_cannot_be_used_is_an_error_and_the_others_are_paused(run: Runner, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.db"
    wrong.write_text("a diary\n" * 1000)
    done = run("pause", "--store", str(wrong), "--everywhere", "--by", "anna")
    assert done.code == 2
    assert "cannot be used" in done.err
    with closing(SqliteStore(hooks_record(tmp_path))) as store:
        assert store.look(lambda tables: tables.paused()) is not None


@pytest.mark.parametrize("text", ["nonsense", "[policy]\nallwo = []\n", None])
def test_a_policy_that_is_wrong_stops_nobody_from_stopping(run: Runner, project: Path, text: str | None) -> None:
    file, store = project / "rightcall.toml", project / ".rightcall" / "audit.db"
    store_at(store)
    if text is None:
        file.chmod(0o666)
    else:
        file.write_text(text)
    done = run("pause", "--by", "anna", "--reason", "smoke")
    assert done.code == 0
    assert str(store) in done.out
    assert "the policy cannot be used" in done.err
    assert "rightcall pause --store FILE" in done.err
    assert is_paused(store)
    assert run("resume", "--by", "anna").code == 0
    assert not is_paused(store)


def test_a_policy_that_names_another_store_does_not_lift_the_stop_of_its_folder(run: Runner, project: Path) -> None:
    assert run("pause", "--by", "anna").code == 0
    for path in ("other/audit.db", "another.db"):
        (project / "rightcall.toml").write_text(f'[policy]\n[audit]\npath = "{path}"\n')
        called = run("run", "code/list", '{"pattern": "*"}')
        assert (called.code, "paused" in called.out + called.err) == (1, True)
        assert "PAUSED since" in run("audit", "tail", columns=200).out
    (project / "rightcall.toml").rename(project / "gone.toml")
    for mode in ("block", "observe"):
        with Door.open("claude-code", None, root=project, mode=mode) as door:
            assert door.judge("Read", {"file_path": "a.txt"}).decision.rule == "paused"
    (project / "gone.toml").rename(project / "rightcall.toml")
    assert run("resume", "--by", "anna").code == 0
    assert run("run", "code/list", '{"pattern": "*"}').code == 0


@pytest.mark.parametrize("rest", ["[policy\n", "x = 1\n"])
def test_the_store_that_a_wrong_policy_names_is_paused(run: Runner, project: Path, rest: str) -> None:
    (project / "own").mkdir()
    store_at(project / "own" / "calls.db")
    (project / "rightcall.toml").write_text(f'[audit]\npath = "own/calls.db"\n{rest}')
    assert run("pause", "--by", "anna").code == 0
    assert is_paused(project / "own" / "calls.db")


def test_a_wrong_policy_without_a_store_prints_the_command_that_names_one(run: Runner, project: Path) -> None:
    (project / "rightcall.toml").write_text("nonsense")
    done = run("pause", "--by", "anna")
    assert (done.code, done.out) == (2, "")
    assert "rightcall pause --store FILE" in done.err
    assert done.err.rstrip().endswith("rightcall pause --everywhere")
    (project / "rightcall.toml").write_text('[audit]\npath = "/elsewhere/audit.db"\n[policy\n')
    assert "rightcall pause --store /elsewhere/audit.db" in run("pause", "--by", "anna").err


def test_another_store_that_an_untrusted_policy_names_is_an_error(run: Runner, project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.db"
    (project / "rightcall.toml").write_text(f'[audit]\npath = "{elsewhere}"\n')
    for word in ("pause", "resume"):
        done = run(word, "--by", "anna")
        assert done.code == 2
        assert "is not trusted" in done.err
        assert f"rightcall {word} --everywhere" in done.err
        assert "--policy /" not in done.err  # whoever pasted that would give the file their full word
    assert run("pause", "--by", "anna", "--policy", "rightcall.toml").code == 0
    assert is_paused(elsewhere)


@pytest.mark.parametrize("path", [".rightcall/audit.db", "own/calls.db"])
def test_whoever_names_the_store_lifts_the_stop_of_its_folder_too(run: Runner, project: Path, path: str) -> None:
    (project / "own").mkdir()
    (project / "rightcall.toml").write_text(f'[policy]\n[audit]\npath = "{path}"\n')
    assert run("pause", "--by", "anna").code == 0
    done = run("resume", "--store", path, "--by", "anna")
    assert done.out == f"Calls may run again: {project / path}\n"
    assert run("run", "code/list", '{"pattern": "*"}').code == 0
    assert "PAUSED" not in run("status").out


def test_a_stop_of_the_folder_that_remains_is_told_with_the_command_that_ends_it(run: Runner, project: Path) -> None:
    run("pause", "--by", "anna", "--reason", "smoke")
    (project / "rightcall.toml").write_text('[policy]\n[audit]\npath = "other.db"\n')
    store_at(project / "other.db")
    for command in (["resume", "--by", "anna"], ["pause", "--status"]):
        done = run(*command, "--store", "other.db", columns=200)
        assert f"(what finds its audit log in {project}/)" in done.out
        assert f"Run `rightcall resume --root {project}/` to let its calls run again." in done.out
    (left,) = run("resume", "--store", "other.db", "--json").json["folders"]
    assert (left["folder"], left["paused"], left["reason"]) == (f"{project}/", True, "smoke")
    run("resume", "--root", f"{project}/", "--by", "anna")
    assert run("resume", "--store", "other.db", "--json").json["folders"] == []


def test_a_folder_is_let_go_also_where_its_policy_and_its_store_are_gone(run: Runner, project: Path) -> None:
    run("pause", "--by", "anna")
    rmtree(project / ".rightcall")
    (project / "rightcall.toml").rename(project / "gone.toml")
    with Door.open("claude-code", None, root=project) as door:
        assert door.judge("Read", {"file_path": "a.txt"}).decision.rule == "paused"
        assert "PAUSED since" in run("status").out
        assert run("pause", "--status", "--json").json["stores"][0]["paused"]
        assert run("resume", "--by", "anna").code == 0
        assert door.judge("Read", {"file_path": "a.txt"}).decision.rule != "paused"


def test_what_is_below_a_paused_folder_is_paused_also_where_its_policy_is_gone(
    run: Runner, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("pause", "--by", "anna")
    rmtree(project / ".rightcall")
    (project / "rightcall.toml").unlink()
    below = project / "sub" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    with Door.open("claude-code", None, root=below) as door, Door.open("x", None, root=project.parent) as beside:
        assert door.judge("Read", {"file_path": "a.txt"}).decision.rule == "paused"
        assert beside.judge("Read", {"file_path": "a.txt"}).decision.rule != "paused"
        assert f"Run `rightcall resume --root {project}` to let calls run again." in run("status", columns=200).out
        assert run("resume", "--root", str(project), "--by", "anna").code == 0
        assert door.judge("Read", {"file_path": "a.txt"}).decision.rule != "paused"
    assert "PAUSED" not in run("status", columns=200).out


@pytest.mark.parametrize("other", ["", "elsewhere"])
def test_the_stop_of_a_folder_holds_for_who_has_another_state_folder(
    run: Runner, project: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    run("pause", "--by", "anna")
    (project / "rightcall.toml").unlink()
    monkeypatch.setenv("XDG_STATE_HOME", str(project.parent / other) if other else "")
    with Door.open("claude-code", None, root=project) as door:
        assert door.judge("Read", {"file_path": "a.txt"}).decision.rule == "paused"


def test_a_home_that_cannot_be_written_keeps_no_folder_from_being_paused(run: Runner, project: Path) -> None:
    (project.parent / "home").touch()  # no folder can be made in it
    assert run("pause", "--by", "anna").code == 0


def test_resume_says_that_the_stop_everywhere_remains(run: Runner, project: Path) -> None:
    run("pause", "--everywhere", "--by", "anna")
    done = run("resume", "--by", "anna", columns=200)
    assert f"Calls may run again: {project / '.rightcall' / 'audit.db'}" in done.out
    assert "All calls are still paused since" in done.out
    assert done.out.endswith(f"Run `rightcall resume --everywhere --root {project}` to let calls run again.\n")
    shown = run("pause", "--status").out
    assert "already" not in shown


def test_everywhere_holds_whatever_is_wrong_with_the_policy_here(run: Runner, project: Path) -> None:
    (project / "rightcall.toml").write_text("nonsense")
    assert run("pause", "--everywhere", "--by", "anna").code == 0
    assert stopped() is not None
    assert run("resume", "--everywhere", "--by", "anna").code == 0
    assert stopped() is None


def test_each_stop_is_shown_with_the_command_that_ends_it(run: Runner, project: Path, tmp_path: Path) -> None:
    run("pause", "--everywhere", "--by", "anna")
    for command in (["status"], ["audit", "tail"], ["approvals", "list"]):
        run("resume", "--by", "anna")
        told = run(*command, columns=200).out
        assert "Run `rightcall resume --everywhere` to let calls run again." in told, command
        assert "Run `rightcall resume` to" not in told, command
    run("resume", "--everywhere", "--by", "anna")
    run("pause", "--store", str(hooks_record(tmp_path)), "--by", "anna")
    assert f"Run `rightcall resume --store {hooks_record(tmp_path)}` to" in run("status", columns=300).out
    run("resume", "--store", str(hooks_record(tmp_path)), "--by", "anna")
    assert run("status", "--json").json["paused"] == []


def test_everywhere_holds_also_where_a_server_needs_a_package_that_is_missing(
    run: Runner, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_trusted(project / "rightcall.toml", '[store]\nurl = "postgresql://127.0.0.1:1/x"\n')
    monkeypatch.setitem(sys.modules, "psycopg", None)
    done = run("pause", "--everywhere", "--by", "anna", columns=200)
    assert done.code == 2
    assert "(everything that you run on this machine)" in done.out
    assert "Only what uses" not in done.out
    assert done.err.startswith("error: NOT paused: a store on PostgreSQL needs the extra `postgres`")
    done = run("resume", "--everywhere", "--by", "anna")
    assert "Calls may run again: everything that you run on this machine" in done.out
    assert stopped() is None


def test_a_store_on_a_server_that_was_not_reached_is_in_the_json(run: Runner, project: Path) -> None:
    url = "postgresql://127.0.0.1:1/x"
    write_trusted(project / "rightcall.toml", f'[store]\nurl = "{url}"\n')
    done = run("pause", "--json", "--by", "anna")
    assert done.code == 2
    assert done.json["stores"] == []
    (missed,) = done.json["not_reached"]
    assert missed["store"] == url
    assert missed["why"].startswith("NOT paused on postgresql://127.0.0.1:1/x: ")


def test_a_store_that_cannot_be_written_is_stopped_with_its_folder(run: Runner, project: Path) -> None:
    store = project / ".rightcall" / "audit.db"
    store_at(store)
    whole = store.read_bytes()
    store.write_bytes(b"a diary" * 1000)
    done = run("pause", "--by", "anna", "--reason", "smoke", columns=200)
    assert done.code == 2
    assert "All calls are paused since" in done.out
    assert "this pause holds, but it is not recorded: " in done.err
    assert "PAUSED since" in run("status", columns=200).out
    store.write_bytes(whole)
    assert "paused by the operator" in run("run", "code/list", '{"pattern": "*"}').out
    assert run("resume", "--by", "anna").code == 0
    assert run("run", "code/list", '{"pattern": "*"}').code == 0


def test_a_store_that_somebody_named_and_that_cannot_be_written_is_told_as_not_paused(
    run: Runner, project: Path
) -> None:
    store = project / "wrong.db"
    store.write_text("a diary" * 1000)
    done = run("pause", "--store", "wrong.db", "--by", "anna")
    assert done.err.startswith("error: NOT paused: ")
    assert done.err.rstrip().endswith("rightcall pause --everywhere")


def test_a_policy_above_that_does_not_count_is_named(
    run: Runner, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    told = run("pause", "--status").err
    assert f"{project / 'rightcall.toml'} does not count for it outside a repository" in told
    assert f"`--root {project}`" in told
    assert run("pause", "--status", "--everywhere").err == ""


def test_no_reason_stops_the_stop(run: Runner, project: Path) -> None:
    done = run("pause", "--by", "anna", "--reason", "fire\nin room 4 " + "x" * 600)
    assert done.code == 0
    assert "shortened to 500 characters" in done.err
    assert "on one line" in done.err
    (held,) = run("pause", "--status", "--json").json["stores"]
    assert held["paused"]
    assert held["reason"].startswith("fire in room 4 xx")
    assert len(held["reason"]) == 500
    again = run("pause", "--by", "anna", "--reason", "water")
    assert "The first reason stays on record" in again.out
    assert "The first reason" not in run("pause", "--by", "anna").out


def test_the_state_of_a_store_that_is_gone_is_an_error(run: Runner, project: Path) -> None:
    run("pause", "--by", "anna")
    for file in (project / ".rightcall").glob("audit.db*"):
        if file.name in ("audit.db", "audit.db-wal", "audit.db-shm"):
            file.unlink()
    done = run("pause", "--status")
    assert (done.code, done.out) == (2, "")
    assert "gone" in done.err
    assert "audit adopt" in done.err


def test_looking_writes_nothing(run: Runner, project: Path) -> None:
    run("pause", "--by", "anna")
    run("token", "new", "--as", "ci", "--by", "anna")
    store = project / ".rightcall" / "audit.db"
    with closing(SqliteStore(store)) as other:
        before = other.look(lambda tables: tables.head())
        assert run("pause", "--status").code == 0
        assert run("token", "list").code == 0
    files = {path: path.stat().st_mtime_ns for path in (project / ".rightcall").rglob("*")}
    (project / ".rightcall").chmod(0o500)
    assert run("pause", "--status").code == 0
    assert run("token", "list").code == 0
    (project / ".rightcall").chmod(0o700)
    assert {path: path.stat().st_mtime_ns for path in files} == files
    with closing(SqliteStore(store)) as other:
        assert other.look(lambda tables: tables.head()) == before


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


@pytest.mark.parametrize("answer", ["n", "y"])
def test_without_a_policy_a_person_is_asked_before_everything_stops(run: Runner, project: Path, answer: str) -> None:
    (project / "rightcall.toml").unlink()
    with Terminal("pause") as terminal:
        terminal.until("stop everything that you run on this machine? [y/N]")
        assert stopped() is None
        terminal.type(f"{answer}\n")
        assert terminal.end()[0] == 0
    assert (stopped() is not None) is (answer == "y")
    assert "without a policy file, on the whole machine" in run("pause", "--help").out
