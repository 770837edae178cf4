"""Resources, prompts and completion through the gateway: joined lists, and each request to the server it is about.

A prompt is called as tools are (`server_prompt`, unless the server has another prefix). A resource keeps its address;
where two servers have the same, that of the first one in the policy file counts. An address that no list names goes to
the servers one after the other, those whose templates fit first.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from msgspec import Raw, json

from rightcall.base.json.strict import duplicate_keys
from rightcall.base.letters import skeleton
from rightcall.catalog.catalog import Kept
from rightcall.catalog.tool import PackTool
from rightcall.executor.door import Door
from rightcall.executor.lookups import Lookup
from rightcall.executor.messages import error_content
from rightcall.gate.gate import Gate
from rightcall.mcp.gateway.forward import (
    MARK,
    MOST_WATCHED,
    RESOURCES,
    Continuations,
    Errand,
    KeptCall,
    Pending,
    binding_of,
    forward,
    names_in,
    question_result,
    responses_of,
)
from rightcall.mcp.gateway.names import Table, ToolEntry, told_apart
from rightcall.mcp.messages import (
    INVALID_PARAMS,
    SERVER_GONE,
    Answer,
    Refused,
    ToolCall,
    changed,
    complete,
    failed_result,
    fields,
    mapping,
    read,
    read_lookup,
    refusal,
    success,
    value,
)
from rightcall.mcp.serving import Exchange
from rightcall.mcp.session import ServerGone, ServerSlow, Session
from rightcall.mcp.upstream import Hello, ListRefused, Upstream, listed
from rightcall.types import Rules

if TYPE_CHECKING:
    from rightcall.router.lexical import ToolText
    from rightcall.router.toolset import FollowingIndex

LISTING: Final = 3.0
"""Seconds for one server's list; one that takes longer is left out."""
RESTING: Final = 60.0
"""Seconds for which a server that did not list in time is not asked again."""
_NO_SUCH: Final = -32002
_EXPRESSION: Final = re.compile(r"\{[^{}]*\}")
_LONGEST_URI: Final = 4_000
Shown = Callable[[str], bool]
"""Whether a caller may see what a server has."""


def _everything(_server: str) -> bool:
    return True


class Servers(Protocol):
    @property
    def hello(self) -> Hello: ...

    def upstream(self, name: str) -> Upstream | None: ...

    def with_capability(self, capability: str) -> list[Upstream]: ...

    def expect_able(self, kind: str) -> None: ...


