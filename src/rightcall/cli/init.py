"""Write a policy file, rightcall.toml, with every key at its default and what it means."""

import os
import stat
from argparse import ArgumentParser, Namespace
from typing import get_args

from rightcall.cli import OK
from rightcall.cli.lines import InputError
from rightcall.cli.policy_template import template
from rightcall.cli.terminal import say
from rightcall.config_settings import Preset, StageName
from rightcall.door_guarding import POLICY_FILE
from rightcall.text.escape import escaped

EXAMPLES = """\
examples:
  rightcall init
  rightcall init --root my-project --preset swarm --stage sandbox
  rightcall init --force
  rightcall init --print
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--root", metavar="DIR", default=".", help="the folder to write into (default: this one)")
    parser.add_argument(
        "--preset",
        choices=get_args(Preset),
        default="personal",
        help="the limits to start from: personal (the default) for one's own client, swarm for many agents",
    )
    parser.add_argument(
        "--stage", choices=get_args(StageName), default="read-only", help="what is allowed (default: read-only)"
    )
    parser.add_argument("--force", action="store_true", help="replace a file that is there; it is kept as .bak")
    parser.add_argument("--print", action="store_true", help="print the file and write nothing")


def run(options: Namespace) -> int:
    text = template(options.preset, options.stage)
    if options.print:
        say(text.removesuffix("\n"))
        return OK
    if not os.path.isdir(options.root):
        raise InputError("there is no such folder; --root takes one that exists", source=options.root)
    file = os.path.join(options.root, POLICY_FILE)
    kept = _replace(file, text) if options.force and os.path.lexists(file) else _create(file, text)
    say(*_describe_next_steps(options, file, kept), *_trust(file, text))
    return OK


def _trust(file: str, text: str) -> list[str]:
    """What we have written ourselves, whole, needs no question; what is wrong, if it cannot be kept."""
    from rightcall.config_trust import give_to_own
    from rightcall.errors import ConfigError

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
        raise InputError("is there already; --force replaces it and keeps it as .bak", source=file) from None
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
    from shlex import quote

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
