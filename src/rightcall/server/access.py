"""Who may use the server, and for which caller: pages in a browser may not, and nobody without a token.

**The token** is the first part of the path, so that it fits into any client's base URL (`http://127.0.0.1:4141/TOKEN/v1`),
or the header `x-rightcall-token`; or it comes as the client's key (`Authorization`, `x-api-key`), where it is plainly
ours: any other key belongs to the upstream. The application behind never sees a token of ours, so that nothing can pass
it on. The server's own token speaks for the integration's usual caller, a token of the store for the caller it was made
for, one of an identity provider for whom the policy says. A client cannot name another: `x-rightcall-caller` may only
repeat what the token says.

**Host** must name this machine: a page whose name is made to point here (DNS rebinding) sends its own. **Origin**,
which only browsers send, must be that same host. Others are allowed by name (`rightcall.server.addresses`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from http import HTTPStatus
from secrets import token_urlsafe
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit

from msgspec import json

from rightcall.base.http.answers import is_loopback
from rightcall.base.text import escaped
from rightcall.errors import ConfigError, StoreError
from rightcall.identity.callers import Refusal, check_caller, looks_like_token
from rightcall.identity.speakers import OF_PROVIDER, PREFIX, WELL_KNOWN, Held, Speakers
from rightcall.policy.settings import DEFAULT_POLICY
from rightcall.policy.types import Token
from rightcall.proxy.gates import CALLER_HEADER
from rightcall.record.admission import unsaid
from rightcall.record.notes import note_change
from rightcall.record.tables import NO_IDENTITY, Store, Tables, look_aside
from rightcall.server.addresses import (
    NEVER_A_PAGE,
    READ,
    Found,
    is_foreign,
    is_navigation,
    is_preflight,
    preflight_answer,
    readable_by,
    with_headers,
)

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST: Final = 1_000
"""Tokens of one store: a server keeps all of them at hand."""
LONGEST_NOTE: Final = 200


class TokenRequest(NamedTuple):
    """A token that somebody wants for a caller."""

    caller: str
    by: str
    seconds: int | None = None
    """None: it does not expire."""
    note: str = ""
    hide: Callable[[Any], Any] = unsaid
    """Says what the record keeps of the note."""


def make_token(tables: Tables, request: TokenRequest, callers: Collection[str] = ()) -> tuple[Token, str]:
    """A new token for a caller, and its text. `callers` are further names that a caller must not be mistaken for.
    Raises ConfigError."""
    caller, by, seconds, note, hide = request
    now = tables.wall()
    for token in tables.tokens():
        if has_expired(token, now):
            tables.drop_token(token.id)
    kept = tables.tokens()
    check_caller(caller, [*callers, *(one.caller for one in kept)])
    if len(note) > LONGEST_NOTE or not note.isprintable():
        raise ConfigError(f"invalid note: expected at most {LONGEST_NOTE} printable characters")
    if len(kept) >= MOST:
        raise ConfigError(f"{MOST:,} tokens exist already; revoke some with `rightcall token revoke ID`")
    text = PREFIX + token_urlsafe(32)
    made = Token(_new_id(kept), caller, digest_of(text.encode()), _after(now, seconds), by, now, note)
    tables.put_token(made)
    note_change(tables, "token made", by, _data(made) | ({"note": hide(note)} if note else {}))
    return made, text


def revoke_tokens(tables: Tables, by: str, *, id: str | None = None, caller: str | None = None) -> list[Token]:
    """Revoke the token with this id, or all tokens of this caller. Raises ConfigError where there is none."""
    found = [one for one in tables.tokens() if (one.id == id if id is not None else one.caller == caller)]
    if not found:
        whose = f"token {escaped(id, 40)!r}" if id is not None else f"token for caller {escaped(caller or '', 100)!r}"
        raise ConfigError(f"unknown {whose}; `rightcall token list` shows all tokens")
    for token in found:
        tables.drop_token(token.id)
        note_change(tables, "token revoked", by, _data(token))
    return found


def digest_of(token: bytes) -> str:
    return sha256(token).hexdigest()


def has_expired(token: Token, now: str) -> bool:
    """`now` is the wall's time as the store writes it, in which texts are ordered as times are."""
    return bool(token.expires) and token.expires <= now


