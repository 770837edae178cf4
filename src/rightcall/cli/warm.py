"""Speed up code/log and code/blame in a large repository. Writes a commit graph, with the changed paths of every
commit, into your own cache; the repository is not changed. Run it again now and then: newer commits are found as well,
only more slowly."""

import os
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rightcall.base.text import escaped
from rightcall.cli import OK
from rightcall.cli.options import json_option
from rightcall.cli.parser import SHARED
from rightcall.cli.persons import waiting
from rightcall.cli.terminal import Style, many, tell, wrap
from rightcall.errors import ConfigError

if TYPE_CHECKING:
    from rightcall.tools.git.run import GraphReport

EXAMPLES = """\
examples:
  rightcall warm
  rightcall warm --root ~/src/linux
  rightcall warm --json
"""

_LONGEST = 3600.0
"""Seconds. The largest histories take minutes."""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--root", metavar="DIR", default=".", help=SHARED["--root"])
    json_option(parser)


def run(options: Namespace) -> int:
    from rightcall.base.files.sight import Sight
    from rightcall.tools.git.repository import NoRepository, repository_for
    from rightcall.tools.git.run import write_graph

    if not os.path.isdir(options.root):
        raise ConfigError(f"`--root`: {escaped(options.root, 200)} is not a folder")
    try:
        repository = repository_for(Sight(options.root))
    except NoRepository as none:
        raise ConfigError(none.why) from none
    doing = Doing()
    with waiting(doing.line):
        report = write_graph(repository, _LONGEST, doing.at)
    tell(options, _record(report), lambda style: _lines(report, style))
    return OK


def _record(report: "GraphReport") -> dict[str, Any]:
    return {
        "commits": report.commits,
        "seconds": round(report.seconds, 3),
        "bytes": report.bytes,
        "path": report.path or None,
    }


def _lines(report: "GraphReport", style: Style) -> list[str]:
    if not report.commits:
        return wrap(
            "Nothing to make faster: the history is empty, or shallow (git makes no graph of those).", style.width
        )
    size = f"{report.bytes / 1e6:,.1f} MB" if report.bytes >= 1e6 else f"{report.bytes / 1e3:,.1f} kB"
    done = f"{many(report.commits, 'commit')} in {report.seconds:.1f} s, {size}"
    return [
        style.tint("✓ the history is warm", "green", "bold") + f": {done}",
        f"  written to {escaped(report.path)}",
        "  code/log and code/blame use it from now on; the repository is unchanged",
    ]


class Doing:
    """What is being done, in the words of whoever does it."""

    def __init__(self) -> None:
        self._doing = "looking"

    def at(self, doing: str) -> None:
        self._doing = doing

    def line(self, seconds: float) -> str:
        return f"{self._doing} … {seconds:.0f} s"
