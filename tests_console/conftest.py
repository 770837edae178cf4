"""What the tests in a browser may rely on: what `tests/` relies on, one Chromium, and a console with something on every
screen. `make test-console` sets up what they need, and says where axe-core is:

    RIGHTCALL_AXE   the file axe.min.js of the package axe-core
"""

import importlib.util
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from support.busy_console import Busy, busy_console, enter
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
