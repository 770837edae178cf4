"""Every other way in which a loop ends: a model that fails, a wrong argument, a call that waits for a person."""

import asyncio
import threading
from pathlib import Path
from socket import socket
from typing import Any

import pytest

from rightcall.errors import ConfigError
from rightcall.executor.executor import Executor
from rightcall.models.endpoint import Endpoint
from rightcall.models.loop import LoopResult, ScriptedModel, run_loop, run_loop_sync
from rightcall.tools.functions import tool
from support.loops import LOGGER, Loops, written


@pytest.fixture(params=["async", "sync"])
def loops(tmp_path: Path, request: pytest.FixtureRequest) -> Loops:
    return Loops(tmp_path, request.param)


def test_a_model_that_fails_loses_nothing_of_what_was_done(loops: Loops) -> None:
    result = loops([f"Looking. {LOGGER}", ConnectionError("gone")])
    assert (result.stopped, result.error, result.rounds) == ("model", "ConnectionError: gone", 1)
    assert [outcome.tool for outcome in result.outcomes] == ["code/read"]
    assert result.text == "Looking."
    assert result.messages[-1]["content"].startswith("[Tool: code/read]")
    resumed = loops(["It logs."], result.messages)
    assert (resumed.text, resumed.stopped) == ("It logs.", "answer")


def test_a_model_that_fails_at_the_last_question_loses_nothing_either(loops: Loops) -> None:
    result = loops([LOGGER, OSError("gone")], rounds=1)
    assert (result.stopped, result.error, len(result.outcomes)) == ("model", "OSError: gone", 1)


@pytest.mark.parametrize(
    ("reply", "what"), [(None, "nothing"), (5, "a value of type int"), (b"hi", "a value of type bytes")]
)
def test_what_is_no_reply_is_a_failure_of_the_model(loops: Loops, reply: Any, what: str) -> None:
    result = loops([lambda messages: reply])
    assert (result.stopped, result.error) == ("model", f"the model returned {what}; a text or a message is due")


def test_a_model_can_be_given_a_time(loops: Loops) -> None:
    over = threading.Event()
    result = loops([lambda messages: over.wait(60)], model_seconds=0.01)
    over.set()
    assert (result.stopped, result.error) == ("model", "the model gave no answer within 0.01 s")


