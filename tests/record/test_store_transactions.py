"""All of a work or nothing, whoever waits for it and whatever it raises; looking changes nothing."""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from inspect import isfunction
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from rightcall.errors import StoreError
from rightcall.policy.types import Facts, Pause
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import WRITES, Store, Tables
from support.every import sampled
from support.stores import BODY, OpenSqlite, add, approval, credential, grant, numbers, records, token

T = TypeVar("T")
WRITING: dict[str, Callable[[Tables], Any]] = {
    "append": lambda tables: tables.append("message", 0, BODY),
    "remove_through": lambda tables: tables.remove_through(1),
    "rewrite": lambda tables: tables.rewrite([replace(one, body=b'{"erased":true}') for one in tables.entries_of([1])]),
    "begun": lambda tables: tables.begun(2),
    "ended": lambda tables: tables.ended(1),
    "mark": lambda tables: tables.mark("all", 1),
    "spend": lambda tables: tables.spend("teacher", 1, 10),
    "forget": lambda tables: tables.forget("all"),
    "changed": lambda tables: tables.changed("other"),
    "pin": lambda tables: tables.pin("ping", "other"),
    "put_approval": lambda tables: tables.put_approval(approval("a1", status="used")),
    "put_grant": lambda tables: tables.put_grant(grant("g1", uses=1)),
    "drop_grant": lambda tables: tables.drop_grant("g1"),
    "put_pause": lambda tables: tables.put_pause(Pause("anna", "now")),
    "put_token": lambda tables: tables.put_token(token("t1", note="other")),
    "drop_token": lambda tables: tables.drop_token("t1"),
    "put_credential": lambda tables: tables.put_credential(credential("p1", may="look")),
    "drop_credential": lambda tables: tables.drop_credential("p1"),
    "touch": lambda tables: tables.touch(),
}
READING = {
    "all_grants", "answered", "approval", "approvals", "belonging", "chains", "changes", "count_waiting", "credentials",
    "definition", "entries", "entries_of", "entry", "grants", "head", "heads", "is_open", "last_before", "last_through",
    "newest", "nth_last", "now", "oldest", "overdue", "own_pause",
    "paused", "rollup", "running", "scopes", "spending", "spent", "tokens", "waiting", "wall",
}  # fmt: skip


def state(store: Store) -> list[Any]:
    """Everything that can be seen of a store."""
    return store.look(
        lambda tables: [
            list(tables.entries()), tables.head(), tables.running(), tables.belonging(1), tables.scopes(""),
            tables.nth_last("all", 1), tables.changes(), tables.definition("ping"), tables.definition("pong"),
            tables.approvals(), tables.answered("b" * 64), tables.all_grants(), tables.waiting("teacher", 0),
            tables.overdue(2**62), tables.paused(), tables.tokens(), tables.credentials(), tables.spending(),
            tables.spent("teacher"),
        ]
    )  # fmt: skip


@pytest.fixture
def full(store: Store) -> Store:
    """Something in every table."""

    def everything(tables: Tables) -> None:
        tables.append("begin", 0, BODY)
        tables.append("answer", 1, BODY)
        tables.begun(1)
        tables.mark("all", 1)
        tables.changed("d")
        tables.pin("ping", "first")
        tables.put_approval(approval("a1"))
        tables.put_grant(grant("g1"))
        tables.put_grant(grant("g2"))
        tables.put_token(token("t1"))
        tables.put_token(token("t2"))
        tables.put_credential(credential("p1"))

    store.transact(everything)
    return store


def test_every_operation_either_reads_or_writes() -> None:
    every = {name for kind in (Tables, Facts) for name, value in vars(kind).items() if isfunction(value)}
    public = {name for name in every if not name.startswith("_")}
    assert set(WRITING) == WRITES
    assert public == READING | WRITES
    assert not READING & WRITES


@pytest.mark.parametrize("name", sampled(sorted(WRITING), 2))
def test_looking_cannot_write(full: Store, name: str) -> None:
    before = state(full)
    with pytest.raises(RuntimeError, match=f"called `{name}`: use `transact`"):
        full.look(WRITING[name])
    assert state(full) == before


