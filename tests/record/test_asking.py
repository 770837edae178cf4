"""Questions, answers and grants in the tables: bound to one call, answered once by a person, used once."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightcall.base.secrets import Redactor
from rightcall.errors import AnswerError
from rightcall.policy.settings import Asking, Settings
from rightcall.policy.types import HOUR, Approval, Decision, Grant
from rightcall.record.admission import (  # fmt: skip
    UNSAID,
    ApprovalQuestion,
    Hide,
    Reply,
    answer,
    ask,
    earlier_definition,
    give_grant,
    require_answerable,
    revoke_grant,
    unsaid,
    use,
)
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import EntryKind, ManualClock, read_answer, read_note
from support.approvals import PERSON, START, Desk, request_of, say

pytestmark = pytest.mark.promise("P-06")

ASK = Decision("ask", "approval:write", "It can write.")


@pytest.fixture(params=["memory", "sqlite"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    if request.param == "memory":
        yield Desk()
        return
    clock = ManualClock(START)
    store = SqliteStore(tmp_path / "audit.db", clock)
    made = Desk(store)
    made.clock = clock
    yield made
    store.close()


def bodies(desk: Desk, kind: EntryKind) -> list[Any]:
    return [json.loads(entry.body) for entry in desk.store.look(lambda t: list(t.entries())) if entry.kind == kind]


def found(desk: Desk, id: str) -> Approval:
    approval = desk.store.look(lambda t: t.approval(id))
    assert approval is not None
    return approval


def grant_of(**more: Any) -> Grant:
    fields: dict[str, Any] = {
        "id": "g1", "caller": "teacher", "tool": "file/save", "where": {}, "uses": 1, "expires_at": START + HOUR,
        "by": PERSON, "made": "2026-01-01 00:00:00.000",
    }  # fmt: skip
    return Grant(**(fields | more))


def give(desk: Desk, callers: tuple[str, ...] = (), hide: Hide = str, **more: Any) -> None:
    desk.store.transact(lambda t: give_grant(t, grant_of(**more), callers, hide))


def test_the_same_call_asks_one_question_however_often_it_is_made(desk: Desk) -> None:
    assert desk.ask() == desk.ask()
    assert desk.ask() != desk.ask({"path": "other"})
    assert len(desk.store.look(lambda t: t.approvals("waiting"))) == 2


def test_a_question_holds_the_whole_call_and_when_it_expires(desk: Desk) -> None:
    approval = found(desk, desk.ask({"path": "é\u202e"}, state="st"))
    assert approval.canonical == '{"arguments":{"path":"é\u202e"},"name":"file/save"}'
    assert approval.digest == request_of({"path": "é\u202e"}).digest
    assert (approval.status, approval.state, approval.expires_at) == ("waiting", "st", START + 600 * 10**9)
    assert approval.why.startswith("approval:write: ")


def test_an_unanswered_question_expires_and_the_call_asks_anew(desk: Desk) -> None:
    first = desk.ask()
    desk.clock.advance(600)
    with pytest.raises(AnswerError, match="has expired"):
        say(desk.store, first)
    second = desk.ask()
    assert second != first
    assert (found(desk, first).status, found(desk, first).canonical) == ("expired", "")
    assert [read_answer(json.dumps(body).encode()).status for body in bodies(desk, "answer")] == ["expired"]


def test_what_nobody_answered_or_used_in_time_is_not_kept(desk: Desk) -> None:
    waiting, approved = desk.ask({"n": 1}), desk.approved({"n": 2})
    desk.clock.advance(600)
    say(desk.store, desk.ask({"n": 3}))
    assert [(found(desk, one).status, found(desk, one).canonical) for one in (waiting, approved)] == [
        ("expired", "")
    ] * 2


@pytest.mark.promise("A-02")
def test_the_next_question_empties_those_whose_time_is_over(desk: Desk) -> None:
    waiting, approved, denied = desk.ask({"n": 1}), desk.approved({"n": 2}), desk.ask({"n": 3})
    say(desk.store, denied, "denied")
    desk.clock.advance(600)
    request = desk.request({"n": 4})
    desk.store.transact(lambda t: ask(t, request, ASK, ApprovalQuestion("{}", "{}")))
    over = [found(desk, one) for one in (waiting, approved)]
    assert [(one.status, one.canonical, one.details) for one in over] == [("expired", "", "{}")] * 2
    assert found(desk, denied).status == "denied"


@pytest.mark.promise("A-02")
def test_a_question_that_nobody_comes_back_to_is_emptied_by_the_store_itself(tmp_path: Path) -> None:
    clock = ManualClock(START)
    store = SqliteStore(tmp_path / "audit.db", clock)
    desk = Desk(store)
    desk.clock = clock
    asked, later = desk.ask({"password": "Zq8hunter2"}), desk.ask({"n": 2})
    clock.advance(599)
    say(store, later)
    clock.advance(6)
    store.transact(lambda t: t.wall())
    over = found(desk, asked)
    store.close()
    assert (over.status, over.canonical, over.details) == ("expired", "", "{}")
    assert found(Desk(SqliteStore(tmp_path / "audit.db", clock)), later).status == "approved"
    with pytest.raises(AnswerError, match="has expired"):
        require_answerable(over, clock.now())


def test_an_id_that_is_taken_is_not_given_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = iter(["aaaaaaaa", "aaaaaaaa", "bbbbbbbb"])
    monkeypatch.setattr("os.urandom", lambda _: bytes.fromhex(next(ids)))
    assert (desk.ask(), desk.ask({"path": "other"})) == ("aaaaaaaa", "bbbbbbbb")


def test_a_yes_lets_exactly_this_call_run_once(desk: Desk) -> None:
    desk.approved()
    admission = desk.try_()
    assert (admission.decision.kind, admission.decision.rule) == ("allow", "approval:given")
    used = found(desk, admission.decision.approval or "")
    assert (used.status, used.used_by, used.canonical) == ("used", admission.call, "")
    assert desk.try_().decision.kind == "ask"
    assert desk.ran() == 1


def test_a_no_holds_until_it_expires_and_says_why_in_the_record(desk: Desk) -> None:
    denied = say(desk.store, desk.ask(), "denied", digest="", reason="not on a Friday")
    assert (denied.status, denied.canonical, denied.by) == ("denied", "", PERSON)
    assert desk.try_().decision.rule == "approval:denied"
    (body,) = bodies(desk, "answer")
    assert (body["status"], body["reason"], body["by"]) == ("denied", "not on a Friday", PERSON)
    desk.clock.advance(600)
    assert desk.try_().decision.kind == "ask"


def test_an_answer_is_recorded_with_the_digest_that_was_shown(desk: Desk) -> None:
    asked = desk.ask()
    say(desk.store, asked)
    (body,) = bodies(desk, "answer")
    assert body["digest"] == request_of().digest
    assert (body["id"], body["tool"], body["caller"]) == (asked, "file/save", "teacher")


@pytest.mark.parametrize("shown", ["", "0" * 64, "abc", "SHORT7", "é" * 8])
def test_a_wrong_or_short_digest_is_not_taken(desk: Desk, shown: str) -> None:
    with pytest.raises(AnswerError, match="is not the digest of approval"):
        say(desk.store, desk.ask(), digest=shown)


def test_eight_characters_of_the_digest_are_enough_in_any_case(desk: Desk) -> None:
    assert say(desk.store, desk.ask(), digest=request_of().digest[:8].upper()).status == "approved"


def test_a_no_with_a_wrong_digest_is_not_taken_either(desk: Desk) -> None:
    with pytest.raises(AnswerError, match="is not the digest"):
        say(desk.store, desk.ask(), "denied", digest="0" * 64)


@pytest.mark.parametrize("by", ["", "  ", "\u200b", "anna\x1b[2J", "anna\nroot", "x" * 101])
def test_who_answers_needs_a_name_that_can_be_read(desk: Desk, by: str) -> None:
    with pytest.raises(AnswerError, match=r"say who you are|is not a valid name"):
        say(desk.store, desk.ask(), by=by)


def test_nothing_is_written_when_an_answer_is_not_taken(desk: Desk) -> None:
    asked = desk.ask()
    before = desk.store.look(lambda t: t.head())
    wrongs: list[dict[str, Any]] = [{"by": "teacher"}, {"digest": "0" * 64}, {"by": ""}, {"callers": (PERSON,)}]
    for wrong in wrongs:
        with pytest.raises(AnswerError):
            say(desk.store, asked, **wrong)
    assert desk.store.look(lambda t: t.head()) == before
    assert found(desk, asked).status == "waiting"


def test_using_what_is_not_there_raises_so_that_nothing_runs(desk: Desk) -> None:
    waiting = desk.ask()
    for decision in (
        Decision("allow", "approval:given", approval="nothing"),
        Decision("allow", "approval:given", approval=waiting),
        Decision("allow", "approval:grant", grant="nothing"),
    ):
        with pytest.raises(AnswerError):
            desk.store.transact(lambda t, decision=decision: use(t, decision, 1))


@pytest.mark.promise("P-08")
def test_a_changed_definition_asks_once_and_is_accepted_for_good(desk: Desk) -> None:
    old, new = json.dumps({"description": "old"}), json.dumps({"description": "new"})
    assert desk.try_(definition="1" * 64, described=old, effects=("read",)).decision.kind == "allow"
    admission = desk.try_(definition="2" * 64, described=new, effects=("read",))
    assert (admission.decision.kind, admission.decision.rule) == ("ask", "definition:changed")
    question = found(desk, admission.decision.approval or "")
    assert (question.kind, question.canonical, question.digest) == ("definition", new, "2" * 64)
    assert desk.store.look(lambda t: earlier_definition(t, "file/save")) == old
    assert say(desk.store, question.id).status == "used"
    assert desk.try_(definition="2" * 64, effects=("read",)).decision.kind == "allow"
    assert desk.store.look(lambda t: earlier_definition(t, "file/save")) == new
    assert [body["what"] for body in bodies(desk, "definition")] == ["first seen", "accepted"]
    assert desk.try_({"n": 2}, definition="1" * 64, effects=("read",)).decision.kind == "ask"  # nor the old one again


def test_an_earlier_definition_that_no_record_holds_is_not_known(desk: Desk) -> None:
    assert desk.store.look(lambda t: earlier_definition(t, "file/save")) == ""


def test_a_grant_is_used_as_often_as_it_says_and_its_end_is_recorded(desk: Desk) -> None:
    give(desk, uses=2, note="the report")
    assert [desk.try_({"n": n}).decision.kind for n in range(3)] == ["allow", "allow", "ask"]
    assert desk.store.look(lambda t: t.all_grants()) == []
    notes = [read_note(json.dumps(body).encode()) for body in bodies(desk, "grant")]
    assert [(note.what, note.data["uses"]) for note in notes] == [("made", 2), ("used up", 1)]
    assert notes[0].data["note"] == "the report"


@pytest.mark.promise("A-02")
def test_what_a_person_writes_is_recorded_only_as_it_may_stand_there(desk: Desk) -> None:
    redactor = Redactor(b"k" * 32)
    secret = "Zq8hunter2"
    give(desk, hide=redactor.value, where={"path": "docs/*", "password": secret}, note=f"password={secret}", uses=2)
    give(desk, hide=unsaid, id="g2", where={"to": secret}, note=secret)
    desk.store.transact(lambda t: give_grant(t, grant_of(id="g3", where={"to": secret}, note=secret)))
    for one in ("g2", "g3"):
        desk.store.transact(lambda t, one=one: revoke_grant(t, one, PERSON))
    for n in range(2):
        assert desk.try_({"path": f"docs/{n}", "password": secret}).decision.grant == "g1"
    asked, other = desk.ask({"n": 1}), desk.ask({"n": 2})
    desk.store.transact(lambda t: answer(t, asked, Reply("denied", PERSON, reason=secret), 60))
    said = f"not with password={secret}"
    desk.store.transact(lambda t: answer(t, other, Reply("denied", PERSON, "", said, redactor.value), 60))
    grants, answers = bodies(desk, "grant"), bodies(desk, "answer")
    assert secret not in json.dumps(grants + answers)
    assert grants[0]["data"]["where"] == {"path": "docs/*", "password": redactor.mark(secret)}
    assert grants[0]["data"]["note"] == f"password={redactor.mark(secret)}"
    assert [(one["what"], one["data"]["id"]) for one in grants] == [
        ("made", "g1"), ("made", "g2"), ("made", "g3"), ("revoked", "g2"), ("revoked", "g3"), ("used up", "g1"),
    ]  # fmt: skip
    assert [one["reason"] for one in answers] == [UNSAID, f"not with password={redactor.mark(secret)}"]


def test_a_grant_can_be_taken_back(desk: Desk) -> None:
    give(desk, uses=5)
    assert desk.store.transact(lambda t: revoke_grant(t, "g1", PERSON)).id == "g1"
    assert desk.try_().decision.kind == "ask"
    assert [body["what"] for body in bodies(desk, "grant")] == ["made", "revoked"]
    with pytest.raises(AnswerError, match="unknown grant 'g1'"):
        desk.store.transact(lambda t: revoke_grant(t, "g1", PERSON))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"by": "teacher"}, "the caller itself"),
        ({"by": "TEACHER "}, "the caller itself"),
        ({"by": "helper", "callers": ("helper",)}, "a caller of the policy"),
        ({"by": ""}, "say who you are"),
        ({"uses": 0}, "at least one use"),
        ({"caller": " "}, "a grant is for one caller"),
        ({"tool": ""}, "a grant is for one tool"),
        ({"tool": "file/*"}, "a grant is for one tool"),
    ],
)
def test_a_grant_that_nobody_could_give_is_not_taken(desk: Desk, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(AnswerError, match=said):
        give(desk, **wrong)
    assert desk.store.look(lambda t: t.all_grants()) == []


def test_a_grant_never_takes_the_place_of_another(desk: Desk) -> None:
    give(desk)
    with pytest.raises(AnswerError, match="there is a grant g1 already"):
        give(desk, caller="other")


def test_asking_returns_the_question_that_waits_even_when_the_clock_stands_still(desk: Desk) -> None:
    request = desk.request()
    first = desk.store.transact(lambda t: ask(t, request, ASK, ApprovalQuestion("{}", "{}")))
    later = replace(request, at=request.at + 1)
    again = desk.store.transact(lambda t: ask(t, later, ASK, ApprovalQuestion("{}", "{}")))
    assert again[:2] == first[:2]
    assert (first[2], again[2]) == (True, False)  # only the first is news


def test_one_call_that_waits_is_told_in_the_singular() -> None:
    desk, one = Desk(), Settings(stage="full", write="ask", execute="ask", approval=Asking(waiting=1))
    desk.try_({"n": 1}, settings=one)
    assert desk.try_({"n": 2}, settings=one).decision.reason.startswith("1 call waits for approval already")
