"""Ask a model for tool calls of rising difficulty, and see what share is usable without and with RightCall, what goes
wrong, and which settings help. Each answer is looked at twice: as it came, and as `rightcall proxy` would have passed
it on. Usable: the right tool, and arguments that fit. Right: also the values that were asked for."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rightcall.base.text import escaped
from rightcall.cli import INTERRUPTED, OK, USAGE
from rightcall.cli.options import json_option
from rightcall.cli.parser import SHARED
from rightcall.cli.persons import LEAST_BAR, WIDEST_BAR, Signs, bar, signs_for, waiting
from rightcall.cli.terminal import Style, many, pad, say, say_json, style_for, table, wrap
from rightcall.doctor.doctor import WAYS, Advice, Examination, Findings, Row, Share, Way, advice, findings, record
from rightcall.doctor.judgement import TOLD, Damage
from rightcall.errors import ConfigError

if TYPE_CHECKING:
    from rightcall.doctor.doctor import Progress


EXAMPLES = """\
examples:
  rightcall doctor --upstream http://localhost:11434
  rightcall doctor --upstream http://localhost:8080 --model qwen3 --tries 3
  rightcall doctor --upstream https://api.openai.com --model gpt-5-mini --key-env OPENAI_API_KEY
  rightcall doctor --upstream http://localhost:1234 --json
"""

MOST_TRIES = 20
_BAR = 24


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--upstream", metavar="URL", required=True, help="URL of the model server, with or without /v1")
    parser.add_argument("--model", metavar="NAME", help=SHARED["--model"])
    parser.add_argument(
        "--wire", choices=("openai", "anthropic", "ollama"),
        help="Use this API (default: openai if it lists models, else ollama)",
    )  # fmt: skip
    parser.add_argument("--key-env", metavar="NAME", help=SHARED["--key-env"])
    parser.add_argument(
        "--tries", metavar="N", type=_tries, default=1, help="Ask every question N times (default: 1)"
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help="Ask only the first question of each step (for slow machines)"
    )
    parser.add_argument(
        "--max-tokens", metavar="N", type=_positive, default=512, help="Limit each answer to N tokens (default: 512)"
    )  # fmt: skip
    parser.add_argument(
        "--timeout", metavar="S", type=_seconds, default=120.0,
        help="Wait at most SECONDS for an answer (default: 120)",
    )  # fmt: skip
    json_option(parser)


def run(options: Namespace) -> int:
    key = _key(options.key_env)
    try:
        from rightcall.doctor.doctor import Examination, Settings
        from rightcall.doctor.questions import QUICK, STEPS
    except ImportError as missing:
        from rightcall.cli.serve import missing_package

        raise missing_package(missing) from missing

    settings = Settings(
        options.upstream, options.model, options.wire, key, options.tries, options.max_tokens, options.timeout,
        QUICK if options.quick else STEPS,
    )  # fmt: skip
    watched = Watched()
    examination = Examination(settings, watched.at)
    with waiting(watched.line):
        interrupted = _examined(examination)
    if interrupted and not examination.results:
        return INTERRUPTED
    _tell(examination, as_json=options.json)
    if interrupted:
        return INTERRUPTED
    return USAGE if examination.stopped else OK


def _examined(examination: Examination) -> bool:
    """Whether somebody interrupted it. What is known until then is told all the same."""
    try:
        asyncio.run(examination.run())
    except KeyboardInterrupt:
        return True
    return False


def _tell(examination: Examination, *, as_json: bool) -> None:
    found = findings(examination)
    advised = advice(examination, found)
    if as_json:
        say_json(record(examination, found, advised))
        return

    say(*report(examination, found, advised, style_for(sys.stdout), signs_for(sys.stdout)))


def _key(variable: str | None) -> str:
    """The key itself is never shown: not here, and in no error."""
    if variable is None:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"--key-env: there is no environment variable {escaped(variable, 100)}, or it is empty")
    return key


def _tries(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_TRIES:
        raise ArgumentTypeError(f"a number from 1 to {MOST_TRIES}, not {escaped(text, 20)}")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or not 16 <= int(text) <= 100_000:
        raise ArgumentTypeError(f"a number from 16 to 100000, not {escaped(text, 20)}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 3600:
        raise ArgumentTypeError(f"seconds from 0.1 to 3600, not {escaped(text, 20)}")
    return seconds


class Watched:
    """How many questions there are, as a bar, what is asked, and for how long already."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._signs = signs_for(sys.stderr)
        self._style = style_for(sys.stderr)

    def at(self, progress: Progress) -> None:
        self._progress = progress

    def line(self, seconds: float) -> str:
        progress = self._progress
        if progress is None:
            return ""
        drawn = self._style.tint(pad(bar(progress.done, progress.of, _BAR, self._signs), _BAR), "cyan")
        asked = f"{progress.done} of {many(progress.of, 'question')}"
        line = f"{drawn} {asked}  {seconds:.0f} s  {progress.doing}"
        return line[: self._style.width + len(drawn) - _BAR - 1]


