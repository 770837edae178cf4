"""Who acts on a pull request, and the record that a person's own act leaves in the audit."""

from argparse import Namespace
from contextlib import closing
from typing import TYPE_CHECKING, Any

from rightcall.cli.persons import who
from rightcall.cli.store_options import open_store
from rightcall.record.asking import person
from rightcall.record.notes import note_change

if TYPE_CHECKING:
    from rightcall.config import Policy


def person_of(options: Namespace, policy: "Policy", author: str) -> str:
    """Who acts; AnswerError where that is, or looks like, a caller of tools."""
    name = who(options)
    person(name, author, tuple(policy.settings.callers))
    return name


def noted(options: Namespace, what: str, by: str, data: dict[str, Any]) -> None:
    """Written before anything is done: where nothing can be recorded, nothing happens."""
    with closing(open_store(options, create=True)) as store:
        store.transact(lambda tables: note_change(tables, what, by, data))
