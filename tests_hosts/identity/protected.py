"""Protected servers of the official SDKs, which believe the tokens of a provider: in Python, in a thread of this
process, and in TypeScript, as a process of its own. Both have a tool that says who calls, and one that needs more
scopes."""

import json
import os
import subprocess
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rightcall.base.http.answers import ServeLimits
from rightcall.server.app import Running, bind

HERE = Path(__file__).parent
SDKS = ("python", "typescript")
READING, WRITING = "mcp:read", "mcp:write"


class Protected:
    """A server that runs, what it saw, and what it believes no longer."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.seen: list[str] = []
        self.refused: set[str] = set()

    def refuse_all(self) -> None:
        """Whoever comes with a token that was seen already is sent away."""
        self.refused.update(self.seen)


class Verifier:
    """By the keys of the provider."""

    def __init__(self, issuer: str, site: Protected) -> None:
        metadata = httpx.get(f"{issuer}/.well-known/openid-configuration").json()
        self._keys = KeySet.import_key_set(httpx.get(metadata["jwks_uri"]).json())
        self._issuer, self._site = issuer, site

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            claims = jwt.decode(token, self._keys, algorithms=["RS256"]).claims
            jwt.JWTClaimsRegistry(
                iss={"essential": True, "value": self._issuer}, aud={"essential": True, "value": self._site.url}
            ).validate(claims)
        except (JoseError, ValueError):
            return None
        refused = token in self._site.refused
        self._site.seen.append(token)
        scopes = claims.get("scope", "").split()
        told = AccessToken(
            token=token, client_id=claims["client_id"], scopes=scopes, expires_at=claims["exp"],
            resource=self._site.url, subject=claims["sub"], claims=claims,
        )  # fmt: skip
        return None if refused else told


class SteppingUp:
    """The SDK asks for scopes for the whole server only: here one of the tools needs one more."""

    def __init__(self, app: ASGIApp, site: Protected, verifier: Verifier) -> None:
        self._app, self._site, self._verifier = app, site, verifier

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self._app(scope, receive, send)
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        token = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
        known = await self._verifier.verify_token(token) if b'"write"' in body and token else None
        if known is not None and WRITING not in known.scopes:
            where = self._site.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
            challenge = f'Bearer error="insufficient_scope", scope="{WRITING}", resource_metadata="{where}"'
            await send(
                {"type": "http.response.start", "status": 403, "headers": [(b"www-authenticate", challenge.encode())]}
            )
            return await send({"type": "http.response.body", "body": b"{}"})
        told = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return told.pop() if told else await receive()

        return await self._app(scope, again, send)


@contextmanager
def _python(issuer: str) -> Generator[Protected]:
    bound = bind("127.0.0.1", 0)
    site = Protected(f"http://127.0.0.1:{bound.getsockname()[1]}/mcp")
    auth = AuthSettings.model_validate(  # as text: an address that is made before gets a slash at its end
        {
            "issuer_url": issuer,
            "resource_server_url": site.url,
            "required_scopes": [READING],
            "validate_token_resource": True,
        }
    )
    verifier = Verifier(issuer, site)
    server = MCPServer("protected", auth=auth, token_verifier=verifier)

    @server.tool()
    def whoami() -> str:
        known = get_access_token()
        assert known is not None
        return f"{known.subject} {' '.join(known.scopes)}"

    @server.tool()
    def write(text: str) -> str:
        return f"wrote {text}"

    app = SteppingUp(server.streamable_http_app(), site, verifier)
    with Running(app, bound, ServeLimits()).in_thread():
        yield site


class Process(Protected):
    """The same as a process, which keeps count by itself."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        super().__init__(self._told()["url"])

    def refuse_all(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("refuse\n")
        self._process.stdin.flush()
        self._told()

    def _told(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the server ended with {self._process.wait()}"
        return json.loads(line)


@contextmanager
def _typescript(issuer: str, npm_bin: Path) -> Generator[Protected]:
    env = {**os.environ, "RIGHTCALL_NPM_BIN": str(npm_bin), "RIGHTCALL_ISSUER": issuer}
    pipe = subprocess.PIPE
    command = ["node", str(HERE / "protected.mjs")]
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=env, text=True)
    try:
        yield Process(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(timeout=30)
        process.stdout.close()


def protected(sdk: str, issuer: str, npm_bin: Path) -> AbstractContextManager[Protected]:
    return _python(issuer) if sdk == "python" else _typescript(issuer, npm_bin)
