"""Lines are handed over whole up to a limit, longer ones in pieces; nothing is lost, and memory stays bounded."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.mcp.wrap.process import CHUNK, Output, id_of, parts
from support.every import every

pytestmark = pytest.mark.promise("X-07")


@contextmanager
def pipe(data: bytes = b"") -> Iterator[tuple[int, int]]:
    """Its reading end, and its writing end, into which `data` goes, and then its end."""
    source, target = os.pipe()
    writer = threading.Thread(target=lambda: (Output(target).send(data), os.close(target)))
    if data:
        writer.start()
    try:
        yield source, target
    finally:
        os.close(source)
        if data:
            writer.join()
        else:
            os.close(target)


@settings(max_examples=30)
@given(st.lists(st.binary(max_size=50).map(lambda data: data.replace(b"\n", b"")), min_size=1), st.integers(1, 60))
def test_the_parts_together_are_what_came(lines: list[bytes], most: int) -> None:
    data = b"\n".join([*lines, b"."])
    with pipe(data) as (source, _):
        found = list(parts(source, most))
    assert b"".join(piece for _, piece in found) == data
    assert all(piece.endswith(b"\n") == (part in ("line", "tail")) for part, piece in found)


def test_a_line_far_over_the_limit_comes_in_small_pieces() -> None:
    with pipe(b"x" * 5_000_000 + b"\nnext\n") as (source, _):
        sizes = [(part, len(piece)) for part, piece in parts(source, 100_000)]
    assert [part for part, _ in sizes if part not in ("middle",)] == ["head", "tail", "line"]
    assert max(size for _, size in sizes) <= 100_000 + CHUNK


def test_half_a_line_at_the_end_is_said_to_be_half() -> None:
    with pipe(b'{"a":1}\n{"b"') as (source, _):
        assert list(parts(source, 100)) == [("line", b'{"a":1}\n'), ("rest", b'{"b"')]


def test_nothing_is_sent_into_the_middle_of_a_line() -> None:
    with pipe() as (source, target):
        output = Output(target)
        output.piece(b"one ")
        output.send(b"ours\n")
        output.piece(b"two ")
        output.last(b"three\n")
        assert os.read(source, 100) == b"one two three\nours\n"


def test_a_line_that_never_ends_gets_an_end_before_what_follows() -> None:
    with pipe() as (source, target):
        output = Output(target)
        output.piece(b"one ")
        output.send(b"ours\n")
        output.half(b"")
        output.half(b"half")
        output.half(b"")
        assert os.read(source, 100) == b"one \nours\nhalf\n"


def test_a_closed_output_writes_no_more_whatever_its_number_means_by_now() -> None:
    with pipe() as (source, target):
        output = Output(target)
        assert output.close(1.0)
        with pytest.raises(OSError, match="Bad file descriptor"):
            output.send(b"x\n")
        os.set_blocking(source, False)
        with pytest.raises(BlockingIOError):
            os.read(source, 1)


@every(
    ("head", "tail", "found"),
    [
        (b'{"jsonrpc":"2.0","id":3,"result":{', b"", 3),
        (b' { "id" : "a\\"b" , "result":', b"", 'a"b'),
        (b'{"result":{"id":9,', b'"x"}]},"jsonrpc":"2.0","id":-4}\n', -4),
        (b'{"result":{"id":9,', b'"x"}', None),
        (b'[{"id":9', b'}]', None),
        (b"", b"", None),
    ],
)  # fmt: skip
def test_the_id_of_a_message_that_is_not_read(head: bytes, tail: bytes, found: object) -> None:
    assert id_of(head, tail) == found
