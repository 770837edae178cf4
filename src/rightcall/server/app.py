"""The application: our own pages, and the proxy for everything else. How it is put together, started and stopped."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from math import inf
from os import urandom
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import uvicorn
from msgspec import Struct
from msgspec.structs import asdict
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rightcall import __version__
from rightcall.base.http.answers import ServeLimits
from rightcall.base.http.client import HttpLimits
from rightcall.base.secrets import Redactor
from rightcall.base.telemetry.conventions import CHAT, ERROR, MODEL, OPERATION, Value
from rightcall.base.telemetry.spans import telemetry_for
from rightcall.base.text import escaped
from rightcall.errors import ConfigError
from rightcall.identity.speakers import Speakers
from rightcall.models import RepairModel
from rightcall.policy.settings import Policy
from rightcall.policy.trust import stopped
from rightcall.policy.watch import PolicyInForce, PolicyWatch
from rightcall.proxy.gates import Gates, Options, provider_of
from rightcall.record.tables import Store
from rightcall.server.access import Access, Callers, Guard, entrance_of, error_body, send_error
from rightcall.server.addresses import NEVER_A_PAGE, Upstream
from rightcall.server.exchange import Proxy
from rightcall.server.health import Condition, Health, Notice, OwnNotice, Readiness, health_pages
from rightcall.server.own_tools import OwnTools
from rightcall.server.protocol import protocol_for
from rightcall.server.recording import CONTENT_TYPE, Facts, Metrics, Recording, add_figures

if TYPE_CHECKING:
    from rightcall.policy.types import Pause
    from rightcall.server.mcp import Endpoint
    from rightcall.server.workers.seat import Seat


Closing = Callable[[], Awaitable[None]]


def _nobody(*_: object) -> None:
    pass


class _Front:
    """Sends the proxy's requests past Starlette's router, which would cost them more than the rest of the way."""

    def __init__(self, pages: Starlette, proxy: ASGIApp, beside: Mapping[str, ASGIApp]) -> None:
        self._pages = pages
        self._proxy = proxy
        self._beside = beside
        self._paths = frozenset(route.path for route in pages.routes if isinstance(route, Route))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        mine = scope["type"] == "lifespan" or scope["path"] in self._paths
        app = self._pages if mine else self._beside.get(scope["path"], self._proxy)
        await app(scope, receive, send)


async def nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    """Stands in for the proxy where there is none."""
    del scope, receive
    await send_error(send, 404, "not_found", "there is nothing at this path: see /health for what is served")


class Entrance(NamedTuple):
    """Who may come in: by the server's own token, or by that of a caller."""

    access: Access
    callers: Callers | None = None
    speakers: Speakers | None = None
    """Knows the tokens of identity providers."""


class Span(NamedTuple):
    """What is done when the server starts, and awaited at its end, the last one first."""

    opening: Sequence[Callable[[], None]] = ()
    closing: Sequence[Closing] = ()


_NO_SPAN = Span()


def build_app(
    entrance: Entrance, metrics: Metrics, health: Health, *, proxy: ASGIApp = nothing_here,
    beside: Mapping[str, ASGIApp] | None = None, span: Span = _NO_SPAN,
) -> ASGIApp:  # fmt: skip
    """`beside` are applications of their own, by path; everything else goes to the proxy."""

    async def figures(request: Request) -> Response:
        if not entrance_of(request.scope).operator:
            metrics.refused("operator_only")
            why = "the figures are those of all callers: they need the token that the server was started with"
            return Response(error_body(403, "operator_only", why), 403, media_type="application/json")
        return Response(await metrics.whole(), headers={"content-type": CONTENT_TYPE})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for close in span.closing:
                stack.push_async_callback(close)
            for begin in span.opening:
                begin()
            yield

    told = {**health_pages(health), "/metrics": figures}
    pages = Starlette(routes=[Route(path, page) for path, page in told.items()], lifespan=lifespan)
    front = _Front(pages, proxy, beside or {})
    return Guard(front, entrance.access, entrance.callers, metrics.refused, entrance.speakers)