@pytest.mark.parametrize("name", sampled(sorted(WRITING), 2))
def test_a_work_that_raises_has_not_happened(full: Store, name: str) -> None:
    before = state(full)
    error = LookupError("half-way")

    def half(tables: Tables) -> None:
        WRITING[name](tables)
        tables.append("message", 0, BODY)
        raise error

    with pytest.raises(LookupError) as raised:
        full.transact(half)
    assert raised.value is error
    assert state(full) == before
    full.transact(WRITING[name])
    assert (state(full) != before) == (name != "touch")  # of which nobody reads anything


def test_a_work_that_raises_after_writing_everywhere_has_not_happened(full: Store) -> None:
    before = state(full)

    def all_of_it(tables: Tables) -> None:
        for _ in range(2):
            for write in WRITING.values():
                write(tables)
        tables.put_grant(grant("g1"))
        tables.mark("new", 3)
        tables.pin("pong", "new")
        tables.put_approval(approval("a9"))
        raise KeyError

    with pytest.raises(KeyError):
        full.transact(all_of_it)
    assert state(full) == before
    assert full.transact(add()) == 3
    assert full.transact(lambda tables: [tables.mark("all", 9), tables.nth_last("all", 2)])[1] == before[5]


def test_even_what_ends_a_program_only_ends_its_own_work(store: Store) -> None:
    def leave(tables: Tables) -> None:
        tables.append("message", 0, BODY)
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        store.transact(leave)
    assert store.transact(add()) == 1


def test_a_transaction_gives_back_what_its_work_returned(store: Store) -> None:
    assert store.transact(lambda tables: {"seq": tables.append("message", 0, BODY)}) == {"seq": 1}
    assert store.transact(lambda tables: None) is None
    assert store.look(lambda tables: tables.wall()) == "2026-01-01 00:00:00.000"


def test_a_work_cannot_begin_another_transaction_but_may_look(store: Store) -> None:
    store.transact(add())

    def nested(tables: Tables) -> int:
        tables.append("message", 0, BODY)
        return store.transact(add())

    with pytest.raises(RuntimeError, match="already inside one"):
        store.transact(nested)
    assert store.transact(lambda tables: store.look(lambda others: others.head()[0])) == 1
    assert store.transact(add()) == 2


def test_tasks_share_a_commit_and_each_fails_alone(store: Store) -> None:
    def odd(n: int) -> Callable[[Tables], int]:
        def work(tables: Tables) -> int:
            seq = tables.append("message", n, BODY)
            if n % 2:
                raise ValueError(n)
            return seq

        return work

    async def crowd() -> list[Any]:
        return await asyncio.gather(*(store.atransact(odd(n)) for n in range(100)), return_exceptions=True)

    found = asyncio.run(crowd())
    assert [one.args[0] for one in found[1::2]] == list(range(1, 100, 2))
    assert sorted(found[0::2]) == list(range(1, 51))
    assert [entry.call for entry in records(store)] == list(range(0, 100, 2))


@pytest.mark.parametrize("looks", [False, True])
def test_works_of_one_commit_that_write_everywhere_are_taken_back_alone(store: Store, looks: bool) -> None:
    """Also where one of them looks for what those before it have only just recorded."""

    def odd(n: int) -> Callable[[Tables], None]:
        def work(tables: Tables) -> None:
            seq = tables.append("begin", n, BODY)
            tables.begun(seq)
            if n >= 4:
                tables.ended(seq - 1)
            if looks:
                found = tables.entry(seq)
                assert found is not None
                assert found.call == n
            tables.mark("all", n)
            tables.pin(f"tool{n}", "x")
            if n % 3 == 0:
                raise ValueError(n)

        return work

    async def crowd() -> None:
        await asyncio.gather(*(store.atransact(odd(n)) for n in range(30)), return_exceptions=True)

    asyncio.run(crowd())
    kept = [n for n in range(30) if n % 3]
    assert [entry.call for entry in records(store)] == kept
    assert store.look(lambda tables: [n for n in range(30) if tables.definition(f"tool{n}")]) == kept
    assert store.look(lambda tables: tables.scopes("all")) == [("all", len(kept))]
    assert store.transact(lambda tables: tables.running()) == [1, len(kept)]


