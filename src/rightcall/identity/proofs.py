"""Tokens that are bound to a key of ours (DPoP, RFC 9449): a token that somebody else copied is worth nothing to them.

    a server challenges with `DPoP` ─▶ a new key ─▶ a proof at the token endpoint ─▶ a token bound to that key
                                                 ─▶ a proof of its own with each request to the server

A proof names the request that it is for, and counts once. Provider and server may each want a word of theirs in it
(`DPoP-Nonce`), which they say when it is missing.
"""

import re
from base64 import urlsafe_b64encode
from hashlib import sha256
from secrets import token_urlsafe
from time import time
from typing import Any, Final

from msgspec import json

from rightcall.base.http.answers import Headers, header_of
from rightcall.base.text import escaped
from rightcall.errors import IdentityError
from rightcall.identity.discovery import Provider

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
