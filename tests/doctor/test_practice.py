"""The practice model answers the real client libraries on all four wires, breaks every call, and says what it is."""

from collections.abc import Iterator
from typing import Any

import anthropic
import ollama
import openai
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rightcall import Gate
from rightcall.doctor.practice import MOST, Called, PracticeQuestion, Said, answer, practice_app, question_of
from support.clients import Chat, Client, Messages, Ollama, Responses
from support.every import every
from support.proxies import in_front_of, post, request, serving

WEATHER = {
    "name": "get_weather",
    "description": "The weather of the coming days.",
    "parameters": {
        "type": "object",
        "properties": {"city_name": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 14}},
        "required": ["city_name"],
    },
}
CLOCK = {"name": "clock", "description": "What time it is.", "parameters": {"type": "object", "properties": {}}}
FIELDS = {
    "type": "object",
    "properties": {
        "filePath": {"type": "string"},
        "mode": {"type": "string", "enum": ["read", "write"]},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "deep": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    },
    "required": ["filePath", "mode", "code", "deep", "tags"],
}
ODD = {"name": "odd", "parameters": FIELDS}
TOOLS = [CLOCK, WEATHER, ODD]
ASKED = "How is the weather in Paris for the next 3 days?"
CHAT_TOOLS = [{"type": "function", "function": tool} for tool in TOOLS]
MESSAGES: Any = [{"role": "user", "content": ASKED}]
WAYS = 6


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(practice_app()) as url:
        yield url


def read(parts: list[Any]) -> Any:
    """The one call in an answer, as the gate sees it."""
    calls = [
        {"type": "function", "id": "c", "function": {"name": part.name, "arguments": part.arguments}}
        for part in parts
        if isinstance(part, Called)
    ]
    text = "".join(part.text for part in parts if isinstance(part, Said))
    reading = Gate(TOOLS).read({"role": "assistant", "content": text, "tool_calls": calls})
    assert len(reading.calls) == 1
    return reading.calls[0]


@every("turn", range(WAYS))
def test_every_broken_call_can_be_repaired_to_what_was_asked(turn: int) -> None:
    verdict = read(answer(PracticeQuestion(TOOLS, ASKED), turn))
    assert verdict.ok
    assert (verdict.call.name, verdict.call.arguments) == ("get_weather", {"city_name": "Paris", "days": 3})


def test_every_turn_breaks_the_call_in_another_way_and_then_they_come_again() -> None:
    answers = [answer(PracticeQuestion(TOOLS, ASKED), turn) for turn in range(2 * WAYS)]
    assert len({repr(parts) for parts in answers}) == WAYS
    assert answers[:WAYS] == answers[WAYS:]


def test_no_native_call_leaves_as_a_right_one() -> None:
    """Otherwise there is nothing to see: a call that fits would pass the proxy untouched."""
    parts = [part for turn in range(WAYS) for part in answer(PracticeQuestion(TOOLS, ASKED), turn)]
    verdicts = [Gate(TOOLS).check(part.name, part.arguments) for part in parts if isinstance(part, Called)]
    assert len(verdicts) == 4
    assert all(verdict.ok and verdict.repairs for verdict in verdicts)


@every("turn", range(WAYS))
@every("tool", ["clock", "odd"])
def test_tools_without_and_with_awkward_arguments_are_called_too(tool: str, turn: int) -> None:
    verdict = read(answer(PracticeQuestion(TOOLS, "Go", wanted=tool), turn))
    assert verdict.ok
    assert verdict.call.name == tool


def test_the_tool_whose_words_were_said_is_called_else_the_first() -> None:
    assert read(answer(PracticeQuestion(TOOLS, "weather"), 0)).call.name == "get_weather"
    assert read(answer(PracticeQuestion(TOOLS, "Tell me the time"), 0)).call.name == "clock"
    assert read(answer(PracticeQuestion([WEATHER, CLOCK], "Bonjour"), 0)).call.name == "get_weather"


