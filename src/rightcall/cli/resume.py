"""Let tool calls run again after `rightcall pause`."""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rightcall.cli.pause import common_arguments, keep_everywhere, report_each, said_reason, state_record
from rightcall.cli.pause_places import places_of
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
    from rightcall.record.pause import check_operator, resume
    from rightcall.trust.stops import stopped

    places = places_of(options, "resume")
    callers = tuple(places.settings.callers)
    check_operator(who(options), "", callers)
    changed = places.everywhere and stopped() is not None
    if changed:
        keep_everywhere(None)

    def let_go(store: "Store") -> dict[str, Any]:
        reason = said_reason(options, places, store)
        ended = store.transact(lambda tables: resume(tables, who(options), reason, callers))
        return state_record(None) | {"changed": ended is not None}

    return report_each(options, places, let_go, changed=changed)
