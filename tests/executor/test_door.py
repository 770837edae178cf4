"""Calls that a host runs: judged by the same gate and policy as any other, recorded, ended when the host says so."""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall import MemoryStore
from rightcall.cli.serving import open_door
from rightcall.errors import AnswerError, StoreError
from rightcall.executor.door import Door
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import AuditEntry, read_call, read_end
from support.every import every

READ = {
    "name": "read_file",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
    },
}
DELETE = {
    "name": "delete_file",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}

ASKS = 'version = 1\n[policy]\nallow = ["t"]\nwrite = "ask"\nexecute = "ask"\n[policy.approval]\ntools = ["t"]\n'


def door_of(policy: dict[str, Any] | str | None = None, host: str = "wrap", **options: Any) -> Door:
    door = Door.open(host, policy, **options)
    door.know([READ, DELETE], "files")
    return door


def records(door: Door) -> list[AuditEntry]:
    door.store.transact(lambda _: None)  # what was left for later is written with this
    return door.store.look(lambda tables: [one for one in tables.entries() if one.kind != "policy"])


def test_a_record_names_the_policy_it_was_judged_by() -> None:
    with door_of({"policy": {"repeats": 0}}) as door:
        door.judge("read_file", {"path": "a"}, space="files")
        assert read_call(records(door)[0].body).policy == door.policy.digest


@pytest.fixture
def door() -> Iterator[Door]:
    with door_of() as door:
        yield door


@pytest.mark.promise("H-04")
def test_a_right_call_passes_as_the_very_same_arguments(door: Door) -> None:
    arguments = {"path": "a"}
    passage = door.judge("read_file", arguments, space="files")
    assert (passage.action, passage.changed, passage.message) == ("allow", False, "")
    assert passage.arguments is arguments


@pytest.mark.promise("H-04")
def test_names_arguments_and_types_are_put_right(door: Door) -> None:
    passage = door.judge("readFile", "{'file_path': 'a', 'limit': '3'}", space="files")
    assert (passage.action, passage.changed, passage.name) == ("allow", True, "read_file")
    assert passage.arguments == {"path": "a", "limit": 3}


@pytest.mark.parametrize("remote", [True, False])
def test_a_caller_on_another_machine_is_told_no_command_and_no_path_of_this_one(tmp_path: Path, remote: bool) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text(ASKS)
    tool = {"name": "t", "inputSchema": {"type": "object"}}
    with Door.open("gateway", file, tools=[tool], strict=True, root=tmp_path, remote=remote) as door:
        passage = door.judge("t", {})
    assert passage.action == "ask"
    assert (str(tmp_path) in passage.message) is not remote
    if remote:
        assert passage.message == (
            "Error: 't' always asks. A person must approve this call first\n"
            f"Approval {passage.approval} is pending. Do not retry yet. After approval, send the identical call."
        )


def test_serve_opens_its_gateway_for_callers_on_other_machines(tmp_path: Path) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text(ASKS)
    options = Namespace(policy=str(file), root=str(tmp_path), no_audit=True)
    with open_door(options, "memory") as door:
        door.know([{"name": "t", "inputSchema": {"type": "object"}}])
        passage = door.judge("t", {})
    assert passage.action == "ask"
    assert "rightcall" not in passage.message


def test_what_is_missing_is_refused_with_the_hint_and_recorded(door: Door) -> None:
    passage = door.judge("read_file", {}, space="files")
    assert passage.action == "deny"
    assert "Missing required fields: path" in passage.message
    (entry,) = records(door)
    body = read_call(entry.body)
    assert (entry.kind, body.tool, body.rule, body.wire) == ("refused", "files/read_file", "validation", "wrap")


@pytest.mark.parametrize("written", [None, 3, [], "", "\ud800", {"a": {1, 2}}, "{" * 5000])
def test_whatever_a_model_wrote_nothing_is_raised(door: Door, written: Any) -> None:
    assert door.judge("read_file", written, space="files").action == "deny"


@pytest.mark.parametrize("name", ["", None, 5, "\ud800", "x" * 100_000])
def test_whatever_a_tool_is_called_nothing_is_raised(door: Door, name: Any) -> None:
    assert door.judge(name, {}, space="files").action in ("allow", "deny")


