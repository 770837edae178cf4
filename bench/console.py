"""What open consoles cost the server beside them, and how soon a call is on the page.

The server is `rightcall serve` with its audit and its console, in one process; clients, consoles and the scripted model
are processes of their own. "Open" is an event stream as every page has one; that of a page of Live has the new rows.
Runs with and without consoles take turns: the machine's moods hit both alike.

    python -m bench console         or, where the peers are not installed: python -m bench.console
"""

import json
import re
import select
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.proxy_contenders import Contender, a_process, cost, upstream
from bench.table import Figure, micro, render
from bench.timing import all_cores
from rightcall.console.access import Address
from rightcall.console.people import add_person, enter, make_link, person_named
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import CallBody, Tables, encode

CONSOLES = 10
ROUNDS = 11
REQUESTS = 200
TIMES = 20
BODY = encode(CallBody("bench", "code/read", {"path": "a"}, "d" * 64, "allow", "stage:read-only"))
HEAD = re.compile(rb'"head":(\d+)')


class Door(NamedTuple):
    """A console, and a session that opens it."""

    port: int
    cookie: str
    """With its name."""

    def stream(self, *, live: bool) -> socket.socket:
        opened = socket.create_connection(("127.0.0.1", self.port))
        path = "/events?live=" if live else "/events"
        opened.sendall(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\ncookie: {self.cookie}\r\n\r\n".encode())
        return opened


def _door(store: SqliteStore, port: int) -> Door:
    def make(tables: Tables) -> str:
        if person_named(tables, "bench") is None:
            add_person(tables, "bench", "look", "bench")
        found = enter(tables, make_link(tables, "bench", "bench"), "link")
        assert found is not None
        return found[1]

    return Door(port, f"{Address('127.0.0.1', port).cookie}={store.transact(make)}")


# ── open consoles, a process of their own ──


def watch(doors: list[Door], *, live: bool) -> None:
    """Until somebody ends it."""
    opened = [door.stream(live=live) for door in doors]
    print("open", flush=True)
    while True:
        for one in select.select(opened, [], [])[0]:
            one.recv(100_000)


@contextmanager
def _watched(doors: list[Door], *, live: bool) -> Iterator[None]:
    command = [sys.executable, "-m", "bench.console", json.dumps([doors, live])]
    with a_process(command) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        time.sleep(0.5)  # the first news
        yield


# ── figures ──


@contextmanager
def _serving(server: Contender, folder: Path) -> Iterator[tuple[Contender, int]]:
    """The server as everybody starts it, and the port of its console."""
    command = [
        sys.executable, "-c", "import sys; from rightcall.cli import main; sys.exit(main())", "serve",
        "--upstream", f"http://127.0.0.1:{server.port}", "--port", "0", "--json", "--quiet", "--root", str(folder),
    ]  # fmt: skip
    with a_process(command) as process:
        assert process.stdout is not None
        told: dict[str, Any] = json.loads(process.stdout.readline())
        port = int(told["address"].rpartition(":")[2])
        prefix = f"/{told['token']}" if told.get("token") else ""
        yield Contender("RightCall", process.pid, port, prefix), int(told["console"].rpartition(":")[2])


def _beside(ours: Contender, doors: list[Door], *, live: bool) -> Iterator[Figure]:
    """Each run beside its neighbour: what changes within a pair is the consoles. The rate is told only: it is as good
    as the other load of the machine lets it be."""
    job = ours.job(kind="repaired", count=REQUESTS, connections=4, check="call")
    alone: list[tuple[float, float]] = []
    beside: list[tuple[float, float]] = []
    for number in range(ROUNDS):
        if number % 2:  # now the one first, now the other
            alone.append(cost(ours, job, 0.0))
        with _watched(doors, live=live):
            beside.append(cost(ours, job, 0.0))
        if not number % 2:
            alone.append(cost(ours, job, 0.0))
    what = f"{CONSOLES} open pages of Live" if live else f"{CONSOLES} open consoles"
    for name, at, unit in (("CPU a request", 0, micro), ("requests a second", 1, "{:,.0f}".format)):
        one, two = (statistics.median(run[at] for run in runs) for runs in (alone, beside))
        ratio = statistics.median(second[at] / first[at] for first, second in zip(alone, beside, strict=True))
        target, met = ("", None) if at else ("<= 1.05 x", ratio <= 1.05)
        yield Figure(f"proxy beside {what} / none: {name}", unit(two), unit(one), f"{ratio:.3f} x", target, met)


def _news(store: SqliteStore, door: Door) -> Iterator[Figure]:
    """From the record of a call to its row."""
    taken: list[float] = []
    with closing(door.stream(live=True)) as stream:
        heard = b""
        while not HEAD.search(heard):
            heard += stream.recv(100_000)
        for _ in range(TIMES):
            time.sleep(0.07)  # at any moment between two looks
            started = time.perf_counter()
            row, heard = b'id=\\"call-%d\\"' % store.transact(lambda tables: tables.append("begin", 0, BODY)), b""
            while row not in heard:
                heard += stream.recv(100_000)
            taken.append(time.perf_counter() - started)
    middle, worst = statistics.median(taken), max(taken)
    told = f"median {middle * 1000:.0f} ms, longest {worst * 1000:.0f} ms"
    yield Figure("a call's row on Live, after it was recorded elsewhere", told, "", "", "<= 500 ms", middle <= 0.5)


def watching() -> Iterator[Figure]:
    all_cores()
    with (
        tempfile.TemporaryDirectory() as name,
        upstream() as server,
        _serving(server, Path(name)) as (ours, port),
        closing(SqliteStore(Path(name) / ".rightcall" / "audit.db")) as store,
    ):
        doors = [_door(store, port) for _ in range(CONSOLES)]
        with _watched(doors, live=True):  # once, so that nothing is compiled while it is measured
            cost(ours, ours.job(kind="repaired", count=100, check="call"), 0.0)
        yield from _beside(ours, doors, live=False)
        yield from _beside(ours, doors, live=True)
        yield from _news(store, doors[0])


if __name__ == "__main__":
    if sys.argv[1:]:
        found, as_live = json.loads(sys.argv[1])
        watch([Door(*one) for one in found], live=as_live)
    print(render(watching()))
