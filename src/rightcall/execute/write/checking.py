"""The check command of a merge: run in the sandbox, over the merged files in a folder that is thrown away.

    tree ─▶ desk/checks/<name>/files ─▶ sandbox ─▶ exit status and the end of what it printed ─▶ all of it removed

The folder is held by a lock for as long as the check runs; what a killed process leaves is removed by the next one.
"""

import fcntl
import os
import re
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from errno import EEXIST
from secrets import token_hex
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.code.programs import program
from rightcall.execute.sandbox.inside.folders import remove
from rightcall.execute.sandbox.types import Ended, Job, Limits
from rightcall.execute.write.pulls import CheckRun, moment
from rightcall.fs.spots import closing, make_tree, opened_tree
from rightcall.fs.writing import step
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.config_hands import Check
    from rightcall.execute.sandbox.sandbox import Sandbox
    from rightcall.execute.write.desk import Desk
    from rightcall.execute.write.git import Writer

CHECKS: Final = "checks"
_FILES: Final = "files"
_LOCK: Final = "lock"
_NAME: Final = re.compile("[0-9a-f]{16}")
_TAIL: Final = 8_000
"""Bytes that are kept of what a check printed: its end, where test runners say what failed."""
_MOST_OUTPUT: Final = 50_000_000
"""Bytes that it may print at all."""
_PYTHON: Final = ("python", "python3")
_SYSTEM: Final = ("/usr/", "/bin/", "/sbin/", "/lib")

Command = tuple[str, ...]


class Checker(Struct, frozen=True):
    """What is needed to run checks: the sandbox, made when it is wanted, and folders that can be read inside."""

    sandbox: "Callable[[], Sandbox]"
    visible: tuple[str, ...] = ()


def require_command(check: "Check") -> None:
    if not check.command:
        raise ToolFailure(
            "No check command is set, and nothing is merged unchecked: a person sets it in the policy file, such as "
            '[write.check] command = ["python3", "-m", "pytest", "-q"]'
        )


def run_checks(desk: "Desk", writer: "Writer", tree: str, commit: str, base: str, checker: Checker) -> CheckRun:
    """Run the check command over the files of a tree. Raises ToolFailure where it cannot be run at all."""
    check = desk.settings.check
    require_command(check)
    sandbox = checker.sandbox()
    with _thrown_away(desk, reachable=_is_root() and sandbox.tier() == "landlock") as folder:
        writer.checkout(tree, folder)
        argv, visible = _resolved(check.command, folder, desk.sight.root)
        tail = _Tail()
        job = Job(
            argv=argv,
            place=folder,
            limits=Limits(check.seconds, check.memory, check.processes, check.scratch, _MOST_OUTPUT),
            visible=(*checker.visible, *visible),
            bind=True,
        )
        ended = sandbox.run(job, out=tail.add)
    return _describe_run(ended, tail.text(), commit, base)


def why_red(run: CheckRun, command: Command) -> str:
    """One sentence on a check that failed."""
    what = " ".join(escaped(word, 60) for word in command[:6])
    if run.limits:
        return f"The check ({what}) came to its limit of {', '.join(run.limits)} after {run.seconds:g} s"
    if run.exit is None:
        return f"The check ({what}) was ended by a signal after {run.seconds:g} s"
    hint = ": the program was not found inside the sandbox ([sandbox] visible names folders)" if run.exit == 127 else ""
    return f"The check ({what}) ended with exit status {run.exit} after {run.seconds:g} s{hint}"


def _describe_run(ended: Ended, tail: str, commit: str, base: str) -> CheckRun:
    return CheckRun(
        commit=commit,
        base=base,
        ok=ended.code == 0 and not ended.limits,
        exit=ended.code,
        seconds=round(ended.seconds, 2),
        at=moment(),
        tail=tail,
        limits=tuple(ended.limits),
        tier=ended.tier,
    )


