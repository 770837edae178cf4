"""What RightCall was worth: two bounds that hold however long the period is, and before and after a pack."""

from typing import Any

import pytest

from rightcall import Executor, MemoryStore, tool
from rightcall.record.value import Value, read_value

EVER = "2000-01-01 00:00:00.000"


@tool(effects=["read"])
def forecast(city: str, days: int = 1) -> str:
    return f"{city} {days}"


def play(*arguments: Any, store: MemoryStore | None = None, caller: str = "ann", **options: Any) -> MemoryStore:
    store = store or MemoryStore()
    with Executor.open_sync(tools=[forecast], store=store, **options) as executor:
        for nth, one in enumerate(arguments):
            executor.run({"name": "forecast", "arguments": one}, caller, context="chat", turn=str(nth))
    return store


def value(store: MemoryStore, **options: Any) -> Value:
    return store.look(lambda tables: read_value(tables, options.pop("since", EVER), **options))


def test_a_call_that_strict_json_refuses_is_proof_and_another_name_is_not() -> None:
    found = value(play({"city": "Bern"}, "{'city': 'Bern'}", {"city": "Bern", "days": "3"}, {"City": "Bern"}))
    assert (found.total.calls, found.total.right) == (4, 1)
    assert (found.total.at_least, found.total.at_most) == (2, 3)
    assert found.complete


def test_a_call_that_was_refused_is_not_worth_anything() -> None:
    found = value(play({"days": 3}, {"city": "Bern"}))
    assert (found.total.at_least, found.total.at_most, found.total.failed) == (0, 0, 1)


def test_retries_that_were_needed_are_counted_for_the_estimate() -> None:
    found = value(play({}, {"days": 1}, {"city": "Bern"}, "{'city': 'Basel'}"), prompt=100)
    assert (found.saved.sequences, found.saved.tries) == (1, 2.0)
    assert (found.saved.retries_at_least, found.saved.retries_at_most) == (1, 2)
    assert found.saved.tokens_at_least < found.saved.tokens_at_most
    assert found.saved.tokens_at_most >= 200


def test_fewer_records_prove_less_and_never_more() -> None:
    store = play(*["{'city': 'Bern'}"] * 20)
    whole, part = value(store), value(store, most=10)
    assert 0 < part.total.at_least < whole.total.at_least == 20
    assert part.total.at_most == whole.total.at_most == 20
    assert not part.complete


def test_it_is_told_by_provider_and_tool() -> None:
    store = play("{'city': 'Bern'}", provider="ollama")
    play({"city": "Bern"}, store=store, provider="openai")
    found = value(store)
    assert {name: bounds.at_least for name, bounds in found.providers.items()} == {"ollama": 1, "openai": 0}
    assert found.tools["forecast"].calls == 2


def test_one_caller_is_counted_alone() -> None:
    store = play("{'city': 'Bern'}")
    play("{'city': 'Bern'}", store=store, caller="bob")
    assert value(store, caller="bob").total.at_least == 1


def test_before_and_after_a_pack_are_two_periods() -> None:
    store = play({"zz": "Bern"}, {"city": "Bern"})
    play({"city": "Bern"}, {"city": "Basel"}, store=store, packs=["guardrail"])
    packs = value(store).packs
    assert [(one.calls, one.right, one.repaired) for one in packs] == [(2, 1, 1), (2, 2, 0)]
    assert packs[0].packs == ""
    assert packs[1].packs


def test_an_empty_store_is_worth_nothing() -> None:
    assert value(MemoryStore()).total.calls == 0


@pytest.mark.parametrize("since", ["2999-01-01 00:00:00.000", "2998-01-01 00:00:00.000"])
def test_a_period_without_calls_is_empty(since: str) -> None:
    assert value(play("{'city': 'Bern'}"), since=since).total.calls == 0
