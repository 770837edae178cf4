"""People answer on any node: approvals, grants, the emergency stop; each counts everywhere, and once."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from rightcall.policy.settings import Settings
from rightcall.policy.types import HOUR, Grant
from rightcall.record.admission import give_grant, pause, resume
from rightcall.record.postgres import PostgresStore
from rightcall.record.verify import verify_audit
from support.approvals import request_of, say
from support.postgres_calls import attempt, request

pytestmark = [pytest.mark.promise("P-06", "S-01")]


def opened(url: str) -> PostgresStore:
    return PostgresStore(url, silent_seconds=30, busy_seconds=30)


def test_an_answer_on_one_node_lets_the_call_through_once_on_another(url: str) -> None:
    wanted = request_of({"n": 1}, settings=Settings(stage="full", write="ask"))
    with closing(opened(url)) as one, closing(opened(url)) as two, ThreadPoolExecutor(8) as pool:
        asked = one.transact(attempt(one, wanted))
        assert asked.decision.kind == "ask"
        assert asked.decision.approval is not None
        assert two.transact(attempt(two, wanted)).decision.approval == asked.decision.approval
        say(two, asked.decision.approval)
        tried = [pool.submit(store.transact, attempt(store, wanted)) for store in (one, two) * 4]
        kinds = sorted(done.result().decision.kind for done in tried)
        assert kinds.count("allow") == 1, kinds
        assert one.look(verify_audit).ok


def test_a_grant_is_used_as_often_as_it_says_by_all_nodes_together(url: str) -> None:
    settings = Settings(stage="full", write="ask")
    with closing(opened(url)) as one, closing(opened(url)) as two, ThreadPoolExecutor(8) as pool:
        until = one.clock.now() + HOUR
        given = Grant("g1", "teacher", "file/save", {}, 3, until, "ann", "2026-01-01 00:00:00.000")
        one.transact(lambda tables: give_grant(tables, given))
        tried = [
            pool.submit(store.transact, attempt(store, request_of({"n": number}, settings=settings)))
            for number, store in enumerate((one, two) * 4)
        ]
        assert [done.result().decision.kind for done in tried].count("allow") == 3
        assert one.look(lambda tables: tables.all_grants()) == []


def test_a_stop_on_one_node_stops_all(url: str) -> None:
    with closing(opened(url)) as one, closing(opened(url)) as two:
        one.transact(lambda tables: pause(tables, "ann"))
        assert two.transact(attempt(two, request(1, 0))).decision.rule == "paused"
        two.transact(lambda tables: resume(tables, "ann"))
        assert one.transact(attempt(one, request(2, 0))).decision.kind == "allow"
