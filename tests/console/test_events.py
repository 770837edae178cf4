"""The event stream: it says at once that something is new, has the rows of Live, and ends with its session."""

import asyncio
import gc
import re
import socket
import ssl
import time
import warnings
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import pytest
from msgspec import json

from rightcall.console.app import Console, console_running
from rightcall.console.pages.live import MANY, MOST_LIVE, Pulse
from rightcall.console.people import live_sessions, revoke_person
from rightcall.errors import StoreError
from rightcall.policy.settings import ConsoleSettings, Policy
from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import CallBody, EndBody, Store, Tables, encode
from support.consoles import Browser, certificate, opened, session
from support.raw_server import in_a_loop

T = TypeVar("T")


@pytest.fixture(params=["memory", "sqlite"])
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Browser]]:
    """Under the machine's own clock."""
    store: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "audit.db")
    with closing(store), opened(store) as address:
        yield store, Browser(address, session(store, "ann"))


@contextmanager
def listening(browser: Browser, query: str = "", more: str = "") -> Generator[Iterator[tuple[str, dict[str, Any]]]]:
    """The events of a stream, as they come."""
    with socket.create_connection(("127.0.0.1", browser.address.port), timeout=5) as connection:
        request = (
            f"GET /events?{query} HTTP/1.1\r\nhost: 127.0.0.1:{browser.address.port}\r\n"
            f"cookie: {browser.address.cookie}={browser.secret}\r\n{more}\r\n"
        )
        connection.sendall(request.encode())
        with connection.makefile("rb") as lines:
            yield events(lines)


