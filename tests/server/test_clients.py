"""The official clients of all four APIs through the proxy: right answers are the same to the byte, broken calls come
out right."""

from collections.abc import Iterator

import pytest
from msgspec import json, structs

from support import client_checks as checks
from support.client_cases import BROKEN, IN_TAGS, MAYBE, PARIS, RIGHT, told
from support.client_checks import Pair, pair_of
from support.clients import Chat, Client, Messages, Ollama, Responses
from support.every import sampled
from support.proxies import post
from support.scripted.server import NativeCall, Text

pytestmark = pytest.mark.promise("H-03")


helped = pytest.mark.parametrize("pair", [Chat, Messages, Responses], indirect=True)
"""Ollama's client has no helper for streams."""


@pytest.fixture(scope="module", params=[Chat, Messages, Ollama, Responses])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    client: type[Client] = request.param
    with pair_of(client) as made:
        yield made


@pytest.mark.parametrize("name", sampled(RIGHT, 2))
def test_what_is_not_broken_is_the_upstream_s_own_bytes(pair: Pair, name: str) -> None:
    checks.check_same_bytes(pair, name)


@pytest.mark.parametrize("name", sampled(RIGHT, 2))
def test_what_is_not_broken_parses_to_the_same_objects(pair: Pair, name: str) -> None:
    checks.check_same_objects(pair, name)


@pytest.mark.parametrize("name", sampled(MAYBE, 2))
def test_what_stays_suspect_for_long_is_not_lifted_and_adds_up_to_the_same(pair: Pair, name: str) -> None:
    checks.check_same_text(pair, name)


@pytest.mark.parametrize("name", sampled(BROKEN, 3))
def test_a_broken_call_comes_out_right_whole_and_streamed(pair: Pair, name: str) -> None:
    checks.check_repaired(pair, name)


@helped
@pytest.mark.parametrize("name", checks.HELPED)
def test_the_stream_helper_makes_the_same_of_what_is_not_broken(pair: Pair, name: str) -> None:
    checks.check_helper_same(pair, name)


@helped
@pytest.mark.parametrize("name", sampled(BROKEN, 2))
def test_the_stream_helper_sees_right_calls(pair: Pair, name: str) -> None:
    checks.check_helper_repaired(pair, name)


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 529])
def test_errors_of_the_upstream_pass_as_they_are(pair: Pair, status: int) -> None:
    checks.check_same_error(pair, status)


def test_an_error_page_is_told_in_words(pair: Pair) -> None:
    checks.check_page(pair)


def test_a_stream_that_says_it_failed_fails_for_the_client_in_the_same_way(pair: Pair) -> None:
    checks.check_said_failure(pair)


def test_an_upstream_that_dies_is_an_error_the_library_knows(pair: Pair) -> None:
    checks.check_death(pair)


@pytest.mark.parametrize("pair", [Chat], indirect=True)
def test_each_of_several_choices_is_repaired_for_itself(pair: Pair) -> None:
    answer = told([Text("It is sunny.")])
    both = structs.replace(answer, others=[[NativeCall("getWeather", PARIS)], [Text(IN_TAGS)]])
    pair.rig.upstream.play([both] * 3)
    body = pair.direct.body(False) | {"n": 3}
    here, there = (post(url, pair.direct.path, body).json["choices"] for url in (pair.rig.address, pair.rig.direct))
    assert here[0] == there[0]
    for choice in here[1:]:
        (call,) = choice["message"]["tool_calls"]
        assert (call["function"]["name"], json.decode(call["function"]["arguments"])) == ("get_weather", PARIS)
        assert choice["finish_reason"] == "tool_calls"
