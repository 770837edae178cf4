"""`approvals watch`: every new question as it comes, to somebody at a terminal or to a program as JSON lines."""

import sys
from argparse import Namespace
from time import sleep
from typing import TYPE_CHECKING

from rightcall.cli import OK
from rightcall.cli.answering import YES, answered, show_question
from rightcall.cli.persons import at_a_terminal, typed
from rightcall.cli.questions import found_approval, json_line, waiting_ids, whole_record
from rightcall.cli.terminal import say
from rightcall.errors import AnswerError

if TYPE_CHECKING:
    from rightcall.record.tables import Store

EVERY = 0.5
"""Seconds between two looks."""

NO = ("n", "no")


def watch(store: "Store", options: Namespace) -> int:
    """Until Ctrl-C, which is how watching ends and so no failure."""
    terminal = at_a_terminal()
    if terminal:
        say("Waiting for questions; Ctrl-C ends.")
    told: set[str] = set()
    try:
        while True:
            waiting = waiting_ids(store)
            for new in (one for one in waiting if one not in told):
                if terminal:
                    _ask(store, options, new)
                else:
                    _print(store, new)
            told = set(waiting)
            if options.once:
                return OK
            sleep(EVERY)
    except KeyboardInterrupt:
        if terminal:
            say("")
        return OK


def _print(store: "Store", id: str) -> None:
    approval, before = store.look(lambda tables: found_approval(tables, id))
    say(json_line(whole_record(approval, before, store.clock.now())))
    sys.stdout.flush()


def _ask(store: "Store", options: Namespace, id: str) -> None:
    """A yes, a no, or anything else: the question stays. What goes wrong is told, and watching goes on."""
    try:
        approval = show_question(store, id)
        said = typed(f"approve {id}? [y/N, Enter leaves it waiting] ")
        if said in YES:
            say(answered(store, options, id, "approved", approval.digest))
        elif said in NO:
            say(answered(store, options, id, "denied"))
        else:
            say(f"{id} still waits.")
    except AnswerError as error:
        say(f"not answered: {error}")
    say("")
