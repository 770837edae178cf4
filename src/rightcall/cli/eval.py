"""Score the gate on a corpus: model output, damaged calls, or broken JSON.

Model output has the fields text, tools and expected (and format); damaged calls schema, emitted, accepted (and tool,
cls, recoverable); broken JSON text and expected (and json_schema, kind, suite). Which of these a file holds is seen
from its fields."""

import json
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from rightcall.base.text import cut_counted, escaped
from rightcall.cli import OK
from rightcall.cli.corpora import (
    CALL_OUTCOMES,
    EMISSION_OUTCOMES,
    JSON_OUTCOMES,
    CallCase,
    Shape,
    cases,
    is_core,
    is_right,
    json_schema,
    judge_call,
    judge_emission,
    judge_json,
    read_flags,
)
from rightcall.cli.options import InputError, build_gate, gate_options, json_option
from rightcall.cli.persons import waiting
from rightcall.cli.read import pieces_of, read_pieces
from rightcall.cli.terminal import Style, harmless_lines, labelled, table, tell, value_text, written_lines
from rightcall.errors import ConfigError
from rightcall.gate.records import json_text, reading_record
from rightcall.types import Reading

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate


# ── evaluation ──
# Runs the cases of a corpus through the gate and counts the outcomes.

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


EXAMPLES = """\
examples:
  rightcall eval emissions.jsonl --flags emissions_flags.jsonl
  rightcall eval emissions.jsonl --failures stream
  rightcall eval damaged_calls.jsonl
  rightcall eval broken_json.jsonl --flags broken_json_flags.jsonl
  rightcall eval damaged_calls.jsonl --failures wrong --limit 5
  rightcall eval damaged_calls.jsonl --failures number_word --json
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="Corpus as JSON lines; - reads standard input")
    parser.add_argument("--flags", metavar="FILE", help="Read which expectations are only conventions from this file")
    parser.add_argument(
        "--failures",
        nargs="?",
        const="",
        metavar="KIND",
        help="Show failing cases, or those of one format, damage, kind or outcome",
    )
    parser.add_argument(
        "-n", "--limit", type=int, default=20, metavar="N", help="Show at most N failing cases (default: 20; 0: all)"
    )
    json_option(parser)
    gate_options(parser, tools=False)


def run(options: Namespace) -> int:
    if options.limit < 0:
        raise InputError(f"--limit is 0 (all) or more, not {options.limit}")
    scores = _scored(options)
    tell(options, scores.record(), lambda style: report(scores, style))
    return OK


def _scored(options: Namespace) -> Scores:
    flags = read_flags(options.flags)
    scores = Scores(options.file, failures_wanted=options.failures, limit=options.limit, flagged=bool(flags))
    base = build_gate(options)
    with waiting(lambda _: f"{scores.cases:,} cases"):
        for shape, number, case in cases(options.file):
            try:
                result = _judged(shape, case, flags, base, options, number)
            except ConfigError as error:
                raise InputError(f"the case cannot be used: {error}", source=options.file, line=number) from error
            scores.add(shape, result)
    if not scores.cases:
        raise InputError("holds no case", source=options.file)
    return scores


def _judged(
    shape: Shape, case: dict[str, Any], flags: dict[str, dict[str, Any]], base: "Gate", options: Namespace, number: int
) -> Result:
    flag = flags.get(str(case.get("id")), {})
    if shape == "json":
        return json_case(case, flag, number)
    from rightcall.gate.gate import Gate

    def gate_of(tools: Any) -> Gate:
        return Gate(tools, policy=base.policy, packs=tuple(options.pack), provider=options.provider)

    if shape == "calls":
        return call_case(case, lambda tool: gate_of([tool]), number)

    return emission_case(case, flag, gate_of, number)


# ── the report ──
# The scores of `rightcall eval` as tables.

_HEADS = {"refused_ok": "refused, fine", "wrong": "wrong accepted"}
_WHAT: dict[Shape, str] = {"calls": "damaged calls", "json": "broken JSON", "emissions": "emissions"}
_FIRST: dict[Shape, str] = {"calls": "damage", "json": "suite/kind", "emissions": "format"}


def report(scores: Scores, style: Style) -> list[str]:
    """The table by damage or kind, the totals, and the failing cases where they were asked for."""
    lines = [f"{escaped(scores.file)}: {scores.cases:,} cases of {_WHAT[scores.shape]}", ""]
    lines += _table(scores, scores.groups, style)
    if scores.flagged and scores.shape != "calls":
        lines += ["", "core cases only (expectations that are no mere convention)", *_table(scores, scores.core, style)]
    lines += ["", *(_emission_totals(scores, style) if scores.shape == "emissions" else _totals(scores))]
    return lines + (_failures(scores, style) if scores.listing else [])


def _table(scores: Scores, groups: Mapping[str, Tally], style: Style) -> list[str]:
    wrong = _HEADS["wrong"] if scores.shape == "calls" else "wrong"
    heads = [wrong if one == "wrong" else _HEADS.get(one, one) for one in scores.outcomes]
    rows = [_row(scores, group, groups[group]) for group in sorted(groups)]
    return table([_FIRST[scores.shape], "n", *heads, "right"], rows, style)


def _row(scores: Scores, group: str, tally: Tally) -> list[str]:
    name = escaped(group) + (" (to be refused)" if group in scores.hopeless else "")
    counts = (str(tally.outcomes[outcome]) for outcome in scores.outcomes)
    return [name, str(tally.n), *counts, _percent(100 * tally.right / tally.n)]


def _percent(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.1f} %"


def _totals(scores: Scores) -> list[str]:
    totals = scores.totals()
    if scores.shape == "calls":
        wrong = totals["wrong_accepted"]
        return [
            f"restored            {_percent(totals['restored_percent'])} of the calls that can be restored",
            f"wrong accepted      {_percent(totals['wrong_accepted_percent'])} of all damaged calls ({wrong})",
            f"rightly refused     {_percent(totals['rightly_refused_percent'])} of the calls that nobody can restore",
            f"clean left alone    {_percent(totals['clean_left_alone_percent'])}",
        ]
    parts = ("all", "core") if scores.flagged else ("all",)
    return [
        f"{part:<5} {_percent(totals[part]['right_percent'])} right, {_percent(totals[part]['wrong_percent'])} wrong "
        f"({totals[part]['n']:,} cases)"
        for part in parts
    ]


def _emission_totals(scores: Scores, style: Style) -> list[str]:
    """All and core, each split into what holds calls and what holds none; then the streams."""
    rows: list[list[str]] = []
    for whole in ("all", "core") if scores.flagged else ("all",):
        for name, part in ((whole, whole), ("  expects a call", f"{whole} call"), ("  expects none", f"{whole} none")):
            tally = scores.parts[part]
            if tally.n:
                rows.append(_row(scores, name, tally))
    streams = scores.totals()["streams"]
    said = f"{_percent(streams['agree_percent'])} ({streams['agree']:,} of {scores.cases:,})"
    return [
        *table(["total", "n", *scores.outcomes, "right"], rows, style),
        "",
        f"as a stream, character by character and in random pieces: the same calls and prose in {said}",
    ]


def _failures(scores: Scores, style: Style) -> list[str]:
    lines = ["", style.tint(f"{len(scores.failures)} of {scores.failures_in_all} failing cases", "bold")]
    for result in scores.failures:
        lines += ["", *_failure_report(result, style)]
    return lines


def _failure_report(result: Result, style: Style) -> list[str]:
    head = f"{escaped(result.id)}  {escaped(result.group)}  {result.outcome}{'' if result.core else '  (flagged)'}"
    wrote = written_lines(result.wrote) if isinstance(result.wrote, str) else [value_text(result.wrote)]
    return [
        style.tint(head, "yellow"),
        *labelled("wrote", wrote, style),
        *labelled("wanted", [value_text(result.wanted)], style),
        *labelled("got", [value_text(result.got)], style),
        *(labelled("because", harmless_lines(result.reason), style) if result.reason else []),
        *(labelled("streams differ", [cut_counted(escaped(result.stream), 2000)], style) if result.stream else []),
    ]


# ── emissions ──
# Emissions for `rightcall eval`: the calls found in what a model wrote, and whether a stream finds the same.
#
# Scored is what was found, before names and values are put right: the ordered list of names and arguments.

SEED = 3
ROUNDS = 3


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
        raise InputError("`text` must be a string: the model output")
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
        end = start + random.randint(1, random.randint(1, 24))
        yield text[start:end]
        start = end
