"""The console as an application: its middleware in order, its routes, and how it is started and stopped.

It has a port, and so an origin, of its own: what an upstream sends through the proxy can never speak as a page of the
console.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightcall.base.http.answers import ServeLimits, is_loopback
from rightcall.base.text import escaped
from rightcall.console.access import LINK, Address, Doorway, Headers, Hosts, Origins, guard
from rightcall.console.page import Kept, Site, render, serve_file
from rightcall.console.pages import PAGES
from rightcall.console.pages.live import Pulse, stream
from rightcall.console.signon import SignOn
from rightcall.errors import ConfigError, StoreError
from rightcall.identity.speakers import Speakers
from rightcall.policy.settings import ConsoleSettings, Policy
from rightcall.record.tables import Store
from rightcall.server.app import Running, Told, Words, bind

log = logging.getLogger("rightcall")

_GRACE: Final = 2.0
"""Seconds that requests may go on at a stop."""
_LIMITS: Final = ServeLimits(body_bytes=1_000_000, connections=500, grace_seconds=_GRACE)


class Console(Struct, frozen=True):
    """What it is opened on."""

    store: Store
    policy: Callable[[], Policy]
    root: str = "."
    state: Callable[[], Mapping[str, Any]] = dict
    """How the server is that runs beside it,"""
    tools: Callable[[], list[tuple[str, dict[str, Any]]]] = list
    """the tools of the MCP servers behind that, each with its server,"""
    checks: Callable[[], Mapping[str, Any]] = dict
    """what `rightcall doctor` finds on this machine,"""
    passed: Callable[[int], list[list[dict[str, Any]]]] = lambda _: []
    """and the tools of the last requests through the proxy."""


def build_app(console: Console, address: Callable[[], Address]) -> Starlette:
    """Every route stands behind the four middlewares, in this order; see `access.py`."""
    pulse = Pulse(console.store, providers=lambda: console.policy().identity)
    site = Site(
        console.store, console.policy, address, pulse, Kept(), PAGES, console.root, console.state, console.tools,
        console.checks, console.passed, signon=SignOn(Speakers(console.policy), console.store.key()),
    )  # fmt: skip
    app = Starlette(
        routes=[
            *(route for page in PAGES for route in page.routes),
            Route("/events", stream),
            Route("/static/{digest}/{name}", serve_file),
        ],
        middleware=[
            Middleware(Hosts, address=address),
            Middleware(Headers),
            Middleware(Origins, address=address),
            Middleware(Doorway, store=console.store, address=address, policy=console.policy),
        ],
        exception_handlers={HTTPException: _http_error, StoreError: _store_error, 500: _fault},
    )
    app.state.site = site
    return app


async def _http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    title, text = _TOLD.get(status, ("That did not work", "Go back and try again."))
    return render(request, "message", status, title=title, text=text, back=("/", "Overview"))


_TOLD: Final = {
    401: ("Not done", "Your session has ended, or what you may do has changed. Log in and look again."),
    404: ("Page not found", "There is nothing at this address. It may belong to records that were pruned."),
    405: ("Not possible here", "This address is not used in this way. Go back and use the buttons of the page."),
    413: ("Too much", "The form was too large. Shorten the text and send it again."),
}


async def _store_error(request: Request, error: Exception) -> Response:
    """Also for whoever is not logged in: where the store is on a server, only the log says what is wrong."""
    assert isinstance(error, StoreError)
    said = error.told
    if said != str(error):
        log.warning("console: a page could not be made: %s", error)
        said = "It cannot be used now. The log of the server says why."
        if error.fault == "denied":
            said = "Its server does not let this node do that. Use a command as the owner of its tables."
    told = escaped(said, 500)
    return render(request, "message", 503, title="The audit log cannot be read", text=told, back=("/", "Try again"))


async def _fault(request: Request, error: Exception) -> Response:
    """Made by the outermost layer of all, so it brings the headers itself. The path is logged, but for a login link's,
    which is a key."""
    path = request.url.path
    shown = LINK if path.startswith(LINK) else escaped(path, 200)
    log.error("console: a page could not be made: %s", shown, exc_info=error)
    text = "The console failed to make this page. The log of the server says why."
    return guard(render(request, "message", 500, title="Something went wrong", text=text, back=("/", "Overview")))


# ── running ──


class ConsoleServer(Running):
    """One console on one bound socket, with TLS where the settings name a certificate."""

    def __init__(self, app: Starlette, bound: socket.socket, settings: ConsoleSettings, told: Told) -> None:
        super().__init__(app, bound, _LIMITS, told=told)
        self.config.headers = []  # the application sets its own: these are pages
        if settings.certificate:
            self.config.ssl_certfile, self.config.ssl_keyfile = settings.certificate, settings.private_key or None
            self.config.loop = "asyncio"  # with uvloop a stop hung while a browser had connections open
        self._pulse: Pulse = app.state.site.pulse

    async def shutdown(self, sockets: Any = None) -> None:
        self._pulse.stop()
        await asyncio.sleep(0)
        await super().shutdown(sockets)


def check_settings(settings: ConsoleSettings) -> None:
    """What is wrong is said before anything is opened. Raises ConfigError."""
    if not settings.certificate and not is_loopback(settings.host) and not settings.plain_http:
        raise ConfigError(
            f"[console] host = {escaped(settings.host, 60)!r} would serve the console to others without TLS. Set "
            "`certificate` and `private_key`, or `plain_http = true` behind your own proxy that has TLS"
        )
    public = urlsplit(settings.public_url)
    if public.scheme == "http" and not is_loopback(public.hostname or "") and not settings.plain_http:
        raise ConfigError(
            "[console] public_url: people would send their login in plain HTTP. Use https://, or set "
            "`plain_http = true` where nobody can listen on the way"
        )
    for name in ("certificate", "private_key"):
        path = getattr(settings, name)
        if path and not os.path.isfile(path):
            raise ConfigError(f"[console] {name}: no such file: {escaped(path, 200)}")
    if settings.certificate:
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(settings.certificate, settings.private_key or None)
        except (ssl.SSLError, OSError) as why:
            raise ConfigError(f"[console] certificate cannot be used: {why}") from None


_ALONE = Words(host="[console] host")
_BESIDE = Words(
    "[console] port", "port = 0", "[console] host", ". `--no-console` starts the server without the console"
)
"""Beside a server `--port` is the server's."""


def serve_console(console: Console, settings: ConsoleSettings, ready: Callable[[Address], None]) -> int:
    """Serves until a signal comes, and returns the exit code."""
    check_settings(settings)
    return _server(console, settings, bind(settings.host, settings.port, _ALONE), ready)[0].run_bound()


def bind_console(settings: ConsoleSettings) -> socket.socket:
    """For consoles in several processes."""
    return bind(settings.host, settings.port, _BESIDE)


@contextmanager
def console_running(
    console: Console, settings: ConsoleSettings, bound: socket.socket | None = None
) -> Generator[Address]:
    """Serves in a thread of its own for as long as the `with` lasts; yields where it is reached."""
    check_settings(settings)
    server, address = _server(console, settings, bound or bind_console(settings))
    with server.in_thread():
        yield address


def _server(
    console: Console, settings: ConsoleSettings, bound: socket.socket, ready: Callable[[Address], None] = lambda _: None
) -> tuple[ConsoleServer, Address]:
    port = bound.getsockname()[1]
    address = Address(settings.host, port, settings.public_url, tls=bool(settings.certificate))

    def begun(_host: str, _port: int) -> None:
        ready(address)

    return ConsoleServer(build_app(console, lambda: address), bound, settings, Told(begun)), address
