"""The tools of all servers in one list, each under a name of its own that every model API takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Raw, Struct, json

from rightcall.mcp.messages import fields, value
from rightcall.mcp.naming import canonical, wire_names
from rightcall.mcp.upstream_listing import Mirror, mirrors
from rightcall.text.alike import skeleton


class Entry(Struct, frozen=True):
    """One tool, or one prompt."""

    space: str
    """Its server."""
    name: str
    """What its server calls it."""
    fields: Mapping[str, Raw]
    mirrors: tuple[Mirror, ...] = ()


class Table:
    """What is offered, by server; what is put in takes the place of what was known of that server."""

    def __init__(self) -> None:
        self._by_space: dict[str, dict[str, Entry]] = {}
        self._by_wire: dict[str, Entry] = {}
        self._loose: dict[str, Entry | None] = {}
        self.version = 0
        """Grows with every change."""

    def put(self, space: str, definitions: Iterable[Raw]) -> bool:
        """Whether that changed anything."""
        entries: dict[str, Entry] = {}
        for raw in definitions:
            found = fields(raw)
            name = value(found.get("name", b""))
            if isinstance(name, str) and name:
                entries.setdefault(name, Entry(space, name, found, mirrors(raw)))
        if _same(entries, self._by_space.get(space)):
            return False
        self._by_space[space] = entries
        self._rebuild()
        return True

    def drop(self, space: str) -> None:
        if self._by_space.pop(space, None):
            self._rebuild()

    def of(self, space: str) -> Mapping[str, Entry]:
        return self._by_space.get(space, {})

    def find(self, name: Any) -> Entry | None:
        """By the name it is listed under; else by any spelling that can only mean one."""
        if not isinstance(name, str):
            return None
        return self._by_wire.get(name) or self._loose.get(skeleton(name))

    def names(self, wanted: Callable[[Entry], bool]) -> list[str]:
        return [wire for wire, entry in self._by_wire.items() if wanted(entry)]

    def listed(self, wanted: Callable[[Entry], bool], spaces: Iterable[str]) -> list[Raw]:
        """The definitions under their names here, in the order of the servers and of their lists."""
        wires = {id(entry): wire for wire, entry in self._by_wire.items()}
        return [
            Raw(json.encode({**entry.fields, "name": wires[id(entry)]}))
            for space in spaces
            for entry in self._by_space.get(space, {}).values()
            if id(entry) in wires and wanted(entry)
        ]

    def _rebuild(self) -> None:
        pairs = {(one.space, one.name): one for entries in self._by_space.values() for one in entries.values()}
        self._by_wire = {wire: pairs[pair] for wire, pair in wire_names(pairs).items()}
        self._loose = {}
        for wire, entry in self._by_wire.items():
            for spelling in {skeleton(wire), skeleton(canonical(entry.space, entry.name)), skeleton(entry.name)}:
                self._loose[spelling] = entry if self._loose.get(spelling, entry) is entry else None
        self.version += 1


def _same(entries: Mapping[str, Entry], before: Mapping[str, Entry] | None) -> bool:
    return before is not None and list(entries) == list(before) and all(
        {key: bytes(raw) for key, raw in one.fields.items()}
        == {key: bytes(raw) for key, raw in before[name].fields.items()}
        for name, one in entries.items()
    )  # fmt: skip
