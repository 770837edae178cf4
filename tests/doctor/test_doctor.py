"""The doctor: what it counts as usable and right, with which damage, and what it suggests."""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import msgspec
import pytest

from rightcall.base.http.answers import HttpError
from rightcall.doctor.doctor import Examination, Findings, Settings, advice, findings, record
from rightcall.doctor.judgement import TOLD, Emission, Treating, judge_answer, read, same
from rightcall.doctor.questions import STEPS, TOOLS, DoctorQuestion, Patient, Speech, Step, request_of
from rightcall.errors import ConfigError
from rightcall.policy.settings import Policy
from rightcall.proxy.gates import Gates, Options
from rightcall.server.access import Access
from rightcall.server.addresses import Upstream
from rightcall.server.app import assemble, running
from support.doctor_model import FEW, answering, in_text, is_taught, misnamed, python_like, question_in, right
from support.every import every
from support.scripted.server import (
    Answer,
    Dies,
    Failure,
    NativeCall,
    Raw,
    Received,
    Scripted,
    ScriptedUpstream,
    Stalls,
    Text,
    Usage,
)

ALL = sum(len(step.questions) for step in STEPS)
SPEECHES: tuple[Speech, ...] = ("openai", "anthropic", "ollama")
KEY = "sk-very-secret-0123456789"


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as upstream:
        yield upstream


def examined(server: ScriptedUpstream, **settings: Any) -> tuple[Examination, Findings]:
    given = {"speech": "openai", "steps": FEW, **settings}
    examination = Examination(Settings(server.address, **given))
    asyncio.run(examination.run())
    return examination, findings(examination)


def figures(found: Findings) -> dict[str, tuple[int, int, int]]:
    """Usable, right and asked, by way."""
    shares = found.total.shares
    return {way: (shares[way].usable, shares[way].right, shares[way].asked) for way in found.ways}


# ── the questions ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_question_can_be_answered_with_the_tools_it_offers() -> None:
    gates = Gates(Policy(), "local")
    ids: list[str] = []
    for question in (question for step in STEPS for question in step.questions):
        ids.append(question.id)
        patient = Patient("openai", "m")
        asked = patient.wire.asked(msgspec.json.encode(request_of(patient, question, 1)))
        assert asked is not None
        gate = gates.of(asked.tools)
        assert gate is not None
        assert set(gate.catalog.tools) == set(question.tools) <= set(TOOLS)
        for wanted in question.wanted:
            verdict = gate.check(wanted.tool, wanted.values)
            assert verdict.ok, (question.id, verdict.problems)
            assert not verdict.repairs, question.id
            assert verdict.call is not None
            assert verdict.call.arguments is wanted.values
    assert len(ids) == len(set(ids))


def test_there_is_a_question_with_five_tools_with_two_calls_and_with_a_stream() -> None:
    questions = [question for step in STEPS for question in step.questions]
    assert any(len(question.tools) == 5 for question in questions)
    assert any(len(question.wanted) == 2 for question in questions)
    assert any(question.stream for question in questions)
    assert all(3 <= len(step.questions) <= 4 for step in STEPS)


# ── what is counted ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.promise("H-03")
@pytest.mark.parametrize("speech", SPEECHES)
def test_a_model_that_calls_rightly_needs_nobody(server: ScriptedUpstream, speech: Speech) -> None:
    server.play(answering(right))
    examination, found = examined(server, speech=speech, steps=STEPS)
    assert figures(found) == {"without": (ALL, ALL, ALL), "with": (ALL, ALL, ALL)}
    assert found.damage == {}
    assert examination.complete
    assert advice(examination, found) == [
        ("", "every call was right as it came: with this model the proxy has nothing to do here")
    ]


