"""The texts of `--help` and of `rightcall help`: at most 30 lines for a command, everything on demand.

rightcall --help            the groups of commands
rightcall COMMAND --help    one sentence, usage, arguments, own options, three examples, the page
rightcall help COMMAND      every option, with all examples
rightcall help TOPIC        commands, options, exit-codes
"""

import sys
from argparse import SUPPRESS, Action, ArgumentParser
from collections.abc import Iterator
from difflib import get_close_matches
from textwrap import wrap
from typing import Final, cast

from rightcall.cli import COMMANDS, OK
from rightcall.cli.parser import SHARED, WIDTH, Parser, actions_of, parser_of
from rightcall.errors import ConfigError

LONGEST: Final = 30
"""Lines of a `--help`: what fits a small terminal."""

GROUPS: Final = {
    "Start": ("demo", "init", "doctor", "console", "docs"),
    "Connect": ("proxy", "serve", "mcp", "wrap", "install", "uninstall", "status"),
    "Calls": ("read", "check", "run", "tools", "packs", "formats"),
    "Control": ("policy", "trust", "approvals", "grants", "people", "token", "pause", "resume", "audit", "stats"),
    "Requests": ("ask", "route", "requests"),
    "Code": ("sandbox", "pr", "undo"),
}
"""What `rightcall --help` shows; the commands that are in no group are hidden."""

HIDDEN: Final = ("hook", "eval", "warm", "version", "completion")

PAGES: Final = {
    "doctor": "reference/doctor.md", "proxy": "reference/proxy.md", "serve": "reference/proxy.md",
    "mcp": "reference/mcp.md", "wrap": "reference/mcp.md", "install": "hosts/index.md", "uninstall": "hosts/index.md",
    "status": "hosts/index.md", "hook": "hosts/index.md", "read": "reference/formats.md",
    "check": "concepts/repair.md", "tools": "reference/packs.md", "packs": "reference/packs.md",
    "formats": "reference/formats.md", "policy": "operate/policy.md", "init": "operate/policy.md",
    "trust": "concepts/policy-order.md", "approvals": "operate/approve.md", "grants": "operate/approve.md",
    "console": "operate/console.md", "people": "operate/console.md",
    "audit": "operate/audit.md", "stats": "operate/stats.md", "route": "concepts/routing.md",
    "ask": "concepts/routing.md", "requests": "reference/routing.md", "sandbox": "reference/sandbox.md",
    "pr": "reference/writes.md", "undo": "reference/undo.md", "run": "reference/executor.md",
}  # fmt: skip
"""The page under docs/ about a command; cli.md where there is no other."""

EXITS: Final = {
    "check": "0 the call may run, 1 refused, 2 wrong usage",
    "read": "0 every call may run, 1 a call is refused, 2 wrong usage",
    "run": "0 the tool ran, 1 refused, waiting or failed, 2 wrong usage",
    "audit verify": "0 unchanged, 1 a record was changed, removed or moved, 2 wrong usage",
    "sandbox run": "the program's own; 123 files lost, 124 timeout, 125 no sandbox, 137 over a limit",
}

EXIT_CODES: Final = """\
Exit codes of every command:
  0    done
  1    the command worked; the answer is negative (below)
  2    wrong usage; an invalid tool, pack or policy file; input or output failed
  129  the terminal was closed (SIGHUP)
  130  interrupted (Ctrl-C)
  141  the reader of the output closed it
  143  stopped from outside (SIGTERM)

Exit code 1:
  check                   the call is refused (with --jsonl: 0 once every line is answered)
  read                    a call is refused
  run, route --run        the call did not run, or failed
  ask                     a person must answer first, or the answer is incomplete
  route                   no model could choose
  approvals approve       the call was shown and not approved
  audit verify            a record was changed, removed or moved
  audit prune, adopt      you declined
  install, uninstall      you declined, or there was nothing to wrap
  doctor, status          something does not work
  sandbox doctor          the sandbox does not work, or does not stop everything
  tools --write-examples  the model wrote no example for a tool
  undo                    you declined, or something newer depends on the change
  pr                      nothing was done, or you declined

Exit codes of sandbox run: the program's own, 128+N when signal N ended it, and
  123  the program ended with 0, but not all of its files could be copied back
  124  timeout
  125  no sandbox on this machine; nothing ran
  137  another limit ended the program

wrap ends with the exit code of the server.
"""

