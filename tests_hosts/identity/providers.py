"""Two OpenID providers that have nothing in common, each a process of its own that is asked the same questions."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

HERE = Path(__file__).parent
CERTIFIED, TOOLKIT = "oidc-provider", "django-oauth-toolkit"
PROVIDERS = (CERTIFIED, TOOLKIT)
GROUPS = {"alice": ["engineers"], "bob": ["guests"]}
SCOPES = ("mcp:read", "mcp:write")
MACHINE, MACHINE_SECRET = "machine", "secret-of-the-machine-0123456789abcdef"
CONSOLE, CONSOLE_SECRET = "console", "secret-of-the-console-0123456789abcdef"


class Provider:
    """A provider that runs: its address, and orders to it."""

    def __init__(self, kind: str, process: subprocess.Popen[str]) -> None:
        self.kind = kind
        self._process = process
        self.issuer: str = self._told()["issuer"]

    @property
    def is_certified(self) -> bool:
        return self.kind == CERTIFIED

    def order(self, **orders: Any) -> dict[str, Any]:
        """`ttl` seconds for every access token from now on; `forget` all refresh tokens; tell all `secrets` that it
        gave or was sent."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(orders) + "\n")
        self._process.stdin.flush()
        return self._told()

    def machine_token(self, resource: str, scopes: str = SCOPES[0]) -> str:
        """For the machine that is registered beforehand."""
        metadata = httpx.get(f"{self.issuer}/.well-known/openid-configuration").json()
        form = {"grant_type": "client_credentials", "scope": scopes, "resource": resource}
        answer = httpx.post(metadata["token_endpoint"], data=form, auth=(MACHINE, MACHINE_SECRET))
        return answer.json()["access_token"]

    def _told(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"{self.kind} ended with {self._process.wait()}"
        return json.loads(line)


def clients(redirects: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Who is registered beforehand: a machine, and a console at these addresses."""
    machine = {"client_id": MACHINE, "client_secret": MACHINE_SECRET, "redirect_uris": [], "response_types": []}
    console = {"client_id": CONSOLE, "client_secret": CONSOLE_SECRET, "redirect_uris": list(redirects)}
    found = [{**machine, "grant_types": ["client_credentials"]}]
    return [*found, {**console, "grant_types": ["authorization_code"]}] if redirects else found


@contextmanager
def provider(
    kind: str, npm_bin: Path, registered: list[dict[str, Any]] | None = None, people: dict[str, list[str]] = GROUPS
) -> Generator[Provider]:
    """With these clients, and people in these groups."""
    given = {"clients": clients() if registered is None else registered, "groups": people, "scopes": list(SCOPES)}
    if kind == CERTIFIED:
        command = ["node", str(HERE / "oidc_provider.mjs")]
    else:
        command = [sys.executable, str(HERE / "django_provider.py")]
    env = {**os.environ, "RIGHTCALL_NPM_BIN": str(npm_bin), "RIGHTCALL_PROVIDER": json.dumps(given)}
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=env, text=True)
    try:
        yield Provider(kind, process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(timeout=30)
        process.stdout.close()
