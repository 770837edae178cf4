"""Quarantine: which calls were refused too often, and letting one try again."""

import json

import pytest

from rightcall.errors import AnswerError
from rightcall.policy.settings import Settings
from rightcall.record.admission import refused_calls, release, release_all
from support.approvals import PERSON, Desk
from support.every import every

pytestmark = pytest.mark.promise("P-11")

FORBIDDEN = Settings(stage="full", deny=("file/save",), quarantine=3)


def refuse(desk: Desk, times: int, caller: str = "teacher", **arguments: object) -> str:
    """The rule of the last refusal."""
    rules = [desk.try_({"n": 1, **arguments}, caller=caller, settings=FORBIDDEN).decision.rule for _ in range(times)]
    return rules[-1]


def listed(desk: Desk, least: int = 1) -> list[tuple[str, str, int]]:
    held = desk.store.look(lambda t: refused_calls(t, least))
    return [(one.caller, one.tool, one.refusals) for one in held]


def test_refused_calls_are_listed_with_how_often_and_why() -> None:
    desk = Desk()
    assert refuse(desk, 2) == "policy:deny"
    refuse(desk, 1, caller="other")
    assert listed(desk) == [("other", "file/save", 1), ("teacher", "file/save", 2)]
    assert listed(desk, 2) == [("teacher", "file/save", 2)]
    (held,) = desk.store.look(lambda t: refused_calls(t, 2))
    assert (held.rule, held.digest) == ("policy:deny", desk.request({"n": 1}).digest)
    desk.clock.advance(3601)
    assert listed(desk) == []


def test_a_call_that_is_released_is_looked_at_again_and_the_release_is_recorded() -> None:
    desk = Desk()
    allowed = Settings(stage="full", write="ask", execute="ask", quarantine=3)
    refuse(desk, 3)
    digest = desk.request({"n": 1}).digest
    assert desk.try_({"n": 1}, settings=allowed).decision.rule == "quarantine"
    freed = desk.store.transact(lambda t: release(t, "teacher", digest[:8].upper(), PERSON))
    assert (freed.digest, freed.refusals) == (digest, 3)
    assert desk.try_({"n": 1}, settings=allowed).decision.rule == "approval:write"
    (entry,) = desk.store.look(lambda t: t.newest(1, ("release",)))
    assert json.loads(entry.body) == {
        "what": "released", "by": PERSON,
        "data": {"caller": "teacher", "digest": digest, "tool": "file/save", "refusals": 3},
    }  # fmt: skip


def test_all_are_released_at_once() -> None:
    desk = Desk()
    refuse(desk, 3)
    refuse(desk, 3, caller="other")
    assert len(desk.store.transact(lambda t: release_all(t, PERSON))) == 2
    assert listed(desk) == []
    assert desk.store.transact(lambda t: release_all(t, PERSON)) == []


@every(
    ("caller", "digest", "by", "said"),
    [
        ("teacher", "0" * 8, PERSON, "was refused within the last hour"),
        ("other", "", PERSON, "is too short"),
        ("teacher", "abcdefg", PERSON, "is too short"),
        ("teacher", None, "teacher", "the caller itself"),
        ("teacher", None, "Te\u0430cher", "the caller itself"),
        ("teacher", None, "helper", "a caller of the policy"),
        ("Teacher", None, PERSON, "was refused within the last hour"),
    ],
)
def test_a_release_that_is_not_clear_or_not_a_persons_is_not_taken(
    caller: str, digest: str | None, by: str, said: str
) -> None:
    desk = Desk()
    refuse(desk, 3)
    whole = desk.request({"n": 1}).digest if digest is None else digest
    with pytest.raises(AnswerError, match=said):
        desk.store.transact(lambda t: release(t, caller, whole, by, ("helper",)))
    assert listed(desk) == [("teacher", "file/save", 3)]


def test_releasing_all_is_for_persons_too() -> None:
    desk = Desk()
    refuse(desk, 3, caller="zoe")
    refuse(desk, 3)
    with pytest.raises(AnswerError, match="the caller itself"):
        desk.store.transact(lambda t: release_all(t, "zoe"))
    assert len(listed(desk)) == 2
