"""Git's index, read and edited as bytes: which files of a checkout are as in which commit, and what is staged.

Only the named paths are replaced. What a person has staged, marked or half resolved stays as it is; what git keeps in
there only to be faster is left out, and made anew by git. No program is run on a file that anybody can have written.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha1
from struct import Struct as Layout
from struct import error as Unpackable  # noqa: N812 - it is an exception
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rightcall.errors import ToolFailure

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
        return {_text(one.name): one.version for one in self.entries if not one.stage and not one.is_promised}


def read_index(content: bytes | None) -> Index:
    """The index as it is written in its file; None where there is no file. ToolFailure for one that is damaged, or
    holds only a part of what it stands for."""
    if content is None:
        return Index(2, (), b"")
    try:
        return _read(content)
    except (Unpackable, ValueError, IndexError):
        raise ToolFailure(_DAMAGED) from None


def edited(content: bytes | None, written: int, changes: Mapping[str, Version | None]) -> bytes:
    """The index with other versions of these files, without those that are None. `written` is when its file was last
    written, in nanoseconds: what was changed in the same moment is compared anew by git, as with the old one."""
    old = read_index(content)
    names = {name.encode("utf-8", "surrogateescape"): version for name, version in changes.items()}
    entries = [_careful(one, written) for one in old.entries if one.name not in names]
    entries += [_fresh(name, version) for name, version in names.items() if version is not None]
    entries.sort(key=lambda one: (one.name, one.stage))
    return _written(Index(old.version, tuple(entries), old.kept))


def differing(before: bytes | None, after: bytes | None) -> dict[str, tuple[Version | None, Version | None]]:
    """The files whose staged version differs between two indexes: the one and the other version."""
    one, other = read_index(before).staged(), read_index(after).staged()
    names = (name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return {name: (one.get(name), other.get(name)) for name in names}


def taken_back(before: bytes | None, after: bytes | None, now: bytes | None, written: int) -> bytes | None:
    """The index `now` without what was done from `before` to `after`; None where one of those files is staged anew.
    Git itself writes the index again and again, only because it has looked at a file."""
    staged, back = read_index(now).staged(), differing(before, after)
    if any(staged.get(name) != new for name, (_, new) in back.items()):
        return None
    return edited(now, written, {name: old for name, (old, _) in back.items()})


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


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
