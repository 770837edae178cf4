"""The tools of an executor as one immutable whole: how they are checked, how they run, what they are known by. A new
one takes its place when a tool is registered or the policy changes; calls that have begun keep the one they had."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, cast

from msgspec import Struct, json
from msgspec.structs import replace

from rightcall.base.globs import twins
from rightcall.base.json.strict import opened
from rightcall.catalog.catalog import key_of
from rightcall.catalog.tool import ALL_EFFECTS, Tool
from rightcall.errors import ToolError
from rightcall.gate.gate import Gate
from rightcall.policy.decide import denial, is_outside, may_use, permission, scopes_of
from rightcall.policy.settings import Policy, Window
from rightcall.policy.types import Origin, Rights, Scope, rights_of, with_digest
from rightcall.types import Batch, Effect

if TYPE_CHECKING:
    from rightcall.base.secrets import Redactor
    from rightcall.tools.functions import LocalTool


_READ_ONLY = frozenset(("read",))
_MOST_CALLERS = 1000
"""Callers whose rights are kept ready; beyond that they are worked out anew."""


Pair = tuple[str, str]
"""A server of the policy, and what it calls its tool."""


class Missing(Struct, frozen=True):
    """A server that is not there, and so may have the tool that somebody named."""

    told: str
    awaits_login: bool = False
    """It is there once a person has logged in."""


class Behind(Protocol):
    """What a toolbox must know of the servers of the policy whose tools it holds."""

    def offers(self, pair: Pair, caller: str) -> bool:
        """Whether a caller may know of a tool."""
        ...

    def missing(self, name: str) -> Missing | None:
        """Of a name that no tool has: which server it may be of that is not there."""
        ...


class Equipped(Struct, frozen=True):
    """One tool: its compiled definition, its digest, and what runs it (None: nobody here can)."""

    tool: Tool
    local: LocalTool | None
    definition: str
    described: str
    """The definition as JSON: what a person is shown when it has changed."""
    side_effects: bool
    """Whether running it can do more than read."""
    own: frozenset[Effect] | None
    """What it does, for a function of this program and for a tool of ours that only reads; None for every other."""
    touches: bool
    """Whether it says what it touches."""
    behind: Pair | None = None
    """The server that runs it, where one of the policy's does."""
    guesses: bool = False
    """A function of which nobody says which arguments are paths: those count that are named like one."""


class Toolbox(Struct, frozen=True, eq=False):
    """A policy, the gate it makes, and the tools behind it."""

    policy: Policy
    gate: Gate
    tools: Mapping[str, Equipped]
    rights: dict[str, Rights]
    """By caller, filled as they come."""
    scopes: dict[tuple[str, str], tuple[Scope, ...]]
    """By caller and tool, likewise."""
    protected: tuple[str, ...] = ()
    """Paths below the root that no call may touch, whatever the policy says: the policy itself, and the audit."""
    guarded: tuple[str, ...] = ()
    """Our own files, which no command may touch, wherever they are."""
    packs: str = ""
    """Digest of the rule packs, for the record."""
    servers: Behind | None = None

    def rights_of(self, caller: str) -> Rights:
        known = self.rights.get(caller)
        if known is None:
            known = rights_of(self.policy.settings, caller)
            if self.protected:
                deny = (*known.paths.deny, *self.protected)
                known = with_digest(replace(known, paths=replace(known.paths, deny=deny)))
            known = self._by_any_name(known)
            if len(self.rights) < _MOST_CALLERS:
                self.rights[caller] = known
        return known

    def _by_any_name(self, rights: Rights) -> Rights:
        """What the policy says of another name of a tool that ships with us it says of the tool."""
        listed, within = dict[str, str](), list[str]()
        limits = dict(rights.tools)
        for name, other in self._other_names():
            rule = permission(rights, other)
            if rule is not None and permission(rights, name) is None:
                listed[name] = rule
            if rights.within is not None and not is_outside(rights, other):
                within.append(name)
            if other in rights.tools:
                limits[name] = _stricter(limits.get(name), rights.tools[other])
        if not (listed or within or limits != rights.tools):
            return rights
        return with_digest(
            replace(
                rights,
                listed=rights.listed | listed.keys(),
                origin=MappingProxyType({**rights.origin, **listed}),
                within=None if rights.within is None else (*rights.within, *within),
                tools=MappingProxyType(limits),
            )
        )

    def _other_names(self) -> Iterator[tuple[str, str]]:
        """The tools that ship with us, each with another of its names; one that a tool has for its own is that tool's.
        Names that a pack or a server makes up for other tools give nobody a right."""
        for name, one in self.tools.items():
            if one.local is not None and one.local.about is not None:
                yield from ((name, other) for other in one.local.about.rules.names if other not in self.tools)

    def scopes_of(self, rights: Rights, tool: str) -> tuple[Scope, ...]:
        key = rights.caller, tool
        known = self.scopes.get(key)
        if known is None:
            known = scopes_of(rights, tool)
            if len(self.scopes) < _MOST_CALLERS * 10:
                self.scopes[key] = known
        return known

    def usable(self, rights: Rights, only: Iterable[str] | None = None) -> list[Equipped]:
        """The tools that can run here and that a caller may know of; `only` those of these names, in this order."""
        found = [
            named
            for one in self.tools.values()
            if one.local is not None and not one.local.absent and self._offers(one, rights)
            for named in self._by_offered_names(one)
        ]
        if only is None:
            return found
        named = {one.tool.name: one for one in found}
        return [named[name] for name in dict.fromkeys(only) if name in named]

    def _by_offered_names(self, one: Equipped) -> Iterator[Equipped]:
        yield one
        for other in one.local.offered if one.local is not None else ():
            if other not in self.tools:
                yield replace(one, tool=replace(one.tool, name=other))

    def _offers(self, one: Equipped, rights: Rights) -> bool:
        """A denial of one of its other names hits the tool. A server's tool is permitted by the server's table."""
        if one.behind is not None:
            return self.servers is not None and self.servers.offers(one.behind, rights.caller)
        return may_use(rights, one.tool.name, own=one.own, effects=one.tool.effects) and not any(
            denial(rights, name) for name in one.tool.rules.names
        )


