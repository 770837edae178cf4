"""LiteLLM as it is: it reads its list of prices from the network when it is imported, unless it is told not to; it
leaves event loops and connections open, and warns of itself at nearly every call."""

import asyncio
import gc
import os
import warnings
from collections.abc import Iterator

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["LITELLM_TELEMETRY"] = "False"


def pytest_configure(config: pytest.Config) -> None:
    for ignored in ("default", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"):
        config.addinivalue_line("filterwarnings", ignored)


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left_for_the_end() -> Iterator[None]:
    """Pytest looks for what was left open once more when it ends, and then no filter of ours holds any more."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asyncio.set_event_loop(None)
        for left in [one for one in gc.get_objects() if isinstance(one, asyncio.BaseEventLoop)]:
            if not left.is_running() and not left.is_closed():
                left.close()
        gc.collect()
