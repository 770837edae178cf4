"""Ask a model for tool calls of rising difficulty, and see what share is usable without and with RightCall, what goes
wrong, and which settings help. Each answer is looked at twice: as it came, and as `rightcall proxy` would have passed
it on. Usable: the right tool, and arguments that fit. Right: also the values that were asked for."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING

from rightcall.cli import INTERRUPTED, OK, USAGE
from rightcall.cli.bars import bar, signs_for
from rightcall.cli.options import json_option
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.terminal import many, pad, say, style_for
from rightcall.cli.waiting import waiting
from rightcall.errors import ConfigError
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.serve.doctor import Examination, Progress

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
    parser.add_argument("--upstream", metavar="URL", required=True, help="the model's server, with or without /v1")
    parser.add_argument("--model", metavar="NAME", help="which model to ask (default: the first that the server lists)")
    parser.add_argument(
        "--wire", choices=("openai", "anthropic", "ollama"),
        help="the API it speaks (default: OpenAI's, if it lists its models so, and else Ollama's)",
    )  # fmt: skip
    parser.add_argument("--key-env", metavar="NAME", help="the environment variable that holds the server's key")
    parser.add_argument(
        "--tries", metavar="N", type=_tries, default=1, help="ask every question N times (default: 1)"
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="only the first question of each step, for slow machines")
    parser.add_argument(
        "--max-tokens", metavar="N", type=_positive, default=512, help="the most of one answer (default: 512)"
    )  # fmt: skip
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=_seconds, default=120.0, help="the most for one question (default: 120)"
    )  # fmt: skip
    json_option(parser, "what was found")


def run(options: Namespace) -> int:
    key = _key(options.key_env)
    try:
        from rightcall.serve.doctor import Examination, Settings
        from rightcall.serve.doctor_questions import QUICK, STEPS
    except ImportError as missing:
        from rightcall.cli.serving import missing_package

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
    import asyncio

    try:
        asyncio.run(examination.run())
    except KeyboardInterrupt:
        return True
    return False


def _tell(examination: Examination, *, as_json: bool) -> None:
    from rightcall.serve.doctor_advice import advice
    from rightcall.serve.doctor_findings import findings, record

    found = findings(examination)
    advised = advice(examination, found)
    if as_json:
        say(json_text(record(examination, found, advised), ascii_only=not is_unicode(sys.stdout)))
        return
    from rightcall.cli.doctor_report import report

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
