"""Check a policy file, or explain what it decides for a caller and a tool. Nothing is run and nothing recorded."""

from argparse import ArgumentParser, Namespace
from shlex import quote
from typing import Any

from rightcall.cli.options import json_option
from rightcall.cli.store_options import store_options
from rightcall.door_guarding import POLICY_FILE

EXAMPLES = """\
examples:
  rightcall policy check
  rightcall policy check my-project/rightcall.toml --json
  rightcall policy explain --as teacher code/execute/python
  rightcall policy explain my-project/rightcall.toml --as teacher code/read '{"path": ".env"}'
  rightcall policy explain --as teacher save_note --tools mytools:TOOLS --live --json
  rightcall policy command 'git push --force'
"""
_CHECK = "say whether a policy file is right: every mistake with its line, and what is worth knowing"
_EXPLAIN = "say what would be decided for a caller and a tool, by which rule, and what every policy says"
_COMMAND = "say what would be decided for a command line or an address, by which rule, and why"


class _AnyOrder(ArgumentParser):
    """Options may stand between FILE and TOOL. argparse can do that, but not by itself below another parser."""

    _mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - as the original, which has overloads
        if self._mixing:
            return super().parse_known_args(args, namespace)
        self._mixing = True
        try:
            found, rest = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._mixing = False
        command: str | None = getattr(found, "command", None)
        if rest and command is not None:  # without quotes it falls apart into words, of which only the first is known
            words = quote(" ".join([command, *rest]))
            self.error(f"quote the command line, so that it is one argument: rightcall policy command {words}")
        return found, rest


def arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=_AnyOrder)

    def action(name: str, about: str) -> ArgumentParser:
        made = actions.add_parser(
            name,
            help=about,
            description=f"{about[0].upper()}{about[1:]}.",
            formatter_class=parser.formatter_class,
            allow_abbrev=False,
        )
        json_option(made, "the answer")
        return made

    check = action("check", _CHECK)
    check.add_argument("file", nargs="?", metavar="FILE", help=f"default: {POLICY_FILE} here")
    _explain_arguments(action("explain", _EXPLAIN))
    _command_arguments(action("command", _COMMAND))


def _explain_arguments(parser: ArgumentParser) -> None:
    parser.usage = "rightcall policy explain [FILE] [--as CALLER] TOOL [ARGS] [options]"
    parser.add_argument(
        "words", nargs="+", metavar="[FILE] TOOL [ARGS]",
        help="a policy file that ends in .toml, the tool, and its arguments (- reads standard input, @FILE a file)",
    )  # fmt: skip
    parser.add_argument("--as", dest="caller", default="default", metavar="CALLER", help="on whose behalf (default)")
    parser.add_argument(
        "--tools", action="append", default=[], metavar="FILE",
        help="tools from a .json, .jsonl or .toml file, or module:attribute (imports that module); repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--pack", action="append", default=[], metavar="NAME", help="a rule pack besides `code`; repeatable"
    )
    parser.add_argument(
        "--live", action="store_true", help="count what was really called and answered so far, from the audit"
    )
    store_options(parser)


def _command_arguments(parser: ArgumentParser) -> None:
    parser.usage = "rightcall policy command [COMMAND] [--url] [--policy FILE] [--root DIR] [--json]"
    parser.add_argument(
        "command", nargs="?", metavar="COMMAND",
        help='one command line in quotes; without it JSON lines are read: {"command": "…"}, {"url": "…"} or a text',
    )  # fmt: skip
    parser.add_argument("--url", action="store_true", help="COMMAND is an address")
    parser.add_argument("--policy", metavar="FILE", help=f"the policy file (default: {POLICY_FILE} in --root, if any)")
    parser.add_argument("--root", metavar="DIR", default=".", help="the folder that is worked in (default: this one)")


def run(options: Namespace) -> int:
    if options.action == "check":
        from rightcall.cli.policy_check import check

        return check(options.file, json=options.json)
    if options.action == "command":
        from rightcall.cli.policy_command import run as run_command

        return run_command(options)
    from rightcall.cli.policy_explain import run as run_explain

    return run_explain(options)
