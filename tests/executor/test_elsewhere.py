"""A yes of another conversation, and a server that is not the one it was, at every door."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rightcall.executor.door import Door
from rightcall.executor.executor import Executor
from rightcall.executor.toolbox import way_of
from rightcall.hosts.hooks.judgement import Hook, Hooks
from rightcall.mcp.gateway.gateway import Gateway
from rightcall.mcp.serving import Client, new_context
from rightcall.record.admission import Reply, answer
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import Store
from support.gateways import ScriptedLink, asked, opening, text_of

ECHO = [{"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]
POLICY = """version = 1
[policy]
stage = "full"
[policy.approval]
tools = ["Bash", "echo", "run_shell_command"]
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "audit.db")) as opened:
        yield opened


def approve(store: Store) -> str:
    """A person says yes to the only question that waits; what it is about."""
    (waiting,) = store.look(lambda tables: tables.approvals("waiting"))
    store.transact(lambda tables: answer(tables, waiting.id, Reply("approved", "Ada", waiting.digest), 600))
    return waiting.kind


def executor_tries(store: Store, tmp_path: Path) -> Callable[[str], str]:
    def echo(text: str) -> str:
        """Echo it."""
        return text

    def tries(context: str) -> str:
        with Executor.open_sync(tmp_path, json_policy(), tools=[echo], store=store, code=False) as executor:
            return "ran" if executor.run({"name": "echo", "arguments": {"text": "t"}}, context=context).ok else "no"

    return tries


def json_policy() -> dict[str, Any]:
    asked = {"write": "ask", "execute": "ask", "approval": {"tools": ["echo", "Bash"]}}
    return {"version": 1, "policy": {"stage": "full", "allow": ["*"], **asked}}


def hook_tries(host: str, store: Store, tmp_path: Path) -> Callable[[str], str]:
    (tmp_path / "rightcall.toml").write_text(POLICY)
    hooks = Hooks(Hook(host, str(tmp_path / "rightcall.toml"), str(tmp_path)), every_tool=False, store=store)
    shell = {"gemini": "run_shell_command"}.get(host, "Bash")
    before = {"gemini": "BeforeTool"}.get(host, "PreToolUse")

    def tries(context: str) -> str:
        event = {
            "hook_event_name": before, "session_id": context, "tool_name": shell, "tool_use_id": "t",
            "tool_input": {"command": "ls"},
        }  # fmt: skip
        told = hooks.answer(json.encode(event))
        return "no" if "ask" in told or "deny" in told else "ran"

    return tries


def gateway_tries(store: Store, tmp_path: Path) -> Callable[[str], str]:
    rules = {"version": 1, "servers": {"notes": {"command": ["notes"]}}}
    sessions: dict[str, str] = {}

    async def call(context: str) -> str:
        with Door.open("gateway", rules, strict=True, store=store) as door:
            gateway = Gateway(door, opening(notes=ScriptedLink()), capabilities={})
            gateway.start()
            try:
                client = Client(gateway, "gateway", lambda _: None, sessions.setdefault(context, new_context()))
                await asked(client, "initialize", protocolVersion="2025-11-25", capabilities={})
                return text_of(await asked(client, "tools/call", name="notes_echo", arguments={"text": "t"}))
            finally:
                await gateway.aclose()

    return lambda context: "no" if "approv" in asyncio.run(call(context)) else "ran"


DOORS: dict[str, Callable[[Store, Path], Callable[[str], str]]] = {
    "executor": executor_tries,
    "gateway": gateway_tries,
    "Claude Code": lambda store, path: hook_tries("claude", store, path),
    "Codex": lambda store, path: hook_tries("codex", store, path),
    "Gemini": lambda store, path: hook_tries("gemini", store, path),
}


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS.keys())
def test_a_yes_is_redeemed_in_its_own_conversation_at_every_door(
    door: Callable[[Store, Path], Callable[[str], str]], store: SqliteStore, tmp_path: Path
) -> None:
    tries = door(store, tmp_path)
    assert tries("one") == "no"
    approve(store)
    assert tries("two") == "no"
    assert tries("one") == "ran"
    assert tries("one") == "no"  # once


@pytest.mark.promise("P-08")
def test_another_command_under_the_same_name_asks_before_its_tools_run(store: SqliteStore) -> None:
    """As two runs of `rightcall wrap --name files -- …` do it."""

    def judged(*command: str, name: str = "files") -> str:
        with Door.open("wrap", store=store) as door:
            door.know(ECHO, name)
            door.locate(name, way_of(command))
            return door.judge("echo", {"text": "t"}, space=name).decision.rule

    assert judged("npx", "files") == "host:wrap"
    assert judged("npx", "files") == "host:wrap"
    assert judged("npx", "evil", name="other") == "host:wrap"  # another name is another server
    assert judged("npx", "evil") == "definition:server"
    assert judged("npx", "files") == "host:wrap"  # the one that was accepted goes on
    assert approve(store) == "server"
    assert judged("npx", "evil") == "host:wrap"
    assert judged("npx", "files") == "definition:server"


@pytest.mark.promise("P-08")
def test_the_gateway_asks_about_a_server_whose_command_was_edited(store: SqliteStore) -> None:
    texts = iter("abcde")

    async def called(server: dict[str, Any]) -> str:
        rules = {"version": 1, "servers": {"notes": {"effects": ["read"], **server}}}
        with Door.open("gateway", rules, strict=True, store=store) as door:
            gateway = Gateway(door, opening(notes=ScriptedLink()), capabilities={})
            gateway.start()
            try:
                client = Client(gateway, "gateway", lambda _: None)
                await asked(client, "initialize", protocolVersion="2025-11-25", capabilities={})
                return text_of(await asked(client, "tools/call", name="notes_echo", arguments={"text": next(texts)}))
            finally:
                await gateway.aclose()

    assert asyncio.run(called({"command": ["notes"], "env": {"A": "1", "B": "2"}})) == "a"
    assert asyncio.run(called({"command": ["notes"], "env": {"B": "3", "A": "4"}})) == "b"
    for change in (
        {"command": ["notes", "--evil"]},
        {"command": ["notes"], "env": {"A": "1"}},
        {"url": "http://x/mcp"},
    ):
        told = asyncio.run(called(change))
        assert "The server 'gateway:notes' is not the one that was first used" in told


@pytest.mark.promise("P-08")
def test_a_hook_asks_about_a_server_of_which_its_host_tells_another_command(store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "rightcall.toml").write_text("version = 1\n")
    hooks = Hooks(Hook("gemini", str(tmp_path / "rightcall.toml"), str(tmp_path)), every_tool=False, store=store)

    def told(number: int, **reached: Any) -> str:
        event = {
            "hook_event_name": "BeforeTool", "session_id": "s", "tool_name": "mcp_files_echo",
            "tool_input": {"text": str(number)},
            "mcp_context": {"server_name": "files", "tool_name": "echo", **reached},
        }  # fmt: skip
        return hooks.answer(json.encode(event))

    assert told(1, command="npx", args=["files"]) == ""
    assert told(2) == ""  # nothing is known of it: as before
    assert "is not the one that was first used" in told(3, command="npx", args=["evil"])
    assert "is not the one that was first used" in told(4, url="https://evil.example/mcp")
    assert told(5, command="npx", args=["files"]) == ""
