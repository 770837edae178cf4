"""What a server is called in policy and audit, and what its tools are called where several servers share one list."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from pathlib import PurePosixPath, PureWindowsPath
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from msgspec import Raw, Struct, json
from msgspec.structs import replace
from rapidfuzz.process import extract

from rightcall.base.letters import skeleton
from rightcall.base.text import LONGEST, escaped, wire_name
from rightcall.catalog.catalog import Kept, Names, build_catalog, key_of, words_of
from rightcall.executor.door import Door
from rightcall.executor.toolbox import full_name, other_names
from rightcall.mcp.messages import Mirror, fields, mirrors, value
from rightcall.policy.settings import Policy

UNNAMED: Final = "server"

_RUNNERS: Final = frozenset(
    ("npx", "bunx", "pnpx", "uvx", "pipx", "npm", "pnpm", "yarn", "bun", "uv", "node", "deno", "tsx", "ts-node", "env",
     "cmd", "sh", "bash", "zsh", "docker", "podman", "nohup", "time", "rightcall", "py")
)  # fmt: skip
"""Programs that start the server rather than being it."""
_PYTHON: Final = re.compile(r"^(python|pypy)[\d.]*w?$")
_STEPS: Final = frozenset(("run", "exec", "x", "dlx", "tool", "start", "wrap", "create", "-c", "/c"))
"""Words by which a runner is told what to do."""
_WITH_VALUE: Final = frozenset(
    ("--from", "--with", "--python", "-p", "--package", "--directory", "--project", "--env-file", "-e", "--env", "-v",
     "--volume", "--mount", "--network", "--name", "--policy", "--caller", "--as", "--mode", "-w", "--workdir", "-u",
     "--user", "--index-url", "--registry", "--prefix", "-C", "-W", "-X", "-r", "--require", "--import", "--loader")
)  # fmt: skip
_ENDING: Final = re.compile(r"\.(py|pyz|js|mjs|cjs|ts|mts|sh|exe|cmd|bat|jar|rb)$", re.I)
_VERSION: Final = re.compile(r"(?<=.)(@[^/@]*|==.*|[<>~!]=.*|\[[^\]]*\])$")
_AFFIXES: Final = re.compile(r"^(?:mcp[-_])?server[-_](?=.)|^mcp[-_](?=.)|[-_]mcp(?:[-_]server)?$|[-_]server$", re.I)
_GENERIC: Final = frozenset(("index", "main", "__main__", "cli", "mcp", "dist", "build", "src", "bin", "lib", "out"))
_PLAIN: Final = re.compile(r"[^A-Za-z0-9_.-]+")
IsTaken = Callable[[str], bool]
spelling_of = lru_cache(maxsize=20_000)(skeleton)
"""Of the names that tools have, which are few; what clients write is not kept."""


def server_name(command: Sequence[str]) -> str:
    """A short name from the command that starts a server.

    >>> server_name(["npx", "-y", "@modelcontextprotocol/server-filesystem", "/x"])
    'filesystem'
    >>> server_name(["uvx", "mcp-server-git"]), server_name(["python", "-m", "my_server"])
    ('git', 'my_server')
    """
    program = _program(command)
    if program is None:
        return UNNAMED
    name, is_module = program
    if is_module:
        return _plain(name.removesuffix(".__main__").rpartition(".")[2])
    bare = _telling_part(name)
    short = _ENDING.sub("", bare)
    if short != bare:  # a file: it is called as its author called it
        return _plain(short)
    while (shorter := _AFFIXES.sub("", short, count=1)) != short and shorter:
        short = shorter
    return _plain(short)


def _program(command: Sequence[str]) -> tuple[str, bool] | None:
    """The first word that is the server itself, and whether it names a Python module."""
    runner, words = False, iter(command)
    for word in words:
        stem = _ENDING.sub("", _last_part(word)).casefold()
        python = bool(_PYTHON.match(stem))
        if not runner or python or stem in _RUNNERS:
            if not python and stem not in _RUNNERS:
                return word, False
            runner = True
        elif word == "-m":
            module = next(words, None)
            return None if module is None else (module, True)
        elif word in _WITH_VALUE:
            next(words, None)
        elif not word.startswith("-") and word not in _STEPS and "=" not in word.split("==")[0]:
            inner = word.split()
            return (word, False) if len(inner) < 2 else _program(inner)
    return None


def _telling_part(name: str) -> str:
    """The last part of a path or package that says more than that it is a program."""
    parts = [
        _without_version(part).lstrip("@") for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")
    ]
    telling = [part for part in parts if _ENDING.sub("", part).casefold() not in _GENERIC]
    return telling[-1] if telling else parts[-1] if parts else UNNAMED


def _last_part(word: str) -> str:
    return PureWindowsPath(word).name if "\\" in word else PurePosixPath(word).name


def _without_version(name: str) -> str:
    return _VERSION.sub("", name).split(":")[0]


def _plain(name: str) -> str:
    return _PLAIN.sub("_", name).strip("_.-")[:LONGEST] or UNNAMED


Pair = tuple[str, str]
"""A server, and what it calls its tool."""


class Clash(Struct, frozen=True):
    """A name that more than one tool would have in a list, and what they are called there instead."""

    name: str
    tools: tuple[Pair, ...]
    """Those that did not get it."""
    holder: Pair | None = None
    """The one that has it: a tool under its own server's name."""
    is_ours: bool = False
    """Whether it is the name of one of RightCall's own tools."""


