"""Attacks with an approval of another conversation, of another server or of an older store; and too many questions.

Each row is one way to get a call through, or to keep a person from being asked about another's. The calls are those of
test_approval_attacks.py; both stores are tried where the store decides.
"""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightcall.executor.door import Door
from rightcall.executor.question import question_lines
from rightcall.executor.toolbox import way_of, way_told
from rightcall.hosts.hooks.wires import builtin_tools
from rightcall.policy.settings import Asking, Settings
from rightcall.policy.types import binding
from rightcall.record import memory, sqlite_file
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import ManualClock, read_note
from support.approval_attacks import FILES, HERE, OTHER_CONTEXTS, OTHER_SERVERS, WIKI, origin
from support.approvals import SETTINGS, START, Desk, request_of, say
from support.every import every

pytestmark = pytest.mark.promise("P-06")


@pytest.mark.parametrize("named", [False, True], ids=["", "and names the approval"])
def test_a_yes_counts_in_the_conversation_it_was_given_in_and_nowhere_else(named: bool) -> None:
    for attack, given in OTHER_CONTEXTS.items():
        desk = Desk()
        approval = desk.approved(context=HERE)
        decision = desk.try_(**given, approval=approval if named else None).decision
        assert decision.kind == ("deny" if named else "ask"), attack
        assert decision.rule == ("approval:mismatch" if named else "approval:write"), attack
        assert desk.ran() == 0, attack
        assert desk.try_(context=HERE, approval=approval).decision.kind == "allow", attack  # the yes was not lost


@every("context", ["chat-1", "", "null", "None"])
def test_a_yes_without_a_conversation_counts_in_none(context: str) -> None:
    desk = Desk()
    approval = desk.approved()
    assert desk.try_(context=context).decision.kind == "ask"
    assert desk.try_(context=context, approval=approval).decision.rule == "approval:mismatch"
    assert desk.try_().decision.kind == "allow"


def test_the_same_call_in_two_conversations_is_two_questions_and_each_names_its_own() -> None:
    desk = Desk()
    first, second = desk.ask(context="a"), desk.ask(context="b")
    assert first != second
    assert desk.ask(context="a") == first
    say(desk.store, second, "denied")
    assert desk.try_(context="b").decision.rule == "approval:denied"
    assert desk.try_(context="a").decision.kind == "ask"


# ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.promise("P-08")
def test_a_server_that_is_reached_in_another_way_asks_before_its_tools_run_again() -> None:
    for attack, (before, now) in OTHER_SERVERS.items():
        desk = Desk()
        approval = desk.approved(origin=origin(before))
        assert desk.try_(origin=origin(before)).decision.approval == approval, attack  # the first use pins it
        waits = desk.approved({"n": 1}, origin=origin(before))
        for arguments, named in (({"n": 1}, None), ({"n": 1}, waits), ({"n": 2}, None)):
            decision = desk.try_(arguments, origin=origin(now), approval=named).decision
            assert (decision.kind, decision.rule) == ("ask", "definition:server"), attack
        assert desk.ran() == 1, attack
        assert decision.approval is not None
        say(desk.store, decision.approval)
        again = desk.try_({"n": 1}, origin=origin(now), approval=waits).decision
        assert again.rule == "approval:mismatch", attack  # that yes was for a call of the other server
        assert desk.try_({"n": 1}, origin=origin(before)).decision.rule == "definition:server", attack  # and not back


@pytest.mark.promise("P-08")
def test_a_yes_given_before_a_server_was_first_used_is_for_that_server() -> None:
    desk = Desk()
    approval = desk.approved(origin=origin(FILES))
    other = origin(replace(FILES, command=("evil",)))
    assert desk.try_(origin=other).decision.kind == "ask"
    assert desk.try_(origin=other, approval=approval).decision.rule == "approval:mismatch"
    assert desk.try_(approval=approval).decision.rule == "approval:mismatch"  # nor for one of whom nothing is known


