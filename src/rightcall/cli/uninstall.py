"""Take RightCall out of a host's settings: the very bytes that were there, if nobody wrote there since."""

import os
from argparse import ArgumentParser, Namespace

from rightcall.cli import OK, REFUSED
from rightcall.cli.install_options import agreed, lock_folder, place_of, place_options, say_difference, write_options
from rightcall.cli.terminal import say
from rightcall.installing.applying import Done, uninstall
from rightcall.installing.manifest import locked, read_manifest
from rightcall.installing.places import HOSTS, Host, host_named
from rightcall.installing.plans import Change, planned_removal
from rightcall.text.escape import escaped

EXAMPLES = """\
examples:
  rightcall uninstall claude-code
  rightcall uninstall cursor --project
  rightcall uninstall codex --dry-run
  rightcall uninstall gemini --all --yes
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help=", ".join(HOSTS))
    place_options(parser)
    parser.add_argument("--all", action="store_true", help="everywhere it was installed, in all projects")
    write_options(parser)


def run(options: Namespace) -> int:
    host = host_named(options.host)
    if host.kind == "files":
        from rightcall.cli.install_agent_zero import take_out

        return take_out(options)
    state = lock_folder()
    paths = _noted(host, state) if options.all else (place_of(host, options),)
    if not paths:
        say(f"{host.title}: nothing of rightcall is installed there; nothing was changed.")
    codes = [_take_out(host, path, options, state) for path in paths]
    for other in set(_noted(host, state)) - {os.path.realpath(path) for path in paths}:
        say(f"It is also in {escaped(other)}: --file FILE or --all takes it out there too.")
    return max(codes, default=OK)


def _noted(host: Host, state: str) -> tuple[str, ...]:
    """Every file that we know we are in."""
    return tuple(one.file for one in read_manifest(state).files if one.host == host.name)


def _take_out(host: Host, path: str, options: Namespace, state: str) -> int:
    change = planned_removal(host, path, read_manifest(state))
    if change.is_none and change.record is None:
        say(f"{host.title}: {escaped(path)} has nothing of rightcall; nothing was changed.")
        return OK
    if not change.is_none:
        say_difference(change)
        if options.dry_run:
            say("Nothing was written (--dry-run).")
            return OK
        if not agreed(options, "write this? [y/N] "):
            say("Nothing was written.")
            return REFUSED
    elif options.dry_run:
        return OK
    with locked(state):
        fresh = planned_removal(host, path, read_manifest(state))
        done = uninstall(change if change.before != fresh.before else fresh, state)
    say(*_describe_removal(change, done))
    return OK


def _describe_removal(change: Change, done: Done) -> list[str]:
    path = escaped(change.path)
    if change.is_none:
        return [f"{change.host.title}: {path} has nothing of rightcall any more; it is forgotten."]
    if change.after is None:
        return [f"Removed {path}, which rightcall had made."]
    if change.exact:
        return [f"Restored {path}, byte for byte."]
    kept = f" The copy from before is {escaped(done.backup)}." if done.backup else ""
    return [f"Took the entries of rightcall out of {path}; the rest of it stays as others have written it since.{kept}"]