class WireNames(Struct, frozen=True):
    names: Mapping[str, Pair]
    clashes: tuple[Clash, ...] = ()


def wire_names(tools: Iterable[Pair]) -> Mapping[str, Pair]:
    """From what each tool is called in a list that several servers share to (server, tool): letters, digits, `_` and
    `-`, at most 64 of them, no name twice, and the same names whatever the order.

    >>> wire_names([("files", "read_file")])
    {'files_read_file': ('files', 'read_file')}
    """
    return name_tools(tools).names


def name_tools(
    tools: Iterable[Pair], prefixes: Mapping[str, str] = MappingProxyType({}), is_taken: IsTaken = lambda _: False
) -> WireNames:
    """The same, where some servers have another prefix than their name: none (`""`) leaves the names as they are.

    Nobody takes a name from another. Tools under their server's own name come first, so that a server without a prefix
    renames no tool of theirs. Two that want the same name have it neither: they are listed under their servers' names.
    A name that another server's is easily taken for (`Wiki.Read`) is the same name here.

    >>> name_tools([("files", "read"), ("files", "wiki_read"), ("wiki", "read")], {"files": ""}).names
    {'wiki_read': ('wiki', 'read'), 'read': ('files', 'read'), 'files_wiki_read': ('files', 'wiki_read')}
    """
    naming = _Naming(is_taken)
    pairs = sorted(set(tools))
    naming.place({pair: _usual(pair) for pair in pairs if pair[0] not in prefixes})
    naming.place_beside({pair: _wanted(pair, prefixes[pair[0]]) for pair in pairs if pair[0] in prefixes})
    return WireNames(naming.found, tuple(naming.clashes))


class _Wish(NamedTuple):
    name: str
    is_whole: bool
    """Whether nothing of it was cut off."""


