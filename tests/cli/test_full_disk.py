"""A server whose store cannot be written: every worker says so before a call finds it, and says when it is over."""

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from support.stores import disk_of, fill
from support.workers import Connection, Server, serving_with, with_server

pytestmark = [
    pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="workers are found through /proc"),
    pytest.mark.xdist_group("workers"),
    pytest.mark.promise("A-04", "S-03"),
]

NOT_READY = 503, {"status": "not ready", "why": "store"}
Fault = Callable[[Path, Server], AbstractContextManager[None]]


@contextmanager
def a_full_disk(disk: Path, server: Server) -> Iterator[None]:
    del server
    filler = fill(disk)
    yield
    filler.unlink()


@contextmanager
def files_that_cannot_grow(disk: Path, server: Server) -> Iterator[None]:
    """As where a quota is used up; nobody needs to be root for it."""
    longest = max(one.stat().st_size for one in disk.iterdir())
    processes = server.worker_pids() or [server.process.pid]
    before = {pid: resource.prlimit(pid, resource.RLIMIT_FSIZE) for pid in processes}
    for pid, (_, most) in before.items():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (longest, most))
    yield
    for pid, limits in before.items():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)


@pytest.fixture(params=[a_full_disk, files_that_cannot_grow])
def fault(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Fault, Path]]:
    disk = tmp_path / "disk"
    if request.param is a_full_disk:
        with disk_of(disk, "3m"):
            yield request.param, disk
    else:
        disk.mkdir()
        yield request.param, disk


def calls(connection: Connection, text: str) -> bool:
    """Whether a call runs."""
    result = connection.call_alone("tools_echo", {"text": text}).json["result"]
    assert result.get("isError") or result["content"][0]["text"] == text
    return not result.get("isError")


@pytest.mark.parametrize("workers", [2, pytest.param(1, marks=pytest.mark.long)])
def test_readiness_is_what_a_call_finds(tmp_path: Path, fault: tuple[Fault, Path], workers: int) -> None:
    happens, disk = fault
    policy = with_server(tmp_path)
    with (tmp_path / policy).open("a") as file:
        file.write(f'[audit]\npath = "{disk / "audit.db"}"\n')
    with serving_with(tmp_path, workers, "--policy", policy, "--no-console") as server:
        each = list(server.at_each(workers).values())
        for one in each:
            assert calls(one, "first")
            assert one.get("/health/ready").status == 200
        with happens(disk, server):
            server.until(lambda: not calls(each[0], "x" * 2000))
            for one in each:  # also the worker that was asked for no call
                got = one.get("/health/ready")
                assert (got.status, got.json) == NOT_READY
                told = one.get("/health").json
                assert (told["status"], told["audit"]["ok"]) == ("degraded", False)
            assert not calls(each[-1], "another")
        failures = next(
            line for line in each[0].get("/metrics").body.decode().splitlines() if line.startswith("rightcall_audit_f")
        )
        assert int(failures.rpartition(" ")[2]) >= 2
        for one in each:
            server.until(lambda one=one: one.get("/health/ready").status == 200)
            assert calls(one, "again")
        log = (tmp_path / "stderr").read_text()
        assert log.count("calls are refused until it can") == 1
        assert log.count("audit log can be written again") == 1


@pytest.mark.long
def test_a_store_that_is_full_is_found_before_any_call(tmp_path: Path, fault: tuple[Fault, Path]) -> None:
    happens, disk = fault
    policy = with_server(tmp_path)
    with (tmp_path / policy).open("a") as file:
        file.write(f'[audit]\npath = "{disk / "audit.db"}"\n')
    with serving_with(tmp_path, 1, "--policy", policy, "--no-console") as server:
        one = server.connect()
        with happens(disk, server):
            server.until(lambda: one.get("/health/ready").status == 503)
            assert not calls(one, "first")
