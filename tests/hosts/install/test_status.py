"""`rightcall status`: what is installed where, and whether it really works."""

import os
from pathlib import Path
from shutil import rmtree

import pytest

from rightcall.hosts.install import trying
from rightcall.server.hooks import HookServer
from support.cli import Runner
from support.host_settings import program, real_program


@pytest.mark.promise("H-08")
def test_a_hook_that_answers_works_and_leaves_no_trace(home: Path, run: Runner) -> None:
    real_program(home)
    run("install", "gemini", "--yes")
    done = run("status", "--json")
    assert done.code == 0
    (one,) = done.json["installed"]
    assert (one["host"], one["mode"], one["works"], one["why"]) == ("gemini", ["observe"], True, "")
    assert one["milliseconds"] > 0
    assert sorted(file.name for file in (home / "state" / "rightcall").iterdir()) == [
        "installed.json",
        "installed.lock",
    ]
    assert done.json["server"] == {"policy": None, "running": False, "answers": None, "address": None}


@pytest.mark.promise("H-08")
@pytest.mark.parametrize("host", ["claude-code", "gemini"])
@pytest.mark.parametrize("policy", ["", '[policy.approval]\ntools = ["*"]\n'], ids=["allowed", "would ask"])
def test_a_check_under_a_policy_records_no_call_and_asks_nobody(
    home: Path, run: Runner, host: str, policy: str
) -> None:
    real_program(home)
    (home / "work" / "rightcall.toml").write_text(policy)
    run("install", host, "--yes")
    (one,) = run("status", "--json").json["installed"]
    assert one["milliseconds"] > 0
    assert run("audit", "tail", "--json").out == ""
    assert run("approvals", "list", "--json").json == {"approvals": []}


@pytest.mark.promise("H-08")
def test_a_check_says_that_calls_cannot_be_recorded(home: Path, run: Runner) -> None:
    real_program(home)
    (home / "work" / "rightcall.toml").write_text('[audit]\npath = "log.db"\n')
    (home / "work" / "log.db").write_text("this is not a database, whatever its name says")
    run("install", "claude-code", "--yes")
    done = run("status")
    assert done.code == 1
    assert "does not work: RightCall could not judge this call" in done.out


OBSERVE = '[gate.hosts.claude-code]\nmode = "observe"\n'


@pytest.mark.promise("H-08")
@pytest.mark.parametrize(
    ("policy", "trusted", "installed", "says"),
    [
        ("", False, "block", "block"),
        (OBSERVE, True, "block", "observe (rightcall.toml line 2; installed: block)"),
        (OBSERVE, False, "block", "block"),
        (OBSERVE.replace("claude-code", "claude"), True, "observe", "observe (rightcall.toml line 2)"),
        (OBSERVE.replace("observe", "block"), False, "observe", "block (rightcall.toml line 2; installed: observe)"),
        ('[gate]\nmode = "observe"\n', True, "block", "block"),
        ('[gate.tools.Bash]\nmode = "observe"\n', True, "block", "block; Bash: observe"),
    ],
    ids=["no word", "milder", "milder, not trusted", "the same", "stricter", "of all hosts", "of one tool"],
)
def test_the_mode_that_counts_is_shown_and_where_it_comes_from(
    home: Path, run: Runner, policy: str, trusted: bool, installed: str, says: str
) -> None:
    real_program(home)
    file = home / "work" / "rightcall.toml"
    file.write_text(policy)
    if trusted:
        assert run("trust", "--yes").code == 0
    told = run("install", "claude-code", "--mode", installed, "--yes").out
    assert (f"What counts here: mode {says}.\n" in told) == ("installed:" in says)
    assert f"  mode {says}, policy {file}\n" in run("status").out
    (one,) = run("status", "--json").json["installed"]
    assert one["mode"] == [says.split()[0].rstrip(";")]
    (told,) = one["modes"]
    assert (told["installed"], told["line"]) == (installed, 2 if "line 2" in says else None)
    assert f"claude-code ({says})" in run("doctor").out.replace("\n", " ").replace("  ", "")


@pytest.mark.promise("H-08")
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("exit 3", "ends with code 3"),
        ("echo out of order >&2; exit 1", "ends with code 1: out of order"),
        ("echo hello", "an invalid answer"),
        ("echo '[]'", "an invalid answer"),
        ('echo \'{"reason": "RightCall could not judge this call, so it was not made: x."}\'', "not made: x."),
        ("exec sleep 60", "does not answer within 0.2 seconds"),
    ],
)
def test_a_hook_that_does_not_answer_as_it_should_is_told_of(
    home: Path, run: Runner, monkeypatch: pytest.MonkeyPatch, body: str, why: str
) -> None:
    if "sleep" in body:
        monkeypatch.setattr(trying, "DEADLINE", 0.2)
    program(home, body)
    run("install", "claude-code", "--yes")
    done = run("status")
    assert done.code == 1
    assert "does not work: " in done.out
    assert why in done.out


def test_a_program_that_is_gone_is_told_of(home: Path, run: Runner) -> None:
    run("install", "claude-code", "--yes")
    (home / "my bin" / "rightcall").unlink()
    assert "ends with code 127" in run("status").out


@pytest.mark.promise("H-08")
def test_the_command_that_is_run_is_the_one_in_the_settings_with_a_louder_mode(home: Path, run: Runner) -> None:
    program(home, 'echo "$@" > "$HOME/words"; cat > "$HOME/event"')
    run("install", "claude-code", "--yes")
    assert "works (answers in " in run("status").out
    assert (home / "words").read_text() == "hook claude --mode observe --mode block\n"
    assert '"tool_name":"rightcall_status"' in (home / "event").read_text()


