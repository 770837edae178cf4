"""Budgets for a day: exact on every store and across nodes, with the moment at which they reset."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightcall.errors import PolicyError
from rightcall.policy.settings import CallerSettings, Limits, Settings, Window
from rightcall.policy.types import Request, Spent, rights_of
from rightcall.policy.watch import load_policy
from rightcall.record.admission import Admission
from rightcall.record.tables import ManualClock, Store
from support.approvals import canonical, digest, request_of, try_call
from support.postgres_calls import attempt
from support.stores import KINDS, opened

FREE = Limits(Window(), Window(), {}, calls_per_day=5)
SETTINGS = Settings(stage="full", allow=("*",), write="allow", quarantine=0, limits=FREE)


def call(number: int, caller: str = "ada", settings: Settings = SETTINGS, **more: Any) -> Request:
    raw = canonical("file/save", {"n": number})
    made = request_of({}, caller=caller, settings=settings, **more)
    return replace(made, arguments={"n": number}, canonical=raw, digest=digest(raw))


def tried(store: Store, *numbers: int, caller: str = "ada", settings: Settings = SETTINGS) -> list[Admission]:
    return [try_call(store, call(one, caller, settings, at=store.clock.now())) for one in numbers]


@pytest.mark.promise("P-02", "S-01")
@pytest.mark.parametrize("kind", KINDS)
def test_so_many_calls_a_day_and_the_next_day_again(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        made = tried(diary.store, *range(7))
        assert [one.decision.kind for one in made] == ["allow"] * 5 + ["deny"] * 2
        last = made[-1].decision
        assert (last.rule, last.hint) == ("limit:caller:day", "Make no more calls before 2026-01-02 00:00 UTC.")
        assert last.retry_after == 12 * 3600
        assert tried(diary.store, 1, caller="bob")[0].decision.kind == "allow"
        assert diary.store.look(lambda tables: tables.spending()) == [
            Spent("2026-01-01", "ada", 5), Spent("2026-01-01", "bob", 1)
        ]  # fmt: skip
        diary.clock.advance(12 * 3600)
        assert diary.store.look(lambda tables: tables.spending()) == []
        assert [one.decision.kind for one in tried(diary.store, *range(10, 16))] == ["allow"] * 5 + ["deny"]


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_add_up_and_what_raises_has_spent_nothing(kind: str, tmp_path: Path) -> None:
    with opened(kind, tmp_path) as diary:
        for tokens in (100, 23):
            diary.store.transact(lambda tables, more=tokens: tables.spend("ada", tokens=more))

        def fails(tables: Any) -> None:
            tables.spend("ada", 1, 1)
            raise LookupError

        with pytest.raises(LookupError):
            diary.store.transact(fails)
        assert diary.store.look(lambda tables: tables.spent("ada")) == Spent("2026-01-01", "ada", 0, 123)


def test_a_caller_of_its_own_has_a_budget_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text(
        "version = 1\n[policy.limits]\ncalls_per_day = 100\ntokens_per_day = 5000\n"
        "[callers.ada]\ncalls_per_day = 7\n[callers.bob]\ntokens_per_day = 0\n"
    )
    settings = load_policy(file).settings
    found = {name: rights_of(settings, name) for name in ("ada", "bob", "eve")}
    assert {name: (one.calls_per_day, one.tokens_per_day) for name, one in found.items()} == {
        "ada": (7, 5000), "bob": (100, 0), "eve": (100, 5000)
    }  # fmt: skip
    file.write_text("version = 1\n[policy.limits]\ncalls_per_day = -1\n")
    with pytest.raises(PolicyError, match="calls_per_day"):
        load_policy(file)


@pytest.mark.promise("S-01")
def test_nodes_that_ask_at_once_are_let_through_exactly_so_often(url: str) -> None:
    from rightcall.record.postgres import PostgresStore

    settings = replace(SETTINGS, callers={"ada": CallerSettings(calls_per_day=20)})

    def crowd(first: int) -> Callable[[PostgresStore], int]:
        async def at_once(store: PostgresStore) -> int:
            wanted = [call(first + one, settings=settings) for one in range(32)]
            made = await asyncio.gather(*(store.atransact(attempt(store, one)) for one in wanted))
            return sum(one.decision.kind == "allow" for one in made)

        return lambda store: asyncio.run(at_once(store))

    with (
        closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as one,
        closing(PostgresStore(url, silent_seconds=30, busy_seconds=30)) as two,
        ThreadPoolExecutor(2) as pool,
    ):
        assert sum(pool.map(lambda pair: crowd(pair[1])(pair[0]), ((one, 0), (two, 100)))) == 20
        assert one.look(lambda tables: tables.spent("ada")).calls == 20


def test_where_no_budget_is_set_nothing_is_counted(tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as diary:
        tried(diary.store, 1, settings=replace(SETTINGS, limits=Limits()))
        assert diary.store.look(lambda tables: tables.spending()) == []
        assert isinstance(diary.clock, ManualClock)
