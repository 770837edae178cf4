"""The loop rule and clients that poll (P-07): a changing answer is no loop, at every integration that sees answers; nor
is a tool that the policy, or its server, declares repeatable."""

import asyncio
import itertools
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor
from rightcall.base.secrets import Redactor
from rightcall.executor.door import Door
from rightcall.executor.guesses import answer_digest
from rightcall.hosts.hooks.judgement import Hook, Hooks
from rightcall.policy.tightening import tighten
from rightcall.policy.watch import load_policy
from rightcall.record.memory import MemoryStore
from rightcall.tools.functions import tool
from support.every import every
from support.gateways import TOOL, ScriptedLink, gateway_of, old_server, once, policy, text_of
from support.wrapping import Wrapped, call, result

pytestmark = pytest.mark.promise("P-07", "H-72")

STATUS = {"name": "status", "inputSchema": {"type": "object", "properties": {"job": {"type": "string"}}}}
POLLABLE = {"readOnlyHint": True, "idempotentHint": True}
TIMES = 6
LOOPED = ["allow", "allow", "deny", "deny", "deny", "deny"]
FREE = ["allow"] * TIMES


def same() -> Iterator[str]:
    return itertools.repeat("x" * 2000 + " waiting")


def late() -> Iterator[str]:
    """What changes stands far behind the part that a record keeps."""
    return ("x" * 2000 + f" {number} %" for number in itertools.count())


def through_door(answers: Iterator[Any], said: Any = None, definition: Any = STATUS, host: str = "wrap") -> list[str]:
    with Door.open(host, said or {"version": 1}, mode="block") as door:
        door.know([definition], "jobs")
        actions: list[str] = []
        for _ in range(TIMES):
            passage = door.judge("status", {"job": "a"}, space="jobs")
            actions.append(passage.action)
            gave = next(answers)
            door.ended(passage, summary=str(gave)[:300], answer=gave)
        return actions


@every(
    ("answers", "expected"),
    [
        (same, LOOPED),
        (late, FREE),
        (lambda: ({"content": [], "structuredContent": {"n": n}} for n in itertools.count()), FREE),
        (lambda: (b"%d" % n for n in itertools.count()), FREE),
        (lambda: itertools.repeat(object()), LOOPED),
    ],
    ids=["same", "far behind", "structured", "bytes", "unknown"],
)
def test_a_call_is_a_loop_only_as_long_as_it_gives_the_same(answers: Callable[[], Any], expected: list[str]) -> None:
    assert through_door(iter(answers())) == expected


@every(
    ("said", "definition", "expected"),
    [
        ({"policy": {"repeatable": ["jobs/status"]}}, STATUS, FREE),
        ({"policy": {"repeatable": ["jobs/*"]}}, STATUS, FREE),
        ({"policy": {"repeatable": ["status"]}}, STATUS, LOOPED),
        ({"policy": {"repeatable": ["Jobs/Status"]}}, STATUS, LOOPED),
        ({"gate": {"tools": {"jobs/status": {"repeatable": True}}}}, STATUS, FREE),
        ({"version": 1}, STATUS | {"annotations": POLLABLE}, FREE),
        ({"version": 1}, STATUS | {"annotations": {"readOnlyHint": True}}, LOOPED),
        ({"version": 1}, STATUS | {"annotations": {"idempotentHint": True}}, LOOPED),
        ({"version": 1}, STATUS | {"annotations": {"readOnlyHint": 1, "idempotentHint": "yes"}}, LOOPED),
        ({"version": 1}, STATUS | {"annotations": [POLLABLE]}, LOOPED),
        ({"servers": {"jobs": {"command": ["x"], "effects": ["write"]}}}, STATUS | {"annotations": POLLABLE}, LOOPED),
        ({"servers": {"jobs": {"command": ["x"], "effects": ["read"]}}}, STATUS | {"annotations": POLLABLE}, FREE),
    ],
)
def test_a_tool_may_be_declared_repeatable(said: Any, definition: Any, expected: list[str]) -> None:
    assert through_door(same(), said, definition) == expected