# ── assembly ──
# The server, put together from its parts: proxy, audit, counts, access.

log = logging.getLogger("rightcall")


Watcher = Callable[[Facts], None]


class Service(Struct, frozen=True):
    """What can be served."""

    app: ASGIApp
    proxy: Proxy
    metrics: Metrics
    state: Callable[[], Mapping[str, Any]]
    """How it is at the moment, as `/health` tells it."""
    tools: Callable[[], list[tuple[str, dict[str, Any]]]] = list
    """Those of the MCP servers behind it, each with its server."""
    passed: Callable[[int], list[list[dict[str, Any]]]] = lambda _: []
    """The tools of the last requests through the proxy, as many sets as are asked for."""
    reload: Callable[[], None] = _nobody
    """Looks at the policy file now."""
    condition: Condition = Condition()


class Parts(Struct, frozen=True):
    """What a server has besides its upstream and its policy; each may be missing."""

    recording: Recording | None = None
    """Keeps the audit, and is closed with the server."""
    callers: Callers | None = None
    """Knows the tokens of callers; None: those beside the audit."""
    watcher: Watcher | None = None
    """Hears of every request."""
    mcp: Endpoint | None = None
    """The gateway's, which is served at /mcp and closed with the server."""
    own: OwnTools | None = None
    """Tools that are added to every request of a model and run here; their executor is opened and closed with the
    server."""
    limits: HttpLimits | None = None
    seat: Seat | None = None
    """That of one worker among several."""
    ending: Callable[[], None] | None = None
    """Called once no request runs any more, while the audit is still open."""


_NO_PARTS = Parts()


def assemble(
    url: str, policy: Policy | PolicyInForce, options: Options, access: Access, parts: Parts = _NO_PARTS, *,
    provider: str | None = None,
) -> Service:  # fmt: skip
    """A server in front of the upstream at `url`. A policy that is given as the one in force may change while it
    runs."""
    recording, callers, mcp, own = parts.recording, parts.callers, parts.mcp, parts.own
    upstream = Upstream(url, parts.limits)
    provider = provider or provider_of(upstream.host, is_local=upstream.is_local)
    in_force = policy if isinstance(policy, PolicyInForce) else PolicyInForce(policy)
    rules = _Rules(in_force, options, provider, recording)
    metrics = Metrics(lambda: {provider: rules.statistics(proxy)})
    if recording is not None:
        callers = callers or Callers(recording.store)
        metrics.audit_failures = lambda: recording.failures + recording.lost + readiness.refused
    paused = _stopped if recording is None else recording.paused
    readiness = Readiness(partial(_deciding, parts), _notice_of(parts))
    metrics.decided = readiness.decided
    state = partial(_state_of, parts, in_force, readiness)
    hooks = [partial(count, metrics), *filter(None, (recording and recording.told, parts.watcher))]

    async def stop_recording() -> None:
        if parts.ending is not None:
            await asyncio.to_thread(parts.ending)
        if recording is not None:
            await asyncio.to_thread(recording.stop)

    async def look() -> None:
        await asyncio.gather(readiness.look(), paused())

    def state_now() -> dict[str, Any]:
        watch.look()
        return state()

    async def under_the_policy_of_now(scope: Scope, receive: Receive, send: Send) -> None:
        watch.look()
        await proxy(scope, receive, send)

    proxy = Proxy(upstream, rules.gates(), options, told=partial(_tell, hooks), paused=paused, own=own)
    interval = None if parts.seat is None else inf  # then one process looks for all, and tells
    watch = PolicyWatch(in_force, lambda new: rules.take(new, proxy), rules.note, interval=interval)
    metrics.streams = lambda: proxy.streams
    proxy.budget = recording
    proxy.telemetry = telemetry_for(in_force.current.telemetry.enabled)
    beside, span = _beside(parts, metrics, [stop_recording, proxy.aclose])
    speakers = Speakers(lambda: in_force.current)
    speakers.issuers()  # what is missing is said before anybody is served
    about = {"version": __version__, "upstream": upstream.host, "provider": provider}
    condition = Condition()
    app = build_app(
        Entrance(access, callers, speakers), metrics, Health(about, state_now, condition, look),
        proxy=under_the_policy_of_now, beside=beside, span=span,
    )  # fmt: skip
    tools = list if mcp is None else mcp.gateway.definitions
    return Service(app, proxy, metrics, state, tools, lambda most: proxy.gates.recent(most), watch.look_now, condition)


