"""What the proxy costs, beside LiteLLM's in the same run: CPU of the proxy's process, with a scripted model server and
the clients in processes of their own. Every answer is looked at: none may be lost or changed that should not be.

"Bare" is the same server and the same client of ours without the engine: a path that passes untouched.
"""

import gc
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.proxy_contenders import Contender, Cost, cost, idle, litellm, load, rightcall, upstream
from bench.proxy_script import events_in
from bench.table import Figure, micro
from bench.timing import all_cores

CHUNKS = 200
ROUNDS = 2
WHOLE = (("plain", "no call"), ("right", "a right call"), ("repaired", "a call repaired"), ("lifted", "a call lifted"))
PACED = ((1, 5, 3), (8, 5, 2), (50, 10, 1), (200, 25, 1))
"""Streams at a time, milliseconds between chunks, streams one after another."""
BARE = "/bare/chat/completion"
STALLED = 20
MEGABYTES = 100


class Field(NamedTuple):
    """Who takes part, and what each takes when nobody asks."""

    server: Contender
    ours: Contender
    peer: Contender | None
    resting: dict[str, float]

    def least(self, *given: tuple[str, Contender | None, str, dict[str, Any]]) -> dict[str, Cost]:
        """The cheapest of a few rounds, in which the contenders take turns."""
        best: dict[str, Cost] = {}
        for nth in range(ROUNDS):
            for name, contender, path, job in given:
                if contender is None or (nth > 0 and contender is self.peer):
                    continue
                asked = contender.job(path, **job)
                if contender is self.peer:  # it takes long: one round, and a quarter of the requests
                    asked.count = max(asked.connections, asked.count // 4)
                taken = cost(contender, asked, self.resting[contender.name])
                if name not in best or taken.cpu < best[name].cpu:
                    best[name] = taken
        return best

    def trio(self, job: dict[str, Any], path: str = "/v1/chat/completions") -> tuple[Cost, Cost, Cost | None]:
        """Ours, bare, and LiteLLM's."""
        bare = {**job, "check": "bytes"}
        found = self.least(
            ("ours", self.ours, path, job), ("bare", self.ours, BARE, bare), ("peer", self.peer, path, job)
        )
        return found["ours"], found["bare"], found.get("peer")


def _figures(what: str, each: tuple[float, float, float | None], target: str, met: bool | None) -> Iterator[Figure]:
    ours, bare, peer = each
    if peer is not None:
        yield Figure(f"{what} / LiteLLM", micro(ours), micro(peer), f"1 : {peer / ours:.1f}", target, met)
    told = ("", None) if peer is not None else (target, met)
    yield Figure(f"{what} / bare", micro(ours), micro(bare), f"{ours / bare:.1f} x", *told)


def _each(found: tuple[Cost, Cost, Cost | None], by: int = 1) -> tuple[float, float, float | None]:
    ours, bare, peer = found
    return ours.cpu / by, bare.cpu / by, peer.cpu / by if peer else None


def whole_answers(field: Field) -> Iterator[Figure]:
    for kind, words in WHOLE:
        check = "bytes" if kind in ("plain", "right") else "call"
        job: dict[str, Any] = {"kind": kind, "count": 400, "connections": 4, "check": check}
        each = _each(field.trio(job))
        yield from _figures(f"an answer of 2 kB, {words}: CPU", each, "<= 1.5 ms", each[0] <= 1.5e-3)


def streams(field: Field) -> Iterator[Figure]:
    for many, apart, turns in PACED:
        job = {"chunks": CHUNKS, "gap": apart * 1000, "count": many * turns, "connections": many}
        each = _each(field.trio(job), events_in(CHUNKS))
        what = f"streams at a time: {many}, a chunk every {apart} ms: CPU a chunk"
        yield from _figures(what, each, "<= 60 µs", each[0] <= 60e-6)
    for many in (1, 50):
        job = {"chunks": CHUNKS, "gap": 0, "count": 50, "connections": many}
        each = _each(field.trio(job), events_in(CHUNKS))
        what = f"streams at a time: {many}, as fast as can be: CPU a chunk"
        yield from _figures(what, each, "<= 60 µs", each[0] <= 60e-6)
    for kind, words in WHOLE[1:]:
        check = "bytes" if kind == "right" else "call"
        job = {"kind": kind, "chunks": CHUNKS, "gap": 10_000, "count": 50, "connections": 50, "check": check}
        each = _each(field.trio(job), events_in(CHUNKS))
        what = f"streams at a time: 50, a chunk every 10 ms, {words}: CPU a chunk"
        yield from _figures(what, each, "<= 60 µs", each[0] <= 60e-6)


def first_token(field: Field) -> Iterator[Figure]:
    job: dict[str, Any] = {"chunks": 1, "count": 200, "connections": 1}
    each = _each(field.trio(job))
    yield from _figures("from the request to its first token: CPU", each, "<= 2 ms", each[0] <= 2e-3)
    middle: dict[str, float] = {}
    for _ in range(ROUNDS):
        for one in (field.server, field.ours, field.peer):
            if one is not None:
                taken = statistics.median(load(one.job(**job)).first)
                middle[one.name] = min(taken, middle.get(one.name, taken))
    ours = middle["RightCall"] - middle["direct"]
    peer = middle["LiteLLM"] - middle["direct"] if field.peer is not None else None
    yield Figure(
        "the same: time added to asking the server itself (median)", micro(ours), micro(peer) if peer else "",
        f"1 : {peer / ours:.1f}" if peer else "", "<= 2 ms", ours <= 2e-3,
    )  # fmt: skip


def untouched(field: Field) -> Iterator[Figure]:
    job: dict[str, Any] = {"get": True, "count": 4_000, "connections": 32}
    found = field.least(("ours", field.ours, "/plain", job), ("peer", field.peer, "/plain", job))
    ours, peer = found["ours"], found.get("peer")
    yield Figure(
        "requests a second over an untouched path / LiteLLM's pass-through", f"{ours.rate:,.0f}",
        f"{peer.rate:,.0f}" if peer else "", f"{ours.rate / peer.rate:.1f} x" if peer else "",
        ">= 1,000", ours.rate >= 1_000,
    )  # fmt: skip
    yield Figure(
        "the same: CPU a request", micro(ours.cpu), micro(peer.cpu) if peer else "",
        f"1 : {peer.cpu / ours.cpu:.1f}" if peer else "", "", None,
    )  # fmt: skip


def memory(field: Field, before: float) -> Iterator[Figure]:
    """After all of the above, and while clients do not read what a server sends without end."""
    after = field.ours.memory()
    peer = f"{field.peer.memory():.0f} MB" if field.peer is not None else ""
    yield Figure(
        "memory before the first and after the last of 200 streams at a time", f"{before:.0f} and {after:.0f} MB", peer,
        "", "< 100 MB", after < 100,
    )  # fmt: skip
    chunks = MEGABYTES * 1_000_000 // STALLED // 200
    load(field.ours.job(chunks=chunks, count=STALLED, connections=STALLED, check="status", stall=3.0))
    stalled = field.ours.memory()
    yield Figure(
        f"memory after {STALLED} clients read nothing of {MEGABYTES} MB for 3 s", f"{stalled:.0f} MB", "", "",
        "< 40 MB more", stalled - after < 40,
    )  # fmt: skip


def proxying() -> Iterator[Figure]:
    all_cores()
    gc.collect()
    with (
        tempfile.TemporaryDirectory() as folder,
        upstream() as server,
        rightcall(server, Path(folder)) as ours,
        litellm(server, Path(folder)) as peer,
    ):
        for one in (ours, peer):
            if one is not None:
                cost(one, one.job(count=30), 0.0)
                cost(one, one.job(chunks=20, count=10), 0.0)
        contenders = [one for one in (ours, peer) if one is not None]
        field = Field(server, ours, peer, {one.name: idle(one) for one in contenders})
        before = ours.memory()
        for part in (whole_answers, first_token, streams, untouched):
            yield from _told(part(field))
        yield from _told(memory(field, before))
        yield Figure(*_busy(), "", "", "", None)


def _busy() -> tuple[str, str]:
    """CPU times tell little where others take the caches away: then this is not near 1 or 2."""
    return f"load of the machine meanwhile, {os.cpu_count()} cores", f"{os.getloadavg()[1]:.1f}"


def _told(figures: Iterator[Figure]) -> Iterator[Figure]:
    """All of it takes minutes: whoever waits sees each as it comes."""
    for figure in figures:
        sys.stderr.write(f"{figure.what}: {figure.ours} {figure.peer} {figure.ratio}\n")
        yield figure
