"""Results that are kept: bounded, least recently used first, unchangeable."""

import threading
from array import array
from collections import OrderedDict
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.policy.settings import CacheSettings
from rightcall.policy.types import Result
from rightcall.tools.state import Cache, Kept, Trace


@pytest.mark.promise("X-04")
def test_what_is_kept_comes_back_marked_as_cached() -> None:
    cache = Cache()
    result = Result(ok=True, value={"rows": [1, "ü", None, 2.5, True]}, seconds=1.5, cut="some")
    assert cache.get("k") is None
    cache.put("k", result, 10)
    assert cache.get("k") == Result(ok=True, value=result.value, cached=True, cut="some")
    assert msgspec.structs.asdict(cache.stats())["hits"] == 1
    assert cache.stats().misses == 1


@pytest.mark.promise("X-04")
def test_nobody_can_change_what_is_kept() -> None:
    cache, value = Cache(), {"rows": [1]}
    cache.put("k", Result(ok=True, value=value), 10)
    value["rows"].append(2)
    first: Any = cache.get("k")
    first.value["rows"].append(3)
    again: Any = cache.get("k")
    assert again.value == {"rows": [1]}


@pytest.mark.promise("X-04")
def test_the_least_recently_used_goes_first() -> None:
    cache = Cache(entries=2)
    cache.put("a", Result(True, 1), 1)
    cache.put("b", Result(True, 2), 1)
    assert cache.get("a")
    cache.put("c", Result(True, 3), 1)
    assert [cache.get(key) is not None for key in "abc"] == [True, False, True]


@pytest.mark.promise("X-04")
def test_the_bytes_are_bounded_and_what_is_larger_is_not_kept() -> None:
    cache = Cache(bytes=1_000)
    cache.put("small", Result(True, "x"), 100)
    cache.put("huge", Result(True, "x" * 1_001), 0)
    assert cache.get("huge") is None
    cache.put("declared huge", Result(True, "x"), 1_001)
    assert cache.get("declared huge") is None
    assert cache.get("small")
    cache.put("large", Result(True, "x" * 900), 0)
    assert cache.get("small") is None
    assert cache.stats().entries == 1
    assert 900 < cache.stats().bytes <= 1_000


def test_a_result_that_is_too_large_takes_the_place_of_the_old_one_by_nothing() -> None:
    cache = Cache(bytes=1_000)
    cache.put("k", Result(True, "old"), 1)
    cache.put("k", Result(True, "x" * 2_000), 1)
    assert cache.get("k") is None
    assert (cache.stats().entries, cache.stats().bytes) == (0, 0)


@pytest.mark.parametrize("value", [object(), "\ud800", 2**70])
def test_what_is_no_plain_data_is_not_kept(value: Any) -> None:
    cache = Cache()
    cache.put("k", Result(True, value), 1)
    assert cache.get("k") is None


@pytest.mark.parametrize("bounds", [{"entries": 0}, {"bytes": 0}])
def test_a_bound_of_zero_keeps_nothing(bounds: dict[str, int]) -> None:
    cache = Cache(**bounds)
    cache.put("k", Result(True, 1), 0)
    assert cache.get("k") is None


def test_a_negative_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        Cache(entries=-1)


def test_it_can_be_emptied() -> None:
    cache = Cache()
    cache.put("k", Result(True, 1), 5)
    cache.clear()
    assert cache.get("k") is None
    assert cache.stats().bytes == 0


KEYS = st.sampled_from("abcdef")
STEPS = st.lists(st.tuples(st.just("get"), KEYS, st.just(0)) | st.tuples(st.just("put"), KEYS, st.integers(60, 400)))


@pytest.mark.promise("X-04")
@given(STEPS, st.integers(0, 4), st.integers(0, 1_000))
def test_it_does_what_a_naive_cache_does(steps: list[tuple[str, str, int]], entries: int, size: int) -> None:
    cache = Cache(entries, size)
    naive: OrderedDict[str, tuple[int, int]] = OrderedDict()
    hits = misses = 0
    for number, (step, key, weight) in enumerate(steps):
        if step == "put":
            cache.put(key, Result(True, number), weight)
            naive.pop(key, None)
            if weight <= size and entries:
                naive[key] = (number, weight)
            while len(naive) > entries or sum(weight for _, weight in naive.values()) > size:
                naive.popitem(last=False)
        else:
            found = cache.get(key)
            hits, misses = hits + (key in naive), misses + (key not in naive)
            if key in naive:
                naive.move_to_end(key)
            assert (found.value if found else None) == (naive[key][0] if key in naive else None)
        weights = sum(weight for _, weight in naive.values())
        assert cache.stats() == type(cache.stats())(hits, misses, len(naive), weights)


def test_threads_share_it() -> None:
    cache, wrong = Cache(entries=8, bytes=4_000), list[Any]()

    def use(seed: int) -> None:
        for number in range(2_000):
            key = str((number * seed) % 16)
            found = cache.get(key)
            if found is not None and found.value != key * 50:
                wrong.append(found)
            cache.put(key, Result(True, key * 50), 0)

    workers = [threading.Thread(target=use, args=(seed,)) for seed in (1, 3, 5, 7)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    stats = cache.stats()
    assert wrong == []
    assert stats.hits + stats.misses == 8_000
    assert stats.entries <= 8
    assert stats.bytes <= 4_000


@pytest.mark.promise("C-75")
def test_what_is_too_old_no_longer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("rightcall.tools.state.monotonic", lambda: now[0])
    cache = Cache(seconds=60)
    cache.put("k", Result(True, 1))
    now[0] += 59.9
    assert cache.get("k")
    now[0] += 0.2  # a hit does not make it younger
    assert cache.get("k") is None
    assert cache.stats().entries == 0


@pytest.mark.promise("C-75")
def test_what_is_too_old_does_not_take_room_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("rightcall.tools.state.monotonic", lambda: now[0])
    cache = Cache(seconds=30)
    cache.put("old", Result(True, 1))
    now[0] += 40
    cache.put("new", Result(True, 2))
    assert cache.stats().entries == 2
    now[0] += 25
    cache.put("newer", Result(True, 3))
    assert (cache.stats().entries, cache.get("new") is not None) == (2, True)


@pytest.mark.promise("C-75")
def test_a_result_that_was_read_from_files_counts_as_long_as_they_look_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    trace = Trace(str(tmp_path))
    trace.file("a", (tmp_path / "a").lstat())
    kept = Kept("a\0", array("q", trace._looks))
    cache = Cache()
    cache.put("k", Result(True, 1), trace=kept)
    assert cache.stats().bytes > kept.weight
    assert cache.get("k", str(tmp_path))
    (tmp_path / "a").write_text("xy")
    assert cache.get("k", str(tmp_path)) is None
    assert cache.get("k", str(tmp_path / "gone")) is None
    assert cache.stats().bytes == 0


def test_as_the_policy_wants_it() -> None:
    assert not Cache.of(CacheSettings(enabled=False)).keeps
    assert Cache.of(CacheSettings()).keeps
