"""The scripted model: what it says, what it remembers, and how it ends."""

import asyncio
import threading

import pytest

from rightcall.errors import ConfigError, RightCallError
from rightcall.models.loop import AsyncScriptedModel, OutOfReplies, ScriptedModel
from support.every import every

HELLO = [{"role": "user", "content": "Hello"}]


def test_replies_come_one_after_the_other() -> None:
    message = {"role": "assistant", "content": "Two."}
    model = ScriptedModel(["One.", message])
    assert [model(HELLO), model(HELLO)] == ["One.", message]
    assert model.left == 0


def test_a_function_is_asked_with_the_messages() -> None:
    assert ScriptedModel([lambda messages: messages[-1]["content"].upper()])(HELLO) == "HELLO"


@pytest.mark.parametrize("error", [ValueError("no"), ValueError])
def test_an_exception_is_raised(error: Exception) -> None:
    with pytest.raises(ValueError, match=r"^(no)?$"):
        ScriptedModel([error])(HELLO)


def test_it_remembers_what_it_was_asked_as_it_was_then() -> None:
    model = ScriptedModel(["One."])
    messages = [{"role": "user", "content": "Hello"}]
    model(messages, tools=[{"name": "add"}])
    messages[0]["content"] = "changed later"
    assert model.asked[0].messages == HELLO
    assert model.asked[0].said == "Hello"
    assert model.asked[0].options == {"tools": [{"name": "add"}]}


def test_whoever_changes_a_reply_changes_his_own_copy() -> None:
    model = ScriptedModel({"Hello": {"role": "assistant", "content": "Hi."}})
    model(HELLO)["content"] = "changed"
    assert model(HELLO)["content"] == "Hi."


def test_an_ended_script_says_what_it_was_asked_and_what_helps() -> None:
    model = ScriptedModel(["One."])
    model(HELLO)
    with pytest.raises(OutOfReplies, match=r"over \(replies: 1\), and it was asked: 'Hello'. Give `then=`") as caught:
        model(HELLO)
    assert isinstance(caught.value, RightCallError)
    assert len(model.asked) == 2


def test_then_is_the_reply_to_everything_else() -> None:
    model = ScriptedModel(["One."], then="Enough.")
    assert [model(HELLO) for _ in range(3)] == ["One.", "Enough.", "Enough."]


def test_words_in_the_last_message_choose_the_reply_as_often_as_they_stand_there() -> None:
    model = ScriptedModel({"Hell": "first", "Hello": "second"})
    assert [model(HELLO), model(HELLO)] == ["first", "first"]
    with pytest.raises(OutOfReplies, match="none of the words 'Hell', 'Hello' is in: 'Bye'"):
        model([*HELLO, {"role": "user", "content": "Bye"}])


@every(
    ("content", "said"),
    [
        ("plain", "plain"),
        (None, ""),
        ([{"type": "text", "text": "a"}, {"type": "tool_result", "content": "b"}], "a\nb"),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "deep"}]}, 5], "deep"),
    ],
)
def test_what_was_said_is_told_from_every_shape_of_message(content: object, said: str) -> None:
    model = ScriptedModel([], then="")
    model([{"role": "user", "content": content}])
    assert model.asked[0].said == said


def test_one_text_is_no_list_of_replies() -> None:
    with pytest.raises(ConfigError, match=r"`replies` must be a list .* write \[reply\]"):
        ScriptedModel("Hello")


def test_the_asynchronous_twin_is_awaited_and_awaits() -> None:
    async def thinking(messages: list[dict[str, str]]) -> str:
        await asyncio.sleep(0)
        return "late"

    async def main() -> list[str]:
        model = AsyncScriptedModel(["One.", lambda messages: thinking(messages)])
        return [await model(HELLO), await model(HELLO)]

    assert asyncio.run(main()) == ["One.", "late"]


def test_threads_get_each_reply_once() -> None:
    model = ScriptedModel(range(200))
    got: list[int] = []
    threads = [threading.Thread(target=lambda: got.extend(model(HELLO) for _ in range(50))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(200))
