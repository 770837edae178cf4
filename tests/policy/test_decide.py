"""Each policy by itself: what it refuses, by which rule, in which words."""

import random
from typing import Any

import pytest
from msgspec.structs import replace

from rightcall.policy.decide import POLICIES, decide, is_rehearsed, scopes_of
from rightcall.policy.settings import PRESETS, STAGES, Window
from rightcall.policy.types import HOUR, MINUTE, SECOND, Approval, Finding, Grant, Request, rights_of
from rightcall.policy.watch import load_policy
from rightcall.record.memory import MemoryTables
from rightcall.record.tables import ManualClock
from support.naive_policy import disagreement, rounds, verdict
from support.policy_worlds import policy

NOW = 10 * HOUR


@pytest.fixture
def tables() -> MemoryTables:
    return MemoryTables(ManualClock(NOW), 1000)


def asked(tool: str = "code/read", policy: dict[str, Any] | None = None, **about: Any) -> Request:
    caller = about.pop("caller", "teacher")
    rights = rights_of(load_policy(policy or {}).settings, caller)
    effects = frozenset(about.pop("effects", ("read",)))
    plain = Request(
        caller=caller, tool=tool, arguments={}, canonical=b"{}", digest="d", definition="def", effects=effects,
        rights=rights, at=NOW, scopes=scopes_of(rights, tool),
    )  # fmt: skip
    asked_for = replace(plain, **about)
    return asked_for if "dry_run" in about else replace(asked_for, dry_run=is_rehearsed(asked_for, frozenset()))


@pytest.mark.promise("P-01")
def test_each_stage_contains_the_one_before_and_the_designs_tools() -> None:
    assert list(STAGES) == ["read-only", "sandbox", "limited-write", "full"]
    assert STAGES["read-only"] < STAGES["sandbox"] < STAGES["limited-write"] < STAGES["full"]
    assert STAGES["sandbox"] - STAGES["read-only"] == {"code/execute/python", "code/execute/javascript", "screenshot"}
    assert STAGES["limited-write"] - STAGES["sandbox"] == {"file/save", "code/create-branch", "code/create-test"}
    assert {"code/commit", "code/pull-request"} <= STAGES["full"]


@pytest.mark.promise("P-02")
def test_the_preset_swarm_has_the_designs_numbers_and_personal_ten_times_those() -> None:
    swarm, personal = PRESETS["swarm"], PRESETS["personal"]
    assert (swarm.all, swarm.caller) == (Window(100, 2000), Window(10, 200, 3))
    assert swarm.tools == {"code/read": Window(5), "code/search": Window(3), "code/execute/python": Window(2)}
    assert (personal.all, personal.caller) == (Window(1000, 20_000), Window(100, 2000, 30))
    assert personal.tools == {name: Window(window.minute * 10) for name, window in swarm.tools.items()}


@pytest.mark.promise("P-01")
def test_a_tool_that_nothing_allows_does_not_run_and_the_words_are_the_designs(tables: MemoryTables) -> None:
    decision = decide(asked("file/delete"), tables)
    assert (decision.kind, decision.rule) == ("deny", "allowlist")
    assert decision.reason == "Tool 'file/delete' is not whitelisted for AI use"


@pytest.mark.promise("P-01")
@pytest.mark.parametrize(
    ("policy", "tool", "rule"),
    [
        ({}, "code/read", "stage:read-only"),
        ({"policy": {"stage": "full"}}, "code/read", "stage:full"),
        ({"callers": {"teacher": {"stage": "sandbox"}}}, "screenshot", "stage:sandbox"),
        ({"callers": {"teacher": {"allow": ["my/tool"]}}}, "my/tool", "caller:allow"),
        ({"policy": {"allow": ["my/*"]}}, "my/tool", "policy:allow"),
        ({"callers": {"teacher": {"only": ["ping"]}}}, "ping", "caller:only"),
        ({"callers": {"teacher": {"only": ["ping"]}}}, "code/read", "allowlist"),
        ({"callers": {"pupil": {"allow": ["my/tool"]}}}, "my/tool", "allowlist"),
        ({"callers": {"teacher": {"allow": ["ping"], "deny": ["ping"]}}}, "ping", "caller:deny"),
        ({"policy": {"deny": ["code/*"]}, "callers": {"teacher": {"only": ["code/read"]}}}, "code/read", "policy:deny"),
        ({"policy": {"deny": ["CODE_READ"]}}, "code/read", "policy:deny"),
    ],
)
def test_lists_decide_by_name_and_a_denial_beats_every_permission(
    tables: MemoryTables, policy: dict[str, Any], tool: str, rule: str
) -> None:
    assert decide(asked(tool, policy), tables).rule == rule


@pytest.mark.promise("P-01", "P-04")
def test_a_function_of_the_program_that_only_reads_needs_no_name_on_a_list(tables: MemoryTables) -> None:
    assert decide(asked("add", own=True), tables).rule == "stage:own"
    only = {"callers": {"teacher": {"only": ["ping"]}}}
    assert decide(asked("add", only, own=True), tables).rule == "allowlist"


