"""The model of `[gate.llm]`: asked within its budget, its answers kept for a while and never on disk."""

import asyncio
from typing import Any

import pytest

from rightcall.gate.last_resort import Plea, Rescue
from rightcall.models import RepairModel, ScriptedModel
from rightcall.models.repair import MOST_KEPT
from rightcall.policy.settings import LlmSettings
from support.every import every

SETTINGS = LlmSettings("http://127.0.0.1:9/v1", "small")


def plea(written: str = '{"city": Bern}') -> Plea:
    return Plea("forecast", "", '{"type":"object"}', written, ("unreadable",), is_text=True)


def ask(model: RepairModel, *written: str, settings: LlmSettings = SETTINGS) -> list[Rescue]:
    async def all_of_them() -> list[Rescue]:
        return [await model(plea(one), settings) for one in written]

    return asyncio.run(all_of_them())


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def whole(text: str, **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], **more}


@pytest.mark.promise("L-04")
def test_the_same_question_is_asked_once() -> None:
    model = ScriptedModel(["{}"])
    first, second = ask(RepairModel(model), "a", "a")
    assert (first.text, first.cached, second.text, second.cached) == ("{}", False, "{}", True)
    assert second.tokens == 0


def test_only_so_many_answers_are_kept() -> None:
    model = RepairModel(ScriptedModel([], then="{}"))
    many = LlmSettings("http://127.0.0.1:9/v1", calls=1000, tokens=10**9)
    ask(model, *map(str, range(MOST_KEPT + 1)), settings=many)
    assert [one.cached for one in ask(model, "0", str(MOST_KEPT), settings=many)] == [False, True]


@pytest.mark.promise("L-04")
@pytest.mark.parametrize(
    ("settings", "what"),
    [(LlmSettings("http://x", calls=2), "calls"), (LlmSettings("http://x", tokens=900), "tokens")],
)
def test_a_budget_is_kept_and_comes_back_after_an_hour(settings: LlmSettings, what: str) -> None:
    clock = Clock()
    model = RepairModel(ScriptedModel([], then=whole("{}", usage={"total_tokens": 400})), clock=clock)
    answers = ask(model, "a", "b", "c", settings=settings)
    assert [one.text for one in answers] == ["{}", "{}", None]
    assert what in answers[2].why
    clock.now = 3601
    assert ask(model, "d", settings=settings)[0].text == "{}"


def test_seconds_are_a_budget_too() -> None:
    clock = Clock()

    def slow(_: Any) -> str:
        clock.now += 70
        return "{}"

    model = RepairModel(slow, clock=clock)
    answers = ask(model, "a", "b", "c")
    assert [one.seconds for one in answers] == [70, 70, 0]
    assert "seconds" in answers[2].why


@pytest.mark.promise("L-04")
def test_many_at_once_keep_to_the_budget_together() -> None:
    asked: list[Any] = []

    async def model(messages: Any) -> str:
        asked.append(messages)
        await asyncio.sleep(0)
        return "{}"

    async def storm() -> list[Rescue]:
        one = RepairModel(model)
        return await asyncio.gather(*(one(plea(str(n)), LlmSettings("http://x", calls=5)) for n in range(50)))

    answers = asyncio.run(storm())
    assert len(asked) == 5
    assert sum(one.text is not None for one in answers) == 5


@every(
    ("reply", "why"),
    [
        (RuntimeError("boom"), "boom"),
        (whole("{}") | {"choices": [{"message": {"content": "{"}, "finish_reason": "length"}]}, "truncated"),
        ({"choices": []}, "without text"),
        ({}, "without text"),
    ],
)
def test_a_model_that_fails_is_no_answer(reply: Any, why: str) -> None:
    found = ask(RepairModel(ScriptedModel([reply])), "a")[0]
    assert found.text is None
    assert why in found.why


def test_a_key_that_is_not_set_is_said_and_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    found = ask(RepairModel(), "a", settings=LlmSettings("http://127.0.0.1:9", key_env="NO_SUCH_KEY"))[0]
    assert found.text is None
    assert "NO_SUCH_KEY" in found.why


def test_a_server_that_is_away_is_said_in_time() -> None:
    found = ask(RepairModel(), "a", settings=LlmSettings("http://127.0.0.1:9", "small", timeout=2.0))[0]
    assert found.text is None
    assert "127.0.0.1" in found.why