def test_a_result_is_quoted_by_its_first_line() -> None:
    (said,) = answer(PracticeQuestion(TOOLS, ASKED, result="Sunny, 21 °C\nand more"), 0)
    assert isinstance(said, Said)
    assert said.text == "This is rightcall-practice, not a real model. The tool answered: Sunny, 21 °C"


@every(
    "question",
    [
        *(PracticeQuestion(TOOLS, ASKED, wanted=name) for name in ("clock", "odd", "get_weather")),
        PracticeQuestion([], "Hello"),
        PracticeQuestion(TOOLS, "", result="42"),
        PracticeQuestion([{"name": ""}], "Hello"),
        PracticeQuestion([{"name": "x", "parameters": {"$ref": "file:///etc/passwd"}}], "Hello"),
    ],
)
def test_every_answer_says_once_that_it_comes_from_no_real_model(question: PracticeQuestion) -> None:
    for turn in range(WAYS):
        said = "".join(part.text for part in answer(question, turn) if isinstance(part, Said))
        assert said.count("not a real model") == 1
        assert said.count("rightcall-practice") == 1


def test_a_list_of_tools_that_names_a_file_opens_none(tmp_path: Any) -> None:
    file = tmp_path / "tools.toml"
    file.write_text('[tools.from_a_file]\ndescription = "x"\n')
    assert question_of({"tools": [str(file), CLOCK, None, 7], "messages": MESSAGES}).tools == [CLOCK]


@every(
    ("body", "expected"),
    [
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}, ("a", None)),
        ({"messages": [*MESSAGES, {"role": "tool", "content": "42"}]}, (ASKED, "42")),
        ({"messages": [{"role": "tool", "content": "42"}, *MESSAGES]}, (ASKED, None)),
        ({"input": "a"}, ("a", None)),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}]}, ("a", None)),
        ({"input": [{"type": "function_call_output", "call_id": "c", "output": "42"}]}, ("", "42")),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{"text": "42"}]}]}]},
            ("", "42"),
        ),
        ({"messages": 7}, ("", None)),
        ({}, ("", None)),
        ({"messages": [None, 7, {"role": "user", "content": {"a": 1}}]}, ("", None)),
    ],
)
def test_every_wire_asks_the_same_question(body: dict[str, Any], expected: tuple[str, str | None]) -> None:
    question = question_of(body)
    assert (question.said, question.result) == expected


@pytest.mark.parametrize("choice", ["none", {"type": "none"}])
def test_a_request_that_wants_no_call_gets_none(choice: Any) -> None:
    assert question_of({"tools": TOOLS, "tool_choice": choice}).tools == []


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "function", "function": {"name": "odd"}},
        {"type": "function", "name": "odd"},
        {"type": "tool", "name": "odd"},
    ],
)
def test_a_request_that_insists_on_a_tool_gets_it(choice: Any) -> None:
    assert question_of({"tools": TOOLS, "tool_choice": choice}).wanted == "odd"