@pytest.mark.promise("P-01")
@every(
    ("policy", "rule"),
    [
        ({"policy": {"deny": ["files/delete_file"]}}, "policy:deny"),
        ({"policy": {"deny": ["delete_*"]}}, "policy:deny"),
        ({"policy": {"deny": ["Files.Delete-File"]}}, "policy:deny"),
        ({"policy": {"deny": ["mcp__files__delete_file"]}}, "policy:deny"),
        ({"callers": {"wrap": {"deny": ["delete_file"]}}}, "caller:deny"),
        ({"callers": {"wrap": {"only": ["files/read_file"]}}}, "allowlist"),
        ({"callers": {"wrap": {"stage": "full"}}}, "allowlist"),
        ({"servers": {"files": {"command": ["x"], "deny": ["delete_file"]}}}, "server:files"),
        ({"servers": {"files": {"command": ["x"], "allow": ["read_*"]}}}, "server:files"),
    ],
)
def test_what_the_policy_does_not_allow_a_caller_is_refused_at_every_door(policy: dict[str, Any], rule: str) -> None:
    with door_of(policy) as door:
        passage = door.judge("delete_file", {"path": "a"}, space="files")
        assert (passage.action, passage.decision.rule) == ("deny", rule)
        misspelt = door.judge("deleteFile", {"path": "a"}, space="files")
        assert misspelt.action == "deny"
        assert not door.offers("delete_file", "files")


def test_a_host_is_left_as_it_is_where_nobody_has_said_anything(door: Door) -> None:
    """No limit, no repeats, no question, no dry run: those are for the tools that we run ourselves."""
    for _ in range(200):
        assert door.judge("delete_file", {"path": "a"}, space="files").action == "allow"
    assert door.judge("never_heard_of", {"any": "thing"}).action == "allow"


@pytest.mark.promise("P-02")
def test_limits_of_a_policy_hold_at_a_door() -> None:
    policy = {"policy": {"limits": {"caller": {"minute": 2}}}}
    with door_of(policy) as door:
        actions = [door.judge("read_file", {"path": str(n)}, space="files").action for n in range(3)]
        assert actions == ["allow", "allow", "deny"]


@pytest.mark.promise("P-03")
@every(
    ("path", "action"),
    [(".env", "deny"), ("/elsewhere/.env", "deny"), ("../id_rsa", "deny"), ("private/a", "deny"),
     ("/tmp/notes.txt", "allow"), (".vscode/settings.json", "allow"), ("node_modules/x/index.js", "allow")],
)  # fmt: skip
def test_secrets_and_denied_paths_are_refused_and_the_rest_is_the_hosts_affair(path: str, action: str) -> None:
    with Door.open("claude-code", {"policy": {"paths": {"deny": ["private/**"]}}}, packs=["claude"]) as door:
        assert door.judge("Read", {"file_path": path}).action == action


@pytest.mark.promise("P-06")
def test_a_question_is_answered_once_for_exactly_this_call() -> None:
    with door_of({"policy": {"approval": {"tools": ["delete_file"]}}}) as door:
        asked = door.judge("delete_file", {"path": "a"}, space="files")
        assert asked.action == "ask"
        assert str(asked.approval) in asked.message
        door.answer(asked, "approved", by="ann")
        assert door.judge("delete_file", {"path": "b"}, space="files").action == "ask"
        assert door.judge("delete_file", {"path": "a"}, space="files").action == "allow"
        assert door.judge("delete_file", {"path": "a"}, space="files").action == "ask"
        with pytest.raises(AnswerError):
            door.answer(asked, "approved", by="ann")


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("remote", [True, False])
def test_where_no_more_calls_may_wait_a_person_is_told_where_to_look(tmp_path: Path, remote: bool) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text('[policy.approval]\ntools = ["delete_file"]\nwaiting = 1\n')
    with door_of(str(file), root=tmp_path, remote=remote) as door:
        door.judge("delete_file", {"path": "a"}, space="files")
        full = door.judge("delete_file", {"path": "b"}, space="files")
    assert full.decision.rule == "approval:full"
    told = f"A person sees what waits with `rightcall approvals list --policy {file}`."
    assert (told in full.message, "rightcall" in full.message) == (not remote, not remote)


