"""Answers, grants and their ends: each stands in the record, holds for exactly its time, and is taken once."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from rightcall.errors import AnswerError
from rightcall.policy.types import SECOND, Grant, refused_scope
from rightcall.record.admission import give_grant, release, revoke_grant, sweep
from support.approvals import PERSON, Desk, say
from support.every import every


def noted(desk: Desk, kind: Any) -> list[dict[str, Any]]:
    found = desk.store.look(lambda tables: [(one.call, json.loads(one.body)) for one in tables.entries()
                                            if one.kind == kind])  # fmt: skip
    assert all(call == 0 for call, _ in found), "it belongs to no call"
    return [body for _, body in found]


def swept(desk: Desk) -> None:
    desk.store.transact(lambda tables: sweep(tables, desk.now))


@pytest.mark.promise("A-01", "P-06")
@pytest.mark.parametrize("said", ["approved", "denied"])
def test_an_answer_stands_in_the_record_with_who_gave_it_why_and_until_when(said: str) -> None:
    desk = Desk()
    asked = desk.ask()
    answered = say(desk.store, asked, said, reason="so it is", expires=60)
    assert answered.expires_at == desk.now + 60 * SECOND
    (body,) = noted(desk, "answer")
    told = {key: body.get(key) for key in ("approval", "id", "said", "status", "by", "digest", "reason")}
    assert {asked, said, PERSON, answered.digest, "so it is"} <= set(told.values())
    kept = desk.store.look(lambda tables: tables.approval(asked))
    assert kept is not None
    assert bool(kept.canonical) is (said == "approved"), "what is not to run is not kept"


@pytest.mark.promise("P-06")
@pytest.mark.parametrize(("seconds", "rule"), [(59.9, "approval:given"), (60, "approval:write")])
def test_a_yes_holds_for_its_seconds_and_no_longer(seconds: float, rule: str) -> None:
    desk = Desk()
    asked = desk.ask()
    say(desk.store, asked, expires=60)
    desk.clock.advance(seconds)
    assert desk.try_().decision.rule == rule


@pytest.mark.promise("P-06")
def test_a_yes_that_nothing_has_used_is_taken_back_and_stays_a_no() -> None:
    desk = Desk()
    asked = desk.ask()
    say(desk.store, asked, "approved")
    assert say(desk.store, asked, "denied", takes_back=True).status == "denied"
    assert desk.try_().decision.rule == "approval:denied"
    assert [body["status"] for body in noted(desk, "answer")] == ["approved", "denied"]
    kept = desk.store.look(lambda tables: tables.approval(asked))
    assert kept is not None
    assert kept.canonical == "", "what is not to run is not kept"
    for said in ("approved", "denied"):
        with pytest.raises(AnswerError, match="already denied; an answer is given once"):
            say(desk.store, asked, said, takes_back=True)


@pytest.mark.promise("P-06")
def test_a_yes_that_was_used_or_is_over_cannot_be_taken_back() -> None:
    desk = Desk()
    asked = desk.ask()
    say(desk.store, asked, "approved")
    assert desk.try_().decision.rule == "approval:given"
    with pytest.raises(AnswerError, match="already used; an answer is given once"):
        say(desk.store, asked, "denied", takes_back=True)
    again = desk.ask()
    say(desk.store, again, "approved", expires=60)
    desk.clock.advance(60)
    with pytest.raises(AnswerError):
        say(desk.store, again, "denied", takes_back=True)


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("seconds", [599.9, 600])
def test_a_question_that_nobody_answered_in_time_is_recorded_as_such_and_keeps_nothing_of_the_call(
    seconds: float,
) -> None:
    desk = Desk()
    asked = desk.ask()
    desk.clock.advance(seconds)
    swept(desk)
    kept = desk.store.look(lambda tables: tables.approval(asked))
    assert kept is not None
    if seconds < 600:
        assert (kept.status, noted(desk, "answer")) == ("waiting", [])
        return
    assert (kept.status, kept.canonical, kept.details) == ("expired", "", "{}")
    (body,) = noted(desk, "answer")
    assert "expired" in body.values()
    swept(desk)
    assert len(noted(desk, "answer")) == 1
    with pytest.raises(AnswerError, match="has expired; the call must be made again"):
        say(desk.store, asked)


@pytest.mark.promise("P-06")
def test_the_next_question_of_anybody_clears_away_what_nobody_answered() -> None:
    desk = Desk()
    asked = desk.ask({"secret": "x"})
    desk.clock.advance(600)
    desk.ask({"n": 2}, caller="intern")
    assert (_approval(desk, asked).status, _approval(desk, asked).canonical) == ("expired", "")


@pytest.mark.promise("P-06")
def test_a_no_holds_for_its_time_and_then_the_same_call_is_a_new_question() -> None:
    desk = Desk()
    asked = desk.ask()
    say(desk.store, asked, "denied", expires=60)
    desk.clock.advance(59.9)
    assert desk.try_().decision.kind == "deny"
    desk.clock.advance(0.1)
    assert desk.ask() != asked
    assert _approval(desk, asked).status == "expired"
    assert len(noted(desk, "answer")) == 2, "the no, and its end"


@pytest.mark.promise("P-06")
@every(("length", "taken"), [(0, False), (7, False), (8, True), (64, True), (65, False)])
def test_a_yes_names_at_least_the_beginning_of_the_digest_that_was_shown(length: int, taken: bool) -> None:
    desk = Desk()
    asked = desk.ask()
    whole = desk.request().digest
    given = (whole + "0")[:length].upper()
    if taken:
        assert say(desk.store, asked, digest=given).status == "approved"
        return
    with pytest.raises(AnswerError, match="is not the digest"):
        say(desk.store, asked, digest=given)
    assert noted(desk, "answer") == []


def test_a_no_needs_no_digest_but_a_wrong_one_is_a_no_to_something_else() -> None:
    desk = Desk()
    first, second = desk.ask({"n": 1}), desk.ask({"n": 2})
    assert say(desk.store, first, "denied", digest="").status == "denied"
    with pytest.raises(AnswerError, match="is not the digest"):
        say(desk.store, second, "denied", digest="0" * 64)


def test_nobody_says_yes_to_a_call_that_is_no_longer_kept_but_anybody_may_say_no() -> None:
    desk = Desk()
    asked = desk.ask()
    desk.store.transact(lambda tables: tables.put_approval(replace(_approval(desk, asked), canonical="")))
    with pytest.raises(AnswerError, match="no longer kept"):
        say(desk.store, asked)
    assert say(desk.store, asked, "denied").status == "denied"


def _approval(desk: Desk, id: str) -> Any:
    return desk.store.look(lambda tables: tables.approval(id))


def grant(desk: Desk, **more: Any) -> Grant:
    made: dict[str, Any] = {
        "id": "g1", "caller": "teacher", "tool": "file/save", "by": PERSON, "expires_at": desk.now + 60 * SECOND,
        "uses": 2, "where": {}, "made": "",
    } | more  # fmt: skip
    return Grant(**made)


@pytest.mark.promise("A-01", "P-06")
def test_a_grant_stands_in_the_record_when_it_is_made_taken_back_and_over() -> None:
    desk = Desk()
    desk.store.transact(lambda tables: give_grant(tables, grant(desk)))
    desk.store.transact(lambda tables: give_grant(tables, grant(desk, id="g2")))
    taken = desk.store.transact(lambda tables: revoke_grant(tables, "g1", "bob"))
    assert taken.id == "g1"
    desk.clock.advance(59.9)
    swept(desk)
    assert [one.id for one in desk.store.look(lambda tables: tables.all_grants())] == ["g2"]
    desk.clock.advance(0.1)
    swept(desk)
    assert desk.store.look(lambda tables: tables.all_grants()) == []
    assert [(one["what"], one.get("by", ""), one["data"]["id"]) for one in noted(desk, "grant")] == [
        ("made", PERSON, "g1"), ("made", PERSON, "g2"), ("revoked", "bob", "g1"), ("expired", "", "g2"),
    ]  # fmt: skip
    with pytest.raises(AnswerError, match="unknown grant 'g1'"):
        desk.store.transact(lambda tables: revoke_grant(tables, "g1", "bob"))


@every(
    ("more", "why"),
    [
        ({"tool": "file/*"}, "one tool"), ({"tool": " "}, "one tool"), ({"caller": ""}, "one caller"),
        ({"caller": "a\nb"}, "one caller"), ({"uses": 0}, "at least one use"), ({"id": "g0"}, "a grant g0 already"),
    ],
)  # fmt: skip
def test_a_grant_that_is_not_for_one_caller_and_one_tool_is_not_given(more: dict[str, Any], why: str) -> None:
    desk = Desk()
    desk.store.transact(lambda tables: give_grant(tables, grant(desk, id="g0", uses=1)))
    with pytest.raises(AnswerError, match=why):
        desk.store.transact(lambda tables: give_grant(tables, grant(desk, **more)))
    assert [one.id for one in desk.store.look(lambda tables: tables.all_grants())] == ["g0"]


@pytest.mark.promise("P-11")
@pytest.mark.parametrize(
    ("given", "why"), [("d" * 7, "too short"), ("d" * 8, "2 calls begin with"), ("e" * 8, "was refused within")]
)
def test_a_release_names_one_call(given: str, why: str) -> None:
    desk = Desk()
    for digest in ("d" * 64, "d" * 63 + "e"):
        desk.store.transact(lambda tables, digest=digest: tables.mark(refused_scope("teacher", digest), 1, desk.now))
    with pytest.raises(AnswerError, match=why):
        desk.store.transact(lambda tables: release(tables, "teacher", given, PERSON))
    freed = desk.store.transact(lambda tables: release(tables, "teacher", "d" * 64, PERSON))
    assert freed.digest == "d" * 64
