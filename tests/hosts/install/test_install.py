"""`rightcall install` and `uninstall`: what they ask, say, keep and refuse."""

import json
import os
import stat
import tomllib
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from rightcall.base.files import guarded
from rightcall.hosts.install import places, plans
from rightcall.hosts.install.places import HOSTS, Wish, settings_file
from rightcall.hosts.install.plans import hold_lock, install, planned_install, read_manifest
from support.cli import Runner, Terminal
from support.every import every
from support.host_settings import as_host, our_commands

MINE = b'{\n  "model": "x", // mine\n}\n'


@pytest.fixture
def settings(home: Path) -> Path:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(MINE)
    return file


def backups(file: Path) -> list[Path]:
    return sorted(file.parent.glob("*rightcall-backup-*"))


@pytest.mark.promise("H-08")
def test_the_difference_is_shown_a_copy_kept_and_how_to_block_and_undo_told(settings: Path, run: Runner) -> None:
    settings.chmod(0o600)
    done = run("install", "claude-code", "--yes")
    assert done.out.startswith(f"Claude Code: {settings}\n  --- now\n  +++ then\n")
    assert '\n  +    "PreToolUse": [\n' in done.out
    (copy,) = backups(settings)
    assert copy.read_bytes() == MINE
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert str(copy) in done.out
    for line in (
        "Calls are recorded; nothing is changed or blocked yet.",
        "rightcall install claude-code --mode block",
        'gate.hosts.claude-code.mode = "block"   (above its first table)',
        "rightcall uninstall claude-code",
    ):
        assert line in done.out
    commands = set(our_commands(as_host(settings.read_bytes())).values())
    assert [command.partition("' hook ")[2] for command in commands] == ["claude --mode observe"]


def test_the_note_of_what_was_done_is_for_its_owner_alone(home: Path, settings: Path, run: Runner) -> None:
    run("install", "claude-code", "--yes")
    note = home / "state" / "rightcall" / "installed.json"
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    (record,) = json.loads(note.read_bytes())["files"]
    assert (record["host"], record["file"], record["backup"]) == ("claude-code", str(settings), str(*backups(settings)))


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_without_a_terminal_and_without_yes_nothing_is_written(settings: Path, run: Runner, command: str) -> None:
    if command == "uninstall":
        run("install", "claude-code", "--yes")
    before = settings.read_bytes()
    done = run(command, "claude-code")
    assert done.code == 2
    assert "--yes" in done.err
    assert settings.read_bytes() == before


def test_a_dry_run_shows_the_difference_and_writes_nothing_anywhere(home: Path, settings: Path, run: Runner) -> None:
    done = run("install", "claude-code", "--dry-run")
    assert done.code == 0
    assert "+++ then" in done.out
    assert settings.read_bytes() == MINE
    assert not (home / "state").exists()


def test_secrets_in_the_settings_are_not_shown(settings: Path, run: Runner) -> None:
    settings.write_bytes(b'{\n  "env": {"API_KEY": "hunter2hunter2"}\n}\n')
    assert "hunter2" not in run("install", "claude-code", "--yes").out
    assert b"hunter2hunter2" in settings.read_bytes()


@pytest.mark.promise("H-08")
def test_blocking_is_switched_on_in_place_and_stays_until_said_otherwise(settings: Path, run: Runner) -> None:
    run("install", "claude-code", "--yes")
    done = run("install", "claude-code", "--mode", "block", "--yes")
    assert "what the policy refuses does not run" in done.out
    commands = our_commands(as_host(settings.read_bytes())).values()
    assert all(command.endswith(" hook claude --mode block") for command in commands)
    assert len(commands) == 4
    written = settings.read_bytes()
    assert "nothing was changed" in run("install", "claude-code", "--yes").out
    assert settings.read_bytes() == written
    assert len(backups(settings)) == 1
    run("uninstall", "claude-code", "--yes")
    assert settings.read_bytes() == MINE


def test_the_policy_is_named_by_its_path_and_a_wrong_one_refused(home: Path, settings: Path, run: Runner) -> None:
    policy = home / "work" / "my policy.toml"
    policy.write_text("version = 1\n")
    assert run("install", "claude-code", "--policy", "my policy.toml", "--yes").code == 0
    command = our_commands(as_host(settings.read_bytes()))["PreToolUse"]
    assert command.endswith(f" --mode observe --policy '{policy}'")
    policy.write_text("nonsense = 1\n")
    done = run("install", "gemini", "--policy", str(policy), "--yes")
    assert done.code == 2
    assert not (home / ".gemini").exists()