def test_a_call_that_was_denied_stays_denied_and_no_other_call_can_use_its_approval() -> None:
    with door_of({"policy": {"approval": {"tools": ["delete_file"]}}}) as door:
        asked = door.judge("delete_file", {"path": "a"}, space="files")
        swapped = door.judge("delete_file", {"path": "b"}, space="files", approval=asked.approval)
        assert (swapped.action, swapped.decision.rule) == ("deny", "approval:mismatch")
        door.answer(asked, "denied", by="ann")
        assert door.judge("delete_file", {"path": "a"}, space="files").decision.rule == "approval:denied"


@pytest.mark.promise("P-06")
@every("named", ["files/delete_file", "delete_file", "mcp__files__delete_file", "mcp__files__*"])
def test_a_rule_may_name_a_servers_tool_as_hosts_do(named: str) -> None:
    with door_of({"policy": {"approval": {"tools": [named]}}}) as door:
        assert door.judge("delete_file", {"path": "a"}, space="files").action == "ask"


@pytest.mark.promise("P-01")
@every("denied", ["git_reset", "a__b/git_reset", "git_*", "mcp__a__b__git_reset"])
def test_where_a_servers_name_may_end_in_several_places_a_denial_means_each(denied: str) -> None:
    with Door.open("claude", {"version": 1, "policy": {"deny": [denied]}}, fixed_names=True, store="memory") as door:
        assert door.judge("b__git_reset", {}, space="a").action == "deny"
        assert door.judge("mcp__a__b__git_reset", {}).action == "deny"
        assert not door.offers("b__git_reset", "a")
        assert door.judge("b__git_log", {}, space="a").action == ("deny" if denied == "git_*" else "allow")


def test_a_host_can_have_its_tools_ask_for_what_they_do() -> None:
    policy = {"callers": {"claude-code": {"execute": "ask"}}}
    with Door.open("claude-code", policy, packs=["claude"]) as door:
        assert door.judge("Bash", {"command": "ls"}).action == "ask"
        assert door.judge("Read", {"file_path": "a.txt"}).action == "allow"


@pytest.mark.promise("P-04")
def test_behind_the_gateway_what_nobody_declared_asks_and_what_no_table_names_is_refused() -> None:
    policy = {"servers": {"files": {"command": ["x"], "effects": {"read_*": ["read"]}}}}
    with door_of(policy, host="gateway", strict=True) as door:
        assert door.judge("read_file", {"path": "a"}, space="files").action == "allow"
        assert door.judge("delete_file", {"path": "a"}, space="files").decision.rule == "approval:write"
        door.know([READ], "other")
        assert door.judge("read_file", {"path": "a"}, space="other").decision.rule == "allowlist"
        assert door.judge("no_such_tool", {}, space="files").decision.rule == "unknown_tool"


@pytest.mark.promise("P-04")
def test_a_server_cannot_pass_for_harmless_by_the_name_of_a_known_tool() -> None:
    """The pack `claude` says that `Read` only reads; a server's tool of that name is another."""
    lookalike = {"name": "Read", "inputSchema": {"type": "object", "properties": {"file_path": {"type": "string"}},
                 "required": ["file_path"]}, "annotations": {"readOnlyHint": True}}  # fmt: skip
    with Door.open("gateway", {"servers": {"s": {"command": ["x"]}}}, strict=True) as door:
        door.know([lookalike], "s")
        assert door.judge("Read", {"file_path": "a"}, space="s").decision.rule == "approval:write"


@pytest.mark.promise("P-05")
def test_a_dry_run_shows_the_call_and_is_not_made() -> None:
    policy = {"servers": {"files": {"command": ["x"]}}, "policy": {"tools": {"files/*": {"write": "dry-run"}}}}
    with door_of(policy, host="gateway", strict=True) as door:
        passage = door.judge("delete_file", {"path": "a"}, space="files")
        assert passage.action == "deny"
        assert '{"arguments":{"path":"a"},"name":"files/delete_file"}' in passage.message
        assert [entry.kind for entry in records(door)][-1] == "end"