@pytest.mark.parametrize("error", [StopIteration(), asyncio.CancelledError(), KeyboardInterrupt()])
def test_a_task_gets_what_its_work_raised_and_the_others_go_on(store: Store, error: BaseException) -> None:
    def strange(tables: Tables) -> None:
        tables.append("message", 0, BODY)
        raise error

    async def one() -> int:
        failing, fine = asyncio.create_task(catch()), asyncio.create_task(store.atransact(add()))
        assert await failing
        return await fine

    async def catch() -> bool:
        try:
            await store.atransact(strange)
        except (RuntimeError, asyncio.CancelledError, KeyboardInterrupt) as raised:
            return raised is error or raised.__cause__ is error
        return False

    assert asyncio.run(one()) == 1


def test_a_task_that_is_cancelled_while_it_waits_harms_no_other(open_sqlite: OpenSqlite) -> None:
    store = open_sqlite()
    held, let_go = threading.Event(), threading.Event()

    def hold(tables: Tables) -> int:
        held.set()
        assert let_go.wait(60)
        return tables.append("message", 1, BODY)

    async def crowd() -> list[Any]:
        first = asyncio.create_task(store.atransact(hold))
        await asyncio.to_thread(held.wait, 10)
        waiting = [asyncio.create_task(store.atransact(add("message", n))) for n in (2, 3, 4)]
        await asyncio.sleep(0)
        first.cancel()
        waiting[1].cancel()
        await asyncio.sleep(0)
        let_go.set()
        return await asyncio.gather(first, *waiting, return_exceptions=True)

    found = asyncio.run(crowd())
    assert [type(one) for one in found] == [asyncio.CancelledError, int, asyncio.CancelledError, int]
    # The one that was already at work is done; the one that had not begun is not.
    assert [entry.call for entry in records(store)] == [1, 2, 4]


def test_a_loop_that_ends_first_harms_nobody(open_sqlite: OpenSqlite) -> None:
    store = open_sqlite()
    held, let_go = threading.Event(), threading.Event()

    def hold(tables: Tables) -> int:
        held.set()
        assert let_go.wait(60)
        return tables.append("message", 0, BODY)

    async def leave() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        task = asyncio.create_task(store.atransact(hold))
        await asyncio.to_thread(held.wait, 10)
        task.cancel()

    asyncio.run(leave())
    let_go.set()
    assert store.transact(add()) == 2


def test_threads_that_wait_together_are_all_answered(store: Store) -> None:
    found: list[int] = []

    def many() -> None:
        found.extend(store.transact(add()) for _ in range(20))

    threads = [threading.Thread(target=many) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 321))