# ── the report ──
# What the doctor found, for people: the table by step, two bars, the damage, and what to set.

_APIS = {"openai": "OpenAI's API", "anthropic": "Anthropic's API", "ollama": "Ollama's API"}


def report(
    examination: Examination, found: Findings, advised: Sequence[Advice], style: Style, signs: Signs
) -> list[str]:
    """All lines. Names that a server gave are escaped."""
    return [
        *_head(examination, style),
        "",
        *_steps(found, style),
        "",
        *_bars(found, style, signs),
        *_damage("damage seen", found.damage, style),
        *_damage("damage seen with the tools in the prompt", found.taught_damage, style),
        *_render_notes(found, style),
        *_advised(advised, style),
        *_ended(examination, style),
    ]


def _head(examination: Examination, style: Style) -> list[str]:
    patient = examination.patient
    if patient is None:
        return [f"{examination.host} was not asked anything"]
    name = style.tint(escaped(patient.model, 200), "bold")
    chosen = " (the first that the server lists)" if examination.chosen else ""
    asked = many(len(examination.results), "question")
    told = f"{name}{chosen} at {examination.host}, {_APIS[patient.speech]}: {asked} in {examination.seconds:.1f} s"
    return wrap(told, style.width)


def _steps(found: Findings, style: Style) -> list[str]:
    """Usable, and in brackets also right."""
    heads = ["step", "asked", *(WAYS[way] for way in found.ways)]
    rows = [_cells(row, found.ways) for row in (*found.rows, found.total)]
    lines = table(heads, rows, style)
    return [*lines[:-1], style.tint(lines[-1], "bold"), style.tint("usable (also right by value)", "dim")]


def _cells(row: Row, ways: Sequence[Way]) -> list[str]:
    shares = (row.shares[way] for way in ways)
    return [row.name, str(row.shares["without"].asked), *(f"{one.usable} ({one.right})" for one in shares)]


def _bars(found: Findings, style: Style, signs: Signs) -> list[str]:
    """Each way's share of all questions: a full bar is every one of them."""
    rows = [
        (
            {"without": "without RightCall", "with": "with RightCall"}.get(way, f"with {WAYS[way]}"),
            found.total.shares[way],
        )
        for way in found.ways
    ]
    label = max(len(name) for name, _ in rows)
    width = min(WIDEST_BAR, style.width - label - max(len(_of(share)) for _, share in rows) - 4)
    if width < LEAST_BAR:
        return [piece for name, share in rows for piece in wrap(f"{name}: {_of(share)}", style.width)]
    return [f"{pad(name, label)}  {_drawn(share, width, style, signs)}  {_of(share)}" for name, share in rows]


def _drawn(share: Share, width: int, style: Style, signs: Signs) -> str:
    return style.tint(pad(bar(share.usable, share.asked, width, signs), width), "cyan")


def _of(share: Share) -> str:
    percent = 100 * share.usable / share.asked if share.asked else 0
    return f"{percent:.0f} % usable ({share.usable} of {share.asked}), {share.right} right"


def _damage(title: str, damage: Mapping[Damage, int], style: Style) -> list[str]:
    if not damage:
        return []
    width = max(len(str(number)) for number in damage.values())
    return ["", style.tint(title, "bold"), *(f"  {number:>{width}} × {TOLD[one]}" for one, number in damage.items())]


def _render_notes(found: Findings, style: Style) -> list[str]:
    if not found.notes:
        return []
    lines = [piece for note in found.notes[:5] for piece in wrap(escaped(note, 500), style.width - 2)]
    return ["", style.tint("the server said", "bold"), *(f"  {line}" for line in lines)]


def _advised(advised: Sequence[Advice], style: Style) -> list[str]:
    if not advised:
        return []
    lines = ["", style.tint("suggestions", "bold")]
    for setting, why in advised:
        first, *rest = wrap(f"{setting}: {why}" if setting else why, style.width - 4)
        shown = first.replace(setting, style.tint(setting, "green"), 1) if setting else first
        lines += [f"  - {shown}", *(f"    {piece}" for piece in rest)]
    return lines


def _ended(examination: Examination, style: Style) -> list[str]:
    if examination.complete:
        return []
    why = f"the server failed three times in a row: {examination.stopped}" if examination.stopped else "interrupted"
    return ["", *(style.tint(line, "yellow") for line in wrap(f"Not everything was asked: {why}", style.width))]