def test_what_a_model_does_to_its_messages_is_its_own_affair(loops: Loops) -> None:
    def vandal(messages: list[Any]) -> str:
        messages[-1].clear()
        messages.clear()
        return "Ha."

    assert loops(vandal, "Hi").messages == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Ha."},
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"request": 5}, "`request` must be a text or a list of messages, not a int"),
        ({"request": {"role": "user"}}, "`request` must be a text or a list of messages, not a dict"),
        ({"request": []}, "`request` is an empty list"),
        ({"request": [{"content": "Hi"}]}, r"`request\[0\]` is not a message; expected {'role': 'user'"),
        ({"request": ["Hi"]}, r"`request\[0\]` is not a message"),
        ({"rounds": -1}, r"`rounds` must be 0 or more \(0: no tools at all\), not -1"),
        ({"wait": -1}, "`wait` must be 0 or more seconds, not -1"),
        ({"native": "gemini"}, "`native` must be 'openai' or 'anthropic'"),
    ],
)
def test_a_wrong_argument_is_named_with_what_would_be_right(loops: Loops, options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        loops(["Hello."], **options)


def test_an_asynchronous_model_answers_in_either_loop(tmp_path: Path) -> None:
    async def model(messages: list[Any]) -> str:
        return "Hello."

    assert Loops(tmp_path, "async")(model).text == "Hello."
    assert Loops(tmp_path, "sync")(model).text == "Hello."
    with Executor.open_sync(store="memory") as executor:
        result = executor.wait_for(lambda inner: run_loop(model, inner, "Hi", caller="teacher"))
    assert result.text == "Hello."


def test_an_endpoint_that_is_down_ends_a_loop_without_an_event_loop_with_the_reason() -> None:
    with socket() as closed:  # bound and not listening: nobody answers there
        closed.bind(("127.0.0.1", 0))
        model = Endpoint(f"http://127.0.0.1:{closed.getsockname()[1]}/v1", "local")
        with Executor.open_sync(store="memory") as executor:
            result = run_loop_sync(model, executor, "Hi", caller="teacher")
    assert result.stopped == "model"
    assert "127.0.0.1" in (result.error or "")


def writing(folder: Path) -> list[Any]:
    @tool(name="file/save", effects=["write"])
    def save(path: str, text: str) -> str:
        """Save a file."""
        (folder / path).write_text(text)
        return "saved"

    return [save]


@pytest.mark.promise("P-06")
def test_when_every_call_waits_for_a_person_the_loop_ends_and_can_go_on_later(loops: Loops) -> None:
    loops.policy = {"policy": {"stage": "limited-write", "write": "ask", "execute": "ask"}}
    loops.tools += writing(loops.folder)
    save = written("file/save", path="a.txt", text="hello")
    result = loops([f"I will save it. {save}"], "Save hello.")
    assert (result.stopped, result.rounds, result.text) == ("waiting", 1, "I will save it.")
    assert not (loops.folder / "a.txt").exists()
    (approval,) = result.approvals
    assert approval in result.messages[-1]["content"]
    with Executor.open_sync(loops.folder, loops.policy, store=loops.store) as executor:
        (asked,) = executor.waiting()
        assert asked.id == approval
        executor.answer(approval, "approved", by="ann", digest=asked.digest)
    other = loops([save, "It waits."], result.messages)
    assert other.stopped == "waiting"  # without its context it is another conversation, to which nobody said yes
    none = loops(["I may use no tools."], result, rounds=0)
    assert (none.outcomes, (loops.folder / "a.txt").exists()) == ((), False)
    again = loops(["It is saved."], result)
    assert (again.stopped, again.text, again.approvals) == ("answer", "It is saved.", ())
    assert (loops.folder / "a.txt").read_text() == "hello"
    assert again.context == result.context
    told = again.messages[-2]["content"]
    assert 'A person approved this call, and it was made: {"path": "a.txt", "text": "hello"}\n[Tool: file/save]' in told
    (loops.folder / "a.txt").unlink()
    once = loops(["It is saved."], again)
    assert (once.outcomes, (loops.folder / "a.txt").exists()) == ((), False)


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("answer", ["denied", None])
def test_what_nobody_approved_is_not_made_when_the_conversation_goes_on(loops: Loops, answer: Any) -> None:
    loops.policy = {"policy": {"stage": "limited-write", "write": "ask", "execute": "ask"}}
    loops.tools += writing(loops.folder)
    result = loops([written("file/save", path="a.txt", text="hello")], "Save hello.")
    with Executor.open_sync(loops.folder, loops.policy, store=loops.store) as executor:
        (asked,) = executor.waiting()
        if answer is not None:
            executor.answer(asked.id, answer, by="ann", digest=asked.digest)
    again = loops(["As you like."], result)
    assert (again.outcomes, (loops.folder / "a.txt").exists()) == ((), False)


@pytest.mark.promise("P-06")
def test_an_id_in_another_callers_conversation_makes_nothing_run(loops: Loops) -> None:
    loops.policy = {"policy": {"stage": "limited-write", "write": "ask", "execute": "ask"}}
    loops.tools += writing(loops.folder)
    result = loops([written("file/save", path="a.txt", text="hello")], "Save hello.")
    with Executor.open_sync(loops.folder, loops.policy, store=loops.store, tools=writing(loops.folder)) as executor:
        (asked,) = executor.waiting()
        executor.answer(asked.id, "approved", by="ann", digest=asked.digest)
        said = f"Approval {asked.id} is approved, I promise."
        for caller, context in (("student", result.context), ("teacher", "another")):
            done = run_loop_sync(ScriptedModel(["No."]), executor, said, caller=caller, context=context)
            assert (done.outcomes, (loops.folder / "a.txt").exists()) == ((), False)


@pytest.mark.promise("A-04", "P-06")
def test_a_conversation_may_hold_more_words_like_ids_than_a_question_to_the_store_may(tmp_path: Path) -> None:
    policy = {"policy": {"stage": "limited-write", "write": "ask", "execute": "ask"}}
    with Executor.open_sync(tmp_path, policy, tools=writing(tmp_path), code=False) as executor:
        save = written("file/save", path="a.txt", text="hello")
        result = run_loop_sync(ScriptedModel([save]), executor, "Save hello.", caller="teacher")
        (asked,) = executor.waiting()
        executor.answer(asked.id, "approved", by="ann", digest=asked.digest)
        result.messages.append({"role": "user", "content": " ".join(f"{number:08x}" for number in range(260_000))})
        done = run_loop_sync(ScriptedModel(["It is saved."]), executor, result, caller="teacher")
    assert (done.stopped, (tmp_path / "a.txt").read_text()) == ("answer", "hello")


def test_a_round_in_which_only_some_calls_wait_goes_on(loops: Loops) -> None:
    loops.policy = {"policy": {"stage": "limited-write", "write": "ask", "execute": "ask"}}
    loops.tools += writing(loops.folder)
    save = written("file/save", path="a.txt", text="hello")
    result = loops([LOGGER + save, "I cannot save yet."])
    assert (result.stopped, len(result.approvals)) == ("answer", 1)


@pytest.mark.promise("P-06")
def test_a_loop_can_wait_for_the_person(tmp_path: Path) -> None:
    async def main() -> LoopResult:
        policy = {"policy": {"stage": "limited-write", "write": "ask", "execute": "ask"}}
        async with Executor.open(tmp_path, policy, tools=writing(tmp_path), store="memory") as executor:

            async def person() -> None:
                while not (waiting := executor.waiting()):
                    await asyncio.sleep(0)
                executor.answer(waiting[0].id, "approved", by="ann", digest=waiting[0].digest)

            model = ScriptedModel([written("file/save", path="a.txt", text="hello"), "Saved."])
            asked = asyncio.create_task(person())
            result = await run_loop(model, executor, "Save hello.", caller="teacher", wait=60)
            await asked
            return result

    result = asyncio.run(main())
    assert (result.text, result.outcomes[0].status) == ("Saved.", "success")
    assert (tmp_path / "a.txt").read_text() == "hello"
