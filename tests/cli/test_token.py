"""`rightcall token`: made once, listed without their text, revoked; and a server without an audit still knows them."""

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from rightcall.cli.serving import tokens_alone
from rightcall.record.sqlite import SqliteStore
from rightcall.server.access import digest_of
from support.cli import Runner, environment

pytestmark = pytest.mark.promise("P-14", "H-02")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rightcall.toml").write_text("[callers.teacher]\n")
    return tmp_path


def test_a_token_is_shown_once_with_the_urls_to_paste(run: Runner, folder: Path) -> None:
    done = run("token", "new", "--as", "teacher", "--by", "anna", "--address", "http://models.lan:80/")
    assert (done.code, done.err) == (0, "")
    first, _, text, *_ = lines = done.out.splitlines()
    token = text.strip()
    store = SqliteStore(folder / ".rightcall" / "audit.db")
    (kept,) = store.look(lambda tables: tables.tokens())
    store.close()
    assert kept.digest == digest_of(token.encode())
    assert first == f"Token {kept.id} speaks for the caller teacher, valid until it is revoked. It is shown only now:"
    assert lines[4:] == [
        "Base URLs for clients (or send the header x-rightcall-token):",
        f"  OpenAI             http://models.lan:80/{token}/v1",
        f"  Anthropic, Ollama  http://models.lan:80/{token}",
        f"  MCP                http://models.lan:80/{token}/mcp",
        "",
        f"Revoke it with `rightcall token revoke {kept.id}`.",
    ]
    for shown in (run("token", "list"), run("token", "list", "--json"), run("audit", "export")):
        assert token not in shown.out
        assert kept.digest not in shown.out


def test_urls_of_a_server_that_nobody_has_started_are_told_as_a_guess(run: Runner) -> None:
    guess = "No server was found running here: the URLs have the default port. `--address URL` names another."
    assert guess in run("token", "new", "--as", "teacher").out.splitlines()


def test_tokens_are_listed_and_revoked_by_id_or_caller(run: Runner) -> None:
    made = [
        run("token", "new", "--as", caller, "--expires", "90d", "--note", "password=hunter2hunter2", "--json")
        for caller in ("ci", "ci", "teacher")
    ]  # fmt: skip
    first = made[0].json
    assert set(first) == {"id", "caller", "made", "expires", "by", "note", "token", "urls"}
    assert first["urls"]["openai"] == f"http://127.0.0.1:4141/{first['token']}/v1"
    listed = run("token", "list", "--json").json["tokens"]
    assert [(one["id"], one["caller"], one["expired"]) for one in listed] == [
        (one.json["id"], one.json["caller"], False) for one in made
    ]
    assert "3 tokens" in run("token", "list", columns=200).out
    assert run("token", "revoke", first["id"], "--by", "bea").out == f"Revoked token {first['id']} of the caller ci.\n"
    assert len(run("token", "revoke", "--as", "ci", "--by", "bea", "--json").json["revoked"]) == 1
    assert [one["caller"] for one in run("token", "list", "--json").json["tokens"]] == ["teacher"]
    notes = [json.loads(line) for line in run("audit", "export").out.splitlines()]
    changes = [one for one in notes if one["kind"] == "change"]
    assert [json.loads(one["body"])["what"] for one in changes] == ["token made"] * 3 + ["token revoked"] * 2
    assert "hunter2" not in json.dumps(notes)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("new", "--as", "t\u0435acher"), "letters of different alphabets in one word: t\\u0435acher"),
        (("new", "--as", "Teacher"), "it can be mistaken for the caller 'teacher'"),
        (("new", "--as", "pro-xy"), "it can be mistaken for the caller 'proxy'"),
        (("new", "--as", "a", "--expires", "0d"), "invalid time"),
        (("new", "--as", "a", "--expires", "9999d"), "at most 3650d"),
        (("new", "--as", "a", "--address", "127.0.0.1"), "--address must be an address such as"),
        (("new",), "--as"),
        (("revoke",), "pass either a token's ID or `--as CALLER`"),
        (("revoke", "x", "--as", "a"), "pass either a token's ID or `--as CALLER`"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(
    run: Runner, folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = run("token", *arguments)
    assert done.code == 2
    assert words in done.err
    store = SqliteStore(folder / ".rightcall" / "audit.db")
    assert store.look(lambda tables: tables.tokens()) == []
    store.close()


def test_an_unknown_token_is_told(run: Runner) -> None:
    run("token", "new", "--as", "a", "--by", "anna")
    assert run("token", "revoke", "nope").err == (
        "error: unknown token 'nope'; `rightcall token list` shows all tokens\n"
    )
    assert "unknown token for caller 'b'" in run("token", "revoke", "--as", "b").err


def test_a_server_without_an_audit_knows_the_tokens_where_there_are_any(run: Runner, folder: Path) -> None:
    options = Namespace(policy=None, root=str(folder), store=None)
    assert tokens_alone(options) is None
    run("token", "new", "--as", "teacher", "--by", "anna")
    store = tokens_alone(options)
    assert store is not None
    assert [one.caller for one in store.look(lambda tables: tables.tokens())] == ["teacher"]
    store.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_token_that_nobody_could_read_is_revoked_again(run: Runner, folder: Path) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "rightcall.cli", "token", "new", "--as", "ci", "--by", "anna"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment(), check=False)
    assert done.returncode == 2
    assert b"could not be printed, so it was revoked" in done.stderr
    assert run("token", "list", "--json").json == {"tokens": []}


@pytest.mark.parametrize("words", [("token", "revoke", "--as", "teacher"), ("token", "list"), ("approvals", "list")])
def test_a_broken_policy_does_not_keep_from_the_store(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("token", "new", "--as", "teacher").code == 0
    (tmp_path / "rightcall.toml").write_text("x = [")
    refused = run(*words)
    assert refused.code == 2
    assert "pass `--store FILE`" in refused.err
    assert run(*words, "--store", ".rightcall/audit.db").code == 0