def test_what_a_server_says_frees_its_tool_from_no_other_rule() -> None:
    """Effects, limits and denials stay; and a definition that now says so has changed."""
    said = {"policy": {"limits": {"tools": {"jobs/status": {"minute": 2}}}}}
    assert through_door(same(), said, STATUS | {"annotations": POLLABLE}) == LOOPED
    with Door.open("wrap", {"version": 1}, mode="block") as door:
        door.know([STATUS], "jobs")
        first = door.judge("status", {"job": "a"}, space="jobs")
        door.know([STATUS | {"annotations": POLLABLE}], "jobs")
        assert first.request is not None
        second = door.judge("status", {"job": "a"}, space="jobs")
        assert second.decision.rule == "definition:changed"
        assert second.request is not None
        assert second.request.effects == first.request.effects == {"read", "write", "execute", "network"}


@pytest.mark.promise("P-13")
def test_a_found_policy_declares_nothing_repeatable() -> None:
    assert tighten(load_policy({"policy": {"repeatable": ["*"]}})).settings.repeatable == ()


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (["one", "two", "three", "four"], [True, True, True, True]),
        (["one", "one", "one", "two"], [True, True, False, True]),
        ([None, None, None, "one"], [True, True, False, True]),
        (["one", None, None, None], [True, True, True, False]),
    ],
    ids=["asked again", "a loop in one request", "nobody says who asks", "each by itself"],
)
def test_a_person_who_asks_the_same_again_is_no_loop(
    tmp_path: Path, turns: list[str | None], expected: list[bool]
) -> None:
    (tmp_path / "shop.py").write_text("def total(net): ...\n")

    async def main() -> list[bool]:
        async with Executor.open(tmp_path, store="memory") as executor:
            call = {"name": "code/read", "arguments": {"path": "shop.py"}}
            return [(await executor.run(call, turn=turn)).ok for turn in turns]

    assert asyncio.run(main()) == expected


@pytest.mark.promise("P-11")
def test_a_client_that_polls_is_not_quarantined_for_it() -> None:
    with Door.open("wrap", {"version": 1}, mode="block") as door:
        rules: list[str] = []
        for _ in range(12):
            passage = door.judge("status", {"job": "a"}, space="jobs")
            door.ended(passage, answer="waiting")
            rules.append(passage.decision.rule)
        assert set(rules[2:]) == {"loop"}


def test_the_refusal_says_who_can_allow_it_and_the_operator_is_told_how_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "rightcall"), Door.open("wrap", {"version": 1}, mode="block") as door:
        for _ in range(5):
            passage = door.judge("status", {"job": "a"}, space="jobs")
            door.ended(passage, answer="waiting")
        assert "it gave the same each time" in passage.message
        assert "Use the result of call" in passage.message
        assert "A person can allow polling this tool." in passage.message
    told = [one.getMessage() for one in caplog.records if "repeatable" in one.getMessage()]
    (line,) = told
    assert line.startswith("rightcall: repeated calls of jobs/status are refused as a loop; ")
    assert line.endswith('to allow polling it, add it to the policy: [policy] repeatable = ["jobs/status"]')


def test_a_hostile_name_breaks_no_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "rightcall"), Door.open("wrap", {"version": 1}, mode="block") as door:
        for name in ('a"]\ndeny = []\x1b[2J', "poll*"):
            for _ in range(3):
                door.ended(door.judge(name, {}, space="jobs"), answer="waiting")
    told = [one.getMessage() for one in caplog.records if "as a loop" in one.getMessage()]
    assert len(told) == 2
    assert all(line.isprintable() and "[policy]" not in line for line in told)


def test_behind_wrap_answers_are_compared_as_a_whole() -> None:
    for answers, expected in ((same(), 2), (late(), TIMES)):
        with Door.open("wrap", {"version": 1}, mode="block") as door:
            wrapped = Wrapped(door)
            wrapped.forget()
            for number in range(TIMES):
                wrapped.client(call(number, "read_file", {"path": "a"}))
                wrapped.server(result(number, {"content": [{"type": "text", "text": next(answers)}]}))
            assert len(wrapped.asked) == expected


