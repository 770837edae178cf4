"""The real Claude Code with an MCP server of the official SDK, its model a script; and the same with the hook.

One run makes all calls, one a turn. The call in a text comes last: a text ends the run.
"""

import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import json

from contract.cases import Case, Definition, policy_text
from contract.mcp_driving import Site
from contract.outcomes import Seen
from contract.places import OURS, environment
from support.claude_code import TOKENS, Conversation, run
from support.scripted.server import Answer, NativeCall, Received, ScriptedUpstream, Text


class Watched(Conversation):
    """All cases, one a turn. It notes at each request what ran since the one before."""

    def __init__(self, cases: Sequence[Case], taken: Callable[[], Any]) -> None:
        super().__init__([_answer(case, at) for at, case in enumerate(cases)])
        self.taken = taken
        self.ran: list[Any] = []

    def __call__(self, request: Received) -> Answer:
        before = len(self.asked)
        answer = super().__call__(request)
        if len(self.asked) > max(before, 1):
            self.ran.append(self.taken())
        return answer

    def seen(self) -> list[tuple[Any, str]]:
        """Of each case what ran and what the model was told."""
        told = ["\n".join(result.text for result in turn.results) for turn in self.turns]
        return list(zip([*self.ran, self.taken()], [*told, ""], strict=False))


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    ordered = text_last(cases)
    with TemporaryDirectory() as folder:
        seen = dict(zip([case.failure for case in ordered], _drive(ordered, tools, Path(folder), guarded), strict=True))
    return [seen[case.failure] for case in cases]


def text_last(cases: Sequence[Case]) -> list[Case]:
    return sorted(cases, key=lambda case: bool(case.text))


def _drive(cases: Sequence[Case], tools: tuple[Definition, ...], folder: Path, guarded: bool) -> list[Seen]:
    site = Site(folder, tools, policy_text(tools))
    options = ["--strict-mcp-config", "--mcp-config", str(_servers(site)), "--allowedTools", "mcp__notes"]
    if guarded:
        options += ["--settings", str(_settings(site))]
    conversation = Watched(cases, site.ran)
    with ScriptedUpstream(conversation) as upstream:
        run(upstream.address, folder, *options)
    return [Seen(ran, told, "approvals approve" in told) for ran, told in conversation.seen()]


def _answer(case: Case, at: int) -> Answer:
    said = Text(case.text) if case.text else NativeCall(f"mcp__notes__{case.name}", case.written)
    finish = "max_tokens" if case.failure == "truncated" else None
    return Answer([said], id=f"t{at}", usage=TOKENS, finish=finish)


def _servers(site: Site) -> Path:
    command, *args = site.server
    server = {"command": command, "args": args, "env": environment()}
    file = site.policy.with_name("servers.json")
    file.write_bytes(json.encode({"mcpServers": {"notes": server}}))
    return file


def _settings(site: Site) -> Path:
    """The hook in Claude Code's settings."""
    learnt(site)
    hooks = [{"hooks": [{"type": "command", "command": hook_command(site, "claude"), "timeout": 30}]}]
    file = site.policy.with_name("settings.json")
    file.write_bytes(json.encode({"hooks": dict.fromkeys(("PreToolUse", "PostToolUse"), hooks)}))
    return file


def learnt(site: Site) -> None:
    """The hook knows the server's tools from here on."""
    learn = [*OURS, "hook", "learn", "--policy", str(site.policy), "--name", "notes", "--env", "PYTHONPATH", "--"]
    subprocess.run(
        [*learn, *site.server],
        env=environment(XDG_STATE_HOME=_state(site)),
        check=True,
        capture_output=True,
        timeout=200,
    )


def hook_command(site: Site, host: str) -> str:
    """For a host's settings; hosts hand their environment on or not, so that it brings its own."""
    words = ["env", f"PYTHONPATH={environment()['PYTHONPATH']}", f"XDG_STATE_HOME={_state(site)}"]
    return shlex.join([*words, *OURS, "hook", host, "--policy", str(site.policy)])


def _state(site: Site) -> str:
    return str(site.policy.with_name("state"))