def _new_id(kept: Collection[Token]) -> str:
    taken = {one.id for one in kept}
    while (new := os.urandom(4).hex()) in taken:
        pass
    return new


def _after(now: str, seconds: int | None) -> str:
    if seconds is None:
        return ""
    moment = datetime.strptime(now, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC) + timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _data(token: Token) -> dict[str, Any]:
    return {"id": token.id, "caller": token.caller, "expires": token.expires}


# ── callers ──
# Which caller a request speaks for: its token says so, and nothing else.
#
# The tokens of the store are kept at hand and looked at again from time to time, so that a new token counts and a
# revoked one stops counting while the server runs. While the store cannot be read, none of them counts.

FRESH: Final = 1.0
"""Seconds after which the tokens are looked at again: so long a revoked one may still count."""
SOON: Final = 0.1
"""Seconds between two looks for tokens that are not among them: who comes with a new one waits that long at most, and
who guesses causes no more looks than that."""
DEFAULTS: Final = {"/mcp": "gateway"}
"""By path, who calls with the server's own token, or where none is needed; everywhere else it is the proxy."""
DEFAULT: Final = "proxy"
_KEY: Final = "rightcall.entered"


async def _always() -> bool:
    return True


class Entered(NamedTuple):
    """Who was let in."""

    caller: str
    operator: bool
    """Whether it came with the server's own token, or none is needed: such a client may see how the server is."""
    still: Callable[[], Awaitable[bool]] = _always
    """Whether its token still counts, for answers that take long. Raises StoreError."""
    identity: tuple[str, str] = NO_IDENTITY
    """Issuer and subject, where an identity provider says who it is."""


def enter(scope: Scope, entered: Entered) -> None:
    scope[_KEY] = entered


def entrance_of(scope: Scope) -> Entered:
    """Raises KeyError for a request that nobody has let in."""
    return scope[_KEY]


class Callers:
    """Used within one event loop, which never waits for the disk."""

    def __init__(
        self,
        store: Store,
        *,
        fresh: float = FRESH,
        soon: float = SOON,
        now: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._store = store
        self._fresh = fresh
        self._soon = soon
        self._now = now
        self._sleep = sleep
        self._looked: float | None = None
        self._looking: asyncio.Task[None] | None = None
        self._known: dict[str, str] = {}
        self._fault: StoreError | None = None

    async def of(self, digest: str) -> str | None:
        """The caller for whom the token of this digest speaks; None for an unknown, revoked or expired one. Raises
        StoreError while the store cannot be read. How long it takes tells nothing of a token: only digests are
        compared."""
        await self._look(self._fresh)
        found = self._known.get(digest)
        if found is None and self._looked is not None and self._fault is None:
            if (left := self._looked + self._soon - self._now()) > 0:  # made since the last look, perhaps
                await self._sleep(left)
            await self._look(self._soon)
            found = self._known.get(digest)
        if self._fault is not None:
            raise self._fault
        return found

    async def _look(self, after: float) -> None:
        """Look again where it is time to. All who ask meanwhile wait for the same look; a store that could not be read
        is left alone for a while."""
        pause = after if self._fault is None else self._fresh
        if self._looked is not None and self._now() - self._looked < pause:
            return
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._read())
        await asyncio.shield(self._looking)

    async def _read(self) -> None:
        began = self._now()
        try:
            tokens = await look_aside(self._store, lambda tables: tables.tokens())
            wall = self._store.clock.wall()
            self._known = {one.digest: one.caller for one in tokens if not has_expired(one, wall)}
            self._fault = None
        except StoreError as fault:
            self._known, self._fault = {}, StoreError(str(fault), fault.fault)
        self._looked = began


# ── refusals ──
# Refusals of our own, in a shape that OpenAI's, Anthropic's and Ollama's clients all show sensibly.

Reason = Literal[
    "wrong_token",
    "insufficient_scope",
    "unknown_identity",
    "wrong_caller",
    "tokens_unavailable",
    "navigation",
    "operator_only",
    "foreign_host",
    "foreign_origin",
    "not_local",
    "not_found",
    "token_in_body",
    "bad_request",
    "slow_head",
    "slow_body",
    "slow_reader",
    "large_head",
    "large_body",
    "too_many_connections",
]

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    503: "overloaded_error",
}