def test_behind_the_gateway_answers_are_compared_as_a_whole() -> None:
    def server(answers: Iterator[str], definition: Any) -> Callable[[str, dict[str, Any]], Any]:
        def answer(method: str, params: dict[str, Any]) -> Any:
            match method:
                case "tools/call":
                    return {"content": [{"type": "text", "text": next(answers)}]}
                case "tools/list":
                    return {"tools": [definition]}
            return old_server(method, params)

        return answer

    async def polled(answers: Iterator[str], definition: Any = TOOL) -> int:
        rules = policy("a")
        rules["servers"]["a"]["effects"] = ["read"]
        async with gateway_of(rules, a=ScriptedLink(server(answers, definition))) as gateway:
            told = [
                text_of(await once(gateway, "tools/call", name="a_echo", arguments={"text": "x"})) for _ in "123456"
            ]
            return sum(not text.startswith("Error") for text in told)

    assert asyncio.run(polled(same())) == 2
    assert asyncio.run(polled(late())) == TIMES
    assert asyncio.run(polled(same(), TOOL | {"annotations": POLLABLE})) == TIMES


@pytest.mark.parametrize("host", ["claude", "codex", "gemini"])
def test_a_hook_sees_what_a_call_gave(tmp_path: Path, host: str) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text("version = 1\n", encoding="utf-8")
    before, after = ("BeforeTool", "AfterTool") if host == "gemini" else ("PreToolUse", "PostToolUse")

    def polled(answers: Iterator[str]) -> int:
        hooks = Hooks(Hook(host, str(file), str(tmp_path), "block"), every_tool=False, store=MemoryStore())
        ran = 0
        for number in range(TIMES):
            event = {
                "session_id": "s", "tool_use_id": f"t{number}", "tool_name": "mcp__jobs__status", "tool_input": {"a": 1}
            }  # fmt: skip
            if "deny" in hooks.answer(json.dumps(event | {"hook_event_name": before}).encode()):
                continue
            ran += 1
            gave = {"content": [{"type": "text", "text": next(answers)}], "durationMs": number}
            hooks.answer(json.dumps(event | {"hook_event_name": after, "tool_response": gave}).encode())
        hooks.close()
        return ran

    assert (polled(same()), polled(late())) == (2, TIMES)


@pytest.mark.parametrize(
    ("answers", "said", "expected"),
    [
        (same, {}, 2),
        (late, {}, TIMES),
        (same, {"policy": {"repeatable": ["status"]}}, TIMES),
        (same, {"policy": {"repeatable": ["sta*"]}}, TIMES),
    ],
)
def test_a_function_that_polls_runs_as_long_as_its_answer_changes(
    tmp_path: Path, answers: Callable[[], Iterator[str]], said: Any, expected: int
) -> None:
    given = answers()

    @tool(effects=("read",))
    def status(job: str) -> str:
        """Say how a job is getting on."""
        return f"{job} {next(given)}"

    with Executor.open_sync(root=tmp_path, policy=said, store="memory") as executor:
        executor.register(status)
        assert sum(executor.run({"name": "status", "arguments": {"job": "a"}}).ok for _ in range(TIMES)) == expected


def test_calls_that_still_run_have_changed_nothing_where_we_run_them(tmp_path: Path) -> None:
    async def main() -> int:
        release = asyncio.Event()

        @tool(effects=("read",))
        async def status(job: str) -> str:
            """Wait for a job."""
            await release.wait()
            return job

        async with Executor.open(root=tmp_path, store=MemoryStore()) as executor:
            executor.register(status)
            made = {"name": "status", "arguments": {"job": "a"}}
            first = [asyncio.ensure_future(executor.run(made)) for _ in range(2)]
            while len(executor.store.look(lambda tables: tables.running())) < 2:
                await asyncio.sleep(0)
            third = await executor.run(made)
            release.set()
            await asyncio.gather(*first)
            return int(third.ok)

    assert asyncio.run(main()) == 0


def test_a_digest_tells_answers_apart_and_nothing_of_them() -> None:
    redactor, other = Redactor(b"k" * 32), Redactor(b"o" * 32)
    assert answer_digest("yes", redactor) == answer_digest(b"yes", redactor) != answer_digest("no", redactor)
    assert answer_digest("yes", redactor) != answer_digest("yes", other)
    assert answer_digest({"b": 1, "a": 2}, redactor) == answer_digest({"a": 2, "b": 1}, redactor)
    assert answer_digest(None, redactor) == answer_digest(object(), redactor) == ""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert answer_digest(deep, redactor) == ""
    long = b"x" * (1 << 21)
    assert answer_digest(long, redactor) != answer_digest(long + b"x", redactor)
