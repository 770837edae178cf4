"""Write a policy file, rightcall.toml, with every key at its default and what it means."""

import os
import stat
from argparse import ArgumentParser, Namespace
from shlex import quote
from typing import TYPE_CHECKING, Any, get_args

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.text import escaped
from rightcall.cli import OK
from rightcall.cli.options import SHARED, InputError, json_option
from rightcall.cli.persons import waiting
from rightcall.cli.terminal import Style, many, tell, wrap
from rightcall.errors import ConfigError
from rightcall.policy.settings import PRESETS, Limits, Preset, StageName, Window

if TYPE_CHECKING:
    from rightcall.tools.git.run import GraphReport

# ── the template ──
# The policy file that `rightcall init` writes, from `policy.toml` beside this module: every key at its default, with
# what it means. Two kinds of comments: `# words` explain, `#key = value` is an example that works once its `#` is gone.


def template(preset: Preset = "personal", stage: StageName = "read-only") -> str:
    """The text of a policy file that says nothing but its preset and stage."""
    with open(os.path.join(os.path.dirname(__file__), "policy.toml"), encoding="utf-8") as file:
        text = file.read()
    return text.replace("@preset@", preset).replace("@stage@", stage).replace("@limits@", _limits(PRESETS[preset]))


def _limits(limits: Limits) -> str:
    """The preset's numbers as examples: written out they would no longer follow the preset."""
    lines = [
        "# All callers together.",
        f"#all = {_window(limits.all)}",
        "# Each caller.",
        f"#caller = {_window(limits.caller)}",
        "# Calls of each caller in a day (UTC); 0: any number.",
        "calls_per_day = 0",
        "# Tokens that models use for each caller in a day, through the proxy; 0: any number.",
        "tokens_per_day = 0",
        "[policy.limits.tools]",
    ]
    for tool, window in limits.tools.items():
        lines += [f"# Each caller's calls of `{tool}`.", f'#"{tool}" = {_window(window)}']
    return "\n".join(lines)


def _window(window: Window) -> str:
    said = [f"{key} = {value}" for key in window.__struct_fields__ if (value := getattr(window, key))]
    return f"{{ {', '.join(said)} }}"


EXAMPLES = """\
examples:
  rightcall init
  rightcall init --root my-project --preset swarm --stage sandbox
  rightcall init --force
  rightcall init --print
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--root", metavar="DIR", default=".", help="Write into this folder (default: the current one)")
    parser.add_argument(
        "--preset",
        choices=get_args(Preset),
        default="personal",
        help="Start from these limits (default: personal; swarm: many agents)",
    )
    parser.add_argument(
        "--stage", choices=get_args(StageName), default="read-only", help="Allow this much (default: read-only)"
    )
    parser.add_argument("--force", action="store_true", help="Replace an existing file; the old one is kept as .bak")
    parser.add_argument("--print", action="store_true", help="Print the file; write nothing")
    json_option(parser)


def run(options: Namespace) -> int:
    text = template(options.preset, options.stage)
    if options.print:
        tell(options, {"text": text}, lambda _: [text.removesuffix("\n")])
        return OK
    if not os.path.isdir(options.root):
        raise InputError("no such folder; pass an existing one as `--root`", source=options.root)
    file = os.path.join(options.root, POLICY_FILE)
    kept = _replace(file, text) if options.force and os.path.lexists(file) else _create(file, text)
    untrusted = _trust(file, text)
    record = {"file": file, "kept": kept, "preset": options.preset, "stage": options.stage, "trusted": not untrusted}
    tell(options, record, lambda _: [*_describe_next_steps(options, file, kept), *untrusted])
    return OK


def _trust(file: str, text: str) -> list[str]:
    """What we have written ourselves, whole, needs no question; what is wrong, if it cannot be kept."""
    from rightcall.policy.trust import give_to_own

    try:
        give_to_own(file, text.encode())
    except ConfigError as error:
        return [f"  it only makes things stricter until it is trusted, which failed: {escaped(str(error))}"]
    return []


def _create(file: str, text: str) -> None:
    """Only where nothing is, even if somebody else writes there at the same moment; whole or not at all."""
    try:
        opened = open(file, "x", encoding="utf-8", newline="\n", opener=_own_alone)  # noqa: SIM115  (closed below)
    except FileExistsError:
        raise InputError("exists already; `--force` replaces it and keeps the old file as .bak", source=file) from None
    try:
        with opened:
            opened.write(text)
    except OSError:
        os.unlink(file)
        raise


def _own_alone(path: str, flags: int) -> int:
    """Whatever the umask is: a policy that others can write is refused by every command."""
    return os.open(path, flags, 0o644)


def _replace(file: str, text: str) -> str | None:
    """In one step, so that a running program never sees half a file. Returns where the old one is kept."""
    if os.path.isdir(file):
        raise InputError("is a folder, not a policy file", source=file)
    kept = _keep(file)
    beside = f"{file}.{os.getpid()}.new"
    _create(beside, text)
    os.replace(beside, file)
    return kept


def _keep(file: str) -> str | None:
    """A copy under a name that is free: an older copy may be the only one of what somebody wrote by hand."""
    from shutil import copyfileobj, copymode

    if not os.path.exists(file):  # a link that leads nowhere
        return None
    number = 0
    while True:
        kept = f"{file}.bak{number or ''}"
        if not stat.S_ISREG(os.lstat(file).st_mode):  # what a link or a pipe leads to is not read
            if not os.path.lexists(kept):
                os.rename(file, kept)
                return kept
            number += 1
            continue
        try:
            with open(file, "rb") as old, open(kept, "xb") as copy:
                copyfileobj(old, copy)
        except FileExistsError:
            number += 1
            continue
        copymode(file, kept)
        return kept


def _describe_next_steps(options: Namespace, file: str, kept: str | None) -> list[str]:
    """What was done, and what to try next."""
    named = "" if options.root == "." else f" {escaped(quote(file))}"
    return [
        f"wrote {escaped(file)}",
        f"  preset {options.preset}, stage {options.stage}; tools that write or execute only show what they would do",
        *([f"  the file that was there is now {escaped(kept)}"] if kept else []),
        "next:",
        f"  rightcall policy check{named}",
        f"  rightcall policy explain{named} --as teacher code/execute/python",
        "  keep .rightcall/ out of version control: the audit will be there",
    ]


# ── warm ──

HELP_WARM = """\
Speed up code/log and code/blame in a large repository. Writes a commit graph, with the changed paths of every
commit, into your own cache; the repository is not changed. Run it again now and then: newer commits are found as well,
only more slowly."""

EXAMPLES_WARM = """\
examples:
  rightcall warm
  rightcall warm --root ~/src/linux
  rightcall warm --json
"""

_LONGEST = 3600.0
"""Seconds. The largest histories take minutes."""


def arguments_warm(parser: ArgumentParser) -> None:
    parser.add_argument("--root", metavar="DIR", default=".", help=SHARED["--root"])
    json_option(parser)


def run_warm(options: Namespace) -> int:
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
