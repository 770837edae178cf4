"""Documents that belong to a store and are no records: what MCP servers listed last, requests that were routed.

    a store on a server ─▶ in its tables, for all nodes
    a store in memory   ─▶ in memory
    a SQLite file       ─▶ no shelf: they lie beside it as files, and whoever keeps them knows how (`notes`, `packets`)

Nothing decides by a document alone, and none is part of the chain.
"""

from time import time
from typing import Final, Literal, Protocol

Kind = Literal["tools", "requests"]
"""What a shelf holds: the lists of MCP servers' tools by the server's name, or saved requests by their id."""

LONGEST_NAME: Final = 200


class Shelf(Protocol):
    """Raises StoreError where the store cannot be used."""

    place: str
    """How it is called in messages."""

    def put(self, name: str, data: bytes, *, soon: bool = False) -> None:
        """In the place of what was there. `soon`: nobody waits for it."""
        ...

    def get(self, name: str) -> bytes | None: ...

    def saved(self) -> list[tuple[str, float]]:
        """The names in order, each with the moment it was last saved, in seconds since 1970."""
        ...

    def drop(self, name: str) -> bool:
        """Whether there was one."""
        ...


def shelf_of(store: object, kind: Kind) -> Shelf | None:
    """None for a store beside which such documents are files."""
    make = getattr(store, "shelf", None)
    return None if make is None else make(kind)


class MemoryShelf:
    """Gone with its process."""

    def __init__(self) -> None:
        self.place = "memory"
        self._documents: dict[str, tuple[bytes, float]] = {}

    def put(self, name: str, data: bytes, *, soon: bool = False) -> None:
        del soon
        self._documents[name] = data, time()

    def get(self, name: str) -> bytes | None:
        found = self._documents.get(name)
        return None if found is None else found[0]

    def saved(self) -> list[tuple[str, float]]:
        return sorted((name, at) for name, (_, at) in self._documents.items())

    def drop(self, name: str) -> bool:
        return self._documents.pop(name, None) is not None