def _beside(parts: Parts, metrics: Metrics, closing: list[Closing]) -> tuple[dict[str, ASGIApp], Span]:
    """What is served beside the proxy, with what is done for it at the beginning and, after `closing`, at the end."""
    opening: list[Callable[[], None]] = []
    beside: dict[str, ASGIApp] = {}
    mcp, own, seat = parts.mcp, parts.own, parts.seat
    if mcp is not None:
        mcp.gateway.door.telemetry = mcp.gateway.door.telemetry.counted(metrics.observe)
        opening.append(mcp.gateway.start)
        closing.append(mcp.aclose)
        beside["/mcp"] = mcp if seat is None else seat.endpoint(mcp)
    if own is not None:
        own.executor.telemetry = own.executor.telemetry.counted(metrics.observe)
        opening.append(own.executor.start)
        closing.append(own.executor.__aexit__)
    return beside, Span(opening, closing)


def _deciding(parts: Parts) -> list[Store]:
    """The stores without which a call is refused: on a server they are one, of a file each part has its own."""
    found = [] if parts.recording is None else [parts.recording.store]
    found += [] if parts.mcp is None else [parts.mcp.gateway.door.store]
    return [*found, *([] if parts.own is None else [parts.own.executor.store])]


def _notice_of(parts: Parts) -> Notice | None:
    """None where no call runs here; the proxy's are passed on, and who records them says what is lost."""
    if parts.mcp is None and parts.own is None:
        return None
    return OwnNotice() if parts.seat is None else parts.seat.board


async def _stopped() -> Pause | None:
    return stopped()


def _state_of(parts: Parts, in_force: PolicyInForce, readiness: Readiness) -> dict[str, Any]:
    """How a server is at the moment, as far as its stores were looked at: this waits for nothing."""
    recording, mcp, problem = parts.recording, parts.mcp, in_force.problem
    held = stopped() if recording is None else recording.held
    audit = asdict(recording.state) if recording is not None else None
    if audit is not None:
        audit["failures"] += readiness.refused
    if audit is not None and audit["ok"] and (fault := readiness.fault):
        audit |= {"ok": False, "fault": fault}
    servers = {} if mcp is None else mcp.gateway.state()
    if mcp is not None and audit is not None:
        audit["recorded"] += mcp.gateway.recorded
    said: dict[str, Any] = {"ready": audit is None or audit["ok"], "audit": audit}
    said |= {} if all(one["state"] == "ready" for one in servers.values()) else {"status": "degraded"}
    said |= {} if held is None else {"paused": {"since": held.since}}
    said |= {} if mcp is None else {"mcp": servers}
    if problem is not None:
        redactor = Redactor(urandom(32)) if recording is None else recording.redactor
        said["policy"] = {"problem": redactor.text(problem)}
    return said if parts.seat is None else said | {"worker": parts.seat.told()}