@pytest.mark.promise("H-03")
@pytest.mark.parametrize("speech", SPEECHES)
def test_calls_left_in_the_text_are_usable_only_with_us(server: ScriptedUpstream, speech: Speech) -> None:
    server.play(answering(in_text))
    examination, found = examined(server, speech=speech, steps=STEPS)
    assert figures(found) == {"without": (0, 0, ALL), "with": (ALL, ALL, ALL)}
    assert found.damage == {"text": ALL}
    assert len(server.requests) == ALL + 1  # each question once, and the list of models
    assert advice(examination, found) == [
        ("", f"the proxy with its default settings: {ALL} of {ALL} usable instead of 0 of {ALL}")
    ]


@pytest.mark.parametrize(("breaking", "damage"), [(python_like, "json"), (misnamed, "name")])
def test_damage_is_counted_by_its_kind(server: ScriptedUpstream, breaking: Any, damage: str) -> None:
    server.play(answering(breaking))
    _, found = examined(server)
    assert figures(found) == {"without": (0, 0, 3), "with": (3, 3, 3)}
    assert found.damage == {damage: 3}


def test_types_missing_and_surplus_arguments_are_told_apart(server: ScriptedUpstream) -> None:
    light = FEW[0].questions[1]

    def broken(arguments: dict[str, Any]) -> set[str]:
        server.play([Answer([NativeCall("set_light", arguments)]), Failure(500, "not again")])
        return set(examined(server, steps=(Step("one", (light,)),))[1].damage)

    assert broken({"room": "kitchen", "on": "false"}) == {"types"}
    assert broken({"room": "kitchen"}) == {"missing"}
    assert broken({"room": "kitchen", "on": False, "dim": 3}) == {"surplus"}


def test_a_wrong_tool_is_not_usable_with_us_either(server: ScriptedUpstream) -> None:
    server.play(lambda _: Answer([NativeCall("set_timer", {"minutes": 5})]))
    examination, found = examined(server, steps=(STEPS[2],))
    assert figures(found) == {"without": (0, 0, 4), "with": (0, 0, 4)}
    assert found.damage == {"wrong tool": 4}
    assert advice(examination, found) == [
        ("", "this model picks the wrong tool in 4 of 4 answers: no repair helps against that")
    ]


def test_a_call_that_fits_with_another_value_is_usable_but_not_right(server: ScriptedUpstream) -> None:
    server.play(lambda _: Answer([NativeCall("get_weather", {"city": "Berlin"})]))
    examination, found = examined(server, steps=(Step("one", STEPS[0].questions[:1]),))
    assert figures(found) == {"without": (1, 0, 1), "with": (1, 0, 1)}
    assert advice(examination, found) == [
        ("", "in 1 of 1 answers the call fits, but a value is not the one that was asked for")
    ]


def test_one_call_too_few_is_not_usable(server: ScriptedUpstream) -> None:
    server.play(lambda _: Answer([NativeCall("get_weather", {"city": "Oslo"})]))
    _, found = examined(server, steps=(Step("two", STEPS[5].questions[:1]),))
    assert figures(found)["with"] == (0, 0, 1)
    assert found.damage == {"number": 1}


