"""What `install` and `uninstall` share: where the settings are, the difference, and the question."""

import os
import shlex
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rightcall.cli.lines import InputError
from rightcall.cli.terminal import say
from rightcall.fs.guarded import state_folder
from rightcall.installing.places import Host, Scope, settings_file
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.installing.plans import Change

YES = ("y", "yes")


def place_options(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("where the settings are (default: those of the user)")
    one = group.add_mutually_exclusive_group()
    one.add_argument("--project", metavar="DIR", nargs="?", const=".", help="in a project's folder (default: this one)")
    one.add_argument("--local", metavar="DIR", nargs="?", const=".", help="the same, not shared: settings.local.json")
    one.add_argument("--file", metavar="FILE", help="in this very file")
    one.add_argument("--folder", metavar="DIR", help="where Agent Zero is (default: /a0)")


def place_of(host: Host, options: Namespace) -> str:
    """The one file that the options name."""
    if options.folder is not None:
        others = "--project and --file" if "project" in host.scopes else "--file"
        raise InputError(f"--folder is for agent-zero; {host.title} has {others}")
    if options.file is not None:
        return os.path.abspath(options.file)
    scope: Scope = "project" if options.project is not None else "local" if options.local is not None else "user"
    folder = options.project if scope == "project" else options.local
    if folder is not None and not os.path.isdir(folder):
        raise InputError("there is no such folder", source=folder)
    return settings_file(host, scope, os.path.abspath(folder or "."), os.environ)


def place_words(options: Namespace) -> str:
    """The same place once more, as it is typed: for the commands that we propose. Begins with a space, or is empty."""
    words: list[str] = []
    for name in ("project", "local", "file"):
        value: str | None = getattr(options, name)
        if value is not None:
            words += [f"--{name}"] if value == "." and name != "file" else [f"--{name}", value]
    return f" {escaped(shlex.join(words))}" if words else ""


def lock_folder() -> str:
    """Where the lock and the manifest of this user are."""
    return state_folder()


def say_difference(change: "Change") -> None:
    """As `diff -u` shows it, escaped, and with what looks like a secret hidden: this may end in a log."""
    from rightcall.execute.diff import unified_diff
    from rightcall.text.redact import Redactor

    hide = Redactor(os.urandom(32))
    say(f"{change.host.title}: {escaped(change.path)}")
    if change.before is not None and change.file != os.path.abspath(change.path):
        say(f"  which is a link to {escaped(change.file)}")
    names = ("nothing" if change.before is None else "now", "nothing" if change.after is None else "then")
    for line in unified_diff(*names, _text(change.before), _text(change.after)).split("\n"):
        say("  " + escaped(hide.text(line.replace("\t", "    "))))


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "backslashreplace").replace("\r\n", "\n")


def agreed(options: Namespace, question: str) -> bool:
    """Asks somebody at a terminal. Without one, only --yes counts."""
    from rightcall.cli.persons import at_a_terminal, typed

    if options.yes:
        return True
    if not at_a_terminal():
        raise InputError("nothing was written: there is no terminal to ask at. Say --yes to write it, or --dry-run")
    return typed(question) in YES


def write_options(parser: ArgumentParser) -> None:
    """--yes, --dry-run."""
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument("--dry-run", action="store_true", help="show the difference and write nothing")
