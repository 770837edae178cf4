"""`rightcall proxy` and `rightcall serve` as people start them: a process, an address, a token, a gentle end."""

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from msgspec import json

from rightcall.cli.serve import program
from rightcall.record.sqlite import SqliteStore
from rightcall.server import app as running
from support.cli import Runner, start, write_trusted
from support.proxies import post, request
from support.wires.chat import TOOLS

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
        where = ("--root", str(tmp_path))
        made = run("token", "new", "--as", "teacher", "--json", *where).json
        assert made["urls"]["anthropic"].startswith(told["address"]), "it names the server that runs"
        assert ask(made["urls"]["anthropic"]).status == 200, "it counts while the server runs"
        run("token", "revoke", made["id"], *where)
        until = monotonic() + 60
        while ask(made["urls"]["anthropic"]).status != 401:
            assert monotonic() < until
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    entries = [json.decode(line) for line in err.splitlines()]
    (one,) = [entry for entry in entries if entry["event"] == "repaired"][:1]
    assert (one["tool"], bool(one["repairs"])) == ("weather", True)
    listed = run("audit", "tail", "--root", str(tmp_path), "--json")
    assert "weather" in listed.out


def test_a_policy_that_only_watches_is_the_same_as_observe(tmp_path: Path) -> None:
    write_trusted(tmp_path / "rightcall.toml", '[gate.hosts.proxy]\nmode = "observe"\n')
    with started(tmp_path, "serve", "--no-auth", "--no-audit") as (_, told):
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
        (["--no-auth", "--host", "0.0.0.0"], "--no-auth"),
        (["--teach", "maybe"], "--teach"),
        (["--allow-origin", "nowhere"], "--allow-origin"),
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
    with started(tmp_path, "serve", "--no-auth", "--no-audit") as (_, told):
        port = told["address"].rsplit(":", 1)[1]
        result = run("proxy", "--upstream", "http://127.0.0.1:1", "--port", port, "--no-auth", "--no-audit")
        assert (result.code, "--port 0" in result.err) == (2, True)
    assert not (tmp_path / ".rightcall").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_ctrl_c_says_what_is_waited_for_and_how_to_end_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        upstream = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with started(tmp_path, "proxy", "--upstream", upstream, "--no-auth", "--quiet") as (process, told):
            port = int(told["address"].rsplit(":", 1)[1])
            with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
                client.sendall(b"GET /v1/files HTTP/1.1\r\nhost: 127.0.0.1:%d\r\n\r\n" % port)
                asked = [silent.accept()[0] for _ in range(2)]  # the other one asks whether it is there
                process.send_signal(signal.SIGINT)
                log = process.stderr
                assert log is not None
                texts = iter(lambda: json.decode(log.readline())["text"], None)
                assert "finishing 1 request; Ctrl-C again ends at once" in texts
                process.send_signal(signal.SIGINT)
                assert process.wait(60) == 130
                for one in asked:
                    one.close()


def serve_nothing(monkeypatch: pytest.MonkeyPatch, during: Any = None, port: int = 4141) -> None:
    """The server says that it is ready, and ends."""

    def serve(app: Any, *, told: Any, **_: Any) -> int:
        told.ready("127.0.0.1", port)
        if during is not None:
            during()
        return 0

    monkeypatch.setattr(running, "serve", serve)


