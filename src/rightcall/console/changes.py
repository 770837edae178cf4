"""What tools have changed, laid out for a page: the desk it lies on, a diff file by file with nothing hidden in it, and
the seal that binds an act to what was shown.
"""

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from hmac import compare_digest
from hmac import new as hmac
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from rightcall.base.files.rules import path_rules
from rightcall.base.files.sight import Sight
from rightcall.base.letters import right_to_left_words, visible
from rightcall.console.questions import HUNK, Piece, TextLine, line_pieces
from rightcall.errors import AnswerError, ConfigError, ToolFailure
from rightcall.policy.types import SECOND
from rightcall.policy.watch import place_policy
from rightcall.record.calls import CallRecord, call
from rightcall.record.premises import desk_folder, existing_folder, guarded_paths
from rightcall.record.tables import Tables
from rightcall.tools.write.apply import show_done
from rightcall.tools.write.changes import Filed, JournalEntry, Shown
from rightcall.tools.write.desk import Desk, distrust

if TYPE_CHECKING:
    from rightcall.console.access import Visitor
    from rightcall.console.page import Form, Site

_FIRST_GLANCE: Final = SECOND // 2
"""Nanoseconds in which nobody has read a page: an act that comes sooner was not meant for it."""
_FILE: Final = "diff --git "
_MADE: Final = re.compile(r"\[(c-[0-9a-f]{8})\]\Z")
_MOST_RECORDS: Final = 5000
"""Among which the call is looked for that made a change."""
MOST_SHOWN: Final = 900_000
"""Characters of a diff that a page shows; of more nothing can be approved here."""


def database_of(site: "Site") -> str | None:
    """Where the store's file is; None for one in memory."""
    return getattr(site.store, "path", None)


def desk_of(site: "Site") -> Desk | None:
    """Where the changes of the console's root are kept; None for a store that lies nowhere. Raises ConfigError for one
    that cannot be believed."""
    database = database_of(site)
    if database is None:
        return None
    policy, root = site.policy(), existing_folder(site.root)
    source = policy.source if os.path.isfile(policy.source) else None
    policy = place_policy(policy, source, root)
    paths = policy.settings.paths
    denied = (*paths.deny, *guarded_paths(root, source, database))
    sight = Sight(root, path_rules(denied, paths.allow, paths.dotfiles))
    desk = Desk(desk_folder(database, root), sight, policy.write)
    if why := distrust(desk.folder):
        raise ConfigError(why)
    return desk


# ── diffs ──


class FileDiff(Struct, frozen=True):
    """What changes in one file. Lines have the numbers that they have in the file."""

    name: str
    lines: list[TextLine]
    plus: int
    minus: int
    note: str = ""
    """What git says of it besides, such as that it is new."""


def file_diffs(text: str) -> list[FileDiff]:
    """A diff as git writes it, file by file. What stands before the first file, or is none, comes under no name."""
    return [_file(name, lines) for name, lines in _split(text) if name or any(lines)]


def part_diffs(parts: list[Shown]) -> list[FileDiff]:
    """The same of parts, each of one file; the lines about other things come last, under no name."""
    found = [_file(one.file, one.text.split("\n")) for one in parts if one.file]
    others = [one.text for one in parts if not one.file]
    return [*found, _file("", others)] if others else found


class Done(Struct, frozen=True):
    """What a change did."""

    id: str
    files: list[FileDiff]
    left_out: str
    """Why not all of it is shown."""


def diff_change(desk: Desk, filed: Filed) -> Done:
    """Shown also where it cannot be undone any more."""
    entry = filed.entry
    if not filed.kept:
        return Done(entry.id, [], "The content is no longer kept: newer changes needed the room.")
    try:
        parts = show_done(desk, filed)
    except ToolFailure as error:
        return Done(entry.id, [], f"{error}.")
    shown: list[Shown] = []
    for one in parts:
        if sum(len(part.text) for part in (*shown, one)) <= MOST_SHOWN:
            shown.append(one)
    left = len(parts) - len(shown)
    told = f"{left} of {len(parts)} parts of this change are too long to be shown here." if left else ""
    return Done(entry.id, part_diffs(shown), told)


def find_change(site: "Site", call: CallRecord) -> Done | None:
    """The change that a call made, as its result names it; None where it made none, or where the change is another's:
    what stands in a result may be written by a server."""
    named = _MADE.search(call.summary) if call.status == "success" else None
    if named is None:
        return None
    try:
        desk = desk_of(site)
        filed = None if desk is None else desk.filed(named[1])
    except (ToolFailure, ConfigError):
        return None
    if desk is None or filed is None or not _is_of(filed.entry, call):
        return None
    return diff_change(desk, filed)


