"""The real Gemini CLI with an MCP server of the official SDK, its model a script; and the same with the hook."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import json

from contract.cases import Case, Definition, policy_text
from contract.doors.hook_claude import hook_command, learnt
from contract.gemini_api import ScriptedGemini
from contract.mcp_driving import Site
from contract.outcomes import UNSEEN, Seen
from contract.places import environment

BY_API = ("broken JSON", "truncated")
"""What Google's API never sends: arguments come as an object."""


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    sent = sorted((case for case in cases if case.failure not in BY_API), key=lambda case: bool(case.text))
    with TemporaryDirectory() as folder:
        found = _drive(sent, tools, Path(folder), guarded)
    seen = dict(zip([case.failure for case in sent], found, strict=True))
    return [seen.get(case.failure, UNSEEN) for case in cases]


def _drive(cases: Sequence[Case], tools: tuple[Definition, ...], folder: Path, guarded: bool) -> list[Seen]:
    site = Site(folder, tools, policy_text(tools))
    _settings(site, guarded)
    ran: list[Any] = []
    with ScriptedGemini([_part(case) for case in cases], lambda: ran.append(site.ran())) as api:
        _run(api.address, folder)
    told = [*api.told, ""][: len(cases)]
    ran = [*ran, site.ran()]
    return [Seen(ran[at], told[at], "approvals approve" in told[at]) for at in range(len(cases))]


def _part(case: Case) -> dict[str, Any]:
    if case.text:
        return {"text": case.text}
    return {"functionCall": {"name": f"mcp_notes_{case.name}", "args": case.arguments, "id": case.call_id}}


def _run(address: str, folder: Path) -> None:
    program = Path(os.environ["RIGHTCALL_NPM_BIN"]) / "gemini"
    (work := folder / "work").mkdir()
    variables = {"HOME": str(folder), "PATH": os.environ["PATH"], "GEMINI_API_KEY": "a-key-for-loopback"}
    subprocess.run(
        [program, "-p", "go", "--approval-mode", "yolo", "--skip-trust"],
        env=variables | {"GOOGLE_GEMINI_BASE_URL": address}, cwd=work, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=200, check=True,
    )  # fmt: skip


def _settings(site: Site, guarded: bool) -> None:
    settings: dict[str, Any] = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
        "mcpServers": {
            "notes": {"command": "env", "args": [f"PYTHONPATH={environment()['PYTHONPATH']}", *site.server]}
        },
    }
    if guarded:
        learnt(site)
        command = hook_command(site, "gemini")
        hooks = [{"matcher": "*", "hooks": [{"type": "command", "command": command, "timeout": 30_000}]}]
        settings["hooks"] = dict.fromkeys(("BeforeTool", "AfterTool"), hooks)
    (home := site.policy.parent / ".gemini").mkdir()
    (home / "settings.json").write_bytes(json.encode(settings))
