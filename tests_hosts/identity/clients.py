"""Clients of others that log in by themselves at a protected server, with a person who opens the link that they show:
the official SDKs, MCP Inspector's command line, and Claude Code."""

import asyncio
import json
import os
import re
import subprocess
from pathlib import Path

from gatewaying.running import texts
from identity.person import Person
from identity.sdk_client import sdk_client
from support.claude_code import command_line
from support.cli import Terminal

HERE = Path(__file__).parent
BACK = "http://127.0.0.1:9/callback"
SDK_CLIENTS = ("python", "typescript 1", "typescript 2")
QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
_SHOWN = re.compile(r"https?://[^\s\x07\x1b]+code_challenge=[^\s\x07\x1b]+")


def call_by_sdk(kind: str, url: str, tool: str, person: Person, npm_bin: Path) -> str:
    """What the tool answered to a client that had no login before."""
    if kind == "python":
        return asyncio.run(_by_python(url, tool, person))
    pipe = subprocess.PIPE
    env = {**os.environ, "RIGHTCALL_NPM_BIN": str(npm_bin)}
    command = ["node", str(HERE / "sdk_client.mjs"), kind.split()[1], url, tool]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env, text=True) as process:
        assert process.stdout is not None
        link = process.stdout.readline()
        back = person.open(link.strip(), until=BACK).url + "\n" if link else ""
        out, err = process.communicate(back, timeout=60)
    assert process.returncode == 0, err
    return "".join(block["text"] for block in json.loads(out))


async def _by_python(url: str, tool: str, person: Person) -> str:
    async with sdk_client(url, person) as client:
        return texts(await client.call_tool(tool, {"text": "hello"}))


def call_by_inspector(url: str, tool: str, person: Person, npm_bin: Path, home: Path) -> str:
    """It waits at a loopback address for the browser."""
    command = [str(npm_bin / "mcp-inspector"), "--cli", "--server-url", url, "--method", "tools/call"]
    options = [
        "--tool-name",
        tool,
        "--tool-arg",
        "text=hello",
        "--format",
        "json",
        "--callback-url",
        "http://127.0.0.1:0/oauth/callback",
    ]
    own = {"HOME": str(home), "MCP_INSPECTOR_SECRET_STORE": "memory"}
    with Terminal(*options, command=command, columns=5000, **own) as screen:
        person.open(shown_link(screen))
        code, seen = screen.end()
    assert code == 0, seen
    return texts_of(json.loads(seen.strip().splitlines()[-1])["result"])


def login_by_claude_code(url: str, person: Person, home: Path) -> tuple[str, str]:
    """What its list of servers says of this one before the login, and after."""
    found = command_line()
    assert found is not None
    claude = str(found)
    own = {**QUIET, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    env = {**os.environ, **own}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [claude, "mcp", *arguments], env=env, cwd=home, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("add", "--scope", "user", "--transport", "http", "guarded", url)
    before = run("list")
    with Terminal("mcp", "login", "guarded", "--no-browser", command=[claude], columns=5000, **own) as screen:
        person.open(shown_link(screen))
        code, seen = screen.end()
    assert code == 0, seen
    return before, run("list")


def shown_link(screen: Terminal) -> str:
    """Whole: what follows the link has come, too."""
    screen.until("code_challenge=")
    if "\n" not in screen.seen.partition("code_challenge=")[2]:
        screen.until("\n")
    found = _SHOWN.search(screen.seen)
    assert found is not None, screen.seen
    return found[0]


def texts_of(result: dict[str, list[dict[str, str]]]) -> str:
    return "".join(block["text"] for block in result["content"] if block["type"] == "text")
