"""Any callable is a model: synchronous or not, with native tools or without, slow, failing, or no model at all."""

import asyncio
import functools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from rightcall.errors import ConfigError
from rightcall.models.loop import AsyncScriptedModel, ScriptedModel, run_loop_sync
from rightcall.models.replies import Failed, ask, ask_sync, asker
from support.every import every

TOOLS = [{"name": "add"}]
HELLO = [{"role": "user", "content": "Hello"}]


def plain(messages: list[Any]) -> str:
    return f"plain {len(messages)}"


def native(messages: list[Any], tools: Any = None) -> str:
    return f"native {tools}"


async def asynchronous(messages: list[Any], *, tools: Any = None) -> str:
    await asyncio.sleep(0)
    return f"asynchronous {tools}"


def choosing(messages: list[Any], tools: Any = None, tool_choice: Any = None) -> str:
    return f"{tool_choice}"


def anything(messages: list[Any], **options: Any) -> str:
    return f"anything {sorted(options)}"


def asked(model: Any, options: dict[str, Any] | None = None, seconds: float | None = None) -> Any:
    return asyncio.run(ask(asker(model, seconds=seconds), HELLO, options or {}))


@every(
    ("model", "shape"),
    [
        (plain, None),
        (native, "openai"),
        (asynchronous, "openai"),
        (functools.partial(native), "openai"),
        (anything, None),
        (ScriptedModel([]), None),
        (dict, None),
    ],
)
def test_only_a_parameter_called_tools_makes_a_model_native(model: Any, shape: str | None) -> None:
    assert asker(model).native == shape


@pytest.mark.parametrize("model", [native, anything, asynchronous])
def test_native_says_so_where_the_signature_does_not(model: Any) -> None:
    assert asker(model, "anthropic").native == "anthropic"


@every(
    ("model", "shape", "seconds", "message"),
    [
        ("gpt", None, None, "`model` must be callable with a list of messages, not a str"),
        (plain, "openai", None, "`native` is 'openai', but `model` takes no keyword `tools`"),
        (native, "gemini", None, r"`native` must be 'openai' or 'anthropic' \(or left out\), not 'gemini'"),
        (plain, None, 0, r"`model_seconds` must be more than 0 \(or None for no limit\), not 0"),
        (plain, None, float("nan"), "`model_seconds` must be more than 0"),
    ],
)
def test_a_wrong_argument_is_named_with_what_would_be_right(model: Any, shape: Any, seconds: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        asker(model, shape, seconds)


@pytest.mark.parametrize("given", ["go", [plain]])
def test_what_is_no_executor_is_named_with_the_order_of_the_arguments(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"must come from Executor\.open.* not a (str|list); the order is: model, ex"):
        run_loop_sync(plain, given, "go", caller="me")


@every(
    ("model", "reply"),
    [
        (plain, "plain 1"),
        (asynchronous, "asynchronous None"),
        (lambda messages: asynchronous(messages), "asynchronous None"),
        (functools.partial(asynchronous, tools=3), "asynchronous 3"),
        (AsyncScriptedModel(["scripted"]), "scripted"),
    ],
)
@every("seconds", [None, 60.0])
def test_every_kind_of_callable_is_asked(model: Any, reply: str, seconds: float | None) -> None:
    model = AsyncScriptedModel(["scripted"]) if isinstance(model, AsyncScriptedModel) else model
    assert asked(model, seconds=seconds) == reply


def test_a_synchronous_model_does_not_stop_the_others() -> None:
    met = threading.Barrier(2, timeout=60)

    def meeting(messages: list[Any]) -> str:
        met.wait()  # returns only when both are asked at once
        return "met"

    async def both() -> list[Any]:
        return await asyncio.gather(*(ask(asker(meeting), HELLO, {}) for _ in range(2)))

    assert asyncio.run(both()) == ["met", "met"]


@every("error", [ValueError("boom"), StopIteration("boom"), TimeoutError("boom")])
@every("seconds", [None, 60.0])
@every("how", ["async", "sync", "awaited"])
def test_what_a_model_raises_is_a_value(error: Exception, seconds: float | None, how: str) -> None:
    if how == "sync":
        failed = ask_sync(asker(ScriptedModel([error]), seconds=seconds), HELLO, {})
    else:
        failed = asked((ScriptedModel if how == "async" else AsyncScriptedModel)([error]), seconds=seconds)
    assert isinstance(failed, Failed)
    told = "RuntimeError: coroutine raised StopIteration"  # as Python has it for every coroutine
    assert failed.error == (told if how == "awaited" and "Stop" in repr(error) else f"{type(error).__name__}: boom")


def test_the_words_of_an_error_are_shown_escaped_and_short() -> None:
    failed = ask_sync(asker(ScriptedModel([ValueError("\x1b[2J" + "x" * 9000)])), HELLO, {})
    assert "\x1b" not in failed.error
    assert len(failed.error) == 2000


def hanging(over: threading.Event) -> Callable[[list[Any]], str]:
    def model(messages: list[Any]) -> str:
        over.wait(60)
        return "too late"

    return model


def test_a_model_that_hangs_is_given_up_after_its_time() -> None:
    over = threading.Event()
    late = Failed("the model gave no answer within 0.01 s")
    assert asked(hanging(over), seconds=0.01) == late
    assert ask_sync(asker(hanging(over), seconds=0.01), HELLO, {}) == late
    over.set()

    async def for_ever(messages: list[Any]) -> str:
        return await asyncio.get_running_loop().create_future()

    assert asked(for_ever, seconds=0.01) == late


def test_whoever_gives_up_the_loop_gives_up_the_question() -> None:
    async def main() -> bool:
        over = threading.Event()
        task = asyncio.create_task(ask(asker(hanging(over)), HELLO, {}))
        await asyncio.sleep(0)
        task.cancel()
        over.set()
        return (await asyncio.gather(task, return_exceptions=True))[0].__class__ is asyncio.CancelledError

    assert asyncio.run(main())


def test_the_end_of_the_program_is_no_failure_of_the_model() -> None:
    with pytest.raises(SystemExit):
        asked(ScriptedModel([SystemExit(3)]), seconds=60)
    with pytest.raises(SystemExit):
        ask_sync(asker(ScriptedModel([SystemExit(3)]), seconds=60), HELLO, {})


def test_a_synchronous_loop_says_what_an_asynchronous_model_needs() -> None:
    failed = ask_sync(asker(lambda messages: asynchronous(messages)), HELLO, {})
    assert failed == Failed("the model is asynchronous: use `await run_loop(…)`")


def test_the_last_question_keeps_the_tools_and_forbids_them_where_it_can() -> None:
    assert asker(native).options(TOOLS, last=True) == {"tools": TOOLS}
    assert asker(choosing).options(TOOLS, last=False) == {"tools": TOOLS}
    assert asker(choosing).options(TOOLS, last=True) == {"tools": TOOLS, "tool_choice": "none"}
    assert asker(choosing, "anthropic").options(TOOLS, last=True)["tool_choice"] == {"type": "none"}
    assert asker(plain).options(TOOLS, last=False) == {}
    assert asker(native).options([], last=False) == {}
