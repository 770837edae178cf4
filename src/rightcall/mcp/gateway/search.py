"""More tools than a client can take: two in their place, one that finds them and one that runs what was found.

    tools_search {query, limit}    names, descriptions, parameters, and why they match
    tools_run {name, arguments}    taken apart here: from then on it is a call of that tool, like any other

`[router] search` says from how many tools on. Search shows what a list would have shown, to the same caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Raw, json

from rightcall.base.json.strict import duplicate_keys
from rightcall.base.letters import skeleton
from rightcall.catalog.tool import PackTool
from rightcall.executor.door import Door
from rightcall.gate.gate import Gate
from rightcall.gate.offering import Kept
from rightcall.mcp.gateway.names import Table, ToolEntry, told_apart
from rightcall.mcp.messages import Answer, ToolCall, changed, complete, fields, mapping, read, refusal, success, value
from rightcall.mcp.serving import Exchange
from rightcall.types import Rules

if TYPE_CHECKING:
    from rightcall.router.index import FollowingIndex
    from rightcall.router.lexical import ToolText

Offers = Callable[[ToolEntry], bool]
Kind = Literal["search", "run"]

_NAMES: Final[Mapping[Kind, str]] = {"search": "tools_search", "run": "tools_run"}
_UNREADABLE: Final = "The arguments cannot be read: they are a JSON object."
_GUESSED: Final = (
    "What is to be run can only be guessed: the call is cut off or damaged. Nothing was run. Make it again, whole: "
    '{"name": "…", "arguments": {…}}'
)
_MOST_NAMED: Final = 20
_INSIDE: Final = "arguments."
_RUN: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "description": "The tool, by the name that was found."},
        "arguments": {"type": "object", "additionalProperties": True, "description": "As its parameters say."},
    },
    "required": ["name"],
}
_RUN_RULES: Final = Rules(example={"name": "files_read_file", "arguments": {"path": "notes.md"}})
_SEARCH_RULES: Final = Rules(
    aliases={**dict.fromkeys(("q", "text", "request"), "query"), **dict.fromkeys(("n", "top_k", "k"), "limit")},
    example={"query": "read a file"},
)


class Searching:
    """Of all clients of one gateway. Used within one event loop."""

    def __init__(self, door: Door, table: Table) -> None:
        self._door = door
        self._table = table
        self._alone = asyncio.Lock()
        self._index: FollowingIndex | None = None
        self._version = -1
        self._texts: dict[str, tuple[ToolEntry, ToolText]] = {}
        self._offered: Kept[str, frozenset[str]] = Kept()
        self._gate: Gate | None = None

    def replaces(self, count: int, own: int) -> bool:
        """Whether so many tools of servers, beside our own, are too many for a list."""
        return count > len(_NAMES) and 0 < self._door.policy.router.search < own + count

    def kind_of(self, name: str) -> Kind | None:
        """Which of the two is called. None where they are switched off; what a server has by such a name is its own."""
        if not self._door.policy.router.search:
            return None
        for kind in _NAMES:
            ours = self.name_of(kind)
            if name == ours or (skeleton(name) == skeleton(ours) and not self._table.may_mean(name)):
                return kind
        return None

    def name_of(self, kind: Kind) -> str:
        plain = _NAMES[kind]
        return plain if plain not in self._table.wires() else told_apart(plain, ("", plain))

    def names(self) -> list[str]:
        """What the two are called; nothing where they are switched off."""
        return [self.name_of(kind) for kind in _NAMES] if self._door.policy.router.search else []

    def finding(self, caller: str) -> str:
        """How a caller finds the tools there are: by what it was shown."""
        shown = self._offered.has(caller, self._now())
        return f"{self.name_of('search')} finds those there are." if shown else "tools/list names those there are."

    def listed(self, caller: str, offers: Offers) -> list[Raw]:
        """The two, as a client sees them in a list."""
        from rightcall.router.index import PARAMETERS

        found = self._offered_to(caller, offers)
        wires = self._table.wires()
        servers = list(dict.fromkeys(wires[name].space for name in sorted(found)))
        some = ", ".join(servers[:_MOST_NAMED]) + (" and others" if len(servers) > _MOST_NAMED else "")
        search, run = self.name_of("search"), self.name_of("run")
        about = (
            f"Find tools by what is to be done, among the {len(found):,} of {some}. What is found is run with {run}."
        )
        return [
            _definition(search, about, PARAMETERS, readOnlyHint=True, openWorldHint=False),
            _definition(run, f"Run a tool that {search} has found, with its own arguments.", _RUN),
        ]

    async def search(self, call: ToolCall, exchange: Exchange, offers: Offers) -> Answer:
        from rightcall.router.index import FOUND, describe_hit

        verdict = self._checking().check(_NAMES["search"], call.arguments)
        if not verdict.ok or verdict.call is None:
            return success(refusal(verdict.hint or _UNREADABLE, exchange.peer))
        given = verdict.call.arguments
        offered = self._offered_to(exchange.caller, offers)
        async with self._alone:
            hits = await asyncio.to_thread(self._found, given["query"], given.get("limit", FOUND), offered)
            texts = {hit.name: self._texts[hit.name][1] for hit in hits}
        found = [describe_hit(hit, texts[hit.name].description, texts[hit.name].parameters) for hit in hits]
        told = {"tools": found}
        text = json.encode(told).decode()
        result = {"content": [{"type": "text", "text": text}], "structuredContent": told}
        return success(complete(result, exchange.peer))

    def inner(self, call: ToolCall, exchange: Exchange) -> Exchange | Answer:
        """The call within a `tools_run`, as if the client had made it; or what is wrong with it. Arguments that need no
        repair keep their bytes."""
        parts: Mapping[str, Any] | None = _as_written(call, exchange)
        if parts is None:
            verdict = self._checking().check(_NAMES["run"], call.arguments)
            if not verdict.ok or verdict.call is None:
                return success(refusal(verdict.hint or _UNREADABLE, exchange.peer))
            if verdict.truncated or verdict.confidence < self._door.policy.settings.approval.confidence:
                return success(refusal(_GUESSED, exchange.peer))  # the call within would not be judged as a guess
            parts = mapping(verdict.call.arguments)
        line = changed(exchange.line, parts, ("arguments",))
        message = read(line)
        assert message is not None, "it is a message that was read before"
        inner = Exchange(exchange.client, line, message, exchange.emit)
        inner.headers = None  # they are about the arguments of the call around it
        return inner

    def _checking(self) -> Gate:
        if self._gate is None:
            from rightcall.router.index import PARAMETERS

            tools = [
                PackTool(_NAMES["search"], "", PARAMETERS, ("read",), _SEARCH_RULES, "given"),
                PackTool(_NAMES["run"], "", _RUN, None, _RUN_RULES, "given"),
            ]
            self._gate = Gate(tools, {"version": 1, "gate": {"unknown_argument": "refuse"}})
        return self._gate

    def _offered_to(self, caller: str, offers: Offers) -> frozenset[str]:
        return self._offered.get(caller, self._now(), lambda: frozenset(self._table.names(offers)))

    def _now(self) -> tuple[int, str]:
        """With another table or another policy, other tools are offered."""
        return self._table.version, self._door.policy.digest

    def _found(self, query: str, limit: int, offered: frozenset[str]) -> list[Any]:
        """In a thread: the first search reads every tool, each later one what has changed since."""
        if self._index is None:
            from rightcall.router.index import FollowingIndex

            self._index = FollowingIndex()
        version, wires = self._table.version, self._table.wires()
        if version != self._version:
            known = self._texts
            self._texts = {
                wire: before if (before := known.get(wire)) is not None and before[0] is entry else _read(wire, entry)
                for wire, entry in wires.items()
            }
            self._index.follow({wire: text for wire, (_, text) in self._texts.items()})
            self._version = version
        return self._index.search(query, limit, lambda name: name in offered and name in wires)


def _read(wire: str, entry: ToolEntry) -> tuple[ToolEntry, ToolText]:
    from rightcall.router.lexical import ToolText

    described = value(entry.fields.get("description", b""))
    schema = mapping(value(entry.fields.get("inputSchema", b"")))
    return entry, ToolText(wire, described if isinstance(described, str) else "", dict(schema))


def _as_written(call: ToolCall, exchange: Exchange) -> Mapping[str, Raw] | None:
    """The parts of a call that is right as it stands. A key that stands twice in the arguments of the call within is
    for the gate to see, as it would in a call of its own; one beside them makes it two calls in one."""
    given = fields(exchange.params.get("arguments", b""))
    if not given.keys() <= {"name", "arguments"} or not isinstance(value(given.get("name", b"")), str):
        return None
    if isinstance(call.arguments, str):
        whole = value(call.arguments.encode())
        twice = duplicate_keys(call.arguments, whole) if whole is not None else ()
        if not all(path.startswith(_INSIDE) for path in twice):
            return None
    return given


def _definition(name: str, about: str, schema: dict[str, Any], **hints: bool) -> Raw:
    told: dict[str, Any] = {"name": name, "description": about, "inputSchema": schema}
    return Raw(json.encode({**told, "annotations": hints} if hints else told))
