"""The Claude Agent SDK's permission prompt: what was judged counts for that very call, and an answer for one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext

from rightcall.executor.passage import Passage
from rightcall.hosts.claude_sdk import RightCall
from rightcall.record.tables import read_call

pytestmark = pytest.mark.promise("H-05", "P-01")

POLICY = {"policy": {"deny": ["WebFetch"], "paths": {"deny": ["private/**"]}, "approval": {"tools": ["Bash"]}}}


def event(tool: str, given: Any, step: str = "t1") -> dict[str, Any]:
    return {
        "hook_event_name": "PreToolUse", "session_id": "s", "tool_name": tool, "tool_input": given, "tool_use_id": step,
    }  # fmt: skip


def prompt(guard: RightCall, tool: str, given: Any, step: str = "t1") -> Awaitable[Any]:
    return guard.can_use_tool(tool, given, ToolPermissionContext(tool_use_id=step))


async def yes(_: Passage) -> str | None:
    return "Ada"


async def no(_: Passage) -> str | None:
    return None


def run(work: Callable[[RightCall], Awaitable[None]], ask: Any = None) -> list[tuple[str, str]]:
    """Does the work; what the record has of calls then, by kind and rule."""
    guard = RightCall(POLICY, ask=ask)
    try:
        asyncio.run(work(guard))  # type: ignore[arg-type]
        entries = guard.door.store.look(lambda tables: list(tables.entries()))
        kinds = ("begin", "refused", "waiting", "answer")
        return [
            (one.kind, "" if one.kind == "answer" else read_call(one.body).rule) for one in entries if one.kind in kinds
        ]
    finally:
        guard.close()


def test_a_yes_to_one_input_is_none_to_another() -> None:
    shown: list[Any] = []

    async def show(passage: Passage) -> str | None:
        shown.append(passage.arguments)
        return "Ada" if passage.arguments == {"command": "ls"} else None

    async def work(guard: RightCall) -> None:
        assert (await guard.hook(event("Bash", {"command": "ls"})))["hookSpecificOutput"]["permissionDecision"] == "ask"
        assert isinstance(await prompt(guard, "Bash", {"command": "ls"}), PermissionResultAllow)
        assert isinstance(await prompt(guard, "Bash", {"command": "ls -la"}), PermissionResultDeny)

    run(work, show)
    assert shown == [{"command": "ls"}, {"command": "ls -la"}]


def test_what_the_hook_let_pass_is_judged_again_where_it_is_not_the_same() -> None:
    async def work(guard: RightCall) -> None:
        assert await guard.hook(event("Read", {"file_path": "a"})) == {}
        allowed = await prompt(guard, "Read", {"file_path": "a"})
        assert allowed.updated_input == {"file_path": "a"}
        assert isinstance(await prompt(guard, "Read", {"file_path": "private/b"}), PermissionResultDeny)
        assert isinstance(await prompt(guard, "WebFetch", {"file_path": "a"}), PermissionResultDeny)

    calls = run(work)
    assert [kind for kind, _ in calls] == ["begin", "refused", "refused"]


def test_a_no_is_recorded_and_holds() -> None:
    async def work(guard: RightCall) -> None:
        await guard.hook(event("Bash", {"command": "ls"}))
        denied = await prompt(guard, "Bash", {"command": "ls"})
        assert isinstance(denied, PermissionResultDeny)
        assert "A person denied this call" in denied.message
        assert guard.door.store.look(lambda tables: [one.status for one in tables.approvals("denied")]) == ["denied"]
        again = await guard.hook(event("Bash", {"command": "ls"}, "t2"))
        assert again["hookSpecificOutput"]["permissionDecision"] == "deny"

    assert run(work, no) == [
        ("waiting", "approval:tool"), ("answer", ""), ("refused", "approval:denied"), ("refused", "approval:denied"),
    ]  # fmt: skip


def test_without_anybody_to_ask_a_call_waits_and_is_not_refused_for_good() -> None:
    async def work(guard: RightCall) -> None:
        await guard.hook(event("Bash", {"command": "ls"}))
        assert "rightcall approvals approve" in (await prompt(guard, "Bash", {"command": "ls"})).message

    assert run(work) == [("waiting", "approval:tool")]


def test_two_prompts_for_one_call_are_one_answer() -> None:
    both = asyncio.Event()

    async def together(_: Passage) -> str | None:
        if waiting.locked():
            both.set()
        async with waiting:
            await both.wait()
        return "Ada"

    async def work(guard: RightCall) -> None:
        await guard.hook(event("Bash", {"command": "ls"}))
        answers = await asyncio.gather(*(prompt(guard, "Bash", {"command": "ls"}) for _ in range(2)))
        assert PermissionResultAllow in [type(one) for one in answers]
        assert await prompt(guard, "Bash", {"command": "ls"})

    waiting = asyncio.Lock()
    calls = run(work, together)
    assert calls.count(("begin", "approval:given")) == 1
    assert calls.count(("answer", "")) == 1


def test_a_no_beside_a_yes_is_a_no() -> None:
    async def work(guard: RightCall) -> None:
        await guard.hook(event("Bash", {"command": "ls"}))
        waiting = guard._judged["t1"]
        guard.door.answer(waiting.passage, "approved", by="Ada")
        assert isinstance(await prompt(guard, "Bash", {"command": "ls"}), PermissionResultDeny)

    assert ("begin", "approval:given") not in run(work, no)


def test_numbers_that_python_takes_for_equal_are_another_input() -> None:
    async def work(guard: RightCall) -> None:
        await guard.hook(event("Bash", {"command": "ls", "timeout": 1}))
        await prompt(guard, "Bash", {"command": "ls", "timeout": True})

    assert [kind for kind, _ in run(work)] == ["waiting", "waiting"]