def _stricter(one: Window | None, other: Window) -> Window:
    if one is None:
        return other
    periods = Window.__struct_fields__
    both = {period: {getattr(one, period), getattr(other, period)} for period in periods}
    return Window(**{period: min(said - {0}, default=0) for period, said in both.items()})


def build_toolbox(
    policy: Policy, tools: Iterable[LocalTool], known: Iterable[Any] = (), protected: tuple[str, ...] = (), **gate: Any
) -> Toolbox:
    """The toolbox of a policy and the functions registered so far; `known` are definitions that nothing here runs.
    Raises ToolError for a function whose name only looks like another one's."""
    table = {tool.name: tool for tool in tools}
    if alike := sorted(twins(table)):
        raise ToolError(f"the tool {alike[0]!a} looks like another one: give it a name in plain letters")
    ours = (one.described if one.about is None else replace(one.about, is_tried=True) for one in table.values())
    made = Gate([*ours, *known], policy, **gate)
    equipped = {name: _equipped(tool, table.get(name), policy) for name, tool in made.catalog.tools.items()}
    return Toolbox(policy, made, MappingProxyType(equipped), {}, {}, protected)


def _declared(tool: Tool, local: LocalTool, policy: Policy) -> Tool:
    """What packs say of the arguments of a function is added to what its author declared and takes nothing of it away,
    as with its effects. The policy file has the last word on what it states."""
    said = [one for one in policy.tools.values() if tool.name in (one.name, *one.rules.names)]
    rules = replace(
        tool.rules,
        paths=_places(local.paths, tool.rules.paths, [place for one in said for place in one.rules.paths]),
        commands=_places(local.commands, tool.rules.commands, [place for one in said for place in one.rules.commands]),
    )
    return replace(tool, rules=rules)


def _places(declared: tuple[str, ...], merged: tuple[str, ...], stated: list[str]) -> tuple[str, ...]:
    """Places that the policy states count only where they are in force: of arguments that a tool does not have, nothing
    is left, and then it has said nothing."""
    return merged if merged and set(merged) <= set(stated) else tuple(dict.fromkeys((*declared, *merged)))


def _equipped(tool: Tool, local: LocalTool | None, policy: Policy) -> Equipped:
    if local is not None:
        tool = _declared(tool, local, policy)
        local = replace(local, paths=tool.rules.paths, commands=tool.rules.commands)
    about: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
        "effects": sorted(tool.effects) if tool.effects_declared else None,
    }
    try:
        described = json.encode(about, order="deterministic")
    except (TypeError, ValueError, OverflowError) as fault:
        raise ToolError(f"the definition of `{tool.name}` is not valid JSON: {fault}") from fault
    side_effects = not tool.effects <= _READ_ONLY
    guesses = local is not None and local.guesses and not tool.rules.paths and not tool.is_described
    # what ships with us changes with the package, which the operator has installed: nobody need be asked about that
    known_by = f"shipped {tool.name}".encode() if local is not None and local.about is not None else described
    return Equipped(
        tool,
        local,
        sha256(known_by).hexdigest(),
        described.decode(),
        side_effects=side_effects or tool.rules.batch is not None,  # what it will run is not known yet
        own=tool.effects if local is not None and (local.about is None or not side_effects) else None,
        touches=local is not None and (bool(local.paths) or local.state is not None),
        guesses=guesses,
    )


