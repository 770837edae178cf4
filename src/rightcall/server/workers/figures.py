"""The figures of all workers as one: what each of them says at `/metrics`, added up line by line.

Counters and the parts of histograms add up. So do the gauges of those that live; those of the dead count nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

_TYPE = "# TYPE "


def merged(texts: Iterable[str]) -> str:
    """Several texts in Prometheus' format as one.

    >>> one = "# HELP a about\\n# TYPE a counter\\na{b=\\"x\\"} 1\\n"
    >>> print(merged([one, one.replace(" 1", " 2") + "# HELP g now\\n# TYPE g gauge\\ng 1\\n"]), end="")
    # HELP a about
    # TYPE a counter
    a{b="x"} 3
    # HELP g now
    # TYPE g gauge
    g 1
    """
    families: dict[str, dict[str, float]] = {}
    heads: dict[str, list[str]] = {}
    for text in texts:
        name = ""
        for line in text.splitlines():
            if line.startswith("#"):
                name = line.split(" ", 3)[2]
                head = heads.setdefault(name, [])
                if line not in head:
                    head.append(line)
                families.setdefault(name, {})
            elif line:
                sample, _, figure = line.rpartition(" ")
                values = families[name]
                values[sample] = round(values.get(sample, 0) + _number(figure), 6)
    lines: list[str] = []
    for name, values in families.items():
        lines += heads[name]
        lines += [f"{sample} {value}" for sample, value in values.items()]
    return "".join(f"{line}\n" for line in lines)


def _number(text: str) -> float:
    return int(text) if text.lstrip("-").isdigit() else float(text)


def without_gauges(text: str) -> str:
    """What still counts of a worker that is gone."""
    gauges = {line.split(" ")[2] for line in text.splitlines() if line.startswith(_TYPE) and line.endswith(" gauge")}
    kept: list[str] = []
    name = ""
    for line in text.splitlines(keepends=True):
        if line.startswith("#"):
            name = line.split(" ", 3)[2]
        if name not in gauges:
            kept.append(line)
    return "".join(kept)


class Figures:
    """What the workers said last, and all that those said that are gone."""

    def __init__(self) -> None:
        self._said: dict[Hashable, str] = {}
        self._gone = ""

    def take(self, worker: Hashable, text: str) -> None:
        self._said[worker] = text

    def bury(self, worker: Hashable) -> None:
        last = self._said.pop(worker, "")
        self._gone = merged([self._gone, without_gauges(last)])

    def text(self) -> str:
        return merged([*self._said.values(), self._gone])
