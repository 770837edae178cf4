"""The small read-only tools, as a model calls them: always allowed, bounded, and each caller's report is its own."""

import getpass
import json
import os
import re
import socket
import threading
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall import Executor, MemoryStore, load_policy
from rightcall.catalog.packs import load_pack
from rightcall.errors import ToolFailure
from rightcall.executor.shipped import small_tools
from rightcall.policy.settings import STAGES, Settings
from rightcall.record import browse
from rightcall.record.browse import COLLECTIONS
from rightcall.record.notes import note_message
from rightcall.record.tables import Store
from rightcall.tools import system
from support.desks import Checks, Project
from support.stores import grant

NAMES = {"ping", "system/monitor", "debug/logs", "data/list", "data/read", "ai/report", "analytics/tool-usage"}


@pytest.fixture
def shop(workshop: Any, store: Store) -> Any:
    return workshop(tools=small_tools(lambda: store))


@pytest.fixture
def seeing(workshop: Any, store: Store) -> Any:
    """Where everybody sees the records of everybody."""
    return workshop(tools=small_tools(lambda: store, settings=Settings(records="all")))


def properties(tool: str) -> dict[str, Any]:
    (about,) = (one for one in load_pack("code").tools if one.name == tool)
    assert about.schema
    return about.schema["properties"]


@pytest.mark.promise("C-11")
def test_all_of_them_are_in_the_first_stage_of_trust_and_run_by_its_rule(seeing: Any) -> None:
    assert {tool.name for tool in small_tools(MemoryStore)} == NAMES
    assert STAGES["read-only"] >= NAMES
    for tool in small_tools(MemoryStore):
        outcome = seeing.run(tool.name, {"collection": "audit", "id": 1} if tool.name == "data/read" else tool.example)
        assert (outcome.ok, outcome.decision.rule) == (True, "stage:read-only"), outcome
        assert (tool.effects, outcome.result["success"]) == (("read",), True)


@pytest.mark.promise("C-11")
def test_the_schemas_name_the_collections_and_limits_that_there_are() -> None:
    assert properties("data/list")["collection"]["enum"] == [*COLLECTIONS, "pull_requests"]
    assert properties("data/read")["collection"]["enum"] == [*COLLECTIONS, "pull_requests"]
    assert properties("data/list")["limit"]["maximum"] == browse.MOST
    assert properties("debug/logs")["limit"]["maximum"] == browse.MOST_LINES


@pytest.mark.promise("C-11")
def test_ping_answers_with_the_time(shop: Any) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    result = shop.run("ping").result
    assert list(result) == ["success", "time"]
    assert before <= datetime.fromisoformat(result["time"]) <= datetime.now(UTC)
    assert result["time"].endswith("Z")


@pytest.mark.promise("C-11")
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="what is told depends on the system")
def test_the_load_is_measured(tmp_path: Path) -> None:
    release = threading.Event()
    waiting = [threading.Thread(target=release.wait) for _ in range(10)]
    before = system.monitor(str(tmp_path)).process
    with ExitStack() as files:
        for n in range(50):
            files.enter_context((tmp_path / f"{n}").open("w"))
        for thread in waiting:
            thread.start()
        held = bytearray(os.urandom(1)) * 50_000_000
        told = system.monitor(str(tmp_path))
        release.set()
        for thread in waiting:
            thread.join()
    process, machine = told.process, told.machine
    assert (process.open_files or 0) - (before.open_files or 0) > 40, "others may close a few meanwhile"
    assert (process.threads or 0) - (before.threads or 0) > 5
    assert (process.memory_bytes or 0) - (before.memory_bytes or 0) > len(held) // 2
    assert process.cpu_seconds > before.cpu_seconds > 0
    assert 0 < (process.uptime_seconds or 0) <= (machine.uptime_seconds or 0)
    assert 0 < (machine.memory_available_bytes or 0) <= (machine.memory_total_bytes or 0)
    assert 0 < (machine.disk_free_bytes or 0) <= (machine.disk_total_bytes or 0)
    assert machine.load_average
    assert machine.cores == os.cpu_count()


@pytest.mark.promise("C-11")
def test_the_load_names_nobody_and_nothing(monkeypatch: pytest.MonkeyPatch, shop: Any) -> None:
    monkeypatch.setenv("SOME_VARIABLE", "hunter2")
    result = shop.run("system/monitor").result
    assert {part: [*result[part]] for part in ("process", "machine")} == {
        "process": ["cpuSeconds", "memoryBytes", "threads", "openFiles", "uptimeSeconds"],
        "machine": [
            "loadAverage", "cores", "memoryTotalBytes", "memoryAvailableBytes", "diskTotalBytes", "diskFreeBytes",
            "uptimeSeconds",
        ],
    }  # fmt: skip
    texts = [text for text in json.dumps(result).split('"') if text]
    for name in ("hunter2", getpass.getuser(), socket.gethostname()):
        assert name not in texts


