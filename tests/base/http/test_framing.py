"""Events are cut out of a stream without losing a byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.http import addresses
from rightcall.base.http.addresses import JsonLines, ServerSentEvents, TooLong, payload

pytestmark = pytest.mark.promise("H-03")

lines = st.lists(st.sampled_from([b"data: {}", b"event: x", b": note", b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n"]))


@given(lines.map(b"".join), st.lists(st.integers(1, 9)), st.sampled_from([ServerSentEvents, JsonLines]))
def test_events_and_the_rest_are_all_that_came_however_it_was_cut(data: bytes, sizes: list[int], kind: type) -> None:
    whole, cut = kind(), kind()
    expected = [*whole.feed(data)]
    got: list[bytes] = []
    at = 0
    for size in sizes:
        got += cut.feed(data[at : at + size])
        at += size
    got += cut.feed(data[at:])
    assert got == expected
    assert b"".join(got) + cut.rest() == data


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_every_way_to_end_a_line_ends_an_event(end: bytes) -> None:
    framing = ServerSentEvents()
    events = framing.feed(b"data: 1" + end + b"data: 2" + end + b"data: 3")
    assert [payload(event) for event in events] == [b"1", b"2"]


def test_data_of_several_lines_is_one_text() -> None:
    assert payload(b"event: x\ndata: a\ndata:b\nid: 1\n\n") == b"a\nb"


@pytest.mark.parametrize("kind", [ServerSentEvents, JsonLines])
def test_an_event_that_does_not_end_is_refused_and_costs_no_more_than_its_bytes(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "MOST", 100_000)
    cutter = kind()
    for _ in range(100_000):
        cutter.feed(b"x")
    with pytest.raises(TooLong):
        cutter.feed(b"x")
