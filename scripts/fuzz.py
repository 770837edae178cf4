"""Looks for broken promises in random calls, for a set time.

    python scripts/fuzz.py [--seconds 600] [--seed WORD] [--start N]

Every case depends on the seed and its number alone: `--seed WORD --start N --seconds 0` runs case N again.
Findings, the shortest of each sort, are written to fuzz-findings/; exits with 1 when there is one.
"""

import argparse
import json
import logging
import secrets
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from fuzzing.damages import Damaged
from fuzzing.invariants import any_call, cut_call, faithful, right_call, wild
from fuzzing.tools import a_tool, a_value

FOLDER = ROOT / "fuzz-findings"
REDUCTION_SECONDS = 5.0


class Finding(NamedTuple):
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
    kind = random.choice(("right", "faithful", "faithful", "cut", "wild", "wild"))
    name, emission = kind, value
    if kind == "right":
        complaints = right_call(tool, value, random)
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


def save(finding: Finding, seed: str) -> Path:
    FOLDER.mkdir(exist_ok=True)
    name = "".join(letter if letter.isalnum() else "-" for letter in finding.sort)[:80]
    file = FOLDER / f"{name}.json"
    file.write_text(json.dumps({"seed": seed, **finding._asdict()}, indent=2, default=repr) + "\n", encoding="utf-8")
    return file


def run(seed: str, start: int, seconds: float) -> int:
    findings: dict[str, Finding] = {}
    counts: Counter[str] = Counter()
    began = told = time.monotonic()
    number = start
    while True:
        name, finding = case(seed, number)
        counts[name] += 1
        number += 1
        if finding:
            known = findings.get(finding.sort)
            if known is None:
                print(f"case {finding.number}: {finding.sort}\n  {finding.complaints[0][:300]}", flush=True)
            if known is None or len(repr(finding.emission)) < len(repr(known.emission)):
                findings[finding.sort] = finding
                save(finding, seed)
        now = time.monotonic()
        if now - told > 30:
            told = now
            print(f"{now - began:4.0f} s: {number - start} cases, {len(findings)} findings", flush=True)
        if now - began >= seconds:
            break
    print(f"{number - start} cases in {time.monotonic() - began:.0f} s: {dict(counts.most_common())}")
    print(f"{len(findings)} findings" + (f", the shortest of each in {FOLDER.name}/" if findings else ""))
    return 1 if findings else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Looks for broken promises in random calls.")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", default=secrets.token_hex(4))
    parser.add_argument("--start", type=int, default=0, help="the number of the first case")
    options = parser.parse_args()
    logging.disable()  # every refusal is a log line
    print(f"fuzzing for {options.seconds:g} s with --seed {options.seed}", flush=True)
    return run(options.seed, options.start, options.seconds)


if __name__ == "__main__":
    sys.exit(main())
