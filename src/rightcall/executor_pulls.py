"""Pull requests as models look at them, with `data/list` and `data/read`: rows like those of the audit's own tables.
Every caller sees all of them: they are there to be reviewed by others.

They lie on the desk and not in the store; nothing of the files they change is in them, apart from what a check printed.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec import to_builtins

from rightcall.record.browsable import Collection, Row, Rows
from rightcall.record.tables import Tables

if TYPE_CHECKING:
    from rightcall.execute.write.pulls import PullRecord

NAME: Final = "pull_requests"
_COLUMNS: Final = (
    "id", "title", "author", "branch", "base", "status", "made", "head", "body", "merge", "discussion", "checks",
)  # fmt: skip


def pull_collection(root: str, desk: str) -> Mapping[str, Collection]:
    """The collection, by its name. Reads the desk when it is asked, and makes none."""

    def records() -> "list[PullRecord]":
        if not desk or os.name != "posix":
            return []
        from rightcall.config_hands import WriteSettings
        from rightcall.execute.write.desk import Desk
        from rightcall.execute.write.pulls import all_pulls
        from rightcall.fs.sight import Sight

        return all_pulls(Desk(desk, Sight(root), WriteSettings()))

    def rows(_: Tables, __: str | None) -> Rows:
        return ((lambda record=record: _row(record)) for record in records())

    def row(_: Tables, id: str, __: str | None) -> Row | None:
        return next((_row(record) for record in records() if record.id == id.removeprefix("#")), None)

    return {NAME: Collection(_COLUMNS, rows, row, bounded=False)}


def _row(record: "PullRecord") -> Row:
    fields: dict[str, Any] = {name: getattr(record, name) for name in _COLUMNS}
    return fields | {"discussion": to_builtins(record.discussion), "checks": to_builtins(record.checks)}
