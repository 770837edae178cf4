"""The desk that a command works at, and the record that a person's own act leaves in the audit."""

from argparse import Namespace
from contextlib import closing
from typing import TYPE_CHECKING, Any

from rightcall.cli.persons import who
from rightcall.cli.store_options import database_of, open_store, policy_file, policy_of
from rightcall.execute.write.desk import Desk
from rightcall.executor_opening import desk_folder, existing_folder, guarded_paths
from rightcall.fs.rules import path_rules
from rightcall.fs.sight import Sight
from rightcall.record.asking import person
from rightcall.record.notes import note_change

if TYPE_CHECKING:
    from rightcall.config import Policy


def open_desk(options: Namespace) -> "tuple[Desk, Policy]":
    """The desk of the root that the options name, and the policy in force there."""
    root, policy, database = existing_folder(options.root), policy_of(options), database_of(options)
    paths = policy.settings.paths
    guarded = guarded_paths(root, policy_file(options), database)
    rules = path_rules((*paths.deny, *guarded), paths.allow, paths.dotfiles)
    return Desk(desk_folder(database), Sight(root, rules), policy.write), policy


def person_of(options: Namespace, policy: "Policy", author: str) -> str:
    """Who acts; AnswerError where that is, or looks like, a caller of tools."""
    name = who(options)
    person(name, author, tuple(policy.settings.callers))
    return name


def noted(options: Namespace, what: str, by: str, data: dict[str, Any]) -> None:
    """Written before anything is done: where nothing can be recorded, nothing happens."""
    with closing(open_store(options, create=True)) as store:
        store.transact(lambda tables: note_change(tables, what, by, data))