@pytest.mark.parametrize("tail", ["; touch pwned", " $(touch pwned)", " --policy x & touch pwned"])
def test_a_command_that_others_wrote_into_a_project_is_never_run(home: Path, run: Runner, tail: str) -> None:
    program(home, "touch pwned")
    run("install", "claude-code", "--project", "--yes")
    file = home / "work" / ".claude" / "settings.json"
    file.write_text(file.read_text().replace("--mode observe", f"--mode observe{tail}"))
    done = run("status")
    assert "it was not run" in done.out
    assert not (home / "work" / "pwned").exists()
    file.write_text(file.read_text().replace(f"--mode observe{tail}", "--mode observe").replace("my bin", "bin2"))
    assert "it was not run" in run("status").out


def test_a_policy_that_is_wrong_is_told_of(home: Path, run: Runner) -> None:
    run("install", "claude-code", "--yes")
    (home / "work" / "rightcall.toml").write_text("nonsense = 1\n")
    done = run("status")
    assert done.code == 1
    assert "the policy is wrong" in done.out


def test_a_policy_that_nobody_trusts_is_told_of(home: Path, run: Runner) -> None:
    real_program(home)
    run("install", "claude-code", "--yes")
    file = home / "work" / "rightcall.toml"
    file.write_text('[policy]\nstage = "full"\nwrite = "allow"\n')
    assert f"2 settings ignored until you trust the policy:\n      rightcall trust {file}\n" in run("status").out
    assert run("status", "--json").json["installed"][0]["ignored"] == ["policy.stage", "policy.write"]
    run("trust", "--yes")
    assert "ignored" not in run("status").out


def test_the_call_that_was_tried_does_not_count_as_one_that_runs(home: Path, run: Runner) -> None:
    real_program(home)
    (home / "work" / "rightcall.toml").write_text("[policy]\n")
    for host in ("claude-code", "gemini", "codex"):
        run("install", host, "--yes")
    run("status")
    assert "running" not in run("stats").out
    assert "pending" not in run("audit", "tail").out


@pytest.mark.parametrize("what", ["key", "folder", "read-only"])
def test_a_store_that_no_call_can_use_is_told_of_with_the_whole_way_out(home: Path, run: Runner, what: str) -> None:
    real_program(home)
    (home / "work" / "rightcall.toml").write_text("[policy]\n")
    run("install", "claude-code", "--mode", "block", "--yes")
    run("run", "ping", "{}")
    folder = home / "work" / ".rightcall"
    if what == "key":
        (folder / "audit.db.key").unlink()
        way_out = f"`rightcall audit adopt --store {folder / 'audit.db'}`, then restart what was running."
    elif what == "folder":
        rmtree(folder)
        folder.write_text("x")
        way_out = f"{folder} is a file, not a folder. Move it away"
    else:
        folder.chmod(0o500)
        way_out = "those beside it and their folder writable for this user."
        if os.access(folder, os.W_OK):
            pytest.skip("root may write everywhere")
    told = run("status", columns=2000)
    assert told.code == 1
    both = told.out.replace(" Nothing was run.", "")  # which only the hook has to say
    assert both.count(way_out) >= 2  # of the store, and of the hook that cannot use it
    checks = {one["name"]: one["state"] for one in run("doctor", "--json").json["checks"]}
    assert checks["store"] == "wrong"


def test_hooks_that_are_switched_off_or_missing_are_told_of(home: Path, run: Runner) -> None:
    run("install", "claude-code", "--yes")
    file = home / ".claude" / "settings.json"
    text = file.read_text()
    file.write_text(text.replace("{\n", '{\n  "disableAllHooks": true,\n', 1))
    assert "disableAllHooks is true" in run("status").out
    file.write_text(text.replace('"PostToolUse"', '"Other"'))
    assert "the hooks for PostToolUse are not there" in run("status").out


def test_of_servers_it_is_told_whether_their_programs_are_there(home: Path, run: Runner) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"good": {"command": "sh"}, "bad": {"command": "no-such-program"}}}')
    run("install", "cursor", "--yes")
    done = run("status", "--json")
    assert done.code == 1
    assert [(one["server"], one["works"]) for one in done.json["installed"]] == [("good", True), ("bad", False)]
    assert "program 'no-such-program' not found" in run("status").out


def test_where_nothing_is_installed_that_is_said(home: Path, run: Runner) -> None:
    done = run("status")
    assert done.code == 0
    assert done.out.startswith("No integrations installed.")


def test_settings_of_ours_that_broke_are_told_of(home: Path, run: Runner) -> None:
    run("install", "gemini", "--yes")
    (home / ".gemini" / "settings.json").write_text("{")
    done = run("status")
    assert done.code == 1
    assert "cannot be understood" in done.out


def test_a_running_server_is_asked_whether_it_answers(home: Path, run: Runner) -> None:
    policy = home / "work" / "rightcall.toml"
    policy.write_text("version = 1\n")
    server = HookServer(str(policy))
    assert server.start()
    try:
        assert run("status", "--json").json["server"] == {
            "policy": str(policy), "running": True, "answers": True, "address": None,
        }  # fmt: skip
        assert "server: answers, for" in run("status").out
    finally:
        server.stop()
    assert run("status", "--json").json["server"]["running"] is False
