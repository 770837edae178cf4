"""One server of the policy: started, kept open, started again when it ends, with a pause that grows.

    waiting ─▶ starting ─▶ ready ─▶ (it ends) ─▶ waiting, 0.5 s and then twice as long each time, at most 30 s

Whatever a server does, it is this server's calls alone that hear of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Literal, Protocol

from msgspec import Raw

from rightcall.config_servers import Server
from rightcall.mcp.eras import Era
from rightcall.mcp.serving_answers import Answer
from rightcall.mcp.upstream_greeting import Hello, greet
from rightcall.mcp.upstream_link import FORGOTTEN, Link, ServerGone
from rightcall.mcp.upstream_session import Cause, ServerSlow, Session

log = logging.getLogger("rightcall")

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
STARTING = 30.0
"""Seconds in which a server must have started and introduced itself."""
STEADY = 30.0
"""After so many seconds of life a server counts as one that works."""
PATIENCE = 2.0
"""A call waits for a server that is tried again within so many seconds; for another it is told why not."""

State = Literal["off", "starting", "ready", "waiting"]
Opening = Callable[[Server], Link]


class Joined(Protocol):
    """Who is told of what happens to a server."""

    async def joined(self, upstream: Upstream, session: Session) -> None:
        """It is there. Its tools are to be known before anybody calls one. Raises ServerGone and ServerSlow."""
        ...

    def left(self, upstream: Upstream, why: str) -> None: ...

    def asked(self, upstream: Upstream, method: str, params: Raw, cause: Cause | None) -> Awaitable[Answer]: ...

    def told(self, upstream: Upstream, method: str, params: Raw, cause: Cause | None) -> None: ...


class Upstream:
    """`open_link` makes the way to the server; `hello` says how we present ourselves to it."""

    def __init__(self, server: Server, open_link: Opening, hello: Hello, joined: Joined) -> None:
        self.name = server.name
        self.server = server
        self.state: State = "off"
        self.problem = ""
        """Why it is not there."""
        self.words = ""
        """What it wrote last to standard error, for the operator alone: it may tell of any caller's call."""
        self.starts = 0
        self._open_link = open_link
        self._hello = hello
        self._joined = joined
        self._session: Session | None = None
        self._change = asyncio.Event()
        self._is_tried = asyncio.Event()
        self._gone: asyncio.Future[str] | None = None
        self._pause = FIRST_PAUSE
        self._retry_at = 0.0
        self._began = 0.0
        self._only: Era | None = None
        """The era that is left where greeting it in the other has ended it: some servers take no question before the
        handshake, and some no handshake."""
        self._task: asyncio.Task[None] | None = None

    @property
    def session(self) -> Session | None:
        """The one that is open."""
        return self._session if self.state == "ready" else None

    def takes(self, server: Server | None) -> bool:
        """Take what the policy now says of it; False where it is to be stopped, or reached in another way."""
        now, before = server, self.server
        if now is None or not now.enabled:
            return False
        ways = [(one.command, one.url, dict(one.env), one.cwd, dict(one.headers)) for one in (now, before)]
        self.server = now
        return ways[0] == ways[1]

    async def tried(self, seconds: float) -> None:
        """Wait for the end of its first start, so long after it began at most. For another nobody else is to wait."""
        left = self._began + seconds - asyncio.get_running_loop().time()
        if self._is_tried.is_set() or left <= 0:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._is_tried.wait()

    def start(self) -> None:
        if self._task is None:
            self._began = asyncio.get_running_loop().time()
            self.state = "starting"
            self._task = asyncio.get_running_loop().create_task(self._keep(), name=f"mcp server {self.name}")

    async def ready(self, seconds: float = STARTING) -> Session:
        """The open session; waits for one that is about to open. Raises ServerGone."""
        self.start()
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while self.state != "ready" or self._session is None:
            left = until - loop.time()
            if left <= 0 or (self.state == "waiting" and self._retry_at - loop.time() > PATIENCE):
                raise ServerGone(self.told())
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._change.wait()
        return self._session

    def told(self) -> str:
        """Where it stands, for people and models."""
        if self.state == "starting":
            return "has not started yet"
        again = max(0.0, self._retry_at - asyncio.get_running_loop().time())
        return f"is not running: {self.problem or 'it was not started'}. It is tried again in {again:.1f} seconds"

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self.state = "off"

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            self._enter("starting")
            self.words = ""
            session: Session | None = None
            try:
                session = Session(self._open_link(self.server), self)
                why = await self._one_life(session)
            except ServerGone as gone:
                why = str(gone)
            finally:
                self._session = None
                if session is not None:
                    await _closed(session)
            works = session is not None and session.has_answered
            if works or loop.time() - began > STEADY:
                self._pause = FIRST_PAUSE
            self.problem = why
            if works and why == FORGOTTEN:
                continue
            self._retry_at = loop.time() + self._pause
            self._enter("waiting")
            self._joined.left(self, why)
            await asyncio.sleep(self._pause)
            self._pause = min(self._pause * 2, LONGEST_PAUSE)

    async def _one_life(self, session: Session) -> str:
        """From the start to the end of one session; why it has ended."""
        self.starts += 1
        self._gone = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(STARTING):
                await session.open()
                try:
                    await greet(session, self._hello, STARTING, only=self._only)
                except ServerGone:
                    self._only = None if self._only else "old" if self._hello.era == "new" else "new"
                    raise
                await self._joined.joined(self, session)
        except (ServerGone, ServerSlow) as gone:
            return f"it {gone}" if isinstance(gone, ServerSlow) else str(gone)
        except TimeoutError:
            return f"it did not introduce itself within {STARTING:g} seconds"
        except Exception as error:
            log.exception("rightcall: the server %s could not be joined", self.name)
            return f"an error of ours ({type(error).__name__}); the log says more"
        self._session = session
        self.problem = ""
        self._enter("ready")
        return await self._gone

    def _enter(self, state: State) -> None:
        self.state = state
        if state != "starting":
            self._is_tried.set()
        self._change.set()
        self._change = asyncio.Event()

    # what the session tells

    def asked(self, method: str, params: Raw, cause: Cause | None) -> Awaitable[Answer]:
        return self._joined.asked(self, method, params, cause)

    def told_by_server(self, method: str, params: Raw, cause: Cause | None) -> None:
        self._joined.told(self, method, params, cause)

    def lost(self, session: Session, why: str, words: str = "") -> None:
        self.words = words
        if session is self._session:  # from this moment on nobody is given it
            self._session = None
            self._retry_at = asyncio.get_running_loop().time() + self._pause
            self._enter("waiting")
        if self._gone is not None and not self._gone.done():
            self._gone.set_result(why)


async def _closed(session: Session) -> None:
    try:
        await session.aclose()
    except Exception:
        log.exception("rightcall: an MCP server could not be closed")
