"""Check a policy file, or explain what it decides for a caller and a tool. Nothing is run and nothing recorded."""

from argparse import ArgumentParser, Namespace

from rightcall.cli.options import json_option
from rightcall.cli.store_options import POLICY_FILE

EXAMPLES = """\
examples:
  rightcall policy check
  rightcall policy check my-project/rightcall.toml --json
"""


def arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser(
        "check",
        help="say whether a policy file is right: every mistake with its line, and what is worth knowing",
        description="Say whether a policy file is right: every mistake with its line, and what is worth knowing.",
        formatter_class=parser.formatter_class,
        allow_abbrev=False,
    )
    check.add_argument("file", nargs="?", default=POLICY_FILE, metavar="FILE", help=f"default: {POLICY_FILE} here")
    json_option(check, "the answer")


def run(options: Namespace) -> int:
    from rightcall.cli.policy_check import check

    return check(options.file, json=options.json)
