"""The hook and the running server: one event is judged by one of them, whatever the other does."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from msgspec import json

from hooks.hooking import bind, connect, hook, project, recorded
from rightcall.base.files.guarded import take_lock
from rightcall.hosts.hooks.hook import GO, READY, Options, Unanswered, ask_server, request
from rightcall.hosts.hooks.place import socket_folder, socket_path
from rightcall.record.sqlite import SqliteStore
from rightcall.server import hooks
from rightcall.server.hooks import HookServer

pytestmark = pytest.mark.promise("H-05")

ASKED = {
    "hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Write", "tool_use_id": "t1",
    "tool_input": {"file_path": "/tmp/x", "content": "x"},
}  # fmt: skip
DENIED = ASKED | {"tool_name": "Bash", "tool_input": {"command": "ls"}}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = project(tmp_path / "work")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    os.makedirs(socket_folder(), mode=0o700)
    return folder


def options(work: Path, **more: Any) -> Options:
    return Options("claude", str(work / "rightcall.toml"), str(work), None, None, found=True)._replace(**more)


@contextmanager
def server_that(work: Path, says: Callable[[socket.socket], None]) -> Iterator[None]:
    """In the place of the server, one connection long."""
    with socket.socket(socket.AF_UNIX) as listener:
        bind(listener, socket_path(str(work / "rightcall.toml")))
        listener.listen(1)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 20)
                says(connection)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield
        thread.join(60)
        assert not thread.is_alive()


def until_it_hangs_up(connection: socket.socket) -> None:
    while connection.recv(1 << 20):
        pass


@pytest.mark.parametrize("first", [b"", b"N", b"R\n", b"Rnan\n", b"R-1\n", b"R1e999\n", b"\xff" * 200, b"R5"])
def test_a_server_that_does_not_say_it_is_ready_has_judged_nothing(work: Path, first: bytes) -> None:
    with server_that(work, lambda connection: connection.sendall(first)):
        assert ask_server(options(work), b"{}") is None


@pytest.mark.parametrize("answer", [b"\xff\xfe\n", b"A\xff\n", b"A{}", b"", b"Nonsense\n"])
def test_an_answer_that_is_none_of_ours_is_not_taken(work: Path, answer: bytes) -> None:
    def says(connection: socket.socket) -> None:
        connection.sendall(READY + b"5\n")
        assert connection.recv(1) == GO
        connection.sendall(answer)

    with server_that(work, says):
        told = hook("claude", DENIED, work)
    assert "whitelisted" in told["hookSpecificOutput"]["permissionDecisionReason"]
    assert [one["tool"] for one in recorded(work)] == ["Bash"]


def test_what_a_server_has_taken_is_not_judged_a_second_time(work: Path) -> None:
    def says(connection: socket.socket) -> None:
        connection.sendall(READY + b"0.3\n")
        assert connection.recv(1) == GO
        until_it_hangs_up(connection)
        assert not (work / ".rightcall").exists()

    with server_that(work, says):
        told = hook("claude", ASKED, work)
    assert "could not judge this call" in told["hookSpecificOutput"]["permissionDecisionReason"]
    assert not (work / ".rightcall").exists()
    os.unlink(socket_path(str(work / "rightcall.toml")))
    with server_that(work, says), pytest.raises(Unanswered):
        ask_server(options(work), json.encode(ASKED))


def test_a_server_judges_nothing_before_the_hook_says_that_it_still_waits(work: Path) -> None:
    server = HookServer(str(work / "rightcall.toml"))
    assert server.start()
    try:
        for word in (b"", b"X"):
            with socket.socket(socket.AF_UNIX) as gone:
                connect(gone, server.path)
                gone.sendall(request(options(work), json.encode(ASKED)))
                assert gone.recv(64) == READY + b"5\n"
                gone.sendall(word)
                gone.shutdown(socket.SHUT_WR)
                assert gone.recv(64) == b""
        assert server.answered == 0
        assert ask_server(options(work), json.encode(ASKED)) is not None
        assert server.answered == 1
    finally:
        server.stop()
    assert [one["kind"] for one in recorded(work)] == ["waiting"]


def test_through_a_server_a_found_policy_is_as_strict(work: Path) -> None:
    server = HookServer(str(work / "rightcall.toml"))
    assert server.start()
    try:
        for found, wanted in ((True, None), (False, "allow")):
            asked = ASKED | {"tool_input": {"file_path": "/tmp/x", "content": str(found)}}
            assert ask_server(options(work, found=found), json.encode(asked))
            store = SqliteStore(work / ".rightcall" / "audit.db")
            _say_yes(store)
            told = json.decode((ask_server(options(work, found=found), json.encode(asked)) or "").strip() or "null")
            assert (told and told["hookSpecificOutput"]["permissionDecision"]) == wanted
        (work / "rightcall.toml").write_text('version = 1\n[audit]\npath = "../audit.db"\n')
        assert not (ask_server(options(work, mode="warn"), json.encode(asked)) or "").strip()
    finally:
        server.stop()


def _say_yes(store: SqliteStore) -> None:
    from rightcall.record.admission import Reply, answer

    try:
        (asked,) = store.look(lambda tables: tables.approvals("waiting"))
        store.transact(lambda tables: answer(tables, asked.id, Reply("approved", "Ada", asked.digest), 600))
    finally:
        store.close()


def test_a_server_that_is_being_started_is_not_taken_for_a_dead_one(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "_PATIENCE", 0.05)
    server = HookServer(str(work / "rightcall.toml"))
    lock = os.open(os.path.join(socket_folder(), "lock"), os.O_RDWR | os.O_CREAT, 0o600)
    with socket.socket(socket.AF_UNIX) as bound:  # and does not listen yet
        bind(bound, server.path)
        assert take_lock(lock)
        assert not server.start()
        assert os.path.exists(server.path)
    os.close(lock)
    assert server.start()
    server.stop()


def test_an_event_longer_than_any_is_judged_by_its_beginning(work: Path) -> None:
    start = json.encode(DENIED | {"tool_input": {}})[:-1]
    sent = start + b', "tool_input": {"command": "' + b"x" * 65_000_000 + b'"}}'
    told = hook("claude", sent, work, "--mode", "warn")
    assert "whitelisted" in told["hookSpecificOutput"]["permissionDecisionReason"]


def test_the_hook_with_a_policy_that_is_a_pipe_answers_at_once(work: Path) -> None:
    (work / "rightcall.toml").unlink()
    os.mkfifo(work / "rightcall.toml")
    told = hook("claude", DENIED, work, "--mode", "block")
    assert "could not judge" in told["hookSpecificOutput"]["permissionDecisionReason"]
    assert hook("claude", DENIED, work, "--mode", "observe") is None


def test_a_record_that_a_project_brought_along_permits_nothing(work: Path) -> None:
    """As a cloned repository would: a policy, a record with a yes in it, its key."""
    asked = hook("claude", ASKED, work)
    assert asked["hookSpecificOutput"]["permissionDecision"] == "ask"
    _say_yes(SqliteStore(work / ".rightcall" / "audit.db"))
    assert hook("claude", ASKED, work) is None
    hook("claude", ASKED, work)
    _say_yes(SqliteStore(work / ".rightcall" / "audit.db"))
    told = hook("claude", ASKED, work, "--policy", "rightcall.toml")
    assert told["hookSpecificOutput"]["permissionDecision"] == "allow"