SCALARS = (
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "a", "user", "tool", "object", "x.toml"])
)
KEYS = st.sampled_from(
    ["name", "role", "content", "type", "text", "function", "parameters", "properties", "required", "enum", "$ref"]
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
BODIES = st.dictionaries(st.sampled_from(["tools", "messages", "input", "tool_choice"]), ANYTHING)


@given(BODIES, st.integers(0, WAYS))
@example({"tools": [{"name": "a", "parameters": {"properties": {"a": 1}, "required": ["a", 2]}}]}, 0)
def test_whatever_is_asked_is_answered(body: dict[str, Any], turn: int) -> None:
    assert any(isinstance(part, Said) for part in answer(question_of(body), turn))


@pytest.mark.promise("H-03")
@every("library", [Chat, Responses, Messages, Ollama])
def test_through_the_proxy_every_broken_call_comes_out_right(address: str, library: type[Client]) -> None:
    with in_front_of(address) as proxy, library(proxy) as client:
        for stream in (False, True):
            for _ in range(WAYS):
                seen = client.see(stream)
                assert seen.named == [("get_weather", {"city": "Paris"})]
                assert seen.prose.count("not a real model") == 1
                assert seen.finish == client.called


# ── through the real client libraries ────────────────────────────────────────────────────────────────────────────────


def test_openai_chat_reads_it_whole_and_streamed(address: str) -> None:
    with openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        for _ in range(WAYS):
            asked: Any = {"model": "x", "messages": MESSAGES, "tools": CHAT_TOOLS}
            whole = client.chat.completions.create(**asked)
            assert whole.model == "rightcall-practice"
            assert whole.usage
            assert whole.usage.prompt_tokens > 100
            with client.chat.completions.stream(**asked) as stream:
                final = stream.get_final_completion()
            for answered in (whole, final):
                choice = answered.choices[0]
                assert choice.finish_reason == ("tool_calls" if choice.message.tool_calls else "stop")
                assert "not a real model" in (choice.message.content or "")
        assert [model.id for model in client.models.list()] == ["rightcall-practice"]


def test_openai_responses_reads_it_whole_and_streamed(address: str) -> None:
    tools = [{"type": "function", **tool} for tool in TOOLS]
    with openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        for _ in range(WAYS):
            asked: Any = {"model": "x", "input": ASKED, "tools": tools}
            whole = client.responses.create(**asked)
            with client.responses.stream(**asked) as stream:
                final = stream.get_final_response()
            for answered in (whole, final):
                assert answered.model == "rightcall-practice"
                assert "not a real model" in answered.output_text
                assert answered.status == "completed"


def test_anthropic_reads_it_whole_and_streamed(address: str) -> None:
    tools = [{"name": tool["name"], "input_schema": tool["parameters"]} for tool in TOOLS]
    with anthropic.Anthropic(base_url=address, api_key="none", max_retries=0) as client:
        asked: Any = {"model": "x", "max_tokens": 99, "messages": MESSAGES, "tools": tools}
        for _ in range(WAYS):
            whole = client.messages.create(**asked)
            with client.messages.create(**asked, stream=True) as stream:
                kinds = [event.type for event in stream]
            assert whole.model == "rightcall-practice"
            called = any(block.type == "tool_use" for block in whole.content)
            assert whole.stop_reason == ("tool_use" if called else "end_turn")
            assert kinds[0] == "message_start"
            assert kinds[-1] == "message_stop"
        assert client.messages.count_tokens(model="x", messages=MESSAGES).input_tokens > 10
        assert [model.id for model in client.models.list()] == ["rightcall-practice"]


def test_ollama_reads_it_whole_and_streamed(address: str) -> None:
    client = ollama.Client(host=address)
    try:
        listed = [model.model for model in client.list().models]
        assert listed == ["rightcall-practice"]
        whole = client.chat("x", MESSAGES)
        streamed = list(client.chat("x", MESSAGES, stream=True))
    finally:
        client._client.close()
    assert whole.model == "rightcall-practice"
    assert whole.message.content == "".join(line.message.content or "" for line in streamed)
    assert streamed[-1].done
    assert streamed[-1].eval_count


def test_each_call_is_broken_in_the_next_way_and_results_do_not_count() -> None:
    result = [*MESSAGES, {"role": "tool", "tool_call_id": "c", "content": "Sunny"}]
    bodies = [{"messages": messages, "tools": CHAT_TOOLS} for messages in (MESSAGES, result, MESSAGES)]
    with serving(practice_app()) as url:
        said = [post(url, "/v1/chat/completions", body).json["choices"][0]["message"]["content"] for body in bodies]
    assert "Python's quotes" in said[0]
    assert said[1].endswith("The tool answered: Sunny")
    assert "between tags" in said[2]


@every("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat"])
@every("body", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_what_is_no_request_gets_an_error_of_its_wire(address: str, path: str, body: bytes) -> None:
    got = request("POST", address, path, body)
    assert got.status == 400
    assert got.json["error"]


def test_a_question_too_large_is_refused(address: str) -> None:
    got = request("POST", address, "/api/chat", b" " * (MOST + 1))
    assert got.status == 413
    assert "larger than" in got.json["error"]
