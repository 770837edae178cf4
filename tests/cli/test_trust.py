"""`rightcall trust`: what a found policy file asks for is shown, trusted once, and asked again after a change."""

import os
from pathlib import Path

import pytest

from rightcall.base.files.guarded import state_folder
from rightcall.errors import ConfigError
from rightcall.policy import trust
from rightcall.policy.trust import FoundPolicy, give, is_trusted, offer
from rightcall.policy.watch import PolicyInForce, load_policy
from rightcall.record.sqlite import SqliteStore
from support.cli import Runner, Terminal, start

pytestmark = pytest.mark.promise("P-13")

ASKS = '[policy]\nstage = "full"\ndeny = ["ping"]\n[servers.x]\ncommand = ["sh", "-c", "echo \\u001b[2K"]\n'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = tmp_path / "rightcall.toml"
    made.write_text(ASKS)
    return made


def stage(file: Path) -> tuple[str, str]:
    found = load_policy(FoundPolicy(str(file), quiet=True))
    return found.settings.stage, found.standing


def test_every_request_is_shown_with_its_line_and_trusted_only_with_a_yes(run: Runner, file: Path) -> None:
    assert stage(file) == ("read-only", "tightened")
    done = run("trust")
    assert (done.code, done.err) == (
        2,
        "error: nothing was trusted: cannot prompt without a terminal; pass `--yes`\n",
    )
    assert stage(file) == ("read-only", "tightened")
    done = run("trust", "--yes")
    assert done.code == 0
    assert done.out.splitlines()[2:] == [
        "  2 lines permit more than the defaults:",
        "  line 2: policy.stage (allows more tools)",
        '      "full"',
        "  line 5: servers.x.command (starts a program)",
        '      ["sh", "-c", "echo \\u001b[2K"]',
        f"Trusted: {file}",
    ]
    assert stage(file) == ("full", "trusted")
    assert run("trust").out.endswith("You trust this file already.\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[gate.hosts.claude-code]\nmode = "observe"\n', "stops blocking at claude-code: calls are only recorded"),
        ('[gate.hosts.claude]\nmode = "warn"\n', "stops blocking at claude-code: the model is only warned"),
        ('[gate.hosts."x) (y"]\nmode = "observe"\n', "stops blocking at this host: calls are only recorded"),
        ('[gate]\nmode = "observe"\n', "stops blocking: calls are only recorded"),
        ('[gate.tools.Bash]\nmode = "warn"\n', "stops blocking for this tool: the model is only warned"),
        ('[gate.hosts.gemini]\non_failure = "allow"\n', "says whether calls run that could not be judged"),
    ],
    ids=["observed", "warned", "an unknown host", "everywhere", "of a tool", "unjudged"],
)
def test_a_file_that_stops_blocking_is_said_to(run: Runner, file: Path, text: str, says: str) -> None:
    file.write_text(text)
    done = run("trust", "--yes")
    assert done.out.splitlines()[2] == "  1 line permits more than the defaults:"
    assert f"({says})\n" in done.out


def test_a_change_is_asked_about_again_and_shows_what_is_new(run: Runner, file: Path) -> None:
    run("trust", "--yes")
    file.write_text(ASKS + '[sandbox]\nvisible = ["/srv"]\n')
    assert stage(file) == ("read-only", "tightened")
    asked = run("trust", "--json").json
    assert [(one["key"], one["new"]) for one in asked["requests"]] == [
        ("policy.stage", False), ("servers.x.command", False), ("sandbox.visible", True),
    ]  # fmt: skip
    assert asked["trusted"] is False
    assert run("trust", "--list", "--json").json["files"][0]["state"] == "changed"
    assert "+ line 7: sandbox.visible" in run("trust", "--yes").out
    assert stage(file) == ("full", "trusted")
    assert run("trust", "--remove").code == 0
    assert run("trust", "--remove").code == 1
    assert stage(file) == ("read-only", "tightened")
    assert run("trust", "--list").out.startswith("You trust no policy file.")


def test_trust_holds_for_one_path_and_lies_in_the_state_folder(run: Runner, file: Path) -> None:
    run("trust", "--yes")
    other = file.parent / "copy"
    other.mkdir()
    (other / "rightcall.toml").write_text(ASKS)
    assert stage(other / "rightcall.toml") == ("read-only", "tightened")
    folder = Path(state_folder()) / "trust"
    assert [oct(path.stat().st_mode & 0o777) for path in (folder, folder / "policies")] == ["0o700", "0o700"]
    os.chmod(folder, 0o777)  # whoever could have written there may have
    assert stage(file) == ("read-only", "tightened")


def test_what_init_writes_is_trusted_and_nothing_is_laundered(run: Runner, file: Path) -> None:
    assert run("init").code == 2
    assert stage(file) == ("read-only", "tightened")
    assert run("init", "--force", "--stage", "sandbox").code == 0
    assert stage(file) == ("sandbox", "trusted")
    with file.open("a") as opened:
        opened.write(ASKS.replace("[policy]", "[callers.x]").replace("deny", "# deny"))
    assert stage(file) == ("read-only", "tightened")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("absent.toml",), "absent.toml: no such file"),
        (("--list", "rightcall.toml"), "it takes no FILE"),
        (("folder",), "Is a directory"),
    ],
)
def test_what_cannot_be_trusted_is_said(run: Runner, file: Path, arguments: tuple[str, ...], says: str) -> None:
    (file.parent / "folder").mkdir()
    done = run("trust", *arguments)
    assert (done.code, done.out) == (2, "")
    assert says in done.err


