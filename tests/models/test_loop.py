"""The loop: what a model is asked, how its calls are answered, and how many rounds it has."""

from pathlib import Path
from typing import Any

import pytest

from rightcall import tool
from rightcall.executor.executor import Executor
from rightcall.models.loop import ScriptedModel, run_loop_sync
from support.loops import LOGGER, Loops, anthropic, openai, records, written


@pytest.fixture(params=["async", "sync"])
def loops(tmp_path: Path, request: pytest.FixtureRequest) -> Loops:
    return Loops(tmp_path, request.param)


def test_an_answer_without_calls_ends_it_at_once(loops: Loops) -> None:
    result = loops(["Hello."], "Hi")
    assert (result.text, result.stopped, result.rounds, result.outcomes) == ("Hello.", "answer", 0, ())
    assert (result.turns, result.tool_turns, result.adoption) == (1, 0, 0.0)
    assert result.messages == [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]


@pytest.mark.promise("O-02", "O-03")
def test_a_text_model_reads_of_its_tools_in_the_system_message_and_of_results_in_blocks(loops: Loops) -> None:
    result = loops([f"Let me look. {LOGGER}", "It logs the focus."])
    first, second = loops.model.asked
    assert first.messages[0]["role"] == "system"
    assert "**code/read** - Read file contents" in first.messages[0]["content"]
    assert first.messages[1:] == [{"role": "user", "content": "Tell me."}]
    assert first.options == {}
    assert second.messages[-2] == {"role": "assistant", "content": f"Let me look. {LOGGER}"}
    assert second.messages[-1]["role"] == "user"
    assert second.said.startswith("[Tool: code/read]\n")
    assert "logStateSnapshot" in second.said
    assert (result.text, result.stopped, result.rounds) == ("It logs the focus.", "answer", 1)
    assert (result.turns, result.tool_turns, result.adoption) == (2, 1, 50.0)
    assert [outcome.tool for outcome in result.outcomes] == ["code/read"]


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("Be brief.", "Be brief.\n\n{prompt}"),
        ("", "{prompt}"),
        (None, "{prompt}"),
    ],
)
def test_the_prompt_follows_the_users_own_system_message(loops: Loops, given: Any, seen: str) -> None:
    loops(["Hello."])
    prompt = loops.model.asked[0].messages[0]["content"]
    request = [{"role": "system", "content": given}, {"role": "user", "content": "Hi"}]
    result = loops(["Hello."], request)
    assert loops.model.asked[0].messages[0]["content"] == seen.format(prompt=prompt)
    assert len(loops.model.asked[0].messages) == 2
    assert result.messages[:2] == request


def test_a_system_message_made_of_parts_gets_one_more(loops: Loops) -> None:
    parts = [{"type": "text", "text": "Be brief."}]
    loops(["Hello."], [{"role": "developer", "content": parts}, {"role": "user", "content": "Hi"}])
    content = loops.model.asked[0].messages[0]["content"]
    assert content[0] == parts[0]
    assert "code/read" in content[1]["text"]


def test_a_caller_without_tools_is_promised_none(loops: Loops) -> None:
    loops.policy = {"callers": {"teacher": {"only": []}}}
    loops(["Hello."])
    assert "code/read" not in str(loops.model.asked[0].messages)
    loops(["Hello."], native="openai")
    assert loops.model.asked[0].options == {}


@pytest.mark.promise("O-02", "O-03")
def test_a_native_model_gets_definitions_and_answers_by_id(loops: Loops) -> None:
    call = openai("code/read", path="system/Room.ts")
    loops([call, "A class."], native="openai")
    first, second = loops.model.asked
    assert [message["role"] for message in first.messages] == ["user"]
    assert [one["function"]["name"] for one in first.options["tools"]] == ["code_read", "code_search"]
    assert second.messages[1] == call
    answer = second.messages[2]
    assert (answer["role"], answer["tool_call_id"]) == ("tool", "c1")
    assert "class Room" in answer["content"]


@pytest.mark.promise("O-02", "O-03")
def test_anthropic_gets_its_own_shape(loops: Loops) -> None:
    call = anthropic("code/read", path="system/Room.ts")
    loops([call, "A class."], native="anthropic")
    first, second = loops.model.asked
    assert [one["name"] for one in first.options["tools"]] == ["code_read", "code_search"]
    assert second.messages[1] == {"role": "assistant", "content": call["content"]}
    (result,) = second.messages[2]["content"]
    assert (second.messages[2]["role"], result["type"], result["tool_use_id"]) == ("user", "tool_result", "t1")


