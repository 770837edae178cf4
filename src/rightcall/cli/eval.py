"""Score the gate on a corpus: emissions of models, damaged calls, or broken JSON.

Emissions have the fields text, tools and expected (and format); damaged calls schema, emitted, accepted (and tool,
cls, recoverable); broken JSON text and expected (and json_schema, kind, suite). Which of these a file holds is seen
from its fields."""

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rightcall.cli import OK
from rightcall.cli.corpora import Shape, cases, read_flags
from rightcall.cli.evaluation import Result, Scores, call_case, json_case
from rightcall.cli.lines import InputError
from rightcall.cli.options import build_gate, gate_options, json_option
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.terminal import say, style_for
from rightcall.errors import ConfigError

if TYPE_CHECKING:
    from rightcall.gate import Gate

Flags = dict[str, dict[str, Any]]

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
    parser.add_argument("file", metavar="FILE", help="the corpus, JSON lines (- reads standard input)")
    parser.add_argument("--flags", metavar="FILE", help="JSON lines that say which expectations are mere conventions")
    parser.add_argument(
        "--failures",
        nargs="?",
        const="",
        metavar="KIND",
        help="show the failing cases, or those of one format, damage, kind or outcome (stream: where a stream differs)",
    )
    parser.add_argument(
        "--limit", type=int, default=20, metavar="N", help="at most this many failing cases (default 20, 0 = all)"
    )
    json_option(parser, "the scores")
    gate_options(parser, tools=False)


def run(options: Namespace) -> int:
    if options.limit < 0:
        raise InputError(f"--limit is 0 (all) or more, not {options.limit}")
    scores = _scored(options)
    if options.json:
        say(json_text(scores.record(), ascii_only=not is_unicode(sys.stdout)))
        return OK
    from rightcall.cli.evaluation_report import report

    say(*report(scores, style_for(sys.stdout)))
    return OK


def _scored(options: Namespace) -> Scores:
    flags = read_flags(options.flags)
    scores = Scores(options.file, failures_wanted=options.failures, limit=options.limit, flagged=bool(flags))
    progress = _Progress()
    base = build_gate(options)
    for shape, number, case in cases(options.file):
        try:
            result = _judged(shape, case, flags, base, options, number)
        except ConfigError as error:
            raise InputError(f"the case cannot be used: {error}", source=options.file, line=number) from error
        scores.add(shape, result)
        progress.step()
    progress.end()
    if not scores.cases:
        raise InputError("holds no case", source=options.file)
    return scores


def _judged(shape: Shape, case: dict[str, Any], flags: Flags, base: "Gate", options: Namespace, number: int) -> Result:
    flag = flags.get(str(case.get("id")), {})
    if shape == "json":
        return json_case(case, flag, number)
    from rightcall.gate import Gate

    def gate_of(tools: Any) -> Gate:
        return Gate(tools, policy=base.policy, packs=tuple(options.pack), provider=options.provider)

    if shape == "calls":
        return call_case(case, lambda tool: gate_of([tool]), number)
    from rightcall.cli.emissions import emission_case

    return emission_case(case, flag, gate_of, number)


class _Progress:
    """A count on standard error while a long run is watched on a terminal."""

    def __init__(self) -> None:
        self._watched = sys.stderr.isatty()
        self._done = 0

    def step(self) -> None:
        self._done += 1
        if self._watched and self._done % 200 == 0:
            sys.stderr.write(f"\r{self._done:,} cases")
            sys.stderr.flush()

    def end(self) -> None:
        if self._watched and self._done >= 200:
            sys.stderr.write("\r" + " " * 24 + "\r")
