"""Logging into the console with an identity provider: the code flow of OpenID Connect, with PKCE, state and nonce.

    /login/with/0 ─▶ the provider, where the person says yes ─▶ /login/back ─▶ a session
         cookie: the login, sealed                                  the same cookie, once

Nothing is kept here between the two: what a login needs to be finished is in a cookie of the browser that began it,
sealed with the store's key, so that any worker or node can finish it and nobody else can read it. It counts for ten
minutes and once. The provider's word is an ID token, checked like any token (`identity/tokens.py`), which never leaves
this process.
"""

from __future__ import annotations

import hmac
import os
from base64 import b64encode
from secrets import token_urlsafe
from time import time
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from msgspec import MsgspecError, Struct, json
from msgspec.structs import replace

from rightcall.console.people import Identified
from rightcall.errors import ConfigError, IdentityError
from rightcall.identity.callers import Refusal, person_of
from rightcall.policy.settings import IdentitySettings

if TYPE_CHECKING:
    from rightcall.identity.discovery import Provider
    from rightcall.identity.speakers import Speakers
    from rightcall.identity.tokens import Claims, Issuer

BACK: Final = "/login/back"
"""Where the provider sends the browser back to; it is registered there, letter by letter."""
SECONDS: Final = 600
"""How long a login may take."""
_LONGEST_TARGET, _LONGEST_CODE, _LONGEST_COOKIE = 1_000, 4_000, 8_000
_SEALED: Final = {"alg": "dir", "enc": "A256GCM"}


class SignOnError(IdentityError):
    """Nobody was logged in; the message is for the person at the browser."""


class Choice(NamedTuple):
    """A provider that people may log in with: its number on the page, and what they know it as."""

    number: int
    name: str


class _Login(Struct, frozen=True):
    """One login that was begun, as the browser keeps it."""

    state: str
    nonce: str
    verifier: str
    issuer: str
    target: str
    begun: float


def choices(providers: tuple[IdentitySettings, ...]) -> list[Choice]:
    return [Choice(at, one.name) for at, one in enumerate(providers) if one.client_id]


class SignOn:
    """Used within one event loop. `key` is the store's; `speakers` has the providers of the policy in force."""

    def __init__(self, speakers: Speakers, key: bytes) -> None:
        self._speakers = speakers
        self._key = hmac.digest(key, b"console login", "sha256")

    async def begin(self, number: int, target: str, redirect: str) -> tuple[str, str]:
        """Where the browser goes, and its cookie. Raises SignOnError."""
        from rightcall.identity.flows import page_for  # late: only who logs in so needs it

        issuers = list(self._issuers().values())
        if not 0 <= number < len(issuers) or not issuers[number].settings.client_id:
            raise SignOnError("Nobody can log in with this provider here. Go back to the login page.")
        issuer = issuers[number]
        provider = await _metadata(issuer)
        if not _is_safe(provider, issuer.settings):
            raise SignOnError(_UNSAFE)
        target = target if len(target) <= _LONGEST_TARGET else "/"
        state, nonce, verifier = (token_urlsafe(32) for _ in range(3))
        login = _Login(state, nonce, verifier, issuer.settings.issuer, target, time())
        asked = {
            "client_id": issuer.settings.client_id, "redirect_uri": redirect, "state": state, "nonce": nonce,
            "scope": " ".join(issuer.settings.login_scopes),
        }  # fmt: skip
        try:
            return page_for(provider, verifier, asked), self._seal(login)
        except IdentityError as error:
            raise SignOnError(f"The identity provider cannot be used for logins: {error}.") from None

    async def finish(self, given: dict[str, str], cookie: str, redirect: str) -> Finished:
        """Who has logged in. `given` is what the provider sent along. Raises SignOnError."""
        issuers = self._issuers()
        login = self._open(cookie) if issuers else None  # without a provider, what opens it need not be there
        if login is None or not hmac.compare_digest(given.get("state", "").encode(), login.state.encode()):
            raise SignOnError("This login was not begun in this browser, or too long ago. Log in again.")
        issuer = issuers.get(login.issuer)
        if issuer is None:
            raise SignOnError("The policy no longer names this identity provider.")
        provider = await _metadata(issuer)
        named = given.get("iss")
        if named != login.issuer if named is not None else provider.names_itself:
            raise SignOnError("The answer does not come from the identity provider that was asked. Log in again.")
        code = given.get("code", "")
        if "error" in given or not 0 < len(code) <= _LONGEST_CODE:
            raise SignOnError("The identity provider did not log you in. Try again, or ask whoever runs it.")
        claims = await _claims(issuer, provider, code, login, redirect)
        found = person_of(claims.all, issuer.settings)
        if found is None:
            return Finished(login, claims, None)
        who = Identified(found.name, found.may, claims.issuer, claims.subject, issuer.settings.session, found.lines)
        return Finished(login, claims, who)

    def _issuers(self) -> dict[str, Issuer]:
        try:
            return self._speakers.issuers()
        except ConfigError as missing:
            raise SignOnError(str(missing)) from None

    def _seal(self, login: _Login) -> str:
        from joserfc import jwe, jwk  # late: only who logs in so needs it

        return jwe.encrypt_compact(_SEALED, json.encode(login), jwk.OctKey.import_key(self._key))

    def _open(self, cookie: str) -> _Login | None:
        from joserfc import errors, jwe, jwk

        if not 0 < len(cookie) <= _LONGEST_COOKIE or not cookie.isascii():
            return None
        try:
            opened = jwe.decrypt_compact(cookie, jwk.OctKey.import_key(self._key), algorithms=[*_SEALED.values()])
            login = json.decode(opened.plaintext or b"", type=_Login)
        except (errors.JoseError, MsgspecError, ValueError, TypeError):
            return None
        return login if 0 <= time() - login.begun <= SECONDS else None