@pytest.mark.promise("P-08")
def test_a_tool_that_changed_asks_before_it_runs_again() -> None:
    store = MemoryStore()
    with door_of(store=store) as door:
        assert door.judge("read_file", {"path": "a"}, space="files").action == "allow"
        door.know([READ | {"description": "Now with feelings."}], "files")
        changed = door.judge("read_file", {"path": "a"}, space="files")
        assert (changed.action, changed.decision.rule) == ("ask", "definition:changed")
        door.answer(changed, "approved", by="ann")
        assert door.judge("read_file", {"path": "a"}, space="files").action == "allow"


@pytest.mark.promise("P-08")
def test_servers_do_not_share_what_is_known_of_a_name(door: Door) -> None:
    assert door.judge("read_file", {"path": "a"}, space="files").action == "allow"
    door.know([READ | {"description": "Another one."}], "more")
    assert door.judge("read_file", {"path": "a"}, space="more").action == "allow"


def test_observing_changes_nothing_and_records_what_would_have_been() -> None:
    with door_of({"policy": {"deny": ["delete_file"]}}, mode="observe") as door:
        passage = door.judge("delete_file", {"file": "a"}, space="files")
        assert (passage.action, passage.changed, passage.arguments) == ("allow", False, {"file": "a"})
        assert passage.observed
        door.ended(passage, summary="gone")
        begin, end = records(door)
        body = read_call(begin.body)
        assert (body.decision, body.rule) == ("allow", "observe")
        assert body.reason.startswith("deny by policy:deny")
        assert read_end(end.body).status == "success"


def test_the_policys_word_on_a_host_wins_over_the_doors_own() -> None:
    policy = {"gate": {"hosts": {"wrap": {"mode": "block"}}}}
    with door_of(policy, mode="observe") as door:
        assert door.judge("read_file", {}, space="files").action == "deny"


def test_warning_lets_it_through_with_the_hint() -> None:
    with door_of(mode="warn") as door:
        passage = door.judge("read_file", {}, space="files")
        assert passage.action == "allow"
        assert "Missing required fields: path" in passage.message


def test_where_the_host_has_chosen_the_tool_a_similar_name_is_another_tool() -> None:
    with Door.open("claude-code", packs=["claude"], fixed_names=True) as door:
        passage = door.judge("read_file", {"path": "a"})
        assert (passage.name, passage.arguments, passage.changed) == ("read_file", {"path": "a"}, False)


@pytest.mark.promise("A-01")
def test_a_call_is_ended_once_with_what_came_of_it(door: Door) -> None:
    passage = door.judge("read_file", {"path": "a"}, space="files")
    door.ended(passage, ok=False, error="no such file", seconds=0.5)
    door.ended(passage)
    begin, *_, end = records(door)
    assert (begin.kind, end.kind, end.call) == ("begin", "end", begin.seq)
    body = read_end(end.body)
    assert (body.status, body.error, body.execution_time) == ("failed", "no such file", 500.0)
    assert len([one for one in records(door) if one.kind == "end"]) == 1


@pytest.mark.promise("A-02")
def test_secrets_stay_out_of_the_record(door: Door) -> None:
    passage = door.judge("login", {"password": "hunter2-and-more"}, space="files")
    door.ended(passage, summary="the password hunter2-and-more is right")
    assert b"hunter2" not in b"".join(entry.body for entry in records(door))


@pytest.mark.promise("A-01")
def test_another_process_can_say_how_a_call_ended(tmp_path: Path) -> None:
    path = tmp_path / "rightcall.toml"
    path.write_text("version = 1\n", encoding="utf-8")
    with Door.open("claude-code", path, packs=["claude"], elsewhere=True) as first:
        first.judge("Read", {"file_path": "a.txt"}, context="session", step="toolu_1")
    with Door.open("claude-code", path, packs=["claude"], elsewhere=True) as second:
        assert not any(one.kind == "end" for one in records(second)), "a host still runs it: it is not interrupted"
        assert second.ended_elsewhere("session", "toolu_1", summary="read")
        assert not second.ended_elsewhere("session", "toolu_1")
        assert [one.kind for one in records(second)] == ["begin", "definition", "end"]


