"""`data/list` and `data/read`: a bounded look at the audit's own tables. Nothing that is asked becomes part of a
question to the database: names are looked up in closed lists, values are compared here.

A collection, a column or a record that does not exist is a ToolFailure that names what there is.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from msgspec import DecodeError, Struct
from msgspec.json import encode

from rightcall.errors import StoreError, ToolFailure
from rightcall.record.browsable import COLLECTIONS, Collection, Row, Rows, has_older
from rightcall.record.tables import Store, Tables
from rightcall.text.cut import AnswerRoom
from rightcall.text.escape import cut_end, render_json

T = TypeVar("T")
More = Mapping[str, Collection]

NO_MORE: Final[More] = MappingProxyType({})
USUAL: Final = 20
MOST: Final = 100
"""Records in one answer of `data/list`."""
_HOLDERS: Final = (dict, list, tuple)
_LISTED, _READ = 300, 20_000
"""Characters of one value, in a list and where one record is read."""


class Listed(Struct, frozen=True, rename="camel", kw_only=True):
    """`data/list`"""

    success: bool = True
    collection: str
    records: list[Row]
    """Newest first."""
    total: int
    """How many there are that fit the filter, among those that were looked through."""
    truncated: bool
    """Whether there are more, or may be more among records that were not looked through."""


class Found(Struct, frozen=True, rename="camel", kw_only=True):
    """`data/read`"""

    success: bool = True
    collection: str
    record: Row


def list_records(
    store: Store, collection: str, only: Mapping[str, Any] | None = None, limit: int = USUAL, more: More = NO_MORE, *,
    whose: str | None = None,
) -> Listed:  # fmt: skip
    """The newest records of a collection, `only` those with these values in these columns, and with `whose` only those
    of that caller. `more` are collections that do not lie in the store."""
    found = _collection("data/list", collection, more)
    wanted = dict(only or {})
    _check(collection, found, wanted)
    most = min(max(limit, 1), MOST)
    return look_up(store, lambda tables: _listed(tables, collection, found, found.rows(tables, whose), wanted, most))


def read_record(
    store: Store, collection: str, id: str | int, more: More = NO_MORE, *, whose: str | None = None
) -> Found:
    """One record of a collection, whole as far as its values are not very long. Another caller's is as unknown as one
    that does not exist."""
    found = _collection("data/read", collection, more)
    row = look_up(store, lambda tables: found.row(tables, _id_text(id), whose))
    if row is None:
        there = f"data/list with collection {collection!r} shows those that there are"
        raise ToolFailure(f"data/read: `id` names no record of {collection}: {render_json(id, 100)}; {there}.")
    return Found(collection=collection, record=_cut(row, _READ))


def look_up(store: Store, work: Callable[[Tables], T]) -> T:
    """What a look into the store finds, or a ToolFailure. It says nothing of where the store lies."""
    try:
        return store.look(work)
    except StoreError as error:
        fault = f"The audit cannot be read now ({error.fault})"
    except (DecodeError, UnicodeDecodeError):
        fault = "A record of the audit cannot be read: somebody has changed it"
    raise ToolFailure(f"{fault}. A person has to look at it, for example with `rightcall audit verify`.")


def _listed(tables: Tables, name: str, collection: Collection, rows: Rows, wanted: Row, limit: int) -> Listed:
    records: list[Row] = []
    total, room = 0, AnswerRoom()
    for read in rows:
        if wanted or total < limit:
            row = read()
            if not all(_same(row[column], value) for column, value in wanted.items()):
                continue
            if total < limit and room.take(kept := _cut(row, _LISTED)):
                records.append(kept)
        total += 1
    more = total > len(records) or (collection.bounded and has_older(tables))
    return Listed(collection=name, records=records, total=total, truncated=more)


def _collection(tool: str, name: str, more: More) -> Collection:
    found = COLLECTIONS.get(name) or more.get(name)
    if found is None:
        known = ", ".join((*COLLECTIONS, *more))
        raise ToolFailure(f"{tool}: `collection` must be one of {known}; {render_json(name, 100)} is none of them.")
    return found


def _check(name: str, collection: Collection, wanted: Row) -> None:
    for column, value in wanted.items():
        if column not in collection.columns:
            known = f"Its columns are {', '.join(collection.columns)}"
            raise ToolFailure(
                f"data/list: `filter` names {render_json(column, 100)}, which {name} does not have. {known}."
            )
        if isinstance(value, _HOLDERS):
            right = "Give a text, a number, true, false or null"
            raise ToolFailure(f"data/list: `filter.{column}` must be one value, to which the column is equal. {right}.")


def _same(value: Any, wanted: Any) -> bool:
    """Whether a column has the value that was asked for; a text may be asked for where a number or a yes stands.

    >>> _same(5, "5"), _same(True, "true"), _same(True, 1), _same(None, None), _same("5", 5)
    (True, True, True, True, False)
    """
    if isinstance(wanted, str) and isinstance(value, bool | int | float):
        return encode(value).decode() == wanted
    return not isinstance(value, _HOLDERS) and value == wanted


def _id_text(id: str | int) -> str:
    """A number that is too long to be written out is no record's."""
    return id if isinstance(id, str) else str(id) if id.bit_length() < 64 else ""


def _cut(row: Row, most: int) -> Row:
    return {column: _short(value, most) for column, value in row.items()}


def _short(value: Any, most: int) -> Any:
    """A value of at most so many characters: a text loses its end; anything else becomes the beginning of its JSON."""
    if isinstance(value, str):
        return cut_end(value, most)
    return render_json(value, most) if _is_larger(value, most) else value


def _is_larger(value: object, most: int) -> bool:
    return isinstance(value, _HOLDERS) and len(encode(value)) > most