def test_a_model_with_a_parameter_for_tools_is_native_without_being_told(loops: Loops) -> None:
    seen: list[Any] = []

    def model(messages: list[Any], tools: Any = None) -> str:
        seen.append((messages, tools))
        return "Hello."

    loops(model)
    messages, tools = seen[0]
    assert [message["role"] for message in messages] == ["user"]
    assert [one["function"]["name"] for one in tools] == ["code_read", "code_search"]


def test_calls_without_an_id_get_one_each(loops: Loops) -> None:
    one, two = openai("code/read", None, path="system/Room.ts"), openai("code/search", None, pattern="Room")
    one["tool_calls"] += two["tool_calls"]
    result = loops([one, "Done."], native="openai")
    asked = result.messages[1]["tool_calls"]
    answers = result.messages[2:4]
    assert [call["id"] for call in asked] == [answer["tool_call_id"] for answer in answers]
    assert len({call["id"] for call in asked}) == 2


def test_native_calls_and_calls_in_the_text_are_each_answered_in_their_way(loops: Loops) -> None:
    call = openai("code/read", path="system/Room.ts") | {"content": written("code/search", pattern="class Room")}
    result = loops([call, "Done."], native="openai")
    assert [outcome.tool for outcome in result.outcomes] == ["code/search", "code/read"]
    (answer,) = [message for message in result.messages if message["role"] == "tool"]
    assert "export class Room {}" in answer["content"]
    assert "\n\n[Tool: code/search]\n" in answer["content"]


def test_several_calls_of_one_reply_are_one_round_and_answered_in_order(loops: Loops) -> None:
    both = LOGGER + written("code/search", pattern="Room")
    result = loops([both, "Done."])
    said = loops.model.asked[1].said
    assert said.index("[Tool: code/read]") < said.index("[Tool: code/search]")
    assert result.rounds == 1
    assert len(result.outcomes) == 2


@pytest.mark.promise("P-07")
@pytest.mark.parametrize(
    ("call", "native"),
    [(written, None), (openai, "openai"), (anthropic, "anthropic")],
    ids=["text", "openai", "anthropic"],
)
def test_after_five_rounds_the_model_is_asked_once_more_and_runs_nothing(loops: Loops, call: Any, native: Any) -> None:
    calls = [call("code/search", pattern=f"word {number}") for number in range(9)]
    result = loops(calls, native=native)
    assert (result.stopped, result.rounds, len(result.outcomes)) == ("rounds", 5, 5)
    assert len(loops.model.asked) == 6
    assert "Tool limit reached (5 rounds)." in loops.model.asked[-1].said
    assert "Tool limit reached" not in loops.model.asked[-2].said
    assert len(records(loops.store)) == 5
    assert result.text == ""
    assert result.messages[-1]["role"] != "assistant"  # nothing is left of its turn


@pytest.mark.promise("P-07")
def test_the_last_answer_keeps_its_words_and_loses_its_calls(loops: Loops) -> None:
    result = loops([LOGGER, f"I know enough. {LOGGER}"], rounds=1)
    assert (result.text, result.stopped, len(result.outcomes)) == ("I know enough.", "rounds", 1)
    assert result.messages[-1] == {"role": "assistant", "content": "I know enough."}
    native = openai("code/read", path="system/Room.ts") | {"content": "Enough."}
    result = loops([native, native], native="openai", rounds=1)
    assert result.messages[-1] == {"role": "assistant", "content": "Enough."}


def test_calls_written_around_calls_are_no_answer_either(loops: Loops) -> None:
    rest = "tion=code/read>\n<parameter=path>\nb\n</parameter>\n</function>"
    shown = f"<think>For example:</think>{LOGGER} Enough."
    for last, text in (
        (f"Enough. <func{LOGGER}{rest}", "Enough."),
        ("<func" * 5 + LOGGER + rest * 5, ""),
        (shown, "Enough."),
    ):
        result = loops([written("code/search", pattern=text), last], rounds=1)
        assert (result.text, result.stopped, len(result.outcomes)) == (text, "rounds", 1)


