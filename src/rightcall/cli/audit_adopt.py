"""`audit adopt`: take the file that is there now for the audit, or begin a new one, on purpose and on record."""

import os
from argparse import Namespace
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rightcall.cli import OK, REFUSED
from rightcall.cli.persons import at_a_terminal, typed, who
from rightcall.cli.store_options import database_of
from rightcall.cli.terminal import say
from rightcall.errors import AnswerError, StoreError
from rightcall.record.asking import person
from rightcall.record.sqlite import SqliteStore

_YES = ("y", "yes")
_BESIDE = ("", "-wal", "-shm")


def adopt_audit(options: Namespace) -> int:
    path = Path(database_of(options)).resolve()
    problem = _problem(path)
    if problem is None:
        say("The audit is the one that was there before. Nothing was changed.")
        return OK
    by = who(options)
    person(by, "", ())
    say(str(problem).partition(" Nothing was run.")[0])
    if not options.yes:
        if not at_a_terminal():
            raise AnswerError("cannot prompt without a terminal; pass --yes")
        if typed("Go on with what is there now, and record that? [y/N] ") not in _YES:
            say("Nothing was changed.")
            return REFUSED
    aside = _move_aside(path) if problem.fault == "corrupt" else []
    with closing(SqliteStore(path, adopting=(by, options.reason))) as store:
        (entry,) = store.look(lambda tables: tables.newest(1, ("store",))) or [None]
    say(*(f"The damaged file is now {name}." for name in aside))
    say("A new audit was begun." if entry is None or entry.seq == 1 else f"Adopted, as record {entry.seq} says.")
    return OK


def _problem(path: Path) -> StoreError | None:
    """What is wrong with it, where that is for a person to decide; any other fault is raised."""
    try:
        SqliteStore(path).close()
    except StoreError as error:
        if error.fault in ("replaced", "corrupt"):
            return error
        raise
    return None


def _move_aside(path: Path) -> list[str]:
    """A file that cannot be read is kept under another name, and so is a key that is none."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    moved: list[str] = []
    key = path.with_name(f"{path.name}.key")
    files = [path.with_name(f"{path.name}{end}") for end in _BESIDE if not _is_whole(path)]
    files += [key] if key.exists() and key.stat().st_size != 32 else []
    for file in files:
        if file.exists():
            other: Any = file.with_name(f"{file.name}.before-{moment}")
            os.rename(file, other)
            moved.append(other.name)
    return moved


def _is_whole(path: Path) -> bool:
    """Whether it is the key beside it that is damaged, and not the database."""
    from rightcall.cli.store_options import Looking

    try:
        with closing(Looking(str(path), found=True)) as looking:
            looking.look(lambda tables: tables.head())
    except StoreError:
        return False
    return True
