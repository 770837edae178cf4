"""What only a person can say, asked at the terminal: whether a call may run, what was meant, what is missing."""

from argparse import Namespace
from typing import TYPE_CHECKING

from rightcall.cli.answering import YES, answered, show_question
from rightcall.cli.approvals_watch import NO
from rightcall.cli.persons import typed, typed_text
from rightcall.cli.terminal import say
from rightcall.errors import AnswerError

if TYPE_CHECKING:
    from rightcall.record.tables import Store
    from rightcall.route.types import Packet

_LEAVES = "Enter leaves it waiting"


def ask_person(packet: "Packet", store: "Store", options: Namespace) -> str | None:
    """What to go on with: "yes", "no" or a text. None: the packet waits for nobody here, or stays waiting."""
    if packet.status.state != "waiting":
        return None
    approval = packet.tool_routing.approval
    match packet.tool_routing.execution_status:
        case "awaiting_approval" if approval is not None:
            return _approved(store, options, approval)
        case "awaiting_confidence":
            return typed_text(f"run it? [y/n, or say what you mean; {_LEAVES}] ") or None
        case _:
            return typed_text(f"your answer [{_LEAVES}]: ") or None


def _approved(store: "Store", options: Namespace, id: str) -> str | None:
    """As `approvals watch` asks: the question is shown whole, and a yes is said to exactly that."""
    try:
        approval = show_question(store, id)
        said = typed(f"approve {id}? [y/N, {_LEAVES}] ")
        if said in YES:
            say(answered(store, options, id, "approved", approval.digest))
            return "yes"
        if said in NO:
            say(answered(store, options, id, "denied"))
            return "no"
    except AnswerError as error:
        say(f"not answered: {error}")
    return None
