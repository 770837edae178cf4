"""`rightcall proxy` and `rightcall serve` as people start them: a process, an address, a token, a gentle end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from cli_running import Runner
from proxy.chatting import TOOLS
from serve.harness import post, request

pytestmark = pytest.mark.promise("H-03", "H-02")

TOKEN = "a-token-for-the-tests-0123"


@contextmanager
def started(
    folder: Path, *arguments: str, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """The command as a process of its own, once it says that it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rightcall", *arguments, "--port", "0", "--json"],
        cwd=folder, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield process, json.decode(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def ask(address: str) -> Any:
    messages = [{"role": "user", "content": "Weather in Bern, 3 days?"}]
    body = {"model": "rightcall-practice", "messages": messages, "tools": json.decode(TOOLS)}
    return post(address, "/v1/chat/completions", body)


def test_serve_without_an_upstream_shows_a_broken_call_repaired_and_keeps_a_record(tmp_path: Path, run: Runner) -> None:
    with started(tmp_path, "serve", RIGHTCALL_TOKEN=TOKEN) as (process, told):
        assert told["token"] == TOKEN
        assert told["url"] == f"{told['address']}/{TOKEN}"
        assert ask(told["address"]).status == 401
        got = ask(told["url"])
        assert got.headers["x-rightcall"] == "repaired=1"
        assert request("GET", told["address"], "/health").json["status"] == "ok"
        assert request("GET", told["address"], "/metrics").status == 401
        assert b"rightcall_changes_total" in request("GET", told["url"], "/metrics").body
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert "repaired weather" in err
    assert "Traceback" not in err
    listed = run("audit", "tail", "--root", str(tmp_path), "--json")
    assert "weather" in listed.out


def test_a_policy_that_only_watches_is_the_same_as_observe(tmp_path: Path) -> None:
    (tmp_path / "rightcall.toml").write_text('[gate.hosts.proxy]\nmode = "observe"\n')
    with started(tmp_path, "serve", "--open", "--no-audit") as (_, told):
        assert [ask(told["url"]).headers["x-rightcall"] for _ in range(2)] == ["would-repair=1", "would-lift=1"]


def test_proxy_needs_an_upstream_that_can_be_one(tmp_path: Path, run: Runner) -> None:
    for url, word in (("localhost:11434", "http://"), ("ftp://x", "http://"), ("http://u:p@x", "user or password")):
        result = run("proxy", "--upstream", url, "--root", str(tmp_path), "--port", "0")
        assert result.code == 2
        assert word in result.err
    assert run("proxy").code == 2


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--port", "70000"], "0 to 65535"),
        (["--retry", "11"], "0 to 10"),
        (["--retry", "-1"], "0 to 10"),
        (["--open", "--host", "0.0.0.0"], "--open"),
        (["--teach", "maybe"], "--teach"),
        (["--origin", "nowhere"], "--origin"),
        (["--policy", "missing.toml"], "missing.toml"),
    ],
)
def test_wrong_options_are_named_with_what_would_be_right(
    tmp_path: Path, run: Runner, arguments: list[str], word: str
) -> None:
    result = run("proxy", "--upstream", "http://127.0.0.1:1", "--root", str(tmp_path), *arguments)
    assert result.code == 2
    assert word in result.err
    assert "Traceback" not in result.err


def test_a_short_token_is_refused_before_anything_starts(
    tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIGHTCALL_TOKEN", "short")
    result = run("proxy", "--upstream", "http://127.0.0.1:1", "--root", str(tmp_path))
    assert result.code == 2
    assert "RIGHTCALL_TOKEN" in result.err
    assert "short" not in result.err.replace("16 to 200", "")


def test_a_port_that_is_taken_is_an_error_with_a_way_out(tmp_path: Path, run: Runner) -> None:
    with started(tmp_path, "serve", "--open", "--no-audit") as (_, told):
        port = told["address"].rsplit(":", 1)[1]
        result = run("proxy", "--upstream", "http://127.0.0.1:1", "--port", port, "--open", "--no-audit")
        assert (result.code, "--port 0" in result.err) == (2, True)
    assert not (tmp_path / ".rightcall").exists()
