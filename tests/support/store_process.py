"""Another process with a store, for the tests: `python run_child.py WHAT DATABASE …`. It says a line when it is ready,
and some of them wait for one."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from rightcall.errors import StoreError
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import Tables
from support.stores import BODY, add, admitted, begin_body

Start = Callable[..., "subprocess.Popen[str]"]
"""Starts one, as the fixture `start` does."""


def heard(child: "subprocess.Popen[str]") -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def wait() -> None:
    sys.stdin.readline()


def begin(store: SqliteStore, *effects: str) -> int:
    def work(tables: Tables) -> int:
        seq = tables.append("begin", 0, begin_body(effects=effects, digest="-".join(effects)))
        tables.begun(seq)
        return seq

    return store.transact(work)


def attempts(store: SqliteStore, count: str) -> None:
    """So many against a hundred a minute, 25 at once, so that the processes take turns."""

    async def crowd() -> int:
        found = 0
        for _ in range(int(count) // 25):
            found += sum(await asyncio.gather(*(store.atransact(admitted(store.clock, 100)) for _ in range(25))))
        return found

    say("ready")
    wait()
    say(asyncio.run(crowd()))
    store.close()


def calls(store: SqliteStore) -> None:
    """Begin a call that reads and one that writes, and wait to be killed."""
    say(begin(store, "read"), begin(store, "read", "write"))
    wait()


def write(store: SqliteStore) -> None:
    """Record for ever, and say what stands."""
    while True:
        say(store.transact(add()))


def admissions(store: SqliteStore, name: str) -> None:
    """Make calls for ever, each another, and say when all are refused and when they run again."""
    from rightcall.policy.settings import Limits, Settings, Window
    from support.approvals import request_of, try_call

    free = Limits(Window(), Window(), {})
    settings = Settings(stage="full", write="allow", execute="allow", quarantine=0, limits=free)
    before, number = "", 0
    while True:
        number += 1
        request = request_of({"n": number}, caller=name, at=store.clock.now(), settings=settings)
        rule = try_call(store, request).decision.rule
        if rule != before:
            say(rule)
        before = rule


def denied_and_killed(store: SqliteStore, secret: str) -> None:
    """Ask, hear a no, and die as soon as that is on disk."""
    from rightcall.record.sqlite_tables import SqliteTables
    from support.approvals import Discreet
    from support.approvals import say as answer

    asked = Discreet(store).ask({"content": secret})

    def die(self: SqliteTables) -> None:
        del self
        say("denied")
        os.kill(os.getpid(), signal.SIGKILL)

    SqliteTables.forget_private = die
    answer(store, asked, "denied")


def key(store: SqliteStore) -> None:
    say(store.key().hex())
    store.close()


def leave(store: SqliteStore) -> None:
    """End without closing, with something left to do."""
    store.transact(add())
    store.later(add("end", 1))


def fork(store: SqliteStore) -> None:
    """What a child of a process with a store can do with it."""
    store.transact(add())
    child = os.fork()
    if not child:
        for use in (store.transact, store.look, store.later):
            try:
                use(lambda tables: None)
            except StoreError as error:
                say(error.fault, error)
        store.close()
        own = SqliteStore(store.path)
        say(own.transact(add()))
        own.close()
        sys.exit(0)
    os.waitpid(child, 0)
    say(store.transact(add()), store.look(lambda tables: tables.head()[0]))
    store.close()


def orphan(store: SqliteStore) -> None:
    """Begin a call and die, while a forked child lives on."""
    begun = begin(store, "read", "write")
    ready, is_ready = os.pipe()
    child = os.fork()
    if child:
        os.read(ready, 1)  # by then the child has let go of the parent's lock, which happens within `fork`
        say(begun, child)
        os.kill(os.getpid(), signal.SIGKILL)
    os.write(is_ready, b".")
    wait()
    os._exit(0)


def read_only(store: SqliteStore) -> None:
    """As somebody who is not root: what cannot be written is not opened, and can be once it is writable."""
    path = Path(store.path)
    store.transact(lambda tables: tables.append("message", 0, BODY))
    store.close()
    if os.getuid() == 0:
        for name in [path.parent, *path.parent.rglob("*")]:
            os.chown(name, 65534, 65534)
        os.setgid(65534)
        os.setuid(65534)
    for target, mode, usual in ((path.parent, 0o500, 0o700), (path, 0o400, 0o600)):
        target.chmod(mode)
        try:
            SqliteStore(path, busy_seconds=0.1)
        except StoreError as error:
            say(error.fault, error)
        target.chmod(usual)
        again = SqliteStore(path)
        say(again.transact(add()))
        again.close()


def broken_disk(store: SqliteStore) -> None:
    """A disk that takes no more, without saying that it is full."""
    import resource

    store.transact(add())
    log = Path(f"{store.path}-wal")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, usual[1]))
    try:
        store.transact(add())
    except StoreError as error:
        say(error.fault, error)
    resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    say(store.transact(add()))
    store.close()


if __name__ == "__main__":
    globals()[sys.argv[1]](SqliteStore(sys.argv[2]), *sys.argv[3:])
