"""Results that are kept: the least recently used goes first, what is too old no longer counts, and nobody can change
what is inside."""

import threading
from collections import OrderedDict
from time import monotonic
from typing import Self

from msgspec import Struct, msgpack
from msgspec.structs import replace

from rightcall.config_hands import CacheSettings
from rightcall.execute.trace import Kept
from rightcall.types_running import Result

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