def error_body(status: int, code: str, message: str) -> bytes:
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")
    return json.encode({"type": "error", "error": {"message": message, "type": kind, "code": code}})


def raw_error(status: int, code: Reason, message: str) -> bytes:
    """A whole answer as bytes, for a connection that ends with it."""
    body = error_body(status, code, message)
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n".encode()
    head += b"".join(b"%b: %b\r\n" % header for header in NEVER_A_PAGE)
    return head + b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body) + body


async def send_error(
    send: Send, status: int, code: Reason, message: str, more: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    body = error_body(status, code, message)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


_log = logging.getLogger("rightcall")

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,200}", re.ASCII)
_QUIET_SECONDS = 60.0
_FREE = frozenset({"/health", "/health/live", "/health/ready"})
_OWN_PAGES = _FREE | {"/metrics"}
"""Ours alone: a person may open them in a browser."""
_TOKEN_HEADER, _ORIGIN, _AUTHORIZATION = b"x-rightcall-token", b"origin", b"authorization"
_KEY_HEADERS = (_AUTHORIZATION, b"x-api-key", b"api-key", b"x-goog-api-key")
"""Where clients put the key of an upstream, and people the only token that they have."""
_PREFIX = PREFIX.encode()
_READ = READ | {b"host", _ORIGIN, _TOKEN_HEADER, CALLER_HEADER, *_KEY_HEADERS}
_KEYS = frozenset(_KEY_HEADERS)
_WITH_BODY: Final[frozenset[bytes]] = frozenset((b"content-length", b"transfer-encoding"))
_OPERATOR = Entered("", operator=True)
_BY_DEFAULT = {caller: Entered(caller, operator=True) for caller in (DEFAULT, *DEFAULTS.values())}
"""Who comes with the server's own token, or where none is needed."""


def new_token() -> str:
    """A token nobody can guess, of characters that need no quoting in a path."""
    return token_urlsafe(24)


class Access:
    """What is let in. `token=None` is `--no-auth`: everybody on this machine.

    `bound_to` is the address the server listens on; `host_names` are further names (`name` or `name:port`) under which
    it is reached, `origins` the pages that may use it (`https://chat.example.com`).
    """

    def __init__(
        self, token: str | None, *, bound_to: str, host_names: Sequence[str] = (), origins: Sequence[str] = ()
    ) -> None:
        if token is None and not is_loopback(bound_to):
            raise ConfigError("--no-auth: only on this machine itself; leave --host at 127.0.0.1, or use the token")
        if token is not None and not _TOKEN.fullmatch(token):
            raise ConfigError("RIGHTCALL_TOKEN: 16 to 200 letters, digits, - and _; leave it out and one is made")
        self.token = token
        self.host_names = frozenset(_checked_name(name) for name in host_names)
        self.origins = frozenset(_checked_origin(origin) for origin in origins)
        self._digest = "" if token is None else digest_of(token.encode())
        self.is_host = lru_cache(maxsize=256)(self._is_host)  # asked with every request, and always the same

    def is_token(self, given: bytes) -> bool:
        """Whether it is the server's own. Takes as long for a wrong one as for the right one, whatever their lengths:
        digests are compared."""
        return self.token is not None and compare_digest(digest_of(given), self._digest)

    def _is_host(self, host: str, server: tuple[str, int] | None) -> bool:
        """Whether a Host header names us; `server` is the address and port that the request came in by."""
        if (parts := _HOST.fullmatch(host)) is None:
            return False
        name, port = parts[1].strip("[]").lower(), int(parts[2] or 80)
        if name in self.host_names or f"{name}:{port}" in self.host_names:
            return True
        return server is not None and port == server[1] and (is_loopback(name) or name == server[0])

    def is_origin(self, origin: str, host: str) -> bool:
        lowered = origin.lower()
        return lowered in self.origins or lowered in (f"http://{host.lower()}", f"https://{host.lower()}")


def _checked_name(name: str) -> str:
    parts = _HOST.fullmatch(name)
    if parts is None:
        raise ConfigError("--allow-host: a name such as models.lan, or with its port, models.lan:8080")
    bare = parts[1].strip("[]").lower()
    return f"{bare}:{int(parts[2])}" if parts[2] else bare