class Finished(NamedTuple):
    """A login that the provider has vouched for; nobody: the policy does not let them in."""

    login: _Login
    claims: Claims
    who: Identified | None


def _is_safe(provider: Provider, settings: IdentitySettings) -> bool:
    """Whether a code that somebody else has seen is worth nothing to them. PKCE with S256 is always asked for. Large
    providers support it and do not list it: then the console's own secret has to protect the code, and the nonce binds
    the answer to the login (RFC 9700, 2.1.1). A provider that lists only other methods is refused."""
    methods = provider.challenge_methods
    return "S256" in methods or (not methods and bool(settings.client_secret_env))


_UNSAFE: Final = (
    "The identity provider does not offer logins that are safe enough: it does not list PKCE with S256. If it supports "
    "PKCE and does not say so, give the console a secret there (client_secret_env)."
)


async def _metadata(issuer: Issuer) -> Provider:
    try:
        return await issuer.metadata()
    except IdentityError as error:
        raise SignOnError(f"The identity provider cannot be asked now: {error}.") from None


async def _claims(issuer: Issuer, provider: Provider, code: str, login: _Login, redirect: str) -> Claims:
    """What the provider says for the code, checked as the ID token that it must be."""
    from rightcall.identity.discovery import Post, ask, text_at
    from rightcall.identity.tokens import read_token

    settings = issuer.settings
    form = {
        "grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "code_verifier": login.verifier,
    }  # fmt: skip
    more, headers = _proof(settings, provider)
    try:
        reply = await ask(provider.token_endpoint, issuer.reach, Post({**form, **more}, headers=headers))
        token = text_at(reply.document(), "id_token") if reply.status == 200 else ""
    except IdentityError as error:
        raise SignOnError(f"The identity provider cannot be asked now: {error}.") from None
    if not token:
        raise SignOnError("The identity provider did not say who you are. Log in again.")
    terms = replace(issuer.terms, audience=frozenset((settings.client_id,)), kind="id", nonce=login.nonce)
    written = read_token(token.encode(), terms.algorithms)
    found = written if isinstance(written, Refusal) else await issuer.check(written, terms)
    if isinstance(found, Refusal):
        raise SignOnError(f"The answer of the identity provider was refused: {found.told}.")
    return found


def _proof(settings: IdentitySettings, provider: Provider) -> tuple[dict[str, str], tuple[tuple[bytes, bytes], ...]]:
    """How the console shows the provider that it is itself: with its secret, where it has one."""
    name = settings.client_secret_env
    secret = os.environ.get(name, "") if name else ""
    if name and not secret:
        raise SignOnError(f"The console is not set up for logins: the variable {name} is not set.")
    if not secret:
        return {"client_id": settings.client_id}, ()
    if provider.auth_methods and "client_secret_basic" not in provider.auth_methods:
        return {"client_id": settings.client_id, "client_secret": secret}, ()
    pair = f"{quote(settings.client_id, safe='')}:{quote(secret, safe='')}"
    return {}, ((b"authorization", b"Basic " + b64encode(pair.encode())),)


def cookie_name(session: str) -> str:
    """The name of a login's cookie, beside that of the session."""
    return f"{session}_login"