def call_of(tables: Tables, entry: JournalEntry) -> int:
    """The record of the call that made a change, among those of the time it was made; 0 where there is none."""
    since, wanted = entry.at.replace("T", " ").removesuffix("Z"), f"[{entry.id}]".encode()
    for one in islice(tables.entries(since=since), _MOST_RECORDS):
        if one.kind == "end" and wanted in one.body and (found := call(tables, one.call)) is not None:
            return found.id if _is_of(entry, found) else 0
    return 0


def _is_of(entry: JournalEntry, call: CallRecord) -> bool:
    return (entry.tool, entry.caller) == (call.tool, " ".join(call.caller.split())[:500])


def _split(text: str) -> Iterator[tuple[str, list[str]]]:
    """The lines of each file. How many lines a hunk has is counted: none of them can pass for the next file."""
    name, lines, old, new = "", list[str](), 0, 0
    for line in text.rstrip("\n").split("\n"):
        if old > 0 or new > 0:
            old, new = old - (line[:1] in ("-", " ", "")), new - (line[:1] in ("+", " ", ""))
        elif line.startswith(_FILE):
            yield name, lines
            name, lines = line.removeprefix(_FILE), []
            continue
        elif found := HUNK.match(line):
            old, new = int(found[2] or 1), int(found[4] or 1)
        lines.append(line)
    yield name, lines


def _file(name: str, lines: list[str]) -> FileDiff:
    shown: list[TextLine] = []
    notes: list[str] = []
    old = new = 0
    inside = False
    for line in lines:
        sign = line[:1]
        if not (old or new) and (found := HUNK.match(line)):
            left, right, inside = int(found[1]), int(found[3]), True
            old, new = int(found[2] or 1), int(found[4] or 1)
            shown.append(TextLine(0, [Piece(visible(line), ours=True)]))
            at_old, at_new = left, right
            continue
        if not inside or not (old or new) or sign == "\\":
            if inside or not name:
                shown.append(TextLine(0, [Piece(visible(line), ours=bool(name))]))
            elif not line.startswith(("index ", "--- ", "+++ ")):
                notes.append(visible(line.removeprefix(f"{name}: ")))
            continue
        number = at_old if sign == "-" else at_new  # pyright: ignore[reportPossiblyUnboundVariable] - in a hunk
        mark: Literal["", "+", "-"] = "+" if sign == "+" else "-" if sign == "-" else ""
        words = " · ".join(right_to_left_words(line))
        shown.append(TextLine(max(1, number), [Piece(sign or " "), *line_pieces(line[1:])], words, mark))
        at_old, at_new = at_old + (sign != "+"), at_new + (sign != "-")  # pyright: ignore[reportPossiblyUnboundVariable]
        old, new = old - (sign != "+"), new - (sign != "-")
    plus, minus = (sum(one.mark == sign for one in shown) for sign in "+-")
    return FileDiff(visible(_path(name)), shown, plus, minus, ", ".join(notes))


def _path(name: str) -> str:
    """The path that `a/x b/x` names twice; as it is where the two differ.

    >>> _path("a/src/app.py b/src/app.py"), _path("a/x b/y")
    ('src/app.py', 'a/x b/y')
    """
    half = len(name) // 2
    left, right = name[:half], name[half + 1 :]
    return left[2:] if left.startswith("a/") and right == f"b/{left[2:]}" else name


# ── seals ──


def seal(site: "Site", visitor: "Visitor", drawn: int, *shown: str) -> str:
    """Binds a form to what was shown, to whom and when."""
    bound = "\0".join((visitor.session.id, str(drawn), *shown))
    return hmac(site.store.key(), b"console change\0" + bound.encode(), sha256).hexdigest()


def check_seal(site: "Site", visitor: "Visitor", form: "Form", *shown: str) -> None:
    """Raises AnswerError where a form was not drawn for this person and for what it names, or sooner than anybody reads
    it."""
    told = form.one("drawn")
    drawn = int(told) if told.isascii() and told.isdecimal() and len(told) < 25 else 0
    if not compare_digest(seal(site, visitor, drawn, *shown).encode(), form.one("seal").encode()):
        raise AnswerError("this is not what was shown to you; look at it again below")
    if site.store.clock.now() - drawn < _FIRST_GLANCE:
        raise AnswerError("that came before anybody could read the page; read it, then press again")
