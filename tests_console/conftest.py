"""What the tests in a browser may rely on: what `tests/` relies on, one Chromium, and a console with something on every
screen. `make test-console` sets up what they need, and says where axe-core is:

    RIGHTCALL_AXE   the file axe.min.js of the package axe-core
"""

import importlib.util
import os
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from rightcall.console.access import Address
from rightcall.console.app import Console, console_running
from rightcall.policy.settings import ConsoleSettings, Policy
from rightcall.record.admission import Admission
from rightcall.record.sqlite import SqliteStore
from support.approvals import request_of, try_call
from support.busy_console import Busy, busy_console, enter, login_link
from support.chromium import Chromium, Page

HERE = Path(__file__).parent

_spec = importlib.util.spec_from_file_location("conftest_of_tests", HERE.parent / "tests" / "conftest.py")
assert _spec is not None
assert _spec.loader is not None
_shared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shared)
pytest_runtest_call = _shared.pytest_runtest_call  # five seconds of CPU, the browser's not counted


@pytest.fixture(scope="session")
def axe() -> str:
    """The text of axe-core. Tests that need it fail without, they are not left out."""
    where = os.environ.get("RIGHTCALL_AXE")
    if not where:
        pytest.fail("RIGHTCALL_AXE is not set: run `make test-console`, or say where axe.min.js is")
    return Path(where).read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def browser() -> Generator[Chromium]:
    with Chromium() as found:
        yield found


@pytest.fixture(scope="session")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Generator[Busy]:
    """To look at; what changes something opens a console of its own."""
    with busy_console(tmp_path_factory.mktemp("busy")) as found:
        yield found


@pytest.fixture(scope="session")
def visitor(browser: Chromium, busy: Busy) -> str:
    """Somebody who is logged in at the busy console."""
    page = browser.page()
    enter(page, busy.link())
    page.close()
    return page.person


@pytest.fixture
def page(browser: Chromium, visitor: str) -> Generator[Page]:
    """A new tab of the visitor."""
    made = browser.page(visitor)
    made.size(1280)
    yield made
    made.close()


class Desk:
    """A console on a store of its own that can go away and come back, and a person who is logged in."""

    def __init__(self, browser: Chromium, folder: Path) -> None:
        self.store = SqliteStore(folder / "audit.db")
        self._running = ExitStack()
        self.address = self.start(0)
        self.page = browser.page()
        self.page.size(1280)
        enter(self.page, login_link(self.store, self.address, "ann"))

    def start(self, port: int) -> Address:
        console = Console(self.store, Policy)
        return self._running.enter_context(console_running(console, ConsoleSettings(port=port)))

    def stop(self) -> None:
        self._running.close()

    def open(self, path: str, page: Page | None = None) -> Page:
        """With its event stream."""
        shown = page or self.page
        shown.open(self.address.origin + path)
        shown.wait("document.getElementById('link').dataset.state === 'live'")
        return shown

    def call(self, arguments: dict[str, Any] | None = None, **more: Any) -> Admission:
        """What a caller gets for a write, which asks."""
        return try_call(self.store, request_of(arguments, at=self.store.clock.now(), **more))

    def ask(self, arguments: dict[str, Any] | None = None, **more: Any) -> str:
        """The id of a new question."""
        found = self.call(arguments, **more).decision.approval
        assert found is not None
        return found

    def status(self, question: str) -> str:
        found = self.store.look(lambda tables: tables.approval(question))
        assert found is not None
        return found.status


@pytest.fixture
def desk(browser: Chromium, tmp_path: Path) -> Generator[Desk]:
    made = Desk(browser, tmp_path)
    yield made
    made.page.close()
    made.stop()
    made.store.close()
