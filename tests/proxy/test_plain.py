"""Events that are alike but for their text: they are known without being decoded, and never mistaken."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from rightcall.proxy.flow import Editor, Flow, PlainText
from rightcall.proxy.wires.common import Event
from rightcall.proxy.wires.openai_chat import OpenAIChatStream
from support.every import every
from support.wires.chat import chunk, settler

pytestmark = pytest.mark.promise("H-03", "R-09")

PIECES = (
    "Hello", " sky", "<tool_call>", '{"name": "weather", "arguments": {"city": "Bern"}}', "</tool_call>",
    "`", '"', "\\",
    "é", "\u2028", "\n", "", "content", "stop", "[1]", "weather",
)  # fmt: skip


class Unhurried(OpenAIChatStream):
    """The same wire, every event decoded."""

    text_alone = False


def learned(first: bytes) -> PlainText:
    wire = OpenAIChatStream()
    plain = PlainText(wire.read)
    plain.learn(wire.read(first))
    return plain


def event(delta: dict[str, Any], finish: str | None = None, index: int = 0) -> bytes:
    return chunk(delta, finish).replace(b'"index":0', b'"index":%d' % index)


def test_an_event_with_other_text_is_known_without_being_read() -> None:
    plain = learned(event({"content": "Hello"}))
    assert plain.text(event({"content": ' "sky" \\ é\n'})) == ' "sky" \\ é\n'


@every(
    "other",
    [
        event({"content": "Hello"}, finish="stop"),
        event({"content": "Hello", "tool_calls": []}),
        event({"role": "assistant", "content": "Hello"}),
        event({"content": "Hello"}).replace(b'"Hello"', b'"Hello","role":"user"'),
        event({"content": "Hello"}).replace(b'"Hello"', b"7"),
        event({"content": "Hello"}).replace(b'"Hello"', b'"\xff"'),
        event({"content": "Hello"}).replace(b'"Hello"', b'"'),
        b"",
    ],
)
def test_an_event_that_says_more_or_other_than_text_is_not_taken_for_one(other: bytes) -> None:
    assert learned(event({"content": "Hello"})).text(other) is None


def test_a_text_that_stands_first_in_another_place_teaches_nothing() -> None:
    twice = event({"token": "Hello", "content": "Hello"})
    assert learned(twice).text(twice) is None


def test_a_server_with_a_time_in_every_event_is_soon_left_alone() -> None:
    wire, read = OpenAIChatStream(), 0

    def counted(raw: bytes) -> Event:
        nonlocal read
        read += 1
        return wire.read(raw)

    plain = PlainText(counted)
    for number in range(100):
        raw = event({"content": f"word {number}", "at": number})
        assert plain.text(raw) is None
        plain.learn(wire.read(raw))
    assert read <= 8


@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from(PIECES)), max_size=20), st.booleans(), st.booleans())
def test_a_stream_leaves_as_it_would_if_every_event_were_decoded(
    pieces: list[tuple[int, str]], hold: bool, together: bool
) -> None:
    events = [event({"content": text}, index=answer) for answer, text in pieces]
    events += [event({}, index=answer, finish="stop") for answer in (0, 1)]
    quick, slow = (Editor(wire, Flow(settler(), hold=hold)) for wire in (OpenAIChatStream(), Unhurried()))
    fed = [b"".join(events)] if together else events
    for data in fed:
        assert _nameless(quick.feed(data)) == _nameless(slow.feed(data))
    assert _nameless(quick.close()) == _nameless(slow.close())
    assert len(quick.flow.did) == len(slow.flow.did)


def _nameless(out: bytes) -> bytes:
    """Without the random ids of calls that were lifted."""
    found: list[bytes] = []
    for one in out.split(b"\n\n"):
        data = json.decode(one[6:]) if one.startswith(b"data: {") else None
        if data is not None and b"call_" in one:
            for call in data["choices"][0]["delta"].get("tool_calls", ()):
                call["id"] = ""
            one = json.encode(data)
        found.append(one)
    return b"\n\n".join(found)
