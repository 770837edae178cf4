"""Calls against limits on a PostgreSQL store, from one process or another: `python postgres_calls.py WHAT URL …`. It
says a line when it is ready, and waits for one."""

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from msgspec.structs import replace

from rightcall.policy.decide import decide, scopes_of
from rightcall.policy.settings import Limits, Settings, Window
from rightcall.policy.types import Request, Scope
from rightcall.record.admission import Admission, ApprovalQuestion, admit, finishing, needs_of
from rightcall.record.postgres import PostgresStore
from rightcall.record.tables import CallBody, EndBody, Planned, Tables
from support.approvals import canonical, digest, request_of

DONE = EndBody("success", 1.0)


def request(number: int, limit: int, caller: str = "ada", **more: Any) -> Request:
    """One of many different calls, of a caller who may make so many a minute."""
    model, scopes = _model(limit, caller)
    raw = canonical(model.tool, {"n": number})
    return replace(model, arguments={"n": number}, canonical=raw, digest=digest(raw), scopes=scopes, **more)


@cache
def _model(limit: int, caller: str) -> tuple[Request, tuple[Scope, ...]]:
    limits = Limits(Window(), Window(minute=limit), {})
    settings = Settings(stage="full", write="allow", execute="allow", quarantine=0, limits=limits)
    made = request_of({}, caller=caller, settings=settings)
    return made, scopes_of(made.rights, made.tool)


def attempt(store: PostgresStore, wanted: Request) -> Planned[Admission]:
    """As the executor does it."""
    body = CallBody(wanted.caller, wanted.tool, {}, wanted.digest, "allow", "", effects=("write",))

    def work(tables: Tables) -> Admission:
        return admit(tables, replace(wanted, at=store.clock.now()), decide, body, ApprovalQuestion())

    return Planned(work, lambda: needs_of(wanted))


async def crowd(store: PostgresStore, count: int, limit: int, at_once: int, first: int = 0, caller: str = "ada") -> int:
    """How many of so many attempts are let through."""
    found = 0
    for start in range(first, first + count, at_once):
        wanted = [request(start + number, limit, caller) for number in range(at_once)]
        made = await asyncio.gather(*(store.atransact(attempt(store, one)) for one in wanted))
        found += sum(one.decision.kind == "allow" for one in made)
        assert {one.decision.rule for one in made} <= {"allow:write", "limit:caller:minute"}, made
    return found


def begin(store: PostgresStore, number: int = 0, caller: str = "ada") -> Admission:
    made = store.transact(attempt(store, request(number, 0, caller)))
    assert made.decision.kind == "allow", made
    return made


def end(store: PostgresStore, admission: Admission) -> None:
    store.transact(finishing(admission, DONE))


@contextmanager
def cut_off(port: int, word: bytes = b"COMMIT", away: float = 0.0) -> Iterator[tuple[int, threading.Event]]:
    """A port in front of a server's. Once the event is set, the next message with that word still reaches the server,
    and its answer does not come back: the connection ends. `away` is how many seconds each way takes."""
    armed, listener, opened = threading.Event(), socket.create_server(("127.0.0.1", 0)), list[socket.socket]()

    def pump(source: socket.socket, target: socket.socket, dead: threading.Event, *, up: bool) -> None:
        with suppress(OSError):
            while (data := source.recv(65536)) and (up or not dead.is_set()):
                if up and armed.is_set() and word in data:
                    dead.set()
                    armed.clear()
                if away:
                    time.sleep(away)
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            opened.append(client)
            try:
                behind = socket.create_connection(("127.0.0.1", port))
            except OSError:  # nobody is there just now
                client.close()
                continue
            opened.append(behind)
            dead = threading.Event()
            for source, target, up in ((client, behind, True), (behind, client, False)):
                threading.Thread(target=pump, args=(source, target, dead), kwargs={"up": up}, daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield listener.getsockname()[1], armed
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(5)
    for one in opened:
        one.close()


def main(what: str, url: str, *more: str) -> None:
    store = PostgresStore(url, silent_seconds=30, busy_seconds=30)
    if what == "crowd":
        count, limit, at_once, first = map(int, more)
        _say("ready")
        sys.stdin.readline()
        _say(asyncio.run(crowd(store, count, limit, at_once, first)))
        store.close()
    elif what == "begin":
        _say(begin(store, int(more[0])).call)
        sys.stdin.readline()


def _say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
