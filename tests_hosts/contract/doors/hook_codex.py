"""The real Codex with an MCP server of the official SDK, its model a script; and the same with the hook."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import json

from contract.cases import Case, Definition, policy_text
from contract.doors.hook_claude import hook_command, learnt
from contract.mcp_driving import Site
from contract.outcomes import Seen
from contract.places import environment
from support.scripted.server import Raw, Received, ScriptedUpstream

CONFIG = """
model = "scripted"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "{address}/v1"
wire_api = "responses"
env_key = "LOCAL_KEY"
[mcp_servers.notes]
command = "env"
args = {server}
required = true
"""


class Script:
    """The model: one answer a turn. It notes what it was told of each, and what had run until then."""

    def __init__(self, cases: Sequence[Case], site: Site) -> None:
        self.cases = cases
        self.site = site
        self.told: list[str] = []
        self.ran: list[Any] = []
        self._turn = 0

    def __call__(self, request: Received) -> Raw:
        if self._turn:
            last = request.json["input"][-1]
            self.told.append(str(last["output"]) if last["type"] == "function_call_output" else "")
            self.ran.append(self.site.ran())
        self._turn += 1
        case = self.cases[self._turn - 1] if self._turn <= len(self.cases) else None
        return _answer(_item(case), incomplete=case is not None and case.failure == "truncated")


def _item(case: Case | None) -> dict[str, Any]:
    if case is None or case.text:
        content = [{"type": "output_text", "text": case.text if case else "done", "annotations": []}]
        return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
    function = {"namespace": "mcp__notes", "name": case.name, "arguments": case.written}
    return {"type": "function_call", "id": "f", "call_id": case.call_id, "status": "completed", **function}


def _answer(item: dict[str, Any], *, incomplete: bool) -> Raw:
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response: dict[str, Any] = {"id": "r", "object": "response", "status": "in_progress", "output": []}
    events = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {
            "type": "response.completed",
            "response": {**response, "status": "completed", "output": [item], "usage": usage},
        },
    ]
    if incomplete:
        cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        events[-1] = {"type": "response.incomplete", "response": {**response, **cut, "output": [item], "usage": usage}}
    body = b"".join(b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.encode(event)) for event in events)
    return Raw(body, content_type="text/event-stream")


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    """All in one run, a text last since it ends the run; what is cut off ends one too."""
    cut = [case for case in cases if case.failure == "truncated"]
    whole = sorted((case for case in cases if case.failure != "truncated"), key=lambda case: bool(case.text))
    seen: dict[str, Seen] = {}
    for together in (whole, cut):
        with TemporaryDirectory() as folder:
            found = _drive(together, tools, Path(folder), guarded)
        seen |= zip([case.failure for case in together], found, strict=True)
    return [seen[case.failure] for case in cases]


def _drive(cases: Sequence[Case], tools: tuple[Definition, ...], folder: Path, guarded: bool) -> list[Seen]:
    site = Site(folder, tools, policy_text(tools))
    script = Script(cases, site)
    with ScriptedUpstream(script) as upstream:
        _settings(site, upstream.address, guarded)
        ended_well = _run(folder)
    told = [*script.told, ""][: len(cases)]
    ran = [*script.ran, site.ran()]
    return [
        Seen(ran[at], told[at], "approvals approve" in told[at], not told[at] and not ended_well)
        for at in range(len(cases))
    ]


def _run(folder: Path) -> bool:
    program = Path(os.environ["RIGHTCALL_NPM_BIN"]) / "codex"
    options = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
    variables = {"HOME": str(folder), "CODEX_HOME": str(folder), "PATH": os.environ["PATH"], "LOCAL_KEY": "loopback"}
    (work := folder / "work").mkdir()
    done = subprocess.run(
        [program, "exec", *options, "go"],
        env=variables, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, timeout=200, check=False,
    )  # fmt: skip
    return done.returncode == 0


def _settings(site: Site, address: str, guarded: bool) -> None:
    folder = site.policy.parent
    server = [f"PYTHONPATH={environment()['PYTHONPATH']}", *site.server]
    (folder / "config.toml").write_text(CONFIG.format(address=address, server=json.encode(server).decode()))
    if guarded:
        learnt(site)
        hooks = [
            {"matcher": "*", "hooks": [{"type": "command", "command": hook_command(site, "codex"), "timeout": 30}]}
        ]
        (folder / "hooks.json").write_bytes(json.encode({"hooks": dict.fromkeys(("PreToolUse", "PostToolUse"), hooks)}))