@pytest.mark.promise("P-08")
def test_what_is_no_other_server_does_not_ask() -> None:
    same = [
        way_of(FILES.command, cwd="/srv", env={"LANG": "other", "TOKEN": "renewed"}),
        way_of(list(FILES.command), "", "/srv", ["TOKEN", "LANG"]),
    ]
    assert {origin(one).digest for one in same} == {origin(FILES).digest}
    assert origin(way_of(url=WIKI.url, headers={"authorization": "Bearer y"})) == origin(WIKI)


@pytest.mark.promise("P-08")
def test_a_changed_server_is_shown_with_what_it_was_and_no_secret_and_a_no_holds() -> None:
    desk = Desk()
    before = way_of(["serve", "--token", "hunter2", "/data"], env={"TOKEN": "hunter2"})
    now = way_of(url="https://ann:hunter2@evil.example/mcp?api_key=hunter2")
    desk.try_(effects=("read",), origin=origin(before))
    asked = desk.ask({"n": 1}, effects=("read",), origin=origin(now))
    assert desk.ask({"n": 2}, effects=("read",), origin=origin(now), caller="intern") == asked  # one question for all
    approval = desk.store.look(lambda tables: tables.approval(asked))
    assert approval is not None
    assert (approval.kind, approval.tool) == ("server", "wrap:files")
    assert "evil.example/mcp" in approval.canonical
    assert "hunter2" not in approval.canonical
    notes = desk.store.look(lambda tables: [read_note(one.body).data for one in tables.newest(9, ("definition",))])
    first = next(note for note in notes if "server" in note)
    assert "serve --token [redacted" in first["described"]
    assert "hunter2" not in str(notes)
    say(desk.store, asked, "denied")
    refused = desk.try_({"n": 3}, effects=("read",), origin=origin(now)).decision
    assert (refused.kind, refused.rule) == ("deny", "approval:denied")
    assert desk.try_({"n": 4}, effects=("read",), origin=origin(before)).decision.kind == "allow"


def test_a_policy_that_does_not_ask_about_definitions_does_not_ask_about_servers() -> None:
    lax = replace(SETTINGS, approval=Asking(definitions=False))
    desk = Desk()
    for way in (FILES, WIKI):
        assert desk.try_(effects=("read",), origin=origin(way), settings=lax).decision.kind == "allow"


@every("told", [{}, {"command": 7}, {"command": ""}, {"args": ["x"]}, {"url": None}, {"args": "x"}])
def test_what_a_host_does_not_say_of_a_server_counts_for_nothing(told: dict[str, Any]) -> None:
    assert not way_told(told).is_known


# ── too many questions ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=["memory", "sqlite"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    if request.param == "memory":
        yield Desk()
        return
    clock = ManualClock(START)
    with closing(SqliteStore(tmp_path / "audit.db", clock=clock)) as store:
        desk = Desk(store)
        desk.clock = clock
        yield desk


FEW = replace(SETTINGS, approval=Asking(expires=600, waiting=3, waiting_bytes=100_000))
FULL = ("deny", "approval:full")


def rule(desk: Desk, n: int, settings: Settings = FEW, **more: Any) -> tuple[str, str]:
    decision = desk.try_({"n": n}, settings=settings, **more).decision
    return decision.kind, decision.rule


def fill(desk: Desk, **more: Any) -> list[str]:
    return [desk.ask({"n": number}, settings=FEW, **more) for number in range(3)]


BEYOND: dict[str, dict[str, Any]] = {
    "another call": {},
    "another conversation": {"context": "another"},
    "another tool": {"tool": "file/delete"},
    "an uncertain repair": {"repaired": True, "confidence": 0.1},
    "what the router wants confirmed": {"effects": ("network",), "asks": frozenset({"network"})},
    "another state": {"state": "other"},
    "an execution": {"effects": ("execute",)},
    "a changed definition": {"tool": "pinned", "definition": "2" * 64, "effects": ("read",)},
    "a changed server": {"tool": "other", "effects": ("read",), "origin": origin(WIKI)},
}


