"""Put RightCall into a host's settings: shows the difference, asks, keeps a copy, then writes."""

import os
import shlex
import shutil
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rightcall.cli import OK, REFUSED
from rightcall.cli.install_options import (
    YES,
    agreed,
    lock_folder,
    place_of,
    place_options,
    place_words,
    say_difference,
    write_options,
)
from rightcall.cli.lines import InputError
from rightcall.cli.terminal import say
from rightcall.hosts.hook_place import MODES
from rightcall.installing.applying import install
from rightcall.installing.commands import Wish, program
from rightcall.installing.manifest import locked, read_manifest
from rightcall.installing.notes import notes_on, settings_of
from rightcall.installing.places import HOSTS, Host, host_named
from rightcall.installing.plans import Change, planned_install
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.installing.applying import Done

_UNRECORDED = "Without a policy file (--policy FILE) nothing is recorded."

EXAMPLES = """\
examples:
  rightcall install claude-code                 hooks in ~/.claude/settings.json, which only watch
  rightcall install claude-code --block         the same, and the policy's decisions count
  rightcall install claude-code --project       in this project's .claude/settings.json
  rightcall install gemini --policy rightcall.toml
  rightcall install codex --dry-run             shows what would be written
  rightcall install claude-desktop --policy ~/my.toml   wraps the MCP servers that are there
  rightcall install cursor --project --only files --yes
  rightcall install agent-zero --folder /a0

undo it with `rightcall uninstall HOST`; `rightcall status` shows what is installed and whether it works.
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help=", ".join(HOSTS))
    place_options(parser)
    parser.add_argument(
        "--mode",
        choices=MODES,
        help="observe: only record (default); warn: also tell the model; block: also refuse",
    )
    parser.add_argument("--block", action="store_const", const="block", dest="mode", help="the same as --mode block")
    parser.add_argument("--policy", metavar="FILE", help="the policy file to obey, wherever the host is started")
    parser.add_argument(
        "--only", metavar="NAME", action="append", default=[], help="of the MCP servers, only this one; can be repeated"
    )
    write_options(parser)


def run(options: Namespace) -> int:
    host = host_named(options.host)
    if host.kind == "files":
        from rightcall.cli.install_agent_zero import put_in

        return put_in(options)
    if options.only and host.kind != "servers":
        raise InputError(f"--only chooses among MCP servers; {host.title} gets hooks, which see the calls of all tools")
    state = lock_folder()
    wish = _wish(options)
    path = place_of(host, options)
    change = planned_install(host, path, wish, read_manifest(state))
    if change.is_none:
        return _nothing(change, wish)
    say_difference(change)
    if options.dry_run:
        say("Nothing was written (--dry-run).")
        return OK
    if not agreed(options, "write this? [y/N] "):
        say("Nothing was written.")
        return REFUSED
    with locked(state):
        fresh = planned_install(host, path, wish, read_manifest(state))
        if fresh.is_none:
            return _nothing(fresh, wish)
        done = install(_same(change, fresh), state)
    say(*_describe_install(change, done, wish, place_words(options)))
    if host.name == "codex" and not options.yes:
        _offer_trust(change.path)
    return OK


def _offer_trust(path: str) -> None:
    """Codex asks its user itself whether hooks are trusted. That is one start away, which can be now."""
    from rightcall.cli.persons import at_a_terminal, typed

    folder = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    here = folder if os.path.basename(os.path.dirname(path)) == ".codex" and os.path.isdir(folder) else os.getcwd()
    program = shutil.which("codex")
    if program is None or not at_a_terminal() or os.path.dirname(os.path.abspath(program)) == os.getcwd():
        return
    if typed(f"start {escaped(program)} now, to trust the hooks? [y/N] ") in YES:
        subprocess.run([program], cwd=here, check=False)


def _wish(options: Namespace) -> Wish:
    if options.policy is not None:
        from rightcall.config_load import load_policy

        load_policy(options.policy)  # one that is wrong should be noticed now, not by a host in the middle of its work
    policy = None if options.policy is None else os.path.abspath(options.policy)
    return Wish(program(), options.mode, policy, tuple(options.only), windows=sys.platform == "win32")


def _same(shown: Change, fresh: Change) -> Change:
    """What was agreed to is what is written: `install` refuses where the file is another than was shown."""
    return shown if shown.before != fresh.before else fresh


def _nothing(change: Change, wish: Wish) -> int:
    from rightcall.installing.plans import is_installed

    where = f"{change.host.title}: {escaped(change.path)}"
    if is_installed(change.host, change.path):
        say(f"{where} has it already; nothing was changed.", *_indented(notes_on(change, wish)))
        say(*_indented(_untrusted(change)))
        return OK
    say(
        f"{where} {'is not there' if change.before is None else 'names no MCP server with a command'}; "
        "there is nothing to wrap yet.",
        *_indented(notes_on(change, wish)),
    )
    return REFUSED


def _untrusted(change: Change) -> list[str]:
    """What is left to do, where the host does not run what is installed."""
    if change.host.name != "codex":
        return []
    from rightcall.installing.codex_trust import why_not_run
    from rightcall.installing.looking import installed_in

    installed = installed_in(change.host, change.path)
    return [] if installed is None or not (why := why_not_run(installed, os.environ)) else [f"{why}."]


def _describe_install(change: Change, done: "Done", wish: Wish, place: str) -> list[str]:
    host = change.host
    copy = f"; what was there is in {escaped(done.backup)}" if done.backup else ""
    return [
        f"Wrote {escaped(change.path)}{copy}.",
        *_indented(notes_on(change, wish)),
        *_indented([host.after]),
        *_modes(host, change, f"{place}{_only(wish)}"),
        f"Undo it with:     rightcall uninstall {host.name}{place}",
        "See if it works:  rightcall status",
    ]


def _only(wish: Wish) -> str:
    return "".join(f" --only {escaped(shlex.quote(name))}" for name in wish.only)


def _modes(host: Host, change: Change, options: str) -> list[str]:
    from rightcall.installing.looking import modes_in

    settings = settings_of(change)
    modes, recorded = modes_in(host, settings), _is_recorded(host, settings)
    if modes == ["block"]:
        return [
            "Calls are recorded, and what the policy refuses does not run."
            if recorded
            else f"What does not fit its tool does not run. {_UNRECORDED}"
        ]
    where = host.name if host.kind == "hooks" else "wrap"
    said = f"Mode: {', '.join(modes)}."
    if modes == ["observe"]:
        said = f"{'Calls are recorded; n' if recorded else 'N'}othing is changed or blocked yet."
    return [
        said if recorded else f"{said} {_UNRECORDED}",
        f"Switch it on:     rightcall install {host.name}{options} --block",
        f'or in a policy:   [gate.hosts.{where}]  mode = "block"',
    ]


def _is_recorded(host: Host, settings: Any) -> bool:
    """Hooks always record; a wrapped server only where a policy file says where."""
    from rightcall.installing.looking import policies_in

    return host.kind == "hooks" or all(policies_in(settings))


def _indented(lines: list[str]) -> list[str]:
    return [f"  {escaped(line)}" for line in lines if line]
