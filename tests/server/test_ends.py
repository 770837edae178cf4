"""How a call ends: the model ended its turn and forgot a bracket, the token limit cut it off, or its server went away.
Over all four APIs, streaming and not."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from msgspec import json

from rightcall import load_policy
from rightcall.doctor.judgement import Emission, Message, read
from rightcall.proxy.gates import Options
from rightcall.proxy.wires import wires
from rightcall.record.calls import CallRecord, find_calls
from rightcall.record.memory import MemoryStore
from rightcall.record.value import read_value
from rightcall.server.access import Access
from rightcall.server.app import Parts, assemble
from rightcall.server.recording import Backlog, Recording
from support.every import every
from support.proxies import CHAT, MESSAGES, OLLAMA, RESPONSES, Got, Rig, post, request_for, serving
from support.scripted.server import Answer, Dies, NativeCall, Raw, ScriptedUpstream, Text, Usage
from support.wires.chat import chunk

pytestmark = pytest.mark.promise("H-03", "R-08")

PATHS = [CHAT, RESPONSES, MESSAGES, OLLAMA]
LIMITS = {CHAT: "length", RESPONSES: "incomplete", MESSAGES: "max_tokens", OLLAMA: "length"}
UNCLOSED = NativeCall("weather", '{"city": "Bern"')
IN_TEXT = Text('<tool_call>{"name": "weather", "arguments": {"city": "Bern"')
RIGHT = NativeCall("weather", '{"city": "Chur"}')
BERN = [("weather", {"city": "Bern"})]


class Site:
    """The whole server with its store, in front of a scripted upstream."""

    def __init__(self, rig: Rig, store: MemoryStore, recording: Recording, server: ExitStack) -> None:
        self.upstream, self.address, self._server = rig.upstream, rig.address, server
        self.store, self._recording = store, recording

    def ask(self, path: str, stream: bool, *answers: Answer | Dies | Raw, **more: Any) -> Got:
        self.upstream.play(answers)
        return post(self.address, path, request_for(path, stream) | more)

    def records(self) -> list[CallRecord]:
        self._server.close()  # a record is made after the answer
        self._recording.stop()
        return self.store.look(find_calls)


@contextmanager
def site(watcher: Any = None, **settings: Any) -> Iterator[Site]:
    store = MemoryStore()
    recording = Recording(store, owned=False, backlog=Backlog(0.0))
    with ScriptedUpstream() as upstream:
        parts = Parts(recording, watcher=watcher)
        service = assemble(
            upstream.address, load_policy(None), Options(**settings), Access(None, bound_to="127.0.0.1"), parts
        )
        with ExitStack() as server:
            address = server.enter_context(serving(service.app))
            yield Site(Rig(upstream, address, upstream.address), store, recording, server)
    recording.stop()


def message(path: str, got: Got, stream: bool) -> Message:
    wire = next(one for one in wires() if one.is_for("POST", path))
    return read(wire, Emission(got.status, got.body, stream))


def calls(path: str, got: Got, stream: bool) -> list[tuple[str, Any]]:
    found = message(path, got, stream).calls
    return [(str(one.name), _decoded(one.arguments)) for one in found]


def _decoded(arguments: Any) -> Any:
    try:
        return json.decode(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments


def over_every_api(test: Any) -> Any:
    each = pytest.mark.parametrize("stream", [False, True])(test)
    return pytest.mark.parametrize("path", PATHS)(each)


@over_every_api
@pytest.mark.parametrize("part", [UNCLOSED, IN_TEXT])
def test_a_model_that_ended_its_turn_without_the_last_bracket_is_repaired(path: str, stream: bool, part: Any) -> None:
    with site() as one:
        got = one.ask(path, stream, Answer([part]))
        assert calls(path, got, stream) == BERN
        (record,) = one.records()
        assert (record.rule, record.fit, record.truncated) in {
            ("proxy:repaired", "repaired", False),
            ("proxy:lifted", "repaired", False),
        }
        assert record.params == {"city": "Bern"}


@over_every_api
@pytest.mark.parametrize("part", [UNCLOSED, IN_TEXT])
def test_a_call_that_the_token_limit_cut_off_is_left_and_counted_as_left(path: str, stream: bool, part: Any) -> None:
    with site() as one:
        got = one.ask(path, stream, Answer([part], LIMITS[path]))
        assert BERN[0] not in calls(path, got, stream)
        (record,) = one.records()
        assert (record.rule, record.fit, record.repairs, record.truncated) == ("proxy:left", "left", (), True)
        value = one.store.look(lambda tables: read_value(tables, "2020-01-01")).total
        assert (value.at_least, value.at_most, value.failed) == (0, 0, 1)


@over_every_api
@pytest.mark.parametrize("part", [UNCLOSED, IN_TEXT])
def test_a_call_that_is_cut_off_goes_back_to_the_model_where_that_is_allowed(
    path: str, stream: bool, part: Any
) -> None:
    with site(retry=1) as one:
        got = one.ask(path, stream, Answer([part], LIMITS[path]), Answer([RIGHT]))
        assert calls(path, got, stream) == [("weather", {"city": "Chur"})]
        assert "resend" in one.upstream.requests[1].body.decode()


@over_every_api
def test_a_server_that_hides_the_token_limit_is_not_believed(path: str, stream: bool) -> None:
    """Some report every answer with a call as ended by the model, also one that used all its tokens."""
    limit = {OLLAMA: {"options": {"num_predict": 13}}, RESPONSES: {"max_output_tokens": 13}}
    with site() as one:
        more = limit.get(path, {"max_tokens": 13})
        got = one.ask(path, stream, Answer([UNCLOSED], usage=Usage(21, 13)), **more)
        assert calls(path, got, stream) != BERN
        assert [record.rule for record in one.records()] == ["proxy:left"]


@every("path", PATHS)
@every("retry", [0, 1])
@every("silent", [False, True])
def test_half_a_call_is_never_sent_however_the_body_ends(path: str, retry: int, silent: bool) -> None:
    facts: list[Any] = []
    with site(facts.append, retry=retry) as one:
        whole = Answer([Text("Let me see. "), NativeCall("weather", '{"city": "Bern"', pieces=6)])
        after = {CHAT: 6, RESPONSES: 11, MESSAGES: 9, OLLAMA: 3}[path]
        got = one.ask(path, True, Dies(whole, after=after, silent=silent))
        if path == OLLAMA:  # its calls come whole
            return
        assert b"stopped in the middle of its answer" in got.body
        assert message(path, got, True).calls == ()
        assert b"Let" in got.body
    assert [one.fault for one in facts] == ["broken"]


def test_a_whole_call_of_a_server_that_never_says_the_end_passes() -> None:
    with site() as one:
        whole = Answer([NativeCall("weather", '{"city": "Bern"}', pieces=6)])
        got = one.ask(CHAT, True, Dies(whole, after=5, silent=True))
        assert calls(CHAT, got, True) == BERN


# ── what only a client stumbles over ─────────────────────────────────────────────────────────────────────────────────


@every("stream", [False, True])
@every("path", [CHAT, RESPONSES, MESSAGES])
@every("retry", [0, 1])
def test_two_calls_of_one_id_are_told_apart(path: str, stream: bool, retry: int) -> None:
    both = [NativeCall("weather", {"city": "Bern"}, "c1"), NativeCall("weather", {"city": "Chur"}, "c1")]
    with site(retry=retry) as one:
        found = message(path, one.ask(path, stream, Answer(list(both))), stream).calls
        assert found[0].id == "c1"
        assert len({call.id for call in found}) == 2
        assert [record.rule for record in one.records()][::-1] == ["proxy:right", "proxy:repaired"]


@every("stream", [False, True])
@every("observe", [False, True])
def test_arguments_that_are_an_object_become_the_text_that_clients_of_this_api_read(
    stream: bool, observe: bool
) -> None:
    given = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": {"city": "Bern"}}}
    with site(observe=observe) as one:
        if stream:
            pieces = [chunk({"tool_calls": [{"index": 0, **given}]}), chunk({}, "tool_calls"), b"data: [DONE]\n\n"]
            raw = Raw(b"".join(pieces), content_type="text/event-stream")
        else:
            said = {"role": "assistant", "content": None, "tool_calls": [given]}
            answer = {"choices": [{"index": 0, "message": said, "finish_reason": "tool_calls"}]}
            raw = Raw(json.encode(answer))
        (call,) = message(CHAT, one.ask(CHAT, stream, raw), stream).calls
        assert call.arguments == ({"city": "Bern"} if observe else '{"city":"Bern"}')


def test_a_call_of_twenty_megabytes_is_recorded_beside_others() -> None:
    with site() as one:
        parts = [NativeCall("weather", {"city": "x" * 10_000_000, "days": 3}) for _ in range(2)]
        one.ask(CHAT, False, Answer([*parts, RIGHT]))
        records = one.records()
        assert [record.rule for record in records] == ["proxy:right", "proxy:left", "proxy:left"]  # they are too long
        assert all(len(json.encode(record.emission)) < 100_000 for record in records[1:])