def test_a_native_call_without_an_id_is_of_no_use_to_a_client(server: ScriptedUpstream) -> None:
    call = {"type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    server.play([Raw(msgspec.json.encode(body))])
    _, found = examined(server, steps=(Step("one", STEPS[0].questions[:1]),))
    assert figures(found) == {"without": (0, 0, 1), "with": (1, 1, 1)}
    assert found.damage == {"id": 1}


def test_an_answer_that_was_cut_off_says_so(server: ScriptedUpstream) -> None:
    server.play(lambda _: Answer([NativeCall("get_weather", '{"city": "Par')], finish="length"))
    examination, found = examined(server, steps=(Step("one", STEPS[0].questions[:1]),))
    assert figures(found)["with"] == (0, 0, 1)
    assert set(found.damage) == {"json", "cut"}
    assert ("max tokens", "one answer was truncated at 512 tokens: allow more in your client (here: --max-tokens)") in (
        advice(examination, found)
    )


@every(
    ("given", "wanted", "exact", "is_same"),
    [
        ("PARIS ", "Paris", False, True),
        ("PARIS", "Paris", True, False),
        ("a\n", "a", True, True),
        (25.0, 25, False, True),
        (True, 1, False, False),
        ([1, 2], [2, 1], False, False),
        ({"a": 1, "b": 2}, {"a": 1}, False, True),
        ({}, {"a": None}, False, False),
        ("5", 5, False, False),
    ],
)
def test_values_are_compared_as_the_question_means_them(given: Any, wanted: Any, exact: bool, is_same: bool) -> None:
    assert same(given, wanted, exact=exact) is is_same


@pytest.mark.parametrize(("text", "damage"), [("Hm.", {"ignored": 1}), ("<tool_call>{}</tool_call>", {"text": 1})])
def test_who_writes_a_call_however_wrong_was_told_of_the_tools(
    server: ScriptedUpstream, text: str, damage: dict[str, int]
) -> None:
    said = text.format('{"name": "get_weather", "arguments": {"place": 1}}')
    server.play(lambda _: Answer([Text(said)], usage=Usage(12, 5)))
    _, found = examined(server, steps=(Step("one", STEPS[2].questions[3:]),))
    assert {kind: count for kind, count in found.damage.items() if kind in ("ignored", "text", "none")} == damage


# ── asking otherwise ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_call_that_cannot_be_repaired_is_asked_for_again(server: ScriptedUpstream) -> None:
    def script(request: Received) -> Scripted:
        question = question_in(request)
        wanted = question.wanted[0]
        again = any(message["role"] == "tool" for message in request.json["messages"])
        return Answer([NativeCall(wanted.tool, wanted.values if again else {})])

    server.play(script)
    examination, found = examined(server)
    assert figures(found) == {"without": (0, 0, 3), "with": (0, 0, 3), "retry": (3, 3, 3)}
    assert advice(examination, found)[0] == (
        "--retry 1", "asking again when a call cannot be repaired: 3 of 3 usable instead of 0 of 3"
    )  # fmt: skip


@pytest.mark.parametrize("speech", SPEECHES)
def test_a_server_that_refuses_tools_is_tried_with_tools_in_the_prompt(
    server: ScriptedUpstream, speech: Speech
) -> None:
    calls = answering(in_text)

    def script(request: Received) -> Scripted:
        return calls(request) if is_taught(request) else Failure(400, "this model does not support tools")

    server.play(script)
    examination, found = examined(server, speech=speech)
    assert figures(found) == {"without": (0, 0, 3), "with": (0, 0, 3), "teach": (3, 3, 3)}
    assert found.damage == {"refused": 3}
    setting, why = advice(examination, found)[0]
    assert setting == "--teach on"
    assert why.startswith("tools in the prompt: 3 of 3 usable instead of 0 of 3")


def test_a_model_that_never_calls_is_tried_with_tools_in_the_prompt(server: ScriptedUpstream) -> None:
    calls = answering(in_text)
    server.play(lambda request: calls(request) if is_taught(request) else Answer([Text("It is sunny.")]))
    _, found = examined(server)
    assert figures(found)["teach"] == (3, 3, 3)
    assert sum(found.damage.values()) == 3
    assert set(found.damage) <= {"none", "ignored"}


def test_what_a_hosted_provider_leaves_in_the_text_is_measured_beside(server: ScriptedUpstream) -> None:
    server.play(answering(in_text))

    async def ask() -> Any:
        upstream = Upstream(server.address)
        try:
            treating = Treating(upstream, Gates(Policy(), "openai"), Patient("openai", "m"), lift=False, seconds=10)
            return await treating.ask(FEW[0].questions[0], 1, taught=False)
        finally:
            await upstream.aclose()

    treated = asyncio.run(ask())
    assert not treated.treated.usable
    assert treated.lifted.right
    assert treated.damage == ("text",)


# ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_api_and_the_model_are_found(server: ScriptedUpstream) -> None:
    server.play(answering(right))
    examination, _ = examined(server, speech=None)
    assert examination.patient is not None
    assert examination.patient.speech == "openai"
    assert examination.chosen
    assert server.requests[1].json["model"] == examination.patient.model
    server.play(answering(right))
    server.routes["/v1/models"] = Failure(404, "no such page")
    examination, found = examined(server, speech=None)
    assert examination.patient is not None
    assert examination.patient.speech == "ollama"
    assert figures(found)["with"] == (3, 3, 3)


def test_answers_are_asked_for_in_a_repeatable_way(server: ScriptedUpstream) -> None:
    server.play(answering(right))
    examined(server, tries=2, model="mine")
    asked = [request.json for request in server.requests[1:]]
    assert [request["seed"] for request in asked] == [7, 7, 7, 8, 8, 8]
    assert {(request["model"], request["temperature"], request["max_tokens"]) for request in asked} == {
        ("mine", 0, 512)
    }
    server.play(answering(right))
    examined(server, speech="ollama", tokens=99)
    assert server.requests[1].json["options"] == {"temperature": 0, "seed": 7, "num_predict": 99}


def test_a_setting_that_a_server_does_not_take_is_left_out(server: ScriptedUpstream) -> None:
    calls = answering(right)

    def script(request: Received) -> Scripted:
        for name in ("max_tokens", "temperature"):
            if name in request.json:
                return Failure(400, f"Unsupported parameter: '{name}'")
        return calls(request)

    server.play(script)
    _, found = examined(server)
    assert figures(found)["without"] == (3, 3, 3)
    assert len(server.requests) == 1 + 2 + 3
    assert server.requests[-1].json["max_completion_tokens"] == 512


def test_a_key_goes_to_the_server_and_nowhere_else(server: ScriptedUpstream) -> None:
    server.play(lambda _: Failure(400, f"bad request of {KEY}"))
    examination, found = examined(server, key=KEY, steps=(Step("one", STEPS[0].questions[:1]),))
    assert {request.header("authorization") for request in server.requests} == {f"Bearer {KEY}"}
    told = msgspec.json.encode(record(examination, found, advice(examination, found)))
    assert b"bad request of" in told
    assert KEY.encode() not in told
    server.play(answering(right))
    examined(server, speech="anthropic", key=KEY)
    assert {request.header("x-api-key") for request in server.requests} == {KEY}


def test_a_server_that_wants_a_key_is_told_with_the_option(server: ScriptedUpstream) -> None:
    server.play([])
    server.routes["/v1/models"] = Failure(401, "no key")
    with pytest.raises(ConfigError, match=r"127\.0\.0\.1 wants a key \(status 401\): .*--key-env OPENAI_API_KEY"):
        examined(server, speech=None)
    server.play(lambda _: Failure(401, "wrong key"))
    with pytest.raises(ConfigError, match="does not accept the key that --key-env names") as told:
        examined(server, key=KEY)
    assert KEY not in str(told.value)


def test_a_model_that_is_not_there_is_told_with_those_that_are(server: ScriptedUpstream) -> None:
    server.play(lambda _: Failure(404, "model 'nope' not found"))
    server.routes["/v1/models"] = Raw(b'{"data": [{"id": "one"}, {"id": "two\\u001b[31m"}]}')
    with pytest.raises(ConfigError) as told:
        examined(server, model="nope")
    assert str(told.value) == "--model: 127.0.0.1 has no model nope; it has one, two\\u001b[31m"


def test_a_server_that_is_none_is_told(server: ScriptedUpstream) -> None:
    server.play([])
    for path in ("/v1/models", "/api/tags"):
        server.routes[path] = Raw(b"<html>hello</html>", content_type="text/html")
    with pytest.raises(ConfigError, match="lists models neither at /v1/models nor /api/tags"):
        examined(server, speech=None)
    with pytest.raises(ConfigError, match=r"--model: 127\.0\.0\.1 lists no models; name the one to ask"):
        examined(server, speech="ollama")


def test_nobody_at_the_address_is_told() -> None:
    with ScriptedUpstream() as gone:
        address = gone.address
    with pytest.raises(HttpError, match=r"127\.0\.0\.1:\d+ cannot be reached"):
        asyncio.run(Examination(Settings(address)).run())


def test_a_server_that_keeps_failing_is_left_alone_with_what_is_known(server: ScriptedUpstream) -> None:
    wanted = STEPS[0].questions[0].wanted[0]
    dying = Dies(Answer([Text("so many words that half of them is something")]))
    server.play([Answer([NativeCall(wanted.tool, wanted.values)]), dying, dying, dying])
    examination, found = examined(server, steps=STEPS)
    assert figures(found) == {"without": (1, 1, 4), "with": (1, 1, 4)}
    assert found.damage == {"error": 3}
    assert not examination.complete
    assert examination.stopped.startswith("The model server 127.0.0.1 ")


def test_a_question_without_an_answer_in_time_is_counted_and_the_next_one_asked(server: ScriptedUpstream) -> None:
    calls = answering(right)

    def script(request: Received) -> Scripted:
        question = question_in(request)
        return Stalls(Answer([Text("hm")]), after=0) if question.id == "weather" else calls(request)

    server.play(script)
    examination, found = examined(server, seconds=1.0)
    assert figures(found)["with"] == (2, 2, 3)
    assert found.damage == {"slow": 1}
    assert advice(examination, found)[0][0] == "timeout"


@every(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'{"choices": null}',
        b'{"choices": [null]}',
        b'{"choices": [{"message": {"tool_calls": [5, null, {"function": 7}]}}]}',
        b'{"choices": [{"message": {"tool_calls": [{"id": 5, "function": {"name": ["x"], "arguments": 5}}]}}]}',
        b'{"choices": [{"message": {"tool_calls": [{"function": {"name": {}, "arguments": "[1]"}}]}}]}',
        b'{"choices": [{"message": {"content": "\\ud800<tool_call>{\\"name\\": \\"\\ud800\\"}"}}]}',
        b'{"choices": [{"message": {"content": ' + b"[" * 5000 + b"]" * 5000 + b"}}]}",
        b'{"choices": [{"message": {"tool_calls": [{"id": "1", "function": {"name": "get_weather", "arguments": "'
        + b"[" * 3000
        + b'"}}]}}]}',
    ],
    ids=itertools.count(),
)
def test_whatever_a_server_answers_the_doctor_goes_on(server: ScriptedUpstream, body: bytes) -> None:
    server.play(lambda _: Raw(body))
    examination, found = examined(server, steps=(Step("one", STEPS[0].questions[:1]),))
    assert figures(found)["with"] == (0, 0, 1)
    assert found.damage
    msgspec.json.encode(record(examination, found, advice(examination, found)))


