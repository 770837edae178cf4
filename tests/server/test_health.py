"""What `/health` and `/health/ready` say where the store that decides calls is no longer the one that it was."""

import asyncio
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from rightcall.executor.door import Door
from rightcall.mcp.gateway.shared import SharedGateway
from rightcall.policy.watch import load_policy
from rightcall.proxy.gates import Options
from rightcall.record.postgres import PostgresStore
from rightcall.record.sqlite import SqliteStore
from rightcall.server import health
from rightcall.server.access import Access
from rightcall.server.app import Parts, assemble, running
from rightcall.server.health import OwnNotice, Readiness
from rightcall.server.mcp import Endpoint
from rightcall.server.recording import Recording
from support.postgres import POSTGRES, Server, binaries_of
from support.proxies import CHAT, post, request, request_for
from support.scripted.server import Answer, ScriptedUpstream, Text

pytestmark = pytest.mark.promise("H-02", "A-04")

SOON = 5.0
"""Half a second, and what a busy machine adds."""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "LOOKING", 0.0)


def put_back(path: Path, copy: Path) -> None:
    """As somebody does who restores a file under a server that runs."""
    for end in ("-wal", "-shm", "-head"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    copy.rename(path)


def removed(path: Path, copy: Path) -> None:
    path.unlink()


def taken_away(path: Path, copy: Path) -> None:
    """Another audit, with all that lies beside it."""
    SqliteStore(path.with_name("other.db")).close()
    put_back(path, path.with_name("other.db"))
    path.with_name("other.db.key").rename(path.with_name(f"{path.name}.key"))


@pytest.mark.parametrize("fault", [put_back, removed, taken_away])
def test_readiness_is_that_of_the_store_which_decides_calls(
    tmp_path: Path, fault: Callable[[Path, Path], None]
) -> None:
    path, copy = tmp_path / "audit.db", tmp_path / "copy.db"
    policy = load_policy({"version": 1, "servers": {}})
    recorder = SqliteStore(path)
    recorder.close()
    shutil.copy(path, copy)
    recorder, deciding = SqliteStore(path), SqliteStore(path)
    recording = Recording(recorder)
    door = Door.open("gateway", policy, strict=True, store=deciding)
    try:
        endpoint = Endpoint(SharedGateway(door, lambda _: pytest.fail("there is no server")))
        access = Access(None, bound_to="127.0.0.1")
        service = assemble("http://127.0.0.1:1", policy, Options(), access, Parts(recording, mcp=endpoint))
        with running(service.app) as address:
            url = f"http://{address[0]}:{address[1]}"
            assert request("GET", url, "/health/ready").status == 200
            told = request("GET", url, "/health").json
            assert (told["status"], told["ready"], told["audit"]["ok"]) == ("ok", True, True)
            deciding.transact(lambda tables: tables.append("message", 0, b"{}"))
            fault(path, copy)
            assert door.judge("echo", {}).decision.rule.startswith("store:")
            got = request("GET", url, "/health/ready")
            assert (got.status, got.json) == (503, {"status": "not ready", "why": "store"})
            told = request("GET", url, "/health").json
            assert (told["status"], told["ready"], told["audit"]["ok"]) == ("degraded", False, False)
    finally:
        recording.stop()
        deciding.close()


def test_all_who_ask_at_once_share_one_look_and_a_fault_is_not_kept_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    def stores() -> list[Any]:
        looks.append(1)
        return [closed]

    closed = SqliteStore(tmp_path / "audit.db")
    closed.close()

    async def work() -> str:
        readiness = Readiness(stores)
        await asyncio.gather(*(readiness.look() for _ in range(5)))
        found = readiness.fault
        monkeypatch.setattr(health, "STALE", 0.0)
        return f"{found}, then {readiness.fault or 'nothing'}"

    assert asyncio.run(work()) == "closed, then nothing"
    assert len(looks) == 1


def test_a_refused_call_counts_at_once_until_a_later_one_was_recorded(caplog: pytest.LogCaptureFixture) -> None:
    readiness, notice = Readiness(list), OwnNotice()
    told = Readiness(list, notice)
    for one in (readiness, told):
        one.decided("stage", 0.0)
        assert (one.fault, one.refused) == ("", 0)
        one.decided("store:full", 0.0)
        one.decided("store:full", 0.0)
        one.decided("stage", 60.0)  # it was recorded before the disk was full, and has ended only now
        assert (one.fault, one.refused) == ("full", 2)
        one.decided("stage", 0.0)
        assert one.fault == ""
        one.decided("store:locked", 0.0)  # another process writes: the next call may find nothing of it
        assert (one.fault, one.refused) == ("", 3)
    assert [record.getMessage() for record in caplog.records] == [
        "rightcall: audit log cannot be written (full); calls are refused until it can",
        "rightcall: audit log can be written again; calls run",
    ]


def test_what_one_worker_has_found_is_asked_about_at_once_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "LOOKING", 3600.0)
    store, notice = SqliteStore(tmp_path / "audit.db"), OwnNotice()

    async def work() -> list[str]:
        first, second = Readiness(lambda: [store], notice), Readiness(lambda: [store], notice)
        await first.look()
        await second.look()
        found = [second.fault]
        store.close()
        first.decided("store:closed", 0.0)
        await second.look()
        return [*found, second.fault]

    assert asyncio.run(work()) == ["", "closed"]


