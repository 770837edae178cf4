"""Every backend of the store, for every test that asks for `store`: the contract is one."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import Clock, ManualClock, Store
from support import postgres_calls, store_process
from support.postgres import ON_SERVERS, Server, shared
from support.store_process import Start
from support.stores import OpenSqlite


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(start=10_000_000_000_000)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "audit.db"


@pytest.fixture
def open_sqlite(database: Path, clock: ManualClock) -> Iterator[OpenSqlite]:
    """Stores on the same file, as many as a test wants; they are closed afterwards."""
    opened: list[SqliteStore] = []

    def open_one(path: Path = database, at: Clock = clock, busy_seconds: float = 0.2) -> SqliteStore:
        store = SqliteStore(path, at, busy_seconds=busy_seconds)
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture(params=ON_SERVERS)
def server(request: pytest.FixtureRequest) -> Server:
    return shared(request.param)


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    """An empty database."""
    with server.database() as made:
        yield made


@pytest.fixture(params=["memory", "sqlite", *ON_SERVERS])
def store(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[Store]:
    if request.param == "sqlite":
        yield request.getfixturevalue("open_sqlite")()
    elif request.param == "memory":
        made = MemoryStore(clock)
        yield made
        made.close()
    else:
        from rightcall.record.postgres import PostgresStore

        with (
            shared(request.param).database() as url,
            closing(PostgresStore(url, clock, silent_seconds=30, busy_seconds=30)) as made,
        ):
            yield made


@pytest.fixture
def start_postgres() -> "Iterator[Callable[..., subprocess.Popen[str]]]":
    """Another process with a store on a server; it is killed at the end if it still runs."""
    children: list[subprocess.Popen[str]] = []

    def start_one(*words: str) -> "subprocess.Popen[str]":
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        child = subprocess.Popen(
            [sys.executable, postgres_calls.__file__, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        children.append(child)
        return child

    yield start_one
    for child in children:
        child.kill()
        child.communicate(timeout=60)


@pytest.fixture
def start(database: Path) -> Iterator[Start]:
    """Another process; it is killed at the end if it still runs."""
    children: list[subprocess.Popen[str]] = []

    def start_one(what: str, *more: str, path: Path = database) -> "subprocess.Popen[str]":
        command = [sys.executable, "-W", "ignore::DeprecationWarning", store_process.__file__, what, str(path), *more]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        children.append(child)
        return child

    yield start_one
    for child in children:
        child.kill()
        child.communicate(timeout=60)