def test_what_is_wrong_with_a_taught_call_is_counted_too(server: ScriptedUpstream) -> None:
    wrong = Text('<tool_call>{"name": "set_light", "arguments": {"room": "kitchen"}}</tool_call>')
    server.play(lambda request: Answer([wrong if is_taught(request) else Text("Hm.")]))
    _, found = examined(server, steps=(Step("one", FEW[0].questions[1:]),))
    assert figures(found)["teach"] == (0, 0, 1)
    assert found.taught_damage == {"missing": 1}


def test_an_example_of_ours_that_a_taught_model_repeats_is_no_call(server: ScriptedUpstream) -> None:
    copied = Text('<tool_call>{"name": "get_weather", "arguments": {"city": "sample-one"}}</tool_call>')
    server.play(lambda request: Answer([copied if is_taught(request) else Text("Hm.")]))
    _, found = examined(server, steps=(Step("one", FEW[0].questions[:1]),))
    assert figures(found)["teach"] == (0, 0, 1)
    assert found.taught_damage == {"none": 1}


def test_a_model_that_teaching_does_not_help_is_told_so(server: ScriptedUpstream) -> None:
    server.play(lambda request: Answer([Text("Hm.")]) if is_taught(request) else Failure(400, "does not support tools"))
    examination, found = examined(server)
    assert figures(found)["teach"] == (0, 0, 3)
    assert advice(examination, found) == [("", "no setting would have made more of these answers usable")]