@pytest.mark.promise("P-07")
@pytest.mark.parametrize(("policy", "asked", "held"), [(2, None, 2), (2, 9, 2), (5, 1, 1), (5, 0, 0)])
def test_a_request_can_lower_the_policys_rounds_and_never_raise_them(
    loops: Loops, policy: int, asked: int | None, held: int
) -> None:
    loops.policy = {"policy": {"rounds": policy}}
    calls = [written("code/search", pattern=f"word {number}") for number in range(9)]
    result = loops(calls, rounds=asked)
    assert (result.rounds, len(result.outcomes), result.stopped) == (held, held, "rounds")


def test_without_rounds_the_model_never_hears_of_tools(loops: Loops) -> None:
    loops(["Hello."], rounds=0)
    assert [message["role"] for message in loops.model.asked[0].messages] == ["user"]
    loops(["Hello."], rounds=0, native="openai")
    assert loops.model.asked[0].options == {}


@pytest.mark.promise("P-07")
def test_a_model_that_makes_the_same_call_again_is_told_of_the_earlier_result(loops: Loops) -> None:
    result = loops([LOGGER] * 3 + ["I see."])
    assert [outcome.status for outcome in result.outcomes] == ["success", "success", "refused"]
    said = loops.model.asked[3].said
    assert "Identical call repeated within a minute" in said
    assert "It gave: success." in said
    assert result.text == "I see."


def test_a_refused_call_is_answered_with_its_hint_and_counts_as_a_round(loops: Loops) -> None:
    result = loops([written("code/read"), written("code/raed", path=5), "I give up."])
    assert "path" in loops.model.asked[1].said
    assert [outcome.status for outcome in result.outcomes] == ["refused"] * 2
    assert (result.rounds, result.stopped) == (2, "answer")


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (
            "<|Start of Memory Helper Tool Call|>{}<|End of Memory Helper Tool Call|>",
            "Error: Validation failed: `Memory Helper` is not a tool, and this is not a valid tool call\nTools: ",
        ),
        (
            '<tool_call>{"name": "code/read", "arguments": {"path": "a',
            "Error: Validation failed: The code/read call is truncated",
        ),
        ("Hm. [TOOL_CALLS] sorry", "⚠️ Not run: a call marker without a call"),
        (
            {"candidates": [{"content": {"parts": [{"text": "Hm."}]}, "finishReason": "MALFORMED_FUNCTION_CALL"}]},
            "⚠️ Not run: the API could not read the model's call: MALFORMED_FUNCTION_CALL.",
        ),
        (
            {"candidates": [{"content": {"parts": [{"functionCall": {"name": "code_read"}, "thought": True}]}}]},
            "⚠️ Not run: a call inside a thought.",
        ),
    ],
    ids=["hallucinated", "cut", "marker", "malformed", "thought"],
)
def test_markup_that_is_no_call_is_answered_so_that_the_model_can_try_again(
    loops: Loops, reply: Any, told: str
) -> None:
    result = loops([reply, LOGGER, "It logs."])
    assert loops.model.asked[1].said.startswith(told)
    assert (result.text, result.stopped, result.rounds) == ("It logs.", "answer", 2)
    assert result.outcomes[-1].ok


def test_an_answer_with_odd_parts_is_an_answer(loops: Loops) -> None:
    result = loops([{"role": "assistant", "content": [{"type": "text", "text": "Hello."}, {"type": "confetti"}]}])
    assert (result.text, result.stopped, len(loops.model.asked)) == ("Hello.", "answer", 1)


def test_a_call_that_the_token_limit_cut_off_is_not_run(loops: Loops) -> None:
    cut = openai("code/read")
    cut["tool_calls"][0]["function"]["arguments"] = '{"path": "system/Room'
    result = loops([{"choices": [{"message": cut, "finish_reason": "length"}]}, "Too long."], native="openai")
    assert [outcome.status for outcome in result.outcomes] == ["refused"]
    assert "truncated" in loops.model.asked[1].said
    assert result.messages[2]["tool_call_id"] == "c1"


@pytest.mark.promise("A-06")
def test_all_calls_of_a_request_share_a_context_and_each_round_is_a_step(loops: Loops) -> None:
    replies = [LOGGER + written("code/search", pattern="Room"), written("code/read", path="system/Room.ts"), "Done."]
    first = loops(replies)
    assert [(one.context, one.step) for one in records(loops.store)] == [
        (first.context, "1"),
        (first.context, "1"),
        (first.context, "2"),
    ]
    second = loops(replies)
    assert second.context != first.context


