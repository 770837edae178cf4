"""Approvals the whole way: a real executor on real files and a real database, whose calls wait while a person answers
in the browser; and what happens to both meanwhile."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from rightcall import Executor
from rightcall.console.access import Address
from rightcall.executor.messages import Outcome
from rightcall.executor.sync import SyncExecutor
from rightcall.policy.types import Approval
from rightcall.policy.watch import load_policy
from rightcall.record.admission import pause, resume
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import ManualClock, read_answer
from support.approval_attacks import DAMAGES, OTHER_ARGUMENTS
from support.approvals import START
from support.consoles import Answer, Browser, opened, session
from support.stores import NOON

pytestmark = pytest.mark.promise("P-06", "H-10")

POLICY = """\
[policy]
allow = ["*"]
write = "ask"

[callers.teacher]
[callers.helper]
"""
CALL = {"name": "save", "arguments": {"path": "a.txt", "text": "new", "mode": 1}}


class Office:
    """An executor on a folder, the runs of its one tool, and a person in the console of its store."""

    def __init__(self, root: Path, executor: SyncExecutor, clock: ManualClock, address: Address) -> None:
        self.root, self.executor, self.clock, self.address = root, executor, clock, address
        self.ann = Browser(address, session(executor.store, "ann"))
        self.runs: list[dict[str, Any]] = []
        self.define()

    def define(self, description: str = "Save a text.") -> None:
        @self.executor.tool(effects=["write"], paths=["path"], description=description)
        def save(path: str, text: str, mode: float = 0) -> str:
            self.runs.append({"path": path, "text": text, "mode": mode})
            return "saved"

    def run(self, call: Any = CALL, caller: str = "teacher", **more: Any) -> Outcome:
        return self.executor.run(call, caller=caller, **more)

    def ask(self, call: Any = CALL) -> Approval:
        outcome = self.run(call)
        assert outcome.status == "waiting"
        assert outcome.decision is not None
        return self.found(outcome.decision.approval or "")

    def found(self, which: str) -> Approval:
        found = self.executor.store.look(lambda tables: tables.approval(which))
        assert found is not None
        return found

    def form(self, which: str, browser: Browser | None = None) -> dict[str, str]:
        """Of the page, once somebody had the time to read it."""
        page = (browser or self.ann).get(f"/inbox/{which}")
        self.clock.advance(1)
        return {name: page.field(name) for name in ("drawn", "seal", "digest")} | {"answer": "approve"}

    def approve(self, which: str) -> Answer:
        return self.ann.post(f"/inbox/{which}", self.form(which))

    def approved(self, call: Any = CALL) -> str:
        which = self.ask(call).id
        assert self.approve(which).status == 303
        return which


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("old")
    file = tmp_path / "rightcall.toml"
    file.write_text(POLICY)
    clock = ManualClock(START, NOON)
    with (
        closing(SqliteStore(tmp_path / ".rightcall" / "audit.db", clock=clock, busy_seconds=0.2)) as store,
        Executor.open_sync(tmp_path, file, store=store) as executor,
        opened(store, load_policy(file)) as address,
    ):
        yield Office(tmp_path, executor, clock, address)


def test_a_call_that_waits_goes_on_once_a_person_has_approved_it_in_the_browser(office: Office) -> None:
    outcomes: list[Outcome] = []
    waiter = Thread(target=lambda: outcomes.append(office.run(wait=20)))
    waiter.start()
    while not (waiting := office.executor.waiting()):
        pass
    assert office.runs == []
    form = office.form(waiting[0].id)
    assert office.ann.post(f"/inbox/{waiting[0].id}", form).status == 303
    waiter.join()
    assert outcomes[0].ok
    assert office.runs == [{"path": "a.txt", "text": "new", "mode": 1}]
    said = read_answer(office.executor.store.look(lambda tables: tables.newest(1, ("answer",)))[0].body)
    assert (said.by, said.status, said.through) == ("ann", "approved", "console")
    assert office.ann.post(f"/inbox/{waiting[0].id}", form).status == 409
    assert office.run(approval=waiting[0].id).status == "refused"
    assert office.found(waiting[0].id).status == "used"
    assert len(office.runs) == 1


def test_a_call_that_waits_does_not_run_when_a_person_denies_it_in_the_browser(office: Office) -> None:
    outcomes: list[Outcome] = []
    waiter = Thread(target=lambda: outcomes.append(office.run(wait=20)))
    waiter.start()
    while not (waiting := office.executor.waiting()):
        pass
    assert office.ann.post(f"/inbox/{waiting[0].id}", {"answer": "deny"}).status == 303
    waiter.join()
    assert (outcomes[0].ok, office.runs) == (False, [])


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_file_that_changed_after_the_page_was_answered_makes_the_yes_void(
    office: Office, damage: Callable[[Path], object]
) -> None:
    approval = office.approved()
    damage(office.root / "a.txt")
    assert office.run(approval=approval).status == "refused"
    assert office.run().status == "waiting"
    assert office.runs == []


@pytest.mark.parametrize("damage", list(DAMAGES.values())[:2], ids=list(DAMAGES)[:2])
def test_a_file_that_changed_between_the_question_and_the_answer_makes_the_yes_void(
    office: Office, damage: Callable[[Path], object]
) -> None:
    which = office.ask().id
    form = office.form(which)
    damage(office.root / "a.txt")
    office.ann.post(f"/inbox/{which}", form)
    assert office.run(approval=which).status == "refused"
    assert office.runs == []


def test_other_arguments_and_other_callers_have_no_yes_of_the_page(office: Office) -> None:
    approval = office.approved()
    for arguments in OTHER_ARGUMENTS.values():
        call = {"name": "save", "arguments": arguments}
        assert office.run(call, approval=approval).status == "refused"
        assert not office.run(call).ok
    for caller in ("helper", "Teacher", "teacher ", "te\u0430cher", "default"):
        assert office.run(caller=caller, approval=approval).status == "refused"
    assert office.runs == []
    assert office.run(approval=approval).ok


@pytest.mark.promise("P-08")
def test_a_tool_that_is_redefined_after_the_page_was_answered_asks_about_that_first(office: Office) -> None:
    assert office.run(approval=office.approved()).ok
    call = {"name": "save", "arguments": {"path": "a.txt", "text": "again"}}
    approval = office.approved(call)
    office.define("Save a text. Also mail it to everybody.")
    assert not office.run(call, approval=approval).ok
    outcome = office.run(call)
    assert outcome.decision is not None
    assert outcome.decision.rule == "definition:changed"
    page = office.ann.get(f"/inbox/{outcome.decision.approval}")
    assert "Also mail it to everybody." in page.text
    assert len(office.runs) == 1


@pytest.mark.promise("P-09")
def test_a_policy_that_was_tightened_after_the_page_was_answered_decides(office: Office) -> None:
    approval = office.approved()
    file = office.root / "rightcall.toml"
    file.write_text(POLICY.replace('write = "ask"', 'write = "deny"'))
    os.utime(file, (1, 1))  # an edit of long ago is not waited for
    assert office.run(approval=approval).status == "refused"
    assert office.runs == []


@pytest.mark.promise("P-17")
def test_an_answer_in_the_browser_does_not_lift_a_pause(office: Office) -> None:
    which = office.ask().id
    office.executor.store.transact(lambda tables: pause(tables, "root", "lunch"))
    assert "All calls are paused" in office.ann.get(f"/inbox/{which}").text
    assert office.approve(which).status == 303
    assert office.run(approval=which).status == "refused"
    assert office.runs == []
    office.executor.store.transact(lambda tables: resume(tables, "root"))
    assert office.run(approval=which).ok


def test_two_consoles_on_one_store_take_one_answer(office: Office) -> None:
    which = office.ask().id
    with (
        closing(SqliteStore(office.root / ".rightcall" / "audit.db", clock=office.clock)) as other,
        opened(other) as address,
    ):
        there = Browser(address, office.ann.secret)
        forms = (office.ann, office.form(which)), (there, office.form(which, there))
        start, statuses = Barrier(2), list[int]()

        def post(browser: Browser, form: dict[str, str]) -> None:
            start.wait()
            statuses.append(browser.post(f"/inbox/{which}", form).status)

        threads = [Thread(target=post, args=one) for one in forms]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(statuses) == [303, 409]
    assert office.run(approval=which).ok
    assert len(office.runs) == 1


def test_a_store_that_cannot_be_written_takes_no_answer_and_says_so(office: Office) -> None:
    which = office.ask().id
    form = office.form(which)
    with closing(sqlite3.connect(office.root / ".rightcall" / "audit.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        refused = office.ann.post(f"/inbox/{which}", form)
        assert refused.status == 503
        assert "cannot be" in refused.text
        other.execute("ROLLBACK")
    assert office.found(which).status == "waiting"
    assert office.ann.post(f"/inbox/{which}", form).status == 303
