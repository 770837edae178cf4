"""The fast path, broken JSON beside the peers, and whether time grows with the text and no faster."""
# pyright: reportMissingImports=false
# (the peers are installed by `make bench` only, in an environment of its own)

import json
from collections.abc import Callable, Iterator
from typing import Any

import fast_json_repair
import json_repair
import jsonschema_rs
import orjson

from bench.inputs import EDIT, RIGHT, SEARCH, broken
from bench.table import Figure, micro
from bench.timing import best
from rightcall import Gate, Unreadable, loads


def fast_path() -> Iterator[Figure]:
    gate = Gate([SEARCH])
    valid = jsonschema_rs.validator_for(SEARCH["parameters"]).is_valid
    text = json.dumps(RIGHT)
    verdict = gate.check("search_flights", RIGHT)
    assert verdict.call is not None
    assert verdict.call.arguments is RIGHT
    taken = best(
        {
            "check": lambda: gate.check("search_flights", RIGHT),
            "valid": lambda: valid(RIGHT),
            "check text": lambda: gate.check("search_flights", text),
            "load and valid": lambda: valid(orjson.loads(text)),
            "nothing": lambda: None,
        },
        repeats=40,
    )
    # The empty lambda is what the measuring itself costs; both sides are without it.
    ours, peer, ours_text, peer_text = (taken[name] - taken["nothing"] for name in list(taken)[:4])
    yield Figure(
        "right call, a dict: check / jsonschema_rs is_valid",
        micro(ours),
        micro(peer),
        f"{ours / peer:.2f} x",
        "<= 4 x, < 1.5 µs",
        ours <= 4 * peer and ours < 1.5e-6,
    )
    yield Figure(
        "right call, JSON text: check / orjson.loads + is_valid",
        micro(ours_text),
        micro(peer_text),
        f"{ours_text / peer_text:.2f} x",
        "<= 2.5 x",
        ours_text <= 2.5 * peer_text,
    )


def ours_free(text: str) -> Any:
    return loads(text).value


def ours_led(text: str) -> Any:
    return loads(text, EDIT["parameters"]).value


READERS: dict[str, Callable[[str], Any]] = {
    "rightcall": ours_free,
    "rightcall, led by the schema": ours_led,
    "json_repair": json_repair.loads,
    "fast_json_repair": fast_json_repair.loads,
}


def reads(reader: Callable[[str], Any], text: str, meant: Any) -> bool:
    try:
        return reader(text) == meant
    except (ValueError, RecursionError, Unreadable):
        return False


def quietly(reader: Callable[[str], Any], text: str) -> Callable[[], object]:
    """A peer that raises is timed like one that answers."""

    def run() -> object:
        try:
            return reader(text)
        except (ValueError, RecursionError, Unreadable):
            return None

    return run


def broken_json(size: int, name: str, each: bool) -> Iterator[Figure]:
    cases = broken(size)
    totals = dict.fromkeys(READERS, 0.0)
    right = {reader: sum(reads(read, text, meant) for _, text, meant in cases) for reader, read in READERS.items()}
    for damage, text, _ in cases:
        taken = best({reader: quietly(read, text) for reader, read in READERS.items()}, repeats=7)
        for reader, seconds in taken.items():
            totals[reader] += seconds / len(cases)
        if each:
            ours, peer = taken["rightcall"], taken["json_repair"]
            yield Figure(f"  {name}: {damage}", micro(ours), micro(peer), f"{peer / ours:.1f} x faster", "", None)
    ours = totals["rightcall"]
    for peer in list(READERS)[1:]:
        yield Figure(
            f"broken JSON, {name}: loads / {peer} ({right['rightcall']} and {right[peer]} of {len(cases)} right)",
            micro(ours),
            micro(totals[peer]),
            f"{totals[peer] / ours:.2f} x faster" if peer.endswith("repair") else f"{totals[peer] / ours:.2f} x",
            ">= 5 x faster" if peer == "json_repair" else "",
            totals[peer] >= 5 * ours if peer == "json_repair" else None,
        )


def linear() -> Iterator[Figure]:
    """Nanoseconds per byte over a thousandfold: a quadratic reader would show a thousandfold."""
    sizes = (1_000, 10_000, 100_000, 1_000_000)
    for damage in ("single quotes", "raw line breaks", "commas missing", "quotes in a string", "python quotes"):
        texts = [next(text for name, text, _ in broken(size) if name == damage) for size in sizes]
        per_byte = [best({"": quietly(ours_free, text)}, repeats=3)[""] / len(text) * 1e9 for text in texts]
        shown = ", ".join(f"{value:.0f}" for value in per_byte)
        growth = per_byte[-1] / per_byte[1]
        yield Figure(
            f"ns per byte at 1k, 10k, 100k, 1M: {damage}", shown, "", f"{growth:.2f} x", "<= 2 x from 10k", growth <= 2
        )
