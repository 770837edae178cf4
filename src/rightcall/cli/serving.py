"""What a server of the command line is made of: the audit log, the tokens beside it, the gateway, tools that it runs
itself, the practice client and the console. The same for a server in one process and for each of its workers.

rightcall serve --workers 4 ─┬─ rightcall serve --workers 4, told by RIGHTCALL_WORKER_CHANNEL that it is w1
                             ├─ …
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from rightcall.base.secrets import Redactor
from rightcall.cli.options import database_of, places, policy_file, server_of
from rightcall.cli.serve_log import Lines, teller
from rightcall.errors import ConfigError, StoreError
from rightcall.policy.settings import Policy
from rightcall.policy.watch import SETTLING, PolicyInForce
from rightcall.proxy.gates import Options, watches
from rightcall.record.tables import Store

if TYPE_CHECKING:
    from rightcall.doctor.traffic import PracticeClient
    from rightcall.executor.door import Door
    from rightcall.executor.executor import StoreSource
    from rightcall.server.access import Access
    from rightcall.server.app import Service
    from rightcall.server.hooks import HookServer
    from rightcall.server.mcp import Endpoint
    from rightcall.server.own_tools import OwnTools
    from rightcall.server.recording import Facts, Recording
    from rightcall.server.workers.seat import Seat


_LONGEST_GATHER = 0.25
"""Seconds that records of the proxy wait to share a commit, at most."""


class Wanted(NamedTuple):
    """What is to be served: the upstream at `url`; `gateway` also joins the MCP servers of the policy, where it has
    any; `seat` is a worker's."""

    url: str
    gateway: bool
    seat: Seat | None = None


class Assembled(NamedTuple):
    service: Service
    endpoint: Endpoint | None
    recording: Recording | None
    client: PracticeClient | None


def treatment(options: Namespace, policy: Policy) -> Options:
    """How answers are treated."""
    treated = Options(options.retry, options.mode == "observe", options.teach, options.lift)
    options.observe = treated.observe or watches(policy)
    options.providers = [one.name for one in policy.identity]
    return treated


@contextmanager
def assembled(
    options: Namespace, wanted: Wanted, policy: PolicyInForce, access: Access, lines: Lines
) -> Generator[Assembled]:
    """The server, ready to be run, and closed at the end."""
    from rightcall.base.telemetry.sdk import start_exporting
    from rightcall.executor.notices import warn_of_notices
    from rightcall.server.access import Callers
    from rightcall.server.app import Parts, assemble

    recording = _recording(options, policy.current, 1 if wanted.seat is None else wanted.seat.hello.workers)
    beside = tokens_alone(options) if recording is None else None
    callers = None if beside is None else Callers(beside)
    endpoint = None
    try:
        if wanted.gateway and policy.current.servers:
            endpoint = open_endpoint(options, lines.say, wanted.seat, _store(options, recording))
        client = _practice_client(options, recording)
        parts = Parts(
            recording, callers, _watcher(options, lines, _redactor(policy, recording), client), endpoint,
            _own_tools(options, policy.current, wanted.seat, _store(options, recording)), seat=wanted.seat,
            ending=None if client is None else client.stop,
        )  # fmt: skip
        treated = treatment(options, policy.current)
        service = assemble(wanted.url, policy, treated, access, parts, provider=options.provider)
        start_exporting(service.proxy.telemetry)
        if parts.own is None and (
            wanted.seat is None or wanted.seat.is_leading
        ):  # an executor of its own says it by itself
            warn_of_notices(policy.current)
        yield Assembled(service, endpoint, recording, client)
    finally:
        if recording is not None:
            _stop(recording)
        if beside is not None:
            beside.close()


@contextmanager
def console_of(options: Namespace, found: Assembled, policy: PolicyInForce, seat: Seat | None) -> Generator[list[str]]:
    """The console beside the server, on the same store; without an audit there is nothing to show."""
    if found.recording is None:
        yield []
        return
    from rightcall.cli.console import console_beside

    bound = None if seat is None else seat.console
    if seat is not None and bound is None:
        yield []
        return
    with console_beside(options, found.recording.store, policy, found.service, bound) as told:
        yield told


def _watcher(
    options: Namespace, lines: Lines, redactor: Callable[[], Redactor], client: PracticeClient | None
) -> Callable[[Facts], None] | None:
    """Prints what was done; nothing of the practice client's requests."""
    if options.quiet:
        return None
    watcher = teller(lines, redactor, places(options))
    return watcher if client is None else _without_practice(watcher)


