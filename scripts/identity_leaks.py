"""Logs twenty people in, everywhere, makes them call and fail, and looks for their secrets in all that is left behind.

    RIGHTCALL_NPM_BIN=.venv-hosts/npm/node_modules/.bin .venv-hosts/bin/python scripts/identity_leaks.py

Each of the people logs in at a protected server with `rightcall login`, and at the gateway by an official client; some
open the console. Tokens are sent where they do not belong, taken back, and refused. What the provider gave or was sent
(tokens, codes, verifiers, client secrets) is then looked for in the log, the audit log, the messages and the pages: as
it is, and in the encodings in which it could hide. Only the files of the logins themselves may hold it.
"""

import argparse
import asyncio
import base64
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, urljoin

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests_hosts")]

import httpx

from identity.guarded import RIGHTCALL, Guarded, environment, free_port, guarded, tools
from identity.person import Person
from identity.protected import Protected, protected
from identity.providers import CERTIFIED, CONSOLE, CONSOLE_SECRET, Provider, clients, provider
from identity.sdk_client import Storage, sdk_client

PEOPLE = 20
_WORD = re.compile(r"[\w~%+/=.-]{12,}")
_LINK = re.compile(r"https?://\S+")
_HREF = re.compile(r'(?:href|src)="(/[^"#]*)"')
LINES = f'client_id = "{CONSOLE}"\nclient_secret_env = "CONSOLE_SECRET"\nlogin_scopes = ["openid", "email", "groups"]\n'
TOOLS = ("tools_echo", "notes_write", "notes_whoami")
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = {"type": "function", "function": {"name": "read_file", "parameters": PATH}}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
NAMED = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "tools_echo"}
SHORTEST = 12
"""Characters of what is looked for: less than that would be found by chance."""


