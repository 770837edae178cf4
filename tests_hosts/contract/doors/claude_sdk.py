"""The Claude Agent SDK with tools of its own, its model a script; and the same with the hooks."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, SdkMcpTool, create_sdk_mcp_server

from contract.cases import Case, Definition, policy_for
from contract.doors.hook_claude import Watched, text_last
from contract.outcomes import Ran, Seen
from rightcall.hosts.claude_sdk import RightCall
from support.scripted.server import ScriptedUpstream


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    ordered = text_last(cases)
    ran = Ran()
    asked: list[str] = []
    conversation = Watched(ordered, ran.taken)
    with TemporaryDirectory() as folder, ScriptedUpstream(conversation) as upstream:
        given = [_tool(tool, ran) for tool in tools]
        asyncio.run(_run(given, policy_for(tools) if guarded else None, upstream.address, Path(folder), asked))
    seen = {
        case.failure: Seen(took, told, case.tool in asked)
        for case, (took, told) in zip(ordered, conversation.seen(), strict=True)
    }
    return [seen[case.failure] for case in cases]


async def _run(
    tools: list[SdkMcpTool[Any]], policy: dict[str, Any] | None, address: str, folder: Path, asked: list[str]
) -> None:
    async def no(passage: Any) -> None:
        asked.append(passage.name)

    guard = RightCall(policy, servers={"notes": tools}, ask=no)
    own: dict[str, Any] = {"allowed_tools": ["mcp__notes"]}
    if policy is not None:
        own = {"hooks": guard.hooks, "can_use_tool": guard.can_use_tool}
    options = ClaudeAgentOptions(
        mcp_servers={"notes": create_sdk_mcp_server("notes", tools=tools)},
        setting_sources=[],
        cwd=folder,
        env=_environment(address, folder),
        **own,
    )
    async with ClaudeSDKClient(options) as client:
        await client.query("go")
        async for _ in client.receive_response():
            pass
    guard.close()


def _tool(tool: Definition, ran: Ran) -> SdkMcpTool[Any]:
    async def run(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": ran.note(tool.name, given)}]}

    return SdkMcpTool(tool.name, tool.description, tool.parameters, run)


def _environment(address: str, folder: Path) -> dict[str, str]:
    return {
        "HOME": str(folder), "CLAUDE_CONFIG_DIR": str(folder), "PATH": os.defpath, "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": "a-key-for-loopback", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1",
    }  # fmt: skip
