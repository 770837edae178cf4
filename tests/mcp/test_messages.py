"""JSON-RPC messages are read without loss."""

import pytest
from msgspec import Raw

from rightcall.mcp.messages import (
    HANDSHAKE,
    Peer,
    changed,
    envelope,
    failure,
    identity,
    outcome_of,
    peer_of_handshake,
    peer_of_request,
    read,
    read_batch,
    tool_call,
)
from support.every import every

pytestmark = pytest.mark.promise("H-04")


def test_what_is_not_changed_keeps_its_bytes() -> None:
    sent = b'{"z":1.50,"params":{"a":1e2,"name":"x","s":"\\u00e4","gone":1},"id":007e0}'.replace(b"007e0", b"7e0")
    assert changed(sent, {"name": "y", "new": 1}, without=("gone", "absent")) == (
        b'{"z":1.50,"params":{"a":1e2,"name":"y","s":"\\u00e4","new":1},"id":7e0}'
    )


@every("line", [b"", b"x", b"[]", b"5", b'"a"', b"{", b'{"id":1', b"[" * 5000, b'{"a":' * 5000])
def test_what_is_no_message_is_none(line: bytes) -> None:
    assert read(line) is None
    assert tool_call(line) is None


@every("line", [b"", b"x", b"{}", b"5", b"[1", b"[" * 5000])
def test_what_is_no_batch_is_none(line: bytes) -> None:
    assert read_batch(line) is None


@every(("raw", "known"), [(b"1", 1), (b'"1"', "1"), (b"1.5", 1.5), (b"null", None), (b"true", None), (b"[1]", None)])
def test_an_id_is_a_text_or_a_number(raw: bytes, known: object) -> None:
    assert identity(Raw(raw)) == known


def test_a_key_that_stands_twice_is_noticed_where_it_stands() -> None:
    inside = tool_call(b'{"params":{"name":"a","arguments":{"x":1,"x":2}}}')
    outside = tool_call(b'{"params":{"name":"a","name":"b","arguments":{"x":1}}}')
    assert inside is not None
    assert (inside.arguments, inside.ambiguous) == ('{"x":1,"x":2}', False)
    assert outside is not None
    assert (outside.arguments, outside.ambiguous) == ({"x": 1}, True)


def test_an_error_without_an_id_says_null() -> None:
    assert failure(Raw(), -1, "no") == b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}'


@every(
    ("elicitation", "can"), [({}, True), ({"form": {}}, True), ({"form": {}, "url": {}}, True), ({"url": {}}, False),
                             (None, False), ("yes", False), ({"form": None}, False)],
)  # fmt: skip
def test_a_client_can_be_asked_when_it_shows_forms(elicitation: object, can: bool) -> None:
    assert peer_of_handshake({"capabilities": {"elicitation": elicitation}}).can_be_asked is can


def test_a_request_of_the_new_era_speaks_for_itself() -> None:
    known = Peer("2025-11-25", can_be_asked=True)
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": 1}
    assert peer_of_request(meta, known) == Peer("2026-07-28", stateless=True, can_be_asked=False)
    assert peer_of_request({"progressToken": 1}, known) is known
    assert envelope(meta) == {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    assert envelope({"progressToken": 1}) == {}


def test_an_unknown_client_is_taken_for_the_oldest() -> None:
    assert peer_of_handshake({"protocolVersion": 5}).version == HANDSHAKE[0]


@every(
    ("content", "summary"),
    [
        ('[{"type":"text","text":"done"}]', "done"),
        ('[{"type":"image","data":"x"},{"type":"text","text":"seen"}]', "seen"),
        ('[{"type":"image","data":"x"}]', "1 content block"),
        ('[{"type":"image"},{"type":"text","text":5}]', "2 content blocks"),
        ("[]", ""), ('"text"', ""), ("[5]", ""), ("null", ""),
    ],
)  # fmt: skip
def test_a_result_is_told_by_its_text_or_by_how_much_there_is(content: str, summary: str) -> None:
    found = outcome_of(Raw(f'{{"content":{content}}}'.encode()), None)
    assert (found.ok, found.summary, found.error) == (True, summary, None)
    failed = outcome_of(Raw(f'{{"isError":true,"content":{content}}}'.encode()), None)
    assert (failed.ok, failed.error) == (False, summary or "It failed.")


def test_a_long_result_is_told_by_its_size_and_one_without_content_by_nothing() -> None:
    long = outcome_of(Raw(b'{"content":[{"type":"text","text":"' + b"x" * 3_000_000 + b'"}]}'), None)
    assert long.summary == "3,000,027 bytes"
    assert outcome_of(Raw(b'{"structuredContent":{"a":1}}'), None).summary == ""


@every(
    ("result", "error", "told"),
    [
        (None, b'{"code":1,"message":"no such tool"}', "no such tool"),
        (None, b'{"code":1,"message":7}', "The server reported an error."),
        (None, b'"x"', "The server reported an error."),
        (b"[1]", None, "The server's answer is not a result."),
        (None, None, "The server's answer is not a result."),
    ],
)
def test_a_response_that_is_no_result_is_a_failure_in_words(
    result: bytes | None, error: bytes | None, told: str
) -> None:
    found = outcome_of(None if result is None else Raw(result), None if error is None else Raw(error))
    assert (found.ok, found.error) == (False, told)


def test_a_server_that_asks_for_input_has_not_failed_unless_it_says_so() -> None:
    assert outcome_of(Raw(b'{"resultType":"input_required"}'), None).asks
    both = outcome_of(Raw(b'{"resultType":"input_required","isError":true}'), None)
    assert (both.ok, both.asks) == (False, False)
