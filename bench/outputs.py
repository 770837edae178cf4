"""Recorded outputs of a real small model: nothing is raised, and what was cut off inside a value never runs.

The outputs were asked for with tools of four packs. Whether a text ends inside a value is judged here, from the text
alone; the gate's own word on it is what is being measured.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.table import WORDS, columns
from rightcall import Gate
from rightcall.types import Reading, Verdict

PACKS = ("code", "agent-zero", "claude", "composio")

_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*("?)|[{}\[\]]', re.S)
_COMPLETE = ('"', "'", "}", "]", "{", "[", ",", ":", "true", "false", "null", "True", "False", "None")


def ends_inside_value(text: str) -> bool:
    """Whether the object in a text stops in the middle of a string, a number or a word.

    >>> [ends_inside_value(text) for text in ('{"path": "src/ap', '{"line": 12', '{"path": "src"', '{"line": 12} …')]
    [True, True, False, False]
    """
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text, max(0, text.find("{"))):
        if found[0][0] == '"':
            if len(found[0]) < 2 or not found[1]:
                return True
        else:
            depth += 1 if found[0] in "{[" else -1
            if depth == 0:
                return False
    return depth > 0 and not text.rstrip().endswith(_COMPLETE)


def taken_though_cut(reading: Reading, text: str) -> list[Verdict]:
    """The calls that are ok although the text ends inside one of their values."""
    return [
        verdict
        for verdict, place in zip(reading.calls, reading.places, strict=True)
        if verdict.ok and place.end >= len(text.rstrip()) and ends_inside_value(text[place.start :])
    ]


def cuts(reading: Reading, text: str) -> Iterator[str]:
    """The text ended everywhere inside the first call that is sound JSON; there it is sure what is cut."""
    for verdict, place in zip(reading.calls, reading.places, strict=True):
        first = text.find("{", place.start, place.end)
        if verdict.ok and first >= 0:
            try:
                _, end = json.JSONDecoder().raw_decode(text, first)
            except ValueError:
                continue
            yield from (text[:at] for at in range(first + 1, end))
            return


def counts(gate: Gate, row: Mapping[str, Any]) -> Counter[str]:
    """What came of one output."""
    text, ended = row["raw"], row["finish_reason"]
    words = Counter(n=1)
    try:
        reading = gate.read(text, ended)
        ok = any(verdict.ok for verdict in reading.calls)
        words["ok" if ok else "refused" if reading.calls else "none"] += 1
        words["cut, ok"] += ended == "length" and bool(taken_though_cut(reading, text))
        for shorter in cuts(reading, text):
            words["cuts"] += 1
            words["cuts, ok"] += bool(taken_though_cut(gate.read(shorter), shorter))
    except Exception:  # noqa: BLE001 - that it is raised is the finding
        words["raised"] += 1
    return words


HEADINGS = ("n", "ok", "refused", "none", "cut, ok", "cuts", "cuts, ok", "raised")
FORBIDDEN = ("cut, ok", "cuts, ok", "raised")
LEGEND = """\
cut, ok: the token limit ended the text inside a value, and the call is ok all the same
cuts: every sound call ended at each of its characters and read again"""


def small_model(file: Path) -> bool:
    """Print a table for each gate; True when nothing happened that must not."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    sound = bool(rows)
    for name, gate in (("with the tools of the packs", Gate(packs=PACKS)), ("without tools", Gate())):
        tallies: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for row in rows:
            tallies[row["format"]] += counts(gate, row)
        tallies["all"] = sum(tallies.values(), Counter[str]())
        lines = [(group, *(str(words[head]) for head in HEADINGS)) for group, words in tallies.items()]
        print(columns([(name, *HEADINGS), *lines]), end="\n\n")
        sound = sound and not any(tallies["all"][word] for word in FORBIDDEN)
    print(f"{LEGEND}\nmust be 0: {'; '.join(FORBIDDEN)}: {WORDS[sound]}")
    return sound