# ── batches ──
# The calls inside a batch, as deep as they nest. Who runs them may read a call in another way than we do: where more
# than one reading is possible the call counts as one that nothing allows.

DEEPEST = 8
"""Batches within batches that are looked into; what is deeper counts as untold."""

UNNAMED = ""
"""In place of the name of a call that does not name exactly one tool."""


class Inner(Struct, frozen=True):
    """One call inside a batch."""

    names: tuple[str, ...] = ()
    """Every tool that it names, as written."""
    tools: tuple[Tool, ...] = ()
    """Those of them that are known."""
    arguments: tuple[dict[str, Any], ...] = ()
    """Wherever it may keep its arguments."""
    told: bool = False
    """Whether it names exactly one tool, and its arguments can be read."""


def inner_calls(toolbox: Toolbox, batch: Batch, arguments: Mapping[str, Any], depth: int = 0) -> Iterator[Inner]:
    """Every call that a batch would run, those of the batches within it too."""
    lists = _at(arguments, (batch.list,))
    if depth >= DEEPEST or (arguments and not lists):
        yield Inner()
        return
    for calls in map(opened, lists):
        for call in cast("list[Any]", calls) if isinstance(calls, list) else [None]:
            yield from _inner(toolbox, batch, opened(call), depth)


def _inner(toolbox: Toolbox, batch: Batch, call: Any, depth: int) -> Iterator[Inner]:
    if not isinstance(call, dict):
        yield Inner()
        return
    table = cast("dict[str, Any]", call)
    written = _at(table, batch.name)
    names = tuple(dict.fromkeys(one for one in written if isinstance(one, str) and one.strip()))
    given: list[Any] = [{} if one is None else opened(one) for one in _at(table, batch.arguments)]
    readable = tuple(cast("dict[str, Any]", one) for one in given if isinstance(one, dict))
    told = len(names) == 1 and all(one in names for one in written) and len(readable) == len(given)
    tools = tuple(tool for name in names if (tool := _known(toolbox, name)) is not None)
    yield Inner(names, tools, readable, told)
    for tool in tools:
        if tool.rules.batch is not None:
            for one in readable:
                yield from inner_calls(toolbox, tool.rules.batch, one, depth + 1)


def names_judged(toolbox: Toolbox, inner: Iterable[Inner]) -> tuple[str, ...]:
    """The tools that must all be allowed."""
    names: dict[str, None] = {}
    for one in inner:
        names |= dict.fromkeys(name for written in one.names for name in names_of(toolbox, written))
        if not one.told:
            names[UNNAMED] = None
    return tuple(names)


def names_of(toolbox: Toolbox, written: str) -> Iterator[str]:
    """A tool as it was written, as it is known, and what has taken its place."""
    yield written
    tool = _known(toolbox, written)
    if tool is not None:
        yield tool.name
        if tool.rules.replaced_by is not None:
            yield tool.rules.replaced_by


def effects_inside(inner: Iterable[Inner]) -> frozenset[Effect]:
    """All that they can do together. A tool that nobody knows can do everything."""
    found: frozenset[Effect] = frozenset()
    for one in inner:
        found |= one.tools[0].effects if one.told and one.tools else ALL_EFFECTS
    return found


def _known(toolbox: Toolbox, name: str) -> Tool | None:
    match = toolbox.gate.inside.find(name)
    known = None if match.tool is None else toolbox.tools.get(match.tool.name)
    if known is not None:
        return known.tool
    return None if match.kind == "typo" else match.tool  # of a tool that nobody lists, nothing is told of its likes


def _at(table: Mapping[str, Any], keys: tuple[str, ...]) -> list[Any]:
    """The values under these keys, in any spelling of them."""
    wanted = {key_of(key) for key in keys}
    return [value for key, value in table.items() if key in keys or key_of(key) in wanted]


# ── names ──
# How a tool of a server is called: by policy and audit, by hosts, by whoever writes a rule.

_LONGEST_SPLIT = 1000
"""Characters of a name that is split; a longer one is meant by every denial."""


def full_name(space: str, tool: str) -> str:
    """As policy and audit call it."""
    return f"{space}/{tool}" if space else tool


