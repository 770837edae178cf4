"""One random case: of every sort there is, by its seed and number alone."""

import time
from functools import cache
from random import Random
from typing import Any, NamedTuple

from rightcall import Gate
from support.fuzzing.damages import Damaged
from support.fuzzing.hosts import PACKS, lenient_call, pack_call
from support.fuzzing.invariants import any_call, cut_call, faithful, right_call, wild
from support.fuzzing.reading import read_call
from support.fuzzing.tools import a_tool, a_value

REDUCTION_SECONDS = 2.0


@cache
def packed(pack: str) -> Gate:
    return Gate(packs=[pack])


class Finding(NamedTuple):
    """A case that broke a promise; `sort` is the same for cases that break it in the same way."""

    sort: str
    number: int
    tool: dict[str, Any]
    value: Any
    emission: Any
    complaints: list[str]


def case(seed: str, number: int) -> tuple[str, Finding | None]:
    """The sort of the case, and what it found."""
    random = Random(f"{seed}:{number}")
    tool = a_tool(random)
    value = a_value(random, tool["parameters"])
    kind = random.choice(("right", "faithful", "faithful", "cut", "wild", "wild", "lenient", "pack", "read", "read"))
    name, emission = kind, value
    if kind == "right":
        complaints = right_call(tool, value, random)
    elif kind == "lenient":
        emission = random.choice((wild(value, random), faithful(tool, value, random)[1])).emission
        complaints = lenient_call(tool, emission, random)
    elif kind == "pack":
        emission, complaints = pack_call(packed(random.choice(PACKS)), random)
    elif kind == "read":
        emission, complaints = read_call(random)
    elif kind == "cut":
        emission, complaints = cut_call(tool, value, random)
    else:
        name, damaged = faithful(tool, value, random) if kind == "faithful" else (kind, wild(value, random))
        emission, complaints = damaged.emission, any_call(tool, damaged)
        if complaints and kind == "wild":
            emission, complaints = reduced(tool, emission, complaints)
    if not complaints:
        return name, None
    sort = f"{name}: {complaints[0].split(':')[0]}"
    return name, Finding(sort, number, tool, value, emission, complaints)


def reduced(tool: dict[str, Any], text: str, complaints: list[str]) -> tuple[str, list[str]]:
    """The text with everything left out that the finding does not need."""
    sort, step, deadline = complaints[0].split(":")[0], max(1, len(text) // 2), time.monotonic() + REDUCTION_SECONDS
    while step and time.monotonic() < deadline:
        at = 0
        while at < len(text):
            shorter = text[:at] + text[at + step :]
            found = any_call(tool, Damaged(shorter, None))
            if found and found[0].split(":")[0] == sort:
                text, complaints = shorter, found
            else:
                at += step
        step //= 2
    return text, complaints
