"""What is changed, as records: files, refs, and the change that holds them together."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Final, Literal, NamedTuple

from msgspec import MsgspecError, Struct, json
from msgspec.structs import replace

from rightcall.base.files.guarded import plain_file, settle
from rightcall.base.files.write import Written, shown_path, step
from rightcall.errors import ToolFailure
from rightcall.tools.diff import shown_text

Status = Literal["begun", "done", "undone"]

LARGEST: Final = 5_000_000
"""Bytes of content that a model may write into one file."""


class FileStep(Struct, frozen=True):
    """One file that becomes another one, comes or goes. What is there must be `before`, byte for byte."""

    tree: str
    """The absolute path of an existing folder; links in it are followed, below it none."""
    path: str
    """Plain components below the tree, `/` between them."""
    before: bytes | None
    """None: there is nothing of that name."""
    after: bytes | None
    """None: it goes."""
    mode: int = 0o644
    """Permissions of a file that was not there."""
    keep: bool = True
    """A file that is replaced keeps its permissions; False: it gets those of `mode`."""
    lock: str = ""
    """The name, in the same folder, of a lock that other programs respect (git's `index.lock`): taken for the step."""


class RefStep(Struct, frozen=True):
    """One ref that moves, comes or goes, if it still is where it was."""

    name: str
    """Such as `refs/heads/fix-login`."""
    before: str | None
    """A commit; None: there is no such ref."""
    after: str | None


class GitScope(NamedTuple):
    """What of a repository a change belongs to; all empty: it is about files only."""

    repository: str = ""
    branch: str = ""
    pull: str = ""


NO_GIT = GitScope()


class _ChangeFacts(Struct, frozen=True, kw_only=True):
    """What is told of a change wherever it is."""

    id: str
    """Short, such as `c-7f3a9b2e`."""
    tool: str
    caller: str
    summary: str
    """One line for people; it may hold what a model wrote: escape it where it is shown."""
    at: str
    """UTC, as in `2026-01-31T12:00:00Z`."""
    refs: tuple[RefStep, ...] = ()
    repository: str = ""
    """The folder of the repository's work tree, below the root; for refs."""
    branch: str = ""
    pull: str = ""
    undoes: str = ""
    undone: str = ""
    """The change that took this one back."""


class Change(_ChangeFacts, frozen=True, kw_only=True):
    """One thing that was done, whole or not at all."""

    files: tuple[FileStep, ...] = ()
    """In lists of changes without their bytes: `b""` stands for any content."""
    status: Status = "begun"
    kept: bool = True
    """Whether the bytes are still there, without which it cannot be undone."""


class Shown(NamedTuple):
    """A part of what a change did or an undo would do; escaped by whoever shows it."""

    file: str
    """Empty for a line about a branch or a record."""
    text: str
    """Of a file, the diff."""


class Moved(ToolFailure):
    """What is there is not what was looked at, shown or approved; nothing was changed. `diff` is the new one, which the
    message holds escaped."""

    def __init__(self, message: str, diff: str = "") -> None:
        super().__init__(f"{message}\n{shown_text(diff)}" if diff else message)
        self.diff = diff


def new_id() -> str:
    return f"c-{os.urandom(4).hex()}"


# ── journal ──
# What is kept of a change: its record and the bytes before and after, on the disk before anything else is touched.
#
#     begun/<id>.new/ ─▶ begun/<id>/ ─▶ changes/<number>-<id>/
#       written          all of it on     done: one rename,
#       and fsynced      the disk         or rolled back and gone
#
# Where a change lies says how far it has come, so there is nothing that could contradict it.

VERSION: Final = 1
BEGUN, DONE, RECORD, CONTENTS = "begun", "changes", "change.json", "contents"
FOREIGN, DAMAGED, RESCUED = "foreign", "damaged", "rescued"
"""Where changes are kept that are not believed, those that cannot be read any more, and what two saved at once."""
_NOT_THERE = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
_NEW = ".new"
_DONE = re.compile(r"(\d{8,})-(c-[0-9a-f]{8})")
_ID = re.compile(r"c-[0-9a-f]{8}")


class Damaged(ToolFailure):
    """Something that was kept is not as it was written; trying again is of no use."""


class Part(Struct, frozen=True):
    """Where bytes are in the file of contents, and their digest."""

    at: int
    size: int
    digest: str


class Kept(Struct, frozen=True, kw_only=True):
    """A file step without its bytes, and what is needed to take it back."""

    tree: str
    path: str
    before: Part | None
    after: Part | None
    mode: int
    keep: bool
    lock: str = ""
    was: int | None = None
    """The permissions that the file had."""
    beside: str
    """The name of the temporary file while it is written; with an ending of its own while it is taken back."""

    @property
    def backwards(self) -> str:
        return f"{self.beside}-back"


class Made(Struct, frozen=True):
    """A folder that a change needs and that was not there, or that it leaves empty."""

    tree: str
    path: str


class JournalEntry(_ChangeFacts, frozen=True, kw_only=True):
    """`change.json`."""

    version: int = VERSION
    files: tuple[Kept, ...] = ()
    made: tuple[Made, ...] = ()
    emptied: tuple[Made, ...] = ()
    root: str = ""
    """Where it was made: a desk may serve several roots."""
    seal: tuple[int, int] = (0, 0)
    """Of the desk that it was begun on."""


class Filed(Struct, frozen=True):
    """An entry and where it lies."""

    entry: JournalEntry
    folder: str
    status: Status
    number: int = 0

    @property
    def kept(self) -> bool:
        return not self.entry.files or os.path.lexists(os.path.join(self.folder, CONTENTS))

    def change(self, contents: "Contents | None" = None) -> Change:
        """As others see it; without contents `b""` stands for any bytes."""
        entry = self.entry
        told = {name: getattr(entry, name) for name in _ChangeFacts.__struct_fields__}
        files = tuple(file_step(kept, contents) for kept in entry.files)
        return Change(**told, files=files, status="undone" if entry.undone else self.status, kept=self.kept)


class Contents:
    """The bytes of a change. What is not as it was written is not given out."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, CONTENTS)

    def read(self, part: Part | None) -> bytes | None:
        if part is None:
            return None
        try:
            with open(self._path, "rb", opener=plain_file) as file:
                file.seek(part.at)
                found = file.read(part.size)
        except _NOT_THERE as error:
            raise Damaged(f"What was kept of a change is gone: {_shorten_path(self._path)}") from error
        except OSError as error:
            raise ToolFailure(f"What was kept of a change cannot be read: {error.strerror}") from error
        if sha256(found).hexdigest() != part.digest:
            raise Damaged(f"What was kept of a change is damaged: {_shorten_path(self._path)}")
        return found


def file_step(kept: Kept, contents: Contents | None) -> FileStep:
    def read(part: Part | None) -> bytes | None:
        return (None if part is None else b"") if contents is None else contents.read(part)

    return FileStep(kept.tree, kept.path, read(kept.before), read(kept.after), kept.mode, kept.keep, kept.lock)


def forwards(kept: Kept, contents: Contents) -> Written:
    return Written(contents.read(kept.before), contents.read(kept.after), kept.mode, kept.keep, kept.lock)


def backwards(kept: Kept, contents: Contents) -> Written:
    was = kept.mode if kept.was is None else kept.was
    return Written(contents.read(kept.after), contents.read(kept.before), was, False, kept.lock)


class Journal:
    """The changes below a desk's folder. Whoever writes holds the desk's lock."""

    def __init__(self, desk: str, through: str = "") -> None:
        """`through`: a path that leads to the desk's folder whatever its name leads to by then."""
        self.desk = desk
        self._folder = through or desk
        self.begun = os.path.join(self._folder, BEGUN)
        self.done = os.path.join(self._folder, DONE)

    def begin(self, entry: JournalEntry, steps: Sequence[FileStep]) -> Filed:
        """Keep everything that is needed to take the change back, then say that it is begun. Raises OSError."""
        folder = os.path.join(self.begun, entry.id)
        new = folder + _NEW
        try:
            os.mkdir(new, 0o700)
            step("journal")
            entry = replace(entry, files=_kept_contents(os.path.join(new, CONTENTS), entry.files, steps))
            _write(os.path.join(new, RECORD), [json.encode(entry)])
            settle(new)
            step("journal written")
            os.rename(new, folder)
            settle(self.begun)
            step("begun")
        except BaseException:
            with suppress(FileNotFoundError):
                os.rename(folder, new)
            shutil.rmtree(new, ignore_errors=True)
            raise
        return Filed(entry, folder, "begun")

    def end(self, filed: Filed) -> Filed:
        """It is done, from this rename on. Raises OSError, then it is not."""
        number = self.last() + 1
        folder = os.path.join(self.done, f"{number:08}-{filed.entry.id}")
        os.rename(filed.folder, folder)
        with suppress(OSError):  # a disk that fails now may forget the rename: then it is rolled back, whole
            step("done")
            settle(self.done)
            settle(self.begun)
        return Filed(filed.entry, folder, "done", number)

    def drop(self, filed: Filed) -> None:
        """Forget a change that was rolled back."""
        gone = filed.folder + _NEW  # one rename, so that no half of it is ever taken for a change
        if filed.status == "begun":
            os.rename(filed.folder, gone)
            settle(self.begun)
        shutil.rmtree(gone if filed.status == "begun" else filed.folder, ignore_errors=True)

    def set_aside(self, name: str, kind: str) -> str:
        """Keep a begun change where nobody takes it for one; returns where."""
        aside = self._made(kind)
        kept = f"{name}-{os.urandom(4).hex()}"
        os.rename(os.path.join(self.begun, name), os.path.join(aside, kept))
        settle(aside)
        settle(self.begun)
        return os.path.join(self.desk, kind, kept)

    def rescue(self, content: bytes) -> str:
        """Keep what belongs nowhere any more; returns where."""
        name = os.urandom(6).hex()
        folder = self._made(RESCUED)
        _write(os.path.join(folder, name), [content])
        settle(folder)
        return os.path.join(self.desk, RESCUED, name)

    def _made(self, kind: str) -> str:
        folder = os.path.join(self._folder, kind)
        os.makedirs(folder, 0o700, exist_ok=True)
        return folder

    def aside(self, kind: str) -> list[str]:
        """The folders of what was set aside."""
        folder = os.path.join(self._folder, kind)
        return [os.path.join(folder, name) for name in _names(folder)]

    def unfinished(self) -> tuple[list[Filed], list[str]]:
        """What was begun and not ended, and the names of what cannot be read; what was never wholly begun has done
        nothing, and is removed."""
        found: list[Filed] = []
        damaged: list[str] = []
        for name in _names(self.begun):
            folder = os.path.join(self.begun, name)
            if name.endswith(_NEW):
                shutil.rmtree(folder, ignore_errors=True)
            elif _ID.fullmatch(name):
                try:
                    found.append(Filed(read_entry(folder), folder, "begun"))
                except Damaged:
                    damaged.append(name)
        return found, damaged

    def last(self) -> int:
        return max((int(number) for number, _ in self._numbered()), default=0)

    def all(self, *, after: int = 0) -> Iterator[Filed]:
        """What was done, newest first; only what came after a number, if one is given. A record that cannot be read is
        passed over."""
        for number, name in sorted(self._numbered(), reverse=True):
            if int(number) > after:
                with suppress(ToolFailure):
                    yield self._filed(number, name)

    def folders(self) -> list[str]:
        """Of all that was done, newest first."""
        return [os.path.join(self.done, f"{number}-{name}") for number, name in sorted(self._numbered(), reverse=True)]

    def find(self, id: str) -> Filed | None:
        return next((self._filed(number, name) for number, name in self._numbered() if name == id), None)

    def _filed(self, number: str, name: str) -> Filed:
        folder = os.path.join(self.done, f"{number}-{name}")
        return Filed(read_entry(folder), folder, "done", int(number))

    def _numbered(self) -> Iterable[tuple[str, str]]:
        matches = (_DONE.fullmatch(name) for name in _names(self.done))
        return [(found[1], found[2]) for found in matches if found]


def read_entry(folder: str) -> JournalEntry:
    """Raises ToolFailure for a record that cannot be used, Damaged if it is none any more."""
    path = os.path.join(folder, RECORD)
    try:
        with open(path, "rb", opener=plain_file) as file:
            content = file.read()
        version = json.decode(content, type=_Versioned).version
        if version == VERSION:
            return json.decode(content, type=JournalEntry)
    except (MsgspecError, UnicodeDecodeError, *_NOT_THERE) as error:
        raise Damaged(f"The record of a change is damaged: {_shorten_path(path)}") from error
    except OSError as error:
        raise ToolFailure(f"The record of a change cannot be read: {_shorten_path(path)}") from error
    raise ToolFailure(
        f"The record of a change is of version {version}, not {VERSION}: {_shorten_path(path)}. The version of "
        "rightcall that has written it can go on with it"
    )


class _Versioned(Struct, frozen=True):
    version: int


def _shorten_path(path: str) -> str:
    """A file of a change, below its desk."""
    return shown_path("/".join(path.split("/")[-3:]))


def _kept_contents(path: str, files: Sequence[Kept], steps: Sequence[FileStep]) -> tuple[Kept, ...]:
    """One file for all bytes: one wait for the disk, however many files a merge touches."""
    kept: list[Kept] = []
    parts: list[bytes] = []
    at = 0
    for about, one in zip(files, steps, strict=True):
        places: list[Part | None] = []
        for content in (one.before, one.after):
            places.append(None if content is None else Part(at, len(content), sha256(content).hexdigest()))
            if content is not None:
                parts.append(content)
                at += len(content)
        kept.append(replace(about, before=places[0], after=places[1]))
    if files:
        _write(path, parts)
    return tuple(kept)


def _write(path: str, parts: Sequence[bytes]) -> None:
    with open(path, "xb", opener=_private) as file:
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
