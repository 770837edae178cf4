"""The tools of the policy's servers (`[servers.NAME]`) as tools of an executor (X-01): one connection with each server,
which the first use or listing starts; one for each caller, where callers log in there themselves (`per_caller`).

    Executor ─▶ Servers ─┬─ Door      what the policy says of them: the gateway's own judgement, pins and names
                         └─ Source    which tools there are, and a call of one: MCP, loaded when it is needed

Such a call goes the way of every call (`Pipeline.run`). Only what is asked of the policy is put as the gateway puts it,
so that one rule means the same at both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from threading import Lock, Thread
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import asdict, replace

from rightcall.base.text import escaped, rename_hint
from rightcall.catalog.catalog import words_of
from rightcall.catalog.tool import PackTool
from rightcall.executor.calls import Who, Written, check_again, identity_now, with_repairs
from rightcall.executor.passage import Here, recorded_name, request_of, tool_of
from rightcall.executor.pipeline import Pipeline
from rightcall.executor.request import Occasion
from rightcall.executor.rights import NOT_TOLD
from rightcall.executor.toolbox import Equipped, Missing, Pair, Toolbox, full_name, names_meant, other_names
from rightcall.policy.settings import Policy, Server
from rightcall.policy.types import Decision, Request, Rights, caller_for
from rightcall.record.admission import Admission, ApprovalQuestion
from rightcall.record.tables import CallBody, Tables
from rightcall.tools.functions import LocalTool
from rightcall.types import Rules

if TYPE_CHECKING:
    from rightcall.executor.door import Door
    from rightcall.executor.messages import Outcome

LISTING = 5.0
"""Seconds that a list of tools waits for servers that are just starting; the gateway's clients wait as long."""
CALLING = 30.0
"""Seconds that a call of a tool which nobody knows yet waits for them."""
_AROUND = 5.0
"""Seconds that a call may take beside what its server may: then it is the server's time limit that is told."""
MOST_SOURCES = 32
"""Callers whose servers stay connected, where each caller has its own."""
_SOURCE = "rightcall.mcp.gateway.shared", "ServerSource"
"""What speaks MCP. It is found by name: it stands after the executor in the order of packages, and is handed the door
that it needs."""


class Source(Protocol):
    """Tools that somebody else runs. Its methods may be called from any thread and any event loop."""

    @property
    def version(self) -> int:
        """Grows whenever other tools are there."""
        ...

    def tools(self) -> Mapping[str, Pair]:
        """By the names they are listed under."""
        ...

    def away(self) -> Mapping[str, Missing]:
        """The servers that are not there, and why."""
        ...

    def settle(self, seconds: float) -> None:
        """Start what has not been started, and wait so long at most for the tools. Raises nothing."""
        ...

    async def asettle(self, seconds: float) -> None: ...

    def follow(self) -> None:
        """Another policy is in force: start and end what it says. Does not wait."""
        ...

    async def call(self, server: str, tool: str, arguments: Mapping[str, Any]) -> Any:
        """What the server answers, as plain data. Raises ToolFailure where there is no answer; cancelling it cancels
        the call at the server."""
        ...

    def close(self) -> None:
        """End everything that was started."""
        ...


