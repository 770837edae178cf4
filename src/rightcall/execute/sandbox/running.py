"""One program of a model's, from its files to the result that the model gets."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.sandbox.charts import FOLDER
from rightcall.execute.sandbox.content import LOOKED_INTO, File, json_size, look_into, name_only, taken
from rightcall.execute.sandbox.sandbox import Sandbox
from rightcall.execute.sandbox.scratch import Left, Mark, changed, given_marks, listing, put, read, shown_path
from rightcall.execute.sandbox.types import Ended, Job, LimitName, Scratch, Tier
from rightcall.text.cut import cut_middle, text_start

_LISTED = 40
"""Files that a result names, and others that it says were left out."""
_LOOKED_INTO_ALL = 16_000_000
"""Bytes of all files that are looked into."""
_ROOM, _ROOM_FILES = 900_000, 500_000
"""Bytes of a result as JSON, below what any result may have; and of the files in it."""


class Ran(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What came of a program. It is no failure of the call when the program fails: `exit_code` and `stderr` say so."""

    success: bool
    exit_code: int | None
    """None: a signal ended it."""
    signal: int | None
    stdout: str
    stderr: str
    files: list[File]
    """Those that are new or changed in its scratch folder."""
    files_left_out: list[Left]
    limits: list[LimitName]
    """Those that it has reached."""
    tier: Tier
    execution_time: int
    """Milliseconds."""
    truncated: bool
    """Something of its output or files is not in here."""
    hint: str = ""
    """What a model can do about how it ended."""


class Output:
    """What a program prints, as it comes."""

    def __init__(self) -> None:
        self._parts: dict[str, list[bytes]] = {"stdout": [], "stderr": []}

    def take(self, stream: Literal["stdout", "stderr"], part: bytes) -> None:
        self._parts[stream].append(part)

    def text(self, stream: Literal["stdout", "stderr"]) -> str:
        return b"".join(self._parts[stream]).decode(errors="backslashreplace")


class Collected:
    """What is new in the scratch folder, once the program has ended."""

    def __init__(self, given: Mapping[str, bytes]) -> None:
        self._given = given
        self._marks: Mapping[str, Mark] = {}
        self.files: list[File] = []
        self.left: list[Left] = []
        self.cut = False
        """Whether there is more than could be taken; a link is never taken, which is no loss."""
        self.room = _ROOM

    def fill(self, scratch: Scratch) -> None:
        for path, content in self._given.items():
            try:
                put(scratch, path, content)
            except OSError as fault:
                why = fault.strerror or str(fault)
                raise ToolFailure(
                    f"`files`: {shown_path(path)} cannot be put into the scratch folder: {why}"
                ) from fault
        self._marks = given_marks(scratch.fd)

    def collect(self, scratch: Scratch, _ended: Ended) -> None:
        found = listing(scratch.fd, owner=scratch.uid)
        self.left = [*found.left, *found.cut]
        self.cut = bool(found.cut)
        room, looks = _ROOM_FILES, _LOOKED_INTO_ALL
        for entry in changed(found, self._marks):
            if _is_cache(entry.path):
                continue
            if len(self.files) == _LISTED:
                self.left.append(Left(shown_path(entry.path), f"more than {_LISTED} files"))
                self.cut = True
                continue
            small = entry.size <= min(LOOKED_INTO, looks)
            content = read(scratch.fd, entry.path, LOOKED_INTO) if small else None
            looks -= len(content or b"")
            path = shown_path(entry.path)
            file = name_only(path, entry.size) if content is None else look_into(path, content, room)
            self.files.append(file)
            room -= min(taken(file), room)
        self.room = _ROOM - (_ROOM_FILES - room)


def _is_cache(path: str) -> bool:
    """What Python and the plotting library write by themselves."""
    folders = path.split("/")[:-1]
    return "__pycache__" in folders or folders[:1] == [FOLDER]


def run_program(
    sandbox: Sandbox, job: Job, given: Mapping[str, bytes], stdin: bytes | None = None,
) -> Ran:  # fmt: skip
    """Run a job with these files in its scratch folder. Raises NoSandbox where it cannot be run safely."""
    output, collected = Output(), Collected(given)
    ended = sandbox.run(job, stdin=stdin, fill=collected.fill, collect=collected.collect, out=output.take)
    return _ran(ended, output, collected)


def _ran(ended: Ended, output: Output, collected: Collected) -> Ran:
    stderr = output.text("stderr")
    stdout = output.text("stdout")
    told = both_ends(stderr, collected.room // 3)
    printed = both_ends(stdout, collected.room - json_size(told))
    left = collected.left
    if len(left) > _LISTED:
        left = [*left[:_LISTED], Left("…", f"and {len(left) - _LISTED} more")]
    cut = (
        collected.cut
        or len(told) < len(stderr)
        or len(printed) < len(stdout)
        or any(file.truncated for file in collected.files)
    )
    return Ran(
        success=True,
        exit_code=ended.code,
        signal=ended.signal,
        stdout=printed,
        stderr=told,
        files=collected.files,
        files_left_out=left,
        limits=list(ended.limits),
        tier=ended.tier,
        execution_time=round(ended.seconds * 1000),
        truncated=cut or "output" in ended.limits,
    )


def both_ends(text: str, room: int) -> str:
    """The beginning and the end of a text that is too long: a program says last what went wrong."""
    whole = text_start(text, room + 2)
    if len(whole) == len(text):
        return text
    head = text_start(text, room // 2 + 2)
    tail = text_start(text[::-1], max(room // 2 - 100, 0) + 2)[::-1]
    return cut_middle(text, head, tail)