@pytest.mark.promise("P-06")
def test_a_call_that_ran_after_the_hosts_own_question_is_recorded_as_approved_there(tmp_path: Path) -> None:
    with Door.open("claude-code", {"policy": {"approval": {"tools": ["Bash"]}}}, packs=["claude"]) as door:
        asked = door.judge("Bash", {"command": "ls"}, context="s", step="t")
        assert door.ended_elsewhere("s", "t", summary="listed")
        kinds = [one.kind for one in records(door)]
        assert kinds == ["waiting", "begin", "answer", "end"]
        assert (
            door.judge("Bash", {"command": "ls"}, context="s", approval=asked.approval).decision.rule == "approval:used"
        )


@pytest.mark.promise("A-04")
def test_a_store_that_cannot_record_refuses_and_lets_pass_only_what_is_observed(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "audit.db"))
    with door_of(store=store) as door, door_of(store=store, mode="observe") as watching:
        assert door.refuse_unjudged("read_file", "a key appears twice", space="files") == records(door)[-1].seq
        store.close()
        assert door.refuse_unjudged("read_file", "a key appears twice", space="files") == 0
        refused = door.judge("read_file", {"path": "a"}, space="files")
        assert (refused.action, refused.decision.rule) == ("deny", "store:closed")
        assert watching.judge("read_file", {"path": "a"}, space="files").action == "allow"
        with pytest.raises(StoreError):
            door.ended_elsewhere("s", "t")


@pytest.mark.promise("P-09")
def test_a_changed_policy_file_holds_at_once_and_a_wrong_one_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rightcall.toml"
    path.write_text("version = 1\n", encoding="utf-8")
    with door_of(host="wrap", policy=path, store="memory") as door:  # type: ignore[arg-type]
        assert door.judge("delete_file", {"path": "a"}, space="files").action == "allow"
        written(path, '[policy]\ndeny = ["delete_file"]\n', door)
        assert door.judge("delete_file", {"path": "a"}, space="files").action == "deny"
        written(path, "[policy]\ndeny = 3\n", door)
        assert door.judge("delete_file", {"path": "a"}, space="files").action == "deny"
        assert "deny" in (door.policy_problem or "")


def written(path: Path, text: str, door: Door) -> None:
    """A file that has rested long enough to be taken."""
    import os

    path.write_text(text, encoding="utf-8")
    os.utime(path, (1_000_000_000, 1_000_000_000 + len(text)))
    door._next_look = 0.0


def test_definitions_that_nobody_can_read_leave_the_others_checked() -> None:
    with Door.open("wrap") as door:
        door.know(
            [READ, {"name": "odd", "inputSchema": {"type": "no-such-type"}}, {"no": "name"}, READ | {"name": "b"}], "s"
        )
        assert door.judge("read_file", {}, space="s").action == "deny"
        assert door.judge("odd", {"any": 1}, space="s").action == "allow"


def test_calls_left_in_a_text_are_found_among_the_tools_behind_the_door() -> None:
    with Door.open("my-agent", tools=[READ]) as door:
        reading = door.read('<tool_call>{"name": "read_file", "arguments": {"file": "a"}}</tool_call>')
        assert [verdict.call.arguments for verdict in reading.calls if verdict.call] == [{"path": "a"}]


async def _judged(door: Door) -> str:
    passage = await door.ajudge("read_file", {"path": "a"}, space="files")
    await door.aended(passage)
    return passage.action


def test_the_same_from_an_event_loop(door: Door) -> None:
    import asyncio

    assert asyncio.run(_judged(door)) == "allow"
    assert [one.kind for one in records(door)] == ["begin", "definition", "end"]