_NAMES: Final = {
    "--tools": "--tools FILE|MODULE:NAME", "--pack": "--pack NAME", "--policy": "--policy FILE", "--root": "--root DIR",
    "--store": "--store FILE", "--as": "--as CALLER", "--by": "--by NAME", "--key-env": "--key-env NAME",
    "--model": "--model NAME", "--provider": "--provider NAME",
}  # fmt: skip


def run(words: list[str]) -> int:
    """`rightcall help …`."""
    sys.stdout.write(_topic(words))
    return OK


def _topic(words: list[str]) -> str:
    if not words:
        return overview()
    name, *rest = words
    topics = {"commands": _commands, "options": _options, "exit-codes": lambda: EXIT_CODES}
    if name in topics and not rest:
        return topics[name]()
    if name not in COMMANDS or name == "version":
        near = get_close_matches(name, [*COMMANDS, *topics], n=1)
        hint = f"did you mean `{near[0]}`?" if near else "run `rightcall help commands`"
        raise ConfigError(f"unknown help topic `{name}`: {hint}")
    parser = parser_of(name)[0]
    for word in rest:
        if (inner := actions_of(parser).get(word)) is None:
            raise ConfigError(f"unknown action `{word}` of `{parser.prog}`: run `{parser.prog} --help`")
        parser = inner
    return "\n".join(_whole(parser))


def _whole(parser: Parser) -> Iterator[str]:
    yield parser.format_whole_help()
    for action in actions_of(parser).values():
        yield from _whole(action)


def overview() -> str:
    """What `rightcall --help` prints."""
    width = max(map(len, GROUPS))
    groups = "\n".join(f"  {group:<{width}}  {', '.join(names)}" for group, names in GROUPS.items())
    return f"""\
Repair the tool calls models get wrong, and block those that must not run.

usage: rightcall COMMAND [OPTIONS]

commands:
{groups}

examples:
  rightcall demo                                      See what RightCall does
  rightcall proxy --upstream http://localhost:11434   Repair the calls of a local model
  some-model | rightcall read --tools tools.json      Check the calls in a model's output

more:
  rightcall help commands      What each command does
  rightcall COMMAND --help     How to use a command
  rightcall help COMMAND       Every option of a command
  rightcall help options       Options that commands share
  rightcall help exit-codes    Exit codes
  rightcall --version          The version

docs: run `rightcall docs`
"""


def _commands() -> str:
    width = max(map(len, COMMANDS))
    parts = [
        f"{group}:\n" + "".join(f"  {name:<{width}}  {COMMANDS[name]}\n" for name in names)
        for group, names in {**GROUPS, "Hidden": HIDDEN}.items()
    ]
    return "\n".join(parts)


def _options() -> str:
    rows = [(_NAMES.get(flag, flag), about) for flag, about in SHARED.items()]
    return "\n".join(["Options that several commands take:", *_rows(rows), ""])