# ── the real proxy ───────────────────────────────────────────────────────────────────────────────────────────────────


def everything_broken(question: DoctorQuestion, name: str, arguments: dict[str, Any]) -> NativeCall | Text:
    """Another damage for every question, one of which nobody can repair."""
    ways: list[Callable[[DoctorQuestion, str, dict[str, Any]], NativeCall | Text]] = [
        in_text, python_like, misnamed, right, lambda *_: NativeCall(name, {}),
    ]  # fmt: skip
    return ways[sum(map(ord, question.id)) % len(ways)](question, name, arguments)


@pytest.mark.promise("H-03")
@pytest.mark.parametrize("speech", SPEECHES)
def test_the_doctor_says_what_the_real_proxy_does(server: ScriptedUpstream, speech: Speech) -> None:
    server.play(answering(everything_broken))
    _, found = examined(server, speech=speech, steps=STEPS)
    direct, proxied = strict_client(server.address, speech), 0
    service = assemble(server.address, Policy(), Options(), Access(None, bound_to="127.0.0.1"))
    with running(service.app) as (host, port):
        proxied = strict_client(f"http://{host}:{port}", speech)
    assert (found.total.shares["without"].usable, found.total.shares["with"].usable) == (direct, proxied)
    assert 0 < direct < proxied < ALL