def _store(options: Namespace, recording: Recording | None) -> StoreSource:
    """For the gateway and the server's own tools. On PostgreSQL a process has one store, and so four connections at
    most; of a file each has its own."""
    if recording is None or options.no_audit:
        return "memory"
    return recording.store if hasattr(recording.store, "address") else None


def _own_tools(options: Namespace, policy: Policy, seat: Seat | None, store: StoreSource) -> OwnTools | None:
    if not options.servers:
        return None
    if not policy.servers:
        raise ConfigError("`--servers`: the policy has no MCP server; add one as [servers.NAME]")
    from rightcall.executor.executor import Executor
    from rightcall.models import RepairModel
    from rightcall.server.own_tools import OwnTools

    executor = Executor.open(options.root, policy_file(options), code=False, store=store, last_resort=RepairModel())
    executor.reach = None if seat is None else seat.opening("tools")
    return OwnTools(executor)


def _recording(options: Namespace, policy: Policy, workers: int) -> Recording | None:
    """Each of several workers writes less often, so that all together commit as often as one server."""
    if options.no_audit:
        return None
    from rightcall.server.recording import Backlog, open_recording

    gather = min(Backlog().gather * workers, _LONGEST_GATHER)
    try:
        return open_recording(policy, policy_file(options), root=options.root, backlog=Backlog(gather))
    except StoreError as error:
        elsewhere = "" if server_of(options) else "`--root DIR` stores the audit log elsewhere, "
        raise StoreError(f"{error.reason}\n{elsewhere}`--no-audit` records nothing", error.fault) from None


def tokens_alone(options: Namespace) -> Store | None:
    """The store, for its tokens, where no audit is kept; None where there is none."""
    path = database_of(options)
    if not os.path.exists(path):
        return None
    from rightcall.record.sqlite import SqliteStore

    return SqliteStore(path)


def _redactor(policy: PolicyInForce, recording: Recording | None) -> Callable[[], Redactor]:
    """The audit's own; without an audit one of the same rules."""

    if recording is not None:
        return lambda: recording.redactor
    key = os.urandom(32)
    return lambda: Redactor(key, policy.current.settings.audit.redact)


def _practice_client(options: Namespace, recording: Recording | None) -> PracticeClient | None:
    if recording is None or not getattr(options, "practice", False):
        return None
    from rightcall.doctor.traffic import PracticeClient

    return PracticeClient(recording.store, options.root)


def _without_practice(tell: Callable[[Facts], None]) -> Callable[[Facts], None]:
    """The calls of the practice client are in the console: here they would push its link off the screen."""
    from rightcall.doctor.traffic import CALLER

    return lambda facts: None if facts.caller == CALLER else tell(facts)


def _stop(recording: Recording) -> None:
    """Where the server was ended at once, it has not been stopped yet; then little time is left."""
    recording.stop(timeout=1.0)
    if left := recording.state.waiting:
        logging.getLogger("rightcall").error("%d records of calls could not be written before the end", left)


# ── the gateway ──
# The MCP gateway as the commands start it: the policy file's servers, its door, and what people are told.


def open_endpoint(
    options: Namespace, tell: Callable[[str], None], seat: Seat | None = None, store: StoreSource = None
) -> Endpoint:
    """The gateway and its endpoint. Without an audit it remembers in memory only. Of several workers one tells which
    servers came and went."""
    from rightcall.mcp.gateway.shared import Place, SharedGateway
    from rightcall.mcp.links import open_link
    from rightcall.server.mcp import Endpoint

    if seat is None:
        return Endpoint(SharedGateway(open_door(options, store), open_link, news=tell))
    place = Place(seat.hello.name, seat.opening)

    def news(text: str) -> None:
        if seat.is_leading:
            tell(text)

    return Endpoint(SharedGateway(open_door(options, store), open_link, news=news, place=place), seat.hello.name)


def open_door(options: Namespace, store: StoreSource = None) -> Door:
    from rightcall.executor.door import Door

    try:
        return Door.open("gateway", policy_file(options), strict=True, root=options.root, store=store, remote=True)
    except StoreError as error:
        elsewhere = "" if server_of(options) else "\n--root DIR keeps the audit elsewhere"
        raise StoreError(f"{error.reason}{elsewhere}", error.fault) from None


def say_stopping(running: int, endpoint: Endpoint | None, tell: Callable[[str], None], *, again: bool = True) -> None:
    """`again`: a second Ctrl-C reaches this process."""
    if endpoint is not None:
        endpoint.stop()  # its streams would never finish by themselves
    if running:
        tell(
            f"finishing {running} request{'' if running == 1 else 's'}{'; Ctrl-C again ends at once' if again else ''}"
        )


def reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # every address is also this one