def test_beyond_the_limit_no_question_of_that_caller_waits_whatever_it_is_about(desk: Desk) -> None:
    desk.try_(tool="pinned", definition="1" * 64, effects=("read",))
    desk.try_(tool="other", effects=("read",), origin=origin(FILES))
    asked = fill(desk)
    for attack, given in BEYOND.items():
        assert rule(desk, 99, **given) == FULL, attack
    assert rule(desk, 1) == ("ask", "approval:write")  # the same question is the one that waits
    assert desk.ask({"n": 99}, settings=FEW, caller="intern")  # nobody else is kept from asking
    waiting = desk.store.look(lambda tables: [one.id for one in tables.approvals("waiting") if one.caller == "teacher"])
    assert waiting == asked
    refused = desk.try_({"n": 99}, settings=FEW).decision
    assert refused.reason == "3 calls wait for approval already, and no more may wait. This one did not run"
    assert refused.hint is not None
    assert "rightcall" not in f"{refused.reason}{refused.hint}"


def test_a_refused_question_leaves_no_approval_that_could_be_redeemed_and_is_recorded(desk: Desk) -> None:
    asked = fill(desk)
    assert rule(desk, 99) == FULL
    assert len(desk.store.look(lambda tables: tables.approvals())) == 3
    kinds = desk.store.look(lambda tables: [one.kind for one in tables.newest(1)])
    assert kinds == ["refused"]
    say(desk.store, asked[0])
    assert rule(desk, 99, approval=asked[0]) == ("deny", "approval:mismatch")
    assert rule(desk, 0) == ("allow", "approval:given")
    assert [rule(desk, 99) for _ in range(20)][-1] == ("ask", "approval:write")  # it was never quarantined


def test_answers_and_time_make_room(desk: Desk) -> None:
    asked = fill(desk)
    say(desk.store, asked[0], "denied")
    assert rule(desk, 10) == ("ask", "approval:write")
    say(desk.store, asked[1])
    assert rule(desk, 11) == ("ask", "approval:write")
    assert rule(desk, 12) == FULL
    desk.clock.advance(600)
    assert rule(desk, 13) == ("ask", "approval:write")
    desk.clock.set_wall(0)
    assert desk.store.look(lambda tables: tables.waiting("teacher", desk.now)[0]) == 1
    desk.ask({"n": 14}, settings=FEW, caller="intern")
    assert desk.store.look(lambda tables: tables.count_waiting(desk.now)) == 2


def test_bytes_count_together_with_what_a_person_is_shown_beside_the_call(desk: Desk) -> None:
    long = "é" * 20_000  # 40,000 bytes
    desk.ask({"text": long}, settings=FEW)
    desk.ask({"text": "x"}, settings=FEW, details=f'{{"preview": "{long}"}}')
    held = desk.store.look(lambda tables: tables.waiting("teacher", desk.now)[1])
    assert 80_000 < held < 81_000
    refused = desk.try_({"text": long, "n": 2}, settings=FEW).decision
    assert (refused.kind, refused.rule) == FULL
    assert refused.reason.startswith("The calls that wait for approval hold 80,")
    assert rule(desk, 1) == ("ask", "approval:write")


def test_one_call_that_is_larger_than_all_may_be_is_told_to_be_smaller(desk: Desk) -> None:
    refused = desk.try_({"text": "x" * 100_000}, settings=FEW).decision
    assert (refused.kind, refused.rule, refused.hint) == (*FULL, "Make a smaller call.")


def test_twenty_questions_and_a_megabyte_are_the_default() -> None:
    desk = Desk()
    kinds = [desk.try_({"n": n}).decision.kind for n in range(21)]
    assert kinds == ["ask"] * 20 + ["deny"]
    assert desk.try_({"text": "x" * 1_000_000}, caller="intern").decision.rule == "approval:full"


