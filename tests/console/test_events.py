"""The event stream: it says at once that something is new, and ends with its session."""

import socket
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from msgspec import json

from rightcall.console.people import revoke_person
from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import CallBody, Store, encode
from support.consoles import Browser, opened, session


@pytest.fixture(params=["memory", "sqlite"])
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Browser]]:
    """Under the machine's own clock."""
    store: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "audit.db")
    with closing(store), opened(store) as address:
        yield store, Browser(address, session(store, "ann"))


@contextmanager
def listening(browser: Browser) -> Generator[Iterator[tuple[str, dict[str, int]]]]:
    """The events of a stream, as they come."""
    with socket.create_connection(("127.0.0.1", browser.address.port), timeout=5) as connection:
        request = (
            f"GET /events HTTP/1.1\r\nhost: 127.0.0.1:{browser.address.port}\r\n"
            f"cookie: {browser.address.cookie}={browser.secret}\r\n\r\n"
        )
        connection.sendall(request.encode())
        with connection.makefile("rb") as lines:
            yield events(lines)


def events(lines: Iterable[bytes]) -> Iterator[tuple[str, dict[str, int]]]:
    name = ""
    for line in lines:
        if line.startswith(b"event: "):
            name = line[7:].strip().decode()
        elif line.startswith(b"data: "):
            yield name, json.decode(line[6:])


def record(store: Store) -> int:
    body = CallBody("ada", "code/read", {}, "d" * 64, "allow", "stage:read-only")
    return store.transact(lambda tables: tables.append("begin", 0, encode(body)))


@pytest.mark.promise("H-09")
def test_a_call_is_told_within_half_a_second(running: tuple[Store, Browser]) -> None:
    store, ann = running
    with listening(ann) as heard:
        name, first = next(heard)
        assert name == "state"
        began = time.monotonic()
        number = record(store)
        assert next(heard)[1]["head"] == number > first["head"]
        assert time.monotonic() - began < 2.0  # half a second, on a machine with nothing else to do


@pytest.mark.promise("H-10")
def test_revoking_a_person_ends_their_stream(running: tuple[Store, Browser]) -> None:
    store, ann = running
    with listening(ann) as heard:
        next(heard)
        store.transact(lambda tables: revoke_person(tables, "ann", "root"))
        assert any(name == "over" for name, _ in heard)


def test_logging_out_ends_the_stream_of_that_session_alone(running: tuple[Store, Browser]) -> None:
    store, ann = running
    eve = Browser(ann.address, session(store, "eve"))
    with listening(ann) as hers, listening(eve) as others:
        next(hers)
        next(others)
        assert eve.post("/logout").status == 303
        assert any(name == "over" for name, _ in others)
        number = record(store)
        assert any(state.get("head") == number for _, state in hers)


def test_a_console_that_stops_waits_for_no_stream() -> None:
    store = MemoryStore()
    with opened(store) as address:
        ann = Browser(address, session(store, "ann"))
        streams = listening(ann)
        heard = streams.__enter__()
        next(heard)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert list(heard) == []
    streams.__exit__(None, None, None)