def test_a_running_program_takes_a_change_only_as_far_as_it_tightens(run: Runner, file: Path) -> None:
    file.write_text("[policy]\nstage = 'read-only'\n")
    os.utime(file, (1, 1))
    policy = PolicyInForce(FoundPolicy(str(file)))
    file.write_text(ASKS)
    os.utime(file, (2, 2))
    new = policy.changed()
    assert not isinstance(new, Exception)
    assert new is not None
    assert (new.settings.stage, new.settings.deny) == ("read-only", ("ping",))
    policy.take(new)
    run("trust", "--yes")
    trusted = policy.changed()
    assert not isinstance(trusted, Exception)
    assert trusted is not None
    assert (trusted.settings.stage, trusted.standing) == ("full", "trusted")


def test_at_a_terminal_a_command_asks_once_and_goes_on(file: Path) -> None:
    file.write_text('[policy]\nstage = "sandbox"\n')
    with Terminal("run", "ping", "{}") as terminal:
        shown = terminal.until("Trust this file? [y/N] ")
        assert "line 2: policy.stage (allows more tools)" in shown
        terminal.type("y\n")
        terminal.until("ping ran in")
    assert stage(file) == ("sandbox", "trusted")
    with Terminal("run", "ping", "{}") as terminal:
        assert "Trust this file?" not in terminal.until("ping ran in")


@pytest.mark.parametrize("command", [("serve", "--no-console"), ("console",)])
def test_a_server_says_which_store_it_uses_instead_of_one_that_nobody_trusts(
    file: Path, command: tuple[str, ...]
) -> None:
    file.write_text('[store]\nurl = "postgresql://rightcall@127.0.0.1:1/rightcall"\n')
    if command == ("console",):
        SqliteStore(str(file.parent / ".rightcall" / "audit.db")).close()
    server = start(*command, "--port", "0", XDG_STATE_HOME=os.environ["XDG_STATE_HOME"])
    try:
        assert server.stdout is not None
        lines = iter(server.stdout.readline, b"")
        said = next(line.decode() for line in lines if line.startswith(b"Store: "))
        then = next(lines).decode()
    finally:
        server.terminate()
        server.communicate(timeout=30)
    used = file.parent / ".rightcall" / "audit.db"
    assert said == f"Store: {used}. {file} names another one, but is not trusted.\n"
    assert f"trust {file}` and start again." in then


def test_a_file_with_thousands_of_requests_is_trusted_as_it_says(file: Path) -> None:
    file.write_text("version = 1\n" + "".join(f'[servers.s{n}]\ncommand = ["true"]\n' for n in range(6000)))
    give(offer(str(file)))
    assert is_trusted(str(file), file.read_bytes())


def test_a_note_that_could_not_be_read_back_is_refused(file: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be kept: its note would exceed 100,000 bytes"):
        trust.note("policies", str(file), {"requests": ["x" * 100_000]})
    assert trust.recall("policies", str(file)) is None


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_note_that_others_can_write_or_own_does_not_count(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    trust.note("policies", str(file), {"sha256": "0"})
    (note,) = (one for one in Path(state_folder(), "trust", "policies").iterdir() if str(file) in one.read_text())
    assert trust.recall("policies", str(file)) is not None
    note.chmod(0o606)
    assert trust.recall("policies", str(file)) is None
    assert f"{note} can be written by others" in caplog.text
    note.chmod(0o600)
    assert trust.recall("policies", str(file)) is not None
    fstat = os.fstat

    def of_somebody_else(handle: int) -> os.stat_result:
        found = fstat(handle)
        return os.stat_result((*found[:4], os.geteuid() + 1, *found[5:]))

    monkeypatch.setattr(os, "fstat", of_somebody_else)
    assert trust.recall("policies", str(file)) is None
    monkeypatch.undo()
    assert f"{note} belongs to another user" in caplog.text


def test_what_loosens_no_rule_is_not_said_to(run: Runner, file: Path) -> None:
    file.write_text('[gate]\nreasoning = "open"\n[router.prime]\nurl = "http://x/v1"\nmodel = "qwen3"\n')
    told = {one["key"]: one["meaning"] for one in run("trust", "--json").json["requests"]}
    assert told["gate.reasoning"] == "changes how model output is read"
    assert told["router.prime.model"] == "chooses a model"


def test_a_refusal_under_a_policy_that_nobody_trusts_says_how_to_trust_it(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rightcall.toml").write_text('[policy]\nstage = "full"\nwrite = "ask"\n')
    refused = run("run", "file/save", '{"path": "b.txt", "content": "x"}', columns=300)
    assert refused.code == 1
    assert "nobody has trusted the policy, so it permits nothing: `rightcall trust " in refused.out
    assert run("trust", "--yes").code == 0
    assert "nobody has trusted" not in run("run", "file/save", '{"path": "b.txt", "content": "x"}').out