def other_names(space: str, tool: str) -> tuple[str, ...]:
    """How else a server's tool is called: without the server, or as hosts name it to their models.

    >>> other_names("files", "read_file")
    ('read_file', 'mcp__files__read_file')
    """
    return (tool, f"mcp__{space}__{tool}") if space else ()


def names_meant(space: str, tool: str) -> tuple[str, ...]:
    """How else a rule may call it. Where the separator stands in the tool's name too, nobody knows where the server's
    name ends: every part may be meant.

    >>> names_meant("a", "b__read")
    ('b__read', 'mcp__a__b__read', 'read', 'a__b/read')
    """
    names = other_names(space, tool)
    if "__" not in tool or len(tool) > _LONGEST_SPLIT:
        return names
    at = tool.find("__", 1)
    while 0 < at < len(tool) - 2:
        server = f"{space}__{tool[:at]}" if space else tool[:at]
        names += (tool[at + 2 :], f"{server.removeprefix('mcp__')}/{tool[at + 2 :]}")
        at = tool.find("__", at + 1)
    return names


# ── where a server comes from ──
# How an MCP server is reached, as far as a door can know: what a person accepted is that server and no other (P-08).
#
# The command or URL, the folder and the names of variables and headers count. Their values do not: a token that is
# renewed makes no other server. What people are shown holds no secret; the digest covers everything that counts, under
# the key of the store, so that nothing can be guessed from it.


class Way(Struct, frozen=True, omit_defaults=True):
    """What is configured of a server, by whoever starts it or connects to it."""

    command: tuple[str, ...] = ()
    url: str = ""
    cwd: str = ""
    env: tuple[str, ...] = ()
    """Names alone, sorted."""
    headers: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        return bool(self.command or self.url)


def way_of(
    command: Iterable[str] = (), url: str = "", cwd: str = "", env: Iterable[str] = (), headers: Iterable[str] = ()
) -> Way:
    """
    >>> way_of(["npx", "server"], env={"TOKEN": "secret", "HOST": "a"})
    Way(command=('npx', 'server'), url='', cwd='', env=('HOST', 'TOKEN'), headers=())
    """
    return Way(tuple(command), url, cwd, tuple(sorted(env)), tuple(sorted(name.lower() for name in headers)))


def origin_of(server: str, way: Way, redactor: Redactor) -> Origin:
    """`server` is its name, with the door that knows of it: what one door sees of a server is not what another does."""
    return Origin(server, redactor.keyed(json.encode(way)), json.encode(_described(way, redactor)).decode())


def _described(way: Way, redactor: Redactor) -> dict[str, object]:
    """As people read it. A secret is replaced by a mark, another one for another secret, so that a change shows."""
    from shlex import join  # late: an executor without servers has none to describe

    told: dict[str, object] = {}
    if way.command:  # in one piece: whether a word is a secret is told by the word before it
        told["command"] = redactor.text(join(way.command))
    if way.url:
        told["url"] = _shown_url(way.url, redactor)
    if way.cwd:
        told["cwd"] = redactor.text(way.cwd)
    for name, names in (("env", way.env), ("headers", way.headers)):
        if names:
            told[name] = list(names)
    return told


def _shown_url(url: str, redactor: Redactor) -> str:
    """Without the password, and without what the query says: keys are kept there."""
    from urllib.parse import parse_qsl, urlsplit, urlunsplit  # late: `wrap` starts without it

    try:
        parts = urlsplit(url)
        user, at, host = parts.netloc.rpartition("@")
        said = parse_qsl(parts.query, keep_blank_values=True) or ([("query", parts.query)] if parts.query else [])
        query = "&".join(f"{name}={redactor.mark(value)}" for name, value in said)
        return redactor.text(urlunsplit((parts.scheme, host, parts.path, "", ""))) + "".join(
            (f" as {redactor.mark(user)}" if at else "", f" with {query}" if query else "")
        )
    except ValueError:  # no address, whatever it is
        return redactor.mark(url)


def way_told(told: Mapping[str, object]) -> Way:
    """What a host says of a server, in a table with `command`, `args`, `url`, `cwd`, as most hosts write it. What is
    not said, or is something else, does not count."""

    def text(name: str) -> str:
        found = told.get(name)
        return found if isinstance(found, str) else ""

    arguments = told.get("args")
    words = [str(one) for one in arguments] if isinstance(arguments, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - a host wrote it
    command = (text("command"), *words) if text("command") else ()
    return Way(command, text("url") or text("httpUrl") or text("tcp"), text("cwd"))
