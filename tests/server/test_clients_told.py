"""What a client is told of the repairs, in whole answers and in streams, by each API and its official library."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import json

from support.client_cases import BROKEN, CUTS, RIGHT, recut, told
from support.clients import Chat, Client, Messages, Ollama, Responses
from support.every import every, sampled
from support.proxies import post, proxied
from support.scripted.server import Raw

pytestmark = pytest.mark.promise("H-03")

REPORT = {"x-rightcall-report": "1"}


def chat(event: Any) -> Any:
    return (event.model_extra or {}).get("rightcall")


def responses(event: Any) -> Any:
    return chat(getattr(event, "response", event))


LIBRARIES = [
    pytest.param(Chat, chat, id="chat"),
    pytest.param(Messages, chat, id="messages"),
    pytest.param(Responses, responses, id="responses"),
]
CASES = {
    "a number as text": "repaired=1",
    "left in text after prose": "lifted=1",
    "right beside broken": "repaired=1",
    "two left in text": "lifted=2",
}


@pytest.mark.parametrize(("library", "field"), LIBRARIES)
@pytest.mark.parametrize("name", sampled(CASES, 2))
def test_a_client_that_asks_finds_what_was_done_in_the_last_event_of_a_stream(
    library: type[Client], field: Callable[[Any], Any], name: str
) -> None:
    with proxied() as rig, library(rig.address, REPORT) as client, library(rig.address) as plain:
        for pieces in CUTS:
            answer = told(recut(BROKEN[name].parts, pieces))
            rig.upstream.play([answer] * 3)
            events = client.ask(stream=True)
            assert [words for words in map(field, events) if words] == [CASES[name]]
            assert client.seen(events, stream=True).named == BROKEN[name].calls
            assert client.helped()[1].named == BROKEN[name].calls, "the library's helper is content with it"
            assert not any(map(field, plain.ask(stream=True))), "nobody else gets a field that is not in the API"
        rig.upstream.play([told(BROKEN[name].parts)])
        assert field(client.ask(stream=False)[0]) == CASES[name]


@pytest.mark.parametrize("name", CASES)
def test_ollama_s_last_line_has_the_field_and_its_library_skips_it(name: str) -> None:
    with proxied() as rig, Ollama(rig.address, REPORT) as client:
        rig.upstream.play([told(BROKEN[name].parts)] * 3)
        assert client.see(stream=True).named == BROKEN[name].calls
        lines = post(rig.address, client.path, client.body(stream=True), REPORT).body.splitlines()
        assert json.decode(lines[-1])["rightcall"] == CASES[name]
        assert not any(b"rightcall" in line for line in lines[:-1])
        assert post(rig.address, client.path, client.body(stream=False), REPORT).json["rightcall"] == CASES[name]


@every("library", [Chat, Messages, Responses, Ollama])
def test_where_nothing_was_done_an_answer_is_the_upstream_s_own_bytes(library: type[Client]) -> None:
    with proxied() as rig, library(rig.address) as client:
        for stream in (False, True):
            rig.upstream.play([RIGHT["a right call"]] * 2)
            here = post(rig.address, client.path, client.body(stream), REPORT).body
            assert here == post(rig.direct, client.path, client.body(stream)).body


@every("library", [Chat, Messages, Responses, Ollama])
def test_where_nothing_may_change_a_client_that_asks_hears_what_would_have(library: type[Client]) -> None:
    with proxied(observe=True) as rig, library(rig.address) as client:
        for stream in (False, True):
            rig.upstream.play([told(BROKEN["a number as text"].parts)] * 2)
            told_here = post(rig.address, client.path, client.body(stream), REPORT).body
            assert told_here.count(b'"rightcall":"would-repair=1"') == 1
            assert b"rightcall" not in post(rig.address, client.path, client.body(stream)).body


@pytest.mark.promise("A-07")
@pytest.mark.parametrize("stream", [False, True])
def test_an_upstream_cannot_speak_in_our_name(stream: bool) -> None:
    with proxied() as rig, Chat(rig.address) as client:
        rig.upstream.play([RIGHT["a right call"]])
        got = post(rig.direct, client.path, client.body(stream))
        lie = got.body.replace(b'"model":', b'"rightcall":"repaired=99","model":')
        kind = got.headers["content-type"]
        rig.upstream.play([Raw(lie, 200, content_type=kind)])
        body = post(rig.address, client.path, client.body(stream), REPORT).body
        events = [event for event in body.split(b"\n\n") if b'"tool_calls"' in event]
        assert lie.count(b"repaired=99") > 0
        assert b"repaired=99" not in events[-1]