@pytest.mark.promise("P-04")
def test_a_tool_that_shares_its_name_with_a_packs_tool_counts_as_doing_everything() -> None:
    """The pack `code` has a `ping` that only reads; a program's own `ping` may do anything."""
    ping = {"name": "ping", "parameters": {"type": "object", "properties": {}}}
    with Door.open("my-agent", {"policy": {"write": "ask"}}, tools=[ping]) as door:
        assert door.judge("ping", {}).decision.rule == "approval:write"
    stated = {"policy": {"write": "ask"}, "gate": {"tools": {"ping": {"effects": ["read"]}}}}
    with Door.open("my-agent", stated, tools=[ping]) as door:
        assert door.judge("ping", {}).action == "allow"


@pytest.mark.promise("P-04")
def test_what_the_policy_says_of_a_bare_name_declares_no_servers_tool_harmless() -> None:
    policy = {"servers": {"s": {"command": ["x"]}}, "gate": {"tools": {"read_file": {"effects": ["read"]}}}}
    with Door.open("gateway", policy, strict=True) as door:
        door.know([READ], "s")
        assert door.judge("read_file", {"path": "a"}, space="s").decision.rule == "approval:write"
    policy["gate"] = {"tools": {"s/read_file": {"effects": ["read"]}}}
    with Door.open("gateway", policy, strict=True) as door:
        door.know([READ], "s")
        assert door.judge("read_file", {"path": "a"}, space="s").action == "allow"


@pytest.mark.promise("P-04")
def test_what_the_policy_says_a_tool_does_holds_before_anybody_has_seen_its_definition() -> None:
    policy = {
        "servers": {"files": {"command": ["x"], "effects": {"read_*": ["read"]}}},
        "policy": {"write": "ask"},
    }
    with Door.open("claude-code", policy) as door:
        assert door.judge("read_file", {"path": "a"}, space="files").action == "allow"
        assert door.judge("write_file", {"path": "a"}, space="files").action == "ask"


RUN = {
    "name": "run_shell",
    "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
}


@pytest.mark.promise("P-10")
@pytest.mark.parametrize("written", [{"workdir": "ls"}, {"extra": "make"}])
def test_an_unsure_repair_of_a_call_that_may_do_anything_asks_where_there_is_a_policy(written: dict[str, str]) -> None:
    with Door.open("my-agent", {"version": 1}, tools=[RUN]) as door:
        assert door.judge("run_shell", written).decision.rule == "approval:confidence"
    with Door.open("my-agent", {"policy": {"approval": {"confidence": 0.5}}}, tools=[RUN]) as door:
        assert door.judge("run_shell", written).action == "allow"


@pytest.mark.promise("P-10")
def test_an_unsure_repair_goes_back_to_the_model_where_nobody_could_be_asked() -> None:
    with Door.open("my-agent", tools=[RUN]) as door:
        passage = door.judge("run_shell", {"extra": "reboot"})
        assert (passage.action, passage.arguments) == ("deny", {"extra": "reboot"})
        assert "use `command` if you meant it" in passage.message
        assert door.judge("run_shell", {"cmd": "ls"}).arguments == {"command": "ls"}
    with Door.open("my-agent", tools=[RUN], mode="warn") as door:
        passage = door.judge("run_shell", {"extra": "reboot"})
        assert (passage.action, passage.changed, passage.arguments) == ("allow", False, {"extra": "reboot"})
        assert "use `command` if you meant it" in passage.message


@pytest.mark.promise("P-03")
@pytest.mark.parametrize(
    "path",
    ["../rightcall.toml", "rightcall.toml", "deep/er/RightCall.toml", "../.rightcall/audit.db", "x/.rightcall/a"],
)
def test_no_call_touches_a_policy_or_a_record_wherever_the_session_is(tmp_path: Path, path: str) -> None:
    (tmp_path / "sub").mkdir()
    policy = tmp_path / "rightcall.toml"
    policy.write_text("version = 1\n", encoding="utf-8")
    with Door.open("claude-code", policy, packs=["claude"], root=tmp_path / "sub", store="memory") as door:
        for written in (path, str(tmp_path / "sub" / path)):
            passage = door.judge("Write", {"file_path": written, "content": "x"})
            assert (passage.action, passage.decision.rule) == ("deny", "path:deny")
        assert door.judge("Write", {"file_path": "notes.toml", "content": "x"}).action == "allow"