def test_the_limit_is_exact_when_many_ask_at_once(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "audit.db")) as store, ThreadPoolExecutor(8) as threads:
        desk = Desk(store)
        found = list(threads.map(lambda n: rule(desk, n), range(40)))
        assert sum(one == ("ask", "approval:write") for one in found) == 3
        assert sum(one == FULL for one in found) == 37


def test_a_store_in_memory_that_is_full_forgets_what_is_settled_before_what_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "_APPROVALS", 50)
    desk = Desk()
    asked = desk.ask(caller="quiet")
    for number in range(60):
        say(desk.store, desk.ask({"n": number}), "denied")
    assert desk.ask(caller="quiet") == asked


# ── older stores ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_waits_in_an_older_store_is_redeemed_by_calls_without_a_conversation_alone(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    with closing(SqliteStore(path)) as store:
        desk = Desk(store)
        waiting, approved = desk.ask({"n": 1}), desk.approved({"n": 2})
    with closing(sqlite3.connect(path)) as older:  # as version 1 had it
        older.executescript(
            "DROP INDEX approvals_waiting; DROP INDEX approvals_open; ALTER TABLE approvals DROP COLUMN context;"
            "DROP TABLE tokens; DROP TABLE credentials; DROP TABLE spent; PRAGMA user_version = 1;"
        )
    with closing(SqliteStore(path)) as store:
        desk = Desk(store)
        assert desk.try_({"n": 2}, context=HERE).decision.kind == "ask"
        assert desk.try_({"n": 2}, context=HERE, approval=approved).decision.rule == "approval:mismatch"
        assert desk.try_({"n": 2}).decision.approval == approved
        assert desk.ask({"n": 1}) == waiting
        say(store, waiting)
        assert desk.try_({"n": 1}, context=HERE, approval=waiting).decision.rule == "approval:mismatch"
        assert desk.try_({"n": 1}).decision.kind == "allow"
    with closing(sqlite3.connect(path)) as now:
        assert now.execute("PRAGMA user_version").fetchone() == (sqlite_file.VERSION,)


def test_the_key_of_a_call_without_conversation_and_server_is_what_it_always_was() -> None:
    request = request_of({"n": 1})
    before = f'["call","teacher","{request.digest}","{request.definition}","s"]'
    assert binding(request) == sha256(before.encode()).hexdigest()
    assert binding(request) != binding(replace(request, context=""))


def test_there_are_enough_of_them() -> None:
    assert len(OTHER_CONTEXTS) + len(OTHER_SERVERS) + len(BEYOND) >= 44


def test_a_yes_counts_in_the_folder_it_was_given_in_and_nowhere_else(tmp_path: Path) -> None:
    """`rm -rf *` is another call in another folder; the root by another name is the root."""
    root, src, other = tmp_path / "project", tmp_path / "project" / "src", tmp_path / "documents"
    for folder in (src, other):
        folder.mkdir(parents=True)
    (tmp_path / "linked").symlink_to(root)
    call = ("Bash", {"command": "rm -rf *"})
    with Door.open("claude-code", tools=builtin_tools("claude"), root=str(root), fixed_names=True) as door:
        for given, elsewhere in ((src, other), (src, root), (root, src)):
            asked = door.judge(*call, context="c", cwd=str(given))
            assert asked.action == "ask"
            door.answer(asked, "approved", by="anna")
            assert door.judge(*call, context="c", cwd=str(elsewhere)).action == "ask"
            assert door.judge(*call, context="c", cwd=str(given)).action == "allow"
        assert asked.approval is not None
        asked = door.judge(*call, context="c", cwd=str(tmp_path / "linked"))
        door.answer(asked, "approved", by="anna")
        assert door.judge(*call, context="c").action == "allow"
        shown = door.judge(*call, context="c", cwd=str(src)).approval
        assert shown is not None
        (approval,) = [one for one in door.store.look(lambda tables: tables.approvals("waiting")) if one.id == shown]
        assert f'in folder   "{src}"' in "\n".join(question_lines(approval, now=0, width=200))
