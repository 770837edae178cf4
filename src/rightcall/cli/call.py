"""Run one tool call the whole way: repaired, checked, decided by the policy, run, recorded and answered."""

import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from rightcall.cli import OK, REFUSED
from rightcall.cli.lines import InputError, read_argument
from rightcall.cli.options import json_option
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.store_options import policy_file, store_options
from rightcall.cli.terminal import say, style_for

EXAMPLES = """\
examples:
  rightcall call code/read --path README.md --endLine 20
  rightcall call code/search --pattern TODO --filePattern '**/*.py' --contextLines 3
  rightcall call code/diff --base main --split
  rightcall call code/list --help
  rightcall call code/search '{pattern: "TODO"}' --root ~/project
  rightcall call word_count '{"text": "to be or not"}' --tools examples.mytools:TOOLS --as teacher
  rightcall call word_count "{'txt': 'to be'}" --tools examples.mytools:TOOLS --as teacher --explain
  rightcall call append_note @arguments.json --tools examples.mytools:TOOLS --as teacher --json
  rightcall call append_note @arguments.json --tools examples.mytools:TOOLS --as teacher --wait 120

exit code 1: the call was refused, waits for a person, or the tool failed.
"""


_LONGEST_WAIT = 7 * 86_400


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("tool", metavar="TOOL", help="the name of the tool as the model wrote it")
    parser.add_argument(
        "args", nargs="?", default="{}", metavar="ARGS",
        help="the arguments as the model wrote them; - reads standard input, @FILE a file (default: none). "
        "Or give them as options: `rightcall call TOOL --help` lists those of a tool",
    )  # fmt: skip
    parser.add_argument("--as", dest="caller", default="default", metavar="CALLER", help="on whose behalf (default)")
    parser.add_argument(
        "--tools", action="append", default=[], metavar="MODULE:NAME",
        help="Python functions beside the tools that ship with us, as module:attribute (imports it); repeatable",
    )  # fmt: skip
    parser.add_argument("--context", metavar="ID", help="groups records: a chat, a task")
    parser.add_argument("--step", metavar="ID", help="the step of a plan that the call belongs to")
    parser.add_argument("--approval", metavar="ID", help="the approval that the call uses")
    parser.add_argument(
        "--wait", type=float, default=0.0, metavar="SECONDS", help="wait so long for a person to approve it"
    )
    parser.add_argument("--explain", action="store_true", help="also: each repair, the rule, the time of each stage")
    parser.add_argument(
        "--split", action="store_true", help="show the changes of code/diff, code/show, code/log side by side"
    )
    json_option(parser, "the outcome")
    store_options(parser)


def parse(parser: ArgumentParser, arguments: list[str]) -> Namespace:
    """What the command line says; arguments of the tool may be options too."""
    from rightcall.cli.call_options import parse_call

    return parse_call(parser, arguments)


def run(options: Namespace) -> int:
    from contextlib import closing, redirect_stdout

    from rightcall.cli.call_report import outcome_record, report
    from rightcall.cli.store_options import open_store
    from rightcall.cli.trust import offer_trust
    from rightcall.executor import Executor
    from rightcall.executor_opening import existing_folder

    if not 0 <= options.wait <= _LONGEST_WAIT:
        raise InputError(f"--wait takes seconds from 0 to {_LONGEST_WAIT}")
    written = read_argument(options.args)
    existing_folder(options.root)
    offer_trust(options)
    with redirect_stdout(sys.stderr):  # what a tool prints must not mix with what we print
        tools = load_functions(options.tools)
        with (
            closing(open_store(options, create=True)) as store,
            Executor.open_sync(options.root, policy_file(options), tools=tools, store=store) as executor,
        ):
            call = {"name": options.tool, "arguments": written}
            words = {"context": options.context, "step": options.step, "approval": options.approval}
            outcome = executor.run(call, options.caller, **words)
            if outcome.status == "waiting" and options.wait:
                sys.stderr.write(f"waiting up to {options.wait:g} s. {outcome.hint}\n")
                outcome = executor.run(call, options.caller, **words, wait=options.wait)
    if options.json:
        say(json_text(outcome_record(outcome), ascii_only=not is_unicode(sys.stdout)))
    else:
        say(*report(outcome, style_for(sys.stdout, split=options.split), explain=options.explain))
    return OK if outcome.ok else REFUSED


def load_functions(sources: list[str]) -> list[Any]:
    """The functions that `--tools` names. Raises InputError."""
    from rightcall.cli.toolfiles import load_tools

    if any(":" not in source for source in sources):
        raise InputError("--tools takes functions as MODULE:NAME, such as --tools examples.mytools:TOOLS")
    return load_tools(sources)
