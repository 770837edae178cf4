"""Branches: where they are, and moving them, only from where they are expected to be."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from stat import S_ISREG
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.sight import as_git_reads
from rightcall.base.files.write import closing, make_tree, opened_tree
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure
from rightcall.tools.code.patch import DiffReader
from rightcall.tools.diff import one_line
from rightcall.tools.git.layout import Layout
from rightcall.tools.git.repository import small_file
from rightcall.tools.git.run import failure_of, output_of
from rightcall.tools.write.changes import Moved, RefStep

if TYPE_CHECKING:
    from rightcall.tools.write.plumbing import Bench

HEADS = "refs/heads/"
_AN_ID = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})\n")
_BRANCH = re.compile(rb"ref:\s*refs/heads/([^\0-\x20\x7f]+)\s*")


def why_unwritable(layout: Layout) -> str | None:
    """Why the refs of a repository cannot be written, None when they can: git would follow a link in them."""
    if layout.reftable:
        return "The repository keeps its refs as a reftable, which the tools that write cannot change yet"
    if "refs" not in layout.links or "packed-refs" not in layout.links:
        return "The repository's refs are not all plain files and folders: nothing is written to it"
    return None


def current_branch(git_dir: str) -> str | None:
    """The branch that HEAD names."""
    found = _BRANCH.fullmatch(small_file(os.path.join(git_dir, "HEAD")) or b"")
    return os.fsdecode(found[1]) if found else None


def find_checkouts(common_dir: str) -> dict[str, str]:
    """Every branch that is checked out somewhere, and the git directory of that checkout."""
    found: dict[str, str] = {}
    folder = os.path.join(common_dir, "worktrees")
    try:
        linked = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    except OSError:
        linked = []
    for git_dir in (*linked, common_dir):
        if (branch := current_branch(git_dir)) is not None:
            found[branch] = git_dir
    return found


def tips(bench: "Bench", names: Sequence[str]) -> list[str | None]:
    """The commit that each ref is at. Raises ToolFailure for one that only stands for another, or is no commit."""
    loose = [_loose(bench, name) for name in names]
    asked = [name for name, at in zip(names, loose, strict=True) if at is None]
    others = iter(_look_up_refs(bench, asked) if asked else ())
    return [next(others) if at is None else at for at in loose]


def _loose(bench: "Bench", name: str) -> str | None:
    """The commit in the file of a ref: what git would find first. None: git has to be asked."""
    if any(part in ("", ".", "..") or "\0" in part for part in name.split("/")):
        return None
    content = small_file(os.path.join(bench.private.path, name), 64 + 1) or b""
    return content[:-1].decode() if _AN_ID.fullmatch(content) else None


def _look_up_refs(bench: "Bench", names: Sequence[str]) -> list[str | None]:
    wanted = [os.fsencode(name) for name in names]
    listed = output_of(
        bench.git(
            "for-each-ref", "--format=%(objectname) %(objecttype) %(symref)%00%(refname)", *names, most=64 << 20
        )  # it lists also what lies below a name
    )
    found: dict[bytes, str] = {}
    for line in listed.split(b"\n")[:-1]:
        about, _, name = line.partition(b"\0")
        if name not in wanted:
            continue
        oid, kind, stands_for = about.split(b" ", 2)
        if stands_for:
            raise ToolFailure(f"{_short(os.fsdecode(name))} only points to another branch: tools do not touch it")
        if kind != b"commit":
            raise ToolFailure(f"{_short(os.fsdecode(name))} is at no commit: the repository is damaged")
        found[name] = oid.decode()
    missing = [name for name, as_bytes in zip(names, wanted, strict=True) if as_bytes not in found]
    for name in missing:
        if _is_file(bench, name):
            raise ToolFailure(f"{_short(name)} cannot be read: its ref is damaged, or its commit is not here")
    return [found.get(name) for name in wanted]


def in_the_way(bench: "Bench", name: str) -> str | None:
    """A branch that cannot be beside a new one: `a` and `a/b` would be a file and a folder of the same name."""
    parts = name.split("/")
    above = [HEADS + "/".join(parts[:length]) for length in range(1, len(parts))]
    for pattern in (*above, f"{HEADS}{name}/"):
        first = output_of(bench.git("for-each-ref", "--count=1", "--format=%(refname)", pattern)).rstrip(b"\n")
        found = os.fsdecode(first)
        if found and (found == pattern or pattern.endswith("/")):
            return found.removeprefix(HEADS)
    return None


def set_refs(bench: "Bench", steps: Sequence[RefStep], by: tuple[str, str], holding: Sequence[int] = ()) -> None:
    """See `Writer.set_refs`."""
    if not steps:
        return
    now = tips(bench, [step.name for step in steps])
    for step, at in zip(steps, now, strict=True):
        if at != step.before:
            raise _moved(step, at)
    told = b"".join(_line(step) for step in steps)
    finished = bench.git(
        "-c", f"user.name={by[0]}", "-c", f"user.email={by[1]}", "update-ref", "--no-deref", "-m", "rightcall", "-z",
        "--stdin", stdin=told, holding=holding, unless=why_unwritable,
    )  # fmt: skip
    if finished.code == 0:
        return
    said = finished.err
    if b"but expected" in said or b"reference already exists" in said or b"unable to resolve reference" in said:
        now = tips(bench, [step.name for step in steps])
        at = next((at for step, at in zip(steps, now, strict=True) if at != step.before), None)
        raise _moved(steps[0], at)
    if b"; cannot create" in said:
        raise ToolFailure(
            f"{_short(steps[0].name)} cannot be made: git keeps branches as files, and a branch whose name is a part "
            "of it, or begins with it, is in the way"
        )
    if b".lock'" in said and b"File exists" in said:
        raise ToolFailure(
            f"{_short(steps[0].name)} is being changed by another git right now; if none is running, one that was "
            "killed has left a .lock file beside the ref in the git directory, which has to be removed"
        )
    raise failure_of(finished)


def _line(step: RefStep) -> bytes:
    """One command of `update-ref --stdin -z`; an old value of zeros means that there must be no such ref."""
    length = len(step.before or step.after or "")
    before = (step.before or "0" * length).encode()
    name = os.fsencode(step.name)
    if step.after is None:
        return b"delete %s\0%s\0" % (name, before)
    return b"update %s\0%s\0%s\0" % (name, step.after.encode(), before)


def _moved(step: RefStep, at: str | None) -> Moved:
    now = "is gone" if at is None else f"is at {at[:12]} now"
    was = "there was none" if step.before is None else f"expected at {step.before[:12]}"
    return Moved(f"{_short(step.name)} {now} ({was}): somebody else has changed it; nothing was done")


def _short(name: str) -> str:
    return f"The branch {escaped(name.removeprefix(HEADS), 200)}"


def _is_file(bench: "Bench", name: str) -> bool:
    try:
        return S_ISREG(os.lstat(os.path.join(bench.private.path, name)).st_mode)
    except (OSError, ValueError):
        return False


# ── differences ──
# What differs between two commits or trees: which files, in how many lines, and the lines themselves.
#
# Git calls a file binary for one NUL near its beginning, and shows nothing of it. Here everything that reads as text is
# shown as text, and of the rest its size and number in git, before and after: whoever approves a diff has seen it.

_MOST_LISTED: Final = 64 << 20
_LARGEST: Final = 8 << 20
"""Bytes of a file that is read to find out whether it is text."""
_MOST_READ: Final = 64 << 20
_MOST_PATHS: Final = 200
"""Names in one command line."""
_CONTROLS: Final = bytes(code for code in range(32) if code not in b"\t\n\r\f\b\x1b")
_FEW: Final = 10
"""One in so many bytes may be odd in what is still taken for text."""


class Altered(Struct, frozen=True):
    """One file that differs. Ids are empty where there is no file; counts are None for what git calls binary."""

    path: str
    status: str
    """A, M, D or T, as git says it."""
    before: str
    after: str
    lines: tuple[int, int] | None = None

    @property
    def told(self) -> str:
        counts = "binary" if self.lines is None else f"+{self.lines[0]:,} -{self.lines[1]:,}"
        return f"  {self.status} {self.name}  {counts}"

    @property
    def name(self) -> str:
        return one_line(os.fsencode(self.path).decode(errors="backslashreplace"))


class Diff(Struct, frozen=True):
    text: str
    """As git writes it: escaped by whoever shows it."""
    files: tuple[str, ...]
    """A line for each file, all of them."""
    left_out: str = ""
    """What is missing in the text, as a sentence."""


def diff_of(bench: "Bench", old: str, new: str, most: int) -> Diff:
    """All that differs, up to so many bytes."""
    files = altered_files(bench, old, new)
    binary = [one for one in files if one.lines is None]
    if not binary:
        text, full = patch(bench, old, new, most=most)
        return Diff(text, _describe_files(files), _too_long(most) if full else "")
    unread, opaque = _sorted_out(bench, binary)
    readable = [one for one in files if one.path not in unread and one.path not in opaque]
    text, full = _patches(bench, old, new, [one.path for one in readable], most)
    if full:
        counted = {one.path: _counted(bench, old, new, one) for one in readable if one.lines is None}
        files = [counted.get(one.path, one) for one in files]
    rest = [*opaque.values(), *(f"{line}; too large to read" for line in unread.values())]
    missing = [_too_long(most)] if full else []
    if unread:
        missing.append(f"{len(unread)} file(s) are too large to read.")
    return Diff("\n".join([*([text.rstrip("\n")] if text else []), *rest]), _describe_files(files), " ".join(missing))


def altered_files(bench: "Bench", old: str, new: str) -> list[Altered]:
    """Every file that differs."""
    command = ["diff-tree", "-r", "-z", "--raw", "--numstat", "--no-abbrev", "--no-renames", "--end-of-options"]
    finished = bench.git(*command, old, new, most=_MOST_LISTED)
    if finished.full:
        raise ToolFailure("The two differ in too many files to be shown")
    reader = DiffReader(output_of(finished))
    files = reader.raw()
    counts = {one.new: None if one.binary else (one.insertions, one.deletions) for one in reader.counts()}
    return [
        Altered(os.fsdecode(file.new), file.letter, _id(file.ids[0]), _id(file.ids[1]), counts.get(file.new, (0, 0)))
        for file in files
    ]


def patch(
    bench: "Bench", old: str, new: str, paths: Sequence[str] = (), *, most: int, as_text: bool = False
) -> tuple[str, bool]:
    """The diff as text, and whether it is cut."""
    finished = bench.git(
        "diff-tree", "-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--full-index",
        *(["--text"] * as_text), "--end-of-options", old, new, "--", *paths, most=most,
    )  # fmt: skip
    return output_of(finished).decode(errors="backslashreplace"), finished.full


def _patches(bench: "Bench", old: str, new: str, paths: Sequence[str], most: int) -> tuple[str, bool]:
    text = ""
    for start in range(0, len(paths), _MOST_PATHS):
        some, full = patch(bench, old, new, paths[start : start + _MOST_PATHS], most=most - len(text), as_text=True)
        text += some
        if full or len(text) >= most:
            return text, True
    return text, False


def _counted(bench: "Bench", old: str, new: str, file: Altered) -> Altered:
    """With the lines of what git does not count since it calls it binary."""
    text, _ = patch(bench, old, new, [file.path], most=_MOST_READ, as_text=True)
    lines = text.partition("\n@@")[2].split("\n")
    plus, minus = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return replace(file, lines=(plus, minus))


def _sorted_out(bench: "Bench", files: Iterable[Altered]) -> tuple[dict[str, str], dict[str, str]]:
    """Of what git calls binary: what is too large to read, and what is no text. A line for each."""
    files = list(files)
    sizes = _sizes(bench, [one for file in files for one in (file.before, file.after) if one])
    unread, opaque, room = dict[str, str](), dict[str, str](), _MOST_READ
    for file in files:
        ids = [one for one in (file.before, file.after) if one]
        line = f"{file.name}: binary, {_side(file.before, sizes)} before, {_side(file.after, sizes)} afterwards"
        size = sum(sizes[one] for one in ids)
        if max(sizes[one] for one in ids) > _LARGEST or size > room:
            unread[file.path] = line
            continue
        room -= size
        # what will be there is what matters: text that takes the place of something else is shown
        if not _is_text(output_of(bench.git("cat-file", "blob", file.after or file.before, most=_LARGEST + 1))):
            opaque[file.path] = line
    return unread, opaque


def _is_text(content: bytes) -> bool:
    """Whether somebody can read it: it is UTF-8, or nearly all of it is."""
    try:
        content.decode()
    except UnicodeDecodeError:
        odd = content.decode(errors="replace").count("\ufffd") + len(content) - len(content.translate(None, _CONTROLS))
        return odd * _FEW <= len(content)
    return True


def _sizes(bench: "Bench", ids: Sequence[str]) -> dict[str, int]:
    told = "".join(f"{one}\n" for one in ids).encode()
    command = ["cat-file", "--batch-check=%(objectsize)"]
    said = output_of(bench.git(*command, stdin=told, most=_MOST_LISTED)).split(b"\n")
    if not all(size.isdigit() for size in said[: len(ids)]):
        raise ToolFailure("The git repository is damaged, or a part of it is not here")
    return {one: int(size) for one, size in zip(ids, said, strict=False)}


def _side(id: str, sizes: dict[str, int]) -> str:
    return f"{sizes[id]:,} bytes ({id})" if id else "no file"


def _id(id: str) -> str:
    return id if id.strip("0") else ""


def _describe_files(files: Iterable[Altered]) -> tuple[str, ...]:
    return tuple(one.told for one in files)


def _too_long(most: int) -> str:
    return f"the diff has more than {most:,} bytes, and only these are below."


# ── files of a commit ──
# Files of a commit, written into a folder as they are: no filter, no conversion, no link followed, none of the names
# that git itself refuses.

_MOST_FILES = 500_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LINK, _SUBMODULE = 0o120000, 0o160000


def check_out(bench: "Bench", entries: Mapping[str, tuple[int, str]], folder: str) -> None:
    """Write them into an empty folder, named by its true path, which is made if it is not there. Raises ToolFailure."""
    if len(entries) > _MOST_FILES:
        raise ToolFailure(f"The commit holds more than {_MOST_FILES:,} files: it cannot be checked out")
    for path in entries:
        if any(is_bad_name(part) for part in path.split("/")):
            raise ToolFailure(f"The commit holds a file that git itself refuses to check out: {escaped(path, 200)}")
    try:
        make_tree(folder)
        with opened_tree(folder) as held, closing(os.open(".", _FOLDER, dir_fd=held)) as top:
            if os.listdir(top):
                raise ToolFailure("There is something in the folder for the files already")
            _write_all(bench, entries, top)
    except FileExistsError:
        raise ToolFailure("Two files of the commit have the same name here, or one lies below the other") from None
    except OSError as error:
        raise ToolFailure(f"The files cannot be written: {os.strerror(error.errno or 0)}") from error


def _write_all(bench: "Bench", entries: Mapping[str, tuple[int, str]], top: int) -> None:
    folders = _Folders(top)
    try:
        by_id: dict[str, list[tuple[str, int]]] = {}
        for path, (mode, oid) in sorted(entries.items()):
            if mode == _SUBMODULE:
                folders.open(f"{path}/")  # an empty folder, as after a clone
            else:
                by_id.setdefault(oid, []).append((path, mode))
        for oid, content in _contents(bench, list(by_id)):
            for path, mode in by_id[oid]:
                _write(folders, path, mode, content)
    finally:
        folders.close()


def _contents(bench: "Bench", ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Every object's content, some at a time."""
    sizes = _sizes_checkout(bench, ids)
    if sum(sizes) > (4 << 30):
        raise ToolFailure("The commit holds more than 4 GB: it cannot be checked out")
    start = 0
    while start < len(ids):
        end, room = start, 0
        while end < len(ids) and (end == start or room + sizes[end] <= (32 << 20)):
            room += sizes[end] + 100
            end += 1
        yield from _batch(bench, ids[start:end], sizes[start:end], room)
        start = end


