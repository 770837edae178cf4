from collections.abc import Generator

import pytest

from rightcall.console.access import Address
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import ManualClock
from support.approvals import START
from support.consoles import Browser, opened, session
from support.stores import NOON


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START, NOON)


@pytest.fixture
def store(clock: ManualClock) -> MemoryStore:
    return MemoryStore(clock)


@pytest.fixture
def address(store: MemoryStore) -> Generator[Address]:
    with opened(store) as found:
        yield found


@pytest.fixture
def ann(store: MemoryStore, address: Address) -> Browser:
    """Somebody who may approve."""
    return Browser(address, session(store, "ann"))


@pytest.fixture
def bob(store: MemoryStore, address: Address) -> Browser:
    """Somebody who may look."""
    return Browser(address, session(store, "bob", "look"))


@pytest.fixture
def nobody(address: Address) -> Browser:
    return Browser(address)