class Servers:
    """Of one executor. `policy` is the one that the door was opened with; `own` tells the names of the executor's other
    tools, which no server's tool may take; `reach` is how its servers are reached, where another process starts
    them."""

    def __init__(
        self, door: Door, policy: Policy, own: Callable[[], Iterable[str]], reach: Callable[[Server], Any] | None = None
    ) -> None:
        self._door = door
        module, name = _SOURCE
        self._make: Callable[[str], Source] = getattr(import_module(module), name).maker(door, own, reach)
        self._sources: dict[str, Source] = {}
        self._choosing = Lock()
        self._policy = policy
        self._over: dict[Source, tuple[tuple[object, int, str], Toolbox]] = {}

    def close(self) -> None:
        for source in self._sources.values():
            source.close()
        self._door.close()

    def source_of(self, caller: str) -> Source:
        """One for all callers; one for each, where any server knows its callers by a login of each (`per_caller`)."""
        whose = ""
        if any(one.per_caller for one in self._door.policy.servers.values()):
            identity = identity_now()
            whose = caller_for(*identity) if identity[0] else caller
        with self._choosing:
            found = self._sources.pop(whose, None) or self._make(whose)
            self._sources[whose] = found  # the one that was used last is the last to go
            if len(self._sources) > MOST_SOURCES:
                gone = self._sources.pop(next(iter(self._sources)))
                self._over.pop(gone, None)
                Thread(target=gone.close, name="rightcall-servers-end", daemon=True).start()
        return found

    def offers(self, pair: Pair, caller: str) -> bool:
        server, tool = pair
        return self._door.offers(tool, server, caller)

    def missing(self, name: str, source: Source) -> Missing | None:
        """Whichever server's tools may be called so."""
        words, servers = words_of(name), self._door.policy.servers
        for server, why in source.away().items():
            start = words_of(_prefix(servers[server]) if server in servers else server)
            if words[: len(start)] == start or words_of(server) == words[: len(words_of(server))]:
                told = f"the server {escaped(server, 100)} {why.told}"
                if not why.awaits_login:
                    told = f"{told}. [servers.{escaped(server, 100)}] says how it starts"
                return replace(why, told=told)
        return None

    def over(self, own: Toolbox, build: Callable[[list[PackTool]], Toolbox], caller: str) -> Toolbox:
        """The toolbox with the servers' tools in it; `build` makes one of its own tools and these."""
        if own.policy is not self._policy:  # what the executor has seen holds at the door from this call on (P-09)
            self._policy = own.policy
            self._door.take(own.policy)
            for one in list(self._sources.values()):
                one.follow()
        source = self.source_of(caller)
        key = own, source.version, self._door.policy.digest
        known = self._over.get(source)
        if known is None or known[0] != key:
            tools = dict(self._described(source))
            made = build([about for about, _ in tools.values()])
            added = {wire: replace(made.tools[wire], **_known_of(one)) for wire, (_, one) in tools.items()}
            behind = _Behind(self, source)
            known = key, replace(made, tools=MappingProxyType({**made.tools, **added}), servers=behind)
            self._over[source] = known
        return known[1]

    def _described(self, source: Source) -> Iterable[tuple[str, tuple[PackTool, Equipped]]]:
        """Of each tool: what the gate of the executor knows it by, and what the door does."""
        wires = source.tools()
        bare = [tool for _, tool in wires.values()]
        for wire, (server, tool) in wires.items():
            found = self._door.box(server).tools.get(tool)
            if found is None:  # nobody can read its definition
                continue
            short, whole = other_names(server, tool)
            names = (full_name(server, tool), whole, *((short,) if bare.count(short) == 1 else ()))
            rules = Rules(names=tuple(name for name in names if name not in wires), example=found.tool.rules.example)
            effects = tuple(sorted(found.tool.effects)) if found.tool.effects_declared else None
            about = PackTool(wire, found.tool.description, found.tool.schema, effects, rules, "given")
            yield wire, (about, replace(found, local=self._local(source, server, tool), behind=(server, tool)))

    def _local(self, source: Source, server: str, tool: str) -> LocalTool:
        """What runs it."""
        table = self._door.policy.servers.get(server)

        async def call(**arguments: Any) -> Any:
            return await source.call(server, tool, arguments)

        seconds = (table or Server(server)).timeout + _AROUND
        return LocalTool(full_name(server, tool), call, {}, timeout=seconds, lasting=True)

    async def run(
        self, pipeline: Pipeline, written: Written, found: Equipped, who: Who, approval: str | None
    ) -> Outcome:
        """A call of a server's tool, which the executor's own gate has found. It is checked again by what is known of
        the tool under its server's name for it: rules of packs and of the policy."""
        assert found.behind is not None
        assert found.local is not None
        server, tool = found.behind
        here = self._door.here(who.caller, server)
        there = _checked(written, here, tool)
        known = replace(tool_of(here, there.verdict, tool), local=found.local)
        tools = MappingProxyType({**here.box.tools, tool: known})
        box = replace(here.box, tools=tools, rights={who.caller: here.rights.rights})
        way = ServerPipeline(**asdict(replace(pipeline, toolbox=box)), here=here, bare=tool)
        outcome = await way.run(there, replace(who, policy=here.policy.digest), approval)
        if self.offers(found.behind, who.caller):
            return _as_listed(outcome, server, tool, found.tool.name)
        return _as_written(outcome, (full_name(server, tool), *names_meant(server, tool)), written.name)