def events(lines: Iterable[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    name = ""
    for line in lines:
        if line.startswith(b"event: "):
            name = line[7:].strip().decode()
        elif line.startswith(b"data: "):
            yield name, json.decode(line[6:])


def record(store: Store, tool: str = "code/read", caller: str = "ada") -> int:
    body = CallBody(caller, tool, {}, "d" * 64, "allow", "stage:read-only")
    return store.transact(lambda tables: tables.append("begin", 0, encode(body)))


def head_of(store: Store) -> int:
    return store.look(lambda tables: tables.head()[0])


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


@pytest.mark.parametrize("path", ["", "/nowhere", "/events"], ids=["nothing asked", "answered", "stream"])
@pytest.mark.parametrize("tls", [False, True])
def test_a_console_that_stops_closes_every_connection(
    tls: bool, path: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pem, key = map(str, certificate(tmp_path)) if tls else ("", "")
    store = MemoryStore()
    with ExitStack() as stack, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        settings = ConsoleSettings(port=0, certificate=pem, private_key=key)
        with console_running(Console(store, Policy), settings) as address:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", address.port), timeout=5))
            if tls:
                trusting = ssl.create_default_context(cafile=pem)
                client = stack.enter_context(trusting.wrap_socket(client, server_hostname="127.0.0.1"))
            if path:
                secret = session(store, "ann")
                head = f"host: 127.0.0.1:{address.port}\r\ncookie: {address.cookie}={secret}\r\n"
                client.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
                assert client.recv(20).startswith(b"HTTP/1.1 ")
        gc.collect()
        assert [str(one.message) for one in told] == []
        while client.recv(65_536):
            pass
    assert caplog.messages == []  # nor has it waited for anybody until the grace time was over


# ── rows of Live ──


def rows_until(heard: Iterator[tuple[str, dict[str, Any]]], head: int) -> dict[str, list[int]]:
    """Of each filter, what comes until that record has been told."""
    found: dict[str, list[int]] = {}
    for name, data in heard:
        if name == "state" and data["head"] >= head:
            return found
        if name == "rows":
            numbers = map(int, re.findall(r'data-id="(\d+)"', data["rows"]))
            found.setdefault(data["filter"], []).extend(numbers)
    raise AssertionError("the stream has ended")


@pytest.mark.promise("H-09")
def test_rows_that_are_new_or_have_ended_come_for_each_filter_that_is_open(running: tuple[Store, Browser]) -> None:
    store, ann = running
    first = record(store)
    filters = ["", "tool=b", "caller=eve&period=1h", "status=success", "text=nothing+has+it"]
    query = urlencode({"live": filters, "after": head_of(store)}, doseq=True)
    with listening(ann, query) as heard:
        assert next(heard)[0] == "state"
        new, of_eve = record(store, "b"), record(store, "c", "eve")
        store.transact(lambda tables: tables.append("end", first, encode(EndBody("success", 2.0))))
        found = rows_until(heard, head_of(store))
    assert list(found) == filters
    assert [set(numbers) for numbers in found.values()] == [{first, new, of_eve}, {new}, {of_eve}, {first}, set()]
    assert found[""][-1] == first  # the newest is above


def test_whoever_comes_back_gets_the_rows_that_were_missed_and_no_others(running: tuple[Store, Browser]) -> None:
    store, ann = running
    record(store)
    missed_since = head_of(store)
    missed = record(store)
    with listening(ann, "live=&after=1", f"last-event-id: {missed_since}\r\n") as heard:
        assert rows_until(heard, missed) == {"": [missed]}


@pytest.mark.parametrize("query", ["live=", "live=&after=x", "live=&after=99999999999999999", "", "after=1"])
def test_a_stream_begins_with_what_is_new_from_then_on(running: tuple[Store, Browser], query: str) -> None:
    store, ann = running
    with listening(ann, query) as heard:
        assert rows_until(heard, record(store)) in ({}, {"": [head_of(store)]})  # now or with the look after


def test_a_name_cannot_end_an_event_and_begin_another(running: tuple[Store, Browser]) -> None:
    store, ann = running
    with listening(ann, "live=%0A%0Aevent:+over%0Adata:+{}&live=&after=1") as heard:
        number = record(store, "a\r\n\r\nevent: over\r\ndata: {}\r\n\r\n<script>")
        assert set(rows_until(heard, number)) == {"\n\nevent: over\ndata: {}", ""}


def test_a_stream_has_rows_for_a_few_filters(running: tuple[Store, Browser]) -> None:
    store, ann = running
    asked = urlencode({"live": [f"tool={number}" for number in range(MOST_LIVE + 5)], "after": 1}, doseq=True)
    with listening(ann, asked) as heard:
        assert len(rows_until(heard, record(store))) == MOST_LIVE


class Watched(MemoryStore):
    """Counts how often it is looked into, and fails as often as a test says."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = self.failing = 0

    def look(self, work: Callable[[Tables], T]) -> T:
        self.looks += 1
        if self.looks > 1 and self.failing:
            self.failing -= 1
            raise StoreError("busy")
        return super().look(work)


async def told(stream: AsyncIterator[bytes]) -> bytes:
    return await anext(stream)


@in_a_loop
async def test_what_many_pages_watch_is_read_and_made_once() -> None:
    store = Watched()
    session(store, "ann")
    number = record(store)
    (ann,) = store.look(live_sessions)
    pulse = Pulse(store, 0.01)
    streams = [pulse.follow(ann, [""], number - 1) for _ in range(10)]
    for one in streams:
        assert (await anext(one)).startswith(b"retry:")
    store.looks = 0
    heard = await asyncio.gather(*map(told, streams))
    assert len(set(heard)) == 1
    assert b"call-%d" % number in heard[0]
    assert store.looks == 2  # what is new, and its rows
    for one in streams:
        await one.aclose()


@in_a_loop
async def test_rows_that_could_not_be_read_come_with_the_next_look() -> None:
    store = Watched()
    session(store, "ann")
    number = record(store)
    (ann,) = store.look(live_sessions)
    stream = Pulse(store, 0.01).follow(ann, [""], number - 1)
    await anext(stream)
    store.looks, store.failing = 0, 1
    assert b"call-%d" % number in await anext(stream)
    assert store.failing == 0
    await stream.aclose()


@in_a_loop
async def test_after_many_records_at_once_the_next_look_is_later(monkeypatch: pytest.MonkeyPatch) -> None:
    store, slept = MemoryStore(), list[float]()
    session(store, "ann")
    (ann,) = store.look(live_sessions)

    async def no_time(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", no_time)
    stream = Pulse(store, 0.2).follow(ann)
    for count in (0, 0, MANY - 1, MANY, 1):
        for _ in range(count):
            record(store)
        await anext(stream)
    await stream.aclose()
    assert slept[-3:] == [0.2, 0.2, 0.4]