@pytest.mark.promise("P-01")
def test_a_batch_needs_every_tool_it_would_run_on_the_list(tables: MemoryTables) -> None:
    policy = {"policy": {"allow": ["batch"], "deny": ["ping"]}}
    assert decide(asked("batch", policy, inner=("code/list",)), tables).kind == "allow"
    assert decide(asked("batch", policy, inner=("code/list", "file/save")), tables).rule == "allowlist"
    assert decide(asked("batch", policy, inner=("ping",)), tables).rule == "policy:deny"
    everything = {"policy": {"allow": ["*"]}}
    assert decide(asked("batch", everything, inner=("any",)), tables).kind == "allow"
    nameless = decide(asked("batch", everything, inner=("",)), tables)
    assert (nameless.rule, nameless.reason) == ("allowlist", "Tool '(unnamed)' is not whitelisted for AI use")


@pytest.mark.promise("P-02", "P-06")
def test_what_is_counted_or_asked_about_by_itself_is_not_batched(tables: MemoryTables) -> None:
    policy = {"policy": {"allow": ["*"], "approval": {"tools": ["mail/*"]}}}
    for tool in ("code/read", "Code_Read", "mail/send", "MAIL.send"):
        assert decide(asked("batch", policy, inner=("ping", tool)), tables).rule == "batch", tool
    for tool in ("code/list", "email/send"):
        assert decide(asked("batch", policy, inner=("ping", tool)), tables).kind == "allow", tool


@pytest.mark.promise("P-06")
def test_a_grant_is_not_used_where_a_path_goes_through_a_link(tables: MemoryTables) -> None:
    policy = {"policy": {"stage": "full", "write": "ask", "execute": "ask"}}
    tables.put_grant(Grant("g", "teacher", "file/save", {}, 5, NOW + HOUR, "somebody", ""))
    assert decide(asked("file/save", policy, effects=["write"]), tables).rule == "approval:grant"
    assert decide(asked("file/save", policy, effects=["write"], linked=True), tables).rule == "approval:write"


@pytest.mark.promise("P-06", "P-16")
def test_a_grant_answers_a_question_about_a_guarding_file_only_where_it_names_arguments(tables: MemoryTables) -> None:
    policy = {"policy": {"stage": "full", "write": "allow", "execute": "allow"}}
    found = (Finding("ask", "path:guards", "`.claude/settings.json` decides which hooks or programs run"),)
    request = asked("file/save", policy, effects=["write"], findings=found)
    tables.put_grant(Grant("g", "teacher", "file/save", {}, 5, NOW + HOUR, "somebody", ""))
    assert decide(request, tables).rule == "path:guards"


@pytest.mark.promise("P-02")
def test_a_full_window_refuses_with_the_time_to_try_again(tables: MemoryTables) -> None:
    request = asked(policy={"policy": {"limits": {"caller": {"minute": 2, "burst": 0}}}})
    for _ in range(2):
        assert decide(request, tables).kind == "allow"
        tables.mark("caller\0teacher", 1)
    decision = decide(replace(request, at=NOW + 20 * SECOND), tables)
    assert (decision.rule, decision.retry_after) == ("limit:caller:minute", 40.0)
    assert decision.reason.startswith("Rate limit exceeded. Please wait before making more tool calls.")
    assert "rate limit" in decision.reason
    assert "40 s" in (decision.hint or "")
    assert decide(replace(request, at=NOW + MINUTE), tables).kind == "allow"


@pytest.mark.promise("P-02")
def test_a_burst_is_how_many_calls_may_start_within_a_second(tables: MemoryTables) -> None:
    request = asked("ping", {"policy": {"preset": "swarm"}})
    for _ in range(3):
        tables.mark("caller\0teacher", 1)
    assert decide(request, tables).rule == "limit:caller:burst"
    assert decide(replace(request, at=NOW + SECOND), tables).kind == "allow"


@pytest.mark.promise("P-02")
def test_a_tools_limit_counts_one_callers_calls_of_it(tables: MemoryTables) -> None:
    policy = {"policy": {"preset": "swarm"}}
    for _ in range(5):
        tables.mark("tool\0teacher\0code/read", 1)
    assert decide(asked(policy=policy), tables).rule == "limit:tool:minute"
    assert decide(asked(policy=policy, caller="pupil"), tables).kind == "allow"
    assert decide(asked("code/list", policy), tables).kind == "allow"


@pytest.mark.promise("P-02")
def test_zero_means_no_limit_and_nothing_is_counted() -> None:
    free = {"policy": {"limits": {"all": {"minute": 0, "hour": 0}, "caller": {"minute": 0, "hour": 0, "burst": 0}}}}
    assert asked("ping", free).scopes == ()


@pytest.mark.promise("R-08")
def test_a_truncated_call_runs_only_when_it_reads(tables: MemoryTables) -> None:
    policy = {"policy": {"stage": "full", "write": "allow", "execute": "allow"}}
    assert decide(asked(policy=policy, truncated=True), tables).kind == "allow"
    for effect in ("write", "execute", "network"):
        decision = decide(asked("file/save", policy, truncated=True, effects=[effect]), tables)
        assert (decision.kind, decision.rule) == ("deny", "truncated")