class _Tail:
    """The end of what was printed, both streams in the order in which it came."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._cut = False

    def add(self, _stream: Literal["stdout", "stderr"], block: bytes) -> None:
        self._kept += block[-2 * _TAIL :]
        if len(self._kept) > _TAIL:
            self._cut = True
            del self._kept[:-_TAIL]

    def text(self) -> str:
        text = bytes(self._kept).decode(errors="replace").replace("\0", "\ufffd")
        return ("…" if self._cut else "") + text.rstrip()


def _resolved(command: Command, folder: str, root: str) -> tuple[Command, tuple[str, ...]]:
    """The command by its program's whole path, and what of it must be made visible inside."""
    name, *rest = command
    if "/" in name and not os.path.isabs(name):  # a program of the repository itself
        return (os.path.join(folder, name), *rest), ()
    whole = name if os.path.isabs(name) else _installed(name, root)
    if whole is None:
        raise ToolFailure(
            f"The check command cannot be run: there is no program {escaped(name, 100)} on the PATH outside the root; "
            "name it by its whole path in [write.check] command"
        )
    return (whole, *rest), _needed(whole)


def _installed(name: str, root: str) -> str | None:
    """On the PATH. A Python that is a script, as those of version managers are, only leads to one: then ours is it."""
    found = program(name, root)
    unusable = found is None or _is_script(found)
    return sys.executable if unusable and name in ("python", "python3") else found


def _is_script(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _needed(whole: str) -> tuple[str, ...]:
    """A program elsewhere than in the system's folders: the environment it belongs to if it is one of Python's, else
    the file alone. Never a folder that just happens to hold it, which could be somebody's home."""
    if whole.startswith(_SYSTEM):
        return ()
    if prefix := _environment(whole):
        return (prefix,)
    return (whole, os.path.realpath(whole)) if os.path.islink(whole) else (whole,)


def _environment(whole: str) -> str:
    """The virtual environment of Python that a program belongs to; empty: none."""
    prefix = os.path.dirname(os.path.dirname(whole))
    return prefix if os.path.isfile(os.path.join(prefix, "pyvenv.cfg")) else ""


@contextmanager
def _thrown_away(desk: "Desk", *, reachable: bool) -> Generator[str]:
    """An empty folder for the files; gone afterwards, with whatever was made in it. `reachable`: somebody else than we
    works in it under its own path, and must be able to get there: a desk is for nobody else to enter."""
    above = os.path.join(desk.folder, CHECKS)
    try:
        make_tree(above)
        _sweep(above)
        own, lock = _own(above)
    except OSError as error:
        raise _no_room(error) from error
    try:
        folder = _elsewhere(own) if reachable else os.path.join(own, _FILES)
        try:
            if not make_tree(folder):
                raise OSError(EEXIST, "")
        except OSError as error:
            raise _no_room(error) from error
        yield folder
    finally:
        _remove(own)
        os.close(lock)


def _no_room(error: OSError) -> ToolFailure:
    return ToolFailure(f"There is no room for the check: {os.strerror(error.errno or 0)}")


def _own(above: str) -> tuple[str, int]:
    """A new folder and its lock, which is ours before anybody else can look for it."""
    name = token_hex(8)
    with _alone(above) as fd:
        os.mkdir(name, 0o700, dir_fd=fd)
        lock = os.open(f"{name}/{_LOCK}", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=fd)
        step("lock made")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise
    return os.path.join(above, name), lock


@contextmanager
def _alone(above: str) -> Generator[int]:
    """The open folder; nobody else makes one in here meanwhile, or looks for those that were left."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with opened_tree(above) as held, closing(os.open(".", flags, dir_fd=held)) as fd:
        with suppress(OSError):  # a file system without such locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd


def _is_root() -> bool:
    return os.geteuid() == 0


def _elsewhere(own: str) -> str:
    """Where the files are that cannot be on the desk: known by the same name, so that they are found again."""
    return os.path.join(os.path.realpath(tempfile.gettempdir()), f"rightcall-check-{os.path.basename(own)}")


def _remove(own: str) -> None:
    if _NAME.fullmatch(os.path.basename(own)):
        with suppress(OSError):
            remove(_elsewhere(own))
    with suppress(OSError):
        remove(os.path.join(own, _FILES))
    with suppress(OSError), _alone(os.path.dirname(own)):
        remove(own)


def _sweep(above: str) -> None:
    """Remove what killed processes have left: folders whose lock nobody holds, or that have none."""
    with _alone(above):
        found = [(path, _free(path)) for path in (os.path.join(above, name) for name in os.listdir(above))]
    for path, lock in found:
        if lock is not None:
            _remove(path)
            if lock >= 0:
                os.close(lock)


def _free(path: str) -> int | None:
    """The lock of a folder, ours now; -1 where there is none, None where somebody holds it."""
    try:
        lock = os.open(os.path.join(path, _LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return -1
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock
