"""Who we are to a provider: a client that it knows, and how that client proves itself where tokens are given.

In the order of the specification: one that was registered by hand (`client_id` of the policy), one that is described
by a document at its own address (`client_id` is that address), one that registers itself (RFC 7591). A client belongs
to the provider that knows it, and is shown to no other.
"""

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from secrets import token_urlsafe
from time import time
from typing import Any, Final, Literal
from urllib.parse import quote

from msgspec import Struct, json

from rightcall.base.http.answers import Headers, header_of
from rightcall.base.text import escaped
from rightcall.errors import IdentityError
from rightcall.identity.discovery import Post, Provider, Reach, ask, text_at

Method = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
"""How a client proves itself (`token_endpoint_auth_method`)."""
_METHODS: Final[tuple[Method, ...]] = ("none", "client_secret_basic", "client_secret_post", "private_key_jwt")
DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_JWT_BEARER: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ASSERTION_SECONDS: Final = 300
_LONGEST_ID: Final = 2000
_ALGORITHMS: Final = {"RSA": "RS256", "P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "Ed25519"}
"""By the kind of a key, or its curve."""


class Means(Struct, frozen=True):
    """What the policy gives to log in with. The secret and the key are their values, not where they are."""

    id: str = ""
    secret: str = ""
    key: str = ""
    assertion: str = ""
    """Another provider's signed word for who we are."""

    @property
    def is_document(self) -> bool:
        """The id is the address of a document about the client."""
        return self.id.startswith("https://")


class Client(Struct, frozen=True, omit_defaults=True):
    """A client of one provider. The private key is not kept with it."""

    issuer: str
    id: str
    secret: str = ""
    method: Method = "none"


async def choose_client(provider: Provider, means: Means, redirect: str, scopes: str, reach: Reach) -> Client:
    """The client to log in as, registered where that is needed; without a redirect, for codes on other devices. Raises
    IdentityError."""
    if means.id and not means.is_document:
        return known_client(provider, means)
    if means.is_document and provider.takes_client_documents:
        return Client(provider.issuer, means.id, method="private_key_jwt" if means.key else "none")
    if provider.registration_endpoint:
        return await _registered(provider, redirect, scopes, reach)
    raise IdentityError(
        f"{escaped(provider.issuer, 100)} registers no clients by itself: register RightCall there by hand, and write "
        "its client_id into the policy"
    )


def known_client(provider: Provider, means: Means) -> Client:
    """One that was registered by hand."""
    if means.key:
        return Client(provider.issuer, means.id, method="private_key_jwt")
    return Client(provider.issuer, means.id, means.secret, _method("", provider, bool(means.secret)))


async def _registered(provider: Provider, redirect: str, scopes: str, reach: Reach) -> Client:
    offered = [one for one in _METHODS[:3] if one in provider.auth_methods]
    about: dict[str, Any] = {
        "client_name": "RightCall",
        "application_type": "native",
        "redirect_uris": [redirect] if redirect else [],
        "grant_types": ["authorization_code" if redirect else DEVICE_GRANT, "refresh_token"],
        "response_types": ["code"] if redirect else [],
        "token_endpoint_auth_method": offered[0] if offered else "none",
    }
    if scopes:
        about["scope"] = scopes
    reply = await ask(provider.registration_endpoint, reach, Post(json=about))
    where = escaped(provider.issuer, 100)
    if reply.status not in (200, 201):
        raise IdentityError(f"{where} does not register RightCall as a client (status {reply.status})")
    found = reply.document()
    name, secret = text_at(found, "client_id"), text_at(found, "client_secret")
    if not _is_fit(name) or (secret and not _is_fit(secret)):
        raise IdentityError(f"{where} registered a client without an id that can be used")
    method = _method(text_at(found, "token_endpoint_auth_method"), provider, bool(secret))
    return Client(provider.issuer, name, secret, method)


def _is_fit(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_ID and text.isascii() and text.isprintable()


def _method(said: str, provider: Provider, has_secret: bool) -> Method:
    """The one that was agreed, else the first that both sides can do. A provider that says nothing takes Basic."""
    able: tuple[Method, ...] = ("client_secret_basic", "client_secret_post", "none") if has_secret else ("none",)
    for one in able:
        if one == said:
            return one
    for one in able:
        if one in provider.auth_methods:
            return one
    return able[0]


def prove(client: Client, provider_key: tuple[str, str], form: Mapping[str, str]) -> Post:
    """A form for the token endpoint, with the client's proof of itself. `provider_key` is the audience of that proof
    and the private key (PEM), where there is one. Raises IdentityError."""
    audience, key = provider_key
    whole = dict(form)
    match client.method:
        case "client_secret_basic":
            pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}".encode("ascii")
            return Post(form=whole, headers=((b"authorization", b"Basic " + b64encode(pair)),))
        case "client_secret_post":
            whole |= {"client_id": client.id, "client_secret": client.secret}
        case "private_key_jwt":
            whole |= {"client_id": client.id, "client_assertion_type": _JWT_BEARER}
            whole["client_assertion"] = sign_assertion(client.id, audience, key)
        case _:
            whole["client_id"] = client.id
    return Post(form=whole)


def sign_assertion(id: str, audience: str, key: str) -> str:
    """A client's word for itself, signed (RFC 7523). Raises IdentityError, which never repeats the key."""
    try:
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import import_key
    except ImportError:
        raise IdentityError("a private key needs the extra `auth`: pip install 'rightcall[auth]'") from None
    kinds = ("RSA", "EC", "OKP")
    for kind in kinds:
        try:
            found = import_key(key, kind)
            break
        except (JoseError, ValueError, TypeError):
            continue
    else:
        raise IdentityError("the private key of the policy cannot be read: expected RSA, EC or Ed25519 in PEM")
    if not found.is_private:
        raise IdentityError("the private key of the policy is a public one")
    curve = str(getattr(found, "curve_name", "") or found.key_type)
    algorithm = _ALGORITHMS.get(curve)
    if algorithm is None:
        raise IdentityError("the private key of the policy is of a kind that is not used: expected RSA, EC or Ed25519")
    now = int(time())
    claims = {
        "iss": id,
        "sub": id,
        "aud": audience,
        "iat": now,
        "exp": now + _ASSERTION_SECONDS,
        "jti": token_urlsafe(16),
    }
    try:
        return jwt.encode({"alg": algorithm}, claims, found, algorithms=[algorithm])
    except (JoseError, ValueError):
        raise IdentityError("the private key of the policy cannot sign") from None


# ── proofs ──
# Tokens that are bound to a key of ours (DPoP, RFC 9449): a token that somebody else copied is worth nothing to them.
#
#     a server challenges with `DPoP` ─▶ a new key ─▶ a proof at the token endpoint ─▶ a token bound to that key
#                                                  ─▶ a proof of its own with each request to the server
#
# A proof names the request that it is for, and counts once. Provider and server may each want a word of theirs in it
# (`DPoP-Nonce`), which they say when it is missing.

ALGORITHM: Final = "ES256"
_CURVE: Final = "P-256"
_NONCE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,1000}\Z")


class Prover:
    """Signs with one key (PEM), and remembers the last word of whoever reads its proofs."""

    def __init__(self, key: str) -> None:
        self._key: Any = _library().import_key(key, "EC")
        self.nonce = ""

    def prove(self, method: str, url: str, token: str = "") -> str:
        """A proof for one request; with the token that goes with it, where there is one."""
        claims: dict[str, Any] = {
            "jti": token_urlsafe(16),
            "htm": method,
            "htu": url.partition("#")[0].partition("?")[0],
            "iat": int(time()),
        }
        if token:
            claims["ath"] = urlsafe_b64encode(sha256(token.encode("ascii")).digest()).decode("ascii").rstrip("=")
        if self.nonce:
            claims["nonce"] = self.nonce
        header = {"typ": "dpop+jwt", "alg": ALGORITHM, "jwk": self._key.as_dict(private=False)}
        return _jws().serialize_compact(header, json.encode(claims), self._key, algorithms=[ALGORITHM])

    def heed(self, headers: Headers) -> bool:
        """Takes the word that an answer gives; whether it is a new one."""
        said = header_of(headers, b"dpop-nonce").decode("latin-1")
        if not _NONCE.match(said) or said == self.nonce:
            return False
        self.nonce = said
        return True


def new_key_for(provider: Provider) -> str:
    """Raises IdentityError where the provider binds no tokens."""
    if ALGORITHM not in provider.proof_algorithms:
        where = escaped(provider.issuer, 100)
        raise IdentityError(f"the server wants tokens that are bound to a key (DPoP), which {where} does not give")
    return new_key()


def new_key() -> str:
    """A private key for one login, as it is kept (PEM). Raises IdentityError."""
    made: Any = _library().ECKey.generate_key(_CURVE, private=True)
    return made.as_pem(private=True).decode("ascii")


def _library() -> Any:
    try:
        from joserfc import jwk  # late: it brings a library for cryptography
    except ImportError:
        raise IdentityError(
            "a token that is bound to a key needs the extra `auth`: pip install 'rightcall[auth]'"
        ) from None
    return jwk


def _jws() -> Any:
    from joserfc import jws

    return jws
