"""Which desk and which sandbox an executor has."""

from functools import partial
from pathlib import Path

import pytest

from rightcall import Executor
from rightcall.record.premises import desk_folder, guarded_paths
from rightcall.record.tables import EndBody, Tables, read_end


def test_an_audit_outside_gives_each_root_a_desk_of_its_own(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    shared = str(tmp_path / "audit.db")
    own = str(first / ".rightcall" / "audit.db")
    assert desk_folder(own, str(first)) == str(first / ".rightcall" / "desk")
    assert desk_folder(shared, str(first)) != desk_folder(shared, str(second))
    assert desk_folder(shared, str(first)).startswith(str(tmp_path / "desk"))


@pytest.mark.promise("P-03", "W-01")
def test_no_call_can_read_or_write_the_desk(tmp_path: Path) -> None:
    assert ".rightcall/desk" in guarded_paths(str(tmp_path), None, str(tmp_path / ".rightcall" / "audit.db"))
    policy = {"policy": {"stage": "full", "write": "ask", "execute": "ask", "paths": {"allow": [".rightcall/**"]}}}
    with Executor.open_sync(tmp_path, policy, store="memory", ask=lambda _: "ann") as executor:
        saved = executor.run(
            {"name": "file/save", "arguments": {"path": ".rightcall/desk/pulls/1.json", "content": "{}"}}
        )
    assert saved.decision is not None
    assert (saved.ok, saved.decision.rule) == (False, "path:deny")


def end_of(tables: Tables, call: int) -> EndBody:
    return next(read_end(entry.body) for entry in tables.belonging(call) if entry.kind == "end")


@pytest.mark.promise("X-06", "A-02")
def test_the_audit_says_in_which_tier_code_ran_and_a_function_cannot(tmp_path: Path) -> None:
    policy = {"policy": {"stage": "sandbox", "execute": "allow"}}
    with Executor.open_sync(tmp_path, policy, store="memory") as executor:

        @executor.tool(effects=["read"])
        def liar() -> dict[str, str]:
            return {"tier": "steel"}

        calls = [
            executor.run({"name": name, "arguments": given})
            for name, given in (("code/execute/python", {"code": "print(6 * 7)"}), ("liar", {}))
        ]
        ends = [executor.store.look(partial(end_of, call=one.metadata.call)) for one in calls]
    assert calls[0].result["stdout"] == "42\n"
    assert [end.sandbox for end in ends] == [calls[0].result["tier"], None]


@pytest.mark.promise("X-03")
def test_a_stated_time_limit_holds_for_code_too_and_the_usual_one_leaves_it_its_own(tmp_path: Path) -> None:
    asleep = {"name": "code/execute/python", "arguments": {"code": "import time; time.sleep(5)"}}
    for budgets, sandbox in (({"seconds": 0.3}, {}), ({}, {"seconds": 0.3})):
        policy = {
            "policy": {
                "stage": "sandbox", "execute": "allow", "budgets": budgets,
            },
            "sandbox": sandbox,
        }  # fmt: skip
        with Executor.open_sync(tmp_path, policy, store="memory") as executor:
            outcome = executor.run(asleep)
        if budgets:
            assert (outcome.ok, "took longer than 0.3 s" in (outcome.error or "")) == (False, True)
        else:
            assert outcome.result["limits"] == ["seconds"]
