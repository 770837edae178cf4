"""Somebody's machine: a policy that names a protected server, `rightcall login` with a person who opens what it shows,
and a gateway that calls the server's tools."""

import asyncio
import json
import os
import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from identity.guarded import RIGHTCALL
from identity.person import Person
from rightcall.mcp.gateway.shared import SharedGateway
from rightcall.mcp.links import open_link
from support.gateways import once, shared_of

_LINK = re.compile(r"https?://\S+")
_CODE = re.compile(r"code (?:is )?([A-Z0-9-]+)")
POLICY = """\
version = 1
[policy]
repeats = 0
[servers.notes]
url = "{url}"
effects = ["read"]
{more}
"""


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Desk:
    def __init__(self, folder: Path, url: str, more: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._policy = folder / "rightcall.toml"
        self._policy.write_text(POLICY.format(url=url, more=more))
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")

    def run(self, *arguments: str) -> Done:
        done = subprocess.run(
            self._command(*arguments), cwd=self.folder, capture_output=True, text=True, timeout=60, env=os.environ
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def login(self, person: Person, *arguments: str, open: Callable[[str, str], Any] | None = None) -> Done:
        """With the link that it prints, and the code where it prints one."""
        command = self._command("login", "notes", "--json", "--no-browser", "--timeout", "20", *arguments)
        pipe = subprocess.PIPE
        with subprocess.Popen(command, cwd=self.folder, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stderr is not None
            shown = ""
            for line in process.stderr:
                shown += line
                if "Waiting for the login" in line:
                    code = _CODE.search(shown)
                    link = _LINK.search(shown)
                    assert link is not None, shown
                    (open or (lambda at, typed: person.open(at, code=typed)))(link[0], code[1] if code else "")
                    break
            out, err = process.communicate(timeout=60)
        return Done(process.returncode, out, shown + err)

    def call(self, tool: str, **arguments: Any) -> str:
        """What a model is told that calls it."""
        return self.calls((tool, arguments))[0]

    def calls(self, *calls: tuple[str, dict[str, Any]], between: Callable[[], None] = lambda: None) -> list[str]:
        """Of one gateway, in order."""

        async def one(gateway: SharedGateway, tool: str, arguments: dict[str, Any]) -> str:
            answer = await once(gateway, "tools/call", name=f"notes_{tool}", arguments=arguments)
            return "".join(block["text"] for block in answer["content"])

        async def all_of_them() -> list[str]:
            told: list[str] = []
            async with shared_of(tomllib.loads(self._policy.read_text()), open_link) as gateway:
                await once(gateway, "tools/list")
                for at, (tool, arguments) in enumerate(calls):
                    if at:
                        await asyncio.to_thread(between)
                    told.append(await one(gateway, tool, arguments))
            return told

        return asyncio.run(all_of_them())

    def _command(self, *arguments: str) -> list[str]:
        return [*RIGHTCALL, *arguments, "--policy", str(self._policy)]
