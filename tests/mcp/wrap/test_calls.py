"""What `wrap` does with calls: repaired, refused, held until the tools are known."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from rightcall.executor.door import Door
from support.every import every
from support.wrapping import ASKING, MODERN, TOOLS, Wrapped, call, line, result

pytestmark = pytest.mark.promise("H-04")

LISTED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def test_a_wrong_argument_name_is_repaired_and_nothing_else_is_touched(wrapped: Wrapped) -> None:
    sent = (
        b'{"id":"x","jsonrpc":"2.0","method":"tools/call","extra":1.50,'
        b'"params":{"_meta":{"progressToken":1e3},"name":"readFile","arguments":{"file":"a","limit":"3"},"more":[1.0]}}\n'
    )
    wrapped.client(sent)
    written, repaired = (
        b'"readFile","arguments":{"file":"a","limit":"3"}',
        b'"read_file","arguments":{"path":"a","limit":3}',
    )
    assert wrapped.server_got == [sent.replace(written, repaired)]
    assert repaired in wrapped.server_got[0]


def test_a_missing_field_is_refused_with_a_hint(wrapped: Wrapped) -> None:
    wrapped.client(call(1, "read_file", {}))
    assert wrapped.server_got == []
    assert wrapped.refusal == '⚠️ Invalid read_file call. Missing required fields: path. Example: {"path": "<path>"}'
    assert "resultType" not in wrapped.told[0]["result"]


def test_a_refusal_in_the_new_era_is_complete(wrapped: Wrapped) -> None:
    wrapped.client(call(1, "read_file", {}, _meta=MODERN))
    assert wrapped.told[0]["result"]["resultType"] == "complete"


def test_a_refused_task_is_an_error_since_its_client_expects_no_result(wrapped: Wrapped) -> None:
    wrapped.client(call(1, "read_file", {}, task={"ttl": 5}))
    assert "path" in wrapped.told[0]["error"]["message"]


def test_arguments_as_text_are_read(wrapped: Wrapped) -> None:
    wrapped.client(call(1, "read_file", "{'path': 'a'}"))
    assert wrapped.asked[0]["params"]["arguments"] == {"path": "a"}


def test_an_unknown_tool_is_left_to_the_server(wrapped: Wrapped) -> None:
    sent = line(call(1, "make_coffee", {"sugar": 2}))
    wrapped.client(sent)
    assert wrapped.server_got == [sent]


def test_a_denied_tool_is_refused_by_either_of_its_names() -> None:
    for rule in ("delete_file", "files/delete_file"):
        with Door.open("wrap", {"policy": {"deny": [rule]}}) as door:
            wrapped = Wrapped(door)
            wrapped.client(call(1, "delete_file", {"path": "a"}))
            assert wrapped.server_got == []
            assert "delete_file" in wrapped.refusal


def test_observing_changes_nothing_and_notes_what_would_have_been() -> None:
    with Door.open("wrap", mode="observe") as door:
        wrapped = Wrapped(door)
        sent = line(call(1, "read_file", {"file": "a"}))
        wrapped.client(sent)
        assert wrapped.server_got == [sent]
        assert wrapped.records("begin")[0]["rule"] == "observe"


def test_warning_adds_the_hint_to_the_answer() -> None:
    with Door.open("wrap", mode="warn") as door:
        wrapped = Wrapped(door)
        wrapped.client(call(1, "read_file", {"limit": 3}))
        assert len(wrapped.server_got) == 1
        wrapped.server(result(1, {"content": [{"type": "text", "text": "no path"}], "isError": True, "x": 1}))
        told = wrapped.told[0]["result"]
        assert told["content"][0]["text"] == "no path"
        assert "Missing required fields: path" in told["content"][1]["text"]
        assert (told["isError"], told["x"]) == (True, 1)


class TestHeld:
    @pytest.fixture
    def early(self) -> Iterator[Wrapped]:
        """Nothing has been listed yet."""
        with Door.open("wrap") as door:
            yield Wrapped(door, listed=False)

    def test_a_call_before_any_list_waits_until_the_server_was_asked(self, early: Wrapped) -> None:
        early.client(call(1, "read_file", {"file": "a"}))
        early.client({"jsonrpc": "2.0", "id": 2, "method": "ping"})
        asked = early.asked
        assert [one["method"] for one in asked] == ["tools/list", "ping"]
        early.server(result(asked[0]["id"], {"tools": TOOLS}))
        assert early.asked[2]["params"]["arguments"] == {"path": "a"}
        assert early.client_got == []

    def test_it_is_asked_in_the_clients_own_era(self, early: Wrapped) -> None:
        early.client(call(1, "read_file", {"file": "a"}, _meta={**MODERN, "progressToken": 3}))
        assert early.asked[0]["params"] == {"_meta": MODERN}

    def test_all_pages_are_fetched(self, early: Wrapped) -> None:
        early.client(call(1, "delete_file", {"file": "a"}))
        early.server(result(early.asked[0]["id"], {"tools": TOOLS[:1], "nextCursor": "p2"}))
        second = early.asked[1]
        assert second["params"] == {"cursor": "p2"}
        early.server(result(second["id"], {"tools": TOOLS[1:]}))
        assert early.asked[2]["params"] == {"name": "delete_file", "arguments": {"path": "a"}}

    def test_pages_without_end_end(self, early: Wrapped) -> None:
        early.client(call(1, "read_file", {"file": "a"}))
        for number in range(200):
            last = early.asked[-1]
            if last["method"] != "tools/list":
                break
            early.server(result(last["id"], {"tools": TOOLS, "nextCursor": f"p{number}"}))
        assert early.asked[-1]["params"]["arguments"] == {"path": "a"}
        assert len(early.asked) == 101

    @pytest.mark.promise("X-07")
    def test_a_server_that_gives_no_list_costs_the_wait_once(self, early: Wrapped) -> None:
        sent = line(call(1, "read_file", {"file": "a"}))
        early.client(sent)
        early.ends.time_passes()
        again = line(call(2, "read_file", {"file": "a"}))
        early.client(again)
        assert early.server_got[1:] == [sent, again]

    def test_a_list_that_comes_too_late_is_still_learned_and_not_shown(self, early: Wrapped) -> None:
        early.client(call(1, "read_file", {"file": "a"}))
        listing = early.asked[0]["id"]
        early.ends.time_passes()
        early.server(result(listing, {"tools": TOOLS}))
        early.server(result(listing, {"tools": TOOLS}))
        early.client(call(2, "read_file", {"file": "a"}))
        assert early.client_got == []
        assert early.asked[-1]["params"]["arguments"] == {"path": "a"}

    def test_an_error_instead_of_a_list_lets_the_call_pass(self, early: Wrapped) -> None:
        early.client(call(1, "read_file", {"file": "a"}))
        error = {"code": -32601, "message": "Method not found"}
        early.server({"jsonrpc": "2.0", "id": early.asked[0]["id"], "error": error})
        assert early.asked[1] == call(1, "read_file", {"file": "a"})
        assert early.client_got == []

    def test_a_changed_list_is_asked_for_anew(self, wrapped: Wrapped) -> None:
        wrapped.server(LISTED)
        wrapped.forget()
        wrapped.client(call(1, "read_file", {"file": "a"}))
        assert [one["method"] for one in wrapped.asked] == ["tools/list"]
        wrapped.server(LISTED)  # and once more, while it is being told
        wrapped.server(result(wrapped.asked[0]["id"], {"tools": TOOLS}))
        assert wrapped.asked[1]["method"] == "tools/list"
        wrapped.server(result(wrapped.asked[1]["id"], {"tools": TOOLS}))
        assert wrapped.asked[2]["params"]["arguments"] == {"path": "a"}

    def test_the_first_page_alone_is_no_list(self, early: Wrapped) -> None:
        early.client({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        early.server(result(1, {"tools": TOOLS[:1], "nextCursor": "more"}))
        early.client(call(2, "delete_file", {"file": "a"}))
        assert early.asked[1]["method"] == "tools/list"

    def test_pages_that_the_client_asks_for_are_put_together(self, early: Wrapped) -> None:
        early.client({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        early.server(result(1, {"tools": TOOLS[:1], "nextCursor": "more"}))
        early.client({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"cursor": "more"}})
        early.server(result(2, {"tools": TOOLS[1:]}))
        early.forget()
        for number, name in enumerate(("read_file", "delete_file")):
            early.client(call(number, name, {"file": "a"}))
        assert [one["params"]["arguments"] for one in early.asked] == [{"path": "a"}] * 2

    def test_a_held_call_that_is_cancelled_never_reaches_the_server(self, early: Wrapped) -> None:
        early.client(call(1, "read_file", {"path": "a"}))
        early.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        early.server(result(early.asked[0]["id"], {"tools": TOOLS}))
        assert [one["method"] for one in early.asked] == ["tools/list"]
        assert early.client_got == []


@pytest.mark.promise("H-33")
def test_a_cancelled_call_is_recorded_as_cancelled_and_not_answered(wrapped: Wrapped) -> None:
    wrapped.client(call(1, "read_file", {"path": "a"}))
    cancel = line({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    wrapped.client(cancel)
    assert wrapped.server_got[1:] == [cancel]
    wrapped.server(result(1, {"content": []}))
    assert wrapped.client_got == []
    assert [end["status"] for end in wrapped.records("end")] == ["failed"]


@pytest.mark.promise("H-33")
@pytest.mark.parametrize("again", [call(1, "read_file", {"path": "b"}), {"id": 1, "method": "ping"}])
def test_an_id_that_was_cancelled_and_is_used_again_is_answered(wrapped: Wrapped, again: dict[str, Any]) -> None:
    wrapped.client(call(1, "read_file", {"path": "a"}))
    wrapped.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    wrapped.client(again)
    wrapped.server(result(1, {"content": []}))
    wrapped.server(result(1, {"content": []}))  # a second answer passes, as it always has
    assert len(wrapped.client_got) == 2


@pytest.mark.promise("H-33")
def test_a_cancelled_call_is_not_answered_with_what_is_too_long_to_be_read(wrapped: Wrapped) -> None:
    wrapped.client(call(1, "read_file", {"path": "a"}))
    assert not wrapped.between.is_for_us(b'{"id":1,"result":')
    wrapped.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert wrapped.between.is_for_us(b'{"id":1,"result":')
    wrapped.between.passes_unread(b'{"id":1,"result":', b"}}", 9_000_000)
    assert not wrapped.between.is_for_us(b'{"id":1,"result":')


@pytest.mark.promise("X-07")
def test_calls_of_a_server_that_ends_are_answered_with_errors(wrapped: Wrapped) -> None:
    wrapped.client(call(1, "read_file", {"path": "a"}))
    wrapped.client(call("b", "read_file", {"path": "b"}))
    wrapped.between.calls.server_gone("gone")
    assert [(one["id"], one["error"]["message"]) for one in wrapped.told] == [(1, "gone"), ("b", "gone")]
    assert [end["status"] for end in wrapped.records("end")] == ["failed", "failed"]


SMUGGLED = [
    # a second reading: the first of two keys, another spelling, another notion of JSON or of lines
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_file","name":"read_file","arguments":{"path":"a"}}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping","params":{"name":"delete_file","arguments":{"path":"a"}}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools\\/call","params":{"name":"delete_file","arguments":{"path":"a"}}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_file","arguments":{"path":"a","x":NaN}}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"tools\\u002fc\\u0061ll","params":{"name":"delete_file","arguments":{"path":"a"},}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"t\\u006fols/c\\u0061ll","params":{"name":"delete_file","arguments":{"path":"a"}}}\n',
    b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_file","arguments":{"path":"a"}}}\n',
    b'{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"delete_file","arguments":{"path":"a"}}}\n',
    b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_file","arguments":{"path":"a"}}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["delete_file",{"path":"a"}]}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["delete_file"],"arguments":{"path":"a"}}}\n',
    b'[[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_file","arguments":{"path":"a"}}}]]\n',
    b'[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_file","arguments":{"path":"a"}}}]\n',
    # capitals do not count
    b'{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"delete_file","arguments":{"path":"a"}}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call","params":{"name":"delete_file","arguments":{"path":"a"}}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"delete_file","arguments":{"path":"a"}}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"},"Name":"delete_file"}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}},"Params":{"name":"delete_file"}}\n',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}},"param\u017f":{"name":"delete_file"}}\n'.encode(),
    b'[{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"delete_file","arguments":{"path":"a"}}}]\n',
    # another encoding, which a server may guess
    *(
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_file","arguments":{"path":"a"}}}'.encode(
            how
        )
        for how in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be")
    ),
    b'{"jsonrpc":"2.0","id":1,"method":"tools/c\x00all","params":{"name":"delete_file","arguments":{"path":"a"}}}\n',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","x":"\xff","params":{"name":"delete_file","arguments":{"path":"a"}}}\n',
]


@pytest.mark.promise("P-01")
@every("sent", SMUGGLED)
def test_a_denied_call_does_not_slip_through_in_another_spelling(sent: bytes) -> None:
    with Door.open("wrap", {"policy": {"deny": ["delete_file"]}}) as door:
        wrapped = Wrapped(door)
        wrapped.client(sent)
        assert wrapped.server_got == []


@pytest.mark.promise("P-01")
def test_a_carriage_return_inside_a_message_cannot_make_two_of_it(wrapped: Wrapped) -> None:
    inner = line(call(2, "delete_file", {"path": "a"})).strip()
    wrapped.client(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":\r' + inner + b"\r}\r\n")
    (passed,) = wrapped.server_got
    assert b"\r" not in passed.removesuffix(b"\r\n")
    wrapped.client(line({"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {"x": "a\u2028b\u2029c\u0085d"}}))
    assert wrapped.server_got[-1].isascii()


def test_an_unreadable_call_is_answered_under_its_id(wrapped: Wrapped) -> None:
    wrapped.client(b'{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{"x":NaN}}\n')
    assert [(one["id"], one["error"]["code"]) for one in wrapped.told] == [(41, -32700)]


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (SMUGGLED[0], "a key of this tools/call appears twice"),
        (SMUGGLED[13], "the key `Method`"),
        (SMUGGLED[16], "only in capitals"),
        (SMUGGLED[20], "UTF-8"),
    ],
)
def test_who_sends_a_message_that_can_be_misread_is_told_why_it_did_not_pass(
    wrapped: Wrapped, sent: bytes, why: str
) -> None:
    wrapped.client(sent)
    assert why in wrapped.told[0]["error"]["message"]


@pytest.mark.promise("A-01")
def test_a_call_that_can_be_read_in_two_ways_is_recorded_without_either(wrapped: Wrapped) -> None:
    wrapped.client(SMUGGLED[16])
    (refused,) = wrapped.records("refused")
    assert (refused["tool"], refused["params"], refused["rule"]) == ("files/read_file", {}, "validation")
    wrapped.client(SMUGGLED[16].replace(b"read_file", b"hunter2"))
    assert "hunter2" not in str(wrapped.records("refused"))


@pytest.mark.promise("A-01")
def test_a_number_beyond_all_bounds_is_named_and_the_refusal_recorded(wrapped: Wrapped) -> None:
    wrapped.client(
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
        b'{"name":"read_file","arguments":{"path":"a","limit":1e400}}}\n'
    )
    assert "`limit` must be a finite number" in wrapped.refusal
    assert [one["tool"] for one in wrapped.records("refused")] == ["files/read_file"]


def test_an_id_that_is_in_use_is_not_taken_by_a_second_call() -> None:
    with Door.open("wrap", ASKING) as door:
        early = Wrapped(door, listed=False)
        early.greet(elicitation={})
        early.client(call(1, "read_file", {"path": "a"}))
        early.client(call(1, "read_file", {"path": "b"}))
        (told,) = early.told
        assert "in use" in told["error"]["message"]
        early.server(result(early.asked[0]["id"], {"tools": TOOLS}))
        assert early.asked[1] == call(1, "read_file", {"path": "a"})
        early.forget()
        early.client(call(2, "delete_file", {"path": "a"}))
        early.client(call(2, "delete_file", {"path": "b"}))
        question, told = early.told
        assert "in use" in told["error"]["message"]
        early.client(result(question["id"], {"action": "accept", "content": {"ok": True}}))
        assert early.asked == [call(2, "delete_file", {"path": "a"})]


class _Faulty:
    """A door with a fault of ours."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def __getattr__(self, name: str) -> Any:
        if name in ("judge", "ended"):
            raise RuntimeError("a fault")
        return getattr(self._door, name)


