"""What people said: approvals, grants, and the definitions of tools that were accepted."""

import pytest

from rightcall.policy.types import Approval
from rightcall.record.tables import Store, Tables
from support.stores import approval, grant

pytestmark = pytest.mark.promise("P-06", "S-01")


def put(store: Store, *approvals: Approval) -> None:
    store.transact(lambda tables: [tables.put_approval(one) for one in approvals])


def ids(approvals: list[Approval]) -> list[str]:
    return [one.id for one in approvals]


def test_an_approval_is_kept_whole(store: Store) -> None:
    one = approval(
        canonical='{"text":"\\u001b[31m\\n"}', state="", kind="definition", by="ann", answered="2026-01-02", used_by=7,
        status="used", expires_at=2**62, details='{"effects":["write"]}',
    )  # fmt: skip
    put(store, one)
    assert store.look(lambda tables: tables.approval("a1")) == one
    assert store.look(lambda tables: tables.approval("a2")) is None


def test_a_replaced_approval_keeps_its_place(store: Store) -> None:
    put(store, approval("a1"), approval("a2", binding="c"), approval("a3", binding="d"))
    put(store, approval("a2", binding="c", status="approved", by="ann"))
    assert ids(store.look(lambda tables: tables.approvals())) == ["a1", "a2", "a3"]
    assert ids(store.look(lambda tables: tables.approvals("waiting"))) == ["a1", "a3"]
    assert ids(store.look(lambda tables: tables.approvals("approved", "denied"))) == ["a2"]
    assert ids(store.look(lambda tables: tables.approvals(ids=("a3", "a1", "none")))) == ["a1", "a3"]
    assert ids(store.look(lambda tables: tables.approvals("approved", ids=("a1", "a2")))) == ["a2"]
    assert ids(store.look(lambda tables: tables.approvals(ids=()))) == []
    found = store.look(lambda tables: tables.approval("a2"))
    assert found is not None
    assert found.by == "ann"


def test_of_several_answers_the_one_that_still_matters_is_found(store: Store) -> None:
    def answered() -> str | None:
        found = store.look(lambda tables: tables.answered("b" * 64))
        return None if found is None else found.id

    put(store, approval("other", binding="c", status="approved"))
    assert answered() is None
    for name, status, matters in (
        ("e1", "expired", None),
        ("u1", "used", None),
        ("w1", "waiting", "w1"),
        ("w2", "waiting", "w2"),
        ("d1", "denied", "d1"),
        ("w3", "waiting", "d1"),
        ("d2", "denied", "d2"),
        ("y1", "approved", "y1"),
        ("y2", "approved", "y2"),
        ("d3", "denied", "y2"),
    ):
        put(store, approval(name, status=status))
        assert answered() == matters, name
    put(store, approval("y1", status="used"), approval("y2", status="used"))
    assert answered() == "d3"


def test_grants_are_found_by_caller_and_tool_in_the_order_they_were_given(store: Store) -> None:
    given = [grant("g1"), grant("g2", tool="ping"), grant("g3", caller="bob"), grant("g4", where={}, note="")]
    store.transact(lambda tables: [tables.put_grant(one) for one in given])
    assert store.look(lambda tables: tables.grants("teacher", "file/save")) == (given[0], given[3])
    assert store.look(lambda tables: tables.grants("teacher", "nothing")) == ()
    assert store.look(lambda tables: tables.all_grants()) == given


def test_a_grant_is_used_up_in_its_place_and_taken_back(store: Store) -> None:
    store.transact(lambda tables: [tables.put_grant(grant("g1")), tables.put_grant(grant("g2"))])
    store.transact(lambda tables: tables.put_grant(grant("g1", uses=1)))
    assert [(one.id, one.uses) for one in store.look(lambda tables: tables.all_grants())] == [("g1", 1), ("g2", 3)]
    store.transact(lambda tables: [tables.drop_grant("g1"), tables.drop_grant("never given")])
    assert [one.id for one in store.look(lambda tables: tables.all_grants())] == ["g2"]


@pytest.mark.promise("P-08")
def test_a_definition_is_known_once_it_was_seen_until_it_is_accepted_anew(store: Store) -> None:
    assert store.look(lambda tables: tables.definition("ping")) is None

    def see(tables: Tables) -> tuple[str | None, str | None]:
        before = tables.definition("ping")
        tables.pin("ping", "first")
        return before, tables.definition("ping")

    assert store.transact(see) == (None, "first")
    store.transact(lambda tables: tables.pin("ping", "second"))
    assert store.look(lambda tables: tables.definition("ping")) == "second"
    assert store.transact(lambda tables: tables.definition("pong")) is None


@pytest.mark.promise("P-07")
def test_changes_grow_unless_the_very_same_call_changed_last(store: Store) -> None:
    def after(*digests: str) -> int:
        return store.transact(lambda tables: [[tables.changed(one) for one in digests], tables.changes()][1])

    assert after() == 0
    assert after("a") == 1
    assert after("a", "a") == 1
    assert after("b") == 2
    assert after("a", "b", "a") == 5
    assert store.look(lambda tables: tables.changes()) == 5
