"""A provider of logins and a protected MCP server on loopback, each of which a test can make do wrong.

    with guarded() as (provider, server): …        `provider.said` and `server.said` are what they were asked

The person's browser is `browse`: it follows the provider's redirect, as a browser does where the person says yes.
"""

import base64
import hashlib
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

Reply = tuple[int, dict[str, str], Any]


class Said:
    """One request."""

    def __init__(self, method: str, target: str, headers: dict[str, str], body: bytes) -> None:
        parts = urlsplit(target)
        self.method, self.path, self.headers, self.body = method, parts.path, headers, body
        self.query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}

    @property
    def form(self) -> dict[str, str]:
        return {key: values[0] for key, values in parse_qs(self.body.decode(), keep_blank_values=True).items()}

    @property
    def json(self) -> Any:
        return json.loads(self.body or b"null")

    @property
    def authorization(self) -> str:
        return self.headers.get("authorization", "")


class Service:
    """A server on loopback; `overrides` answer in its place, by path."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self.overrides: dict[str, Callable[[Said], Reply] | Reply] = {}
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _handle(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                said = Said(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                service.said.append(said)
                instead = service.overrides.get(said.path)
                status, headers, found = (
                    (instead(said) if callable(instead) else instead) if instead is not None else service.answer(said)
                )
                data = found if isinstance(found, bytes) else json.dumps(found).encode() if found is not None else b""
                self.send_response(status)
                for name, value in ({"content-type": "application/json"} | headers).items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = _handle  # noqa: N815 - as the library calls them

            def log_message(self, format: str, *args: Any) -> None:
                del format, args

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def answer(self, said: Said) -> Reply:
        raise NotImplementedError

    def asked(self, path: str) -> list[Said]:
        return [one for one in self.said if one.path == path]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


_LASTING = ("authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code")
"""Ways of people, who are not to be asked each time."""


class Provider(Service):
    """An authorisation server: registration, code with PKCE, device codes, client credentials, rotation, revocation.
    `metadata` is laid over its document, where None takes a key away; `redirected` over its redirects."""

    def __init__(self) -> None:
        super().__init__()
        self.metadata: dict[str, Any] = {}
        self.redirected: dict[str, str | None] = {}
        self.granted: dict[str, Any] = {}
        """Laid over the answers of the token endpoint."""
        self.refused: set[str] = set()
        """Ways of machines to a token that it does not take."""
        self.life = 3600
        self.pending = 0
        """How many times a device is told to wait."""
        self.secret = ""
        """What a client gets that registers, and has to prove itself with."""
        self.codes: dict[str, dict[str, str]] = {}
        self.access: dict[str, dict[str, str]] = {}
        self.refresh: dict[str, dict[str, str]] = {}
        self._count = 0
        self._lock = threading.Lock()

    @property
    def secrets(self) -> list[str]:
        """Whatever must not be seen anywhere."""
        return [*self.codes, *self.access, *self.refresh, *([self.secret] if self.secret else [])]

    def document(self) -> dict[str, Any]:
        found = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "revocation_endpoint": f"{self.url}/revoke",
            "device_authorization_endpoint": f"{self.url}/device",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": [
                "none",
                "client_secret_basic",
                "client_secret_post",
                "private_key_jwt",
            ],
            "authorization_response_iss_parameter_supported": True,
            **self.metadata,
        }
        return {key: value for key, value in found.items() if value is not None}

    def answer(self, said: Said) -> Reply:
        ways: dict[str, Callable[[Said], Reply]] = {
            "/.well-known/oauth-authorization-server": lambda _: (200, {}, self.document()),
            "/register": self._register,
            "/authorize": self._authorize,
            "/token": self._token,
            "/device": self._device,
            "/revoke": self._revoke,
        }
        return ways.get(said.path, lambda _: (404, {}, {}))(said)

    def _new(self, kind: str) -> str:
        with self._lock:
            self._count += 1
            return f"{kind}-{self._count}-{hashlib.sha256(f'{kind}{self._count}{self.url}'.encode()).hexdigest()}"

    def _register(self, said: Said) -> Reply:
        about = {"client_id": "registered", **said.json}
        return 201, {}, about | ({"client_secret": self.secret} if self.secret else {})

    def _authorize(self, said: Said) -> Reply:
        asked = said.query
        code = self._new("code")
        self.codes[code] = asked
        back = {"code": code, "state": asked["state"], "iss": self.url, **self.redirected}
        query = urlencode({key: value for key, value in back.items() if value is not None})
        return 302, {"location": f"{asked['redirect_uri']}?{query}"}, None

    def _device(self, said: Said) -> Reply:
        self.codes["device-code-1"] = said.form
        about = {"device_code": "device-code-1", "user_code": "WDJB-MJHT", "interval": 0, "expires_in": 60}
        return 200, {}, about | {"verification_uri": f"{self.url}/activate"}

    def _token(self, said: Said) -> Reply:
        form = said.form
        match form.get("grant_type"):
            case "authorization_code":
                asked = self.codes.pop(form.get("code", ""), None)
                digest = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
                if asked is None or digest.rstrip(b"=").decode() != asked["code_challenge"]:
                    return 400, {}, {"error": "invalid_grant", "error_description": f"bad {form.get('code')}"}
            case "refresh_token":
                asked = self.refresh.pop(form.get("refresh_token", ""), None)
            case "urn:ietf:params:oauth:grant-type:device_code":
                if self.pending:
                    self.pending -= 1
                    return 400, {}, {"error": "authorization_pending"}
                asked = self.codes.pop(form["device_code"], None)
            case "client_credentials" | "urn:ietf:params:oauth:grant-type:jwt-bearer" as grant:
                asked = None if grant in self.refused else form
            case _:
                asked = None
        if asked is None:
            return 400, {}, {"error": "invalid_grant"}
        access, refresh = self._new("access"), self._new("refresh")
        about = {"resource": form.get("resource", ""), "scope": asked.get("scope", "")}
        self.access[access] = about
        found: dict[str, Any] = {"access_token": access, "token_type": "Bearer", "expires_in": self.life}
        if form["grant_type"] in _LASTING:
            self.refresh[refresh] = about
            found["refresh_token"] = refresh
        found |= {"scope": about["scope"]} if about["scope"] else {}
        return 200, {}, {key: value for key, value in (found | self.granted).items() if value is not None}

    def _revoke(self, said: Said) -> Reply:
        self.access.pop(said.form["token"], None)
        self.refresh.pop(said.form["token"], None)
        return 200, {}, None


class Guarded(Service):
    """An MCP server that lets in whoever has a token of its provider for itself. `scope` is what a call needs."""

    def __init__(self, provider: Provider) -> None:
        super().__init__()
        self.provider = provider
        self.resource = f"{self.url}/mcp"
        self.metadata: dict[str, Any] = {}
        self.names_metadata = True
        self.scope = ""
        self.calls: list[dict[str, Any]] = []

    @property
    def mcp(self) -> str:
        return f"{self.url}/mcp"

    def document(self) -> dict[str, Any]:
        found = {"resource": self.resource, "authorization_servers": [self.provider.url], **self.metadata}
        return {key: value for key, value in found.items() if value is not None}

    def challenge(self, more: str = "") -> dict[str, str]:
        where = (
            f', resource_metadata="{self.url}/.well-known/oauth-protected-resource/mcp"' if self.names_metadata else ""
        )
        return {"www-authenticate": f'Bearer realm="mcp"{where}{more}'}

    def answer(self, said: Said) -> Reply:
        if said.path == "/.well-known/oauth-protected-resource/mcp":
            return 200, {}, self.document()
        if said.path != "/mcp" or said.method != "POST":
            return (405 if said.path == "/mcp" else 404), {}, {}
        about = self.provider.access.get(said.authorization.removeprefix("Bearer "))
        if about is None or about["resource"] not in ("", self.resource):
            return 401, self.challenge(f', scope="{self.scope}"' if self.scope else ""), {"error": "unauthorized"}
        asked = said.json
        if asked.get("method") == "tools/call" and self.scope and self.scope not in about["scope"].split():
            return 403, self.challenge(f', error="insufficient_scope", scope="{self.scope}"'), {}
        return self._answered(asked)

    def _answered(self, asked: dict[str, Any]) -> Reply:
        def result(found: Any) -> Reply:
            return 200, {}, {"jsonrpc": "2.0", "id": asked["id"], "result": found}

        match asked.get("method"):
            case "initialize":
                return result(
                    {
                        "protocolVersion": "2025-06-18",
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "g", "version": "1"},
                    }
                )
            case "tools/list":
                about = {"name": "greet", "description": "Greets.", "inputSchema": {"type": "object"}}
                return result({"tools": [about | {"annotations": {"readOnlyHint": True}}]})
            case "tools/call":
                self.calls.append(asked["params"])
                return result({"content": [{"type": "text", "text": "hello"}]})
            case _ if "id" not in asked:
                return 202, {}, None
            case _:
                missing = {"code": -32601, "message": "Method not found"}
                return 200, {}, {"jsonrpc": "2.0", "id": asked["id"], "error": missing}


@contextmanager
def guarded() -> Iterator[tuple[Provider, Guarded]]:
    provider = Provider()
    server = Guarded(provider)
    try:
        yield provider, server
    finally:
        server.close()
        provider.close()


def get(url: str) -> tuple[int, str, str]:
    """Status, where it redirects to, and the page."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        connection.request("GET", f"{parts.path or '/'}?{parts.query}")
        answer = connection.getresponse()
        return answer.status, answer.getheader("location", ""), answer.read().decode()
    finally:
        connection.close()


def browse(link: str) -> str:
    """What the person sees in the end, who said yes."""
    _, back, page = get(link)
    return get(back)[2] if back else page


def browse_later(link: str) -> None:
    """As a browser that was opened does it."""
    threading.Thread(target=browse, args=(link,), daemon=True).start()
