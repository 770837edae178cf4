"""A protected MCP server to practise a login with: notes behind OAuth, on this machine, without an account anywhere.

python examples/protected_server.py [--port 4150]

It is its own login provider. The page it shows logs you in with one click, so it protects nothing: for practice only.
"""

import base64
import hashlib
import json
import secrets
import sys
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

TOOL = {
    "name": "list",
    "description": "List the notes",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}
Reply = tuple[int, dict[str, str], Any]


class Notes(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    url = ""
    codes: dict[str, dict[str, str]] = {}  # noqa: RUF012 - one server, one memory
    tokens: dict[str, str] = {}  # noqa: RUF012 - each token with its scopes

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if parts.path == "/authorize":
            self._send(self._authorize(query))
            return
        self._send((200, {}, found) if (found := self._document(parts.path)) else (404, {}, {}))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        match self.path:
            case "/register":
                self._send((201, {}, json.loads(body) | {"client_id": "practice"}))
            case "/token":
                self._send(self._token({key: values[0] for key, values in parse_qs(body.decode()).items()}))
            case "/revoke":
                self.tokens.pop(parse_qs(body.decode())["token"][0], None)
                self._send((200, {}, {}))
            case "/mcp":
                self._send(self._mcp(json.loads(body)))
            case _:
                self._send((404, {}, {}))

    def _document(self, path: str) -> dict[str, Any]:
        """What a client finds out by itself: who gives the logins, and where."""
        if path == "/.well-known/oauth-protected-resource/mcp":
            return {"resource": f"{self.url}/mcp", "authorization_servers": [self.url], "scopes_supported": ["notes"]}
        if path == "/.well-known/oauth-authorization-server":
            places = {
                "authorization": "authorize",
                "token": "token",
                "registration": "register",
                "revocation": "revoke",
            }
            return {
                "issuer": self.url,
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True,
                **{f"{name}_endpoint": f"{self.url}/{place}" for name, place in places.items()},
            }
        return {}

    def _authorize(self, asked: dict[str, str]) -> Reply:
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        back = f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state'], 'iss': self.url})}"
        page = (
            f"<!doctype html><title>Notes</title><p>Let RightCall read your notes?<p><a href='{escape(back)}'>Allow</a>"
        )
        return 200, {"content-type": "text/html"}, page.encode()

    def _token(self, form: dict[str, str]) -> Reply:
        if form["grant_type"] == "refresh_token":
            scope = self.tokens.pop(form["refresh_token"], None)
        else:
            asked = self.codes.pop(form["code"], {})
            digest = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
            proven = digest.rstrip(b"=").decode() == asked.get("code_challenge")
            scope = asked.get("scope", "") if proven else None
        if scope is None:
            return 400, {}, {"error": "invalid_grant"}
        access, refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self.tokens |= {access: scope, refresh: scope}
        about = {"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh}
        return 200, {}, about | {"scope": scope}

    def _mcp(self, asked: dict[str, Any]) -> Reply:
        if self.headers.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            where = f"{self.url}/.well-known/oauth-protected-resource/mcp"
            return 401, {"www-authenticate": f'Bearer resource_metadata="{where}"'}, {}
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "notes", "version": "1"},
            },
            "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [{"type": "text", "text": "Buy milk. Call Ada."}]},
        }
        if "id" not in asked:
            return 202, {}, {}
        if asked["method"] in results:
            return 200, {}, {"jsonrpc": "2.0", "id": asked["id"], "result": results[asked["method"]]}
        error = {"code": -32601, "message": "Method not found"}
        return 200, {}, {"jsonrpc": "2.0", "id": asked["id"], "error": error}

    def _send(self, reply: Reply) -> None:
        status, headers, found = reply
        body = found if isinstance(found, bytes) else json.dumps(found).encode()
        self.send_response(status)
        for name, value in ({"content-type": "application/json", "content-length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


def main() -> None:
    port = int(sys.argv[sys.argv.index("--port") + 1]) if "--port" in sys.argv else 4150
    server = ThreadingHTTPServer(("127.0.0.1", port), Notes)
    server.daemon_threads = True
    Notes.url = f"http://127.0.0.1:{server.server_address[1]}"
    print(f"Notes are at {Notes.url}/mcp, and want a login.\nPress Ctrl-C to stop.", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("Stopped.")


if __name__ == "__main__":
    main()
