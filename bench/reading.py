"""Finding calls in prose: how long one takes, and how fast a text goes by that holds none."""
# pyright: reportMissingImports=false
# (the peers are installed by `make bench` only, in an environment of its own)

import json
import re
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any

import json_repair

from bench.emissions import WRITERS, amid_prose
from bench.inputs import EDIT, RIGHT, SEARCH
from bench.prose import prose
from bench.table import Figure, micro
from bench.timing import best
from rightcall import Gate
from rightcall.gate.recover.machine import REASONING, scanner_for
from rightcall.gate.recover.section import BLOCKS

Reader = Callable[[str], Any]

_HERMES = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.S)


def hermes_only(text: str) -> list[Any]:
    """The least that finding a call can cost, in one known format. It checks nothing and survives no damage."""
    return [json.loads(body) for body in _HERMES.findall(text)]


def peers() -> dict[str, dict[str, Reader]]:
    """By format, what else finds a call in prose: packages that extract JSON, for the formats that hold it."""
    found: dict[str, dict[str, Reader]] = {
        "hermes": {"a regex and json.loads, no peer but a lower bound": hermes_only},
        "bare JSON": {"json_repair": json_repair.loads},
    }
    if find_spec("llm_output_parser") is not None:
        from llm_output_parser import parse_json

        for format_ in ("hermes", "mistral", "bare JSON"):
            found.setdefault(format_, {})["llm_output_parser"] = parse_json
    return found


def holds(value: Any, wanted: Any) -> bool:
    """Whether the wanted value is this one or somewhere in it: peers return all JSON they see.

    >>> holds([[2], {"arguments": {"a": 1}}], {"a": 1})
    True
    """
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return value == wanted or any(holds(one, wanted) for one in inner)


def finds(gate: Gate, text: str, arguments: Mapping[str, Any], words: str) -> bool:
    """Whether the one call comes out right and the prose unchanged."""
    reading = gate.read(text)
    calls = [verdict.call.arguments if verdict.ok and verdict.call else None for verdict in reading.calls]
    return calls == [arguments] and reading.text == words


def reads(read: Reader, text: str) -> Callable[[], Any]:
    return lambda: read(text)


def one_call() -> Iterator[Figure]:
    gate = Gate([SEARCH, EDIT])
    others = peers()
    for format_, write in WRITERS.items():
        what = f"a call in 2 kB of prose, found and checked: {format_}"
        text, words = amid_prose(write("search_flights", RIGHT), 2_000)
        if not finds(gate, text, RIGHT, words):
            yield Figure(what, "not found", "", "", "< 80 µs", False)
            continue
        readers = {"": gate.read, **others.get(format_, {})}
        taken = best({name: reads(read, text) for name, read in readers.items()}, repeats=25)
        ours = taken.pop("")
        yield Figure(what, micro(ours), "", "", "< 80 µs", ours < 80e-6)
        for peer, seconds in taken.items():
            missed = "" if holds(readers[peer](text), RIGHT) else " (not found)"
            yield Figure(
                f"  {format_}: read / {peer}{missed}", micro(ours), micro(seconds), f"{ours / seconds:.2f} x", "", None
            )


def no_call() -> Iterator[Figure]:
    """The alternation is what anyone would write first; the scanner's own expression is what ours is made of."""
    gate = Gate([SEARCH, EDIT])
    scanner = scanner_for()
    words = sorted({*scanner.table, *REASONING, *REASONING.values(), *BLOCKS}, key=len, reverse=True)
    alternation = re.compile("|".join(map(re.escape, words)))
    for kind, text in (("plain", prose(1_000_000, plain=True)), ("with brackets and code", prose(1_000_000))):
        assert gate.read(text).text == text
        taken = best(
            {
                "read": reads(gate.read, text),
                f"one alternation of the {len(words)} opening words": reads(alternation.findall, text),
                "the scanner's expression alone": reads(scanner.pattern.findall, text),
            },
            repeats=7,
        )
        ours, *others = taken.values()
        target = (">= 100 MB/s or <= 3 x", len(text) / ours >= 100e6 or ours <= 3 * others[0])
        for peer, seconds in list(taken.items())[1:]:
            yield Figure(
                f"1 MB of prose, {kind}: read / {peer}",
                megabytes(text, ours),
                megabytes(text, seconds),
                f"{ours / seconds:.2f} x",
                *(target if seconds == others[0] else ("", None)),
            )


def megabytes(text: str, seconds: float) -> str:
    return f"{len(text) / seconds / 1e6:.0f} MB/s"


def read_speed() -> Iterator[Figure]:
    yield from one_call()
    yield from no_call()
