"""In which state what a call touches is: a digest that changes when the files, or what the tool itself names, change.

Approvals are bound to it, repeated calls are counted by it, results are kept under it. One look at each path, no
content is read.
"""

import os
import sys
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from hashlib import sha256
from stat import S_ISDIR
from time import monotonic, time_ns
from typing import Any, NoReturn, Self, cast

from msgspec import Struct, json, msgpack, to_builtins
from msgspec.json import encode
from msgspec.structs import replace

from rightcall import LateLog
from rightcall.base.files.sight import O_PATH
from rightcall.base.json.strict import values_at
from rightcall.base.text import fault_text
from rightcall.errors import ToolFailure
from rightcall.policy.settings import CacheSettings
from rightcall.policy.types import UNKNOWN, Result
from rightcall.tools.functions import LocalTool

_SETTLED = 20_000_000
"""Nanoseconds. File times are coarse (up to 10 ms on Linux): a file that was changed a moment ago could change again
without looking any different."""

log = LateLog()

_Look = tuple[str | int, ...]


class Untold(Exception):
    """The state of what a call touches cannot be told: no two calls are known to be the same."""


def untold(*_: object) -> NoReturn:
    """The `state` of a tool that reads more than can be looked at twice."""
    raise Untold


def own_copy(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that the author's code may change: what was approved and recorded stays what it was."""
    try:
        return to_builtins(arguments)
    except Exception:  # noqa: BLE001 - nothing that came through the gate; then the first level must do
        return dict(arguments)


def state_of(tool: LocalTool, arguments: Mapping[str, Any], root: str) -> str:
    """The state of the files in the tool's path arguments, and of what its own `state` function says; "" when it
    declares neither. A state that cannot be told is like no other."""
    # a tool that is told what it may write onto says itself what that is: it may lie elsewhere than below the root
    looks = [] if tool.expected is not None else [_look(path, root) for path in _paths(tool, arguments)]
    if tool.state is None:
        return _digest([looks]) if looks else ""
    try:
        told = tool.state(own_copy(arguments))
        return told if tool.expected is not None and isinstance(told, str) else _digest([looks, told])
    except KeyboardInterrupt:
        raise
    except (Untold, ToolFailure, OSError):  # so it is meant, or what it would look at is not there
        pass
    except BaseException as error:  # noqa: BLE001 - the author's own code
        log.warning("the state of what %s touches could not be told: %s", tool.name, fault_text(error))
    return f"{UNKNOWN}-{os.urandom(16).hex()}"  # unknown is never unchanged


def tells_changes(tool: LocalTool, arguments: Mapping[str, Any], root: str) -> bool:
    """Whether the same state means that nothing has changed. A folder's own look says nothing of what is deeper inside;
    a tool that reads folders can say it itself."""
    return tool.state is not None or not any(
        os.path.isdir(os.path.join(root, path)) for path in _paths(tool, arguments)
    )


def is_keepable(tool: LocalTool, arguments: Mapping[str, Any], root: str) -> bool:
    """Whether the state says enough for a result to be kept under it: a folder's own look says nothing of what is
    deeper inside, unless the tool's `state` does, and a file must have rested for a moment."""
    paths = _paths(tool, arguments)
    if not tool.cacheable or (tool.state is None and not paths):
        return False
    now = time_ns()
    for path in paths:
        look = _look(path, root)
        if look[0] == "absent":
            continue
        if look[0] != "there" or (S_ISDIR(cast("int", look[7])) and tool.state is None):
            return False
        if now - cast("int", look[6]) < _SETTLED:
            return False
    return True


def _paths(tool: LocalTool, arguments: Mapping[str, Any]) -> list[str]:
    return [path for place in tool.paths for path in values_at(arguments, place)]


def _look(path: str, root: str) -> _Look:
    """A file as the system shows it, and where: below another root it is another state, even where nothing is there.
    Where there is none its folder counts: a link in its place would be a change."""
    whole = os.path.join(root, path)
    place = ascii(os.path.abspath(whole))  # names may hold what no JSON text can
    try:
        seen = os.stat(whole)
    except FileNotFoundError:
        return "absent", place, *_folder(whole)
    except OSError as error:
        return "unreadable", place, error.errno or 0
    except ValueError:  # a NUL in the name, a lone surrogate
        return "unreadable", place, 0
    return "there", place, seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode


def _folder(whole: str) -> _Look:
    try:
        link = ascii(os.readlink(whole))
    except OSError:
        link = ""
    try:
        folder = os.stat(os.path.dirname(whole))
    except OSError:
        return (link,)
    return link, folder.st_dev, folder.st_ino


def _digest(parts: list[Any]) -> str:
    return sha256(encode(parts, enc_hook=_as_text, order="deterministic")).hexdigest()[:32]


def _as_text(value: Any) -> str:
    if isinstance(value, os.PathLike):
        return str(os.fspath(cast("os.PathLike[str]", value)))
    raise TypeError  # the text of an unknown object may hold its address: the same state would look new each time


# ── placing ──
# Relative paths count from the executor's root. Where the process works in another folder, a function that opens what
# it was given would open another file than the one that was judged: so it is given the whole path.


def place_arguments(arguments: Mapping[str, Any], places: tuple[str, ...], root: str) -> dict[str, Any]:
    """The arguments as a function gets them. Where the process works in the root they stay as they are.

    >>> place_arguments({"path": "notes.md"}, ("path",), "/somewhere/else")
    {'path': '/somewhere/else/notes.md'}
    """
    if not places or _same_folder(root):
        return dict(arguments)
    value: Any = dict(arguments)
    for place in places:
        value = _rewritten(value, place.split("."), root)
    return value


def _same_folder(root: str) -> bool:
    try:
        return os.path.samefile(os.getcwd(), root)
    except OSError:
        return False


def _rewritten(value: Any, steps: list[str], root: str) -> Any:
    """A copy of the value with the paths at the place joined to the root."""
    if not steps:
        return _joined(value, root)
    if isinstance(value, str):
        return _text(value, lambda inner: _rewritten(inner, steps, root))
    name = steps[0].rstrip("[]")
    if not isinstance(value, Mapping):
        return value
    table = dict(cast("Mapping[str, Any]", value))
    if name in table:
        table[name] = _inside(table[name], steps[0].count("[]"), steps[1:], root)
    return table


def _text(text: str, rewrite: Callable[[Any], Any]) -> str:
    """JSON as text, where the place goes on inside it; what cannot be read was refused before."""
    try:
        return json.encode(rewrite(json.decode(text))).decode()
    except (ValueError, TypeError, RecursionError):
        return text


def _inside(value: Any, lists: int, steps: list[str], root: str) -> Any:
    if lists and isinstance(value, str):
        return _text(value, lambda inner: _inside(inner, lists, steps, root))
    if lists and isinstance(value, list):
        return [_inside(item, lists - 1, steps, root) for item in cast("list[Any]", value)]
    return _rewritten(value, steps, root)


def _joined(value: Any, root: str) -> Any:
    if isinstance(value, list):
        return [_joined(item, root) for item in cast("list[Any]", value)]
    return os.path.join(root, value) if isinstance(value, str) else value


# ── trace ──
# What a call has looked at in a tree of folders, so that its result can be kept as long as all of that looks the same.
#
#     the tool runs, and notes each folder it lists and each file that counts (`Trace`) ─▶ `Kept`: their paths, and how
#     each looked ─▶ before the result is used again, one look at each of them (`Kept.holds`)
#
# Why that is enough: a name that comes, goes or turns into something else changes the times of its folder, and
# whatever is written into a file, or done to its rights, changes the times of the file. Both hold on the file systems
# named below, and on others nobody can rely on it: a network share may answer from its own memory, and a bucket that
# is mounted as a folder has no times of folders at all. And times are coarse: what changed a moment before the call
# began could change again and look the same, so then nothing is kept.
#
# What it cannot see: a program that has a file mapped into its memory and writes to it there. The kernel sets the
# times when a page is first written to, and again only after that page was written back to the disk (on tmpfs never);
# until then the content changes and nothing else does. A kept result may be older than such a write, but no older
# than results may be at all (`[cache] seconds`).

MOST_LOOKS = 5_000
"""Beyond this, looking again costs as much as the call: nothing is kept."""
_FINE, _COARSE = 20_000_000, 2_500_000_000
"""Nanoseconds that times may be behind: where they are fine, and where they may be whole seconds."""
_ROUND = 1_000_000
"""Nanoseconds. A time that is a multiple of this comes from a file system whose times are coarse."""
_DEPENDABLE = frozenset(
    ("ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs", "overlay", "f2fs", "zfs", "bcachefs")
)  # fmt: skip
_ITSELF = "/"
"""Ends the path of a folder of which only counts that it is the same one."""
_ESCAPES = (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\"))

_LookTrace = tuple[int, int, int, int, int, int]
"""Device, inode, mode, size, and when it was changed: its content, and anything about it."""
_PARTS, _CHANGED = 6, 5
_ABSENT: _LookTrace = (0, 0, 0, 0, 0, 0)


class Kept(Struct, frozen=True):
    """Paths below the root, each ended by a NUL, and the looks of all of them, one after the other."""

    paths: str
    looks: "array[int]"

    @property
    def weight(self) -> int:
        """Bytes that it takes."""
        return sys.getsizeof(self.paths) + sys.getsizeof(self.looks)

    def holds(self, root: str) -> bool:
        """Whether everything still looks the same."""
        try:
            folder = os.open(root, (O_PATH or os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return False
        looks = array("q")
        try:
            for path in self.paths.split("\0")[:-1]:
                looks.extend(_look_trace(folder, path))
        except (OSError, ValueError, OverflowError):
            return False
        finally:
            os.close(folder)
        return looks == self.looks


class Trace:
    """Filled while one call runs. Paths are true paths below the root, `""` the root itself; each is noted together
    with all folders above it, so that none of them can have been swapped."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._began = time_ns()
        self._paths: list[str] = []
        self._looks: list[int] = []
        self._device: int | None = None
        self._lost = False
        self.kept: Kept | None = None

    @property
    def paths(self) -> Sequence[str]:
        """What was noted so far. A path can be there twice: should it look different, nothing will ever hold."""
        return self._paths

    def lose(self) -> None:
        """What the result depends on cannot be told."""
        self._lost = True

    def begin(self, root: int, written: str, found: str) -> None:
        """The call begins at a path: as it was written, and its true path. Where a link leads it elsewhere, one would
        have to follow that again."""
        if "/".join(part for part in written.split("/") if part not in ("", ".")) != found or written.startswith("/"):
            self.lose()
        for at, sign in enumerate(f"{found}/"):
            if sign == "/" and found:
                self.look(root, found[:at])
        self.look(root, "")

    def folder(self, path: str, seen: os.stat_result) -> None:
        """A folder, as it looked before its names were read. What is mounted in the tree is another file system."""
        if self._device is None:
            self._device = seen.st_dev
        if seen.st_dev != self._device:
            self.lose()
        self.file(path, seen)

    def file(self, path: str, seen: os.stat_result) -> None:
        """A file whose content, size or time is part of the result."""
        self._paths.append(path)
        self._looks.extend(_signature(seen))

    def look(self, folder: int, name: str, path: str | None = None) -> None:
        """The same of something that need not be there, by its name in an open folder; `path` is the whole one. Of a
        name that ends with a slash only counts what is there, not what was done in it."""
        try:
            look = _look_trace(folder, name)
        except (OSError, ValueError):
            self.lose()
            return
        self._paths.append(name if path is None else path)
        self._looks.extend(look)

    def finish(self) -> None:
        """The call is done: what was noted becomes `kept`, unless something of it cannot be relied on."""
        known = not self._lost and 0 < len(self._paths) <= MOST_LOOKS
        if known and self._had_settled() and _dependable(self._root):
            self.kept = Kept("".join(f"{path}\0" for path in self._paths), array("q", self._looks))

    def _had_settled(self) -> bool:
        """Whether everything had rested when the call began, for longer than its times may be behind."""
        changes = self._looks[_CHANGED::_PARTS]
        recent = [change for change in changes if change >= self._began - _COARSE]
        return all(change % _ROUND and change < self._began - _FINE for change in recent)


_trace: ContextVar[Trace | None] = ContextVar("rightcall_trace", default=None)


@contextmanager
def tracing(root: str) -> Generator[Trace]:
    """Within, a tool that knows how notes what it looks at."""
    trace = Trace(root)
    token = _trace.set(trace)
    try:
        yield trace
    finally:
        _trace.reset(token)


def current_trace() -> Trace | None:
    """Where to note it; None where nobody wants to know."""
    return _trace.get()


def _look_trace(root: int, path: str) -> _LookTrace:
    try:
        seen = os.stat(path.rstrip(_ITSELF) or ".", dir_fd=root, follow_symlinks=False)
        return (seen.st_dev, seen.st_ino, seen.st_mode, 0, 0, 0) if path.endswith(_ITSELF) else _signature(seen)
    except (FileNotFoundError, NotADirectoryError):
        return _ABSENT


def _signature(seen: os.stat_result) -> _LookTrace:
    return seen.st_dev, seen.st_ino, seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def _dependable(root: str) -> bool:
    """Whether the root lies on a file system whose times tell every change. Elsewhere than on Linux nobody says so."""
    try:
        seen = os.stat(root)
    except OSError:
        return False
    return _dependable_at(root, seen.st_dev, seen.st_ino)


@lru_cache(maxsize=100)
def _dependable_at(root: str, _device: int, _inode: int) -> bool:
    """The same, found out once for a folder as long as it is on the same file system."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return False
    place, best, kind = os.path.realpath(root) + "/", "", ""
    for line in lines:
        fields, _, source = line.partition(" - ")
        where = fields.split(" ")[4]
        for escape, sign in _ESCAPES:
            where = where.replace(escape, sign)
        where = where.rstrip("/") + "/"
        if place.startswith(where) and len(where) >= len(best):  # the last one covers those before it
            best, kind = where, source.split(" ")[0]
    return kind in _DEPENDABLE


# ── cache ──
# Results that are kept: the least recently used goes first, what is too old no longer counts, and nobody can change
# what is inside.

_USUAL = CacheSettings()
_TIDY = 60.0
"""Seconds after which what is too old is thrown away, though nobody asks for it any more."""


class CacheStats(Struct, frozen=True):
    """How a cache has done since it was made, and what it holds now."""

    hits: int
    misses: int
    entries: int
    bytes: int
    """What the entries weigh."""


class _Entry(Struct, frozen=True, gc=False):
    data: bytes
    weight: int
    since: float
    """By the monotonic clock."""
    trace: Kept | None
    """What it was read from, where its key does not say that."""


class Cache:
    """Bounded in entries, in bytes and in seconds; 0 of one of the first two keeps nothing. Safe to use from several
    threads.

    >>> cache = Cache()
    >>> cache.put("add 1 2", Result(True, 3), 1)
    >>> cache.get("add 1 2")
    Result(ok=True, value=3, error=None, seconds=0.0, cached=True, cut=None, plain=False)
    """

    def __init__(
        self, entries: int = _USUAL.entries, bytes: int = _USUAL.bytes, seconds: float = _USUAL.seconds
    ) -> None:
        if entries < 0 or bytes < 0:
            raise ValueError("entries and bytes of a cache must be 0 or more")
        self._most_entries = entries
        self._most_bytes = bytes
        self._seconds = seconds
        self._tidied = monotonic()
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._bytes = self._hits = self._misses = 0
        self._decoder = msgpack.Decoder(Result)

    @classmethod
    def of(cls, settings: CacheSettings) -> Self:
        """As the policy wants it."""
        return cls(settings.entries if settings.enabled else 0, settings.bytes, settings.seconds)

    @property
    def keeps(self) -> bool:
        """Whether anything is kept at all."""
        return self._most_entries > 0 and self._most_bytes > 0

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def get(self, key: str, root: str = "") -> Result | None:
        """A copy of what is kept, marked as cached; None when nothing is, or when it no longer counts. Below `root` is
        what it was read from, where it has a trace."""
        with self._lock:
            entry = self._entries.get(key)
        counts = entry is not None and monotonic() - entry.since < self._seconds
        if entry is not None and counts and entry.trace is not None:
            counts = entry.trace.holds(root)  # outside the lock: it looks at files
        with self._lock:
            if entry is None or not counts:
                self._misses += 1
                if entry is not None and self._entries.get(key) is entry:
                    self._drop(key)
                return None
            self._hits += 1
            if key in self._entries:
                self._entries.move_to_end(key)
        return self._decoder.decode(entry.data)

    def put(self, key: str, result: Result, size: int = 0, trace: Kept | None = None) -> None:
        """Keep a result in place of an earlier one. It weighs `size` bytes, at least what it takes to keep it; one that
        is too heavy, or no plain data, is not kept."""
        try:
            data = msgpack.encode(replace(result, cached=True, seconds=0.0))
        except (TypeError, ValueError, OverflowError, RecursionError):
            data = None
        with self._lock:
            self._tidy()
            self._drop(key)
            if data is None:
                return
            weight = max(size, len(data) + len(key)) + (0 if trace is None else trace.weight)
            entry = _Entry(data, weight, monotonic(), trace)
            if entry.weight > self._most_bytes or not self._most_entries:
                return
            self._entries[key] = entry
            self._bytes += entry.weight
            while len(self._entries) > self._most_entries or self._bytes > self._most_bytes:
                self._drop(next(iter(self._entries)))

    def clear(self) -> None:
        """Forget everything that is kept; the counts stay."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    def stats(self) -> CacheStats:
        with self._lock:
            return CacheStats(self._hits, self._misses, len(self._entries), self._bytes)

    def _tidy(self) -> None:
        now = monotonic()
        if now - self._tidied < _TIDY:
            return
        self._tidied = now
        for key in [key for key, entry in self._entries.items() if now - entry.since >= self._seconds]:
            self._drop(key)

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.weight
