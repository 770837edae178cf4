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

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.fuzzing.cases import Finding, case

FOLDER = ROOT / "fuzz-findings"


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