class _Rules:
    """What follows from the policy in force, and changes with it."""

    def __init__(self, in_force: PolicyInForce, options: Options, provider: str, recording: Recording | None) -> None:
        self._in_force = in_force
        self._options = options
        self._provider = provider
        self._recording = recording
        self._last_resort = RepairModel()
        self._earlier: Mapping[str, Any] = {"tools": {}}
        """The counts of the gates of earlier policies."""

    def gates(self, policy: Policy | None = None) -> Gates:
        return Gates(
            policy or self._in_force.current, self._provider, pass_unknown=self._options.retry == 0,
            last_resort=self._last_resort,
        )  # fmt: skip

    def take(self, policy: Policy, proxy: Proxy) -> None:
        gates, old = self.gates(policy), proxy.gates
        proxy.gates = gates
        self._earlier = add_figures(self._earlier, old.stats())
        if self._recording is not None:
            self._recording.under(policy)

    def note(self, what: str, policy: Policy, problem: str | None) -> None:
        if self._recording is not None:
            self._recording.note_policy(what, policy, problem)

    def statistics(self, proxy: Proxy) -> Mapping[str, Any]:
        return add_figures(self._earlier, proxy.gates.stats())


def _tell(hooks: Iterable[Watcher], facts: Facts) -> None:
    """The answer is right, whatever is wrong with telling of it."""
    for hook in hooks:
        try:
            hook(facts)
        except Exception:
            log.exception("rightcall: a request could not be counted, recorded or told")


def count(metrics: Metrics, facts: Facts) -> None:
    """One request in the figures."""
    metrics.request(facts.wire, facts.status, facts.seconds)
    if facts.wire != "passed":
        metrics.observe(CHAT, facts.seconds, _chat_labels(facts))
    for did in facts.did:
        metrics.fitted(did.fit)
        if did.fate in ("repaired", "lifted", "left"):
            watched = did.fate != "left" and (facts.observe or did.verdict.mode == "observe")
            metrics.changed("observed" if watched else did.fate)
    if facts.retries:
        metrics.changed("retried", facts.retries)
    if facts.taught:
        metrics.changed("taught")
    if facts.fault in ("unreachable", "timeout", "broken", "too_large"):
        metrics.upstream_failed(facts.fault)


def _chat_labels(facts: Facts) -> dict[str, Value]:
    failed = facts.fault or (str(facts.status) if facts.status >= 400 else "")
    labels: dict[str, Value] = {OPERATION: CHAT.operation, "gen_ai.provider.name": facts.provider}
    return {**labels, **({MODEL: facts.model} if facts.model else {}), **({ERROR: failed} if failed else {})}


# ── running ──
# Starts and stops the server: binds first, stops gently.
#
# At Ctrl-C or SIGTERM nothing new is accepted, what runs may finish within the grace time, and then the application
# closes what it has open. A second Ctrl-C ends at once.

PATIENCE: Final[Mapping[int, float]] = {signal.SIGINT: -1.0, signal.SIGTERM: 1.0}
"""Seconds in which a further signal means the same end. Ctrl-C is always a person; whoever ends a group of processes
may tell each of them twice."""
_LONGEST_PATIENCE = 5.0
"""A terminal that closes tells twice, with some time between."""

_CUTTING = 2.0
"""Seconds in which what is cut off must have ended."""

_PASSES = 5
"""Of the event loop, until a connection that was aborted is closed: TLS takes several."""

Ready = Callable[[str, int], None]


class Told(NamedTuple):
    """Who hears what becomes of a server."""

    ready: Ready = _nobody
    stopping: Callable[[int], None] = _nobody
    """How many requests still run when it begins to stop."""
    drain: Closing | None = None
    """Awaited then, within the grace time: what has no connection of its own."""
    hangup: Callable[[], None] | None = None
    """SIGHUP, where nobody has closed the terminal; None: it ends the server."""


_NOBODY = Told()


