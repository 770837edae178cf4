"""The gateway: many MCP servers behind one, under one policy, for any number of clients at a time.

    clients ─▶ serving ─▶ Gateway ─┬─ calls      judged, approved, recorded      ─▶ upstream files ─▶ a process
                                   ├─ library    resources, prompts, completion  ─▶ upstream wiki  ─▶ HTTP
                                   └─ news       what servers say unasked

Servers are those of the policy file, and follow it when it is changed. One that does not start, or ends, is told of in
`state` and tried again; the others do not notice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any, Final, Protocol, cast

from msgspec import Raw, Struct, json
from msgspec.structs import replace

from rightcall import __version__
from rightcall.catalog.packs import load_pack
from rightcall.executor.door import Door
from rightcall.executor.executor import Executor
from rightcall.executor.toolbox import other_names, way_of
from rightcall.mcp.approvals import form_for, person, read_answer
from rightcall.mcp.gateway.calls import Calls, called_by
from rightcall.mcp.gateway.forward import (
    LEVELS,
    LISTS,
    MESSAGE,
    MOST_WATCHED,
    TOOLS,
    UPDATED,
    Continuations,
    News,
    Questions,
    era_of,
)
from rightcall.mcp.gateway.joining import Joining
from rightcall.mcp.gateway.library import Library, Searching, list_result, not_found, uri_of
from rightcall.mcp.gateway.names import Table, ToolEntry, spelling_of, wire_names
from rightcall.mcp.gateway.tasks import Tasks
from rightcall.mcp.messages import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    STATUS,
    STATUS_NEW,
    Answer,
    Era,
    Refused,
    complete,
    mapping,
    notification,
    success,
    tool_call,
    value,
)
from rightcall.mcp.serving import Client, Exchange
from rightcall.mcp.session import Cause, Session, spawn
from rightcall.mcp.spans import follow_exchange, tell_tool
from rightcall.mcp.upstream import STARTING, Hello, Opening, Upstream
from rightcall.policy.settings import Server
from rightcall.policy.types import Approval
from rightcall.record.notes import remember_tools

# ── the policy, followed ──
# Looks at the policy from time to time, so that an edit counts also where nobody asks for anything.

EVERY: Final = 1.0
"""Seconds between two looks."""


class Following:
    """`changed` is called when another policy is in force, `always` at every look."""

    def __init__(self, door: Door, changed: Callable[[], None], always: Callable[[], None] = lambda: None) -> None:
        self._door = door
        self._changed = changed
        self._always = always
        self._digest = door.policy.digest
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._follow(), name="mcp policy")

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def look(self) -> None:
        """Also asked by every request: an edit counts for the next one."""
        digest = self._door.policy.digest
        if digest != self._digest:
            self._digest = digest
            self._changed()

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            try:
                self.look()
                self._always()
            except Exception:
                log.exception("rightcall: following the policy failed")


log = logging.getLogger("rightcall")

CALLER: Final = "gateway"
"""Who calls, where no token says otherwise."""
GREETING: Final = 5.0
"""Seconds that the greeting of a client waits for servers that are just starting,"""
FIRST_LIST: Final = 20.0
"""and all that it asks for then: many clients take a list once, and what is not in it is never there for them."""
_NO_SERVERS: Final[Mapping[str, Server]] = {}


class OwnTools(Protocol):
    """Tools that we run ourselves, beside those of the servers."""

    def listed(self, caller: str) -> list[Raw]: ...

    def has(self, name: str) -> bool: ...

    def names(self) -> Mapping[str, tuple[str, ...]]: ...

    def call(self, exchange: Exchange) -> Coroutine[Any, Any, Answer]: ...


class Shared(Struct, frozen=True):
    """What gateways of one door have in common, and what tells one from the others."""

    tasks: Tasks
    know: Callable[[list[Any], str], None]
    """Takes the tools of a server for the door. Whoever shares it also tells when another policy is in force
    (`Gateway.follow`)."""
    era: Era = "new"
    """Of its clients: servers that know both are spoken to in theirs."""
    alone: bool = False
    """It is for one client and no other."""
    place: str = ""
    """The name of this process, where several are one server."""


class Gateway:
    """Used within one event loop. `open_link` makes the way to a server; None: it joins none. `news` hears, in words
    for people, which servers came and went. `capabilities` are what servers are told that clients can do; without them
    there is one client only, which tells so when it introduces itself."""

    def __init__(
        self, door: Door, open_link: Opening | None, *, capabilities: Mapping[str, Any] | None = None,
        own: OwnTools | None = None, news: Callable[[str], None] = lambda _: None, shared: Shared | None = None,
    ) -> None:  # fmt: skip
        self.door = door
        era: Era = "new" if shared is None else shared.era
        self.hello = Hello({"name": "rightcall", "version": __version__}, capabilities or {}, era)
        self.news = News()
        self.table = Table(is_taken=self._is_ours)
        self._kept = Continuations("" if shared is None else shared.place)
        self._own = own
        self._spellings: tuple[Mapping[str, tuple[str, ...]], frozenset[str]] | None = None
        self._awaits_client = capabilities is None
        self.know = self._know if shared is None else shared.know
        self._tasks = Tasks(door) if shared is None else shared.tasks
        alone = capabilities is None if shared is None else shared.alone
        others = shared is not None and bool(shared.place)
        self._questions = Questions(self.news, self._tasks.beginner, alone=alone, others=others)
        self.running: set[asyncio.Task[Any]] = set()
        """Requests that are being answered."""
        self._calls = Calls(door, self.table, self, self._kept, self._tasks)
        self._searching = Searching(door, self.table)
        self._calls.finding = self._searching.finding
        self._calls.naming.ours = self._names_of_ours
        self._library = Library(self, self._kept, door)
        self._joining = Joining(self, news)
        self._open_link = open_link
        self._upstreams: dict[str, Upstream] = {}
        self._servers = _NO_SERVERS
        self.only = ""
        """The one server that is joined, whose tools keep their names; empty: all of the policy."""
        self._closing: set[asyncio.Task[None]] = set()
        self._lists: dict[tuple[str, int, str], list[Raw]] = {}
        self._following = Following(door, self.follow) if shared is None else None

    def _know(self, definitions: list[Any], space: str) -> None:
        self.door.know(definitions, space)
        remember_tools(self.door.store, space, definitions)  # for `status`, and hooks of hosts that use the same server

    # ── the servers ──────────────────────────────────────────────────────────────────────────────────────────────

    def start(self) -> None:
        """Start every server of the policy. Does not wait for them."""
        self._join()

    @property
    def is_used(self) -> bool:
        """Whether any client is there, or may come back."""
        return self.is_busy or self.news.is_heard

    @property
    def is_busy(self) -> bool:
        """Whether anything is under way."""
        return bool(self.running or len(self._kept) or self._tasks.are_open_at(self._upstreams.values()))

    @property
    def recorded(self) -> int:
        """Calls of servers' tools of which there is a record."""
        return self._calls.recorded

    async def aclose(self) -> None:
        if self._following is not None:
            self._following.stop()
        self.news.end()
        self._kept.clear()
        self._joining.cancel()
        for one in self._upstreams.values():
            self._tasks.end(one, "RightCall ended before the task did.")
        await asyncio.gather(*(one.aclose() for one in self._upstreams.values()), *self._closing)
        self._upstreams = {}

    def upstream(self, name: str) -> Upstream | None:
        return self._upstreams.get(name)

    def upstreams(self) -> list[Upstream]:
        return list(self._upstreams.values())

    def watched_tasks(self, upstream: Upstream) -> set[str]:
        return self._tasks.watched_at(upstream, self.news)

    def with_capability(self, capability: str) -> list[Upstream]:
        return [one for one in self._upstreams.values() if capability in _capabilities(one)]

    def state(self) -> dict[str, Any]:
        """Of each server, for `/health`."""
        return {name: self._joining.told(one) for name, one in self._upstreams.items()}

    def definitions(self) -> list[tuple[str, dict[str, Any]]]:
        """Every tool of the servers as it is listed, whoever may see it, each with its server."""
        return [
            (space, dict(tool))
            for space in tuple(self._upstreams)
            for raw in self.table.listed(lambda _: True, (space,))
            if (tool := mapping(value(raw)))  # text that is not UTF-8 cannot be read
        ]

    def follow(self) -> None:
        """Another policy is in force: other servers, and clients may see other tools."""
        self._join()
        self.news.changed(TOOLS)

    def _look(self) -> None:
        if self._following is not None:
            self._following.start()
            self._following.look()
        self._join()

    def _join(self) -> None:
        """Make the servers those of the policy in force."""
        named: Mapping[str, Server] = self.door.policy.servers if self._open_link is not None else _NO_SERVERS
        if named is self._servers:
            return
        self._servers = named
        own = named.get(self.only)
        wanted = named if not self.only else {} if own is None else {self.only: replace(own, prefix="")}
        prefixes = {name: server.prefix for name, server in wanted.items() if server.prefix is not None}
        self.table.name_by(prefixes)
        self._library.name_by(prefixes)
        for name, one in list(self._upstreams.items()):
            if not one.takes(wanted.get(name)):
                self._stop(self._upstreams.pop(name))
        for name, server in wanted.items():
            if server.enabled and name not in self._upstreams and self._open_link is not None:
                self.door.locate(name, way_of(server.command, server.url, server.cwd, server.env, server.headers))
                self._upstreams[name] = Upstream(server, self._open_link, self.hello, self)
        self._upstreams = {name: self._upstreams[name] for name in wanted if name in self._upstreams}
        for one in self._upstreams.values():
            one.start()

    def _stop(self, upstream: Upstream) -> None:
        self.table.drop(upstream.name)
        self._library.forget(upstream.name)
        self._tasks.end(upstream, "The server was taken out of the policy.")
        spawn(self._closing, upstream.aclose())
        self.news.changed(TOOLS)

    async def settled(self, seconds: float = FIRST_LIST) -> None:
        """Wait for servers that start for the first time, so long from their start at most."""
        await asyncio.gather(*(one.tried(seconds) for one in self._upstreams.values()))

    async def refreshed(self, seconds: float = FIRST_LIST) -> None:
        """Wait for the tools as they are now: of servers that start, and of those that never tell when they change."""
        await self.settled(seconds)
        await self._joining.refreshed()

    # ── what clients ask ─────────────────────────────────────────────────────────────────────────────────────────

    async def introduction(self, client: Client, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        self._meet(capabilities, stateless=not client.is_greeted)
        self._look()
        await self.settled(GREETING)
        found = self._capabilities(stateless=not client.is_greeted)
        client.may_set_level = "logging" in found
        told: dict[str, Any] = {"capabilities": found, "serverInfo": self.hello.info}
        words = [
            f"{one.name}: {one.session.agreed.instructions}"
            for one in self._upstreams.values()
            if one.session is not None and one.session.agreed is not None and one.session.agreed.instructions
        ]
        words += [f"{one.name} {one.told()}" for one in self._upstreams.values() if one.awaits_login]
        return {**told, "instructions": "\n\n".join(words)} if words else told

    def _capabilities(self, *, stateless: bool) -> dict[str, Any]:
        """Also what a server may turn out to have that is still starting: a client asks for nothing that was not said
        here, and an empty list or a level that no server uses harms nobody."""
        found: dict[str, Any] = {"tools": {"listChanged": True}}
        is_open = any(one.is_new for one in self._upstreams.values())
        for name in ("prompts", "resources", "completions", "logging"):
            if is_open or self.with_capability(name):
                found[name] = {"listChanged": True} if name in ("prompts", "resources") else {}
        able = [_capabilities(one)["resources"] for one in self._able()]
        if "resources" in found and (is_open or any(one.get("subscribe") for one in able)):
            found["resources"]["subscribe"] = True
        return found | self._tasks.capabilities(self._upstreams.values(), stateless=stateless)

    def _able(self) -> list[Upstream]:
        return [one for one in self.with_capability("resources") if isinstance(_capabilities(one)["resources"], dict)]

    def _meet(self, capabilities: Mapping[str, Any], *, stateless: bool) -> None:
        if self._awaits_client:
            self._awaits_client = False
            self.hello = replace(self.hello, capabilities=capabilities, era="new" if stateless else "old")

    async def answer(self, exchange: Exchange) -> Answer:
        self._meet(exchange.capabilities, stateless=exchange.peer.stateless)
        self._look()
        handler = _HANDLERS.get(exchange.method)
        if handler is None or exchange.method in (_OLD_ONLY if exchange.peer.stateless else _NEW_ONLY):
            raise Refused(METHOD_NOT_FOUND, "Method not found", exchange.method)
        self._questions.came(exchange.caller)
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        self.running.add(task)
        try:
            return await follow_exchange(self.door.telemetry, exchange, partial(handler, self))
        finally:
            self.running.discard(task)

    async def ping(self, exchange: Exchange) -> Answer:
        del exchange
        return success({})

    async def list_tools(self, exchange: Exchange) -> Answer:
        await self.refreshed()
        caller = exchange.caller
        key = caller, self.table.version, self.door.policy.digest
        if key not in self._lists:
            if len(self._lists) > 100:
                self._lists.clear()
            self._lists[key] = self.table.listed(lambda entry: self._is_listed(entry, caller), self._upstreams)
        own = self._own.listed(caller) if self._own is not None else []
        found = self._lists[key]
        if self._searching.replaces(len(found), len(own)):
            found = self._searching.listed(caller, lambda entry: self._is_listed(entry, caller))
        return list_result("tools", [*own, *found], exchange)

    def _is_listed(self, entry: ToolEntry, caller: str) -> bool:
        """Where calls are only watched, everything that the servers' tables offer can be called, and so is listed."""
        policy = self.door.policy
        server = policy.servers.get(entry.space)
        if server is not None and policy.mode_for(entry.name, self.door.host) == "observe":
            return server.offers(entry.name)
        return self.door.offers(entry.name, entry.space, caller)

    async def call_tool(self, exchange: Exchange) -> Answer:
        name = called_by(exchange)
        kind = self._searching.kind_of(name)
        if kind == "search":
            return await self._search(exchange)
        if kind == "run":
            inner = self._searching.inner(await self._calls.read(exchange), exchange)
            if isinstance(inner, Answer):
                return inner
            exchange, name = inner, called_by(inner)
        own = self._own
        is_own = own is not None and own.has(name)
        if is_own:
            tell_tool(exchange.span, name)
        if not is_own and name not in self.table.wires():
            await self.settled(STARTING)  # it may be a tool of a server that is just starting
        if own is not None and (is_own or await self._calls.naming.find(name) is None):
            return await self._calls.made_here(exchange, lambda: own.call(exchange))
        return await self._calls.call(exchange)

    def _is_ours(self, name: str) -> bool:
        """Whether it can be taken for a name of a tool of our own, in whatever spelling."""
        if self._own is None:
            return False
        names = self._own.names()
        if self._spellings is None or self._spellings[0] is not names:
            found = frozenset(spelling_of(one) for wire, others in names.items() for one in (wire, *others[:2]))
            self._spellings = names, found
        return spelling_of(name) in self._spellings[1]

    def _names_of_ours(self) -> Mapping[str, tuple[str, ...]]:
        searching = dict.fromkeys(self._searching.names(), ())
        return searching if self._own is None else {**searching, **self._own.names()}

    async def _search(self, exchange: Exchange) -> Answer:
        call = await self._calls.read(exchange)
        await self.refreshed()
        return await self._searching.search(call, exchange, lambda entry: self._is_listed(entry, exchange.caller))

    async def subscribe(self, exchange: Exchange) -> Answer:
        uri = uri_of(exchange)
        if len(exchange.client.subscribed) >= MOST_WATCHED:
            raise Refused(INVALID_PARAMS, f"{MOST_WATCHED} resources are watched already, which is the most")
        await self.settled()
        self.expect_able("resources")
        found = await self._library.homes_of(uri)
        homes = await self._library.permit(exchange, found)
        if found and not homes:
            return not_found(uri, exchange)
        exchange.client.subscribed.add(uri)
        refused = await self._joining.watch(homes, uri)
        if refused is None:
            return success({})
        exchange.client.subscribed.discard(uri)
        return refused

    async def unsubscribe(self, exchange: Exchange) -> Answer:
        uri = uri_of(exchange)
        await self.settled()
        self.expect_able("resources")
        homes = await self._library.homes_of(uri)
        exchange.client.subscribed.discard(uri)
        refused = await self._joining.watch(homes, uri)
        await self._joining.watch(self.with_capability("resources"))  # another one may have told the news
        return refused or success({})

    async def set_level(self, exchange: Exchange) -> Answer:
        await self.settled()
        if not exchange.client.may_set_level and not self.with_capability("logging"):
            raise Refused(METHOD_NOT_FOUND, "Method not found", exchange.method)
        level = value(exchange.params.get("level", b""))
        if level not in LEVELS:
            raise Refused(INVALID_PARAMS, f"params.level is one of {', '.join(LEVELS)}")
        exchange.client.level = level
        await self._joining.set_levels(self.with_capability("logging"))
        return success({})

    async def ask_library(self, exchange: Exchange) -> Answer:
        """Resources, prompts and completion, of the servers that there are."""
        await self.settled()
        self.expect_able(exchange.method.partition("/")[0])
        return await self._library.answer(exchange)

    def expect_able(self, kind: str) -> None:
        """Raises Refused where every server is there, and none has said that it knows requests of this kind."""
        known = [_capabilities(one) for one in self._upstreams.values()]
        if all(known) and not any(name in one for one in known for name in _ABLE[kind]):
            raise Refused(METHOD_NOT_FOUND, "Method not found")

    async def ask_task(self, exchange: Exchange) -> Answer:
        ask = self._tasks.list if exchange.method == "tasks/list" else self._tasks.ask
        return await ask(exchange, self._upstreams.values())

    async def listen(self, exchange: Exchange) -> Answer:
        tasks = self._tasks.heard_by(exchange, self._upstreams.values())
        resources = await self._library.watchable(exchange)
        watching = asyncio.get_running_loop().call_soon(self._joining.watch_later)
        try:
            return await self.news.listen(exchange, resources, tasks)
        finally:
            watching.cancel()
            self._joining.watch_later()

    def noticed(self, client: Client, method: str, params: Raw) -> None:
        del params
        if method == "notifications/initialized":
            self.news.sessions.add(client)
            self._questions.met()
        elif method == "notifications/roots/list_changed" and "roots" in self.hello.capabilities:
            for one in self._upstreams.values():
                if one.session is not None:
                    one.session.notify(method)

    def gone(self, client: Client) -> None:
        """A session has ended."""
        self.news.sessions.discard(client)
        self._questions.gone(client)
        client.leave()
        if client.subscribed:
            self._joining.watch_later()

    # ── what servers say ─────────────────────────────────────────────────────────────────────────────────────────

    async def joined(self, upstream: Upstream, session: Session) -> None:
        await self._joining.joined(upstream, session)

    def left(self, upstream: Upstream, why: str) -> None:
        self._joining.left(upstream, why)
        if upstream.server.command:  # one that is reached over HTTP may have its tasks still
            self._tasks.end(upstream, f"The server is not there any more: {why}.")

    def told(self, upstream: Upstream, method: str, params: Raw, cause: Cause | None) -> None:
        exchange, only = cast("Exchange | None", cause), self._questions.only(upstream)
        if method in LISTS:
            self._joining.list_changed(upstream, method)
        elif method == UPDATED:
            self.news.updated(params, exchange, only)
        elif method == MESSAGE:
            self.news.logged(params, exchange, only)
        elif method in (STATUS, STATUS_NEW) and (
            self._tasks.notify(upstream, method, params, self.news) or self._questions.is_shared(upstream)
        ):
            return
        elif exchange is not None and not exchange.peer.stateless:
            exchange.emit(notification(method, params))
        elif exchange is None and era_of(upstream) == "old" and only is not None:
            only.send(notification(method, params))

    async def asked(self, upstream: Upstream, method: str, params: Raw, cause: Cause | None) -> Answer:
        return await self._questions.ask(upstream, method, params, cast("Exchange | None", cause))


def _capabilities(upstream: Upstream) -> Mapping[str, Any]:
    session = upstream.session
    return session.agreed.capabilities if session is not None and session.agreed is not None else {}


_ABLE: Final = {
    "resources": ("resources",), "prompts": ("prompts",),
    "completion": ("completions", "prompts", "resources"),  # the first revision has no word for it
}  # fmt: skip
"""What servers say of themselves that know requests of these kinds."""
_HANDLERS: Final[Mapping[str, Callable[[Gateway, Exchange], Awaitable[Answer]]]] = {
    "ping": Gateway.ping,
    "tools/list": Gateway.list_tools,
    "tools/call": Gateway.call_tool,
    "resources/list": Gateway.ask_library,
    "resources/templates/list": Gateway.ask_library,
    "resources/read": Gateway.ask_library,
    "resources/subscribe": Gateway.subscribe,
    "resources/unsubscribe": Gateway.unsubscribe,
    "prompts/list": Gateway.ask_library,
    "prompts/get": Gateway.ask_library,
    "completion/complete": Gateway.ask_library,
    "logging/setLevel": Gateway.set_level,
    "subscriptions/listen": Gateway.listen,
    "tasks/get": Gateway.ask_task,
    "tasks/result": Gateway.ask_task,
    "tasks/cancel": Gateway.ask_task,
    "tasks/update": Gateway.ask_task,
    "tasks/list": Gateway.ask_task,
}
_OLD_ONLY: Final = frozenset(
    ("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/result", "tasks/list")
)
_NEW_ONLY: Final = frozenset(("subscriptions/listen", "tasks/update"))


# ── our own tools ──
# The code tools as tools of an MCP server: run by the executor, with all that belongs to it.

_FOR: Final[ContextVar[Exchange | None]] = ContextVar("for whose call somebody is asked", default=None)


class CodeTools:
    """`executor` is set once it is open: it asks through `ask`."""

    def __init__(self) -> None:
        self.executor: Executor | None = None
        self._names: dict[str, str] = {}
        self._called: tuple[dict[str, str], dict[str, tuple[str, ...]]] | None = None
        self._listed: dict[tuple[str, str], list[Raw]] = {}

    def listed(self, caller: str) -> list[Raw]:
        key = caller, self._open.policy.digest
        if key not in self._listed:
            self._listed = {key: self._definitions(caller)}
        return self._listed[key]

    def has(self, name: str) -> bool:
        """Also of a tool that not every caller may use: no server's tool is ever called like one of ours."""
        shipped = _shipped_wires()
        return name in shipped or name in shipped.values() or name in self._known() or name in self._known().values()

    def names(self) -> Mapping[str, tuple[str, ...]]:
        """By the name it is listed under, whatever else each of our tools is called, hidden ones too."""
        names = self._known()
        if self._called is None or self._called[0] is not names:
            known = {tool: wire for wire, tool in names.items()}
            both = _shipped_wires() | known
            self._called = names, {wire: _others(tool, in_short=tool in known) for tool, wire in both.items()}
        return self._called[1]

    async def call(self, exchange: Exchange) -> Answer:
        """What the executor makes of it: a name or arguments that are almost right are repaired there."""
        call = tool_call(exchange.line)
        if call is None or call.ambiguous or not isinstance(call.name, str):
            raise Refused(INVALID_PARAMS, "params.name must be the name of a tool, and no key may stand twice")
        written = {"name": self._known().get(call.name, call.name), "arguments": call.arguments}
        token = _FOR.set(exchange)
        try:
            outcome = await self._open.run(written, exchange.caller, context=exchange.client.context)
        finally:
            _FOR.reset(token)
        return success(complete(outcome.message("mcp"), exchange.peer))

    async def ask(self, approval: Approval) -> str | None:
        """Who said yes; None for no. Raises where nobody could be asked: then the question waits elsewhere."""
        exchange = _FOR.get()
        store = self._open.store
        form = None if exchange is None else await asyncio.to_thread(form_for, store, approval.id, exchange.peer)
        if exchange is None or form is None:
            raise NobodyThere("this client cannot ask a person")
        answer = await exchange.ask("elicitation/create", form)
        word = read_answer(value(answer.result or b""))
        if word is None:
            raise NobodyThere("the client did not ask")
        return person(exchange.peer) if word == "approved" else None

    @property
    def _open(self) -> Executor:
        assert self.executor is not None, "the executor opens first"
        return self.executor

    def _definitions(self, caller: str) -> list[Raw]:
        found: list[dict[str, Any]] = self._open.definitions(caller, "mcp")
        wires = {tool: wire for wire, (_, tool) in wire_names(("", one["name"]) for one in found).items()}
        self._names = {wire: tool for tool, wire in wires.items()}
        return [Raw(json.encode({**one, "name": wires[one["name"]]})) for one in found]

    def _known(self) -> dict[str, str]:
        if not self._names:
            self._definitions("default")
        return self._names


@lru_cache(1)
def _shipped_wires() -> dict[str, str]:
    """What the tools are listed under, by their names."""
    return {tool: wire for wire, (_, tool) in wire_names(("", one.name) for one in load_pack("code").tools).items()}


def _others(tool: str, *, in_short: bool) -> tuple[str, ...]:
    """
    >>> _others("code/read", in_short=True)
    ('code/read', 'mcp__code__read', 'read')
    """
    space, _, rest = tool.partition("/")
    if not rest:
        return (tool,)
    short, whole = other_names(space, rest)
    return (tool, whole, short) if in_short else (tool, whole)


class NobodyThere(Exception):
    """No person can be asked through this client."""
