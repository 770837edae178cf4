"""The records of the audit: numbered, chained, only ever added."""

import pytest

from rightcall.record.tables import START, ManualClock, Store, Tables
from support.stores import BODY, OpenSqlite, add, chained, numbers, records

pytestmark = pytest.mark.promise("A-03", "S-01")


def fill(store: Store, count: int) -> None:
    store.transact(lambda tables: [tables.append("message", 0, BODY) for _ in range(count)])


def test_records_are_numbered_from_one_and_keep_their_bytes(store: Store, clock: ManualClock) -> None:
    body = '{"text":"äöü \\u0000 \U0001f600"}'.encode()
    assert store.transact(add("begin", 0, body)) == 1
    clock.advance(1.5)
    assert store.transact(add("end", 1, b"{}")) == 2
    first, second = records(store)
    assert (first.seq, first.kind, first.call, first.at, first.body) == (
        (1, "begin", 0, "2026-01-01 00:00:00.000", body)
    )
    assert (second.seq, second.kind, second.call, second.at) == (2, "end", 1, "2026-01-01 00:00:01.500")


def test_each_hash_covers_its_record_and_the_one_before(store: Store) -> None:
    assert store.look(lambda tables: tables.head()) == (0, START)
    for _ in range(3):
        fill(store, 2)
    found = records(store)
    assert chained(found)
    assert store.look(lambda tables: tables.head()) == (6, found[-1].hash)


def test_one_record_is_found_by_its_number(store: Store) -> None:
    fill(store, 3)
    found = records(store)
    assert [store.look(lambda tables, n=n: tables.entry(n)) for n in (0, 1, 3, 4, -1)] == [
        (None, found[0], found[2], None, None)[n] for n in range(5)
    ]


def test_records_come_in_order_after_a_number_and_within_a_time(store: Store, clock: ManualClock) -> None:
    for _ in range(6):
        store.transact(add())
        clock.advance(1)
    assert numbers(records(store, after=4)) == [5, 6]
    assert numbers(records(store, since="2026-01-01 00:00:02.000", until="2026-01-01 00:00:04.000")) == [3, 4]
    assert numbers(records(store, after=3, until="2026-01-01 00:00:04.000")) == [4]
    assert records(store, since="2027") == records(store, until="2025") == records(store, after=6) == []


def test_setting_the_date_back_hides_no_record(store: Store, clock: ManualClock) -> None:
    store.transact(add())
    clock.set_wall(0.0)
    store.transact(add())
    clock.set_wall(1_767_225_700.0)
    store.transact(add())
    assert numbers(records(store, since="2026")) == [1, 3]
    assert numbers(records(store, until="2026")) == [2]
    assert numbers(records(store)) == [1, 2, 3]


def test_reading_many_records_reads_each_once(store: Store) -> None:
    fill(store, 2500)
    assert numbers(records(store)) == list(range(1, 2501))
    assert numbers(records(store, after=999)) == list(range(1000, 2501))


def test_what_is_added_while_reading_is_not_read(store: Store) -> None:
    fill(store, 1200)

    def read_and_add(tables: Tables) -> int:
        return sum(1 for entry in tables.entries() if tables.append("message", entry.seq, BODY))

    assert store.transact(read_and_add) == 1200
    assert store.look(lambda tables: tables.head()[0]) == 2400


def test_the_newest_come_first_and_by_kind(store: Store) -> None:
    for kind in ("begin", "end", "refused", "begin"):
        store.transact(add(kind))
    look = store.look
    assert numbers(look(lambda tables: tables.newest(2))) == [4, 3]
    assert numbers(look(lambda tables: tables.newest(9, ("begin", "refused")))) == [4, 3, 1]
    assert numbers(look(lambda tables: tables.newest(1, (), 4))) == [3]
    assert numbers(look(lambda tables: tables.newest(9, ("begin", "refused"), 4))) == [3, 1]
    assert numbers(look(lambda tables: tables.newest(9, ("refused",), 3))) == []
    assert look(lambda tables: tables.newest(0)) == look(lambda tables: tables.newest(5, ("prune",))) == []


def test_records_that_belong_to_another_are_found_in_order(store: Store) -> None:
    first, second = store.transact(add("begin")), store.transact(add("begin"))
    ends = [store.transact(add("end", call)) for call in (second, first, second)]
    assert numbers(store.look(lambda tables: tables.belonging(second))) == [ends[0], ends[2]]
    assert numbers(store.look(lambda tables: tables.belonging(first))) == [ends[1]]
    assert store.look(lambda tables: tables.belonging(ends[0])) == []
    assert store.look(lambda tables: tables.belonging(0)) == []


def test_removing_the_oldest_leaves_the_rest_chained(store: Store) -> None:
    fill(store, 5)
    third = records(store)[2]
    assert store.transact(lambda tables: tables.remove_through(3)) == 3
    left = records(store)
    assert numbers(left) == [4, 5]
    assert chained(left, third.hash)
    assert store.transact(lambda tables: tables.remove_through(3)) == 0


def test_numbers_and_hashes_go_on_after_everything_was_removed(store: Store) -> None:
    fill(store, 4)
    head = store.look(lambda tables: tables.head())
    assert store.transact(lambda tables: tables.remove_through(99)) == 4
    assert store.look(lambda tables: tables.head()) == head
    assert store.transact(add()) == 5
    assert chained(records(store), head[1])


def test_parts_of_a_removed_record_are_removed_with_their_own_numbers(store: Store) -> None:
    call = store.transact(add("begin"))
    store.transact(add("answer", call))
    last = store.transact(add("end", call))
    store.transact(lambda tables: tables.remove_through(last - 1))
    assert numbers(store.look(lambda tables: tables.belonging(call))) == [last]


def test_a_second_opening_goes_on_with_the_chain(open_sqlite: OpenSqlite) -> None:
    first = open_sqlite()
    fill(first, 3)
    first.transact(lambda tables: tables.remove_through(3))
    first.close()
    second = open_sqlite()
    head = second.look(lambda tables: tables.head())
    assert head[0] == 3
    assert second.transact(add()) == 4
    assert chained(records(second), head[1])
