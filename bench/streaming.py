"""A text in small pieces, as it comes from a model; and whether time grows with the text and no faster."""

from collections.abc import Callable, Iterator

from bench.emissions import WRITERS, amid_prose, long_call, many_calls
from bench.inputs import EDIT, SEARCH, edits
from bench.prose import prose
from bench.table import Figure, micro
from bench.timing import best
from rightcall import Gate

PIECE = 4
"""Characters; about what one token is."""


def pieces_of(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def streams(gate: Gate, pieces: list[str]) -> Callable[[], None]:
    def run() -> None:
        feed = gate.stream()
        for piece in pieces:
            feed.push(piece)
        feed.close()

    return run


def per_piece(gate: Gate, text: str, repeats: int) -> tuple[float, float]:
    """Seconds for each piece of the stream, and what reading the whole at once takes for each."""
    pieces = pieces_of(text)
    taken = best({"": streams(gate, pieces), "whole": lambda: gate.read(text)}, repeats)
    return taken[""] / len(pieces), taken["whole"] / len(pieces)


def stream_speed() -> Iterator[Figure]:
    gate = Gate([SEARCH, EDIT])
    for what, text in (("plain", prose(100_000, plain=True)), ("with brackets and code", prose(100_000))):
        ours, whole = per_piece(gate, text, repeats=7)
        yield Figure(
            f"a stream in pieces of {PIECE}, prose, {what}: each piece / read at once",
            micro(ours),
            micro(whole),
            f"{ours / whole:.1f} x",
            "<= 3 µs",
            ours <= 3e-6,
        )
    for format_, write in WRITERS.items():
        text, _ = amid_prose(write("apply_edits", edits(10_000)), 12_000)
        assert [verdict.ok for verdict in gate.read(text).calls] == [True]
        ours, whole = per_piece(gate, text, repeats=3)
        what = f"a stream in pieces of {PIECE}, a call of 10 kB, {format_}: each piece / read at once"
        yield Figure(what, micro(ours), micro(whole), f"{ours / whole:.1f} x", "", None)


LONG: dict[str, Callable[[int], str]] = {"prose": prose, "one long call": long_call, "many calls": many_calls}
SIZES = (5_000, 50_000, 500_000, 5_000_000)


def long_texts() -> Iterator[Figure]:
    """Up to 5 MB, whole and in pieces. The limit on one argument text would end the long call early: it is raised."""
    gate = Gate([SEARCH, EDIT], policy={"gate": {"max_text": 2 * SIZES[-1]}})
    for kind, write in LONG.items():
        taken = [per_piece(gate, write(size), repeats=2) for size in SIZES]
        whole = [seconds / PIECE * 1e9 for _, seconds in taken]
        at_most = whole[-1] * SIZES[-1] / 1e9
        growth = max(whole[1:]) / whole[1]
        yield Figure(
            f"ns per byte at 5k, 50k, 500k, 5M: {kind}, read at once",
            ", ".join(f"{value:.0f}" for value in whole),
            f"{at_most:.2f} s in all",
            f"{growth:.2f} x",
            "<= 2 x from 50k, < 1 s",
            growth <= 2 and at_most < 1,
        )
        pieces = [seconds * 1e6 for seconds, _ in taken]
        growth = max(pieces) / pieces[0]
        yield Figure(
            f"µs per piece of {PIECE} at 5k, 50k, 500k, 5M: {kind}, streamed",
            ", ".join(f"{value:.1f}" for value in pieces),
            "",
            f"{growth:.2f} x",
            "<= 2 x",
            growth <= 2,
        )