def test_the_log_is_on_standard_error_with_quiet_too(
    tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logging.getLogger("rightcall")
    before = list(log.handlers)
    serve_nothing(monkeypatch, lambda: log.error("rightcall: the audit is read-only"))
    result = run("proxy", "--upstream", "http://127.0.0.1:1", "--root", str(tmp_path), "--quiet", "--no-audit")
    assert result.code == 0
    assert " error    the audit is read-only\n" in result.err
    assert log.handlers == before


def test_records_that_could_not_be_written_are_told_with_their_number(
    tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rightcall.server import recording

    real = recording.open_recording
    opened: list[recording.Recording] = []

    def stuck(*given: Any, **named: Any) -> recording.Recording:
        opened.append(real(*given, **named))
        opened[0].stop()
        opened[0]._waiting.extend([b"{}"] * 3)  # as when the disk hangs until the end
        return opened[0]

    monkeypatch.setattr(recording, "open_recording", stuck)
    serve_nothing(monkeypatch)
    result = run("proxy", "--upstream", "http://127.0.0.1:1", "--root", str(tmp_path))
    assert " error    3 records of calls could not be written before the end\n" in result.err


@pytest.mark.parametrize(
    ("upstream", "here"),
    [
        ("http://127.0.0.1:4141", []),
        ("http://localhost:4141/v1", ["--host", "::1"]),
        ("http://127.0.0.1:5000", ["--port", "5000", "--host", "0.0.0.0"]),
        ("http://10.1.2.3:80", ["--port", "80", "--host", "10.1.2.3"]),
    ],
)
def test_a_server_in_front_of_itself_is_refused(tmp_path: Path, run: Runner, upstream: str, here: list[str]) -> None:
    result = run("proxy", "--upstream", upstream, "--root", str(tmp_path), *here)
    assert result.code == 2
    assert "is this server's own address" in result.err
    assert not (tmp_path / ".rightcall").exists()


def test_an_audit_that_cannot_be_kept_is_an_error_with_two_ways_out(tmp_path: Path, run: Runner) -> None:
    (tmp_path / ".rightcall").write_text("a file where the folder should be")
    result = run("proxy", "--upstream", "http://127.0.0.1:1", "--root", str(tmp_path), "--port", "0")
    assert result.code == 2
    assert "--no-audit" in result.err
    assert "--root DIR" in result.err
    assert "Traceback" not in result.err


def test_what_serve_prints_can_be_pasted(tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    serve_nothing(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [".venv/bin/rightcall", "serve"])
    lines = run("serve", "--root", str(tmp_path), "--no-auth", "--no-audit").out.splitlines()
    at = lines.index("   [gate.hosts.proxy]")
    assert lines[at + 1] == '   mode = "observe"'
    assert ".venv/bin/rightcall trust" in lines[at + 2]
    assert f"trust {tmp_path}/rightcall.toml)" in lines[at + 2]
    assert lines[at + 3].endswith(f" .venv/bin/rightcall audit tail --root {tmp_path}")
    assert "  BASE=http://127.0.0.1:4141/v1" in lines
    serves = [line for line in lines if ".venv/bin/rightcall serve --upstream" in line]
    assert serves[0].endswith(f" --root {tmp_path}")


def test_lines_for_a_policy_that_was_named_need_no_trust_and_no_restart(
    tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_nothing(monkeypatch)
    (tmp_path / "own.toml").write_text("version = 1\n")
    lines = run("serve", "--policy", str(tmp_path / "own.toml"), "--no-auth", "--no-audit").out.splitlines()
    assert lines[lines.index('   mode = "observe"') + 1] == "   They count a second after the file was saved."


@pytest.mark.parametrize(
    "command",
    [
        ("serve",),
        ("serve", "--practice"),
        ("serve", "--upstream", "http://x.test:1"),
        ("proxy", "--upstream", "http://x.test:1"),
    ],
)
@pytest.mark.parametrize("given", [TOKEN, None])
def test_a_token_is_printed_once_if_it_was_made_here_and_never_if_it_was_given(
    tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], given: str | None
) -> None:
    serve_nothing(monkeypatch)
    monkeypatch.setattr("rightcall.cli.serve.check_upstream", lambda *_, **__: None)
    monkeypatch.setattr("rightcall.doctor.traffic.PracticeClient.start", lambda *_: None)
    write_trusted(tmp_path / "rightcall.toml", '[servers.clock]\ncommand = ["python3", "-c", "0"]\n')
    made = "a-token-that-was-made-0123"
    monkeypatch.setattr("rightcall.server.access.new_token", lambda: made)
    if given is None:
        monkeypatch.delenv("RIGHTCALL_TOKEN", raising=False)
    else:
        monkeypatch.setenv("RIGHTCALL_TOKEN", given)
    result = run(*command, "--root", str(tmp_path), "--no-console")
    assert result.code == 0, result.err
    assert TOKEN not in result.out + result.err
    assert result.out.count(made) == (given is None)
    assert f"http://127.0.0.1:4141/{made if given is None else '$RIGHTCALL_TOKEN'}/v1" in result.out
    assert ("/mcp instead of /v1" in result.out) == (command[0] == "serve")


@pytest.mark.parametrize("command", [("serve",), ("proxy", "--upstream", "http://127.0.0.1:1"), ("console",)])
def test_a_server_whose_output_nobody_reads_ends_without_a_traceback(tmp_path: Path, command: tuple[str, ...]) -> None:
    """As with `rightcall serve | head -0`: nobody can know the address."""
    SqliteStore(tmp_path / ".rightcall" / "audit.db").close()  # as the console needs one
    with start(*command, "--port", "0", "--root", str(tmp_path)) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read().decode()
    assert (process.returncode, err) == (141, "")


def test_the_practice_client_is_told_of_a_stop_before_the_server_closes(
    tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def serve(app: object, *, told: Any, **_: object) -> int:
        told.stopping(0)
        order.append("closed")
        return 0

    monkeypatch.setattr("rightcall.server.app.serve", serve)
    monkeypatch.setattr("rightcall.doctor.traffic.PracticeClient.ask_no_more", lambda _: order.append("told"))
    assert run("serve", "--practice", "--root", str(tmp_path), "--no-console").code == 0
    assert order[:2] == ["told", "closed"]


def test_commands_are_shown_as_this_one_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["/x/rightcall/__main__.py"])
    assert program() == f"{sys.executable} -P -m rightcall"
    command = tmp_path / ("rightcall.exe" if sys.platform == "win32" else "rightcall")
    command.write_text("")
    command.chmod(0o755)
    assert program() == "rightcall"


@pytest.mark.parametrize("other", [("--upstream", "http://127.0.0.1:9"), ("--no-audit",)])
def test_practice_never_meets_a_real_model_and_needs_an_audit(
    other: tuple[str, ...], tmp_path: Path, run: Runner
) -> None:
    refused = run("serve", "--practice", *other, "--root", str(tmp_path))
    assert refused.code == 2
    assert f"leave out `{other[0]}`" in refused.err
    assert list(tmp_path.iterdir()) == []
