"""For whom tokens of identity providers speak: the providers of the policy in force, each with its keys.

    token ─▶ whose issuer? ─▶ its keys ─▶ counts? (`tokens.py`) ─▶ scopes ─▶ `[identity.map]` (`callers.py`) ─▶ Speaker

A client sends the same token with every request. One that counted is remembered by its digest, and not checked again
while it lasts, its provider has the same keys, and the policy is the same. And what clients are told, so that they can
log in by themselves: the metadata of RFC 9728, and the challenge that names it.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from operator import itemgetter
from time import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes, urlsplit

from msgspec import MsgspecError, Struct, json

from rightcall.base.json.marks import is_list
from rightcall.errors import ConfigError, IdentityError
from rightcall.identity.callers import Refusal, caller_of
from rightcall.policy.settings import DEFAULT_POLICY, Policy

if TYPE_CHECKING:
    from rightcall.identity.tokens import Issuer, Written

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
OF_PROVIDER: Final = "/.well-known/oauth-authorization-server"
_WITHIN: Final = re.compile(rb"[A-Za-z0-9_=-]\.([eICD][A-Za-z0-9_-]{14,})=*(?=\.)")
"""Where a token may be in a text, and what it says: JSON between two dots. Whatever is before or behind it does not
matter, and a text without one is read once, however long it is."""
_ESCAPED: Final = re.compile(rb"\\u00([2-7][0-9A-Fa-f])")
"""A character of a token as JSON may also write it."""
_BASIC: Final = re.compile(rb"[Bb][Aa][Ss][Ii][Cc][ \t]+([A-Za-z0-9+/_-]+)=*[ \t]*\Z")
"""A name and a password, which may be a token."""
_MOST_KNOWN: Final = 4_096
"""Tokens that are remembered."""


class Speaker(Struct, frozen=True):
    """Who somebody is whose token counts: a caller here, and an identity at the provider."""

    caller: str
    issuer: str
    subject: str
    expires: float
    """When the token ends, seconds since 1970; the clocks may differ by what the policy says."""

    @property
    def identity(self) -> tuple[str, str]:
        return self.issuer, self.subject


class _Known(Struct, frozen=True):
    speaker: Speaker
    issuer: Issuer
    generation: int


class Speakers:
    """Used within one event loop. `policy` is the one in force at the moment, and may change."""

    def __init__(self, policy: Callable[[], Policy], now: Callable[[], float] = time) -> None:
        self._policy = policy
        self._now = now
        self._of = DEFAULT_POLICY
        self._issuers: dict[str, Issuer] = {}
        self._algorithms = frozenset[str]()
        self._known: dict[bytes, _Known] = {}

    @property
    def is_on(self) -> bool:
        return bool(self._policy().identity)

    def issuers(self) -> dict[str, Issuer]:
        """Those of the policy in force. Where it says something else of them, all begins anew, keys and all. Raises
        ConfigError where the library is missing that checks tokens."""
        policy = self._policy()
        if policy is not self._of:
            if _terms(policy) != _terms(self._of):
                issuer = _library().Issuer if policy.identity else None
                self._issuers = {} if issuer is None else {one.issuer: issuer(one, policy) for one in policy.identity}
                self._algorithms = frozenset(name for one in policy.identity for name in one.algorithms)
                self._known = {}
            self._of = policy
        return self._issuers

    def is_held_in(self, text: bytes) -> bool:
        """Whether a text holds a token that names one of our providers, be it right or wrong: then it is for nobody
        else."""
        if not self.is_on:
            return False
        issuers = {one.issuer for one in self._policy().identity}
        return any(_named(one[1]).iss in issuers for each in readings(text) for one in _WITHIN.finditer(each))

    def is_meant_in(self, body: bytes) -> bool:
        """Whether a body holds a token that was made for us. One that a provider of ours made for somebody else may be
        what a message is about."""
        if not self.is_on:
            return False
        audiences = {one.issuer: frozenset(one.audience) for one in self._policy().identity}
        said = (_named(one[1]) for one in _WITHIN.finditer(unescaped(body)))
        return any(not audiences.get(one.iss, _NOBODY).isdisjoint(one.audience) for one in said)

    async def of(self, token: bytes) -> Speaker | Refusal:
        """For whom a token speaks, or why for nobody."""
        issuers, digest = self.issuers(), sha256(token).digest()
        known = self._known.get(digest)
        if known is not None and self._still(known):
            return known.speaker
        written = _library().read_token(token, self._algorithms)
        if isinstance(written, Refusal):
            return written
        issuer = _issuer_in(written, issuers)
        if issuer is None:
            return Refusal("issuer")
        claims = await issuer.check(written, now=self._now())
        if isinstance(claims, Refusal):
            return claims
        if not claims.scopes.issuperset(issuer.settings.scopes):
            return Refusal("scope")
        caller = caller_of(claims.all, issuer.settings)
        if caller is None:
            return Refusal("unmapped")
        speaker = Speaker(caller, claims.issuer, claims.subject, claims.expires)
        self._remember(digest, _Known(speaker, issuer, issuer.keys.generation))
        return speaker

    def still(self, token: bytes) -> Callable[[], Any]:
        """Whether a token that counted does so at a later moment, for answers that take long."""
        return partial(self._still_of, token)

    async def _still_of(self, token: bytes) -> bool:
        return isinstance(await self.of(token), Speaker)

    def _still(self, known: _Known) -> bool:
        alive = self._now() < known.speaker.expires + known.issuer.settings.leeway
        keys = known.issuer.keys
        return alive and known.generation == keys.generation and keys.is_fresh

    def _remember(self, digest: bytes, known: _Known) -> None:
        while len(self._known) >= _MOST_KNOWN:
            self._known.pop(next(iter(self._known)))
        self._known[digest] = known

    # ── what clients are told ────────────────────────────────────────────────────────────────────────────────────

    async def document(self, path: str, origin: str) -> bytes | None:
        """The metadata that a path asks for, of the server that is reached at `origin`; None where there is none."""
        if not self.is_on:
            return None
        if path == OF_PROVIDER:
            return await self._provider()
        suffix = path.removeprefix(WELL_KNOWN)
        resource = self.resource(origin)
        if suffix not in ("", "/mcp", urlsplit(resource).path):
            return None
        found: dict[str, Any] = {
            "resource": resource,
            "resource_name": "RightCall",
            "authorization_servers": [one.issuer for one in self._policy().identity],
            "bearer_methods_supported": ["header"],
        }
        scopes = self.scopes
        return json.encode(found | ({"scopes_supported": list(scopes)} if scopes else {}))

    async def _provider(self) -> bytes | None:
        """The metadata of the provider, for clients of the revision 2025-03-26: they know of nobody but the server, and
        ask it who gives logins."""
        try:
            found = await next(iter(self.issuers().values())).metadata()
        except (IdentityError, ConfigError):
            return None
        said: dict[str, Any] = {
            "issuer": found.issuer,
            "authorization_endpoint": found.authorization_endpoint,
            "token_endpoint": found.token_endpoint,
            "registration_endpoint": found.registration_endpoint,
            "jwks_uri": found.jwks_uri,
            "scopes_supported": self.scopes,
            "response_types_supported": ["code"],
            "grant_types_supported": found.grants,
            "token_endpoint_auth_methods_supported": found.auth_methods,
            "code_challenge_methods_supported": found.challenge_methods,
        }
        return json.encode({name: value for name, value in said.items() if value})

    @property
    def scopes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(scope for one in self._policy().identity for scope in one.scopes))

    def resource(self, origin: str) -> str:
        """The address of `/mcp`, as clients and tokens name it."""
        return next((one.resource for one in self._policy().identity if one.resource), f"{origin}/mcp")

    def challenge(self, origin: str, refusal: Refusal | None) -> bytes:
        """The value of `WWW-Authenticate`, after a request without a token or with one that does not count."""
        parts = urlsplit(self.resource(origin))
        said = {"resource_metadata": f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{parts.path}"}
        if refusal is not None:
            error = "insufficient_scope" if refusal.why == "scope" else "invalid_token"
            said = {"error": error, "error_description": refusal.told, **said}
        if self.scopes:
            said["scope"] = " ".join(self.scopes)
        return b"Bearer " + ", ".join(f'{name}="{text}"' for name, text in said.items()).encode("ascii")


def readings(text: bytes) -> tuple[bytes, ...]:
    """What a header or an address may hold: as it is, unquoted, and the name and password that it encodes."""
    basic = _BASIC.match(text)
    return (text, *((unquote_to_bytes(text),) if b"%" in text else ()), *((_decoded(basic[1]),) if basic else ()))


def unescaped(body: bytes) -> bytes:
    """JSON in which no character of a token is written in another way."""
    return body if body.find(b"\\u00") < 0 else _ESCAPED.sub(lambda found: bytes((int(found[1], 16),)), body)


def _named(body: bytes) -> _Named:
    """Whom a token names, whatever else is wrong with it."""
    try:
        return json.decode(_decoded(body), type=_Named)
    except (MsgspecError, ValueError, RecursionError):
        return _Named()


def _decoded(text: bytes) -> bytes:
    """Of either alphabet; what is none of it is nothing."""
    try:
        return b64decode(text.translate(_ONE_ALPHABET) + b"=" * (-len(text) % 4))
    except ValueError:
        return b""


_ONE_ALPHABET: Final = bytes.maketrans(b"-_", b"+/")


_NOBODY: Final = frozenset[str]()


class _Named(Struct, frozen=True):
    iss: str = ""
    aud: Any = None

    @property
    def audience(self) -> list[str]:
        given: list[Any] = self.aud if is_list(self.aud) else [self.aud]
        return [one for one in given if isinstance(one, str)]


def _issuer_in(written: Written, issuers: dict[str, Issuer]) -> Issuer | None:
    """By the token's own word: what it is worth is seen with that provider's keys, and no other's."""
    named = written.issuer
    return issuers.get(named) if isinstance(named, str) else None


