"""What runs in the sandbox could leave behind on the machine, and short ways to run something."""

import ctypes
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct

from rightcall.policy.settings import SandboxSettings
from rightcall.tools.sandbox.conversation import Ended, Job, Language, Limits, Scratch, code_for, job_for
from rightcall.tools.sandbox.sandbox import Sandbox
from support.sandbox.attacks import descendants

PLACE = "/tmp/rightcall-place"


class Said(Struct):
    ended: Ended
    out: str = ""
    err: str = ""


def write(scratch: Scratch, name: str, text: str) -> None:
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=scratch.fd)
    with open(file, "w") as opened:
        opened.write(text)


def run_job(
    sandbox: Sandbox, job: Job, *, stdin: bytes | None = None, fill: Callable[[Scratch], None] | None = None,
    collect: Callable[[Scratch, Ended], object] | None = None,
) -> Said:  # fmt: skip
    said: dict[Literal["stdout", "stderr"], bytes] = {"stdout": b"", "stderr": b""}

    def out(stream: Literal["stdout", "stderr"], part: bytes) -> None:
        said[stream] += part

    ended = sandbox.run(job, stdin=stdin, fill=fill, collect=collect, out=out)
    return Said(ended, said["stdout"].decode(), said["stderr"].decode())


def run_python(
    sandbox: Sandbox, code: str, *argv: str, limits: Limits | None = None, stdin: bytes | None = None,
    collect: Callable[[Scratch, Ended], object] | None = None, env: dict[str, str] | None = None,
) -> Said:  # fmt: skip
    job = Job(("main.py", *argv), PLACE, limits or Limits(), script=f"{PLACE}/main.py", env=env or {})
    return run_job(sandbox, job, stdin=stdin, fill=lambda scratch: write(scratch, "main.py", code), collect=collect)


SUBREAPER = 36
OWN_IDS = range(0x60000000, 0x60000000 + (1 << 20))
"""The users that programs run as when we are root."""


class Ran(NamedTuple):
    ended: Ended
    stdout: str
    stderr: str


def run_code(
    sandbox: Sandbox, code: str, settings: SandboxSettings | None = None, language: Language = "python",
    seen: Callable[[str], None] | None = None,
) -> Ran:  # fmt: skip
    """`seen` is called with all of the output so far, whenever there is more."""
    parts: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    name = "main.py" if language == "python" else "main.js"

    def out(stream: Literal["stdout", "stderr"], part: bytes) -> None:
        parts[stream].append(part)
        if seen is not None:
            seen(b"".join(parts["stdout"]).decode(errors="replace"))

    file = code_for(name, code.encode())
    ended = sandbox.run(job_for(language, settings or SandboxSettings(seconds=20.0), PLACE, file), out=out)
    return Ran(ended, *(b"".join(parts[stream]).decode(errors="replace") for stream in ("stdout", "stderr")))


class Traces(NamedTuple):
    """Everything of this process; of the whole machine only what bears our names, as others may work on it too."""

    processes: frozenset[int]
    mounts: str
    folders: frozenset[str]
    groups: frozenset[str]
    owned: frozenset[str]
    descriptors: int
    threads: int


def traces(folder: Path) -> Traces:
    """`folder` is where temporary folders are made while it is looked at."""
    return Traces(
        frozenset(descendants()),
        Path("/proc/self/mountinfo").read_text(),
        frozenset(str(path) for path in folder.rglob("*")),
        frozenset(_groups()),
        frozenset(_owned()),
        len(os.listdir("/proc/self/fd")),
        threading.active_count(),
    )


def _groups() -> Iterator[str]:
    for above, folders, _files in os.walk("/sys/fs/cgroup"):
        yield from (f"{above}/{name}" for name in folders if name.startswith("rightcall-"))


def _owned() -> Iterator[str]:
    for folder in {tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm", "/run"}:
        with suppress(OSError), os.scandir(folder) as found:
            for entry in found:
                with suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_uid in OWN_IDS:
                        yield entry.path


def same_again(before: Traces, folder: Path, seconds: float = 30.0) -> str:
    """Nothing when there is no more than there was; what is being cleared away gets a moment. Others may work on the
    machine, and come and go: of what bears our names, only what stays is left behind."""
    until = time.monotonic() + seconds
    now = traces(folder)
    groups, owned = now.groups - before.groups, now.owned - before.owned
    while True:
        groups, owned = groups & now.groups, owned & now.owned
        seen = Traces(
            before.processes | now.processes, now.mounts, before.folders | now.folders, before.groups | groups,
            before.owned | owned, max(before.descriptors, now.descriptors), max(before.threads, now.threads),
        )  # fmt: skip
        if seen == before or time.monotonic() > until:
            break
        bury(now.processes - before.processes)
        time.sleep(0.01)
        now = traces(folder)
    return "; ".join(
        f"{name}: {was!r} became {is_!r}"
        for name, was, is_ in zip(Traces._fields, before, seen, strict=True)
        if was != is_
    )


def bury(pids: Iterable[int]) -> None:
    """Those that lost their parent are ours now; one that has ended is no process that stayed."""
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


@contextmanager
def adopting() -> Iterator[None]:
    """Processes below us whose parents die become our children, and cannot get lost."""
    library = ctypes.CDLL(None)
    library.prctl(SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        library.prctl(SUBREAPER, 0, 0, 0, 0)