def half_right(request: Received) -> Scripted:
    """The last call is broken; asked again, the model gives all but the first, which was right and is not repeated."""
    question = question_in(request)
    calls = [NativeCall(wanted.tool, wanted.values) for wanted in question.wanted]
    if len(request.json["messages"]) > 1:
        return Answer([*calls[1:]] or [*calls])
    return Answer([*calls[: len(calls) - 1], NativeCall(calls[-1].name, {})])


@pytest.mark.promise("H-03")
@pytest.mark.parametrize("speech", SPEECHES)
def test_the_doctor_says_what_the_real_proxy_does_with_retry(server: ScriptedUpstream, speech: Speech) -> None:
    server.play(half_right)
    _, found = examined(server, speech=speech, steps=STEPS)
    service = assemble(server.address, Policy(), Options(retry=1), Access(None, bound_to="127.0.0.1"))
    with running(service.app) as (host, port):
        proxied = strict_client(f"http://{host}:{port}", speech)
    assert (found.total.shares["with"].usable, found.total.shares["retry"].usable, proxied) == (0, ALL, ALL)


def test_when_asking_again_fails_the_first_answer_stays(server: ScriptedUpstream) -> None:
    server.play([Answer([NativeCall("get_weather", {})]), Dies(Answer([Text("Hm.")]))])
    _, found = examined(server, steps=(Step("one", FEW[0].questions[:1]),))
    assert figures(found) == {"without": (0, 0, 1), "with": (0, 0, 1), "retry": (0, 0, 1)}
    assert found.damage == {"missing": 1}


def strict_client(address: str, speech: Speech) -> int:
    """How many questions a client gets a usable answer to at this address."""
    patient = Patient(speech, "m")
    gates = Gates(Policy(), "local")
    usable = 0
    with httpx.Client(base_url=address) as client:
        for question in (question for step in STEPS for question in step.questions):
            body = msgspec.json.encode(request_of(patient, question, 1))
            asked = patient.wire.asked(body)
            assert asked is not None
            gate = gates.of(asked.tools)
            assert gate is not None
            response = client.post(patient.target, content=body, headers={"content-type": "application/json"})
            message = read(patient.wire, Emission(response.status_code, response.content, question.stream))
            usable += judge_answer(patient.wire, gate, message, question).usable
    return usable


def test_every_damage_has_words() -> None:
    assert all(words and words == words.strip() for words in TOLD.values())