class Library:
    """What servers have beside tools."""

    def __init__(self, servers: Servers, kept: Continuations, door: Door) -> None:
        self._servers = servers
        self._door = door
        self._kept = kept
        self._prompts = Table()
        self._homes: dict[str, str] = {}
        """Which server an address is of."""
        self._templates: dict[str, list[str]] = {}
        self._silent: dict[tuple[str, str], tuple[Session, float]] = {}
        """Which list of which server did not come, and until when it is not asked for again."""

    def name_by(self, prefixes: Mapping[str, str]) -> None:
        """What stands before the prompts of some servers, as before their tools."""
        self._prompts.name_by(prefixes)

    # ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def answer(self, exchange: Exchange) -> Answer:
        """One request of a client, by its method."""
        if exchange.method in _JOINED:
            key, joined = _JOINED[exchange.method]
            found = await joined(self, lambda server: not self._door.leaves_out(server, exchange.caller))
            return found if isinstance(found, Answer) else list_result(key, found, exchange)
        return await _OF_ONE[exchange.method](self, exchange)

    async def resources(self, shown: Shown = _everything) -> list[Raw] | Answer:
        lists = await self._lists("resources", "resources/list", "resources")
        if isinstance(lists, Answer):
            return lists
        found: list[Raw] = []
        homes: dict[str, str] = {}
        for name, items in lists:
            for item in items:
                uri = value(fields(item).get("uri", b""))
                if isinstance(uri, str) and uri not in homes:
                    homes[uri] = name
                    found += [item] if shown(name) else []
        self._homes = homes
        return found

    async def templates(self, shown: Shown = _everything) -> list[Raw] | Answer:
        lists = await self._lists("resources", "resources/templates/list", "resourceTemplates")
        if isinstance(lists, Answer):
            return lists
        found: list[Raw] = []
        for name, items in lists:
            uris = [value(fields(item).get("uriTemplate", b"")) for item in items]
            self._templates[name] = [uri for uri in uris if isinstance(uri, str)]
            found += items if shown(name) else []
        return found

    async def prompts(self, shown: Shown = _everything) -> list[Raw] | Answer:
        lists = await self._lists("prompts", "prompts/list", "prompts")
        if isinstance(lists, Answer):
            return lists
        for name, items in lists:
            self._prompts.put(name, items)
        able = (one.name for one in self._servers.with_capability("prompts"))
        return self._prompts.listed(lambda _: True, list(filter(shown, able)))

    async def _lists(self, capability: str, method: str, key: str) -> list[tuple[str, list[Raw]]] | Answer:
        """Of all servers at once; one that does not answer leaves the others as they are. The words of the first, where
        all of them refuse: a client reads why there is no list, as it would without us."""
        upstreams = self._servers.with_capability(capability)

        async def one(upstream: Upstream) -> tuple[str, list[Raw] | Answer]:
            session = upstream.session
            if session is None or self._is_silent(upstream.name, method, session):
                return upstream.name, []
            try:
                return upstream.name, await listed(session, self._servers.hello, method, key, LISTING)
            except ServerSlow:
                until = asyncio.get_running_loop().time() + RESTING
                self._silent[upstream.name, method] = session, until
                return upstream.name, []
            except ListRefused as refused:
                return upstream.name, refused.answer
            except ServerGone:
                return upstream.name, []

        found = await asyncio.gather(*map(one, upstreams))
        lists = [(name, items) for name, items in found if not isinstance(items, Answer)]
        refusals = [items for _, items in found if isinstance(items, Answer)]
        return refusals[0] if refusals and not lists else lists

    def _is_silent(self, server: str, method: str, session: Session) -> bool:
        known = self._silent.get((server, method))
        return known is not None and known[0] is session and asyncio.get_running_loop().time() < known[1]

    # ── one of them ──────────────────────────────────────────────────────────────────────────────────────────────

    async def get_prompt(self, exchange: Exchange) -> Answer:
        upstream, name = await self._home_of_prompt(value(exchange.params.get("name", b"")), "params.name")
        if not await self.permit(exchange, [upstream]):
            raise _unknown_prompt("params.name")
        return await self._put(exchange, upstream, {"name": name}, name)

    async def _home_of_prompt(self, wanted: Any, where: str) -> tuple[Upstream, str]:
        """Its server, and what that calls it. Raises Refused, unless one server has all prompts under its own names: it
        says itself which it does not have, as it would without us."""
        if self._prompts.find(wanted) is None:
            await self.prompts()
        entry = self._prompts.find(wanted)
        upstream = self._servers.upstream(entry.space) if entry is not None else None
        if entry is not None and upstream is not None:
            return upstream, entry.name
        able = self._servers.with_capability("prompts")
        if len(able) == 1 and able[0].server.prefix == "" and isinstance(wanted, str):
            return able[0], wanted
        raise _unknown_prompt(where)

    async def read(self, exchange: Exchange) -> Answer:
        """The words of the likeliest server, where none has it: a client reads what it would read without us."""
        uri = uri_of(exchange)
        refused: list[Answer] = []
        lost: list[Answer] = []
        for upstream in await self.permit(exchange, self._begun_with(exchange) or await self.homes_of(uri)):
            try:
                answer = await self._put(exchange, upstream, {}, uri)
            except (ServerGone, ServerSlow) as gone:
                lost.append(failed_result(SERVER_GONE, f"the server {upstream.name}: {gone}"))
                continue
            if answer.result is not None:
                return answer
            refused.append(answer)
        return next(iter(refused + lost), not_found(uri, exchange))

    async def complete(self, exchange: Exchange) -> Answer:
        ref = mapping(value(exchange.params.get("ref", b"")))
        if ref.get("type") == "ref/prompt":
            self._servers.expect_able("prompts")
            upstream, name = await self._home_of_prompt(ref.get("name"), "params.ref.name")
            if not await self.permit(exchange, [upstream]):
                raise _unknown_prompt("params.ref.name")
            return await self._put(exchange, upstream, {"ref": {**ref, "name": name}}, None)
        uri = ref.get("uri")
        refused: list[Answer] = []
        homes = self._begun_with(exchange) or await self.homes_of(uri if isinstance(uri, str) else "")
        for upstream in await self.permit(exchange, homes):
            answer = await self._put(exchange, upstream, {}, None)
            if answer.result is not None:
                return answer
            refused.append(answer)
        return refused[0] if refused else success(complete({"completion": {"values": []}}, exchange.peer))

    async def permit(self, exchange: Exchange, upstreams: list[Upstream]) -> list[Upstream]:
        """Those servers that may be asked, which is none where this caller may use nothing of them. Raises Refused for
        what the policy refuses."""
        params = read_lookup(exchange.line)
        if params is None:
            raise Refused(INVALID_PARAMS, "a key of this request appears twice or almost, or its params cannot be read")
        return await self._permit(exchange, exchange.method, params, upstreams)

    async def watchable(self, exchange: Exchange) -> list[str]:
        """Of the resources that a client of the new era wants news of, those that it may hear of."""
        uris = names_in(mapping(value(exchange.params.get("notifications", b""))), RESOURCES)
        able = self._servers.with_capability("resources")
        if not able or len(uris) > MOST_WATCHED:  # too many are refused as such
            return uris
        found: list[str] = []
        for uri in uris:
            with suppress(Refused):
                found += [uri] if await self._permit(exchange, "resources/subscribe", {"uri": uri}, able) else []
        return found

    async def _permit(
        self, exchange: Exchange, method: str, params: Mapping[str, Any], upstreams: list[Upstream]
    ) -> list[Upstream]:
        able = [one for one in upstreams if not self._door.leaves_out(one.name, exchange.caller)]
        for one in able or upstreams[:1]:
            lookup = Lookup(method, params, exchange.caller, one.name, exchange.client.context)
            decision = await asyncio.to_thread(self._door.refuses, lookup)
            if decision is not None and able:
                is_absent = method.startswith("resources/") and decision.rule.startswith("path:")
                code = _no_such(exchange) if is_absent else INVALID_PARAMS
                raise Refused(code, error_content(decision.reason, decision.hint))
        return able

    async def homes_of(self, uri: str) -> list[Upstream]:
        """The servers that may have a resource, the likeliest first."""
        if uri not in self._homes:
            await asyncio.gather(self.resources(), self.templates())
        able = self._servers.with_capability("resources")
        home = self._homes.get(uri)
        if home is not None:
            return [one for one in able if one.name == home]
        fitting = [one for one in able if any(fits(uri, each) for each in self._templates.get(one.name, ()))]
        return fitting or sorted(able, key=lambda one: not self._has_scheme(one.name, uri.partition(":")[0]))

    def _has_scheme(self, server: str, scheme: str) -> bool:
        known = [uri for uri, home in self._homes.items() if home == server]
        return any(one.startswith(f"{scheme}:") for one in (*known, *self._templates.get(server, ())))

    def _begun_with(self, exchange: Exchange) -> list[Upstream]:
        """The server of a request that goes on."""
        state = value(exchange.params.get("requestState", b""))
        began = self._kept.upstream_of(state, exchange.caller) if isinstance(state, str) else None
        return [began] if began is not None and self._servers.upstream(began.name) is began else []

    async def _put(
        self, exchange: Exchange, upstream: Upstream, changed: Mapping[str, Any], name: str | None
    ) -> Answer:
        ours = ("_meta", "inputResponses", "requestState")
        params: dict[str, Any] = {**{key: raw for key, raw in exchange.params.items() if key not in ours}, **changed}
        state = value(exchange.params.get("requestState", b""))
        if isinstance(state, str):
            binding = binding_of(exchange.caller, exchange.method, exchange.params)
            kept = self._kept.take(state, binding, exchange.caller)
            if kept is None or not state.startswith(MARK) or kept.upstream is not upstream:
                raise Refused(INVALID_PARAMS, "requestState is used up, too old, or of another request")
            responses = mapping(value(exchange.params.get("inputResponses", b"")))
            if kept.pending is not None:
                kept.pending.answer(responses, exchange)
                return await self._until_asked(kept.pending, upstream, exchange)
            params |= {"inputResponses": responses} if responses else {}
            params |= {"requestState": kept.state} if kept.state is not None else {}
        else:
            params |= responses_of(exchange)
        errand = Errand(upstream, exchange.method, params, name)
        if not exchange.peer.stateless:
            return await forward(errand, exchange, self._kept)
        pending = Pending(exchange, lambda: forward(errand, exchange, self._kept))
        return await self._until_asked(pending, upstream, exchange)

    async def _until_asked(self, pending: Pending, upstream: Upstream, exchange: Exchange) -> Answer:
        found = await pending.result_or_questions()
        if isinstance(found, Answer):
            return found
        binding = binding_of(exchange.caller, exchange.method, exchange.params)
        kept = KeptCall(binding, None, None, pending, pending.cancel, upstream)
        return question_result(found, self._kept.keep(kept, exchange.caller))

    def forget(self, server: str) -> None:
        self._prompts.drop(server)
        self._templates.pop(server, None)
        self._homes = {uri: home for uri, home in self._homes.items() if home != server}