@pytest.mark.promise("H-08")
def test_a_file_that_was_not_there_is_removed_again_with_its_folders(home: Path, run: Runner) -> None:
    done = run("install", "gemini", "--project", "--yes")
    file = home / "work" / ".gemini" / "settings.json"
    assert done.code == 0
    assert set(our_commands(as_host(file.read_bytes()))) == {"BeforeTool", "AfterTool", "SessionEnd"}
    run("uninstall", "gemini", "--project", "--yes")
    assert list((home / "work").iterdir()) == []


def test_a_file_that_we_made_stays_where_others_wrote_into_it(home: Path, run: Runner) -> None:
    run("install", "gemini", "--yes")
    file = home / ".gemini" / "settings.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"theme": "dark"}))  # as hosts do: all of it anew
    run("install", "gemini", "--mode", "block", "--yes")
    run("uninstall", "gemini", "--yes")
    assert json.loads(file.read_text()) == {"theme": "dark"}


def test_where_a_host_wrote_all_of_it_anew_our_part_still_comes_out(settings: Path, run: Runner) -> None:
    run("install", "claude-code", "--yes")
    changed = as_host(settings.read_bytes())
    changed["hooks"]["PreToolUse"][0]["hooks"].append({"type": "command", "command": "theirs"})
    settings.write_text(json.dumps(changed, indent=4))
    done = run("uninstall", "claude-code", "--yes")
    theirs = {"matcher": "*", "hooks": [{"type": "command", "command": "theirs"}]}
    assert json.loads(settings.read_text()) == {"model": "x", "hooks": {"PreToolUse": [theirs]}}
    assert "stays as others have written it since" in done.out
    assert [copy.read_bytes() for copy in backups(settings)] == [MINE]


def test_hooks_are_found_without_any_note_of_them(home: Path, settings: Path, run: Runner) -> None:
    run("install", "claude-code", "--yes")
    (home / "state" / "rightcall" / "installed.json").unlink()
    run("uninstall", "claude-code", "--yes")
    assert settings.read_bytes() == MINE


def test_a_copy_that_was_tampered_with_is_not_put_back(settings: Path, run: Runner) -> None:
    run("install", "claude-code", "--yes")
    backups(settings)[0].write_bytes(b'{"evil": true}')
    run("uninstall", "claude-code", "--yes")
    assert settings.read_bytes() == MINE


def test_a_broken_note_is_named_and_nothing_is_written(home: Path, settings: Path, run: Runner) -> None:
    note = home / "state" / "rightcall" / "installed.json"
    note.parent.mkdir(parents=True)
    note.write_text("{")
    done = run("install", "claude-code", "--yes")
    assert done.code == 2
    assert str(note) in done.err
    assert settings.read_bytes() == MINE


@pytest.mark.promise("H-08")
@pytest.mark.parametrize("target", ["../dotfiles/claude.json", None])
def test_a_link_stays_a_link_and_the_file_behind_it_is_edited(
    home: Path, settings: Path, run: Runner, target: str | None
) -> None:
    real = home / "dotfiles" / "claude.json"
    real.parent.mkdir()
    if target is not None:
        real.write_bytes(MINE)
    settings.unlink()
    settings.symlink_to(target or real)  # the second leads nowhere yet
    before = os.readlink(settings)
    assert run("install", "claude-code", "--yes").code == 0
    assert len(our_commands(as_host(real.read_bytes()))) == 4
    assert os.readlink(settings) == before
    run("uninstall", "claude-code", "--yes")
    assert os.readlink(settings) == before
    assert [file.read_bytes() for file in real.parent.iterdir()] == ([MINE] if target else [])


def _read_only(file: Path) -> None:
    file.chmod(0o444)


def _hard_link(file: Path) -> None:
    os.link(file, file.with_name("other"))


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file)


def _huge(file: Path) -> None:
    with file.open("ab") as stream:
        stream.truncate(9_000_000)


@pytest.mark.promise("H-08")
@pytest.mark.parametrize("spoil", [_read_only, _hard_link, _folder, _fifo, _loop, _huge])
def test_what_is_no_ordinary_writable_file_is_refused(settings: Path, run: Runner, spoil: object) -> None:
    assert callable(spoil)
    spoil(settings)
    before = os.lstat(settings)
    done = run("install", "claude-code", "--yes")
    assert done.code == 2
    assert str(settings) in done.err
    after = os.lstat(settings)
    assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)
    assert backups(settings) == []