@pytest.mark.promise("P-04", "P-05")
def test_what_writes_or_executes_is_off_and_a_dry_run_when_on(tables: MemoryTables) -> None:
    assert decide(asked("file/save", effects=["write"]), tables).rule == "allowlist"
    on = {"policy": {"stage": "limited-write"}}
    assert decide(asked("file/save", on, effects=["write"]), tables).kind == "dry_run"
    really = {"policy": {"stage": "limited-write", "write": "ask", "execute": "ask"}}
    assert decide(asked("file/save", really, effects=["write"]), tables).rule == "approval:write"


@pytest.mark.promise("P-07")
def test_the_third_identical_call_within_a_minute_is_refused_and_names_the_earlier_one(tables: MemoryTables) -> None:
    request = asked("ping")
    for call in (7, 8):
        assert decide(request, tables).kind == "allow"
        tables.mark(f"same\0teacher\0d\0\0{tables.changes()}", call)
    decision = decide(request, tables)
    assert (decision.rule, decision.earlier) == ("loop", 7)
    assert "call 7" in (decision.hint or "")
    assert decide(replace(request, repeatable=True), tables).kind == "allow"
    assert decide(replace(request, state="the file is another"), tables).kind == "allow"
    assert decide(replace(request, at=NOW + MINUTE), tables).kind == "allow"
    tables.changed("some other call")
    assert decide(request, tables).kind == "allow"


@pytest.mark.promise("P-08")
def test_a_changed_definition_asks_before_it_runs(tables: MemoryTables) -> None:
    request = asked("ping")
    tables.pin("ping", "def")
    assert decide(request, tables).kind == "allow"
    decision = decide(replace(request, definition="another"), tables)
    assert (decision.kind, decision.rule) == ("ask", "definition:changed")


@pytest.mark.promise("P-10")
def test_an_uncertain_repair_with_side_effects_asks_whatever_else_is_said(tables: MemoryTables) -> None:
    policy = {"policy": {"write": "allow", "tools": {"file/save": {"write": "allow"}}}}
    request = asked("file/save", policy, effects=["write"], repaired=True, confidence=0.89)
    tables.put_grant(Grant("g", "teacher", "file/save", {}, 5, NOW + HOUR, "somebody", ""))
    assert decide(request, tables).rule == "approval:confidence"
    assert decide(replace(request, confidence=0.9), tables).kind == "allow"
    assert decide(replace(request, effects=frozenset(("read",))), tables).kind == "allow"


@pytest.mark.promise("P-11")
def test_a_call_refused_too_often_is_in_quarantine_for_that_caller(tables: MemoryTables) -> None:
    for _ in range(5):
        tables.mark("refused\0teacher\0d", 1)
    assert decide(asked("ping"), tables).rule == "quarantine"
    assert decide(asked("ping", caller="pupil"), tables).kind == "allow"
    assert decide(replace(asked("ping"), at=NOW + HOUR), tables).kind == "allow"


@pytest.mark.promise("P-06")
def test_an_approval_that_is_named_must_be_for_exactly_this_call(tables: MemoryTables) -> None:
    decision = decide(asked("ping", approval="nothing"), tables)
    assert (decision.kind, decision.rule) == ("deny", "approval:unknown")
    other = Approval("a1", "call", "pupil", "ping", "{}", "d", "other", "def", "", "", "{}", 0, "", NOW + 1, "approved")
    tables.put_approval(other)
    assert decide(asked("ping", approval="a1"), tables).rule == "approval:mismatch"


def test_the_order_of_the_policies_is_fixed() -> None:
    names = [name for name, _ in POLICIES]
    assert names == ["pause", "denied", "allowed", "batch", "quarantine", "truncated", "paths", "commands", "loops",
                     "limits", "budget", "definition", "effects", "approval"]  # fmt: skip


KINDS = {"allow", "dry_run", "ask", "deny"}
RARE = {"batch", "definition:changed", "approval:grant"} | {
    f"approval:{word}" for word in ("given", "denied", "waiting", "unknown", "mismatch", "expired")
}
"""Rules that need much to come together, and that the generator must reach all the same."""


@pytest.mark.promise("P-01", "P-02", "P-07", "P-09")
@pytest.mark.long
def test_random_policies_and_requests_are_decided_as_the_obvious_evaluator_decides_them() -> None:
    chance = random.Random(20261116)
    seen: set[tuple[str, str]] = set()
    for case in rounds(chance, policies=220, requests=10):
        assert disagreement(case) is None, disagreement(case)
        seen.add(verdict(case.policy, case.request, case.world))
    assert {kind for kind, _ in seen} == KINDS
    assert len(seen) > 25, "the generator no longer reaches most rules"
    assert {rule for _, rule in seen} >= RARE


@pytest.mark.promise("P-01", "P-02", "P-07", "P-09")
def test_a_decision_that_differs_is_noticed() -> None:
    chance = random.Random(1)
    found = 0
    for case in rounds(chance, policies=50, requests=5):
        loosened = case._replace(policy=policy(chance))  # the obvious one now judges by another policy
        found += disagreement(loosened) is not None
    assert found > 5