def short_help(parser: Parser) -> str:
    """What `--help` prints. Own options that do not fit are named as missing, never cut silently."""
    command = parser.prog.removeprefix("rightcall ")
    own = [action for action in _visible(parser) if action.option_strings and not _is_shared(action)]
    shared = [action.option_strings[-1] for action in _visible(parser) if action.option_strings and _is_shared(action)]
    head = [f"{parser.summary}.", "", *_usage(parser)]
    places = [row for action in _visible(parser) if not action.option_strings for row in _argument_rows(action)]
    if places:
        head += ["", "actions:" if actions_of(parser) else "arguments:", *_rows(places)]
    line = f"shared options: {', '.join(shared)} (see `rightcall help options`)"
    tail = wrap(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) if shared else []
    if examples := _examples(parser):
        tail += ["", "examples:", *examples]
    tail += ["", *([f"exit codes: {EXITS[command]}"] if command in EXITS else [])]
    tail += [f"docs: docs/{PAGES.get(command.partition(' ')[0], 'reference/commands.md')}"]
    return "\n".join(_fitting(parser, head, own, tail)).replace("\n\n\n", "\n\n") + "\n"


def _fitting(parser: Parser, head: list[str], own: list[Action], tail: list[str]) -> list[str]:
    lines: list[str] = []
    for count in range(len(own), -1, -1):
        rows = _rows([(_name(action), _about(action)) for action in own[:count]])
        missing = len(own) - count
        more = [f"  … {missing} more: run `rightcall help {parser.prog.split()[1]}`"] if missing else []
        middle = ["", "options:", *rows, *more] if rows or more else [""]
        lines = [*head, *middle, *tail]
        if len(lines) <= LONGEST:
            break
    return lines


def _visible(parser: ArgumentParser) -> list[Action]:
    return [action for action in parser._actions if action.help != SUPPRESS and action.dest != "help"]


def _is_shared(action: Action) -> bool:
    return not action.required and action.help in (SHARED.get(flag) for flag in action.option_strings)


def _usage(parser: Parser) -> list[str]:
    if parser.usage is not None:
        words = [parser.usage]
    else:
        actions = _visible(parser)
        required = [_name(action) for action in actions if action.option_strings and action.required]
        optional = any(action.option_strings and not action.required for action in actions)
        places = [_place(action) for action in actions if not action.option_strings]
        words = [parser.prog, *required, *(["[OPTIONS]"] if optional else []), *places]
    return wrap(f"usage: {' '.join(words)}", WIDTH, subsequent_indent=" " * 7)


def _place(action: Action) -> str:
    name = str(action.metavar or action.dest)
    if action.nargs == "?":
        return f"[{name}]"
    if action.nargs == "*":
        return f"[{name} ...]"
    return f"{name} ..." if action.nargs in ("+", "A...") else name


def _name(action: Action) -> str:
    name = ", ".join(sorted(action.option_strings, key=len))
    if action.nargs == 0:
        return name
    choices = "|".join(map(str, action.choices)) if action.choices is not None else action.dest.upper()
    metavar = str(action.metavar or choices)
    return f"{name} [{metavar}]" if action.nargs == "?" else f"{name} {metavar}"


def _argument_rows(action: Action) -> list[tuple[str, str]]:
    if action.dest == "action":
        return [(name, parser.summary) for name, parser in cast("dict[str, Parser]", action.choices).items()]
    return [(str(action.metavar or action.dest), _about(action))]


def _about(action: Action) -> str:
    return (action.help or "") % {"default": action.default} if "%(" in (action.help or "") else action.help or ""


def _rows(rows: list[tuple[str, str]]) -> list[str]:
    """Two columns; the text of a long name starts in the same column where it can."""
    width = min(max((len(name) for name, _ in rows), default=0), 30)
    lines: list[str] = []
    for name, about in rows:
        first, *others = wrap(about.replace("%%", "%"), WIDTH - width - 4) or [""]
        if len(name) > width:
            first, *others = wrap(about.replace("%%", "%"), WIDTH - len(name) - 4) or [""]
        lines += [f"  {name:<{width}}  {first}".rstrip(), *(" " * (width + 4) + line for line in others)]
    return lines


def _examples(parser: Parser) -> list[str]:
    lines = [line for line in (parser.epilog or "").splitlines() if f"{parser.prog} " in f"{line} "]
    return [line for line in lines if line.startswith("  ") and len(line) <= WIDTH][:3]