def _checked_origin(origin: str) -> str:
    parts = urlsplit(origin)
    if not parts.scheme or not parts.netloc or parts.path or parts.query or parts.fragment:
        raise ConfigError("--allow-origin: scheme and host of a page, such as https://chat.example.com, and no path")
    return origin.lower()


class Complaint(NamedTuple):
    status: int
    reason: Reason
    message: str
    headers: Sequence[tuple[bytes, bytes]] = ()


class Guard:
    """The middleware. `callers` knows the tokens of the store, `speakers` those of identity providers; `refused` hears
    why somebody was sent away."""

    def __init__(
        self, app: ASGIApp, access: Access, callers: Callers | None = None,
        refused: Callable[[Reason], None] = lambda _: None, speakers: Speakers | None = None,
    ) -> None:  # fmt: skip
        self._app = app
        self._access = access
        self._callers = callers
        self._speakers = speakers or Speakers(lambda: DEFAULT_POLICY)
        self._held = Held(access.token, self._speakers)
        self._refused = refused
        self._wrong = 0
        self._told_at = -_QUIET_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        found = _deciding_headers(scope["headers"])
        complaint = self._stranger(scope, found)
        if complaint is None and _ORIGIN in found and (page := self._page(found)) is not None:
            send = with_headers(send, readable_by(page))
            if is_preflight(scope["method"], found):
                await _send_empty(send, preflight_answer(found))
                return
        if complaint is None and scope["path"].startswith((WELL_KNOWN, OF_PROVIDER)):
            document = await self._speakers.document(scope["path"], _origin_of(scope, found))
            if document is not None and scope["method"] in ("GET", "HEAD"):
                await _send_document(send, document)
                return
        complaint = complaint or await self._enter(scope, found)
        searched = receive if complaint is not None else await _searched(self._held, receive, scope["headers"])
        if complaint is None and searched is not None:
            await self._app(scope, searched, send)
        else:
            complaint = complaint or Complaint(400, "token_in_body", _TOKEN_IN_BODY)
            self._refused(complaint[1])
            await send_error(send, *complaint)

    # ── where does it come from? ─────────────────────────────────────────────────────────────────────────────────

    def _stranger(self, scope: Scope, found: Found) -> Complaint | None:
        hosts = found.get(b"host", ())
        host = hosts[0].decode("latin-1") if len(hosts) == 1 else ""
        if not self._access.is_host(host, scope.get("server")):
            return Complaint(403, "foreign_host", _FOREIGN_HOST)
        if _ORIGIN in found and any(not self._access.is_origin(one.decode("latin-1"), host) for one in found[_ORIGIN]):
            return Complaint(403, "foreign_origin", _FOREIGN_ORIGIN)
        if is_foreign(found) and self._page(found) is None:
            return Complaint(403, "foreign_origin", _FOREIGN_ORIGIN)
        if self._access.token is None and not _is_local(scope):
            return Complaint(403, "not_local", "without a token the server answers this machine only")
        return None

    def _page(self, found: Found) -> bytes | None:
        """The origin of a page that was allowed by name; None for any other request."""
        origins = found.get(_ORIGIN)
        if origins is None:
            return None
        allowed = len(origins) == 1 and origins[0].decode("latin-1").lower() in self._access.origins
        return origins[0] if allowed else None

    # ── for whom does it speak? ──────────────────────────────────────────────────────────────────────────────────

    async def _enter(self, scope: Scope, found: Found) -> Complaint | None:
        """Takes the token off the path and the headers, and notes who was let in."""
        try:
            speaker = await self._speaker(scope, found)
        except StoreError:
            return _UNAVAILABLE
        path: str = scope["path"]
        if isinstance(speaker, Entered) and self._holds_token(scope):
            speaker = None  # it is no path of an upstream's, and must not get there
        if not isinstance(speaker, Entered):
            if speaker is None and path in _FREE and not found.get(_TOKEN_HEADER):
                enter(scope, Entered("", operator=False))
                return None
            self._tell()
            return self._refusal(speaker, _origin_of(scope, found))
        if is_navigation(found) and path not in _OWN_PAGES:
            return Complaint(403, "navigation", _NAVIGATION)
        caller = speaker.caller or DEFAULTS.get(path, DEFAULT)
        if CALLER_HEADER in found and any(named.strip() != caller.encode() for named in found[CALLER_HEADER]):
            return Complaint(403, "wrong_caller", _WRONG_CALLER.format(caller))
        if speaker is _OPERATOR:
            speaker = _BY_DEFAULT[caller]
        enter(scope, speaker if speaker.caller else Entered(caller, *speaker[1:]))
        return None

    def _refusal(self, why: Refusal | None, origin: str) -> Complaint:
        """What somebody is told whose token does not count; where a provider gives tokens, also where to get one."""
        if not self._speakers.is_on:
            return Complaint(401, "wrong_token", _NO_TOKEN)
        if why is not None and why.why == "unavailable":
            return _UNAVAILABLE
        if why is not None and why.why == "unmapped":  # another login would change nothing
            return Complaint(403, "unknown_identity", why.told)
        challenge = [(b"www-authenticate", self._speakers.challenge(origin, why))]
        if why is not None and why.why == "scope":
            return Complaint(403, "insufficient_scope", why.told, challenge)
        return Complaint(401, "wrong_token", _LOG_IN if why is None else why.told, challenge)

    async def _speaker(self, scope: Scope, found: Found) -> Entered | Refusal | None:
        """None for a token that is missing, wrong, revoked or expired, or beside another one."""
        first, slash, rest = scope["raw_path"][1:].partition(b"/")
        in_path = _OPERATOR if self._access.is_token(first) else await self._of(first)
        if in_path is not None:
            scope["raw_path"] = slash + rest or b"/"
            scope["path"] = scope["path"][len(first) + 1 :] or "/"  # its characters need no quoting
        headers, keys = found.get(_TOKEN_HEADER, ()), [] if _KEYS.isdisjoint(found) else self._keys(scope, found)
        if not headers and not keys:
            return in_path or (_OPERATOR if self._access.token is None else None)
        given: list[Entered | Refusal | None] = [] if in_path is None else [in_path]
        given += [await self._of_header(token) for token in (*headers, *keys)]
        if len(given) == 1:
            return given[0]
        entered = [one for one in given if isinstance(one, Entered)]
        if len(entered) < len(given):
            return next(one for one in given if not isinstance(one, Entered))
        same = len(headers) < 2 and all(_who(one) == _who(entered[0]) for one in entered)
        return entered[0] if same else None

    def _keys(self, scope: Scope, found: Found) -> list[bytes]:
        """The keys of a request that are tokens of ours. They end here: nobody behind sees them."""
        ours: list[bytes] = []
        for name in _KEY_HEADERS:
            for value in found.get(name, ()):
                if (token := _bearer(value) if name == _AUTHORIZATION else value) and self._is_ours(token, scope):
                    ours.append(token)
                    scope["headers"] = [one for one in scope["headers"] if one != (name, value)]
        return ours

    def _is_ours(self, token: bytes, scope: Scope) -> bool:
        """At `/mcp` there is no upstream that a token could be for; elsewhere only its issuer tells."""
        if scope["path"] != "/mcp":
            return self._speakers.is_held_in(token)
        own = token.startswith(_PREFIX) or self._access.is_token(token)
        return own or (self._speakers.is_on and looks_like_token(token))

    async def _of_header(self, token: bytes) -> Entered | Refusal | None:
        return _OPERATOR if self._access.is_token(token) else await self._of(token, anything=True)

    def _holds_token(self, scope: Scope) -> bool:
        """Whether a token is left in a path once the one it began with was taken off. Headers that hold one end
        here."""
        scope["headers"] = self._held.without(scope["headers"])
        addresses = (scope["raw_path"], scope.get("query_string", b""))
        return f"/{PREFIX}" in scope["path"] or any(map(self._held.is_in, addresses))

    async def _of(self, token: bytes, *, anything: bool = False) -> Entered | Refusal | None:
        """Who comes with a token of the store; in a header, `anything`, also with one of an identity provider."""
        if anything and self._speakers.is_on and looks_like_token(token):
            speaker = await self._speakers.of(token)
            if isinstance(speaker, Refusal):
                return speaker
            return Entered(speaker.caller, False, self._speakers.still(token), speaker.identity)
        if self._callers is None or not token.startswith(_PREFIX):
            return None
        callers, digest = self._callers, digest_of(token)
        caller = await callers.of(digest)

        async def still() -> bool:
            return await callers.of(digest) == caller

        return None if caller is None else Entered(caller, False, still)

    def _tell(self) -> None:
        """Once a minute at most: whoever guesses tokens shall not fill the disk with it."""
        self._wrong += 1
        if (now := monotonic()) - self._told_at >= _QUIET_SECONDS:
            requests = "1 request" if self._wrong == 1 else f"{self._wrong} requests"
            _log.warning("rejected %s with a wrong token since the last such line", requests)
            self._wrong, self._told_at = 0, now


