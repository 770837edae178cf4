"""`rightcall serve --workers N`: the parent, which binds, prints and looks after its workers, and one worker of it.

rightcall serve --workers 4 ─┬─ rightcall serve --workers 4 --worker 7
                             ├─ …
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Mapping
from time import sleep
from typing import TYPE_CHECKING, Any, Final, Protocol

from rightcall.cli.console import console_socket
from rightcall.cli.options import database_of, policy_file
from rightcall.cli.serve_log import Lines
from rightcall.cli.serving import Wanted, assembled, console_of, reachable, say_stopping
from rightcall.policy.watch import SETTLING, PolicyInForce

if TYPE_CHECKING:
    from rightcall.server.hooks import HookServer

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
    from rightcall.server.access import Access
    from rightcall.server.app import Told
    from rightcall.server.hooks import HookServer
    from rightcall.server.workers import WorkerServer, take_seat
    from rightcall.server.workers.seat import LEAD, POLICY

    try:
        seat = take_seat(channel)
    except (EOFError, OSError):
        return GONE
    policy = PolicyInForce(policy_file(options))
    policy.tells = False
    hello = seat.hello
    access = Access(hello.token, bound_to=options.host, host_names=options.allow_host, origins=options.allow_origin)
    file = policy_file(options)
    hooks = None if file is None else _Hooks(lambda: HookServer(os.fspath(file)))
    with (
        assembled(options, Wanted(hello.url, gateway, seat), policy, access, lines) as found,
        console_of(options, found, policy, seat) as told,
    ):
        service, endpoint, _, client = found

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
            asyncio.get_running_loop().call_later(_SETTLED, service.reload)

        seat.orders |= {LEAD: lead, POLICY: reload}

        def stopping(running: int) -> None:
            say_stopping(running, endpoint, lines.say)

        server = WorkerServer(
            service.app, seat, service.metrics, service.condition, Told(begun, stopping, seat.drain, lambda: None)
        )
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
