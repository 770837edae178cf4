"""The twin in memory stays small."""

import pytest

from rightcall.record.memory import MemoryStore
from rightcall.record.tables import ManualClock, Tables
from rightcall.record.verify import verify_audit
from support.stores import BODY, Diary, add, approval, chained, numbers, records


def test_only_the_newest_records_are_kept_and_numbering_goes_on(clock: ManualClock) -> None:
    store = MemoryStore(clock, records=100)
    first = records_of_one(store)
    for _ in range(1000):
        store.transact(add("end", 7))
        assert len(numbers(records(store))) <= 100
    found = records(store)
    last = numbers(found)[-1]
    assert numbers(found) == list(range(last + 1 - len(found), last + 1))
    assert len(found) > 90
    assert chained(found[1:], found[0].hash)
    assert store.look(lambda tables: tables.entry(first)) is None
    ends = [entry for entry in found if entry.kind == "end"]
    assert store.look(lambda tables: tables.belonging(7)) == ends
    assert len(ends) > 70


@pytest.mark.promise("A-03")
@pytest.mark.parametrize("most", [1, 2, 3, 10, 100])
def test_a_store_that_dropped_its_oldest_records_still_verifies(clock: ManualClock, most: int) -> None:
    store = MemoryStore(clock, records=most)
    diary = Diary(store, clock)
    long = diary.begin()
    for number in range(60):
        diary.ran(caller=f"caller {number}")
        found = store.look(verify_audit)
        assert (found.ok, found.problem) == (True, "")
    assert found.pruned >= long
    ended = diary.end(long)  # a call that went on for longer than its record was kept
    assert store.look(verify_audit).ok
    assert store.look(lambda tables: tables.entry(ended)) is not None
    assert len(records(store)) <= max(most, 2)


@pytest.mark.promise("A-03")
def test_a_call_whose_beginning_was_dropped_still_ends_only_once(clock: ManualClock) -> None:
    diary = Diary(MemoryStore(clock, records=20), clock)
    long = diary.begin()
    for _ in range(20):
        diary.refused()
    diary.end(long)
    assert diary.store.look(verify_audit).ok
    again = diary.end(long)
    assert diary.store.look(verify_audit).first_wrong == again


def records_of_one(store: MemoryStore) -> int:
    return store.transact(add())


def test_a_work_that_raises_loses_no_record_to_the_limit(clock: ManualClock) -> None:
    store = MemoryStore(clock, records=10)
    store.transact(lambda tables: [tables.append("message", 0, BODY) for _ in range(10)])

    def too_many(tables: Tables) -> None:
        for _ in range(20):
            tables.append("message", 0, BODY)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.transact(too_many)
    assert numbers(records(store)) == list(range(1, 11))


def test_old_approvals_are_forgotten_and_asked_again(clock: ManualClock) -> None:
    store = MemoryStore(clock)
    for n in range(10_002):
        store.transact(lambda tables, n=n: tables.put_approval(approval(f"a{n}", binding=f"b{n}")))
    assert len(store.look(lambda tables: tables.approvals())) == 10_000
    assert store.look(lambda tables: tables.answered("b1")) is None
    assert store.look(lambda tables: tables.answered("b2")) is not None


def test_scopes_that_nobody_used_for_an_hour_take_no_room(clock: ManualClock) -> None:
    store = MemoryStore(clock)
    for hour in range(4):
        for n in range(5000):
            store.transact(lambda tables, n=n, hour=hour: tables.mark(f"same\0{hour}\0{n}", 1))
        clock.advance(3600)
    assert len(store._tables._marks) <= 10_000  # what takes room cannot be seen from outside


def test_a_number_of_records_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="records must be at least 1, not 0"):
        MemoryStore(records=0)
