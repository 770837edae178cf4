"""`[servers]` and `[gate.hosts]` of the policy file: read whole, or refused with the line and what would be right."""

from pathlib import Path
from typing import Any

import pytest

from rightcall.errors import PolicyError
from rightcall.policy.watch import load_policy
from support.every import every

pytestmark = pytest.mark.promise("P-09")


def test_a_server_is_read_with_everything_that_is_said_of_it(tmp_path: Path) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text(
        '[servers.git]\ncommand = ["git-server", "-r", "."]\nenv = { A = "b" }\ncwd = "repo"\nallow = ["git_*"]\n'
        'deny = ["git_reset"]\nask = ["git_push"]\ntimeout = 5\n'
        'effects = { "git_log" = ["read"], "git_*" = ["write"] }\n'
        '[servers.web]\nurl = "https://example.com:8443/mcp"\nheaders = { x-key = "1" }\neffects = ["network"]\n'
        "enabled = false\n",
        encoding="utf-8",
    )
    servers = load_policy(file).servers
    git, web = servers["git"], servers["web"]
    assert (git.command, dict(git.env), git.cwd) == (("git-server", "-r", "."), {"A": "b"}, str(tmp_path / "repo"))
    assert (git.offers("git_log"), git.offers("git_reset"), git.offers("GIT-Reset"), git.offers("rm")) == (
        True, False, False, False,
    )  # fmt: skip
    assert (git.effects_of("git_log"), git.effects_of("git_add"), git.effects_of("rm")) == (("read",), ("write",), None)
    assert (git.ask, git.timeout, git.enabled) == (("git_push",), 5.0, True)
    assert (web.url, dict(web.headers), web.enabled) == (
        "https://example.com:8443/mcp", {"x-key": "1"}, False,
    )  # fmt: skip


def test_what_is_said_of_a_login_is_read(tmp_path: Path) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text(
        '[servers.a]\nurl = "https://mcp.example/"\nlogin = "machine"\nclient_id = "robot"\nprivate_key = "key.pem"\n'
        'issuer = "https://login.example/t"\nscopes = ["read", "notes:write"]\nredirect_port = 8400\n'
        '[servers.b]\nurl = "https://mcp.example/"\ntoken_command = ["pass", "show", "b"]\n'
        '[servers.c]\nurl = "https://mcp.example/"\nper_caller = true\nclient_secret_env = "C"\nclient_id = "https://c.example/"\n'
        '[servers.d]\nurl = "https://mcp.example/"\n',
        encoding="utf-8",
    )
    found = load_policy(file).servers
    a = found["a"]
    assert (a.login, a.client_id, a.private_key) == ("machine", "robot", str(tmp_path / "key.pem"))
    assert (a.issuer, a.scopes, a.redirect_port) == ("https://login.example/t", ("read", "notes:write"), 8400)
    assert [(one.brings_token, one.needs_login) for one in found.values()] == [
        (False, True), (True, False), (False, True), (False, False),
    ]  # fmt: skip


