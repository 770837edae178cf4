"""`audit export`: every record with its hash and the hash before it, as JSON lines or CSV, ASCII throughout.

A file appears whole or not at all: it is written beside its place and then renamed, so that Ctrl-C loses nothing.
"""

import os
import stat
import sys
from argparse import Namespace
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from json import JSONEncoder
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TextIO, cast

from msgspec import DecodeError, json

from rightcall.cli import OK
from rightcall.cli.audit_lines import records
from rightcall.cli.lines import InputError
from rightcall.cli.moments import moment
from rightcall.fs.whole import whole_file
from rightcall.record.chain import START
from rightcall.record.reading import CALLS
from rightcall.record.tables import AuditEntry, Tables
from rightcall.record.verify import checkpoints

if TYPE_CHECKING:
    from rightcall.cli.store_options import Looking

COLUMNS = ("seq", "at", "kind", "call", "caller", "tool", "decision", "rule", "status", "body", "prev", "hash")
"""Of the CSV; from `caller` to `status` they repeat what stands in the body."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_ascii_json = JSONEncoder(ensure_ascii=True).encode

Exported = tuple[AuditEntry, bytes | None]
"""A record, and the hash of the one before it (None: that one is pruned, and nothing says what it was)."""


def export(store: "Looking", options: Namespace) -> int:
    since = None if options.since is None else moment(options.since, "--since")
    write = _csv if options.format == "csv" else _jsonl
    with _target(options.file) as stream:
        count = store.look(lambda tables: write(stream, _records(tables, options.caller, since)))
    if options.file != "-":
        sys.stderr.write(f"{records(count)} written to {options.file}\n")
    return OK


def _records(tables: Tables, caller: str | None, since: str | None) -> Iterator[Exported]:
    belongs = _of_caller(caller) if caller is not None else None
    first = next(iter(tables.entries(since=since)), None)
    if first is None:
        return
    previous = tables.entry(first.seq - 1)
    before = previous.hash if previous is not None else _before_first(tables, first)
    for entry in tables.entries(first.seq - 1):
        if (since is None or entry.at >= since) and (belongs is None or belongs(entry)):
            yield entry, before
        before = entry.hash


def _before_first(tables: Tables, first: AuditEntry) -> bytes | None:
    if first.seq == 1:
        return START
    return next((one.hash for one in checkpoints(tables) if one.seq == first.seq - 1), None)


def _of_caller(caller: str) -> Callable[[AuditEntry], bool]:
    """Whether a record tells of this caller: its calls and what belongs to them, answers, grants and messages."""
    begun: set[int] = set()

    def belongs(entry: AuditEntry) -> bool:
        if entry.call:
            return entry.call in begun
        body = body_of(entry)
        data: Any = body.get("data")
        said = body.get("caller") or (cast("dict[str, Any]", data).get("caller") if isinstance(data, dict) else None)
        if said == caller and entry.kind in CALLS:
            begun.add(entry.seq)
        return said == caller

    return belongs


def body_of(entry: AuditEntry) -> dict[str, Any]:
    """What a record holds, empty when it cannot be read."""
    try:
        body: Any = json.decode(entry.body)
    except DecodeError:
        return {}
    return cast("dict[str, Any]", body) if isinstance(body, dict) else {}


def _jsonl(stream: TextIO, records: Iterator[Exported]) -> int:
    count = 0
    for entry, before in records:
        line = {
            "seq": entry.seq, "kind": entry.kind, "call": entry.call, "at": entry.at, "body": _text(entry),
            "prev": None if before is None else before.hex(), "hash": entry.hash.hex(),
        }  # fmt: skip
        stream.write(_ascii_json(line) + "\n")
        count += 1
    return count


def _csv(stream: TextIO, records: Iterator[Exported]) -> int:
    from csv import writer

    rows = writer(stream, lineterminator="\n")
    rows.writerow(COLUMNS)
    count = 0
    for entry, before in records:
        body = body_of(entry)
        told = [_cell(body.get(name, "")) for name in COLUMNS[4:9]]
        prev = "" if before is None else before.hex()
        rows.writerow([entry.seq, entry.at, entry.kind, entry.call, *told, _cell(_text(entry)), prev, entry.hash.hex()])
        count += 1
    return count


def _text(entry: AuditEntry) -> str:
    """The body as it is, so that its hash can be computed again."""
    return entry.body.decode("utf-8", "backslashreplace")


def _cell(value: Any) -> str:
    """Text that no spreadsheet takes for a formula, and no terminal for a command."""
    text = value if isinstance(value, str) else _ascii_json(value)
    plain = text.encode("ascii", "backslashreplace").decode()
    plain = "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in plain)
    return "'" + plain if plain.startswith(_FORMULA) else plain


@contextmanager
def _target(path: str) -> Generator[TextIO, None, None]:
    """Where to write: standard output, something special like a pipe, or a file that appears when all is written."""
    if path == "-":
        yield sys.stdout
        return
    try:
        if _is_special(path):
            with open(path, "w", encoding="ascii") as stream:
                yield stream
            return
        with _whole_text(path) as stream:
            yield stream
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", source=path) from error


def _is_special(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextmanager
def _whole_text(path: str) -> Generator[TextIO, None, None]:
    target = os.path.realpath(path)  # behind a link, so that the link stays
    with whole_file(target, os.path.join(os.path.dirname(target), f".rightcall-{token_hex(6)}")) as stream:
        text = TextIOWrapper(stream, encoding="ascii", newline="")
        try:
            yield text
        finally:
            text.detach()
