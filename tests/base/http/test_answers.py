"""Answers read without a connection: however they are cut, and beside the parser of llhttp."""

from typing import Any

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.http import answers as module
from rightcall.base.http.answers import Answer, Broken, JsonLines, ServerSentEvents, TooLong, payload
from support.every import every
from support.raw_server import answer, chunked

MOST = 64_000


def read(pieces: list[bytes], *, end: bool = True) -> tuple[Any, ...]:
    """All that is known of an answer, or the fault."""
    one = Answer(MOST)
    try:
        body = b"".join(one.feed(piece) for piece in pieces)
        if end:
            one.end()
    except Broken as wrong:
        return (wrong.fault,)
    return one.status, one.reason, one.headers, one.announced, one.is_complete, one.can_stay, body


class Theirs:
    """The same answer, read by httptools."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""
        self.is_complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.is_complete = True


names = st.sampled_from([b"x-a", b"Content-Type", b"Set-Cookie", b"ETag", b"x!#$%&'*+.^_`|~-9"])
values = st.binary(max_size=12).map(lambda raw: bytes(one for one in raw if 32 < one < 127))
fields = st.lists(st.builds(lambda name, value: name + b": " + value, names, values), max_size=4)
bodies = st.lists(st.binary(min_size=1, max_size=30), max_size=4)


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    lines, body = draw(fields), draw(bodies)
    before = draw(st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n"]))
    if draw(st.booleans()):
        head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n" + b"".join(line + b"\r\n" for line in lines)
        return before + head + b"\r\n" + chunked(*body).partition(b"\r\n\r\n")[2]
    return before + answer(b"".join(body), *lines)


@given(answers(), st.data())
def test_however_an_answer_is_cut_it_is_the_same(wire: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(wire)), max_size=8)))
    pieces = [wire[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(wire)], strict=True)]
    whole = read([wire])
    assert whole[4:6] == (True, True)
    assert read(pieces) == whole == read([bytes([one]) for one in wire])


@given(answers())
def test_an_answer_means_what_it_means_to_others(wire: bytes) -> None:
    theirs = Theirs()
    parser = httptools.HttpResponseParser(theirs)
    parser.feed_data(wire.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n"))
    assert theirs.is_complete
    status, reason, headers, *_, body = read([wire])
    assert (status, reason, headers, body) == (parser.get_status_code(), b"OK", theirs.headers, theirs.body)


@given(st.binary(max_size=200), st.integers(0, 200), answers())
def test_bytes_in_a_wrong_place_are_a_fault_or_an_answer_and_never_an_error_of_ours(
    odd: bytes, at: int, wire: bytes
) -> None:
    hurt = wire[:at] + odd + wire[at:]
    whole = read([hurt])
    cut = read([bytes([one]) for one in hurt])
    assert len(whole) == len(cut)  # a fault either way, or none


@every(
    "line",
    [b"x y: 1", b": 1", b"x", b"x : 1", b" folded: 1", b"x: a\rb", b"x: a\0b", b"x\xe9: 1", b"x: 1\r", b"x: \x1b[1m"],
)
def test_a_line_that_others_could_read_otherwise_is_refused(line: bytes) -> None:
    for wire in (answer(b"hi", line), answer(b"hi", line).replace(b"\r\n", b"\n", 1)):
        (fault,) = read([wire])
        assert fault.code == "headers"


@pytest.mark.parametrize(
    ("line", "stays"),
    [(b"connection: Close", False), (b"connection: keep-alive", True), (b"connection: close\r\nconnection: x", False)],
)
def test_a_connection_lives_on_unless_the_server_ends_it(line: bytes, stays: bool) -> None:
    assert read([answer(b"hi", line)])[5] is stays
    assert read([answer(b"hi", line).replace(b"HTTP/1.1", b"HTTP/1.0")])[5] is (line == b"connection: keep-alive")


def test_a_length_beside_chunks_is_taken_away_and_the_connection_ends() -> None:
    wire = chunked(b"hello").replace(b"\r\n\r\n", b"\r\ncontent-length: 3\r\n\r\n", 1)
    assert read([wire])[2:] == ([(b"transfer-encoding", b"chunked")], None, True, False, b"hello")


def test_a_length_that_is_said_twice_is_said_once() -> None:
    assert read([answer(b"hi", b"content-length: 2", b"x: 1")])[2] == [(b"x", b"1"), (b"content-length", b"2")]


def test_lines_may_end_without_a_carriage_return() -> None:
    assert read([b"HTTP/1.1 200 OK\nx: 1\ncontent-length: 2\n\nhi"])[-1] == b"hi"
    assert read([b"HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n2\nhi\n0\n\n"])[-1] == b"hi"


def test_a_body_is_whole_when_its_last_chunk_came_even_where_no_trailers_do() -> None:
    assert read([chunked(b"hi", end=b"0\r\n")])[-3:] == (True, True, b"hi")
    assert read([chunked(b"hi", end=b"0")])[0].code == "half body"


lines = st.lists(st.sampled_from([b"data: {}", b"event: x", b": note", b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n"]))


@pytest.mark.promise("H-03")
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


@pytest.mark.promise("H-03")
@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_every_way_to_end_a_line_ends_an_event(end: bytes) -> None:
    framing = ServerSentEvents()
    events = framing.feed(b"data: 1" + end + b"data: 2" + end + b"data: 3")
    assert [payload(event) for event in events] == [b"1", b"2"]


@pytest.mark.promise("H-03")
def test_data_of_several_lines_is_one_text() -> None:
    assert payload(b"event: x\ndata: a\ndata:b\nid: 1\n\n") == b"a\nb"


@pytest.mark.promise("H-03")
@pytest.mark.parametrize("kind", [ServerSentEvents, JsonLines])
def test_an_event_that_does_not_end_is_refused_and_costs_no_more_than_its_bytes(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 100_000)
    cutter = kind()
    for _ in range(100_000):
        cutter.feed(b"x")
    with pytest.raises(TooLong):
        cutter.feed(b"x")
