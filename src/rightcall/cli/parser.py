"""The parser of every command: a short `--help`, the options that commands share, and suggestions for wrong flags."""

import re
from argparse import Action, ArgumentError, ArgumentParser, HelpFormatter, RawDescriptionHelpFormatter
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, Final, NoReturn, cast

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.cli import COMMANDS, home_of, suffix_of

__all__ = ["SHARED", "WIDTH", "Parser", "actions_of", "family", "flags", "parser_of"]

WIDTH: Final = 100
"""Of every help. Asking for the terminal's width loads shutil."""

SHARED: Final = {
    "--tools": "Load tools from a JSON or TOML file, or from Python; repeatable",
    "--pack": "Use this rule pack, by name or path; repeatable",
    "--policy": f"Use this policy file (default: {POLICY_FILE} in --root)",
    "--root": "Work in this folder (default: the current one)",
    "--store": "Use this store (default: the one the policy names)",
    "--as": "Run as this caller (default: default)",
    "--by": "Record this name as yours (default: your user name)",
    "--key-env": "Read the upstream's key from this environment variable",
    "--model": "Use this model (default: the first one the upstream lists)",
    "--provider": "Use the repair settings of this provider (ollama, anthropic, …)",
    "--json": "Print JSON",
    "--yes": "Do not ask for confirmation",
    "--dry-run": "Show what would change; change nothing",
}
"""The sentence of each option that several commands take: the same everywhere."""

REMOVED: Final = {
    "--db": "--store", "--url": "--upstream", "--caller": "--as", "--observe": "--mode observe",
    "--block": "--mode block", "--days": "--older-than", "--seconds": "--timeout", "--open": "--no-auth",
    "--origin": "--allow-origin", "--host-name": "--allow-host",
}  # fmt: skip
"""Flags that have another name now. They do nothing: whoever types one is told the new name."""


_ARGUMENT: Final = re.compile(r"^argument (?:\S+/)?(-\S+): ")


class Parser(ArgumentParser):
    """Prints the short help for `--help`; `rightcall help COMMAND` prints all of it."""

    def __init__(self, *, summary: str = "", **more: Any) -> None:
        shape = cast("type[HelpFormatter]", partial(RawDescriptionHelpFormatter, width=WIDTH))
        super().__init__(formatter_class=shape, allow_abbrev=False, **more)
        self.summary = summary
        self._given: list[str] = []

    def format_help(self) -> str:
        return import_module("rightcall.cli.help").short_help(self)  # only when it is asked for

    @property
    def is_group(self) -> bool:
        """Whether the command only holds others, like `audit`."""
        return bool(actions_of(self))

    def format_whole_help(self) -> str:
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - its overloads
        self._given = list(args or ())
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        if self.is_group and message.endswith("required: ACTION"):
            self.exit(2, self.format_help())
        words = message.partition("unrecognized arguments: ")[2].split()
        message = _ARGUMENT.sub(r"`\1`: ", message)
        if renamed := self._renamed():
            message = renamed
        elif words and (flag := words[0].partition("=")[0]).startswith("-"):
            message = f"unknown option `{flag}`{self._nearest(flag)}"
        self.exit(2, f"error: {message}\nhint: run `{self.prog} --help`\n")

    def _check_value(self, action: Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        from difflib import get_close_matches

        name = f"`{action.option_strings[-1]}`" if action.option_strings else str(action.metavar or action.dest).lower()
        near = get_close_matches(str(value), map(str, action.choices), n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"expected {', '.join(map(str, action.choices))}"
        known = f"for {name}" if action.option_strings else ""
        what = f"invalid value `{value}` {known}" if known else f"unknown {name} `{value}`"
        raise ArgumentError(None, f"{what}: {hint}")

    def _renamed(self) -> str:
        """What to write instead of a flag that was removed, whatever else is missing because of it."""
        known = {name for parser in family(self) for name in flags(parser)}
        for word in self._given[: self._given.index("--") if "--" in self._given else None]:
            old = word.partition("=")[0]
            if old not in known and REMOVED.get(old, "").partition(" ")[0] in known:
                return f"`{old}` is now `{REMOVED[old]}`"
        return ""

    def _nearest(self, flag: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(flag, [name for parser in family(self) for name in flags(parser)], n=1)
        return f": did you mean `{near[0]}`?" if near else ""


def parser_of(command: str) -> tuple[Parser, ModuleType]:
    """The parser of a command, and the module that the command is in."""
    module, own = import_module(f"rightcall.cli.{home_of(command)}"), suffix_of(command)
    parser = Parser(
        prog=f"rightcall {command}",
        summary=COMMANDS[command],
        description=getattr(module, f"HELP{own.upper()}") if own else module.__doc__,
        epilog=getattr(module, f"EXAMPLES{own.upper()}"),
    )
    getattr(module, f"arguments{own}")(parser)
    return parser, module


def actions_of(parser: ArgumentParser) -> dict[str, Parser]:
    found: dict[str, Parser] = {}
    for action in parser._actions:
        if action.dest == "action":
            found |= cast("dict[str, Parser]", action.choices)
    return found


def family(parser: ArgumentParser) -> list[ArgumentParser]:
    """The parser, and those of its actions."""
    return [parser, *(one for child in actions_of(parser).values() for one in family(child))]


def flags(parser: ArgumentParser) -> list[str]:
    return [name for action in parser._actions for name in action.option_strings]
