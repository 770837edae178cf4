"""What a host and the loop tell of the work itself: the steps of a plan, and how many turns of a model used tools."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, MemoryStore, ScriptedModel, SqliteStore, run_loop, run_loop_sync
from rightcall.record import ManualClock, Store, plan_steps, read_metrics

pytestmark = pytest.mark.promise("A-81", "T-12")

FIELDS = [
    "stepNumber", "action", "expectedOutcome", "completed", "completedAt", "result", "error", "duration", "toolCalls",
]  # fmt: skip
PING = '<tool_call>{"tool": "ping", "params": {}}</tool_call>'


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    made: Store = MemoryStore(clock) if request.param == "memory" else SqliteStore(tmp_path / "audit.db", clock=clock)
    yield made
    made.close()


def plan(store: Store, context: str = "plan") -> list[dict[str, Any]]:
    return store.look(lambda tables: plan_steps(tables, context))


def test_a_step_is_kept_in_the_designs_fields_with_its_calls(tmp_path: Path, store: Store, clock: ManualClock) -> None:
    with Executor.open_sync(tmp_path, {}, store=store) as ex:
        ex.note_step("plan", "look", action="see whether tools work", expected_outcome="an answer")
        ex.note_step("plan", "mend", action="mend them")
        ex.note_step("another", "look", action="something else")
        ex.run({"name": "ping", "arguments": {}}, context="plan", step="look")
        ex.run({"name": "ping", "arguments": {}}, context="plan")
        clock.advance(2.5)
        ex.note_step("plan", "look", completed=True, result={"works": True})
        ex.note_step("plan", "mend", completed=False, error="nothing to mend")
        ex.run({"name": "ping", "arguments": {}}, context="plan", step="afterwards")
    first, second, third = plan(store)
    assert list(first) == FIELDS
    assert [one["tool"] for one in first.pop("toolCalls")] == ["ping"]
    assert first == {
        "stepNumber": 1, "action": "see whether tools work", "expectedOutcome": "an answer", "completed": True,
        "completedAt": 1_767_225_602_500, "result": {"works": True}, "error": None, "duration": 2500,
    }  # fmt: skip
    assert (second["action"], second["completed"], second["error"]) == ("mend them", False, "nothing to mend")
    assert (second["completedAt"], second["duration"], second["toolCalls"]) == (None, None, [])
    assert (third["stepNumber"], third["action"], len(third["toolCalls"])) == (3, "", 1)
    assert plan(store, "nobody's") == []


def test_steps_that_are_numbers_keep_them_and_a_step_can_be_taken_up_again(tmp_path: Path, store: Store) -> None:
    with Executor.open_sync(tmp_path, {}, store=store) as ex:
        for number in (2, 5):
            ex.note_step("plan", number, action="work", completed=True)
        ex.note_step("plan", 5, completed=False)
    assert [(one["stepNumber"], one["completed"]) for one in plan(store)] == [(2, True), (5, False)]
    assert plan(store)[1]["completedAt"] is None


def test_a_plan_holds_no_secret_and_no_endless_result(tmp_path: Path, store: Store) -> None:
    secret = "sk-ant-api03-" + "a1B2" * 20
    with Executor.open_sync(tmp_path, {}, store=store) as ex:
        ex.note_step("plan", "1", action=f"use {secret}", result={"password": "hunter2", "text": secret})
        ex.note_step("plan", "2", result=["line"] * 10_000)
    kept = b"".join(entry.body for entry in store.look(lambda tables: list(tables.entries())))
    assert (secret.encode() in kept, b"hunter2" in kept) == (False, False)
    assert len(kept) < 50_000
    assert plan(store)[1]["result"].startswith('["line"')


@pytest.mark.parametrize("kind", ["async", "sync"])
def test_the_loop_tells_how_many_turns_used_tools(tmp_path: Path, store: Store, kind: str) -> None:
    async def ask(model: ScriptedModel, caller: str) -> Any:
        async with Executor.open(tmp_path, {}, store=store) as ex:
            return await run_loop(model, ex, "Look.", caller=caller, context="bug 7", task="debug")

    def run(replies: list[Any], caller: str) -> Any:
        if kind == "async":
            return asyncio.run(ask(ScriptedModel(replies), caller))
        with Executor.open_sync(tmp_path, {}, store=store) as ex:
            return run_loop_sync(ScriptedModel(replies), ex, "Look.", caller=caller, context="bug 7", task="debug")

    used = run([PING, PING + PING, "Done."], "claude")
    assert (used.turns, used.tool_turns, round(used.adoption, 1)) == (3, 2, 66.7)
    idle = run(["I know it already."], "grok")
    assert (idle.turns, idle.tool_turns, idle.adoption) == (1, 0, 0.0)
    broken = run([OSError("gone")], "deepseek")
    assert (broken.turns, broken.adoption) == (0, None)
    policy = {"callers": {"claude": {"records": "all"}}}
    with Executor.open_sync(tmp_path, policy, store=store) as ex:
        seen = ex.run({"name": "analytics/tool-usage", "arguments": {}}, caller="claude").result
        own = ex.run({"name": "analytics/tool-usage", "arguments": {}}, caller="grok").result
    assert seen["stats"]["adoption"] == {"turns": 4, "toolTurns": 2, "rate": 50.0}
    assert seen["adoption"] == {
        "claude": {"turns": 3, "toolTurns": 2, "rate": 66.67},
        "grok": {"turns": 1, "toolTurns": 0, "rate": 0.0},
    }
    assert own["adoption"] == {"grok": {"turns": 1, "toolTurns": 0, "rate": 0.0}}
    metrics = store.look(lambda tables: read_metrics(tables, period="1day", now=tables.wall()))
    assert [(one.name, one.value) for one in metrics[:2]] == [("Tool Adoption", 50.0), ("Investigation Depth", 1.5)]


def test_calls_in_the_answer_after_the_last_round_are_no_use_of_tools(tmp_path: Path) -> None:
    with Executor.open_sync(tmp_path, {}, store="memory") as ex:
        result = run_loop_sync(ScriptedModel([PING, PING]), ex, "Look.", caller="claude", rounds=1)
    assert (result.stopped, result.turns, result.tool_turns) == ("rounds", 2, 1)