def _terms(policy: Policy) -> tuple[object, ...]:
    """What a policy says of providers, and of where they may be asked."""
    return policy.identity, policy.web, policy.settings.urls


def _library() -> Any:
    """What checks signatures, which only somebody has who wants that."""
    try:
        from rightcall.identity import tokens  # late: it brings a library for cryptography
    except ModuleNotFoundError as missing:
        raise ConfigError(
            f"[identity] needs the package `{missing.name}`: install it with `pip install 'rightcall[auth]'`"
        ) from None
    return tokens


# ── tokens of ours in what a client sends ──
# Tokens for us in what a client sends: they end here (I-07). Nobody behind sees one, be it an upstream, an MCP server
# or a model, wherever the client has put it.
#
#     a header     is taken out of the request
#     an address   is refused
#     a body       is refused: a tool's arguments, an answer to a server's question, a message to a model
#
# Tokens for us are the server's own, those of the store (`rct_…`), and those of identity providers.

PREFIX: Final = "rct_"
"""How every token of a caller begins, so that secret scanners and our own redaction know one."""
_SHORTEST: Final = 16
"""Of anything that can be a token."""
_OF_CALLERS: Final = re.compile(rb"rct_[A-Za-z0-9_-]{43}")

_VALUE: Final = itemgetter(1)

