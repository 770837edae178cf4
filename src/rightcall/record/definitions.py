"""What the tools and servers of a store were when they were first seen, and what people have accepted since.

records `definition` ─▶ Known (a tool or a server, each Sighting of it in order)
"""

from typing import Final, Literal

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from rightcall.policy.types import server_key
from rightcall.record.tables import AuditEntry, Tables

MOST: Final = 10_000
"""Records that are read, the newest of them."""

KnownKind = Literal["tool", "server"]


class Sighting(Struct, frozen=True):
    """One definition of a tool, or one way to a server, and since when it counts."""

    record: int
    at: str
    """UTC."""
    what: str
    """`first seen`, or `accepted` by a person."""
    by: str
    digest: str
    described: str
    """JSON."""


class Known(Struct, frozen=True):
    """A tool or a server that was seen, as it was each time, the oldest first."""

    kind: KnownKind
    name: str
    seen: tuple[Sighting, ...]

    @property
    def first(self) -> Sighting:
        return self.seen[0]

    @property
    def last(self) -> Sighting:
        return self.seen[-1]

    @property
    def is_changed(self) -> bool:
        return self.first.digest != self.last.digest


def known_definitions(tables: Tables) -> dict[tuple[KnownKind, str], Known]:
    """By kind and name, those that are pinned now. Their first sightings may be pruned: then the oldest that is kept
    counts as the first."""
    found: dict[tuple[KnownKind, str], list[Sighting]] = {}
    for entry in reversed(tables.newest(MOST, ("definition",))):
        read = _read(entry)
        if read is not None:
            found.setdefault(read[0], []).append(read[1])
    return {
        (kind, name): Known(kind, name, tuple(seen))
        for (kind, name), seen in found.items()
        if tables.definition(server_key(name) if kind == "server" else name) is not None
    }


class _Data(Struct, frozen=True):
    definition: str
    tool: str = ""
    server: str = ""
    described: str = ""


class _Note(Struct, frozen=True):
    what: str
    data: _Data
    by: str = ""


_decode = Decoder(_Note).decode


def _read(entry: AuditEntry) -> tuple[tuple[KnownKind, str], Sighting] | None:
    """None for a record that somebody else wrote."""
    try:
        note = _decode(entry.body)
    except DecodeError:
        return None
    data = note.data
    kind: KnownKind = "server" if data.server else "tool"
    sighting = Sighting(entry.seq, entry.at, note.what, note.by, data.definition, data.described)
    return (kind, data.server or data.tool), sighting
