"""Runs the cases of a corpus through the gate and counts the outcomes."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rightcall.cli.corpora import Shape, json_schema
from rightcall.cli.scoring import (
    CALL_OUTCOMES,
    EMISSION_OUTCOMES,
    JSON_OUTCOMES,
    CallCase,
    is_core,
    is_right,
    judge_call,
    judge_json,
)

if TYPE_CHECKING:
    from rightcall.gate import Gate

CLEAN = "clean"
STREAM = "stream"
OUTCOMES: Mapping[Shape, tuple[str, ...]] = {
    "calls": CALL_OUTCOMES,
    "json": JSON_OUTCOMES,
    "emissions": EMISSION_OUTCOMES,
}


class Result(Struct, frozen=True):
    """One case, judged."""

    id: str
    group: str
    outcome: str
    right: bool
    core: bool
    recoverable: bool
    wrote: Any
    wanted: Any
    got: Any
    reason: str = ""
    part: str = ""
    """Of an emission: whether a `call` is expected or `none`."""
    stream: str = ""
    """Of an emission: how it was cut when a stream of it gave something else."""

    @property
    def failed(self) -> bool:
        return not self.right or bool(self.stream)

    def is_of(self, kind: str | None) -> bool:
        """Whether it is among what `--failures KIND` asks for."""
        kinds = ("", self.group, self.outcome, *self.group.split("/"), *((STREAM,) if self.stream else ()))
        return kind in kinds


def call_case(case: Mapping[str, Any], gate_of: Callable[[dict[str, Any]], "Gate"], number: int) -> Result:
    """A damaged call through a gate that knows its tool."""
    name = str(case.get("tool") or case.get("name") or "tool")
    group = str(case.get("cls") or "(none)")
    recoverable = case.get("recoverable") is not False
    emitted = case["emitted"]
    tool = {"name": name, "description": str(case.get("description") or ""), "parameters": case["schema"]}
    verdict = gate_of(tool).check(name, emitted)
    arguments = verdict.call.arguments if verdict.call else None
    outcome = judge_call(
        CallCase(emitted, case["accepted"], recoverable, clean=group == CLEAN),
        ok=verdict.ok,
        arguments=arguments,
        touched=bool(verdict.repairs),
    )
    return Result(
        id=str(case.get("id") or number),
        group=group,
        outcome=outcome,
        right=outcome == "restored" if recoverable else outcome == "refused",
        core=True,
        recoverable=recoverable,
        wrote=emitted,
        wanted=case["accepted"] if recoverable else "a refusal",
        got=arguments if verdict.ok else "refused",
        reason=verdict.hint or "; ".join(f"{one.path} {one.rule}" for one in verdict.repairs),
    )


def json_case(case: Mapping[str, Any], flag: Mapping[str, Any], number: int) -> Result:
    """A broken JSON text through `loads`, led by its schema where it has one."""
    from rightcall import Unreadable, loads

    value: Any = None
    refusal = ""
    try:
        value = loads(case["text"], json_schema(dict(case))).value
    except Unreadable as error:
        refusal = str(error) or "unreadable"
    outcome = judge_json(case, flag, refused=bool(refusal), value=value)
    return Result(
        id=str(case.get("id") or number),
        group=f"{case.get('suite') or '(none)'}/{case.get('kind') or '(none)'}",
        outcome=outcome,
        right=is_right(outcome),
        core=is_core(flag),
        recoverable=True,
        wrote=case["text"],
        wanted=flag.get("corrected", case.get("expected")),
        got="refused" if refusal else value,
        reason=refusal,
    )


class Tally:
    """The outcomes of one group of cases, and how many of them were right."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.right = 0

    def add(self, result: Result) -> None:
        self.outcomes[result.outcome] += 1
        self.right += result.right

    @property
    def n(self) -> int:
        return self.outcomes.total()

    def record(self, outcomes: tuple[str, ...]) -> dict[str, Any]:
        counts = {outcome: self.outcomes[outcome] for outcome in outcomes}
        return {"n": self.n, **counts, "right_percent": percent(self.right, self.n)}


