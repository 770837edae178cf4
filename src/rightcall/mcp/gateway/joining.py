"""Servers that come, go and change: their tools are known before anybody can call one, and clients hear of it."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Raw
from msgspec.structs import replace

from rightcall.base.globs import matches
from rightcall.base.text import escaped
from rightcall.mcp.gateway.forward import LISTS, RESOURCES, TASKS, TOOLS, News
from rightcall.mcp.gateway.names import Clash, Table, ToolEntry, clash_words, read_entries
from rightcall.mcp.messages import EXTENSION, Answer, mapping, value
from rightcall.mcp.session import ServerGone, ServerSlow, Session
from rightcall.mcp.upstream import Hello, Upstream, listed_tools, own_request
from rightcall.policy.settings import Server

# ── looking at a server ──
# Looks at the list of one server, one at a time. Whoever asks while one is under way gets the next one, and shares it
# with all who ask meanwhile: however often a server says that its list has changed, there are never more than two.

FIRST_PAUSE: Final = 0.5
"""Seconds between two looks that a server asks for; twice as long each time it does so again at once."""
LONGEST_PAUSE: Final = 0.8
"""So that clients hear of a change within a second."""
SHARE: Final = 5
"""A look is followed by a pause so many times as long, however long it takes."""
CALM: Final = 60.0
"""After so many seconds without one the pauses begin anew."""


class Looks:
    """`look` is the work. Used within one event loop."""

    def __init__(self, look: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._look = look
        self._running: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None
        self._wanted: asyncio.Task[None] | None = None
        self._pause = FIRST_PAUSE
        self._earliest = 0.0

    async def fresh(self) -> None:
        """After a look that has begun after this was asked. Raises what the look raised."""
        if self._running is None or self._running.done():
            self._running = _task(self._look())
            await _end_of(self._running)
            return
        if self._next is None or self._next.done():
            self._next = _task(self._after(self._running))
        await _end_of(self._next)

    def wanted(self) -> asyncio.Task[None] | None:
        """The server says that its list has changed: a look, soon. None where one is to come already."""
        if self._wanted is not None and not self._wanted.done():
            return None
        now = asyncio.get_running_loop().time()
        if now - self._earliest > CALM:
            self._pause = FIRST_PAUSE
        pause = max(0.0, self._earliest - now)
        self._wanted = _task(self._soon(pause))
        return self._wanted

    def cancel(self) -> None:
        for task in (self._running, self._next, self._wanted):
            if task is not None:
                task.cancel()

    async def _soon(self, pause: float) -> None:
        await asyncio.sleep(pause)
        self._wanted = None  # what changes from here on is another change
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._earliest = began + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        try:
            await self.fresh()
        finally:
            took = loop.time() - began
            self._earliest = max(self._earliest, loop.time() + took * SHARE)

    async def _after(self, before: asyncio.Task[None]) -> None:
        await asyncio.wait([before])
        self._running, self._next = self._next, None
        await self._look()


def _task(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    task = asyncio.get_running_loop().create_task(work)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # also where nobody waits any more
    return task


async def _end_of(task: asyncio.Task[None]) -> None:
    """Whoever stops waiting leaves it running for the others."""
    await asyncio.wait([task])
    if task.cancelled():
        raise ServerGone("the gateway has closed it")
    task.result()


log = logging.getLogger("rightcall")

LISTING = 10.0
MOST_TOOLS = 2_000
"""Of one server; the rest is told of, and left out."""
_LOOKING = 2.0
"""Seconds that a client waits for another look at a list that is known already."""
_RESTING = 60.0
"""Seconds for which a list that took longer than that is taken as it is known."""
_AGAIN, _LONGEST = 0.5, 30.0
"""Seconds before a server of the new era is asked again for its news; twice as long each time, at most."""
_MOST_NAMED = 12
"""Tools that are named in a line for people."""


class Host(Protocol):
    """What this needs of the gateway."""

    hello: Hello
    know: Callable[[list[Any], str], None]
    news: News
    table: Table

    def upstreams(self) -> list[Upstream]: ...

    def watched_tasks(self, upstream: Upstream) -> set[str]: ...


class _Watched(NamedTuple):
    """What a server is asked for news of."""

    uris: frozenset[str] = frozenset()
    tasks: frozenset[str] = frozenset()


class Joining:
    """`say` hears of it in words for people."""

    def __init__(self, host: Host, say: Callable[[str], None]) -> None:
        self._host = host
        self._say = say
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening: dict[str, asyncio.Task[None]] = {}
        self._problems: dict[str, str] = {}
        self._watched: dict[str, tuple[Session, _Watched]] = {}
        self._watching: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """One at a time for each server: whoever asks second for the same news waits for what the server says."""
        self._looks: dict[str, Looks] = {}
        self._open: dict[str, tuple[Upstream, Session]] = {}
        self._resting: dict[str, float] = {}
        self._left_out: dict[str, bool] = {}
        self._clashes: frozenset[Clash] = frozenset()
        self._announced: set[str] = set()
        """Servers that say that their tools have changed, and have not been looked at since."""

    def cancel(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        for looks in self._looks.values():
            looks.cancel()

    async def joined(self, upstream: Upstream, session: Session) -> None:
        self._open[upstream.name] = upstream, session
        self._resting.pop(upstream.name, None)
        await self._looks_at(upstream.name).fresh()
        agreed = session.agreed
        assert agreed is not None
        self._problems.pop(upstream.name, None)
        self._say(introduced(upstream, list(self._host.table.of(upstream.name)), agreed.version))
        if self._left_out.get(upstream.name):
            self._say(f"mcp: {upstream.name} lists more than {MOST_TOOLS:,} tools: those after them are left out")
        if agreed.era == "new":
            self._listen(upstream, session)
        elif self._host.news.level is not None and "logging" in agreed.capabilities:
            self._later(self._set_level(session, self._host.news.level))
        self._later(self._watch(upstream, session))

    def left(self, upstream: Upstream, why: str) -> None:
        if task := self._listening.pop(upstream.name, None):
            task.cancel()
        self._watched.pop(upstream.name, None)
        if why != self._problems.get(upstream.name):  # it is tried again and again, and said once
            self._problems[upstream.name] = why
            self._say(f"mcp: {upstream.name} is not there: {why}{upstream.words}; it is tried again from time to time")

    def _tell_clashes(self) -> None:
        """Names that more than one tool would have are told when they come up."""
        table = self._host.table
        new = [one for one in table.clashes if one not in self._clashes]
        self._clashes = frozenset(table.clashes)
        for one in new[:_MOST_NAMED]:
            self._say(f"mcp: {clash_words(one, table.wire)}")
        if len(new) > _MOST_NAMED:
            self._say(f"mcp: more such names: {len(new) - _MOST_NAMED}")

    def told(self, upstream: Upstream) -> dict[str, Any]:
        session = upstream.session
        agreed = session.agreed if session is not None else None
        return {
            "state": upstream.state,
            "tools": len(self._host.table.of(upstream.name)),
            **({"left_out": f"tools after the first {MOST_TOOLS}"} if self._left_out.get(upstream.name) else {}),
            **({"clashes": clashes} if (clashes := clashes_of(upstream.name, self._host.table)) else {}),
            "protocol": agreed.version if agreed is not None else None,
            "starts": upstream.starts,
            "problem": f"{upstream.problem}{upstream.words}" or None,
        }

    def list_changed(self, upstream: Upstream, method: str) -> None:
        if method == TOOLS and upstream.name in self._open:
            self._announced.add(upstream.name)
            if (look := self._looks_at(upstream.name).wanted()) is not None:
                self._follow(look)
        elif method in LISTS:
            self._host.news.changed(method)

    async def refreshed(self) -> None:
        """The tools of servers that do not tell when these change are looked at again."""
        now = asyncio.get_running_loop().time()
        stale = [
            one.name
            for one in self._host.upstreams()
            if one.session is not None and not _tells(one.session, "tools") and self._resting.get(one.name, 0.0) <= now
        ]
        await asyncio.gather(*map(self._looked_again, stale))

    async def _looked_again(self, name: str) -> None:
        try:
            async with asyncio.timeout(_LOOKING):
                await self._looks_at(name).fresh()
        except (TimeoutError, ServerSlow):
            self._resting[name] = asyncio.get_running_loop().time() + _RESTING
        except ServerGone:
            return

    def _looks_at(self, name: str) -> Looks:
        if name not in self._looks:
            self._looks[name] = Looks(lambda: self._look(name))
        return self._looks[name]

    async def _look(self, name: str) -> None:
        """The door knows a list before clients do: what they call is judged by the definition that they were shown, or
        by a newer one. One look at a time, so that an older list never takes the place of a newer. What a server has
        announced is passed on, also where we see no difference."""
        upstream, session = self._open[name]
        announced = name in self._announced
        self._announced.discard(name)
        agreed = session.agreed
        assert agreed is not None
        found = []
        if "tools" in agreed.capabilities:
            found = await listed_tools(session, self._host.hello, LISTING, MOST_TOOLS + 1)
        self._left_out[name] = len(found) > MOST_TOOLS
        entries = await asyncio.to_thread(self._learnt, name, found[:MOST_TOOLS])
        if entries is not None:
            self._host.table.take(name, entries)
            self._tell_clashes()
        if entries is not None or announced:
            self._host.news.changed(TOOLS)
        if upstream not in self._host.upstreams():  # taken out of the policy meanwhile
            self._host.table.drop(name)

    def _learnt(self, name: str, found: list[Raw]) -> dict[str, ToolEntry] | None:
        """In a thread, since a long list takes its time; None where it is the one that is known."""
        entries = read_entries(name, found)
        if not self._host.table.differs(name, entries):
            return None
        known = ({key: value(raw) for key, raw in one.fields.items()} for one in entries.values())
        self._host.know(list(known), name)
        return entries

    # ── resources and levels ─────────────────────────────────────────────────────────────────────────────────────

    def watch_later(self) -> None:
        for one in self._host.upstreams():
            if one.session is not None:
                self._later(self._watch(one, one.session))

    async def watch(self, upstreams: Iterable[Upstream], uri: str | None = None) -> Answer | None:
        """Ask servers for news of what clients want to hear of, and of nothing else. The words of the first, where all
        of them refuse to begin or to end the news of `uri`."""
        sessions = [(one, one.session) for one in upstreams if one.session is not None]
        found = await asyncio.gather(*(self._watch(one, session, uri) for one, session in sessions))
        refused = [one[uri] for one in found if uri in one] if uri is not None else []
        return refused[0] if refused and len(refused) == len(found) else None

    async def _watch(self, upstream: Upstream, session: Session, meant: str | None = None) -> dict[str, Answer]:
        """What the server refuses to tell news of, or to end the news of."""
        async with self._watching[upstream.name]:
            return await self._watch_alone(upstream, session, meant)

    async def _watch_alone(self, upstream: Upstream, session: Session, meant: str | None) -> dict[str, Answer]:
        refused: dict[str, Answer] = {}
        agreed = session.agreed
        if agreed is None:
            return refused
        uris = self._host.news.watched() if "resources" in agreed.capabilities else set[str]()
        wanted = _Watched(frozenset(uris), frozenset(self._host.watched_tasks(upstream)))
        known = self._watched.get(upstream.name)
        before = known[1] if known is not None and known[0] is session else _Watched()
        self._watched[upstream.name] = session, wanted
        if agreed.era == "new":
            if wanted != before:
                self._listen(upstream, session)
            return refused
        asked = frozenset(() if meant is None else (meant,))
        more, fewer = wanted.uris - before.uris, (before.uris | asked) - wanted.uris
        for method, changed in (("resources/subscribe", more), ("resources/unsubscribe", fewer)):
            for uri in sorted(changed):
                with suppress(ServerGone, ServerSlow):
                    answer = await own_request(session, self._host.hello, method, {"uri": uri}, LISTING)
                    if answer.result is None and uri in more | asked:
                        refused[uri] = answer
        if refused and (known := self._watched.get(upstream.name)) is not None and known[0] is session:
            self._watched[upstream.name] = session, known[1]._replace(uris=known[1].uris - refused.keys())
        return refused

    async def set_levels(self, upstreams: Iterable[Upstream]) -> None:
        level = self._host.news.level
        sessions = [one.session for one in upstreams if one.session is not None]
        if level is not None:
            await asyncio.gather(*(self._set_level(one, level) for one in sessions))

    async def _set_level(self, session: Session, level: str) -> None:
        if session.agreed is not None and session.agreed.era == "old":
            with suppress(ServerGone, ServerSlow):
                await own_request(session, self._host.hello, "logging/setLevel", {"level": level}, LISTING)

    # ── the news of servers of the new era ───────────────────────────────────────────────────────────────────────

    def _listen(self, upstream: Upstream, session: Session) -> None:
        before = self._listening.pop(upstream.name, None)
        self._listening[upstream.name] = self._later(self._listened(upstream, session))
        if before is not None:
            before.cancel()

    async def _listened(self, upstream: Upstream, session: Session) -> None:
        """For as long as the session lasts. What has changed while nobody listened is seen by another look."""
        agreed = session.agreed
        assert agreed is not None
        wanted: dict[str, Any] = dict.fromkeys(LISTS.values(), True)
        watched = ((RESOURCES, self._host.news.watched()), (TASKS, self._host.watched_tasks(upstream)))
        wanted |= {key: sorted(names) for key, names in watched if names}
        hello = _able(self._host.hello) if TASKS in wanted else self._host.hello
        pause = _AGAIN
        while True:
            params = {"notifications": wanted}
            try:
                answer = await own_request(session, hello, "subscriptions/listen", params, None)
                if answer.result is None:
                    return  # it has no news to tell
            except ServerGone:
                if upstream.session is not session:
                    return
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST)
            if (look := self._looks_at(upstream.name).wanted()) is not None:
                self._follow(look)

    def _later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        return self._follow(asyncio.get_running_loop().create_task(work))

    def _follow(self, task: asyncio.Task[Any]) -> asyncio.Task[Any]:
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, (ServerGone, ServerSlow)):
            log.error("rightcall: following an MCP server failed", exc_info=error)


def _able(hello: Hello) -> Hello:
    """As one who can have tasks: nobody else may hear of any."""
    known = hello.capabilities
    return replace(hello, capabilities={**known, "extensions": {**mapping(known.get("extensions")), EXTENSION: {}}})


def _tells(session: Session, what: str) -> bool:
    capability = session.agreed.capabilities.get(what) if session.agreed is not None else None
    return capability is None or mapping(capability).get("listChanged") is True


def introduced(upstream: Upstream, tools: list[str], version: str) -> str:
    """What a person reads when a server has joined.

    Tools whose effects nobody has declared ask before each call: that is worth a line.
    """
    server: Server = upstream.server
    offered = [tool for tool in tools if server.offers(tool)]
    silent = [tool for tool in offered if server.effects_of(tool) is None]
    count = f"{len(offered)} of {len(tools)} tools" if len(offered) < len(tools) else _counted(len(tools))
    lines = [f"mcp: {upstream.name} has joined: {count}, revision {version}"]
    if silent:
        some = ", ".join(escaped(tool, 40) for tool in silent[:_MOST_NAMED])
        more = f" and {len(silent) - _MOST_NAMED} more" if len(silent) > _MOST_NAMED else ""
        lines.append(
            f"  nobody has declared what {len(silent)} of them do, so each call asks a person: {some}{more}\n"
            f"  in the table [servers.{upstream.name}] of the policy:\n"
            f'  effects = {{ "{_nobodys(tools)}" = ["read"] }}   '
            "# one for each tool that only reads; the rest goes on asking"
        )
    return "\n".join(lines)


def clashes_of(server: str, table: Table) -> dict[str, str]:
    """What tools of a server are called instead of the names that others have or want too."""
    return {
        escaped(clash.name, 128): escaped(table.wire(space, tool) or "", 128)
        for clash in table.clashes
        for space, tool in clash.tools
        if space == server
    }


def _nobodys(tools: list[str]) -> str:
    """A name to be replaced. It is no tool's: which of them only read is for a person to say, and whoever copies the
    line as it stands must not have said it."""
    name = "NAME"
    while any(matches(name, tool) for tool in tools):
        name += "_OF_A_TOOL"
    return name


def _counted(number: int) -> str:
    return f"{number} tool" if number == 1 else f"{number} tools"