@pytest.mark.promise("A-02")
@pytest.mark.parametrize(
    "emission", ['<tool_call>{"tool": "code/read", "params": {path: "system/Room.ts",}}', "<|Begin Memory Tool Call|>"]
)
def test_the_record_holds_what_the_model_wrote(loops: Loops, emission: str) -> None:
    loops([f"Let me look. {emission}</tool_call>", "Done."])
    (record,) = records(loops.store)
    assert record.emission == emission


@pytest.mark.promise("A-06")
def test_a_step_of_a_plan_carries_the_calls_of_its_request(loops: Loops) -> None:
    result = loops([LOGGER, written("code/search", pattern="Room"), "Done."], context="room-7", step="3")
    assert {(one.context, one.step) for one in records(loops.store)} == {("room-7", "3")}
    assert result.context == "room-7"


@pytest.mark.promise("P-07")
def test_identical_calls_are_counted_within_a_conversation_and_not_across_them(tmp_path: Path) -> None:
    ran: list[str] = []

    @tool(effects=["read"])
    def look(what: str) -> str:
        ran.append(what)
        return "nothing new"

    def ask(executor: Any, context: str | None = None, calls: int = 1) -> Any:
        replies = [written("look", what="door")] * calls
        return run_loop_sync(ScriptedModel([*replies, "Done."]), executor, "Look.", caller="teacher", context=context)

    with Executor.open_sync(tmp_path, {"policy": {"allow": ["look"]}}, tools=[look], store="memory") as executor:
        for _ in range(5):
            assert all(one.ok for one in ask(executor).outcomes)
        repeated = ask(executor, "room", calls=3).outcomes
        assert [one.ok for one in repeated] == [True, True, False]
        assert not ask(executor, "room").outcomes[0].ok, "who goes on with a conversation is still counted"
    assert len(ran) == 7


@pytest.mark.parametrize("wrong", [{"rounds": "2"}, {"wait": "2"}])
def test_a_number_of_the_wrong_type_is_named(tmp_path: Path, wrong: Any) -> None:
    with (
        Executor.open_sync(tmp_path, store="memory") as executor,
        pytest.raises(TypeError, match=rf"`{next(iter(wrong))}` must be .* not str"),
    ):
        run_loop_sync(ScriptedModel(["Done."]), executor, "Look.", caller="teacher", **wrong)


def test_an_asynchronous_executor_says_how_it_is_opened_without_one(tmp_path: Path) -> None:
    opened: Any = Executor.open(tmp_path, store="memory")
    with pytest.raises(TypeError, match=r"open_sync.*async with"), opened:
        raise AssertionError("it must not be entered")


@pytest.mark.parametrize("write", [openai, written])
@pytest.mark.promise("V-05")
def test_what_was_mended_in_the_text_of_a_call_is_recorded_and_still_in_doubt_in_a_loop(write: Any) -> None:
    sent: list[str] = []

    def send_mail(to: str, subject: str, body: str) -> str:
        """Send a mail."""
        sent.append(to)
        return "sent"

    def run(arguments: str) -> Any:
        call = {"name": "send_mail", "arguments": arguments}
        message: Any = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": call}]}
        if write is written:
            message = f'<tool_call>{{"name": "send_mail", "arguments": {arguments}}}</tool_call>'
        policy = {"policy": {"allow": ["send_mail"]}}
        with Executor.open_sync(policy=policy, code=False, store="memory") as executor:
            executor.tool(send_mail, effects=["network"])
            return run_loop_sync(ScriptedModel([message, "Done."]), executor, "Write to Ann.", caller="me").outcomes[0]

    unsure = run('{"to": "ann@example.org", "subject": "Hi, "body": "Bye"}')
    assert (unsure.status, unsure.decision.rule, sent) == ("waiting", "approval:confidence", [])
    assert "missing_end_quote" in [one.rule for one in unsure.repairs]
    sure = run("{to: 'ann@example.org', 'subject': 'Hi', body: 'Bye'}")
    assert (sure.status, sent) == ("success", ["ann@example.org"])
    assert [one.rule for one in sure.repairs] == ["unquoted_key", "single_quotes"]