class Traces:
    """All that was printed, answered and shown, by where it was."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}

    def add(self, where: str, text: str) -> None:
        self.texts.setdefault(where, []).append(text)

    def lines(self) -> dict[str, int]:
        return {where: sum(text.count("\n") + 1 for text in texts) for where, texts in self.texts.items()}


def spellings(secret: str) -> Iterator[str]:
    """How a secret may be written: as it is, quoted, in hexadecimal, and in Base64, also within a longer text."""
    data = secret.encode()
    yield from (secret, quote(secret, safe=""), quote(quote(secret, safe=""), safe=""), data.hex(), secret[::-1])
    for skipped in range(3):
        whole = base64.b64encode(b"\0" * skipped + data).decode()
        inner = whole[4 if skipped else 0 :].rstrip("=")[:-1]
        yield from (inner, inner.replace("+", "-").replace("/", "_"))


# ── the run ──


class Company:
    """The people, their gateway, and the server behind it."""

    def __init__(self, folder: Path, issuer: str, gateway: Guarded, server: Protected) -> None:
        self.folder, self.issuer, self.gateway, self.server = folder, issuer, gateway, server
        self.traces = Traces()
        self.names = [f"user-{at}" for at in range(PEOPLE)]

    def run(self, *arguments: str) -> None:
        command = [*RIGHTCALL, *arguments, "--policy", str(self.folder / "rightcall.toml")]
        done = subprocess.run(command, cwd=self.folder, env=environment(self.folder), capture_output=True, text=True)
        self.traces.add("messages", done.stdout + done.stderr)

    def whose(self, name: str) -> str:
        """As whom the gateway knows somebody whose token says so: the provider's word, not ours."""
        return f"{self.issuer}#{name}"

    def log_in(self, name: str, *, agrees: bool = True) -> None:
        """At the protected server, with the command."""
        command = [*RIGHTCALL, "login", "notes", "--as", self.whose(name), "--no-browser", "--timeout", "20"]
        command += ["--policy", str(self.folder / "rightcall.toml")]
        pipe = subprocess.PIPE
        env = environment(self.folder, PYTHONUNBUFFERED="1")
        with subprocess.Popen(command, cwd=self.folder, env=env, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stdout is not None
            shown = ""
            for line in process.stdout:
                shown += line
                if "Waiting for the login" in line:
                    break
            link = _LINK.search(shown)
            assert link is not None, shown
            with Person(name) as person:
                page = person.open(link[0]) if agrees else person.refuse(link[0])
            out, err = process.communicate(timeout=60)
        self.traces.add("messages", shown + out + err)
        self.traces.add("pages", page.text)

    async def call(self, name: str, expected: str = "") -> str:
        """At the gateway, with the official client, which logs in by itself. Its token comes back."""
        storage = Storage()
        with Person(name) as person:
            async with sdk_client(self.gateway.mcp, person, storage) as client:
                asked = [await client.call_tool(one, {"text": "hello"}) for one in TOOLS]
        told = [repr(answer) for answer in asked]
        assert (expected or f"{name} mcp:read") in told[-1], told[-1]
        self.traces.add("answers", "\n".join(told))
        assert storage.tokens is not None
        return storage.tokens.access_token

    def misuse(self, token: str) -> None:
        """A token where it does not belong, or not as it was given."""
        host = self.gateway.mcp.removesuffix("/mcp")
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for url, headers in (
            (self.gateway.mcp, {"authorization": f"Bearer {token}x"}),
            (self.gateway.mcp, {"authorization": f"Basic {token}"}),
            (self.gateway.mcp, {"x-api-key": f"{token[:-3]}abc"}),
            (f"{host}/{token}/mcp", {}),
            (f"{self.gateway.mcp}?access_token={token}", {}),
            (f"{host}/v1/chat/completions", {"authorization": f"Bearer {token}"}),
            (f"{host}/{token}", {}),
        ):
            answer = httpx.post(url, json=body, headers=headers)
            self.traces.add("answers", f"{answer.headers}\n{answer.text}")

    def work(self, tokens: list[str], calls: int) -> None:
        """Calls at the gateway, and every second one at the proxy, whose model gets most of them wrong."""
        with httpx.Client(headers={"accept": "application/json, text/event-stream"}, timeout=60) as client:
            for at in range(calls):
                sent = {"authorization": f"Bearer {tokens[at % len(tokens)]}"}
                if at % 2:
                    url = self.gateway.mcp.replace("/mcp", "/v1/chat/completions")
                    body = {
                        "model": "practice",
                        "messages": [{"role": "user", "content": f"read {at}"}],
                        "tools": [READ],
                    }
                else:
                    url = self.gateway.mcp
                    params = {"name": "tools_echo", "arguments": {"text": f"call {at}"}, "_meta": META}
                    body = {"jsonrpc": "2.0", "id": at, "method": "tools/call", "params": params}
                answer = client.post(url, json=body, headers=sent | NAMED)
                assert answer.status_code == 200, answer.text
                self.traces.add("answers", answer.text)

    def look(self, name: str, most: int) -> None:
        """Every page of the console that leads to another."""
        home = self.gateway.console
        with Person(name) as person:
            page = person.open(f"{home}/login/with/0?next=/live", reading=home)
            assert page.url == f"{home}/live", page.url
            known = {"/live", "/"}
            waiting = ["/", "/login?next=/live", "/login/back?code=x&state=y"]
            while waiting and len(known) < most:
                page = person.open(urljoin(home, waiting.pop(0)), reading=home)
                self.traces.add("pages", page.text)
                found = {unescape(one) for one in _HREF.findall(page.text)} - known
                fresh = sorted(one for one in found if not one.startswith(("/login", "/static", "/logout")))
                known.update(fresh)
                waiting += fresh


def run_company(company: Company, started: Provider, calls: int) -> None:
    for name in company.names:
        company.log_in(name)
    tokens = [asyncio.run(company.call(name)) for name in company.names]
    for token in tokens[:5]:
        company.misuse(token)
    company.log_in("user-0", agrees=False)
    company.run("login")
    company.run("login", "--json")
    company.run("status", "--json")
    company.server.refuse_all()  # so that logins are renewed
    asyncio.run(company.call("user-1"))
    started.order(forget=True)  # and then are over
    company.server.refuse_all()
    asyncio.run(company.call("user-2", "rightcall login notes"))
    company.run("login")
    company.run("logout", "notes", "--as", company.whose("user-3"))
    company.run("logout", "notes", "--as", company.whose("user-4"), "--json")
    company.work(tokens, calls)
    for name in company.names[:3]:
        company.look(name, 40)


# ── the search ──


def collect(company: Company) -> None:
    """What the server and the commands have written, but for the logins themselves."""
    folder, traces = company.folder, company.traces
    traces.add("log", (folder / "out").read_text() + (folder / "log").read_text())
    traces.add("audit", "\n".join(json.dumps(record) for record in company.gateway.records()))
    for file in sorted((folder / "state").rglob("*")):
        if file.is_file() and file.parent.name != "logins":
            traces.add("files", file.read_bytes().decode("latin-1"))


def _words(texts: list[str]) -> str:
    """Each run of characters that a secret can have, once: most of a log is said again and again."""
    return "\n".join({word for text in texts for word in _WORD.findall(text)})


def search(traces: Traces, secrets: list[str]) -> list[str]:
    """Where something was found, without repeating it."""
    whole = {where: _words(texts) for where, texts in traces.texts.items()}
    found: list[str] = []
    for secret in secrets:
        parts = [secret, *(secret.split(".") if secret.count(".") == 2 else [])]  # also the parts of a JWT
        for part in parts[:1] + parts[2:]:
            if len(part) >= SHORTEST:
                written = list(spellings(part))
                hit = (where for where, text in whole.items() if any(one in text for one in written))
                found += [f"{where}: {part[:4]}…" for where in hit]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=3500)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.INFO)  # of the counterparts
    npm_bin = Path(os.environ["RIGHTCALL_NPM_BIN"])
    port = free_port()
    people = {f"user-{at}": ["engineers"] for at in range(PEOPLE)}
    registered = clients((f"http://127.0.0.1:{port}/login/back",))
    with TemporaryDirectory() as name:
        folder = Path(name)
        with provider(CERTIFIED, npm_bin, registered, people) as started:
            with protected("python", started.issuer, npm_bin) as server:
                notes = f'[servers.notes]\nurl = "{server.url}"\nper_caller = true\neffects = ["read"]'
                tables = f"{tools(folder)}\n{notes}\n[console]\nport = {port}"
                with guarded(started.issuer, folder, tables, LINES, CONSOLE_SECRET=CONSOLE_SECRET) as gateway:
                    company = Company(folder, started.issuer, gateway, server)
                    run_company(company, started, options.calls)
            secrets = [*started.order(secrets=True)["secrets"], CONSOLE_SECRET]
        collect(company)
        kept = [bool(file.stat().st_mode & 0o077) for file in (folder / "state").rglob("logins/*")]
    found = search(company.traces, secrets)
    lines = company.traces.lines()
    told = {"secrets": len(secrets), "lines": sum(lines.values()), "by": lines, "found": found, "readable": sum(kept)}
    print(json.dumps(told) if options.json else "\n".join(f"{name}: {value}" for name, value in told.items()))
    return 1 if found or told["readable"] else 0


if __name__ == "__main__":
    sys.exit(main())