def test_ready_is_one_word_and_a_missing_mcp_server_is_another(tmp_path: Path) -> None:
    policy = load_policy({"version": 1, "servers": {"shop": {"command": ["shop"]}}})
    door = Door.open("gateway", policy, strict=True, store=SqliteStore(tmp_path / "audit.db"))

    def lost(_: Any) -> Any:
        raise OSError("no such program")

    endpoint = Endpoint(SharedGateway(door, lost))
    service = assemble(
        "http://127.0.0.1:1", policy, Options(), Access(None, bound_to="127.0.0.1"), Parts(mcp=endpoint)
    )  # fmt: skip
    with running(service.app) as address:
        url = f"http://{address[0]}:{address[1]}"
        assert request("GET", url, "/health/ready").json == {"status": "ready"}
        told = request("GET", url, "/health").json
        assert told["mcp"]["shop"]["state"] != "ready"
        assert (told["ready"], told["status"]) == (True, "degraded")
    door.store.close()


@pytest.mark.promise("S-02")
@pytest.mark.postgres
def test_a_store_that_hangs_stops_no_answer_and_the_server_says_that_it_is_not_ready(tmp_path: Path) -> None:
    policy = load_policy({"version": 1, "servers": {}})
    with (
        Server.started(binaries_of(POSTGRES[-1])) as server,
        server.database() as url,
        closing(PostgresStore(url)) as store,
        ScriptedUpstream() as upstream,
    ):
        upstream.play([Answer([Text("Hi")]) for _ in range(4)])
        recording = Recording(store, policy, owned=False)
        endpoint = Endpoint(
            SharedGateway(Door.open("gateway", policy, strict=True, store=store), cast("Any", pytest.fail))
        )
        access = Access(None, bound_to="127.0.0.1")
        service = assemble(upstream.address, policy, Options(), access, Parts(recording, mcp=endpoint))
        with running(service.app) as (host, port):
            address = f"http://{host}:{port}"
            assert request("GET", address, "/health/ready").status == 200
            assert post(address, CHAT, request_for(CHAT, stream=False)).status == 200
            server.pause()
            try:
                with ThreadPoolExecutor() as pool:
                    began = time.monotonic()
                    ready = pool.submit(request, "GET", address, "/health/ready")
                    whole = pool.submit(request, "GET", address, "/health")
                    passed = pool.submit(post, address, CHAT, request_for(CHAT, stream=False))
                    while not (ready.done() and whole.done() and passed.done()):
                        at = time.monotonic()
                        assert request("GET", address, "/health/live").status == 200
                        assert time.monotonic() - at < 1.0
                    assert time.monotonic() - began < SOON
                assert (ready.result().status, whole.result().json["ready"]) == (503, False)
                assert passed.result().status == 200
            finally:
                server.go_on()
            deadline = time.monotonic() + 30
            while request("GET", address, "/health/ready").status != 200:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        recording.stop()