def _unknown_prompt(where: str) -> Refused:
    return Refused(INVALID_PARAMS, f"{where}: unknown prompt; prompts/list names the available ones")


def not_found(uri: str, exchange: Exchange) -> Answer:
    return failed_result(_no_such(exchange), "Resource not found", {"uri": uri})


def _no_such(exchange: Exchange) -> int:
    return INVALID_PARAMS if exchange.peer.stateless else _NO_SUCH


def uri_of(exchange: Exchange) -> str:
    uri = value(exchange.params.get("uri", b""))
    if not isinstance(uri, str):
        raise Refused(INVALID_PARAMS, "params.uri must be the address of a resource")
    return uri


_JOINED: Final = {
    "resources/list": ("resources", Library.resources),
    "resources/templates/list": ("resourceTemplates", Library.templates),
    "prompts/list": ("prompts", Library.prompts),
}
"""Lists of all servers in one, with the name that they have in the result."""
_OF_ONE: Final = {
    "resources/read": Library.read,
    "prompts/get": Library.get_prompt,
    "completion/complete": Library.complete,
}


def list_result(key: str, items: Iterable[Raw], exchange: Exchange) -> Answer:
    """All of it on one page, so that every cursor is somebody else's."""
    if value(exchange.params.get("cursor", b"")):
        raise Refused(INVALID_PARAMS, "params.cursor is none of ours: make the request without it")
    fresh = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if exchange.peer.stateless else {}
    return Answer(Raw(json.encode({key: list(items), **fresh})))