class Running(uvicorn.Server):
    """One server on one bound socket. `heard` is the signal that has ended it."""

    def __init__(
        self,
        app: ASGIApp,
        bound: socket.socket,
        limits: ServeLimits,
        *,
        told: Told = _NOBODY,
        metrics: Metrics | None = None,
    ) -> None:
        protocol, self.crowd = protocol_for(limits, metrics.refused if metrics else _nobody)
        if metrics is not None:
            metrics.connections = self.crowd.__len__
        super().__init__(_config(app, protocol, limits))
        self.heard: int | None = None
        self._heard_at = 0.0
        self._bound = bound
        self._told = told
        self._has_terminal = has_terminal()
        self._settled = threading.Event()
        """It has started, or cannot."""
        self._wake: Callable[[], object] = _nobody
        self._loop_soon: Callable[[Callable[[], None]], object] = _nobody

    def run_bound(self) -> int:
        """Serves until somebody stops it, and returns the exit code: 128 and the signal's number, as shells count."""
        try:
            self.run(sockets=[self._bound])
        finally:
            self._bound.close()
        return 128 + self.heard if self.heard is not None else 0

    @contextmanager
    def in_thread(self) -> Generator[tuple[str, int]]:
        """Serves in a thread of its own for as long as the `with` lasts; yields host and port."""
        address: tuple[str, int] = self._bound.getsockname()[:2]
        failures: list[BaseException] = []

        def work() -> None:
            try:
                self.run_bound()
            except BaseException as failure:  # noqa: BLE001  told to whoever started it
                failures.append(failure)
            finally:
                self._settled.set()

        thread = threading.Thread(target=work, name="rightcall-serve", daemon=True)
        thread.start()
        self._settled.wait()
        try:
            if failures:
                raise failures[0]
            yield address
        finally:
            self.stop()
            thread.join()

    def stop(self) -> None:
        """Ends it at once, from whatever thread or signal."""
        self.should_exit = True
        self._wake()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:  # so newer versions of uvicorn tell it; what happened is in the log
            self.started = False
        if not self.started:
            raise ConfigError("the server did not start: see what was logged just before")
        host, port = self._bound.getsockname()[:2]
        try:
            self._told.ready(host, port)
        except BaseException:  # nobody reads the address any more: the application ends in order before that is told
            await self.shutdown(sockets)
            raise
        self._settled.set()

    async def main_loop(self) -> None:
        """uvicorn's looks ten times a second whether it shall end; this one is told, and looks at the clock only."""
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        self._wake = lambda: loop.call_soon_threadsafe(stopped.set)
        self._loop_soon = loop.call_soon_threadsafe
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), timeout=1)
        self._wake = _nobody

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._told.stopping(len(self.server_state.tasks))
        if self._told.drain is not None:
            waiting = asyncio.ensure_future(self._told.drain())
            self.server_state.tasks.add(waiting)  # uvicorn waits for these
            waiting.add_done_callback(self.server_state.tasks.discard)
        hanging_up = asyncio.ensure_future(self._hang_up())
        await super().shutdown(sockets)
        hanging_up.cancel()
        await self._cut_off()
        for connection in list(self.server_state.connections):  # its client does not read the answer
            connection.transport.abort()
        for _ in range(_PASSES):
            await asyncio.sleep(0)

    async def _cut_off(self) -> None:
        """What still runs ends as our doing, before a closed connection looks like the client's."""
        running = list(self.server_state.tasks)
        for task in running:
            if not task.cancelling():
                task.cancel()
        if running:
            await asyncio.wait(running, timeout=_CUTTING)

    async def _hang_up(self) -> None:
        """Where all is said: over TLS a connection would be open until its client has said the same, which browsers
        do not."""
        while True:
            await asyncio.sleep(0.1)
            for connection in list(self.server_state.connections):
                if connection.transport.is_closing() and not connection.transport.get_write_buffer_size():
                    connection.transport.abort()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """uvicorn's would raise the signal once more in the end; we tell it by the exit code."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
        numbers = [number for name in names if (number := getattr(signal, name, None)) is not None]
        before = {
            number: signal.signal(number, self.handle_exit)
            for number in numbers
            if signal.getsignal(number) != signal.SIG_IGN
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        del frame
        if self._told.hangup is not None and is_reload(sig, self._has_terminal):
            self._loop_soon(self._told.hangup)
        elif self.heard is None:
            self.heard, self._heard_at = sig, monotonic()
            self.stop()
        elif monotonic() - self._heard_at > PATIENCE.get(sig, _LONGEST_PATIENCE):
            self.force_exit = True


def has_terminal() -> bool:
    """Whether this process belongs to one, which is open."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def is_reload(number: int, had_terminal: bool) -> bool:
    """Whether a signal asks for a reload: SIGHUP, unless it says that the terminal was closed."""
    return number == getattr(signal, "SIGHUP", None) and not (had_terminal and not has_terminal())