@pytest.mark.promise("X-07")
def test_an_error_of_ours_ends_the_call_and_nothing_else(wrapped: Wrapped) -> None:
    wrapped.client(call(1, "read_file", {"path": "a"}))
    wrapped.between.calls._door = cast("Door", _Faulty(wrapped.door))
    wrapped.client(call(2, "read_file", {"path": "a"}))
    back = line(result(1, {"content": []}))
    wrapped.server(back)
    assert len(wrapped.server_got) == 1
    assert wrapped.told[0] == {
        "jsonrpc": "2.0",
        "id": 2,
        "error": {"code": -32603, "message": "the call could not be checked"},
    }
    assert wrapped.client_got[1:] == [back]


@pytest.mark.parametrize("answered", ["foo", 7, [], None])
def test_a_result_that_is_no_object_passes_and_is_recorded_as_failed(wrapped: Wrapped, answered: Any) -> None:
    wrapped.client(call(1, "read_file", {"path": "a"}))
    sent = line({"jsonrpc": "2.0", "id": 1, "result": answered})
    wrapped.server(sent)
    wrapped.door.store.transact(lambda _: None)
    assert wrapped.client_got == [sent]
    (end,) = wrapped.records("end")
    assert (end["status"], end["error"]) == ("failed", "The server's answer is not a result.")