class Scores:
    """The counts of one run. Only the failing cases that were asked for are kept."""

    def __init__(self, file: str, *, failures_wanted: str | None, limit: int, flagged: bool) -> None:
        self.file = file
        self.flagged = flagged
        self.shape: Shape = "calls"
        self.cases = 0
        self.groups: defaultdict[str, Tally] = defaultdict(Tally)
        self.core: defaultdict[str, Tally] = defaultdict(Tally)
        self.parts: defaultdict[str, Tally] = defaultdict(Tally)
        """The whole run in parts: clean, healable, hopeless, core, all; of emissions also `all call`, `core none`, …"""
        self.streams_agree = 0
        self.hopeless: set[str] = set()
        self.failures: list[Result] = []
        self.failures_in_all = 0
        self._wanted = failures_wanted
        self._limit = limit

    @property
    def listing(self) -> bool:
        """Whether the failing cases were asked for."""
        return self._wanted is not None

    @property
    def outcomes(self) -> tuple[str, ...]:
        return OUTCOMES[self.shape]

    def add(self, shape: Shape, result: Result) -> None:
        self.shape = shape
        self.cases += 1
        self.groups[result.group].add(result)
        self.streams_agree += not result.stream
        for whole in ("all", "core") if result.core else ("all",):
            self.parts[whole].add(result)
            self.parts[f"{whole} {result.part}"].add(result)
        if result.core:
            self.core[result.group].add(result)
        if not result.recoverable:
            self.hopeless.add(result.group)
        self.parts["hopeless" if not result.recoverable else CLEAN if result.group == CLEAN else "healable"].add(result)
        if result.failed and result.is_of(self._wanted):
            self._keep(result)

    def _keep(self, failure: Result) -> None:
        self.failures_in_all += 1
        if not self._limit or len(self.failures) < self._limit:
            self.failures.append(failure)

    def totals(self) -> dict[str, Any]:
        """The figures that sum up the run, in per cent where they end in _percent."""
        if self.shape == "json":
            return {part: self._json_total(self.parts[part]) for part in ("all", "core")}
        if self.shape == "emissions":
            return {part: self._emission_total(part) for part in ("all", "core")} | {"streams": self._streams()}
        healable, hopeless, clean = self.parts["healable"], self.parts["hopeless"], self.parts[CLEAN]
        wrong = healable.outcomes["wrong"] + hopeless.outcomes["wrong"]
        return {
            "restored_percent": percent(healable.right, healable.n),
            "wrong_accepted": wrong,
            "wrong_accepted_percent": percent(wrong, healable.n + hopeless.n),
            "rightly_refused_percent": percent(hopeless.right, hopeless.n),
            "clean_left_alone_percent": percent(clean.right, clean.n),
        }

    def _json_total(self, tally: Tally) -> dict[str, Any]:
        return {**tally.record(JSON_OUTCOMES), "wrong_percent": percent(tally.outcomes["wrong"], tally.n)}

    def _emission_total(self, whole: str) -> dict[str, Any]:
        parts = {"expects_call": f"{whole} call", "expects_none": f"{whole} none"}
        split = {name: self.parts[part].record(EMISSION_OUTCOMES) for name, part in parts.items()}
        return {**self.parts[whole].record(EMISSION_OUTCOMES), **split}

    def _streams(self) -> dict[str, Any]:
        return {"agree": self.streams_agree, "agree_percent": percent(self.streams_agree, self.cases)}

    def record(self) -> dict[str, Any]:
        """The scores as `--json` prints them."""
        record: dict[str, Any] = {
            "file": self.file,
            "shape": self.shape,
            "cases": self.cases,
            "totals": self.totals(),
            "groups": {name: tally.record(self.outcomes) for name, tally in sorted(self.groups.items())},
        }
        if self.shape == "emissions":
            record["core_groups"] = {name: tally.record(self.outcomes) for name, tally in sorted(self.core.items())}
        if self.listing:
            record |= {"failures_in_all": self.failures_in_all, "failures": [_failure(one) for one in self.failures]}
        return record


def _failure(result: Result) -> dict[str, Any]:
    return {
        field: getattr(result, field)
        for field in ("id", "group", "outcome", "core", "wrote", "wanted", "got", "reason")
    } | ({"stream": result.stream} if result.stream else {})


def percent(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 2) if whole else None