class _Naming:
    def __init__(self, is_taken: IsTaken) -> None:
        self.found: dict[str, Pair] = {}
        self.clashes: list[Clash] = []
        self._is_taken = is_taken

    def place(self, wishes: Mapping[Pair, _Wish]) -> None:
        """First those that get the name they want, so that no replacement is another's wish."""
        self._place(wishes, _grouped(wishes, lambda wish: wish.name), self.found.get)

    def place_beside(self, wishes: Mapping[Pair, _Wish]) -> None:
        """The same for names that are their servers' choice: none is like the whole name of another server's tool."""
        held: dict[str, dict[str, Pair]] = {}
        whole = [(name, pair) for pair in wishes for name in _whole_names(pair)]
        whole += [(name, pair) for wire, pair in self.found.items() for name in (wire, *_whole_names(pair))]
        for name, pair in whole if wishes else ():
            held.setdefault(spelling_of(name), {}).setdefault(pair[0], pair)
        groups: dict[str, list[Pair]] = {}
        for pairs in _grouped(wishes, lambda wish: spelling_of(wish.name)).values():
            several = len({space for space, _ in pairs}) > 1
            for pair in pairs:
                groups.setdefault(wishes[pairs[0] if several else pair].name, []).append(pair)

        def holder(name: str) -> Pair | None:
            spaces = {space for space, _ in groups[name]}
            others = held.get(spelling_of(name), {})
            return self.found.get(name) or next((others[space] for space in others if space not in spaces), None)

        self._place(wishes, groups, holder)

    def _place(
        self, wishes: Mapping[Pair, _Wish], groups: Mapping[str, list[Pair]], holder: Callable[[str], Pair | None]
    ) -> None:
        left: list[Pair] = []
        wanted = {wish.name for wish in wishes.values()}
        for name, pairs in groups.items():
            if len(pairs) > 1 or holder(name) is not None or self._is_taken(name):
                self.clashes.append(Clash(name, tuple(pairs), holder(name), self._is_taken(name)))
                left += pairs
            elif wishes[pairs[0]].is_whole:
                self.found[name] = pairs[0]
            else:
                left += pairs
        for pair in left:
            self.found[self._instead(pair, wanted)] = pair

    def _instead(self, pair: Pair, wanted: Container[str]) -> str:
        usual = _usual(pair)
        if usual.is_whole and usual.name not in wanted and not self._is_used(usual.name):
            return usual.name
        marks = (told_apart(usual.name, pair, count) for count in itertools.count())
        return next(one for one in marks if one not in wanted and not self._is_used(one))

    def _is_used(self, name: str) -> bool:
        return name in self.found or self._is_taken(name)


def _grouped(wishes: Mapping[Pair, _Wish], key: Callable[[_Wish], str]) -> dict[str, list[Pair]]:
    groups: dict[str, list[Pair]] = {}
    for pair, wish in wishes.items():
        groups.setdefault(key(wish), []).append(pair)
    return groups


def _whole_names(pair: Pair) -> tuple[str, ...]:
    """What it is called with its server's name: its bare name is for anybody to have."""
    return full_name(*pair), *other_names(*pair)[1:]


def _usual(pair: Pair) -> _Wish:
    return _wish(full_name(*pair))


def _wanted(pair: Pair, prefix: str) -> _Wish:
    """Without a prefix a name stays as it is, also where the protocol or a model's API would want another: so it is
    without us. Letters that nobody sees do not."""
    tool = pair[1]
    if not prefix:
        return _Wish(tool, True) if tool.isprintable() else _wish(tool)
    return _wish(f"{prefix}{tool}" if prefix[-1] in "_-" else f"{prefix}_{tool}")


def _wish(written: str) -> _Wish:
    return _Wish(wire_name(written), len(written) <= LONGEST)


def clash_words(clash: Clash, wire: Callable[[str, str], str | None]) -> str:
    """What a person reads of a name that several tools would have; `wire` says what a server's tool is called."""
    whose = " and ".join(_told_name(pair) for pair in clash.tools)
    listed = " and ".join(escaped(wire(*pair) or "", 70) for pair in clash.tools)
    name, verb = f"`{escaped(clash.name, 70)}`", "is" if len(clash.tools) == 1 else "are"
    if clash.holder is None and not clash.is_ours:
        return f"{name} would be the name of {whose}; they are listed as {listed}"
    holder = "a tool of RightCall itself" if clash.holder is None else _told_name(clash.holder)
    return f"{name} is the name of {holder}; {whose} {verb} listed as {listed}"


def _told_name(pair: Pair) -> str:
    return f"{escaped(pair[0], 40)}/{escaped(pair[1], 60)}"


def told_apart(name: str, pair: Pair, count: int = 0) -> str:
    """The same name with a few letters behind it that only this tool has."""
    told = "\0".join((*pair, *([str(count)] if count else [])))
    mark = sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST - len(mark) - 1]}_{mark}"


# ── the table of tools ──
# The tools of all servers in one list, each under a name of its own that every model API takes.

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

    def rename(self) -> None:
        """Other names are taken now."""
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


# ── which tool a name means ──
# Which of all the servers' tools a client means: by the name it is listed under, or by another that can only mean one
# (`functions.read_file`, `mcp__files__read_file`, `files.readFile`). A name that may mean two means none, be they of
# two servers or one of them ours: no server gets a call by calling its tool almost like another.

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
