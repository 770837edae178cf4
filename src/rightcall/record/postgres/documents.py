"""Documents on the server (`shelf`): every node reads what any of them has kept.

They are written with the batches of calls, and lock nothing: whoever saves last is right.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from rightcall.record.postgres.tables import key_of
from rightcall.record.shelf import Kind
from rightcall.record.tables import Needs, Planned, T, Tables

if TYPE_CHECKING:
    from rightcall.record.postgres.tables import PostgresTables

PUT = (
    "INSERT INTO documents VALUES (%s, %s, clock_timestamp(), %s) ON CONFLICT (shelf, name) DO UPDATE"
    " SET saved = excluded.saved, doc = excluded.doc"
)
DROP = "DELETE FROM documents WHERE shelf = %s AND name = %s"
_GET = "SELECT doc FROM documents WHERE shelf = %s AND name = %s"
_SAVED = "SELECT name, extract(epoch FROM saved)::float8 FROM documents WHERE shelf = %s ORDER BY name"

Look = Callable[[Callable[[Tables], Any]], Any]


class ServerShelf:
    """Of one kind. `transact` and `later` are the store's own; a reader has none, and cannot write."""

    def __init__(
        self, place: str, kind: Kind, look: Look, transact: Look | None = None, later: Look | None = None
    ) -> None:
        self.place = place
        self._kind = kind
        self._look = look
        self._transact = transact
        self._later = later

    def put(self, name: str, data: bytes, *, soon: bool = False) -> None:
        work = _work(
            lambda tables: tables.write_document(f"{self._kind} {name}", PUT, (self._kind, key_of(name), data))
        )
        self._writer(soon=soon)(work)

    def get(self, name: str) -> bytes | None:
        return self._look(lambda tables: _tables(tables).document(_GET, self._kind, key_of(name)))

    def saved(self) -> list[tuple[str, float]]:
        rows = self._look(lambda tables: _tables(tables).documents(_SAVED, self._kind))
        return [(name.decode("utf-8", "surrogatepass"), at) for name, at in rows]

    def drop(self, name: str) -> bool:
        if self.get(name) is None:
            return False
        work = _work(lambda tables: tables.write_document(f"{self._kind} {name}", DROP, (self._kind, key_of(name))))
        self._writer(soon=False)(work)
        return True

    def _writer(self, *, soon: bool) -> Look:
        found = self._later if soon else self._transact
        if found is None:
            raise RuntimeError("a store that is only looked into wants to keep a document")
        return found


def _tables(tables: Tables) -> "PostgresTables":
    return cast("PostgresTables", tables)


def _work(work: "Callable[[PostgresTables], T]") -> Planned[T]:
    return Planned(lambda tables: work(_tables(tables)), Needs)
