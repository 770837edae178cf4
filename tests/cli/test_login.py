"""`rightcall login`, `logout` and `status`, as a person uses them."""

import json
import re
import subprocess
import sys
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest

from rightcall.identity.vault import Vault, Want
from rightcall.record.sqlite import SqliteStore
from support.authorities import Guarded, Provider, browse, browse_later, guarded
from support.cli import Runner, environment, write_trusted

pytestmark = pytest.mark.promise("I-02")


@pytest.fixture(name="pair", autouse=True)
def _pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Provider, Guarded]]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def open_page(link: str) -> bool:
        browse_later(link)
        return True

    monkeypatch.setattr(webbrowser, "open", open_page)
    with guarded() as pair:
        write_policy(pair[1])
        yield pair


def write_policy(guard: Guarded, more: str = "") -> None:
    text = f'[servers.notes]\nurl = "{guard.mcp}"\neffects = ["read"]\n{more}[servers.files]\ncommand = ["files"]\n'
    write_trusted(Path("rightcall.toml"), text + "enabled = false\n")


def test_somebody_logs_in_calls_and_logs_out(run: Runner, pair: tuple[Provider, Guarded]) -> None:
    provider, guard = pair
    refused = run("run", "notes/greet", "{}")
    assert refused.code == 1
    assert "run `rightcall login notes`" in " ".join(refused.out.split())
    assert run("login").out == "notes: it wants a login: run `rightcall login notes`\n"
    assert "! notes: it wants a login: run `rightcall login notes`" in run("status").out

    done = run("login", "notes", "--timeout", "5")
    assert (done.code, done.err) == (0, "")
    assert "Log in on the page that opens in your browser:" in done.out
    assert re.search(rf"notes: logged in at {provider.url}, valid until [\d-]+ \d\d:\d\d, then renewed\.", done.out)
    assert run("run", "notes/greet", '{"n": 1}').code == 0
    assert f"notes: logged in at {provider.url}" in run("status").out

    assert run("logout", "notes").out == "notes: logged out; its provider took the tokens back.\n"
    assert (run("logout", "notes").code, provider.access) == (1, {})
    assert run("run", "notes/greet", '{"n": 2}').code == 1
    assert len(guard.calls) == 1


def test_json_is_one_object_and_holds_no_secret(run: Runner, pair: tuple[Provider, Guarded]) -> None:
    provider, guard = pair
    guard.scope = "read"
    done = run("login", "notes", "--json", "--timeout", "5")
    assert {key: done.json[key] for key in ("server", "url", "issuer", "scopes", "state", "kept_in")} == {
        "server": "notes", "url": guard.mcp, "issuer": provider.url, "scopes": ["read"], "state": "valid",
        "kept_in": "file",
    }  # fmt: skip
    listed, status = run("login", "--json"), run("status", "--json")
    assert listed.json["logins"][0]["scopes"] == status.json["logins"][0]["scopes"] == ["read"]
    said = done.out + done.err + listed.out + status.out
    assert not any(one in said for one in provider.secrets)
    store = SqliteStore(Path(".rightcall/audit.db"))
    notes = [json.loads(one.body) for one in store.look(lambda tables: list(tables.entries())) if one.kind == "change"]
    store.close()
    assert notes[0]["what"] == "logged in at a server"
    assert notes[0]["data"] == {"server": "notes", "url": guard.mcp, "issuer": provider.url, "scopes": ["read"]}


def test_a_machine_without_a_browser_prints_the_link_and_waits(pair: tuple[Provider, Guarded]) -> None:
    command = [sys.executable, "-m", "rightcall.cli", "login", "notes", "--no-browser", "--timeout", "10"]
    own = environment(XDG_STATE_HOME=str(Path("state").absolute()))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=own) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        assert lines[0] == "Open this page to log in:\n"
        assert "Thank you." in browse(lines[1].strip())
        assert "notes: logged in at" in process.stdout.read()
    assert process.returncode == 0


def test_each_caller_logs_in_alone(run: Runner, pair: tuple[Provider, Guarded]) -> None:
    assert "needs `per_caller = true`" in run("login", "notes", "--as", "ann").err
    write_policy(pair[1], "per_caller = true\n")
    assert "pass `--as CALLER`" in run("login", "notes").err
    assert "for ann" in run("login", "notes", "--as", "ann", "--timeout", "5").out
    assert run("logout", "notes", "--as", "bob").code == 1
    assert run("logout", "notes", "--as", "ann").code == 0


