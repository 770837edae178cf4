"""Which of all the servers' tools a client means: by the name it is listed under, or by another that can only mean one
(`functions.read_file`, `mcp__files__read_file`, `files.readFile`). A name that may mean two means none, be they of two
servers or one of them ours: no server gets a call by calling its tool almost like another."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from rapidfuzz.process import extract

from rightcall.catalog import build_catalog
from rightcall.catalog.names import Names, key_of, words_of
from rightcall.config import Policy
from rightcall.door import Door
from rightcall.door_tools import full_name
from rightcall.mcp.gateway_table import LONGEST_NAME, Table, ToolEntry, names_of
from rightcall.mcp.naming import spelling_of
from rightcall.offering_kept import Kept
from rightcall.text.alike import skeleton

_ANY: Final = build_catalog([{"name": "any", "parameters": {"type": "object"}}]).tools["any"]
_PARTS: Final = re.compile(r"__|[./:]")
_AROUND: Final = frozenset(("mcp", "functions"))
"""Words that hosts and models put before the name of a server or a tool."""
_FEW: Final = 200
"""So many names are made ready at once; more of them in a thread."""
_NEAR: Final = 3


class Meant(Struct, frozen=True):
    """A tool, and the name to judge: its own, or one that is misspelt, of which the gate says how sure it is."""

    entry: ToolEntry
    name: str


class Unsure(Struct, frozen=True):
    """Tools that may be meant alike, by the names they are listed under."""

    names: tuple[str, ...]


class _Known(Struct, frozen=True):
    names: Names
    owners: Mapping[str, tuple[str, ...]]
    """Who may be meant by each spelling."""


class Naming:
    """Of all callers. What is made ready lasts until the tools or the policy change."""

    def __init__(self, door: Door, table: Table) -> None:
        self._door = door
        self._table = table
        self.ours: Callable[[], Mapping[str, tuple[str, ...]]] = dict
        """Our own tools, and what else each is called."""
        self._known: tuple[tuple[int, str, Mapping[str, tuple[str, ...]]], _Known] | None = None
        self._offered: Kept[str, list[str]] = Kept()

    async def find(self, name: str) -> Meant | Unsure | None:
        """None also for what can only mean a tool of our own."""
        entry = self._table.wires().get(name)
        if entry is not None:
            return Meant(entry, entry.name)
        if len(name) > LONGEST_NAME:
            return None
        known = await self._ready()
        owners: tuple[str, ...] = known.owners.get(skeleton(name), ())
        is_typo = False
        if not owners:
            match = known.names.find(name)
            is_typo = match.kind == "typo"
            owners = (match.tool.name,) if match.tool is not None else _rivals(name, known)
        if len(owners) > 1:
            return Unsure(owners)
        wire = next(iter(owners), "")
        entry = self._table.wires().get(wire)
        if entry is None or self._names_another(name, entry):
            return None
        if not is_typo:
            return Meant(entry, entry.name)
        return Meant(entry, _without_server(name, entry.space, wire.removesuffix(entry.name)))

    def known(self, names: tuple[str, ...], caller: str) -> list[str]:
        """A few of them that this caller may know of; first one of each server."""
        wires = self._table.wires()
        firsts: dict[str, str] = {}
        rest: list[str] = []
        for name in names:
            entry = wires.get(name)
            if entry is not None and not self._door.offers(entry.name, entry.space, caller):
                continue
            if firsts.setdefault("" if entry is None else entry.space, name) != name:
                rest.append(name)
        return [*firsts.values(), *rest][:_NEAR]

    def near(self, name: str, caller: str) -> list[str]:
        """Names that may have been meant, of tools that this caller may know of."""
        now = self._table.version, self._door.policy.digest
        offered = self._offered.get(
            caller, now, lambda: self._table.names(lambda entry: self._door.offers(entry.name, entry.space, caller))
        )
        return [found for found, _, _ in extract(name, offered, limit=_NEAR, score_cutoff=60)]

    async def _ready(self) -> _Known:
        policy, ours = self._door.policy, self.ours()
        key = self._table.version, policy.digest, ours
        if self._known is None or self._known[0] != key:
            wires = self._table.wires()
            few = len(wires) < _FEW
            made = _read(wires, policy, ours) if few else await asyncio.to_thread(_read, wires, policy, ours)
            self._known = key, made
        return self._known[1]

    def _names_another(self, name: str, entry: ToolEntry) -> bool:
        """`files.save` is no name for the `save` of another server, where there is one called files; nor is
        `files_save` while that server is not there to say whether it has such a tool."""
        here, servers = set(self._table.spaces()), self._door.policy.servers
        away = {space for space, one in servers.items() if one.enabled and space not in here}
        ours = {whole.partition("/")[0] for others in self.ours().values() for whole in others if "/" in whole}
        others = {key_of(space) for space in here | away | ours if space != entry.space}
        for part in map(key_of, _PARTS.split(name)[:-1]):
            if part == key_of(entry.space):
                break
            if part in others:
                return True
        words = words_of(name)
        while words and words[0] in _AROUND:
            del words[0]
        if _begin(words, entry.space):
            return False
        return any(_begin(words, space) or _begin(words, servers[space].prefix or "") for space in away)


def _begin(words: list[str], space: str) -> bool:
    start = words_of(space)
    return bool(start) and len(start) < len(words) and words[: len(start)] == start


def _rivals(name: str, known: _Known) -> tuple[str, ...]:
    """Those that share the spelling behind a namespace: `functions.filesSave`."""
    rests = (name[part.end() :] for part in _PARTS.finditer(name))
    return next((found for rest in rests if len(found := known.owners.get(skeleton(rest), ())) > 1), ())


def _read(wires: Mapping[str, ToolEntry], policy: Policy, ours: Mapping[str, tuple[str, ...]]) -> _Known:
    """What is spelled almost like a name of two tools means neither. Two of those that share a spelling get each name
    that is written so: that is enough for it to mean none, however many they are."""
    called = {wire: (wire, *others) for wire, others in ours.items()}
    called |= {wire: (wire, *_others(entry, policy)) for wire, entry in wires.items()}
    owners: dict[str, dict[str, None]] = {}
    written: dict[str, dict[str, None]] = {}
    for wire, names in called.items():
        for name in names:
            if spelling := spelling_of(name):
                owners.setdefault(spelling, {})[wire] = None
                written.setdefault(spelling, {})[name] = None
    meant = {wire: dict.fromkeys(names) for wire, names in called.items()}
    for spelling, sharing in owners.items():
        for wire in islice(sharing, 2):
            meant[wire] |= written[spelling]
    tools = {
        wire: replace(_ANY, name=wire, rules=replace(_ANY.rules, names=tuple(one for one in names if one != wire)))
        for wire, names in meant.items()
    }
    return _Known(Names(tools), {spelling: tuple(wires) for spelling, wires in owners.items()})


def _others(entry: ToolEntry, policy: Policy) -> Iterator[str]:
    yield from names_of(entry)
    for name in (full_name(entry.space, entry.name), entry.name):
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