Header = tuple[bytes, bytes]


class Held:
    """`own` is the server's token, where it has one; `speakers` knows those of identity providers."""

    def __init__(self, own: str | None, speakers: Speakers) -> None:
        self._own = None if own is None else own.encode()
        self._speakers = speakers

    def is_in(self, text: bytes) -> bool:
        """Whether a header or an address holds one, right or wrong, in any usual spelling."""
        if len(text) < _SHORTEST:
            return False
        return any(self._is_ours(one) for one in readings(text)) or self._speakers.is_held_in(text)

    def without(self, headers: list[Header]) -> list[Header]:
        if not self._may_be_in(b"\n".join(map(_VALUE, headers))):
            return headers
        return [one for one in headers if not self.is_in(one[1])]

    def _may_be_in(self, text: bytes) -> bool:
        """One look at all headers, which settles most requests. Of those without quoting and encoding (`readings`) only
        one reading is left."""
        if self._speakers.is_on or text.find(b"%") >= 0 or text.lower().find(b"basic") >= 0:
            return True
        return self._is_ours(text)

    def is_in_body(self, body: bytes) -> bool:
        """Whether a body holds one that is meant for us."""
        return len(body) >= _SHORTEST and (self._is_ours(unescaped(body)) or self._speakers.is_meant_in(body))

    def _is_ours(self, text: bytes) -> bool:
        own = self._own
        if own is not None and text.find(own) >= 0:  # `in` takes several times as long
            return True
        return text.find(b"rct_") >= 0 and _OF_CALLERS.search(text) is not None