def _sizes_checkout(bench: "Bench", ids: Sequence[str]) -> list[int]:
    told = "".join(f"{oid}\n" for oid in ids).encode()
    finished = bench.git("cat-file", "--batch-check=%(objecttype) %(objectsize)", stdin=told, most=100 * len(ids) + 100)
    lines = [line.split(b" ") for line in finished.out.split(b"\n")[:-1]]
    if finished.code != 0 or len(lines) != len(ids):
        raise failure_of(finished)
    if any(line[0] != b"blob" for line in lines):
        raise ToolFailure("A file of the commit is not here: the repository is damaged, borrows it, or is a part only")
    return [int(line[1]) for line in lines]


def _batch(bench: "Bench", ids: Sequence[str], sizes: Sequence[int], room: int) -> Iterator[tuple[str, bytes]]:
    told = "".join(f"{oid}\n" for oid in ids).encode()
    finished = bench.git("cat-file", "--batch=", stdin=told, most=room)
    out, at = finished.out, 0
    if finished.code != 0 or len(out) != sum(sizes) + 2 * len(ids):
        raise failure_of(finished)
    for oid, size in zip(ids, sizes, strict=True):
        at += 1  # the line that tells nothing, since nothing was asked
        yield oid, out[at : at + size]
        at += size + 1