@pytest.mark.promise("I-02")
def test_another_provider_is_told_with_the_command_that_accepts_it(run: Runner, pair: tuple[Provider, Guarded]) -> None:
    assert run("login", "notes", "--timeout", "5").code == 0
    with guarded() as (other, _):
        pair[1].metadata = {"authorization_servers": [other.url]}
        done = run("login", "notes", "--timeout", "5")
        assert (done.code, other.said) == (2, [])
        command = re.search(r"run `rightcall (.*?)`", done.err)
        assert command is not None
        assert run(*command[1].split(), "--timeout", "5").code == 0
        assert other.asked("/token") != []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("login", "note"), "did you mean 'notes'?"),
        (("login", "files"), "is a program that RightCall starts"),
        (("login", "notes", "--scopes", '"'), 'expected words, such as "read write"'),
        (("login", "notes", "--timeout", "0"), "expected more than 0 seconds"),
        (("login", "notes", "--issuer", "https://login.example"), "does not name https://login.example"),
        (("logout", "elsewhere"), "unknown server 'elsewhere'"),
    ],
)
def test_what_is_wrong_is_told(run: Runner, words: tuple[str, ...], told: str) -> None:
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_a_policy_that_was_only_found_logs_nobody_in(run: Runner, pair: tuple[Provider, Guarded]) -> None:
    with Path("rightcall.toml").open("a", encoding="utf-8") as file:
        file.write("# changed since\n")
    for words in (("login", "notes"), ("login",), ("login", "other"), ("logout", "notes")):
        done = run(*words)
        assert (done.code, done.out, pair[1].said) == (2, "", [])
        assert f"is not trusted, so its servers are not used: run `rightcall trust {Path.cwd()}" in done.err


def test_a_provider_is_forgotten_on_purpose_alone(run: Runner, pair: tuple[Provider, Guarded]) -> None:
    assert run("login", "notes", "--timeout", "5").code == 0
    assert "pass `--yes`" in run("logout", "notes", "--forget").err
    assert run("logout", "notes").code == 0
    with guarded() as (other, _):
        pair[1].metadata = {"authorization_servers": [other.url]}
        assert "now names" in run("login", "notes", "--timeout", "5").err
        done = run("logout", "notes", "--forget", "--yes")
        assert (done.code, done.out) == (0, "notes: nobody was logged in. The next login may use any provider.\n")
        assert run("login", "notes", "--timeout", "5").code == 0
    assert "provider forgotten" in run("audit", "export").out


def test_somebody_of_an_identity_provider_is_known_by_their_id(run: Runner, pair: tuple[Provider, Guarded]) -> None:
    assert "needs `per_caller = true`" in run("login", "notes", "--person", "24-8").err
    write_policy(pair[1], "per_caller = true\n")
    assert "needs an identity provider" in run("login", "notes", "--person", "24-8").err
    table = (
        '[[identity]]\nissuer = "https://{}.example.org"\naudience = "g"\n[identity.map]\n"*" = {{ caller = "{}" }}\n'
    )
    write_policy(pair[1], f"per_caller = true\n{table.format('a', 'x')}")
    done = run("login", "notes", "--person", "24-8", "--timeout", "5")
    assert "logged in for 24-8 of https://a.example.org at" in done.out
    assert [one.caller for one in Vault().logins()] == ["https://a.example.org#24-8"]
    write_policy(pair[1], f"per_caller = true\n{table.format('a', 'x')}{table.format('b', 'y')}")
    assert run("logout", "notes", "--person", "24-8").code == 0  # there is one such login
    told = run("login", "notes", "--person", "24-8").err
    assert "pass `--as 'https://a.example.org#24-8'` or `--as 'https://b.example.org#24-8'`" in told
    want = Want(server="notes", url=pair[1].mcp, caller="https://a.example.org#two words")
    assert want.command == "rightcall login notes --person 'two words'"


def test_nobody_who_comes_back_is_told_after_a_while(
    run: Runner, pair: tuple[Provider, Guarded], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    done = run("login", "notes", "--timeout", "0.2")
    assert (done.code, "nobody logged in within 0.2 s" in done.err) == (2, True)
    assert "/authorize?" in done.out


@pytest.mark.promise("I-03")
def test_wrap_reaches_a_server_behind_an_address_with_its_login(run: Runner, pair: tuple[Provider, Guarded]) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "greet", "arguments": {}}},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in asked)

    def wrapped() -> str:
        command = [sys.executable, "-m", "rightcall.cli", "wrap", "--name", "notes"]
        own = environment(XDG_STATE_HOME=str(Path("state").absolute()))
        done = subprocess.run(command, input=lines, capture_output=True, text=True, env=own, timeout=20, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "rightcall login notes" in wrapped()  # in the greeting, and nothing was sent
    assert run("login", "notes", "--timeout", "5").code == 0
    assert '"text":"hello"' in wrapped().replace('": "', '":"')
    assert len(pair[1].calls) == 1
    assert "--name NAME of one with a `url`" in run("wrap", "--name", "files").err
