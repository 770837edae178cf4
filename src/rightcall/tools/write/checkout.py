"""A person's own checkout, when the branch that it shows is merged into: which files change in it, and whether each is
as it was committed.

    base, merged ─▶ every changed file is exactly what base says, here and in the index ─▶ steps for files and index

Anything uncommitted in the way refuses the merge and is named. What is not in the way is not touched: not the files,
not what is staged, not the stash.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha1
from struct import Struct as Layout
from struct import error as Unpackable  # noqa: N812 - it is an exception
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.sight import open_beneath
from rightcall.base.files.write import closing
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure
from rightcall.tools.git.repository import small_file
from rightcall.tools.write.changes import FileStep
from rightcall.tools.write.plumbing import Writer
from rightcall.tools.write.pulls import blobs, names
from rightcall.tools.write.refs import find_checkouts

# ── the index ──
# Git's index, read and edited as bytes: which files of a checkout are as in which commit, and what is staged.
#
# Only the named paths are replaced. What a person has staged, marked or half resolved stays as it is; what git keeps in
# there only to be faster is left out, and made anew by git. No program is run on a file that anybody can have written.

Version = tuple[int, str]
"""Mode and blob of a file in a commit."""

_SIGNATURE: Final = b"DIRC"
_HEADER: Final = Layout(">4sLL")
_STAT = 40
"""Bytes of an entry before its blob: two times, device, inode, mode, owner, group, size."""
_OID = 20
_STAGE, _EXTENDED, _LONGEST_NAME = 0x3000, 0x4000, 0xFFF
_SKIP_WORKTREE, _INTENT_TO_ADD = 0x4000, 0x2000
_RESOLVED = b"REUC"
"""How conflicts were resolved: the only extension that says more than the entries do."""
_DAMAGED = "The checkout's index (.git/index) is damaged, or of a kind that is not known here"


class IndexEntry(Struct, frozen=True):
    """One file as the index knows it."""

    stat: bytes
    """What the file looked like when it was last compared, with its mode."""
    oid: bytes
    flags: int
    more: int
    name: bytes

    @property
    def version(self) -> Version:
        return int.from_bytes(self.stat[24:28], "big"), self.oid.hex()

    @property
    def stage(self) -> int:
        """0, unless it is one side of a conflict."""
        return (self.flags & _STAGE) >> 12

    @property
    def is_skipped(self) -> bool:
        """Left out of the checkout on purpose."""
        return bool(self.more & _SKIP_WORKTREE)

    @property
    def is_promised(self) -> bool:
        """`git add --intent-to-add`: named, but nothing is staged."""
        return bool(self.more & _INTENT_TO_ADD)


class Index(Struct, frozen=True):
    version: int
    entries: tuple[IndexEntry, ...]
    kept: bytes
    """Extensions that are handed on."""

    def staged(self) -> dict[str, Version]:
        """The files that are staged, without conflicts."""
        return {
            one.name.decode("utf-8", "surrogateescape"): one.version
            for one in self.entries
            if not one.stage and not one.is_promised
        }


def read_index(content: bytes | None) -> Index:
    """The index as it is written in its file; None where there is no file. ToolFailure for one that is damaged, or
    holds only a part of what it stands for."""
    if content is None:
        return Index(2, (), b"")
    try:
        return _read(content)
    except (Unpackable, ValueError, IndexError):
        raise ToolFailure(_DAMAGED) from None


def edit_index(content: bytes | None, written: int, changes: Mapping[str, Version | None]) -> bytes:
    """The index with other versions of these files, without those that are None. `written` is when its file was last
    written, in nanoseconds: what was changed in the same moment is compared anew by git, as with the old one."""
    old = read_index(content)
    names = {name.encode("utf-8", "surrogateescape"): version for name, version in changes.items()}
    entries = [_careful(one, written) for one in old.entries if one.name not in names]
    entries += [_fresh(name, version) for name, version in names.items() if version is not None]
    entries.sort(key=lambda one: (one.name, one.stage))
    return _written(Index(old.version, tuple(entries), old.kept))


def index_differences(before: bytes | None, after: bytes | None) -> dict[str, tuple[Version | None, Version | None]]:
    """The files whose staged version differs between two indexes: the one and the other version."""
    one, other = read_index(before).staged(), read_index(after).staged()
    names = (name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return {name: (one.get(name), other.get(name)) for name in names}


def index_without(before: bytes | None, after: bytes | None, now: bytes | None, written: int) -> bytes | None:
    """The index `now` without what was done from `before` to `after`; None where one of those files is staged anew.
    Git itself writes the index again and again, only because it has looked at a file."""
    staged, back = read_index(now).staged(), index_differences(before, after)
    if any(staged.get(name) != new for name, (_, new) in back.items()):
        return None
    return edit_index(now, written, {name: old for name, (old, _) in back.items()})


# From and to bytes


def _read(content: bytes) -> Index:
    signature, version, count = _HEADER.unpack_from(content)
    trailer = content[-_OID:]
    if signature != _SIGNATURE or version not in (2, 3, 4) or len(content) < _HEADER.size + _OID:
        raise ValueError
    if trailer != sha1(content[:-_OID]).digest() and trailer != bytes(_OID):  # zeros: index.skipHash
        raise ValueError
    entries: list[IndexEntry] = []
    at, last, end = _HEADER.size, b"", len(content) - _OID
    for _ in range(count):
        entry, at = _entry(content, at, version, last, end)
        entries.append(entry)
        last = entry.name
    return Index(version, tuple(entries), b"".join(_extensions(content[at:end])))


def _entry(content: bytes, at: int, version: int, last: bytes, end: int) -> tuple[IndexEntry, int]:
    start = at
    stat, oid = content[at : at + _STAT], content[at + _STAT : at + _STAT + _OID]
    at += _STAT + _OID
    flags, more = int.from_bytes(content[at : at + 2], "big"), 0
    at += 2
    if flags & _EXTENDED:
        more = int.from_bytes(content[at : at + 2], "big")
        at += 2
    if version == 4:
        dropped, at = _number(content, at)
        if dropped > len(last):
            raise ValueError
        stop = content.index(b"\0", at, end)
        name = last[: len(last) - dropped] + content[at:stop]
        return IndexEntry(stat, oid, flags, more, name), stop + 1
    stop = content.index(b"\0", at, end)
    length = stop - start
    return IndexEntry(stat, oid, flags, more, content[at:stop]), start + (length + 8 & ~7)


def _extensions(rest: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(rest):
        name, size = rest[at : at + 4], int.from_bytes(rest[at + 4 : at + 8], "big")
        if at + 8 + size > len(rest):
            raise ValueError
        if not name[:1].isupper():
            raise ToolFailure(
                "The checkout has a sparse or split index, which is not changed from here: "
                "`git sparse-checkout disable` or `git update-index --no-split-index` makes it a whole one"
            )
        if name == _RESOLVED:
            yield rest[at : at + 8 + size]
        at += 8 + size


def _written(index: Index) -> bytes:
    version = index.version
    if version == 2 and any(one.more for one in index.entries):
        version = 3
    parts = [_HEADER.pack(_SIGNATURE, version, len(index.entries))]
    last = b""
    for one in index.entries:
        fixed = one.stat + one.oid + _flags(one).to_bytes(2, "big")
        if one.more:
            fixed += one.more.to_bytes(2, "big")
        parts.append(fixed + _named(one.name, last, len(fixed), version))
        last = one.name
    content = b"".join(parts) + index.kept
    return content + sha1(content).digest()


def _flags(entry: IndexEntry) -> int:
    kept = entry.flags & ~(_EXTENDED | _LONGEST_NAME)
    return kept | (_EXTENDED if entry.more else 0) | min(len(entry.name), _LONGEST_NAME)


def _named(name: bytes, last: bytes, before: int, version: int) -> bytes:
    if version < 4:
        return name + bytes(8 - (before + len(name)) % 8)
    same = 0
    while same < min(len(name), len(last)) and name[same] == last[same]:
        same += 1
    return _as_number(len(last) - same) + name[same:] + b"\0"


def _number(content: bytes, at: int) -> tuple[int, int]:
    """As git packs an offset: seven bits a byte, the highest first, and one more for each byte that follows."""
    byte = content[at]
    value = byte & 127
    while byte & 128:
        at += 1
        byte = content[at]
        value = (value + 1 << 7) + (byte & 127)
        if value > 1 << 32:
            raise ValueError
    return value, at + 1


def _as_number(value: int) -> bytes:
    packed = [value & 127]
    while value := value >> 7:
        value -= 1
        packed.append(128 | value & 127)
    return bytes(reversed(packed))


def _careful(entry: IndexEntry, written: int) -> IndexEntry:
    """Git compares a file anew that was changed when the index was written, or later. The edited index is newer: that
    the entry is not to be trusted has to stand in itself."""
    modified = int.from_bytes(entry.stat[8:12], "big")
    if modified < written // 1_000_000_000:  # in whole seconds: so does a git that was built without finer ones
        return entry
    return replace(entry, stat=bytes(24) + entry.stat[24:28] + bytes(12))


def _fresh(name: bytes, version: Version) -> IndexEntry:
    """Nothing is known of the file but what it holds: git looks at it when it needs to."""
    mode, oid = version
    return IndexEntry(bytes(24) + mode.to_bytes(4, "big") + bytes(12), bytes.fromhex(oid), 0, 0, name)


_FILES: Final = (0o100644, 0o100755)
_INDEX, _LOCK = "index", "index.lock"
_UNFINISHED: Final = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}
_HEAD_NAMES: Final = ("rebase-merge/head-name", "rebase-apply/head-name")


Changes = Mapping[str, tuple[Version | None, Version | None]]
"""By path: the version of a file before and after."""


class Checkout(Struct, frozen=True):
    """A checkout in which nothing is in the way of going from one commit to another."""

    tree: str
    git_dir: str
    changes: Changes
    index: bytes | None
    written: int
    old: Mapping[str, bytes]
    """The content of each blob that is replaced."""


def clean_checkout(writer: Writer, base: str, old: str, new: str) -> Checkout | None:
    """The person's checkout, looked over: None unless the branch `base` is checked out there, or where nothing changes.
    `new` may be a tree. Raises ToolFailure where something is in the way."""
    repository = writer.repository
    shown_at = find_checkouts(repository.common_dir).get(base)
    _refuse_rebased(repository.common_dir, base)
    if shown_at is None:
        return None
    if os.path.realpath(shown_at) != os.path.realpath(repository.git_dir):
        raise ToolFailure(
            f"{escaped(base, 200)} is checked out in another worktree, whose files would no longer fit: "
            "`git worktree list` shows where; check out another branch there"
        )
    _refuse_unfinished(repository.git_dir)
    changes = _changes(writer, old, new)
    index, written = _index_file(repository.git_dir)
    _refuse_staged(read_index(index), changes)
    contents = blobs(writer, [before[1] for before, _ in changes.values() if before is not None])
    _refuse_dirty(repository.work_tree, changes, contents)
    return Checkout(repository.work_tree, repository.git_dir, changes, index, written, contents) if changes else None


def checkout_steps(writer: Writer, clean: Checkout | None) -> tuple[FileStep, ...]:
    """The steps that bring it there; the blobs must be in the repository by now. Files that go come first."""
    if clean is None:
        return ()
    new = blobs(writer, [after[1] for _, after in clean.changes.values() if after is not None])
    steps = [_step(clean, path, before, after, new) for path, (before, after) in clean.changes.items()]
    steps.sort(key=lambda step: (step.after is not None, step.path))
    index = edit_index(clean.index, clean.written, {path: version for path, (_, version) in clean.changes.items()})
    return (*steps, FileStep(clean.git_dir, _INDEX, clean.index, index, mode=0o644, lock=_LOCK))


def _step(
    clean: Checkout, path: str, before: Version | None, after: Version | None, new: Mapping[str, bytes]
) -> FileStep:
    return FileStep(
        clean.tree,
        path,
        None if before is None else clean.old[before[1]],
        None if after is None else new[after[1]],
        mode=0o755 if after is not None and after[0] & 0o100 else 0o644,
        keep=before is None or after is None or before[0] == after[0],
    )


def _changes(writer: Writer, old: str, new: str) -> Changes:
    before, after = writer.paths(old), writer.paths(new)
    changed = {path: (before.get(path), after.get(path)) for path, _ in writer.changed(old, new)}
    special = [
        path for path, versions in changed.items() if any(one is not None and one[0] not in _FILES for one in versions)
    ]
    if special:
        raise ToolFailure(
            f"The branch changes links or submodules, which are not put into a checkout from here: {names(special)}. "
            "Check out another branch, or merge it with git"
        )
    _refuse_turned(changed)
    return changed


def _refuse_turned(changed: Changes) -> None:
    """Each file is a step of its own, compared and put back by its own name: none can stand where another's folder was
    a moment ago."""
    gone = {path for path, (before, after) in changed.items() if before is not None and after is None}
    came = {path for path, (before, after) in changed.items() if before is None and after is not None}
    turned = {
        above for paths, others in ((came, gone), (gone, came)) for path in paths for above in _above(path) & others
    }
    if turned:
        raise ToolFailure(
            f"The branch turns a file into a folder, or a folder into a file, which is not put into a checkout from "
            f"here: {names(sorted(turned))}. Check out another branch, or merge it with git"
        )


def _above(path: str) -> set[str]:
    parts = path.split("/")
    return {"/".join(parts[:length]) for length in range(1, len(parts))}


def _refuse_rebased(common_dir: str, base: str) -> None:
    """A rebase has the branch in hand although it is not checked out: it would overwrite what is merged meanwhile."""
    folders = [common_dir]
    with suppress(OSError):
        linked = os.path.join(common_dir, "worktrees")
        folders += [os.path.join(linked, name) for name in os.listdir(linked)]
    for folder in folders:
        for name in _HEAD_NAMES:
            held = small_file(os.path.join(folder, name)) or b""
            if held.strip() == b"refs/heads/" + os.fsencode(base):
                raise ToolFailure(f"{escaped(base, 200)} is being rebased: finish that first")


def _refuse_unfinished(git_dir: str) -> None:
    for name, what in _UNFINISHED.items():
        if os.path.lexists(os.path.join(git_dir, name)):
            raise ToolFailure(f"{what.capitalize()} is under way in the checkout: finish or abort it first")


def _index_file(git_dir: str) -> tuple[bytes | None, int]:
    """The index, and when it was written."""
    try:
        fd = os.open(os.path.join(git_dir, _INDEX), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None, 0
    except OSError:
        raise ToolFailure("The checkout's index (.git/index) cannot be read") from None
    with os.fdopen(fd, "rb") as file:
        seen = os.fstat(fd)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > (256 << 20):
            raise ToolFailure("The checkout's index (.git/index) is not a readable file")
        return file.read(), seen.st_mtime_ns


def _refuse_staged(index: Index, changes: Changes) -> None:
    if any(one.is_skipped for one in index.entries):
        raise ToolFailure(
            "The checkout is sparse: some of its files are left out, and a merge cannot be put into it from here. "
            "`git sparse-checkout disable` makes it whole"
        )
    if any(one.stage for one in index.entries):
        raise ToolFailure("The checkout has files with unresolved conflicts: resolve them first")
    staged = index.staged()
    promised = {one.name for one in index.entries if one.is_promised}
    in_the_way = [
        path
        for path, (before, _) in changes.items()
        if staged.get(path) != before or os.fsencode(path) in promised
    ]  # fmt: skip
    _refuse(in_the_way, "has staged changes in the way of the merge", "commit or unstage them first")


def _refuse_dirty(tree: str, changes: Changes, contents: Mapping[str, bytes]) -> None:
    with closing(os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as top:
        dirty = [
            path
            for path, (before, _) in changes.items()
            if not (_is_free(top, path) if before is None else _is_as(top, path, before[0], contents[before[1]]))
        ]
    _refuse(
        dirty,
        "has uncommitted changes in the way of the merge",
        "commit or move them first; a file that git converts (line ends, filters) counts as changed, too",
    )


def _is_as(top: int, path: str, mode: int, content: bytes) -> bool:
    """Whether a file of the checkout is as committed."""
    try:
        fd = open_beneath(top, path, os.O_RDONLY)
    except (OSError, ValueError):
        return False
    with os.fdopen(fd, "rb") as file:
        seen = os.fstat(fd)
        if not stat.S_ISREG(seen.st_mode) or bool(seen.st_mode & 0o100) != bool(mode & 0o100):
            return False
        return seen.st_size == len(content) and file.read(len(content) + 1) == content


def _is_free(top: int, path: str) -> bool:
    """Whether nothing has this name, and its folders are folders."""
    parts = path.split("/")
    for length in range(1, len(parts) + 1):
        way = "/".join(parts[:length])
        try:
            seen = os.lstat(way, dir_fd=top)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        if length == len(parts) or not stat.S_ISDIR(seen.st_mode):
            return False
    return True


def _refuse(paths: list[str], what: str, advice: str) -> None:
    if paths:
        raise ToolFailure(f"The checkout {what}: {names(sorted(paths))}. Nothing was merged; {advice}")
