"""Who may see the console, and from where. Each middleware has one question, and they are asked in this order:

    Hosts ─▶ Headers ─▶ Origins ─▶ Doorway ─▶ the pages
    does Host name us?  what a browser may do with it  may this page change something?  who is it?

Nothing is open by default: without a session a route answers only if its path is in `OPEN`. A token of a caller is
never looked at. No GET changes anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import quote

from msgspec import Struct
from starlette.datastructures import Headers as HeaderView
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rightcall.base.http.answers import is_loopback
from rightcall.console.people import is_let_in, session_of
from rightcall.errors import StoreError
from rightcall.policy.settings import Policy
from rightcall.policy.types import Credential
from rightcall.record.tables import Store
from rightcall.server.addresses import CONSOLE_COOKIE

STATIC: Final = "/static/"
LINK: Final = "/enter/"
OPEN: Final = ("/login", "/login/", LINK, STATIC)
"""What is answered without a session: the login page and logins with an identity provider, login links, and files that
are the same for everybody."""
SAFE: Final = frozenset(("GET", "HEAD"))

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_ALWAYS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)


class Address(Struct, frozen=True):
    """Where the console is reached: names are compared with the Host header, origins with Origin."""

    host: str
    port: int
    public_url: str = ""
    tls: bool = False

    @property
    def origin(self) -> str:
        """As links name it."""
        if self.public_url:
            return self.public_url
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"{'https' if self.tls else 'http'}://{f'[{host}]' if ':' in host else host}:{self.port}"

    def names(self, host: str) -> bool:
        """Whether a Host header means us: the public name, the address it listens on, or this machine by a loopback
        name, each with our port."""
        name, port = _split(host.lower())
        if self.public_url and host.lower() == self.public_url.partition("://")[2].lower():
            return True
        known = name == self.host.lower() or is_loopback(name)
        return known and port == self.port

    @property
    def cookie(self) -> str:
        """Two consoles of one machine share no session. Over HTTPS a browser takes a name of this kind from nobody but
        the host itself: no other host of the domain, and no page without TLS, can plant one."""
        return f"{'__Host-' if self.secure else ''}{CONSOLE_COOKIE}_{self.port}"

    @property
    def secure(self) -> bool:
        return self.origin.startswith("https:")


def _split(host: str) -> tuple[str, int]:
    if host.startswith("["):
        name, _, rest = host[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        name, _, port = host.partition(":")
    return name, int(port) if port.isdecimal() and len(port) < 6 else 80


class Hosts:
    """Refuses names that are not ours: a page whose name is made to point here sends its own."""

    def __init__(self, app: ASGIApp, address: Callable[[], Address]) -> None:
        self._app = app
        self._address = address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            hosts = HeaderView(scope=scope).getlist("host")
            if len(hosts) != 1 or not self._address().names(hosts[0]):
                told = "The Host header does not name this console. Use the address from `rightcall console link`.\n"
                await PlainTextResponse(told, 421)(scope, receive, send)
                return
        elif scope["type"] != "lifespan":
            return
        await self._app(scope, receive, send)


def guard(response: Response) -> Response:
    """The same for an answer that is made outside of `Headers`."""
    for name, value in (*_ALWAYS, (b"cache-control", b"no-store")):
        response.headers[name.decode()] = value.decode()
    return response


class Headers:
    """What a browser may do with every answer; pages are kept by no cache."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_ours(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message.setdefault("headers", [])
                cached = any(name == b"cache-control" for name, _ in given)
                message["headers"] = [*given, *_ALWAYS, *([] if cached else [(b"cache-control", b"no-store")])]
            await send(message)

        await self._app(scope, receive, with_ours if scope["type"] == "http" else send)


class Origins:
    """What changes something must come from a page of ours: `Sec-Fetch-Site` says so, else the exact `Origin`; a
    request with neither is refused."""

    def __init__(self, app: ASGIApp, address: Callable[[], Address]) -> None:
        self._app = app
        self._address = address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in SAFE and not self._is_ours(HeaderView(scope=scope)):
            told = "This request does not come from a page of this console; nothing was changed.\n"
            await PlainTextResponse(told, 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_ours(self, headers: HeaderView) -> bool:
        sites, origins = headers.getlist("sec-fetch-site"), headers.getlist("origin")
        scheme = "https" if self._address().secure else "http"
        own = {self._address().origin, f"{scheme}://{headers.get('host', '')}"}
        if sites:  # with `no-referrer` a browser sends `Origin: null` from our own forms too
            return sites in (["same-origin"], ["none"]) and all(one in own or one == "null" for one in origins)
        return len(origins) == 1 and origins[0] in own


class Visitor(Struct, frozen=True):
    """Who looks at a page."""

    session: Credential

    @property
    def name(self) -> str:
        return self.session.person

    @property
    def may_approve(self) -> bool:
        return self.session.may == "approve"


_KEY: Final = "rightcall.visitor"


def visitor_of(connection: HTTPConnection) -> Visitor:
    """Raises KeyError for a request that nobody has let in."""
    return connection.scope[_KEY]


class Doorway:
    """Lets in whoever has a session that counts at this moment. Everybody else gets the login page."""

    def __init__(
        self, app: ASGIApp, store: Store, address: Callable[[], Address], policy: Callable[[], Policy]
    ) -> None:
        self._app = app
        self._store = store
        self._address = address
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        secrets = cookies_named(connection, self._address().cookie)
        try:
            session = await self._session(secrets)
        except StoreError as fault:
            told = (
                f"The audit log cannot be read now ({fault.fault}), so nobody can be let in. Try again in a moment.\n"
            )
            await PlainTextResponse(told, 503)(scope, receive, send)
            return
        if session is not None:
            scope[_KEY] = Visitor(session)
        elif not is_open(scope["path"]):
            await _turned_away(connection)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _session(self, secrets: Sequence[str]) -> Credential | None:
        if len(secrets) != 1:  # two of one name: somebody has planted one
            return None
        found = await asyncio.to_thread(self._store.look, lambda tables: session_of(tables, secrets[0]))
        return found if found is not None and is_let_in(found, self._policy().identity) else None


def is_open(path: str) -> bool:
    return any(path == one or (one.endswith("/") and path.startswith(one)) for one in OPEN)


def cookies_named(connection: HTTPConnection, name: str) -> list[str]:
    pairs = (pair.strip().partition("=") for line in connection.headers.getlist("cookie") for pair in line.split(";"))
    return [value for key, _, value in pairs if key == name]


def _turned_away(connection: HTTPConnection) -> Response:
    """A person who opens a page is sent to the login page and comes back; a program is told."""
    wants_page = "text/html" in connection.headers.get("accept", "")
    if connection.scope["method"] in SAFE and wants_page:
        path = connection.url.path + (f"?{connection.url.query}" if connection.url.query else "")
        return RedirectResponse(f"/login?next={quote(local_path(path), safe='')}", 303)
    return PlainTextResponse("Not logged in. Run `rightcall console link` and open the link.\n", 401)


_LONGEST_PATH: Final = 2000


def local_path(path: str) -> str:
    """A path of this console to go to after the login; anything else becomes the first page.

    >>> local_path("/inbox?x=1"), local_path("//evil.example"), local_path("/\\\\evil.example"), local_path("https:/x")
    ('/inbox?x=1', '/', '/', '/')
    """
    plain = path.isascii() and path.isprintable() and len(path) <= _LONGEST_PATH and "\\" not in path
    return path if plain and path.startswith("/") and not path.startswith("//") else "/"
