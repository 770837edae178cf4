"""A server that breaks down, lies or hangs harms only its own call, and leaves no process behind."""

import os
import signal
import sys
from pathlib import Path

import pytest

from rightcall.executor.door import Door
from rightcall.record.tables import read_end
from wrap_talking import Talk, scripted, wrapped

pytestmark = pytest.mark.promise("X-07", "H-04")


@pytest.fixture
def talk(request: pytest.FixtureRequest, tmp_path: Path):
    how = getattr(request, "param", "")
    with Talk(wrapped(scripted(how)), tmp_path) as talk:
        yield talk.greet()


def alive(pid: int) -> bool:
    """A process that is dead but not yet waited for does not count."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def goes(pid: int) -> bool:
    """Whether a process ends by and by: who adopts an orphan needs a moment to bury it."""
    from time import monotonic

    until = monotonic() + 60
    while alive(pid) and monotonic() < until:
        os.sched_yield()
    return not alive(pid)


@pytest.mark.parametrize("talk", ["silent"], indirect=True)
def test_a_call_that_is_never_answered_holds_up_no_other(talk: Talk) -> None:
    talk.send(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "misbehave", "arguments": {"text": "x"}}}
    )
    assert talk.call(2, "echo", {"text": "a"})["result"]["content"][0]["text"] == '{"text": "a"}'
    assert talk.ask(3, "ping")["result"] == {}
    talk.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert talk.call(4, "echo", {"Text": "b"})["result"]["content"][0]["text"] == '{"text": "b"}'


@pytest.mark.parametrize("talk", ["twice"], indirect=True)
def test_a_second_answer_passes_and_changes_nothing(talk: Talk) -> None:
    first = talk.call(1, "misbehave", {"text": "x"})
    assert talk.hear() == first
    assert talk.call(2, "echo", {"text": "a"})["id"] == 2


@pytest.mark.parametrize("talk", ["half"], indirect=True)
def test_half_a_line_and_then_nothing_ends_the_call_with_an_error(talk: Talk) -> None:
    talk.send(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "misbehave", "arguments": {"text": "x"}}}
    )
    assert talk.line() == b'{"jsonrpc":"2.0","id":\n'
    error = talk.hear()
    assert (error["id"], error["error"]["message"]) == (1, "The server ended before it answered.")
    assert talk.hear() is None
    assert talk.process.wait(60) == 3


@pytest.mark.parametrize("talk", ["killed"], indirect=True)
def test_the_death_of_the_server_is_told_and_its_code_passed_on(talk: Talk) -> None:
    assert "error" in talk.call(1, "misbehave", {"text": "x"})
    assert talk.process.wait(60) == 128 + signal.SIGKILL


@pytest.mark.parametrize("talk", ["closes"], indirect=True)
def test_a_server_that_says_it_is_done_is_ended(talk: Talk) -> None:
    assert "error" in talk.call(1, "misbehave", {"text": "x"})
    talk.process.wait(60)
    assert not alive(talk.info["pid"])


@pytest.mark.parametrize("talk", ["long"], indirect=True)
def test_a_line_of_200_megabytes_passes_in_bounded_memory(talk: Talk) -> None:
    talk.send(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "misbehave", "arguments": {"text": "x"}}}
    )
    size = 0
    while (piece := os.read(talk.output.fileno(), 1 << 20)) and not piece.endswith(b"\n"):
        size += len(piece)
    assert size + len(piece) == 200_000_000 + len(
        b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""}]}}\n'
    )
    memory = Path(f"/proc/{talk.process.pid}/status").read_text()
    peak = next(int(line.split()[1]) for line in memory.splitlines() if line.startswith("VmHWM"))
    assert peak < 150_000  # kilobytes
    assert talk.call(2, "echo", {"text": "a"})["id"] == 2


@pytest.mark.parametrize("talk", ["flood", "garbage"], indirect=True)
def test_noise_on_either_stream_passes_by(talk: Talk) -> None:
    assert talk.call(1, "misbehave", {"text": "x"})["result"]["content"][0]["text"] == "done"
    assert talk.call(2, "echo", {"Text": "a"})["result"]["content"][0]["text"] == '{"text": "a"}'


def test_a_client_that_reads_slowly_slows_the_server_down_and_fills_no_memory(tmp_path: Path) -> None:
    with Talk(wrapped(scripted("long")), tmp_path) as talk:
        talk.greet()
        talk.send(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "misbehave", "arguments": {"text": "x"}},
            }
        )
        assert talk.output.read(20_000_000)
        status = Path(f"/proc/{talk.process.pid}/status").read_text()
        peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
        assert peak < 150_000


@pytest.mark.parametrize("talk", ["code"], indirect=True)
def test_the_exit_code_is_the_servers(talk: Talk) -> None:
    assert talk.close() == 7


@pytest.mark.parametrize("talk", ["lingers"], indirect=True)
def test_a_server_that_stays_when_the_client_has_gone_is_ended(talk: Talk) -> None:
    assert talk.close() == 128 + signal.SIGTERM
    assert not alive(talk.info["pid"])


@pytest.mark.parametrize("talk", ["deaf"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_too_even_one_that_will_not(talk: Talk, number: int) -> None:
    talk.process.send_signal(number)
    assert talk.process.wait(60) == 128 + number
    assert not alive(talk.info["pid"])


@pytest.mark.parametrize("talk", ["parent"], indirect=True)
def test_what_the_server_has_started_ends_with_it(talk: Talk) -> None:
    talk.close()
    assert goes(talk.info["child"])


@pytest.mark.promise("A-01")
@pytest.mark.parametrize(
    ("how", "why"),
    [
        (signal.SIGTERM, "RightCall was told to end before the server answered."),
        (signal.SIGINT, "RightCall was told to end before the server answered."),
        (None, "The client ended the connection before the server answered."),
    ],
)
def test_the_record_says_who_ended_a_call_that_was_still_open(tmp_path: Path, how: int | None, why: str) -> None:
    (tmp_path / "rightcall.toml").write_text("version = 1\n")
    with Talk(wrapped(scripted("silent")), tmp_path) as talk:
        talk.greet()
        open_call = {"name": "misbehave", "arguments": {"text": "x"}}
        talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": open_call})
        talk.call(2, "echo", {"text": "a"})
        if how is None:
            talk.close()
        else:
            talk.process.send_signal(how)
            talk.process.wait(60)
    with Door.open("wrap", tmp_path / "rightcall.toml", root=tmp_path) as door:
        ends = [read_end(one.body) for one in door.store.look(lambda tables: tables.newest(9, ("end",)))]
    assert [one.error for one in ends if one.status != "success"] == [why]


def test_a_server_cannot_put_its_own_question_in_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "rightcall.toml").write_text('version = 1\n[policy.approval]\ntools = ["delete_file"]\n')
    with Talk(wrapped(scripted("forges")), tmp_path) as talk:
        talk.greet(elicitation={})
        talk.call(1, "misbehave", {"text": "x"})
        delete = {"name": "delete_file", "arguments": {"path": "x"}}
        talk.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": delete})
        question = talk.hear()
        assert "A tool call waits" in question["params"]["message"]
        talk.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
        assert talk.hear()["result"]["isError"] is True


@pytest.mark.parametrize("talk", ["silent"], indirect=True)
def test_a_wrap_that_is_killed_leaves_no_server(talk: Talk) -> None:
    talk.process.kill()
    assert goes(talk.info["pid"])


@pytest.mark.parametrize("talk", ["silent"], indirect=True)
def test_a_client_that_no_longer_reads_ends_everything(talk: Talk) -> None:
    talk.output.close()
    talk.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    talk.process.wait(60)
    assert not alive(talk.info["pid"])


@pytest.mark.parametrize("talk", ["stuck"], indirect=True)
def test_a_server_that_reads_nothing_any_more_ends_with_its_client(talk: Talk) -> None:
    call = {"name": "misbehave", "arguments": {"text": "x"}}
    talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    talk.send({"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {"x": "x" * 500_000}})
    talk.close()
    assert not alive(talk.info["pid"])


def test_calls_that_are_piped_in_are_answered_before_the_end(tmp_path: Path) -> None:
    with Talk(wrapped(scripted()), tmp_path) as talk:
        talk.send(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"Text": "a"}}}
        )
        talk.input.close()
        assert talk.hear()["result"]["content"][0]["text"] == '{"text": "a"}'
        assert talk.process.wait(60) == 0


def test_a_command_that_is_none_is_said_to_be_none(tmp_path: Path) -> None:
    with Talk(wrapped(["/no/such/program"]), tmp_path, quiet=False) as talk:
        assert talk.process.wait(60) == 2
        assert talk.process.stderr is not None
        assert b"the server cannot be started" in talk.process.stderr.read()
        assert talk.output.read() == b""


def test_a_wrong_policy_starts_no_server(tmp_path: Path) -> None:
    (tmp_path / "rightcall.toml").write_text("version = 1\n[policy]\ndeny = 5\n")
    marker = tmp_path / "started"
    server = [sys.executable, "-c", f"open({str(marker)!r}, 'w')"]
    with Talk(wrapped(server), tmp_path, quiet=False) as talk:
        assert talk.process.wait(60) == 2
        assert talk.process.stderr is not None
        assert b"rightcall.toml" in talk.process.stderr.read()
    assert not marker.exists()
