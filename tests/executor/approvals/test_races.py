"""One yes, one run: however many threads and processes try at the same moment."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall.errors import AnswerError
from rightcall.policy.types import HOUR, Grant
from rightcall.record.admission import give_grant
from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from support import approvals
from support.approvals import PERSON, Desk, say
from support.cli import ROOT, environment

pytestmark = pytest.mark.promise("P-06", "P-12")

CALLS = 100


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.db"


@pytest.fixture(params=["memory", "sqlite"])
def desk(request: pytest.FixtureRequest, path: Path) -> Iterator[Desk]:
    store = MemoryStore() if request.param == "memory" else SqliteStore(path)
    yield Desk(store)
    store.close()


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """What each of them returns, begun at the same moment in a thread of its own."""
    start = threading.Barrier(len(works))
    results: list[Any] = [None] * len(works)

    def run(number: int) -> None:
        start.wait()
        results[number] = works[number]()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def allowed(desk: Desk, calls: int) -> int:
    return sum(desk.try_({"n": n}).decision.kind == "allow" for n in range(calls))


def test_a_hundred_approvals_redeemed_twice_at_once_by_threads_run_a_hundred_calls(desk: Desk) -> None:
    for n in range(CALLS):
        desk.approved({"n": n})
    counts = at_once(lambda: allowed(desk, CALLS), lambda: allowed(desk, CALLS))
    assert sum(counts) == desk.ran() == CALLS


def test_one_approval_redeemed_by_sixteen_threads_at_once_runs_one_call(desk: Desk) -> None:
    desk.approved({"n": 0})
    assert sum(at_once(*[lambda: allowed(desk, 1)] * 16)) == desk.ran() == 1


def redeemers(path: Path, processes: int) -> list[int]:
    """How many calls each process got through, all begun at the same moment."""
    started = [
        subprocess.Popen(
            [sys.executable, approvals.__file__, str(path), str(CALLS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment(PYTHONPATH=f"{ROOT / 'src'}:{ROOT / 'tests'}"),
        )
        for _ in range(processes)
    ]  # fmt: skip
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [int(process.communicate(timeout=60)[0]) for process in started]


@pytest.mark.long
def test_a_hundred_approvals_redeemed_twice_at_once_by_processes_run_a_hundred_calls(path: Path) -> None:
    store = SqliteStore(path)
    desk = Desk(store)
    for n in range(CALLS):
        desk.approved({"n": n})
    assert sum(redeemers(path, 2)) == desk.ran() == CALLS
    assert {one.status for one in store.look(lambda tables: tables.approvals())} <= {"used", "waiting"}
    store.close()


@pytest.mark.parametrize("uses", [1, 7])
def test_a_grant_is_not_used_more_often_than_it_says_by_threads(desk: Desk, uses: int) -> None:
    grant = Grant("g", "teacher", "file/save", {}, uses, desk.now + HOUR, PERSON, "")
    desk.store.transact(lambda tables: give_grant(tables, grant))
    assert sum(at_once(*[lambda: allowed(desk, 20)] * 4)) == desk.ran() == uses
    assert desk.store.look(lambda tables: tables.all_grants()) == []


def test_a_grant_is_not_used_more_often_than_it_says_by_processes(path: Path) -> None:
    store = SqliteStore(path)
    desk = Desk(store)
    grant = Grant("g", "teacher", "file/save", {}, 60, desk.now + HOUR, PERSON, "")
    store.transact(lambda tables: give_grant(tables, grant))
    assert sum(redeemers(path, 2)) == desk.ran() == 60
    store.close()


def test_a_yes_and_a_no_at_the_same_moment_are_one_answer(desk: Desk) -> None:
    def answers(id: str, said: str) -> bool:
        try:
            say(desk.store, id, said)
        except AnswerError:
            return False
        return True

    for n in range(20):
        asked = desk.ask({"n": n})
        taken = at_once(lambda one=asked: answers(one, "approved"), lambda one=asked: answers(one, "denied"))
        approval = desk.store.look(lambda tables, one=asked: tables.approval(one))
        assert approval is not None
        assert sorted(taken) == [False, True]
        assert approval.status == ("approved" if taken[0] else "denied")


def test_the_same_question_asked_by_many_at_once_is_one_question(desk: Desk) -> None:
    ids = at_once(*[lambda: desk.try_({"n": 1}).decision.approval] * 8)
    assert len(set(ids)) == 1
    assert len(desk.store.look(lambda tables: tables.approvals("waiting"))) == 1