@pytest.mark.promise("H-08")
@pytest.mark.parametrize("step", range(12))
def test_ctrl_c_at_any_moment_leaves_the_old_file_or_the_new_one(
    settings: Path, run: Runner, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    run("install", "claude-code", "--yes")
    new = settings.read_bytes()
    run("uninstall", "claude-code", "--yes")
    real_fsync, real_replace, left = os.fsync, os.replace, iter(range(step, -1, -1))

    def interrupted(work: object, *words: object) -> None:
        if next(left, None) == 0:
            raise KeyboardInterrupt
        assert callable(work)
        work(*words)

    monkeypatch.setattr(os, "fsync", lambda fd: interrupted(real_fsync, fd))
    monkeypatch.setattr(os, "replace", lambda one, other: interrupted(real_replace, one, other))
    done = run("install", "claude-code", "--yes")
    monkeypatch.undo()
    assert done.code == (130 if step < 9 else 0)
    assert settings.read_bytes() in (MINE, new)
    assert [file for file in settings.parent.iterdir() if file.name.endswith(".rightcall")] == []


@pytest.mark.promise("H-08")
def test_after_an_interruption_both_directions_still_work(
    home: Path, settings: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, real = os.environ["XDG_STATE_HOME"], os.replace

    def interrupted(one: str, other: str) -> None:
        if other == str(settings):
            raise KeyboardInterrupt
        real(one, other)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", interrupted)
        assert run("install", "claude-code", "--yes").code == 130
    assert settings.read_bytes() == MINE
    assert "it is forgotten" in run("uninstall", "claude-code", "--yes").out
    assert backups(settings) == []
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", interrupted)
        run("install", "claude-code", "--yes")
    assert run("install", "claude-code", "--yes").code == 0
    assert "byte for byte" in run("uninstall", "claude-code", "--yes").out
    assert settings.read_bytes() == MINE
    assert backups(settings) == []
    assert read_manifest(f"{state}/rightcall").files == ()


def test_what_was_written_between_the_question_and_the_answer_is_not_lost(home: Path, settings: Path) -> None:
    from rightcall.errors import ConfigError

    state = str(home / "state")
    host, wish = HOSTS["claude-code"], Wish(("/opt/rightcall",))
    shown = planned_install(host, str(settings), wish, read_manifest(state))
    settings.write_bytes(b'{"other": 1}')
    with hold_lock(state), pytest.raises(ConfigError, match="file changed during the edit"):
        install(shown, state)
    assert settings.read_bytes() == b'{"other": 1}'


@pytest.mark.promise("H-08")
def test_many_at_once_install_it_once(home: Path, settings: Path) -> None:
    state = str(home / "state")
    host, wish, ready, wrote = HOSTS["claude-code"], Wish(("/opt/my bin/rightcall",)), Barrier(8), list[str]()

    def work() -> None:
        ready.wait()
        with hold_lock(state):
            change = planned_install(host, str(settings), wish, read_manifest(state))
            if not change.is_none:
                install(change, state)
                wrote.append("once")

    threads = [Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrote == ["once"]
    assert len(our_commands(as_host(settings.read_bytes()))) == 4


def test_hooks_that_are_switched_off_are_told_of(settings: Path, run: Runner) -> None:
    settings.write_bytes(b'{"disableAllHooks": true}')
    assert "disableAllHooks is true" in run("install", "claude-code", "--yes").out


def test_codex_gets_a_file_of_its_own_unless_its_settings_hold_hooks(home: Path, run: Runner) -> None:
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text('model = "x"\n[features]\nhooks = false\n[hooks.state]\n"a:b" = {}\n')
    done = run("install", "codex", "--yes")
    assert set(json.loads((folder / "hooks.json").read_text())) == {"hooks"}
    assert "hooks is false" in done.out
    assert "choose to trust them, or type /hooks there" in done.out
    run("uninstall", "codex", "--yes")
    assert os.listdir(folder) == ["config.toml"]
    (folder / "config.toml").write_text("[[hooks.Stop]]\nhooks = []\n")
    run("install", "codex", "--yes")
    assert not (folder / "hooks.json").exists()
    assert "[[hooks.PreToolUse]]" in (folder / "config.toml").read_text()
    (folder / "hooks.json").write_text("{}")  # somebody else's: we are in the other file, and stay there
    assert "nothing was changed" in run("install", "codex", "--yes").out


def test_a_table_that_somebody_put_behind_ours_is_never_torn_apart(home: Path, run: Runner) -> None:
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text("[[hooks.Stop]]\nhooks = []\n")
    run("install", "codex", "--yes")
    spoilt = file.read_text().replace("# RightCall: end.", 'mine = "belongs to our table now"\n# RightCall: end.')
    file.write_text(spoilt)
    done = run("uninstall", "codex", "--yes")
    assert done.code == 0
    file.write_text(spoilt.replace("# RightCall: end.", "[[hooks.Stop]]\nhooks = [{}]\n# RightCall: end."))
    done = run("uninstall", "codex", "--yes")
    assert done.code == 2
    assert "there is other text between" in done.err
    assert "hooks = [{}]" in file.read_text()


@pytest.mark.promise("H-08")
def test_what_codex_wrote_into_our_block_stays_when_that_goes(home: Path, run: Runner) -> None:
    """Codex appends its tables before the comment at the end of the file: which hooks are trusted, servers, all."""
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text("[[hooks.Stop]]\nhooks = []\n")
    run("install", "codex", "--yes")
    trust = '\n[hooks.state."config.toml:pre_tool_use:0:0"]\ntrusted_hash = "sha256:1"\n\n[tui]\na = ["]"]\n'
    file.write_text(file.read_text().replace("# RightCall: end.\n", f"{trust}# RightCall: end."))
    before = tomllib.loads(file.read_text())
    assert run("install", "codex", "--mode", "block", "--yes").code == 0
    again = tomllib.loads(file.read_text())
    assert (again["tui"], again["hooks"]["state"]) == (before["tui"], before["hooks"]["state"])
    assert file.read_text().count("--mode block") == 3
    assert run("uninstall", "codex", "--yes").code == 0
    assert file.read_text() == "[[hooks.Stop]]\nhooks = []\n" + trust.lstrip("\n")


def test_only_the_server_that_is_named_is_wrapped(home: Path, run: Runner) -> None:
    file = home / "work" / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"a": {"command": "x"}, "my b": {"command": "y"}, "c": {"url": "http://z"}}}')
    done = run("install", "cursor", "--project", "--only", "my b", "--mode", "warn", "--yes")
    assert done.code == 0
    servers = json.loads(file.read_text())["mcpServers"]
    assert servers["a"] == {"command": "x"}
    assert servers["my b"]["args"] == ["wrap", "--name", "my_b", "--mode", "warn", "--", "y"]
    done = run("install", "cursor", "--project", "--only", "nobody", "--yes")
    assert done.code == 2
    assert "the servers are: a, my b, c" in done.err
    assert "run elsewhere and have no command: c" in run("install", "cursor", "--project", "--yes").out
    run("install", "cursor", "--project", "--mode", "block", "--yes")
    servers = json.loads(file.read_text())["mcpServers"]
    assert [servers[name]["args"][4] for name in ("a", "my b")] == ["block", "block"]


@pytest.mark.parametrize("text", [None, "{}", '{"mcpServers": {"c": {"url": "http://z"}}}'])
def test_where_there_is_no_server_to_wrap_that_is_said(home: Path, run: Runner, text: str | None) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    if text is not None:
        file.write_text(text)
    done = run("install", "cursor", "--yes")
    assert done.code == 1
    assert "nothing to wrap yet" in done.out
    assert [one.read_text() for one in file.parent.iterdir()] == ([text] if text else [])


def test_an_unknown_host_and_a_place_that_it_has_not_are_refused(home: Path, run: Runner) -> None:
    assert "the hosts are claude-code, gemini" in run("install", "emacs", "--yes").err
    assert "no settings of its own in a project" in run("install", "claude-desktop", "--project", "--yes").err
    assert "no such folder" in run("install", "gemini", "--project", "nowhere", "--yes").err
    assert "--folder is for agent-zero" in run("install", "gemini", "--folder", ".", "--yes").err


def test_what_is_installed_elsewhere_too_is_told_of_and_removed_on_request(home: Path, run: Runner) -> None:
    run("install", "gemini", "--yes")
    run("install", "gemini", "--project", "--yes")
    done = run("uninstall", "gemini", "--yes")
    assert f"It is also in {home / 'work' / '.gemini' / 'settings.json'}" in done.out
    run("install", "gemini", "--yes")
    assert run("uninstall", "gemini", "--all", "--yes").out.count("Removed ") == 2
    assert list((home / "work").iterdir()) == []


@every(
    ("host", "platform", "expected"),
    [
        ("claude-desktop", "darwin", "/h/Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", "/appdata/Claude/claude_desktop_config.json"),
        ("claude-desktop", "linux", "/h/.config/Claude/claude_desktop_config.json"),
        ("claude-code", "linux", "/cc/settings.json"),
        ("gemini", "linux", "/h/.gemini/settings.json"),
        ("codex", "linux", "/h/.codex/hooks.json"),
        ("cursor", "linux", "/h/.cursor/mcp.json"),
    ],
)
def test_the_settings_are_where_the_host_looks(host: str, platform: str, expected: str) -> None:
    environment = {"HOME": "/h", "APPDATA": "/appdata", "CLAUDE_CONFIG_DIR": "/cc"}
    assert settings_file(HOSTS[host], "user", "/p", environment, platform) == expected


def test_agent_zero_gets_files_and_loses_them_again(home: Path, run: Runner) -> None:
    folder = home / "a0"
    (folder / "helpers").mkdir(parents=True)
    (folder / "helpers" / "extension.py").write_text("")
    (folder / "agent.py").write_text("tool_execute_before")
    (folder / "usr").mkdir()
    before = sorted(folder.rglob("*"))
    assert "Nothing was written" in run("install", "agent-zero", "--folder", str(folder), "--dry-run").out
    assert sorted(folder.rglob("*")) == before
    assert run("install", "agent-zero", "--folder", str(folder), "--yes").code == 0
    assert len(list(folder.rglob("_20_meta_reasoning_gate.py"))) == 3
    assert "nothing was changed" in run("install", "agent-zero", "--folder", str(folder), "--yes").out
    assert run("status", "--json").json["installed"][0]["works"] is True
    assert run("uninstall", "agent-zero", "--yes").code == 0
    assert sorted(folder.rglob("*")) == before


def test_what_somebody_added_to_our_command_stays(settings: Path, run: Runner) -> None:
    run("install", "claude-code", "--yes")
    settings.write_text(settings.read_text().replace("--mode observe", "--caller me --mode warn"))
    assert "nothing was changed" in run("install", "claude-code", "--yes").out
    run("install", "claude-code", "--mode", "block", "--yes")
    command = our_commands(as_host(settings.read_bytes()))["PreToolUse"]
    assert command.endswith(" hook claude --mode block --caller me")


def test_a_second_object_of_hooks_is_never_taken_for_ours(settings: Path, run: Runner) -> None:
    run("install", "claude-code", "--yes")
    text = settings.read_text().replace("{\n", '{\n  "hooks": {"Stop": []},\n', 1)
    settings.write_text(text)
    done = run("uninstall", "claude-code", "--yes")
    assert done.code == 2
    assert "'hooks' is there twice" in done.err
    assert settings.read_text() == text


@pytest.mark.promise("H-08")
def test_somebody_at_a_terminal_is_asked_and_no_is_no(home: Path, settings: Path) -> None:
    for answer, code, written in (("n\n", 1, False), ("y\n", 0, True)):
        with Terminal("install", "claude-code", HOME=str(home), XDG_STATE_HOME=str(home / "state")) as terminal:
            terminal.until("write this? [y/N] ")
            assert settings.read_bytes() == MINE
            terminal.type(answer)
            assert terminal.end()[0] == code
        assert (settings.read_bytes() != MINE) is written


@pytest.mark.promise("H-08")
@pytest.mark.parametrize("where", ["note", "file"])
def test_where_the_disk_says_no_nothing_of_it_stays(
    home: Path, settings: Path, run: Runner, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    written: Any = plans.write_manifest if where == "note" else places.replace

    def full(path: str, *given: object, **more: object) -> None:
        if where == "note" or path == str(settings):
            raise OSError(28, "No space left on device")
        written(path, *given, **more)

    monkeypatch.setattr(plans, written.__name__, full)
    done = run("install", "claude-code", "--yes")
    assert (done.code, "it is as it was" in done.err) == (2, True)
    assert settings.read_bytes() == MINE
    assert backups(settings) == []
    assert read_manifest(str(home / "state" / "rightcall")).files == ()
    done = run("install", "gemini", "--yes")
    assert (home / ".gemini").exists() is (where == "file")


@pytest.mark.promise("H-08")
def test_a_fault_after_the_file_was_written_is_not_told_as_if_nothing_had_happened(
    settings: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = guarded.settle

    def fault(folder: str) -> None:
        if folder == str(settings.parent) and settings.read_bytes() != MINE:
            raise OSError(5, "Input/output error")
        settle(folder)

    monkeypatch.setattr(guarded, "settle", fault)
    done = run("install", "claude-code", "--yes")
    assert done.code == 2
    assert "was written, but" in done.err
    monkeypatch.setattr(guarded, "settle", settle)
    assert run("uninstall", "claude-code", "--yes").code == 0
    assert settings.read_bytes() == MINE
    assert backups(settings) == []


@pytest.mark.promise("H-08")
def test_of_a_wrapped_server_it_is_said_whether_its_calls_are_recorded(home: Path, run: Runner) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"a": {"command": "x"}}}')
    (policy := home / "my.toml").write_text("version = 1\n")
    done = run("install", "cursor", "--yes")
    assert "Calls are recorded" not in done.out
    assert "Without a policy file (--policy FILE) nothing is recorded." in done.out
    assert "nothing is recorded" in run("install", "cursor", "--mode", "block", "--yes").out
    done = run("install", "cursor", "--policy", str(policy), "--yes")
    assert "Calls are recorded, and what the policy refuses does not run." in done.out


@pytest.mark.parametrize(
    ("place", "said"),
    [(("--project",), " --project"), (("--local", "."), " --local"), (("--project", "my shop"), " --project 'my shop'"),
     (("--file", "a.json"), " --file a.json")],
)  # fmt: skip
def test_what_to_type_next_is_for_the_same_place(home: Path, run: Runner, place: tuple[str, ...], said: str) -> None:
    (home / "work" / "my shop").mkdir()
    done = run("install", "claude-code", *place, "--yes")
    assert f"rightcall install claude-code{said} --mode block\n" in done.out
    assert f"rightcall uninstall claude-code{said}\n" in done.out


def test_to_block_only_what_was_wrapped_is_what_is_proposed(home: Path, run: Runner) -> None:
    (home / "work" / "m.json").write_text('{"mcpServers": {"a": {"command": "x"}, "b c": {"command": "y"}}}')
    done = run("install", "cursor", "--file", "m.json", "--only", "b c", "--yes")
    assert "rightcall install cursor --file m.json --only 'b c' --mode block\n" in done.out
    assert "rightcall uninstall cursor --file m.json\n" in done.out


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("claude-code", "--only", "x"), "--only chooses among MCP servers; Claude Code gets hooks"),
        (("cursor", "--local"), "Cursor has no settings that a project keeps to one person: --project instead"),
        (("claude-desktop", "--project"), "leave --project and --local out"),
        (("claude-desktop", "--folder", "."), "Claude Desktop has --file"),
    ],
)
def test_an_option_without_a_meaning_is_refused_and_the_right_one_named(
    run: Runner, words: tuple[str, ...], said: str
) -> None:
    done = run("install", *words, "--yes")
    assert done.code == 2
    assert said in done.err


def test_what_cannot_be_written_is_named_by_its_path(home: Path, settings: Path, run: Runner) -> None:
    lock = home / "state" / "rightcall" / "installed.lock"
    lock.mkdir(parents=True)
    done = run("install", "claude-code", "--yes")
    assert done.code == 2
    assert str(lock) in done.err
    assert settings.read_bytes() == MINE


def test_as_json_the_files_are_told_and_nothing_else_is_on_standard_output(home: Path, run: Runner) -> None:
    words = ("claude-code", "--json", "--yes")
    file = str(home / ".claude" / "settings.json")
    planned = run("install", "claude-code", "--json", "--dry-run")
    expected = {"file": file, "change": "write", "done": False, "backup": None}
    assert planned.json == {"host": "claude-code", "ok": True, "dry_run": True, "files": [expected]}
    assert "Nothing was written" in planned.err
    assert run("install", *words).json["files"][0] == expected | {"done": True}
    assert run("install", *words).json["files"][0]["change"] == "none"
    (taken,) = run("uninstall", *words).json["files"]
    assert (taken["file"], taken["change"], taken["done"]) == (file, "remove", True)
    assert run("uninstall", *words).json["files"][0]["change"] == "none"