@pytest.mark.promise("C-11")
def test_what_the_system_does_not_tell_is_null(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(*_: Any, **__: Any) -> Any:
        raise OSError("not on this system")

    monkeypatch.setattr(system, "open", missing, raising=False)
    for name in ("listdir", "getloadavg", "sysconf"):
        monkeypatch.setattr(os, name, missing)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    told = system.monitor(str(tmp_path / "gone"))
    known = {name for part in (told.process, told.machine) for name in part.__struct_fields__ if getattr(part, name)}
    assert known == {"cpu_seconds"}


@pytest.mark.promise("C-11")
def test_a_report_is_the_callers_own_whoever_it_claims_to_be(workshop: Any, store: Store) -> None:
    for unknown in ("drop", "keep"):
        shop = workshop({"gate": {"unknown_argument": unknown}}, tools=small_tools(lambda: store))
        shop.run("add", {"a": 1, "b": unknown == "keep"}, caller="teacher")
        outcome = shop.run("ai/report", {"period": "1day", "caller": "teacher"}, caller="student")
        assert outcome.result["personaId"] == "student"
        assert [*outcome.result["toolBreakdown"]] == ["ai/report"]
        assert "teacher" not in json.dumps(outcome.result)
    assert shop.run("ai/report", {}, caller="teacher").result["toolBreakdown"]["add"]["calls"] == 2


@pytest.mark.promise("C-11")
def test_no_model_is_told_of_the_argument_in_which_the_caller_stands(shop: Any) -> None:
    (report,) = (one["function"] for one in shop.executor.definitions() if one["function"]["name"] == "ai_report")
    assert [*report["parameters"]["properties"]] == ["period"]


@pytest.mark.promise("C-11")
def test_a_call_finds_itself_running_and_others_as_they_ended(seeing: Any) -> None:
    seeing.run("add", {"a": 1, "b": 2})
    seeing.run("fail", {"reason": "because"})
    seeing.run("delete_all")
    outcome = seeing.run("data/list", {"collection": "tool_usage_logs"}, caller="student")
    assert [(one["persona_id"], one["tool"], one["status"]) for one in outcome.result["records"]] == [
        ("student", "data/list", "pending"),
        ("teacher", "delete_all", "refused"),
        ("teacher", "fail", "failed"),
        ("teacher", "add", "success"),
    ]
    assert outcome.summary == "Listed 4 of 4 records of tool_usage_logs"
    lines = seeing.run("debug/logs", {"limit": 5}).result["lines"]
    assert [line.split()[2:5] for line in lines if " definition " not in line][:2] == [
        ["teacher", "debug/logs", "pending"],
        ["student", "data/list", "success"],
    ]


@pytest.mark.promise("C-11")
def test_what_was_redacted_stays_so(shop: Any) -> None:
    shop.run("fail", {"reason": "--password hunter2 and no more"})
    found = shop.run("data/list", {"collection": "calls", "filter": {"tool": "fail"}}).result
    (record,) = found["records"]
    assert "[redacted " in record["params"]["reason"]
    one = shop.run("data/read", {"collection": "calls", "id": record["id"]}).result
    assert one["record"]["params"] == record["params"]
    logs = shop.run("debug/logs").result
    assert "hunter2" not in json.dumps([found, one, logs])


@pytest.mark.promise("C-11")
def test_a_question_that_waits_is_listed_without_the_call_itself(workshop: Any, store: Store) -> None:
    policy = {"policy": {"allow": ["save"], "write": "ask", "execute": "ask"}}
    shop = workshop(policy, tools=small_tools(lambda: store))
    shop.run("save", {"path": "a.txt", "content": "the pin is hunter2"})
    found = shop.run("data/list", {"collection": "approvals"}).result
    assert [(one["caller"], one["tool"], one["status"]) for one in found["records"]] == [("teacher", "save", "waiting")]
    assert "hunter2" not in json.dumps(found)


@pytest.mark.promise("C-11")
def test_what_is_asked_wrongly_is_answered_with_what_would_be_right(shop: Any) -> None:
    for arguments, words in (
        ({"collection": "meta"}, "must be one of tool_usage_logs, calls"),
        ({"collection": "calls", "limit": 101}, "`limit` must be at most 100"),
        ({"collection": "calls", "filter": {"caller": ["a", "b"]}}, "`filter.caller` must be"),
        ({"collection": "grants", "filter": {"where": "x"}}, "Its columns are id, caller, tool, uses, made."),
    ):
        outcome = shop.run("data/list", arguments)
        assert not outcome.ok
        assert words in outcome.content
    assert "names no record of calls" in shop.run("data/read", {"collection": "calls", "id": "7' OR '1"}).content


@pytest.mark.promise("C-11")
@pytest.mark.promise("P-14")
def test_a_caller_sees_its_own_records_and_others_only_where_the_policy_says_so(workshop: Any, store: Store) -> None:
    policy = load_policy(
        {
            "policy": {"allow": ["save"], "write": "ask", "execute": "ask"},
            "callers": {"auditor": {"records": "all"}, "t\u0435acher": {}, "Teacher": {}},
        }
    )
    shop = workshop(policy, tools=small_tools(lambda: store, settings=policy.settings))
    shop.run("add", {"a": 4711, "b": 2})
    shop.run("save", {"path": "a.txt", "content": "4711"})
    for _ in range(3):
        shop.run("delete_all", {"pin": 4711})
    store.transact(lambda tables: note_message(tables, "teacher", "plan-4711"))
    store.transact(lambda tables: tables.put_grant(grant("g1", caller="teacher", tool="save")))

    def seen(caller: str) -> tuple[str, list[str]]:
        """Everything that the tools show, and the callers of its rows."""
        found = [
            shop.run("data/list", {"collection": name, "limit": 100}, caller=caller).result for name in COLLECTIONS
        ]
        rows = [row for one in found for row in one["records"]]
        lines = shop.run("debug/logs", {"limit": 500}, caller=caller).result["lines"]
        whole = [shop.run("data/read", {"collection": "audit", "id": n}, caller=caller).content for n in range(2, 6)]
        return json.dumps([rows, lines, whole]), [row.get("caller", row.get("persona_id")) for row in rows]

    for sees in ("teacher", "auditor"):
        text, callers = seen(sees)
        assert {"teacher"} <= set(callers)
        assert {"4711", "delete_all", "plan-4711", "g1"} <= set(re.findall(r"[\w-]+", text))
    for stranger in ("student", "Teacher"):
        text, callers = seen(stranger)
        assert not {"4711", "delete_all", "g1"} & set(re.findall(r"[\w-]+", text)), stranger
        assert {one or stranger for one in callers} == {stranger}  # the end of a call names nobody
    assert "student" in seen("auditor")[1]
    assert "student" not in seen("teacher")[1]


@pytest.mark.promise("C-11")
@pytest.mark.promise("P-14")
def test_nothing_in_a_call_says_whose_records_are_shown(shop: Any) -> None:
    shop.run("add", {"a": 4711, "b": 2})
    for name, arguments in (
        ("data/list", {"collection": "calls", "caller": "teacher"}),
        ("data/list", {"collection": "calls", "filter": {"caller": "teacher"}}),
        ("data/read", {"collection": "calls", "id": 2, "caller": "teacher"}),
        ("debug/logs", {"caller": "teacher", "limit": 500}),
        ("ai/report", {"caller": "teacher"}),
        ("ai/report", {"persona_id": "teacher"}),
        ("analytics/tool-usage", {"personaId": "teacher"}),
        ("analytics/tool-usage", {"caller": "teacher"}),
        ("analytics/tool-usage", {"personaId": "*"}),
        ("analytics/tool-usage", {}),
    ):
        outcome = shop.run(name, arguments, caller="student")
        assert "4711" not in outcome.content + json.dumps(outcome.result), name


@pytest.mark.promise("C-11")
def test_who_may_not_see_what_others_do_can_be_kept_from_it(workshop: Any, store: Store) -> None:
    policy = {"callers": {"student": {"deny": ["data/*", "debug/logs"]}}}
    shop = workshop(policy, tools=small_tools(lambda: store))
    assert shop.run("data/list", {"collection": "calls"}, caller="student").decision.rule == "caller:deny"
    assert shop.run("debug/logs", {}, caller="student").decision.rule == "caller:deny"
    assert shop.run("ai/report", {}, caller="student").ok
    assert shop.run("data/list", {"collection": "calls"}, caller="teacher").ok


@pytest.mark.promise("C-11")
def test_looking_leaves_no_trace_but_the_record_of_the_look(shop: Any) -> None:
    shop.run("data/list", {"collection": "calls"})
    before = len(shop.entries())
    shop.run("data/list", {"collection": "calls"})
    assert [entry.kind for entry in shop.entries()[before:]] == ["begin", "end"]


@pytest.mark.promise("C-11")
def test_arguments_that_no_record_can_hold_are_a_clear_failure() -> None:
    tools = {tool.name: tool.function for tool in small_tools(MemoryStore)}
    with pytest.raises(ToolFailure, match=r"^data/list: Expected `int`"):
        tools["data/list"](collection="calls", limit=1e300)
    with pytest.raises(ToolFailure, match=r"^data/read: Object missing required field `id`"):
        tools["data/read"](collection="calls")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def unlimited(tmp_path_factory: pytest.TempPathFactory) -> Any:
    none = {"minute": 0, "hour": 0, "burst": 0}
    policy = {"policy": {"repeats": 0, "quarantine": 0, "limits": {"all": {"minute": 0, "hour": 0}, "caller": none}}}
    store = MemoryStore()
    root = tmp_path_factory.mktemp("root")
    with Executor.open_sync(root, policy, store=store, tools=small_tools(lambda: store)) as executor:
        yield executor
    store.close()


@pytest.mark.promise("C-11")
@given(
    st.sampled_from([*COLLECTIONS]),
    st.dictionaries(st.sampled_from(["caller", "tool", "status", "id"]) | st.text(max_size=9), anything, max_size=3),
    st.integers(-1, 120),
)
def test_no_filter_makes_a_call_of_data_list_raise_or_show_more_than_its_limit(
    unlimited: Any, collection: str, only: Any, limit: int
) -> None:
    arguments = {"collection": collection, "filter": only, "limit": limit}
    outcome = unlimited.run({"name": "data/list", "arguments": arguments})
    assert outcome.status in ("success", "failed", "refused")
    if outcome.ok:
        assert len(outcome.result["records"]) <= limit
    else:
        assert "`limit`" in outcome.content or "filter" in outcome.content


@pytest.mark.promise("C-11")
@pytest.mark.promise("X-80")
def test_usage_shows_a_caller_its_own_calls_and_all_to_who_may_see_them(workshop: Any, store: Store) -> None:
    rules = load_policy({"callers": {"auditor": {"records": "all"}}}).settings
    shop = workshop(tools=small_tools(lambda: store, settings=rules))
    shop.run("add", {"a": 1, "b": 2}, caller="teacher")
    shop.run("add", "{'a': 1, 'b': 2,}", caller="student")

    def usage(caller: str, arguments: dict[str, Any]) -> Any:
        return shop.run("analytics/tool-usage", arguments, caller=caller)

    own = usage("student", {}).result
    assert (own["personaId"], own["personaName"], own["callers"]) == ("student", "Student", {})
    assert own["toolBreakdown"]["add"]["calls"] == 1
    assert own["repairs"]["byTool"]["add"]["repairRate"] == 100.0
    assert usage("student", {"personaId": "student"}).result["toolBreakdown"] == {
        "add": own["toolBreakdown"]["add"],
        "analytics/tool-usage": {"calls": 2, "successRate": 100.0, "avgTime": ANY},
    }
    for stranger in ("teacher", "nobody", "*", "Student", " student", ""):
        refused = usage("student", {"personaId": stranger})
        assert not refused.ok
        assert refused.error == (
            f"analytics/tool-usage: `personaId` is {json.dumps(stranger)}, but you may see your own usage only. "
            "Leave `personaId` out."
        )
    everything = usage("auditor", {}).result
    assert (everything["personaId"], everything["personaName"]) == ("*", "All Callers")
    assert [*everything["callers"]] == ["student", "auditor", "teacher"]
    assert everything["toolBreakdown"]["add"]["calls"] == 2
    assert everything["repairs"]["byTool"]["add"]["repairRate"] == 50.0
    assert usage("auditor", {"persona_id": "teacher", "period": "1hour"}).result["stats"]["totalCalls"] == 1
    assert usage("auditor", {"caller": "teacher"}).result["personaId"] == "teacher"
    assert usage("*", {}).result["stats"]["totalCalls"] == 1, "a name that stands for all elsewhere is a name here"


@pytest.mark.promise("W-02", "W-04", "C-11")
def test_a_model_finds_its_request_and_why_it_was_not_merged(tmp_path: Path) -> None:
    project, store = Project(tmp_path), MemoryStore()
    tools = {one.name: one for one in small_tools(lambda: store, str(project.root), project.desk.folder)}
    listed = tools["data/list"].function
    assert listed(collection="pull_requests")["records"] == []
    assert not Path(project.desk.folder).exists()
    project.approved()
    with pytest.raises(ToolFailure):
        project.merge(Checks(1, b"1 failed"))
    (row,) = listed(collection="pull_requests", filter={"status": "open", "author": "teacher"})["records"]
    assert (row["id"], row["title"], row["branch"]) == ("1", "Say two", "fix")
    assert listed(collection="pull_requests", filter={"status": "merged"})["records"] == []
    whole = tools["data/read"].function(collection="pull_requests", id=1)["record"]
    assert [one["kind"] for one in whole["discussion"]] == ["opened", "approve", "check"]
    assert whole["checks"][-1]["tail"] == "1 failed"
    with pytest.raises(ToolFailure, match="names no record of pull_requests"):
        tools["data/read"].function(collection="pull_requests", id="9")
    with pytest.raises(ToolFailure, match="quarantine, pull_requests"):
        listed(collection="secrets")