def fits(uri: str, template: str) -> bool:
    """Whether an address may be one of a template's; in doubt it may.

    >>> fits("file:///a/b.txt", "file:///{+path}"), fits("db://x/1", "db://y/{id}")
    (True, False)
    """
    if uri == template:
        return True
    if len(uri) > _LONGEST_URI or len(template) > _LONGEST_URI:
        return False
    pieces = _EXPRESSION.split(template)
    if not uri.startswith(pieces[0]) or not uri.endswith(pieces[-1]):
        return False
    at = 0
    for piece in pieces:
        found = uri.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True


# ── finding tools ──
# More tools than a client can take: two in their place, one that finds them and one that runs what was found.
#
#     tools_search {query, limit}    names, descriptions, parameters, and why they match
#     tools_run {name, arguments}    taken apart here: from then on it is a call of that tool, like any other
#
# `[router] search` says from how many tools on. Search shows what a list would have shown, to the same caller.

Offers = Callable[[ToolEntry], bool]
Kind = Literal["search", "run"]

_NAMES: Final[Mapping[Kind, str]] = {"search": "tools_search", "run": "tools_run"}
_UNREADABLE: Final = "The arguments cannot be read: they are a JSON object."
_GUESSED: Final = (
    'The call is truncated or damaged. Nothing was run. Resend the complete call: {"name": "…", "arguments": {…}}'
)
_MOST_NAMED: Final = 20
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
        if not self._door.policy_as_seen.router.search:
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
        from rightcall.router.toolset import PARAMETERS

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
        from rightcall.router.toolset import FOUND, describe_hit

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
        inner.span = exchange.span
        inner.headers = None  # they are about the arguments of the call around it
        return inner

    def _checking(self) -> Gate:
        if self._gate is None:
            from rightcall.router.toolset import PARAMETERS

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
            from rightcall.router.toolset import FollowingIndex

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
        return self._index.rank(query, limit, lambda name: name in offered and name in wires)


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
        if not all(path.startswith("arguments.") for path in twice):
            return None
    return given


def _definition(name: str, about: str, schema: dict[str, Any], **hints: bool) -> Raw:
    told: dict[str, Any] = {"name": name, "description": about, "inputSchema": schema}
    return Raw(json.encode({**told, "annotations": hints} if hints else told))
