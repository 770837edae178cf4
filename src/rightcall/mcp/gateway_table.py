"""The tools of all servers in one list, each under a name of its own that every model API takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec import Raw, Struct, json

from rightcall.door_tools import full_name, other_names
from rightcall.mcp.messages import fields, value
from rightcall.mcp.mirrors import Mirror, mirrors
from rightcall.mcp.naming import Clash, IsTaken, name_tools, spelling_of
from rightcall.text.alike import skeleton

LONGEST_NAME: Final = 256
"""Characters of the name of a tool or a prompt; nothing looks for a longer one."""


class ToolEntry(Struct, frozen=True):
    """One tool, or one prompt."""

    space: str
    """Its server."""
    name: str
    """What its server calls it."""
    fields: Mapping[str, Raw]
    mirrors: tuple[Mirror, ...] = ()


class Table:
    """What is offered, by server; what is put in takes the place of what was known of that server."""

    def __init__(self, is_taken: IsTaken = lambda _: False) -> None:
        """`is_taken`: names that are not to be had, since they are others' already."""
        self._is_taken = is_taken
        self._prefixes: Mapping[str, str] = {}
        self.clashes: tuple[Clash, ...] = ()
        self._by_space: dict[str, dict[str, ToolEntry]] = {}
        self._by_wire: dict[str, ToolEntry] = {}
        self._wires: dict[tuple[str, str], str] = {}
        self._loose: dict[str, ToolEntry | None] = {}
        self.version = 0
        """Grows with every change."""

    def put(self, space: str, definitions: Iterable[Raw]) -> bool:
        """Whether that changed anything."""
        entries = read_entries(space, definitions)
        if not self.differs(space, entries):
            return False
        self.take(space, entries)
        return True

    def differs(self, space: str, entries: Mapping[str, ToolEntry]) -> bool:
        return not _same(entries, self._by_space.get(space))

    def take(self, space: str, entries: dict[str, ToolEntry]) -> None:
        self._by_space[space] = entries
        self._rebuild()

    def name_by(self, prefixes: Mapping[str, str]) -> None:
        """What stands before the tools of some servers, in the place of the server's name."""
        if prefixes != self._prefixes:
            self._prefixes = dict(prefixes)
            self._rebuild()

    def drop(self, space: str) -> None:
        if self._by_space.pop(space, None):
            self._rebuild()

    def of(self, space: str) -> Mapping[str, ToolEntry]:
        return self._by_space.get(space, {})

    def find(self, name: Any) -> ToolEntry | None:
        """By the name it is listed under; else by any spelling that can only mean one."""
        if not isinstance(name, str) or len(name) > LONGEST_NAME:
            return None
        return self._by_wire.get(name) or self._loose.get(skeleton(name))

    def may_mean(self, name: str) -> bool:
        """Whether it is a spelling of any of them, be it of several."""
        return len(name) <= LONGEST_NAME and (name in self._by_wire or skeleton(name) in self._loose)

    def wires(self) -> dict[str, ToolEntry]:
        """By the names they are listed under."""
        return self._by_wire

    def wire(self, space: str, name: str) -> str | None:
        """What clients call a server's tool."""
        return self._wires.get((space, name))

    def spaces(self) -> Iterable[str]:
        return self._by_space

    def names(self, wanted: Callable[[ToolEntry], bool]) -> list[str]:
        return [wire for wire, entry in self._by_wire.items() if wanted(entry)]

    def listed(self, wanted: Callable[[ToolEntry], bool], spaces: Iterable[str]) -> list[Raw]:
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
        named = name_tools(pairs, self._prefixes, self._is_taken)
        self.clashes = named.clashes
        self._by_wire = {wire: pairs[pair] for wire, pair in named.names.items()}
        self._wires = {pair: wire for wire, pair in named.names.items()}
        self._loose = {}
        for wire, entry in self._by_wire.items():
            for spelling in map(spelling_of, (wire, *names_of(entry))):
                self._loose[spelling] = entry if self._loose.get(spelling, entry) is entry else None
        self.version += 1


def names_of(entry: ToolEntry) -> tuple[str, ...]:
    """What it is called beside the name it is listed under."""
    return full_name(entry.space, entry.name), *other_names(entry.space, entry.name)


def read_entries(space: str, definitions: Iterable[Raw]) -> dict[str, ToolEntry]:
    """By name. What has none, or one that nobody could call, is left out; of two with one name the first counts."""
    entries: dict[str, ToolEntry] = {}
    for raw in definitions:
        found = fields(raw)
        name = value(found.get("name", b""))
        if isinstance(name, str) and 0 < len(name) <= LONGEST_NAME:
            entries.setdefault(name, ToolEntry(space, name, found, mirrors(raw)))
    return entries


def _same(entries: Mapping[str, ToolEntry], before: Mapping[str, ToolEntry] | None) -> bool:
    return before is not None and list(entries) == list(before) and all(
        {key: bytes(raw) for key, raw in one.fields.items()}
        == {key: bytes(raw) for key, raw in before[name].fields.items()}
        for name, one in entries.items()
    )  # fmt: skip