class _Behind(Struct, frozen=True):
    """The servers as one caller finds them."""

    servers: Servers
    source: Source

    def offers(self, pair: Pair, caller: str) -> bool:
        return self.servers.offers(pair, caller)

    def missing(self, name: str) -> Missing | None:
        return self.servers.missing(name, self.source)


class ServerPipeline(Pipeline, frozen=True, eq=False):
    """One call's way through the tools of one server, under that server's own names."""

    here: Here | None = None
    bare: str = ""

    def request_for(
        self, written: Written, found: Equipped | None, rights: Rights, approval: str | None, who: Who
    ) -> Request | Decision:
        del rights  # those in `here` say more
        assert self.here is not None
        assert found is not None
        occasion = Occasion(self.store.clock.now(), approval, who.context, self.tighter, who.turn)
        return request_of(self.here, written, found, self.bare, occasion)

    def _recorded(self, body: CallBody, request: Request | None = None) -> CallBody:
        assert self.here is not None
        inputs = replace(body.inputs, space=self.here.space, runs_here=True)
        return replace(body, tool=recorded_name(self.here, body.tool, request), wire=self.here.host, inputs=inputs)

    def _decided(self, tables: Tables, request: Request, body: CallBody, asked: ApprovalQuestion) -> Admission:
        if request.definition == NOT_TOLD and tables.definition(request.tool) is None:
            request = replace(request, definition="")  # nothing was known, so nothing has changed
        return super()._decided(tables, request, body, asked)


def _prefix(server: Server) -> str:
    return server.name if server.prefix is None else server.prefix


def _known_of(one: Equipped) -> dict[str, Any]:
    return {"local": one.local, "behind": one.behind, "side_effects": one.side_effects, "own": None}


def _checked(written: Written, here: Here, tool: str) -> Written:
    """What was written, as a call of the tool by its server's name. How sure the name was stays with it."""
    before = written.verdict
    if before.found is None and before.call is None:
        return replace(written, name=tool)
    renamed = [one for one in before.repairs if one.rule.startswith("tool_") and one.rule != "tool_alias"]
    verdict = check_again(before, here.box.gate, tool)
    if verdict is not before:
        verdict = with_repairs(verdict, renamed)
    return replace(written, name=tool, gate=here.box.gate, verdict=verdict)


def _as_listed(outcome: Outcome, server: str, tool: str, listed: str) -> Outcome:
    """A model can call the tool only as it is listed; policy, audit and whoever reads the outcome call it by its whole
    name."""
    whole = full_name(server, tool)
    call = outcome.call if outcome.call is None else replace(outcome.call, name=whole)

    def told(text: str | None) -> str | None:
        return text and rename_hint(text, tool, listed)

    decision = outcome.decision and replace(outcome.decision, hint=told(outcome.decision.hint))
    content, hint = told(outcome.content) or "", told(outcome.hint)
    return replace(outcome, tool=whole, call=call, decision=decision, content=content, hint=hint)


def _as_written(outcome: Outcome, names: Iterable[str], name: str) -> Outcome:
    """Of a tool that it may not use, a caller is told no more than it wrote itself (V-09)."""

    def told(text: str | None) -> str | None:
        for one in names if text else ():
            text = text and text.replace(f"'{escaped(one, 100)}'", f"'{escaped(name, 100)}'")
        return text

    decision = outcome.decision and replace(outcome.decision, reason=told(outcome.decision.reason) or "")
    content, error = told(outcome.content) or "", told(outcome.error)
    return replace(
        outcome, tool=name, call=None, decision=decision, content=content, error=error, hint=told(outcome.hint)
    )
