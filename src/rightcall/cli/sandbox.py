"""Run a program in the sandbox, or find out whether the sandbox works here. `run` is your own command: the policy's
stage and dry run do not apply to it. No network, no files but a scratch folder; what the program prints comes as it
comes, and its exit status is the command's."""

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from functools import partial

from rightcall.cli.options import json_option
from rightcall.config_hands import SANDBOX_RANGES
from rightcall.door_guarding import POLICY_FILE
from rightcall.text.escape import escaped

EXAMPLES = """\
examples:
  rightcall sandbox run hello.py
  rightcall sandbox run --scratch data summary.py -- --year 2024
  rightcall sandbox run --lang js --seconds 10 --memory 1024 build
  some-model | rightcall sandbox run -
  rightcall sandbox doctor

exit status of `run`: the program's own; 128+n: a signal ended it; 124: it took too long; 137: another limit ended it;
125: there is no sandbox here, so nothing ran; 123: it ended well, but not all that it left in --scratch could be
brought back. `doctor`: 1 where the sandbox does not work or lets something through.
"""

_LANGUAGES = {"py": "python", "python": "python", "js": "javascript", "javascript": "javascript"}


def arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, about: str) -> ArgumentParser:
        return actions.add_parser(
            name, help=about, description=about, formatter_class=parser.formatter_class, allow_abbrev=False
        )

    _run_arguments(action("run", "run a Python or JavaScript file in the sandbox"))
    doctor = action("doctor", "try the sandbox with a harmless program and with attacks, and say what works here")
    _policy_options(doctor)
    json_option(doctor, "what was found")


def _run_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the program; - reads it from standard input")
    parser.add_argument(
        "args", nargs="*", default=[], metavar="ARG", help="what the program gets; after -- if they look like options"
    )
    parser.add_argument("--lang", choices=_LANGUAGES, help="its language (default: by FILE's ending)", metavar="py|js")
    parser.add_argument(
        "--scratch", metavar="DIR",
        help="a folder whose files the program can read and change, at the same path (default: an empty one)",
    )  # fmt: skip
    limits = parser.add_argument_group("limits (default: those of the policy)")
    for option, metavar, field, about in (
        ("--seconds", "S", "seconds", "how long it may run (default: 4)"),
        ("--memory", "MB", "memory", "of all its processes together (default: 512)"),
        ("--processes", "N", "processes", "how many it may have (default: 64)"),
        ("--disk", "MB", "scratch", "what its files may take (default: 128)"),
        ("--output", "BYTES", "output", "what it may print (default: 1000000)"),
    ):
        limits.add_argument(option, metavar=metavar, type=partial(_within, *SANDBOX_RANGES[field]), help=about)
    limits.add_argument("--tier", choices=("landlock", "namespaces"), help="the least isolation that will do")
    _policy_options(parser)


def _policy_options(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("whose [sandbox] counts")
    group.add_argument("--policy", metavar="FILE", help=f"the policy file (default: {POLICY_FILE} in --root, if any)")
    group.add_argument("--root", metavar="DIR", default=".", help="the folder that is worked in (default: this one)")


def run(options: Namespace) -> int:
    if options.action == "doctor":
        from rightcall.cli.sandbox_doctor import examine

        return examine(options)
    from rightcall.cli.sandbox_run import run_file

    if options.lang is not None:
        options.lang = _LANGUAGES[options.lang]
    return run_file(options)


def _within(least: float, most: float, text: str) -> float:
    """The same as the policy takes: whole numbers where the least is one."""
    try:
        found = int(text) if isinstance(least, int) else float(text)
    except ValueError:
        found = least - 1
    if not text.isascii() or not least <= found <= most:
        kind = "a whole number" if isinstance(least, int) else "a number"
        raise ArgumentTypeError(f"must be {kind} from {least:,} to {most:,}, not {escaped(text, 20)}")
    return found


def complain(*lines: str) -> None:
    """To standard error; what a program or a folder is called cannot steer the terminal."""
    for line in lines:
        sys.stderr.write(f"rightcall: {escaped(line)}\n")
    sys.stderr.flush()


NO_SANDBOX = 125
LOST = 123
"""The program has ended with 0, and somebody who counts on its files must hear that they are not all there."""
TOO_LONG = 124
STOPPED = 137
_SYSTEM = (
    "/proc", "/sys", "/dev", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/boot",
)  # fmt: skip
_SHARED = ("/var", "/var/lib", "/var/log", "/var/cache", "/var/spool", "/root", "/home", "/opt", "/srv", "/run")
"""Where the folders of many are: not themselves, but one below may well be somebody's own."""


def is_system(folder: str) -> bool:
    """Whether a whole path is a folder that others need as it is, or holds such: the system's, or a home."""
    home = os.path.realpath(os.path.expanduser("~"))
    below = any(folder == one or folder.startswith(one + os.sep) for one in _SYSTEM)
    return below or any(f"{one}/".startswith(f"{folder.rstrip('/')}/") for one in (*_SYSTEM, *_SHARED, home))