@pytest.mark.promise("P-08")
@every(
    "now",
    [
        [],
        [READ | {"inputSchema": {"$ref": "https://example.com/schema.json"}}],
        [READ | {"title": "Delete a file"}],
        [READ | {"annotations": {"readOnlyHint": True}}],
        [READ | {"outputSchema": {"type": "object"}}],
    ],
    ids=["gone from the list", "unreadable", "title", "annotations", "output"],
)
def test_a_tool_that_was_known_and_is_now_told_differently_or_not_at_all_asks(now: list[Any]) -> None:
    with Door.open("wrap") as door:
        door.know([READ], "files")
        assert door.judge("read_file", {"path": "a"}, space="files").action == "allow"
        door.know(now, "files")
        changed = door.judge("read_file", {"path": "b"}, space="files")
        assert (changed.action, changed.decision.rule) == ("ask", "definition:changed")
        door.answer(changed, "approved", by="ann")
        assert door.judge("read_file", {"path": "b"}, space="files").action == "allow"


def test_a_server_that_has_not_told_its_tools_yet_has_not_changed_them() -> None:
    with Door.open("claude-code", fixed_names=True) as door:
        assert door.judge("read_file", {"path": "a"}, space="files").action == "allow"
        door.know([READ], "files")
        assert door.judge("read_file", {"path": "a"}, space="files").action == "allow"


@pytest.mark.promise("P-07")
def test_the_same_call_is_a_loop_only_as_long_as_it_gives_the_same() -> None:
    with door_of({"version": 1}) as door:

        def call(gave: str) -> str:
            passage = door.judge("read_file", {"path": "a"}, space="files")
            door.ended(passage, summary=gave)
            return passage.decision.rule

        assert [call("one"), call("two"), call("three"), call("three")] == ["host:wrap"] * 4
        assert call("three") == "loop"


@pytest.mark.promise("P-06")
def test_a_question_says_where_it_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "my policy.toml"
    path.write_text('[policy.approval]\ntools = ["delete_file"]\n', encoding="utf-8")
    with door_of(policy=path) as door:  # type: ignore[arg-type]
        asked = door.judge("delete_file", {"path": "a"}, space="files")
        assert f"approve {asked.approval} --policy '{path}'`" in asked.message
    with door_of(
        {"policy": {"approval": {"tools": ["delete_file"]}}}, store=SqliteStore(str(tmp_path / "a.db"))
    ) as door:
        assert "--policy" not in door.judge("delete_file", {"path": "a"}, space="files").message


@pytest.mark.promise("P-17")
@pytest.mark.parametrize("mode", ["block", "warn", "observe"])
def test_a_pause_holds_at_a_door_whatever_its_mode(mode: Any) -> None:
    with door_of(mode=mode) as door:
        held = door.pause("leaked password=Zq8hunter2", by="anna")
        assert "Zq8hunter2" not in held.reason
        for name, arguments in (("read_file", {"path": "a"}), ("read_file", {}), ("nothing", {"a": 1})):
            passage = door.judge(name, arguments, space="files")
            assert (passage.action, passage.decision.rule) == ("deny", "paused")
            assert "All tool calls are paused by the operator" in passage.message
            assert "Do not retry." in passage.message
        assert [entry.kind for entry in records(door)] == ["pause", "refused", "refused", "refused"]
        assert door.resume(by="anna") == held
        assert door.judge("read_file", {"path": "a"}, space="files").action == "allow"


@pytest.mark.promise("P-17")
def test_a_record_names_the_policy_and_the_packs_that_decided(tmp_path: Path) -> None:
    path = tmp_path / "rightcall.toml"
    path.write_text('version = 1\n[policy]\ndeny = ["WebFetch"]\n')
    with Door.open("claude-code", path, packs=["claude"], store="memory") as door:
        door.judge("WebFetch", {"url": "https://example.org", "prompt": "x"})
        door.judge("Read", {"file_path": str(tmp_path / "a.txt")})
        bodies = [read_call(one.body) for one in records(door) if one.kind in ("refused", "begin")]
        assert [(body.policy, bool(body.packs)) for body in bodies] == [(door.policy.digest, True)] * 2
