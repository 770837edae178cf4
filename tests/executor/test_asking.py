"""A call that needs a person: asked by the host, answered elsewhere, refused, and never run when nobody says yes."""

import threading
from pathlib import Path
from typing import Any

import pytest

from rightcall.errors import AnswerError
from rightcall.executor.question import question_lines

POLICY = {"policy": {"allow": ["save"], "write": "ask", "execute": "ask"}}
CALL = {"path": "a.txt", "content": "x"}

pytestmark = pytest.mark.promise("P-06")


def test_a_call_waits_with_an_id_and_runs_once_when_it_is_made_again_after_a_yes(workshop: Any) -> None:
    shop = workshop(POLICY)
    first = shop.run("save", CALL)
    assert (first.ok, first.status, first.decision.rule) == (False, "waiting", "approval:write")
    (question,) = shop.executor.waiting()
    assert first.decision.approval == question.id
    assert question.id in first.hint
    assert shop.run("save", CALL).decision.approval == question.id, "one call, one question"
    shop.executor.answer(question.id, "approved", by="ann", digest=question.digest[:8])
    assert shop.run("save", CALL).result == "saved a.txt"
    assert shop.run("save", CALL).status == "waiting"
    assert len(shop.trace) == 1


@pytest.mark.parametrize(("said", "status"), [("ann", "success"), (None, "refused"), ("teacher", "waiting")])
def test_a_host_can_ask_on_the_spot_and_nobody_or_oneself_means_no(
    workshop: Any, said: str | None, status: str
) -> None:
    asked: list[Any] = []

    def ask(approval: Any) -> str | None:
        asked.append(approval.canonical)
        return said

    shop = workshop(POLICY, ask=ask)
    assert shop.run("save", CALL).status == status
    assert asked == ['{"arguments":{"content":"x","path":"a.txt"},"name":"save"}']
    assert bool(shop.trace) is (status == "success")


def test_an_asynchronous_host_is_awaited_and_one_that_fails_has_not_said_yes(workshop: Any) -> None:
    async def ask(approval: Any) -> str | None:
        if approval.tool == "save" and "b.txt" in approval.canonical:
            raise RuntimeError("the dialog crashed")
        return "ann"

    shop = workshop(POLICY, ask=ask)
    assert shop.run("save", CALL).ok
    assert shop.run("save", {"path": "b.txt"}).status == "waiting"
    assert [entry[1] for entry in shop.trace] == ["a.txt"]


@pytest.mark.parametrize("said", ["aproved", "yes", "used", True, None, ""])
def test_only_yes_and_no_are_answers_and_any_other_word_uses_nothing_up(workshop: Any, said: Any) -> None:
    shop = workshop(POLICY)
    shop.run("save", CALL)
    (question,) = shop.executor.waiting()
    meant = "did you mean 'approved'" if said == "aproved" else "expected 'approved' or 'denied'"
    with pytest.raises(AnswerError, match=meant):
        shop.executor.answer(question.id, said, by="ann", digest=question.digest)
    assert shop.executor.waiting() == [question]


def test_an_ask_that_cannot_be_used_is_told_in_the_outcome_and_the_log(
    workshop: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(approval: Any) -> str | None:
        raise RuntimeError("secret detail of the dialog")

    for ask, told in ((lambda _: True, "`ask` returned bool"), (fails, "`ask` failed with RuntimeError")):
        caplog.clear()
        outcome = workshop(POLICY, ask=ask).run("save", CALL)
        assert outcome.status == "waiting"
        assert told in outcome.error
        assert told in outcome.content
        assert "secret detail" not in outcome.content
        assert caplog.records[0].levelname == "ERROR"


def test_a_call_can_wait_for_somebody_who_answers_elsewhere(workshop: Any) -> None:
    shop = workshop(POLICY)
    outcomes: list[Any] = []
    caller = threading.Thread(target=lambda: outcomes.append(shop.run("save", CALL, wait=30)))
    caller.start()
    while not (waiting := shop.executor.waiting()):
        pass
    shop.executor.answer(waiting[0].id, "approved", by="ann", digest=waiting[0].digest)
    caller.join()
    assert outcomes[0].result == "saved a.txt"


def test_a_yes_is_void_once_the_file_has_changed(workshop: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    shop = workshop(POLICY)
    shop.run("save", CALL)
    (question,) = shop.executor.waiting()
    shop.executor.answer(question.id, "approved", by="ann", digest=question.digest)
    (tmp_path / "a.txt").write_text("changed in between")
    outcome = shop.run("save", CALL)
    assert (outcome.status, outcome.decision.approval != question.id) == ("waiting", True)
    named = shop.run("save", CALL, approval=question.id)
    assert (named.status, named.decision.rule) == ("refused", "approval:mismatch")
    assert shop.trace == []


def test_what_a_person_is_shown_holds_the_tools_own_preview(workshop: Any) -> None:
    shop = workshop({"policy": {"allow": ["erase"], "write": "ask", "execute": "ask"}})

    @shop.executor.tool(effects=["write"], preview=lambda arguments: f"would erase {arguments['what']}")
    def erase(what: str) -> str:
        raise AssertionError("never runs")

    shop.run("erase", {"what": "everything"})
    (question,) = shop.executor.waiting()
    assert '"preview":"would erase everything"' in question.details


@pytest.mark.promise("P-06", "A-07")
def test_a_hidden_character_in_a_preview_is_told_from_its_spelling(workshop: Any) -> None:
    shop = workshop({"policy": {"allow": ["erase"], "write": "ask", "execute": "ask"}})

    @shop.executor.tool(effects=["write"], preview=lambda arguments: "real \x1b\u202e\nspelled \\u202e")
    def erase(what: str) -> None: ...

    shop.run("erase", {"what": "everything"})
    (question,) = shop.executor.waiting()
    lines = [line.strip(" │") for line in question_lines(question, now=0, width=80)]
    assert "real \\u001b\\u202e" in lines
    assert "spelled \\\\u202e" in lines


@pytest.mark.promise("P-06", "P-03")
def test_no_preview_runs_for_a_call_that_is_refused(workshop: Any) -> None:
    shop = workshop({"policy": {"allow": ["erase"], "write": "ask", "execute": "ask"}})
    previewed: list[str] = []

    @shop.executor.tool(
        effects=["write"], paths=["path"], preview=lambda arguments: previewed.append(arguments["path"])
    )
    def erase(path: str) -> str:
        raise AssertionError("never runs")

    assert shop.run("erase", {"path": "../outside"}).decision.rule == "path:outside"
    assert previewed == []
    assert shop.run("erase", {"path": "inside"}).status == "waiting"
    assert previewed == ["inside"]
