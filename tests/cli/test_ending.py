"""Ended from outside: with a signal, in the middle of work that a program does for us."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall.tools.git.repository import sweep
from support.cli import TOOLS, environment, start
from support.repositories import Made, made

pytestmark = [
    pytest.mark.promise("C-09"),
    pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signals here"),
]

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
COMMANDS = {"warm": ("warm",), "log": ("run", "code/log"), "blame": ("run", "code/blame", '{path: "a"}')}


class Busy:
    """A repository, and a git that says that it has begun, and never ends by itself."""

    def __init__(self, folder: Path) -> None:
        self.repository: Made = made(folder / "repo")
        self.repository.commit("one", a="1\n")
        self._begun = folder / "begun"
        self._programs = folder / "bin"
        self.private = folder / "private"
        for name in (self._programs, self.private):
            name.mkdir(mode=0o700)
        os.mkfifo(self._begun)
        program = self._programs / "git"
        program.write_text(f"#!/bin/sh\nexec 3>'{self._begun}'\necho $$ >&3\nexec sleep 99 3>&-\n")
        program.chmod(0o755)

    def start(self, *arguments: str) -> "tuple[subprocess.Popen[bytes], int]":
        """The command, and the process number of the git that works for it."""
        folder = str(self.repository.folder)
        process = start(
            *arguments, "--root", folder, PATH=f"{self._programs}:{os.environ['PATH']}",
            XDG_RUNTIME_DIR=str(self.private), XDG_CACHE_HOME=folder + "-cache", XDG_STATE_HOME=folder + "-state",
        )  # fmt: skip
        return process, int(self._begun.read_text())


@pytest.fixture(autouse=True)
def hears_hangups() -> Iterator[None]:
    """Whoever started the tests may not (`nohup`), and what they start would not either."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def busy(tmp_path: Path) -> Busy:
    return Busy(tmp_path)


def lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def pairs() -> list[Any]:
    """Each command, and each signal, every day; in the long tests each command with each signal."""
    return [
        pytest.param(command, number, id=f"{name}-{number.name}", marks=[] if at == to else [pytest.mark.long])
        for at, (name, command) in enumerate(COMMANDS.items())
        for to, number in enumerate(CODES)
    ]


@pytest.mark.parametrize(("command", "number"), pairs())
def test_a_signal_ends_it_in_order_and_leaves_nothing_behind(
    busy: Busy, command: tuple[str, ...], number: signal.Signals
) -> None:
    process, git = busy.start(*command)
    try:
        assert list(busy.private.iterdir()) != []
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (CODES[number], b"", b"")
    assert not lives(git)
    assert list(busy.private.iterdir()) == []


def test_a_terminal_that_closes_may_tell_twice(busy: Busy) -> None:
    process, git = busy.start("warm")
    try:
        for number in (signal.SIGHUP, signal.SIGHUP, signal.SIGTERM):
            process.send_signal(number)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode in (129, 143)  # they come together, in the order of their numbers or of their sending
    assert (out, err, lives(git), list(busy.private.iterdir())) == (b"", b"", False, [])


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked through only on Linux")
def test_a_git_that_waits_for_ever_for_somebody_who_was_killed_goes_with_its_folder(busy: Busy) -> None:
    process, git = busy.start("run", "code/log")
    process.kill()
    process.communicate()
    watched = os.pidfd_open(git)
    try:
        (folder,) = busy.private.iterdir()
        sweep(str(busy.private))  # too young
        assert select.select([watched], [], [], 0)[0] == []
        os.utime(folder, (1, 1))
        sweep(str(busy.private))
        assert select.select([watched], [], [], 30)[0] == [watched]
    finally:
        os.close(watched)
    assert list(busy.private.iterdir()) == []


def test_who_ignores_hangups_is_not_ended_by_one() -> None:
    """As `nohup` starts it."""
    line = b'{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    process = subprocess.Popen(
        ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", sys.executable, "-m", "rightcall.cli", "check", "--jsonl",
         "--tools", TOOLS],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    try:
        for number in (signal.SIGHUP, signal.SIGTERM):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline().startswith(b'{"ok": true')
            process.send_signal(number)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (143, b"", b"")


_AGAIN = """
import os, signal
from rightcall.cli import terminal as ending
listening = ending.Ending()
listening.listen()
try:
    os.kill(os.getpid(), signal.SIGTERM)
except KeyboardInterrupt:
    print("first", listening.code)
os.kill(os.getpid(), signal.SIGTERM)
print("again at once")
ending._PATIENCE = 0
os.kill(os.getpid(), signal.SIGTERM)
print("never")
"""
_LATE = """
import os, signal
from rightcall.cli.terminal import Ending
listening = Ending()
listening.listen()
listening.tidying()
os.kill(os.getpid(), signal.SIGTERM)
print("tidy", listening.code)
"""


def test_who_asks_again_after_a_while_means_it() -> None:
    done = subprocess.run([sys.executable, "-uc", _AGAIN], env=environment(), capture_output=True, timeout=30)
    assert (done.stdout, done.stderr) == (b"first 143\nagain at once\n", b"")
    assert done.returncode == -signal.SIGTERM


def test_what_is_being_tidied_up_anyway_is_not_cut_short() -> None:
    done = subprocess.run([sys.executable, "-uc", _LATE], env=environment(), capture_output=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"tidy None\n", b"")


_EARLY = """
import os, signal, sys
from rightcall.cli import main
module = sys.argv.pop()
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupted())
sys.argv[1:] = ["policy", "command", "ls"]
sys.exit(main())
"""


@pytest.mark.parametrize(
    "module", ["msgspec", "rightcall.cli.terminal", "rightcall.cli.options", "rightcall.cli.policy"]
)
def test_ctrl_c_before_a_command_is_loaded_ends_it_without_a_word(module: str) -> None:
    done = subprocess.run([sys.executable, "-c", _EARLY, module], env=environment(), capture_output=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")