# ── workers ──
# The parent, which binds, prints and looks after its workers, and one worker of it.

_AGAIN: Final = 0.5
"""Seconds until a leading worker tries again to answer hooks: the one that led before may still do so."""
_SETTLED: Final = 2 * SETTLING
GONE: Final = 1


class Ready(Protocol):
    def __call__(self, address: tuple[str, int], console: list[str], *, mcp: bool) -> None: ...


def run_parent(
    options: Namespace, upstream: tuple[str, str | None], policy: PolicyInForce, lines: Lines, ready: Ready
) -> int:
    """`upstream` is the address of the model server, and the token that clients need here."""
    from rightcall.cli.console import console_socket  # late: a server may do without the console
    from rightcall.server.app import bind
    from rightcall.server.whereabouts import announced
    from rightcall.server.workers import Hello, Parent, Plan

    url, token = upstream
    listener = bind(options.host, options.port)
    console = console_socket(options, policy.current.console)
    address = listener.getsockname()[:2]
    with announced(database_of(options), "console") as announce:

        def begun(told: Mapping[str, Any]) -> None:
            if told["console"]:
                options.console_address = told["console"]
                announce(told["console"])
            ready(address, told["lines"], mcp=told["mcp"])

        hello = Hello("", 0, options.workers, token, url, "", 0, 0, 0)
        listeners = [listener] if console is None else [listener, console]
        return Parent(Plan(_command(), hello, policy, listeners, begun, lines.say)).run()


def _command() -> list[str]:
    """This very program, once more. `-P`: nothing that lies in the current folder is taken for ours."""
    return [sys.executable, "-P", "-m", "rightcall", *sys.argv[1:]]


def run_worker(options: Namespace, channel: int, lines: Lines, *, gateway: bool) -> int:
    from asyncio import get_running_loop

    from rightcall.server.access import Access
    from rightcall.server.app import Told
    from rightcall.server.hooks import HookServer
    from rightcall.server.workers import WorkerServer, take_seat
    from rightcall.server.workers.seat import LEAD, POLICY, STOP

    try:
        seat = take_seat(channel)
    except (EOFError, OSError):
        return GONE
    PolicyInForce.tells = False  # the parent does
    policy = PolicyInForce(policy_file(options))
    hello = seat.hello
    access = Access(hello.token, bound_to=options.host, host_names=options.allow_host, origins=options.allow_origin)
    file = policy_file(options)
    hooks = None if file is None else _Hooks(lambda: HookServer(os.fspath(file)))
    with (
        assembled(options, Wanted(hello.url, gateway, seat), policy, access, lines) as found,
        console_of(options, found, policy, seat) as told,
    ):
        service, endpoint, _, client = found
        has_parent = True

        def begun(host: str, port: int) -> None:
            del host, port
            address = getattr(options, "console_address", "") if told else ""
            seat.ready({"lines": told, "console": address, "mcp": endpoint is not None})

        def lead(content: bytes) -> None:
            leads = content == b"1"
            if hooks is not None:
                hooks.lead(leads)
            if client is not None and leads:
                host, port = seat.listener.getsockname()[:2]
                client.start(reachable(host), port)

        def reload(_: bytes) -> None:
            """Twice: a file counts as finished a moment after each process has seen it."""
            service.reload()
            get_running_loop().call_later(_SETTLED, service.reload)

        seat.orders |= {LEAD: lead, POLICY: reload}

        def stopping(running: int) -> None:
            say_stopping(running, endpoint, lines.say, again=has_parent)

        def stop(content: bytes) -> None:
            nonlocal has_parent
            has_parent = bool(content)
            server.stop()

        drain = None if endpoint is None else endpoint.drain
        told_of = Told(begun, stopping, drain, lambda: None)
        server = WorkerServer(service.app, seat, service.metrics, service.condition, told_of)
        seat.orders[STOP] = stop
        try:
            return server.run_bound()
        finally:
            if hooks is not None:
                hooks.lead(False)


class _Hooks:
    """Answers hooks while this worker leads."""

    def __init__(self, make: Callable[[], HookServer]) -> None:
        self._make = make
        self._server: HookServer | None = None
        self._leads = False
        self._lock = threading.Lock()

    def lead(self, leads: bool) -> None:
        with self._lock:
            if leads == self._leads:
                return
            self._leads = leads
            server, self._server = self._server, self._make() if leads else None
        threading.Thread(
            target=self._begin if leads else self._end, args=(self._server if leads else server,), daemon=leads
        ).start()

    def _begin(self, server: HookServer) -> None:
        while self._server is server and not server.start():
            sleep(_AGAIN)

    def _end(self, server: HookServer) -> None:
        server.stop()
