"""A small OpenID provider on loopback, with keys made on the fly: what it publishes, signs and answers can be scripted.

with OpenId() as provider:
    token = provider.token(sub="anna", aud="https://gateway.example.org/mcp")
"""

import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jws
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey
from msgspec import json

GATEWAY = "https://gateway.example.org/mcp"
KINDS: dict[str, Callable[[], RSAKey | ECKey | OKPKey]] = {
    "RS256": lambda: RSAKey.generate_key(2048),
    "PS256": lambda: RSAKey.generate_key(2048),
    "ES256": lambda: ECKey.generate_key("P-256"),
    "Ed25519": lambda: OKPKey.generate_key("Ed25519"),
}


class _Any(jws.JWSRegistry):
    """Signs with whatever it is told to."""

    max_header_length = max_payload_length = 1_000_000

    def get_alg(self, name: str) -> Any:
        return self.algorithms[name]

    def check_header(self, header: Any) -> None:
        del header


@cache
def key_of(kind: str, number: int = 0) -> RSAKey | ECKey | OKPKey:
    """The same in one run of the tests: an RSA key takes long to find."""
    del number
    return KINDS[kind]()


def public(key: Any, **more: Any) -> dict[str, Any]:
    """A key as it is published."""
    return {**key.as_dict(private=False), "use": "sig", **more}


def sign(header: dict[str, Any], claims: Any, key: RSAKey | ECKey | OKPKey | OctKey) -> str:
    """A token, whatever its header says."""
    payload = claims if isinstance(claims, bytes) else json.encode(claims)
    return jws.serialize_compact(header, payload, key, registry=_Any(strict_check_header=False))


def unsigned(header: dict[str, Any], claims: dict[str, Any], signature: str = "") -> str:
    return f"{b64(json.encode(header))}.{b64(json.encode(claims))}.{signature}"


def b64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


class OpenId:
    """`documents` are answered as they are, by path; an int is a status. `people` are the claims of those who may log
    in, by subject; `visitor` is who sits at the browser."""

    def __init__(self, kind: str = "ES256", path: str = "") -> None:
        self.kind, self.key, self.kid = kind, key_of(kind), "key-1"
        self.documents: dict[str, Any] = {}
        self.asked: list[str] = []
        self.forms: list[dict[str, str]] = []
        self.people: dict[str, dict[str, Any]] = {}
        self.visitor = "anna"
        self.client, self.secret = "console", ""
        self.change: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
        """What an ID token says, before it is signed."""
        self.codes: dict[str, dict[str, str]] = {}
        self._path = path
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                provider.asked.append(self.path)
                provider._answer(self, None)

            def do_POST(self) -> None:
                provider.asked.append(self.path)
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                provider._answer(self, {name: values[0] for name, values in parse_qs(body.decode()).items()})

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.issuer = f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def rotate(self, kind: str, kid: str, number: int = 1) -> None:
        self.kind, self.key, self.kid = kind, key_of(kind, number), kid

    @property
    def keys(self) -> dict[str, Any]:
        return {"keys": [public(self.key, kid=self.kid, alg=self.kind)]}

    @property
    def metadata(self) -> dict[str, Any]:
        ends = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "jwks"}
        return {
            "issuer": self.issuer,
            **{name: f"{self.issuer}/{path}" for name, path in ends.items()},
            "authorization_response_iss_parameter_supported": True,
            "code_challenge_methods_supported": ["S256"],
        }

    def claims(self, **more: Any) -> dict[str, Any]:
        now = int(time.time())
        said = {"iss": self.issuer, "aud": GATEWAY, "sub": "anna", "iat": now, "exp": now + 600, **more}
        return {name: value for name, value in said.items() if value is not None}

    def token(self, *, header: dict[str, Any] | None = None, **claims: Any) -> str:
        """An access token; a claim that is None is left out."""
        named = {"alg": self.kind, "kid": self.kid, "typ": "at+jwt", **(header or {})}
        return sign({name: one for name, one in named.items() if one is not None}, self.claims(**claims), self.key)

    # ── answers ──

    def _answer(self, to: BaseHTTPRequestHandler, form: dict[str, str] | None) -> None:
        where = urlsplit(to.path)
        path = where.path.removeprefix(self._path)
        found = self.documents.get(path)
        if found is None:
            if path == "/authorize":
                _send(to, 302, b"", location=self.authorize({n: v[0] for n, v in parse_qs(where.query).items()}))
                return
            found = {
                "/.well-known/openid-configuration": lambda: self.metadata, "/jwks": lambda: self.keys,
                "/token": lambda: self.grant(form or {}, to.headers.get("authorization", "")),
            }.get(path, lambda: 404)()  # fmt: skip
        if isinstance(found, int):
            _send(to, found, b"{}")
        else:
            _send(to, 200, found if isinstance(found, bytes) else json.encode(found))

    def authorize(self, query: dict[str, str]) -> str:
        """Where the browser is sent: its user says yes at once."""
        code = token_urlsafe(16)
        self.codes[code] = query
        back = {"code": code, "state": query.get("state", ""), "iss": self.issuer}
        return f"{query.get('redirect_uri', '')}?{urlencode(back)}"

    def grant(self, form: dict[str, str], authorization: str) -> Any:
        self.forms.append(form | {"authorization": authorization})
        asked = self.codes.pop(form.get("code", ""), None)
        challenge = b64(sha256(form.get("code_verifier", "").encode()).digest())
        if asked is None or challenge != asked.get("code_challenge") or asked.get("code_challenge_method") != "S256":
            return 400
        if form.get("redirect_uri") != asked.get("redirect_uri") or asked.get("client_id") != self.client:
            return 400
        said = self.claims(aud=self.client, sub=self.visitor, nonce=asked.get("nonce"))
        said = self.change(said | self.people.get(self.visitor, {}))
        token = sign({"alg": self.kind, "kid": self.kid}, said, self.key)
        return {"access_token": "opaque", "token_type": "Bearer", "expires_in": 600, "id_token": token}


def _send(to: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    to.send_response(status)
    for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
        to.send_header(name, value)
    to.end_headers()
    to.wfile.write(body)
