"""`audit adopt`: take the file that is there now for the audit, or begin a new one, on purpose and on record."""

import os
import sys
from argparse import Namespace
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any

from rightcall.cli import OK, REFUSED
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.persons import at_a_terminal, typed, who
from rightcall.cli.store_options import database_of, found_in
from rightcall.cli.terminal import many, say
from rightcall.errors import AnswerError, ConfigError, StoreError
from rightcall.fs.whole import plain_file
from rightcall.record.asking import person
from rightcall.record.sqlite import SqliteStore
from rightcall.record.sqlite_identity import lost
from rightcall.text.escape import escaped

_YES = ("y", "yes")
_BESIDE = ("", "-wal", "-shm")
_LOST = "Tokens, approvals and grants in the lost audit log do not hold in the new one."
_UNSURE = "What was paused, approved, granted or revoked after this copy was made does not hold in it."


def adopt_audit(options: Namespace) -> int:
    path = Path(database_of(options)).resolve()
    if not path.exists() and not lost(path):
        raise ConfigError(f"there is no audit log at {escaped(str(path))}; nothing was changed. Check `--db`")
    if not lost(path) and not _was_a_store(path):
        raise ConfigError(f"{escaped(str(path))} is not an audit log; nothing was changed. Check `--db`")
    problem = _problem(path, found=found_in(options) is not None)
    if problem is None:
        _tell(options, {"adopted": False}, ["The audit is the one that was there before. Nothing was changed."])
        return OK
    by = who(options)
    person(by, "", ())
    empties = problem.fault == "corrupt" and not _is_whole(path)
    loses = _LOST if empties or lost(path) else _UNSURE
    if not options.json:
        say(str(problem).partition(" Nothing was run.")[0], loses)
    if not options.yes:
        if options.json or not at_a_terminal():
            raise AnswerError("cannot prompt without a terminal; pass --yes")
        if typed("Go on with what is there now, and record that? [y/N] ") not in _YES:
            say("Nothing was changed.")
            return REFUSED
    aside = _move_aside(path) if problem.fault == "corrupt" else []
    with closing(SqliteStore(path, adopting=(by, options.reason))) as store:
        (entry,) = store.look(lambda tables: tables.newest(1, ("store",))) or [None]
        held = store.look(lambda tables: tables.paused())
        tokens = len(store.look(lambda tables: tables.tokens()))
    begun = entry is None or entry.seq == 1
    record = {
        "adopted": True, "new": begun, "record": None if entry is None else entry.seq, "aside": aside,
        "paused": held is not None, "tokens": tokens,
    }  # fmt: skip
    _tell(options, record, [*(f"The damaged file is now {name}." for name in aside), *_after(path, record)])
    return OK


def _after(path: Path, record: dict[str, Any]) -> list[str]:
    """What is in force now, and what to do where that is not what was."""
    where = f"--db {escaped(quote(str(path)))}"
    if record["new"]:
        return [
            "A new audit was begun.",
            f"It is {'still' if record['paused'] else 'not'} paused and holds no tokens, approvals or grants.",
            *([] if record["paused"] else [f"If calls were paused, pause them again: rightcall pause {where}"]),
            f"For each client make a token again: rightcall token new --as CALLER {where}",
        ]
    return [
        f"Adopted, as record {record['record']} says.",
        f"Calls are {'paused' if record['paused'] else 'not paused'}; {many(record['tokens'], 'token')} can be used.",
        *([] if record["paused"] else [f"If calls were paused since, pause them again: rightcall pause {where}"]),
        f"Check the tokens, a revoked one may be back: rightcall token list {where}",
    ]


def _tell(options: Namespace, record: dict[str, Any], lines: list[str]) -> None:
    if options.json:
        say(json_text(record, ascii_only=not is_unicode(sys.stdout)))
    else:
        say(*lines)


def _problem(path: Path, *, found: bool) -> StoreError | None:
    """What is wrong with it, where that is for a person to decide; any other fault is raised."""
    try:
        SqliteStore(path, found=found).close()
    except StoreError as error:
        if error.fault in ("replaced", "corrupt"):
            return error
        raise
    return None


def _was_a_store(path: Path) -> bool:
    """Whether a file is, or was, one of ours: a database, or a file with a key or a note of ours."""
    from rightcall.trust.ledger import recall

    beside = any(path.with_name(f"{path.name}{end}").exists() for end in (".key", "-head"))
    if beside or recall("stores", str(path)) is not None:
        return True
    with open(path, "rb", opener=plain_file) as file:
        return file.read(16) == b"SQLite format 3\0"


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
