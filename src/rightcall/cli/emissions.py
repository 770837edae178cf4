"""Emissions for `rightcall eval`: the calls found in what a model wrote, and whether a stream finds the same.

Scored is what was found, before names and values are put right: the ordered list of names and arguments.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, cast

from rightcall.cli.evaluation import Result
from rightcall.cli.lines import InputError
from rightcall.cli.output import json_text
from rightcall.cli.readings import pieces_of, read_pieces, reading_record
from rightcall.cli.scoring import is_core, is_right, judge_emission
from rightcall.types import Reading

if TYPE_CHECKING:
    from rightcall.gate import Gate

SEED = 3
ROUNDS = 3
_LONGEST_PIECE = 24


def emission_case(
    case: Mapping[str, Any], flag: Mapping[str, Any], gate_of: Callable[[Any], "Gate"], number: int
) -> Result:
    """A whole emission through a gate that knows its tools, whole and in pieces."""
    text, expected, gate = _usable(case, flag, gate_of)
    name = str(case.get("id") or number)
    reading = gate.read(text)
    got = found_calls(reading)
    others = [_normal(cast(list[Any], other)) for other in flag.get("also_accept") or ()]
    outcome = judge_emission(expected, others, got)
    refusals = (verdict.hint for verdict in reading.calls if verdict.hint)
    return Result(
        id=name,
        group=str(case.get("format") or "(none)"),
        outcome=outcome,
        right=is_right(outcome),
        core=is_core(flag),
        recoverable=True,
        wrote=text,
        wanted=expected,
        got=got,
        reason="\n".join([*refusals, *(note.message for note in reading.notes)]),
        part="call" if expected else "none",
        stream=disagreement(gate, text, reading, name),
    )


def _usable(
    case: Mapping[str, Any], flag: Mapping[str, Any], gate_of: Callable[[Any], "Gate"]
) -> tuple[str, list[Any], "Gate"]:
    text = case["text"]
    if not isinstance(text, str):
        raise InputError("`text` is what the model wrote, a string")
    expected = flag.get("corrected", case["expected"])
    if not isinstance(expected, list) or not all(isinstance(call, dict) for call in cast(list[Any], expected)):
        raise InputError("`expected` is a list of calls, each an object with `name` and `arguments`")
    try:
        return text, _normal(cast(list[Any], expected)), gate_of(case.get("tools") or None)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"its tools cannot be used: {error}") from error


def found_calls(reading: Reading) -> list[Any]:
    """Name and arguments of every call that could be read, in order."""
    return [[verdict.found.name, verdict.found.arguments] for verdict in reading.calls if verdict.found]


def _normal(calls: list[dict[str, Any]]) -> list[Any]:
    """As `found_calls`; arguments given as JSON text are decoded, and none are no arguments."""
    return [[call.get("name"), _arguments(call.get("arguments"))] for call in calls]


def _arguments(given: Any) -> Any:
    if isinstance(given, str):
        try:
            return json.loads(given) if given.strip() else {}
        except ValueError:
            return given
    return {} if given is None else given


def disagreement(gate: "Gate", text: str, whole: Reading, seed: str) -> str:
    """How a stream of the same text gave other calls or other prose; empty where it never did."""
    wanted = _seen(whole, text)
    if _seen(read_pieces(gate, pieces_of(text, 1)), text) != wanted:
        return "character by character"
    random = Random(f"{SEED} {seed}")
    for _ in range(ROUNDS):
        pieces = list(random_pieces(text, random))
        if _seen(read_pieces(gate, pieces), text) != wanted:
            return f"in the pieces {json_text(pieces)}"
    return ""


def _seen(reading: Reading, text: str) -> str:
    """The calls with their verdicts and places, and the prose; as text, in which NaN equals itself."""
    record = reading_record(reading, text)
    del record["notes"]
    return json_text(record)


def random_pieces(text: str, random: Random) -> Iterator[str]:
    """The text cut at random, into pieces that are mostly short."""
    start = 0
    while start < len(text):
        end = start + random.randint(1, random.randint(1, _LONGEST_PIECE))
        yield text[start:end]
        start = end
