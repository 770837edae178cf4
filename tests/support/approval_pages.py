"""A desk whose person answers in the browser, for attacks on approvals through the page."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from rightcall.console.access import Address
from rightcall.policy.settings import CallerSettings, Policy
from rightcall.policy.types import Approval
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import ManualClock, read_answer
from support.approval_attacks import SHOWN
from support.approvals import SETTINGS, START, Desk
from support.consoles import Answer, Browser, opened, session
from support.stores import NOON

CALLERS = {"root-agent": CallerSettings()}


class Office(Desk):
    """A desk whose person answers in the browser. Each attack has a question of its own, when all others are over."""

    def __init__(self, clock: ManualClock, store: MemoryStore, address: Address) -> None:
        super().__init__(store)
        self.clock = clock
        self.address = address
        self.ann = Browser(address, session(store, "ann"))
        self.number = 0

    def next(self) -> dict[str, Any]:
        self.clock.advance(700)
        self.number += 1
        return SHOWN | {"n": self.number}

    def read(self, which: str, browser: Browser | None = None) -> Answer:
        """A question, and the time to read it."""
        page = (browser or self.ann).get(f"/inbox/{which}")
        self.clock.advance(1)
        return page

    def answer(self, which: str, word: str = "approve") -> Answer:
        return self.ann.post(f"/inbox/{which}", form_of(self.read(which), answer=word))

    def approved(self, arguments: dict[str, Any] | None = None, **more: Any) -> str:
        asked = self.ask(arguments, **more)
        assert self.answer(asked).status == 303
        return asked

    def found(self, which: str) -> Approval:
        found = self.store.look(lambda tables: tables.approval(which))
        assert found is not None
        return found

    def answers(self) -> list[tuple[str, str, str]]:
        """Who said what, and where; the newest first."""
        said = [read_answer(one.body) for one in self.store.look(lambda tables: tables.newest(10_000, ("answer",)))]
        return [(one.by, one.status, one.through) for one in said if one.status != "expired"]


@contextmanager
def office_opened() -> Generator[Office]:
    clock = ManualClock(START, NOON)
    store = MemoryStore(clock)
    with opened(store, replace(Policy(), settings=replace(SETTINGS, callers=CALLERS))) as address:
        yield Office(clock, store, address)


def form_of(page: Answer, **more: object) -> dict[str, object]:
    return {name: page.field(name) for name in ("drawn", "seal", "digest")} | more