def _config(app: ASGIApp, protocol: type, limits: ServeLimits) -> uvicorn.Config:
    # what uvicorn has to say goes where ours goes
    logging.getLogger("uvicorn").parent = logging.getLogger("rightcall")
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    return uvicorn.Config(
        app,
        http=protocol,
        headers=[(name.decode(), value.decode()) for name, value in NEVER_A_PAGE],
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        log_level=logging.ERROR,  # its warnings tell of every malformed request; those are counted instead
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,  # the upstream's passes through
        workers=1,
        backlog=2048,
        timeout_keep_alive=max(1, round(limits.keep_alive_seconds)),
        timeout_graceful_shutdown=cast("int", limits.grace_seconds),  # any number of seconds does
    )


def _is_news(record: logging.LogRecord) -> bool:
    """That a request was cut off is our own doing, and no error; that some did not finish in time is told in our
    words."""
    if str(record.msg).startswith("Cancel %s running task"):
        record.msg = "rightcall: stopped with %s still running: the time to finish is over"
        record.args = (f"{record.args[0]} request(s)",) if isinstance(record.args, tuple) else ("requests",)
    if str(record.msg).rstrip().endswith("CancelledError"):  # of the application itself, which starlette writes out
        return False
    return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


class Words(NamedTuple):
    """What a person changes to get another address."""

    port: str = "--port"
    free: str = "--port 0"
    host: str = "--host"
    without: str = ""
    """How to do without, where that can be."""


_SERVER = Words()


def bind(host: str, port: int, words: Words = _SERVER) -> socket.socket:
    """A listening socket, or the reason why not in words that help."""
    if not 0 <= port <= 65_535:  # the system would take the rest of a division
        raise ConfigError(f"{words.port}: {port} is not a port; expected 1 to 65535, or 0 for any free port")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as why:
        raise ConfigError(unbound(host, port, why, words)) from None


def unbound(host: str, port: int, why: OSError, words: Words = _SERVER) -> str:
    """Why a port or an address cannot be had, and what can."""
    if why.errno == errno.EADDRINUSE:
        told = f"{words.port}: {port} is in use already; choose another one, or {words.free} for any that is free"
        return f"{told}{words.without}"
    if why.errno in (errno.EACCES, errno.EPERM):
        return f"{words.port}: {port} needs special rights; choose one above 1023"
    told = why.strerror or type(why).__name__
    return f"{words.host}: {escaped(host, 100)} is not an address of this machine ({told}); 127.0.0.1 always is"


def serve(
    app: ASGIApp,
    *,
    address: tuple[str, int] = ("127.0.0.1", 0),
    limits: ServeLimits | None = None,
    told: Told = _NOBODY,
    metrics: Metrics | None = None,
) -> int:
    """Serves until a signal comes, and returns the exit code."""
    return Running(app, bind(*address), limits or ServeLimits(), told=told, metrics=metrics).run_bound()


def running(
    app: ASGIApp, *, limits: ServeLimits | None = None, metrics: Metrics | None = None
) -> AbstractContextManager[tuple[str, int]]:
    """Serves in a thread of its own, on any free port of 127.0.0.1, for as long as the `with` lasts."""
    return Running(app, bind("127.0.0.1", 0), limits or ServeLimits(), metrics=metrics).in_thread()