def _deciding_headers(headers: list[tuple[bytes, bytes]]) -> dict[bytes, list[bytes]]:
    """The headers that decide who comes in, each with all its values."""
    alone = dict(headers)
    if len(alone) == len(headers):  # none is there twice
        return {name: [alone[name]] for name in _READ.intersection(alone)}
    found: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        if name in _READ:
            found.setdefault(name, []).append(value)
    return found


def _who(entered: Entered) -> tuple[str, bool, tuple[str, str]]:
    return entered.caller, entered.operator, entered.identity


def _bearer(value: bytes) -> bytes:
    scheme, _, token = value.partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


def _origin_of(scope: Scope, found: Found) -> str:
    """Under which a client reaches us: its Host header is ours, or it was sent away."""
    hosts = found.get(b"host", ())
    return f"{scope.get('scheme', 'http')}://{hosts[0].decode('latin-1') if hosts else ''}"


async def _send_document(send: Send, document: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(document))]
    await send({"type": "http.response.start", "status": 200, "headers": [*headers, (b"cache-control", b"no-store")]})
    await send({"type": "http.response.body", "body": document})


async def _send_empty(send: Send, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _is_local(scope: Scope) -> bool:
    ends = (scope.get("server"), scope.get("client"))
    return all(end is not None and is_loopback(end[0]) for end in ends)


_NO_TOKEN = (
    "the access token is missing, wrong, revoked or expired: RightCall prints the base URL with it when it "
    "starts (http://HOST:PORT/TOKEN/v1), or send it as the header x-rightcall-token"
)
_LOG_IN = (
    "the access token is missing, wrong, revoked or expired: send one of the identity provider as `Authorization: "
    "Bearer TOKEN`, or one of this server as the header x-rightcall-token"
)
_TOKEN_IN_BODY = (
    "the body of this request holds an access token for this server, which is passed on to nobody: take the token out "
    "of the message, or of the arguments"
)
_NAVIGATION = "this server answers programs: a browser may not open, embed or run what it serves"
_UNAVAILABLE = Complaint(
    503, "tokens_unavailable", "tokens cannot be checked now: the audit log or the identity provider cannot be read; "
    "try again in a moment",
)  # fmt: skip
_FOREIGN_HOST = (
    "the Host header does not name this server: use the address that it prints when it starts, "
    "or start it with --allow-host and the name you use"
)
_FOREIGN_ORIGIN = "pages of other origins may not use this server: start it with --allow-origin and the page's origin"
_WRONG_CALLER = (
    "this request speaks for the caller '{}', and the header x-rightcall-caller names another one: leave the header "
    "out, or use a token of that caller"
)


async def _searched(held: Held, receive: Receive, headers: list[tuple[bytes, bytes]]) -> Receive | None:
    """The same request with its body read whole; None where that holds a token."""
    if _WITH_BODY.isdisjoint(dict(headers)):
        return receive
    try:
        body = await body_of(receive)
    except Gone:
        return replayed({"type": "http.disconnect"}, receive)
    return None if held.is_in_body(body) else replayed({"type": "http.request", "body": body}, receive)


# ── bodies ──
# The body of a request, read whole.


class Gone(Exception):
    """The client has closed its connection."""


async def body_of(receive: Receive) -> bytes:
    """Raises Gone where its client has left before all of it had come."""
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


def replayed(message: Message, receive: Receive) -> Receive:
    """A request from which this message was read, for who reads it next."""
    waiting = [message]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
