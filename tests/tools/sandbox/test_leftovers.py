"""Whoever of those that hold a program is killed in the middle of a run: nothing stays, and the next run works."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from rightcall.errors import ToolFailure
from rightcall.policy.settings import SandboxSettings
from rightcall.tools.sandbox.conversation import Tier
from rightcall.tools.sandbox.sandbox import Sandbox
from support.sandbox import without
from support.sandbox.attacks import children, descendants
from support.sandbox.traces import adopting, run_code, same_again, traces
from support.sandbox.without import LANDLOCK, NAMESPACES

pytestmark = [
    pytest.mark.promise("X-06"),
    pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="the sandbox needs Linux"),
]
BOTH = pytest.mark.parametrize("tier", ["namespaces", "landlock"])
FAMILY = """
import os, signal, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: os.closerange(0, 3)
open("file.txt", "w").write("left?")
try: os.write(1, b"there\\n")
except OSError: pass
time.sleep(600)
"""
HOLDER = """
import sys
from support.sandbox.traces import run_code
from rightcall.tools.sandbox.sandbox import Sandbox
run_code(Sandbox(only=sys.argv[1]), sys.argv[2], seen=lambda text: print(text, flush=True))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    os.chmod(tmp_path, 0o711)
    place = tmp_path / "places"
    place.mkdir(mode=0o711)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    with adopting():
        yield place


@pytest.mark.long
@BOTH
def test_when_the_holder_is_killed_everything_below_it_ends(tier: Tier, folder: Path):
    before = traces(folder)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(folder)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tier, FAMILY], env=environment, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "there\n"
        assert len(descendants() - before.processes) > 3
        holder.kill()
        holder.wait()
    assert same_again(before, folder) == ""


@pytest.mark.long
@BOTH
@pytest.mark.parametrize("whom", ["server", "supervisor"])
def test_when_a_part_of_the_sandbox_is_killed_the_run_ends_and_the_next_works(tier: Tier, whom: str, folder: Path):
    others = frozenset(descendants())
    with closing(Sandbox(only=tier)) as sandbox:
        run_code(sandbox, "print('warm')")
        before = traces(folder)
        [server] = _running() - others

        def kill(output: str) -> None:
            if output.startswith("there\n"):
                for pid in [server] if whom == "server" else children(server):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

        with suppress(ToolFailure):
            ended = run_code(sandbox, FAMILY, SandboxSettings(seconds=20.0), seen=kill).ended
            assert ended.code != 0
            assert ended.seconds < 10
        assert run_code(sandbox, "print('next')").stdout == "next\n"
        [now] = _running() - others
        assert (now == server) == (whom == "supervisor")
        assert same_again(before._replace(processes=others | {now}), folder) == ""


def _running() -> set[int]:
    """Those of our children that run: an orphan that came to us and has ended is none."""
    return {pid for pid in children(os.getpid()) if " Z " not in Path(f"/proc/{pid}/stat").read_text()}


@BOTH
def test_closing_ends_what_runs(tier: Tier, folder: Path):
    before = traces(folder)
    sandbox = Sandbox(only=tier)

    def close(output: str) -> None:
        if output.startswith("there\n"):  # two say it, perhaps at once
            sandbox.close()

    with suppress(ToolFailure):
        assert run_code(sandbox, FAMILY, SandboxSettings(seconds=20.0), seen=close).ended.seconds < 10
    assert same_again(before, folder) == ""


def test_a_machine_without_namespaces_uses_landlock():
    assert _tier_without(*NAMESPACES) == "landlock"


def test_a_machine_without_either_refuses_and_says_what_would_help():
    told = _tier_without(*NAMESPACES, *LANDLOCK)
    assert told.startswith("NoSandbox:")
    assert len(told.splitlines()) > 1


def _tier_without(*calls: str) -> str:
    code = """
from rightcall.tools.sandbox.sandbox import Sandbox
from rightcall.tools.sandbox.conversation import NoSandbox
try: print(Sandbox().tier())
except NoSandbox as fault: print("NoSandbox:", fault.why, *fault.advice, sep="\\n")
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, without.__file__, ",".join(calls), sys.executable, "-c", code],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()