@every(
    ("server", "says"),
    [
        ({}, "needs either `command"),
        ({"command": ["x"], "url": "http://a/"}, "only one of them"),
        ({"command": "npx server"}, "is a list, no shell reads it"),
        ({"command": []}, "names a program first"),
        ({"command": [""]}, "names a program first"),
        ({"command": ["a\0b"]}, "names a program first"),
        ({"url": "ftp://a/"}, "must be a whole address"),
        ({"url": "http://"}, "must be a whole address"),
        ({"url": "http://a/ b"}, "must be a whole address"),
        ({"url": "http://[::1/"}, "must be a whole address"),
        ({"url": "http://a/", "env": {"A": "b"}}, "has no meaning beside `url`"),
        ({"command": ["x"], "headers": {"a": "b"}}, "has no meaning beside `command`"),
        ({"url": "http://a/", "headers": {"a b": "c"}}, "is not an HTTP header"),
        ({"url": "http://a/", "headers": {"a": "c\r\nd: e"}}, "is not an HTTP header"),
        ({"command": ["x"], "scopes": ["a"]}, "has no meaning beside `command`"),
        ({"command": ["x"], "token_env": "A"}, "has no meaning beside `command`"),
        ({"url": "http://a/", "client_secret": "x"}, "a secret must not be in a file"),
        ({"url": "http://a/", "token": "x"}, "a secret must not be in a file"),
        ({"url": "http://a/", "token_env": "sk-123"}, "must be the name of an environment variable"),
        ({"url": "http://a/", "token_env": "A", "token_command": ["b"]}, "two ways to one token"),
        ({"url": "http://a/", "token_env": "A", "scopes": ["b"]}, "has no meaning beside `token_env`"),
        ({"url": "http://a/", "token_command": "pass show a"}, "is a list, no shell reads it"),
        ({"url": "http://a/", "scopes": "a b"}, "is a list of texts"),
        ({"url": "http://a/", "scopes": ["a b"]}, "a scope is one word"),
        ({"url": "http://a/", "login": "robot"}, "login"),
        ({"url": "http://a/", "login": "machine"}, "a machine needs `client_id`"),
        (
            {"url": "http://a/", "login": "machine", "client_id": "a", "private_key": "k.pem", "per_caller": True},
            "per_caller",
        ),
        ({"url": "http://a/", "issuer": "login.example"}, "must be a whole address"),
        ({"url": "http://a/", "issuer": "https://a/?b"}, "must have no user, password, query"),
        ({"url": "http://a/", "redirect_port": 70_000}, "redirect_port"),
        ({"url": "http://a/", "headers": {"Authorization": "x"}, "scopes": ["a"]}, "name `authorization`"),
        ({"command": ["x"], "effects": ["reads"]}, "did you mean 'read'"),
        ({"command": ["x"], "effects": {"a": "read"}}, "must be a list of texts"),
        ({"command": ["x"], "effects": {"*": ["read"], "save": ["write"]}}, "never counts"),
        ({"command": ["x"], "timeout": 0}, "timeout"),
        ({"command": ["x"], "dry_run": True}, 'write `[policy.tools."s/*"]` with `write`, `execute` and'),
        ({"command": ["x"], "commnad": ["y"]}, "did you mean"),
        (3, "must be a table"),
    ],
)
def test_a_wrong_server_is_refused_with_what_would_be_right(server: Any, says: str) -> None:
    with pytest.raises(PolicyError, match=r"servers\.s") as error:
        load_policy({"servers": {"s": server}})
    assert says in str(error.value)


@every("name", ["", "a b", "a/b", "../x", "x" * 41, "-a"])
def test_a_servers_name_can_stand_before_its_tools(name: str) -> None:
    with pytest.raises(PolicyError, match="it prefixes its tools"):
        load_policy({"servers": {name: {"command": ["x"]}}})


def test_a_host_has_one_name_and_settings_of_its_own() -> None:
    hosts = load_policy({"gate": {"hosts": {"claude": {"on_failure": "deny", "deadline": 2}}}}).hosts
    here = hosts["claude-code"]
    assert (here.on_failure, here.deadline) == ("deny", 2.0)
    with pytest.raises(PolicyError, match=r'write `\[callers\.claude-code\]` with `write = "ask"`'):
        load_policy({"gate": {"hosts": {"claude": {"ask": ["write"]}}}})
    with pytest.raises(PolicyError, match="two names of one host"):
        load_policy({"gate": {"hosts": {"claude-code": {}, "claude": {}}}})
    with pytest.raises(PolicyError, match="on_failure"):
        load_policy({"gate": {"hosts": {"codex": {"on_failure": "ask"}}}})


def test_a_name_in_an_error_stays_in_its_line(tmp_path: Path) -> None:
    folder = tmp_path / "a\nb"
    folder.mkdir()
    file = folder / "rightcall.toml"
    file.write_text('[servers."x\\nrightcall: all is well\\u001b\\u202e"]\ncommand = ["y"]\n', encoding="utf-8")
    with pytest.raises(PolicyError) as fault:
        load_policy(file)
    said = str(fault.value)
    assert said.isprintable()
    assert r'servers."x\nrightcall: all is well\u001b\u202e"' in said
