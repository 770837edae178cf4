"""Let tool calls run again after `rightcall pause`."""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rightcall.cli.pause import common_arguments, hidden, report_each, settings_of, state_record
from rightcall.cli.persons import who

if TYPE_CHECKING:
    from rightcall.record.tables import Store

EXAMPLES = """\
examples:
  rightcall resume
  rightcall resume --everywhere --reason "the prompt is fixed"
"""


def arguments(parser: ArgumentParser) -> None:
    common_arguments(parser)


def run(options: Namespace) -> int:
    from rightcall.record.pause import resume

    callers = tuple(settings_of(options).callers)

    def let_go(store: "Store") -> dict[str, Any]:
        reason = hidden(options, store, options.reason)
        ended = store.transact(lambda tables: resume(tables, who(options), reason, callers))
        return state_record(None) | {"changed": ended is not None}

    return report_each(options, let_go)
