"""Results that are kept: the least recently used goes first, and nobody can change what is inside."""

import threading
from collections import OrderedDict

from msgspec import Struct, msgpack
from msgspec.structs import replace

from rightcall.types_running import Result

ENTRIES = 100
BYTES = 10_000_000


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


class Cache:
    """Bounded in entries and in bytes; 0 of either keeps nothing. Safe to use from several threads.

    >>> cache = Cache()
    >>> cache.put("add 1 2", Result(True, 3), 1)
    >>> cache.get("add 1 2")
    Result(ok=True, value=3, error=None, seconds=0.0, cached=True, cut=None, plain=False)
    """

    def __init__(self, entries: int = ENTRIES, bytes: int = BYTES) -> None:
        if entries < 0 or bytes < 0:
            raise ValueError("entries and bytes of a cache must be 0 or more")
        self._most_entries = entries
        self._most_bytes = bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._bytes = self._hits = self._misses = 0
        self._decoder = msgpack.Decoder(Result)

    def get(self, key: str) -> Result | None:
        """A copy of what is kept, marked as cached; None when nothing is."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                self._misses += 1
                return None
            self._hits += 1
            self._entries.move_to_end(key)
        return self._decoder.decode(entry.data)

    def put(self, key: str, result: Result, size: int = 0) -> None:
        """Keep a result in place of an earlier one. It weighs `size` bytes, at least what it takes to keep it; one that
        is too heavy, or no plain data, is not kept."""
        try:
            data = msgpack.encode(replace(result, cached=True, seconds=0.0))
        except (TypeError, ValueError, OverflowError, RecursionError):
            data = None
        with self._lock:
            self._drop(key)
            if data is None:
                return
            entry = _Entry(data, max(size, len(data) + len(key)))
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

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.weight
