"""What the server counts, in Prometheus' text format 0.0.4. Kept by hand: a few dictionaries in one thread."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from rightcall.base.http.errors import Kind
from rightcall.serve.refusals import Reason

Change = Literal["repaired", "lifted", "left", "retried", "taught", "observed"]
Statistics = Callable[[], Mapping[str, Mapping[str, Any]]]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_MOST_TOOLS: Final = 1_000
_OTHER: Final = "(other)"


def _no_statistics() -> Mapping[str, Mapping[str, Any]]:
    return {}


class Metrics:
    """`statistics` gives by provider what `Gate.stats()` gives; `connections` and `streams` how many are open."""

    def __init__(self, statistics: Statistics = _no_statistics) -> None:
        self.statistics = statistics
        self.connections: Callable[[], int] = lambda: 0
        self.streams: Callable[[], int] = lambda: 0
        self.audit_failures: Callable[[], int] = lambda: 0
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: dict[str, list[int]] = {}
        self._spent: Counter[str] = Counter()
        self._changes: Counter[str] = Counter()
        self._refusals: Counter[str] = Counter()
        self._upstream_errors: Counter[str] = Counter()

    def request(self, wire: str, status: int, seconds: float) -> None:
        """One request has been answered, the last byte of a stream included."""
        self._requests[wire, status] += 1
        buckets = self._seconds.setdefault(wire, [0] * (len(_BOUNDS) + 1))
        buckets[bisect_left(_BOUNDS, seconds)] += 1
        self._spent[wire] += seconds  # type: ignore[assignment]  # a Counter adds fractions as well

    def changed(self, kind: Change, count: int = 1) -> None:
        self._changes[kind] += count

    def refused(self, reason: Reason) -> None:
        self._refusals[reason] += 1

    def upstream_failed(self, kind: Kind) -> None:
        self._upstream_errors[kind] += 1

    def text(self) -> str:
        families = (
            _family(
                "requests_total",
                "counter",
                "Requests that the proxy has answered; status 0: the client left first.",
                self._request_lines(),
            ),
            _family(
                "request_seconds",
                "histogram",
                "Seconds from a request to the last byte of its answer.",
                self._second_lines(),
            ),
            _family(
                "calls_total",
                "counter",
                "Tool calls that were checked, by the strategy that read them.",
                self._call_lines(),
            ),
            _family(
                "changes_total",
                "counter",
                "Calls repaired, lifted, left or observed; requests retried; answers taught.",
                _by("kind", self._changes),
            ),
            _family(
                "refusals_total",
                "counter",
                "Requests and connections sent away before the proxy.",
                _by("reason", self._refusals),
            ),
            _family(
                "upstream_errors_total",
                "counter",
                "Requests that failed because of the upstream.",
                _by("kind", self._upstream_errors),
            ),
            _family(
                "audit_failures_total",
                "counter",
                "Failed attempts to write the audit, and records lost.",
                [("", self.audit_failures())],
            ),
            _family("streams_open", "gauge", "Answers that stream at this moment.", [("", self.streams())]),
            _family("connections_open", "gauge", "Connections of clients at this moment.", [("", self.connections())]),
        )
        return "".join(line for family in families for line in family)

    def _request_lines(self) -> Iterator[tuple[str, int]]:
        for (wire, status), count in sorted(self._requests.items()):
            yield _labels(wire=wire, status=str(status)), count

    def _second_lines(self) -> Iterator[tuple[str, float]]:
        for wire, buckets in sorted(self._seconds.items()):
            below = 0
            for bound, count in zip((*map(str, _BOUNDS), "+Inf"), buckets, strict=True):
                below += count
                yield "_bucket" + _labels(wire=wire, le=bound), below
            yield "_sum" + _labels(wire=wire), round(self._spent[wire], 6)
            yield "_count" + _labels(wire=wire), below

    def _call_lines(self) -> Iterator[tuple[str, int]]:
        """Models and clients choose the names of tools, so there is an end to how many are told apart."""
        counts: Counter[tuple[str, str, str]] = Counter()
        seen: set[str] = set()
        for provider, figures in self.statistics().items():
            for tool, of_tool in figures["tools"].items():
                if len(seen) < _MOST_TOOLS:
                    seen.add(tool)
                name = tool if tool in seen else _OTHER
                for strategy, count in of_tool["normalizations"].items():
                    counts[provider, name, strategy] += count
        for (provider, tool, strategy), count in sorted(counts.items()):
            if count:
                yield _labels(provider=provider, tool=tool, strategy=strategy), count


def added(one: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Two such figures as one, as far as they are shown here."""
    tools: dict[str, dict[str, Any]] = {}
    for figures in (one, more):
        for tool, of_tool in figures["tools"].items():
            counts: Counter[str] = tools.setdefault(tool, {"normalizations": Counter()})["normalizations"]
            counts.update(of_tool["normalizations"])
    return {"tools": tools}


def _family(name: str, kind: str, about: str, lines: Iterable[tuple[str, float]]) -> Iterator[str]:
    yield f"# HELP rightcall_{name} {about}\n# TYPE rightcall_{name} {kind}\n"
    for rest, value in lines:
        yield f"rightcall_{name}{rest} {value}\n"


def _by(label: str, counts: Counter[str]) -> Iterator[tuple[str, int]]:
    for value, count in sorted(counts.items()):
        yield _labels(**{label: value}), count


def _labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    clean = value.encode("utf-8", "replace").decode()  # a lone surrogate cannot be written
    return clean.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
