"""The emergency stop in the library: nothing of a tool runs, neither itself nor its preview or state (P-17)."""

from collections.abc import Mapping
from typing import Any

import pytest

from rightcall import tool

pytestmark = pytest.mark.promise("P-17")

FREE = {"policy": {"stage": "full", "allow": ["*"], "write": "allow", "execute": "allow"}}


def test_no_call_runs_while_it_is_paused(workshop: Any) -> None:
    shop = workshop(FREE)
    assert shop.run("add", {"a": 1, "b": 2}).ok
    held = shop.executor.pause("smoke", by="anna")
    assert (held.by, held.reason, shop.executor.paused()) == ("anna", "smoke", held)
    trace = list(shop.trace)
    outcomes = [
        shop.run("add", {"a": 1, "b": 2}), shop.run("add", {}), shop.run("nothing"),
        shop.run("save", {"path": "a"}, rehearse=["write"]), *shop.executor.run_all('{"name": "add", "arguments": {}}'),
    ]  # fmt: skip
    assert {outcome.decision.rule for outcome in outcomes} == {"paused"}
    assert all("paused by the operator" in outcome.content for outcome in outcomes)
    assert all("Do not retry." in outcome.content for outcome in outcomes)
    assert shop.trace == trace
    assert shop.executor.resume(by="anna") == held
    assert shop.run("add", {"a": 1, "b": 3}).ok
    kinds = [entry.kind for entry in shop.entries() if entry.kind not in ("policy", "definition")]
    assert kinds == ["begin", "end", "pause", *["refused"] * 5, "pause", "begin", "end"]


def test_neither_preview_nor_state_of_a_tool_run_while_it_is_paused(workshop: Any) -> None:
    ran: list[str] = []

    def state(arguments: Mapping[str, Any]) -> str:
        ran.append("state")
        return "s"

    def preview(arguments: Mapping[str, Any]) -> str:
        ran.append("preview")
        return "it would"

    @tool(effects=["write"], state=state, preview=preview)
    def push(n: int) -> int:
        """Push."""
        ran.append("push")
        return n

    shop = workshop({"policy": FREE["policy"] | {"write": "ask"}})
    shop.executor.register(push)
    shop.executor.pause(by="anna")
    assert shop.run("push", {"n": 1}).decision.rule == "paused"
    assert ran == []


def test_a_call_that_was_admitted_and_waits_for_a_thread_does_not_start(
    workshop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rightcall.tools import run
    from rightcall.tools import run as waiting

    shop = workshop(FREE)
    monkeypatch.setattr(run, "QUEUED", 0.0)  # as if every call had to wait for one
    assert shop.run("add", {"a": 1, "b": 2}).ok
    monkeypatch.setattr(run, "in_thread", paused_meanwhile(shop, waiting.in_thread))
    outcome = shop.run("add", {"a": 1, "b": 3})
    assert (outcome.ok, outcome.status) == (False, "failed")
    assert outcome.error == "All tool calls are paused by the operator. It was not run."
    assert shop.trace == [("add", 1, 2)]


def paused_meanwhile(shop: Any, in_thread: Any) -> Any:
    """Somebody stops everything just when a thread is found for a call."""

    def stopped(threads: Any, work: Any, deadline: float, context: Any) -> Any:
        shop.executor.pause(by="anna")
        return in_thread(threads, work, deadline, context)

    return stopped