def elsewhere(action: Callable[[], T]) -> T:
    """Done by a thread that is not the main one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(action).result()


def test_a_thread_writes_by_itself_where_nobody_else_does(open_sqlite: OpenSqlite) -> None:
    store = open_sqlite()

    def work(tables: Tables) -> int:
        tables.append("message", 0, BODY)
        return threading.get_ident()

    assert elsewhere(lambda: store.transact(work) == threading.get_ident())
    assert store.transact(work) != threading.get_ident()  # a signal could come in between
    assert len(records(store)) == 2


def test_a_thread_that_writes_by_itself_keeps_all_or_nothing(full: Store) -> None:
    before = state(full)

    def half(tables: Tables) -> None:
        for write in WRITING.values():
            write(tables)
        raise LookupError

    def nested(tables: Tables) -> int:
        tables.append("message", 0, BODY)
        return full.transact(add())

    for work, error in ((half, LookupError), (nested, RuntimeError)):
        with pytest.raises(error):
            elsewhere(lambda work=work: full.transact(work))
        assert state(full) == before
    full.later(add("end", 1))
    assert elsewhere(lambda: full.transact(add())) == 4


def test_no_thread_writes_by_itself_after_closing(store: Store) -> None:
    store.close()
    with pytest.raises(StoreError, match="was closed"):
        elsewhere(lambda: store.transact(add()))


def test_a_record_is_open_until_its_end(store: Store) -> None:
    seq = store.transact(add("begin"))
    own = records(store)[0].hash
    is_open = partial(store.look, lambda tables: tables.is_open(seq, own))
    assert is_open()
    assert not store.look(lambda tables: tables.is_open(seq, bytes(32)))
    store.transact(add("answer", seq))
    assert is_open()
    store.transact(add("end", seq))
    assert not is_open()
    assert not store.look(lambda tables: tables.is_open(99, own))


def test_a_call_that_this_process_began_is_open_only_as_long_as_it_stands_open(store: Store) -> None:
    def begun(tables: Tables) -> tuple[int, bytes]:
        seq = tables.append("begin", 0, BODY)
        tables.begun(seq)
        return tables.head()

    def undone(tables: Tables) -> None:
        found.append(begun(tables))
        raise ZeroDivisionError

    def are_open() -> list[bool]:
        return store.transact(lambda tables: [tables.is_open(*one) for one in found])

    found: list[tuple[int, bytes]] = [store.transact(begun)]
    with pytest.raises(ZeroDivisionError):
        store.transact(undone)
    found += [store.transact(begun), store.transact(begun)]
    store.transact(add("end", found[2][0]))
    assert are_open() == [True, False, False, True]
    store.transact(lambda tables: tables.remove_through(found[0][0]))
    assert [store.transact(lambda tables, one=one: tables.is_open(*one)) for one in found] == [
        False,
        False,
        False,
        True,
    ]


def test_what_is_left_for_later_comes_before_the_next_work(store: Store) -> None:
    store.later(add("end", 1))
    store.later(add("end", 2))
    assert store.transact(lambda tables: numbers(list(tables.entries()))) == [1, 2]
    assert store.transact(add()) == 3
    assert [entry.call for entry in records(store)] == [1, 2, 0]


def test_what_is_left_for_later_does_not_wait_for_another_work(store: Store) -> None:
    store.later(add("end", 1))
    while not records(store):
        """Nobody else comes: it is done all the same."""
    assert [entry.call for entry in records(store)] == [1]


def test_a_work_can_leave_something_for_later(store: Store) -> None:
    assert store.transact(lambda tables: [store.later(add("end", 1)), tables.append("begin", 0, BODY)])[1] == 1
    assert store.transact(add()) == 3
    assert [entry.kind for entry in records(store)] == ["begin", "end", "message"]


def test_what_is_left_for_later_is_done_even_if_the_next_work_raises(store: Store) -> None:
    store.later(add("end", 1))
    with pytest.raises(ZeroDivisionError):
        store.transact(lambda tables: 1 / 0)
    assert [entry.kind for entry in records(store)] == ["end"]


def test_what_is_left_for_later_and_cannot_be_done_is_reported_once(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        store.later(lambda tables: tables.append("end", 1, BODY) / 0)
        store.later(add("end", 2))
        assert store.transact(add()) == 2
        assert store.transact(add()) == 3
    assert [record.message for record in caplog.records] == ["a record that was left for later could not be written"]


def test_closing_does_what_was_left_for_later(open_sqlite: OpenSqlite) -> None:
    store = open_sqlite()
    store.later(add("end", 1))
    store.close()
    assert [entry.call for entry in records(open_sqlite())] == [1]


def test_after_closing_nothing_works_and_closing_again_is_fine(store: Store) -> None:
    store.transact(add())
    store.close()
    store.close()
    for use in (store.transact, store.look, store.later, lambda work: asyncio.run(store.atransact(work))):
        with pytest.raises(StoreError, match="was closed") as raised:
            use(lambda tables: None)
        assert raised.value.fault == "closed"


def test_the_key_is_32_secret_bytes_of_this_store(store: Store) -> None:
    assert len(store.key()) == 32
    assert store.key() == store.key() != MemoryStore().key()
    assert len(set(store.key())) > 8


def test_a_call_runs_from_its_begin_to_its_end(store: Store) -> None:
    store.transact(lambda tables: [tables.begun(seq) for seq in (3, 1, 2)])
    store.transact(lambda tables: [tables.ended(seq) for seq in (1, 99)])
    assert store.look(lambda tables: tables.running()) == [2, 3]
    assert store.transact(lambda tables: tables.running()) == [2, 3]