class _Folders:
    """The folders of a checkout, each opened from the one above it; the last way down is kept open."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._names: list[str] = []
        self._fds: list[int] = []

    def open(self, path: str) -> int:
        """The folder of a path."""
        names = path.split("/")[:-1]
        same = 0
        while same < min(len(names), len(self._names)) and names[same] == self._names[same]:
            same += 1
        self._close(same)
        for name in names[same:]:
            above = self._fds[-1] if self._fds else self._top
            with suppress(FileExistsError):
                os.mkdir(name, 0o777, dir_fd=above)
            self._fds.append(os.open(name, _FOLDER, dir_fd=above))
            self._names.append(name)
        return self._fds[-1] if self._fds else self._top

    def close(self) -> None:
        self._close(0)

    def _close(self, keep: int) -> None:
        while len(self._fds) > keep:
            os.close(self._fds.pop())
            self._names.pop()


def _write(folders: _Folders, path: str, mode: int, content: bytes) -> None:
    folder, name = folders.open(path), path.rpartition("/")[2]
    if mode == _LINK:
        os.symlink(content, os.fsencode(name), dir_fd=folder)
        return
    with os.fdopen(os.open(name, _NEW, 0o777 if mode & 0o100 else 0o666, dir_fd=folder), "wb") as file:
        file.write(content)


def is_bad_name(part: str) -> bool:
    """A name that leads elsewhere, or that some system takes for `.git`."""
    return part in ("", ".", "..") or any((as_git_reads(reading) in (".git", "git~1")) for reading in part.split("\\"))
