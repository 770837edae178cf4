"""Which of all the servers' tools a client means: by the name it is listed under, or by another that can only mean one
(`functions.read_file`, `mcp__files__read_file`, `files.readFile`). A name that may mean two means none."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from rapidfuzz.process import extract

from rightcall.catalog import build_catalog
from rightcall.catalog.names import Names, key_of
from rightcall.config import Policy
from rightcall.door import Door
from rightcall.door_tools import full_name, other_names
from rightcall.mcp.gateway_table import LONGEST_NAME, Entry, Table
from rightcall.offering_kept import Kept

_ANY: Final = build_catalog([{"name": "any", "parameters": {"type": "object"}}]).tools["any"]
_PARTS: Final = re.compile(r"__|[./:]")
_FEW: Final = 200
"""So many names are made ready at once; more of them in a thread."""
_NEAR: Final = 3


class Meant(Struct, frozen=True):
    """A tool, and the name to judge: its own, or one that is misspelt, of which the gate says how sure it is."""

    entry: Entry
    name: str


class Naming:
    """Of all callers. What is made ready lasts until the tools or the policy change."""

    def __init__(self, door: Door, table: Table) -> None:
        self._door = door
        self._table = table
        self._names: tuple[tuple[int, str], Names] | None = None
        self._offered: Kept[str, list[str]] = Kept()

    async def find(self, name: str) -> Meant | None:
        entry = self._table.find(name)
        if entry is not None:
            return Meant(entry, entry.name)
        if len(name) > LONGEST_NAME:
            return None
        match = (await self._ready()).find(name)
        entry = self._table.find(match.tool.name) if match.tool is not None else None
        if entry is None or self._names_another(name, entry):
            return None
        if match.kind != "typo":
            return Meant(entry, entry.name)
        wire = self._table.wire(entry.space, entry.name) or ""
        return Meant(entry, _without_server(name, entry.space, wire.removesuffix(entry.name)))

    def near(self, name: str, caller: str) -> list[str]:
        """Names that may have been meant, of tools that this caller may know of."""
        now = self._table.version, self._door.policy.digest
        offered = self._offered.get(
            caller, now, lambda: self._table.names(lambda entry: self._door.offers(entry.name, entry.space, caller))
        )
        return [found for found, _, _ in extract(name, offered, limit=_NEAR, score_cutoff=60)]

    async def _ready(self) -> Names:
        policy = self._door.policy
        key = self._table.version, policy.digest
        if self._names is None or self._names[0] != key:
            wires = self._table.wires()
            made = _names_of(wires, policy) if len(wires) < _FEW else await asyncio.to_thread(_names_of, wires, policy)
            self._names = key, made
        return self._names[1]

    def _names_another(self, name: str, entry: Entry) -> bool:
        """`files.save` is no name for the `save` of another server, where there is one called files."""
        others = {key_of(space) for space in self._table.spaces() if space != entry.space}
        return any(key_of(part) in others for part in _PARTS.split(name)[:-1])


def _names_of(wires: dict[str, Entry], policy: Policy) -> Names:
    return Names({
        wire: replace(_ANY, name=wire, rules=replace(_ANY.rules, names=tuple(_others(entry, policy))))
        for wire, entry in wires.items()
    })  # fmt: skip


def _others(entry: Entry, policy: Policy) -> Iterator[str]:
    whole = full_name(entry.space, entry.name)
    yield whole
    yield from other_names(entry.space, entry.name)
    for name in (whole, entry.name):
        if (said := policy.tools.get(name)) is not None:
            yield from said.rules.names


def _without_server(name: str, space: str, prefix: str = "") -> str:
    """
    >>> _without_server("notes_save_ntoe", "notes"), _without_server("save_ntoe", "notes")
    ('save_ntoe', 'save_ntoe')
    """
    for start in (f"mcp__{space}__", f"{space}__", f"{space}_", f"{space}/", f"{space}.", prefix):
        if start and name.casefold().startswith(start.casefold()):
            return name[len(start) :]
    return name
