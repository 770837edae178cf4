"""Scores on corpora, which are not ours and not in the repository: they are read where they are.

Judging is done by `rightcall eval`, so that anyone can have each figure, and the failing cases behind it, by hand.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.outputs import small_model
from bench.table import WORDS, columns

EVAL = [sys.executable, "-c", "import sys; from rightcall.cli import main; sys.exit(main())", "eval"]
OUTCOMES = ("n", "exact", "accepted", "refused", "wrong")
PARTS = {"": "", "expects_call": ", expects a call", "expects_none": ", expects none"}
TARGETS = {"core, expects a call": 95, "core, expects none": 99}
"""Percent that must be right; the rest is shown and not promised."""


def evaluation(file: Path) -> list[str]:
    """The command that judges a corpus, with its flags where it has some."""
    flags = file.with_name(f"{file.stem}_flags.jsonl")
    return [*EVAL, str(file), *(["--flags", str(flags)] if flags.is_file() else [])]


def tables(file: Path) -> bool:
    """What `rightcall eval` prints; True when it could judge."""
    return subprocess.run(evaluation(file), check=False).returncode == 0


def emissions(file: Path) -> bool:
    """Whole and core, what holds calls and what holds none, and the streams; True when every target is reached."""
    done = subprocess.run([*evaluation(file), "--json"], check=False, stdout=subprocess.PIPE)
    if done.returncode:
        return False
    scores: dict[str, Any] = json.loads(done.stdout)
    totals = scores["totals"]
    rows = list(_emission_rows(totals))
    streams = totals["streams"]
    rows.append(("the same as a stream", str(scores["cases"]), str(streams["agree"]), "", "", "",
                 *_against(streams["agree_percent"], 100)))  # fmt: skip
    print(columns([("emissions", *OUTCOMES, "right", "target", ""), *rows]))
    if behind := [f"{name} {one['right_percent']} %" for name, one in _worst(scores["core_groups"])]:
        print(f"formats not all right in the core: {', '.join(behind)}")
    return not any(row[-1] == WORDS[False] for row in rows)


def _emission_rows(totals: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for whole in ("all", "core"):
        for part, words in PARTS.items():
            score = totals[whole][part] if part else totals[whole]
            name = whole + words
            yield name, *(str(score[word]) for word in OUTCOMES), *_against(score["right_percent"], TARGETS.get(name))


def _against(percent: float | None, target: int | None) -> tuple[str, str, str]:
    """A percentage, the target and whether it is met; of no cases nothing can be said."""
    shown = "–" if percent is None else f"{percent} %"
    if target is None or percent is None:
        return shown, "", WORDS[None]
    return shown, f">= {target} %", WORDS[percent >= target]


def _worst(groups: dict[str, Any]) -> list[tuple[str, Any]]:
    behind = ((name, score) for name, score in groups.items() if score["right_percent"] < 100)
    return sorted(behind, key=lambda one: one[1]["right_percent"])


CORPORA = {
    "calls": ("corrupted_calls.jsonl", tables),
    "json": ("malformed_json.jsonl", tables),
    "emissions": ("toolcalls.jsonl", emissions),
    "outputs": ("smollm2_outputs.jsonl", small_model),
}


def corpora(folder: Path, parts: list[str]) -> bool:
    """Score the files that are there; True when there is one and nothing failed."""
    results: list[bool] = []
    for name, score in (CORPORA[part] for part in CORPORA if part in parts):
        file = folder / name
        print(f"\n{name}{'' if file.is_file() else ': not in this folder'}", flush=True)
        results += [score(file)] if file.is_file() else []
    return all(results) and (bool(results) or not CORPORA.keys() & set(parts))


def pages(folder: Path) -> bool:
    """The summary of `bench.pages`; it can list every finding."""
    print("\npages without a call", flush=True)
    return (
        subprocess.run([sys.executable, "-m", "bench.pages", str(folder), "--show", "0"], check=False).returncode == 0
    )
