"""What every test may rely on: five seconds of CPU by a usual machine, no network, the same examples on every run."""

import gc
import os
import re
import signal
import sys
import tempfile
from collections.abc import Generator
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers

from support.pace import slowness

CPU_SECONDS = 5

# Tests start hundreds of processes, and each worker rewrites each test file: what is compiled is kept for the next one,
# also where Python is told to keep nothing, as it often is in containers.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell starts what runs in its background deaf to Ctrl-C, and so would be every process that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Derandomised, so that a failure in CI is the failure on your desk; `make fuzz` is where chance belongs. For that they
# cannot depend on the constants of whatever modules are loaded, which takes long to look through too.
providers._get_local_constants = lambda: providers._local_constants
hypothesis.settings.register_profile(
    "rightcall",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=int(os.environ.get("RIGHTCALL_EXAMPLES", "20")),  # `make tests-long` asks for more
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("rightcall")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    """Eleven thousand tests are collected, and all of them stay to the end: nothing to be looked for in them, neither
    meanwhile nor ever after. A test makes little that lives on, so that looking often finds little."""
    gc.disable()
    try:
        if session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
            load_share(session)
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000, 20, 50)


def load_share(session: pytest.Session) -> None:
    """Each worker loads all test files, and the first to load one compiles it for the others. In the same order all of
    them would compile everything: each begins with a share of its own."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        for path in sorted(Path(__file__).parent.rglob("test_*.py"))[worker::workers]:
            with suppress(pytest.Collector.CollectError):  # said when it is collected
                _ = pytest.Module.from_parent(session, path=path).obj


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """CPU time and not wall time: a busy machine is no reason to fail."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        pytest.fail(f"{item.nodeid} used more than {CPU_SECONDS} s of CPU")

    trust: Any = sys.modules.get("rightcall.policy.trust")
    if trust is not None:  # as in a process of its own
        trust._aloud = False
        trust._said.clear()
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS * slowness())
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


_FOLDERS = count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As pytest's own, which for each folder looks through those of all tests before it to find a number."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    made = tmp_path_factory.getbasetemp() / f"{name}-{next(_FOLDERS)}"
    made.mkdir(mode=0o700)
    return made


def refuse_network(event: str, args: tuple[Any, ...]) -> None:
    """An audit hook: no code path, and no library, can reach another machine from a test."""
    if event == "socket.getaddrinfo" and args[0] not in ("localhost", "127.0.0.1", "::1", None):
        raise RuntimeError(f"a test looked up {args[0]!r}: tests have no network")
    if event == "socket.connect" and isinstance(args[1], tuple) and args[1][0] not in ("127.0.0.1", "::1"):
        raise RuntimeError(f"a test connected to {args[1]!r}: tests have no network")


sys.addaudithook(refuse_network)

# A client loads whom it trusts when it is made, and that takes longer than most tests: nobody is enough on loopback.
os.environ.setdefault("SSL_CERT_FILE", str(Path(__file__).parent / "support" / "nobody.pem"))


# What tests trust, record or install goes to a state folder of their own, in this process and in those it starts.
_STATE = tempfile.TemporaryDirectory(prefix="rightcall-tests-")
os.environ["XDG_STATE_HOME"] = _STATE.name
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"  # never that of whoever runs the tests
os.environ["HOME"] = os.path.join(_STATE.name, "home")
os.mkdir(os.environ["HOME"])
