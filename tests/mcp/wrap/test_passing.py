"""Everything that is no call passes `wrap` as the very bytes it came as."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.executor.door import Door
from support.wrapping import TOOLS, Wrapped, call, line, result

pytestmark = pytest.mark.promise("H-04")

PASSING = [
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
    b'{ "jsonrpc" : "2.0", "id": "a", "method": "resources/read", "params": {"uri":"x:\\u002f", "n": 1.0e2} }\n',
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.50}}\n',
    b'{"jsonrpc":"2.0","id":7,"result":{"role":"assistant","content":{"type":"text","text":"I call tools"}}}\n',
    b'{"jsonrpc":"2.0","id":8,"error":{"code":-1,"message":"no"}}\n',
    b'{"id":9,"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{}}}\n',
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"}, {"jsonrpc":"2.0","method":"notifications/x"}]\r\n',
    b"[]\n",
    b"\n",
    b"   \n",
    b"12\n",
    b'{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"x":12345678901234567890}}}\n',
    b"what is this?\n",
    b'{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"arguments":{"path":"a"},"name":"read_file","z":1e1}}\n',
]


@pytest.mark.parametrize("sent", PASSING)
def test_a_line_of_the_client_passes_as_it_is(wrapped: Wrapped, sent: bytes) -> None:
    wrapped.client(sent)
    assert wrapped.server_got == [sent]
    assert wrapped.client_got == []


@pytest.mark.parametrize("sent", [*PASSING, b"half a li\xff\xfene\n", b'{"jsonrpc":"2.0","id":1,"result":{"x":NaN}}\n'])
def test_a_line_of_the_server_passes_as_it_is(wrapped: Wrapped, sent: bytes) -> None:
    wrapped.server(sent)
    assert wrapped.client_got == [sent]
    assert wrapped.server_got == []


def test_a_right_call_and_its_answer_pass_as_they_are(wrapped: Wrapped) -> None:
    sent = line(call(1, "read_file", {"path": "a", "limit": 3}, _meta={"progressToken": 5}))
    back = b'{ "jsonrpc":"2.0", "id":1 ,"result":{"content":[{"type":"text","text":"hi"}], "x":1.50}}\n'
    wrapped.client(sent)
    wrapped.server(back)
    assert (wrapped.server_got, wrapped.client_got) == ([sent], [back])


def test_a_list_of_tools_passes_while_it_is_learned(wrapped: Wrapped) -> None:
    wrapped.client({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})
    back = b'{"id":3, "jsonrpc":"2.0","result":{"tools":[]}}\n'
    wrapped.server(back)
    assert wrapped.client_got == [back]


def test_a_batch_of_right_calls_passes_as_it_is(wrapped: Wrapped) -> None:
    sent = b"[" + line(call(1, "read_file", {"path": "a"})).strip() + b' , {"jsonrpc":"2.0","id":2,"method":"ping"}]\n'
    wrapped.client(sent)
    assert wrapped.server_got == [sent]
    answers = line([result(1, {"content": []}), result(2, {})])
    wrapped.server(answers)
    assert wrapped.client_got == [answers]
    assert len(wrapped.records("end")) == 1


def test_of_a_batch_only_what_may_run_goes_on(wrapped: Wrapped) -> None:
    ping = {"jsonrpc": "2.0", "id": 3, "method": "ping"}
    wrapped.client([call(1, "read_file", {}), call(2, "read_file", {"file": "a"}), ping])
    (left,) = wrapped.asked
    assert left == [call(2, "read_file", {"path": "a"}), ping]
    assert wrapped.told[0]["id"] == 1
    assert "path" in wrapped.refusal


@pytest.mark.parametrize("id", [0, 7, -1, "7", "", "ä", 1.5])
def test_an_answer_of_ours_keeps_the_id(wrapped: Wrapped, id: object) -> None:
    wrapped.client(call(id, "read_file", {}))
    assert [(type(one["id"]), one["id"]) for one in wrapped.told] == [(type(id), id)]


def test_a_second_answer_passes_too_and_is_recorded_once(wrapped: Wrapped) -> None:
    wrapped.client(call(1, "read_file", {"path": "a"}))
    back = line(result(1, {"content": [{"type": "text", "text": "hi"}]}))
    wrapped.server(back)
    wrapped.server(back)
    assert wrapped.client_got == [back, back]
    assert [end["status"] for end in wrapped.records("end")] == ["success"]


@given(st.binary(max_size=60).filter(lambda data: b"\n" not in data))
def test_no_line_whatever_it_holds_raises(data: bytes) -> None:
    with Door.open("wrap") as door:
        wrapped = Wrapped(door)
        wrapped.server(data + b"\n")
        wrapped.client(data + b"\n")
        assert wrapped.client_got[:1] == [data + b"\n"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.sampled_from(["read_file", "tools/call"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "arguments", "x"]), inner),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries(
        {}, optional={"jsonrpc": st.just("2.0"), "id": _JSON, "method": st.just("tools/call") | _JSON, "params": _JSON}
    )
)
def test_no_message_whatever_its_shape_raises_and_none_is_lost_without_a_word(message: dict[str, object]) -> None:
    with Door.open("wrap") as door:
        wrapped = Wrapped(door)
        wrapped.client(message)
        silent = message.get("method") == "tools/call" and "id" not in message
        assert len(wrapped.server_got) + len(wrapped.client_got) == (0 if silent else 1)


def test_tools_that_are_no_tools_are_not_learned_and_harm_nothing(wrapped: Wrapped) -> None:
    for number, tools in enumerate([None, 5, [None, 3, {"name": 4}, {}], {"a": 1}, [*TOOLS, {"inputSchema": []}]]):
        wrapped.client({"jsonrpc": "2.0", "id": f"l{number}", "method": "tools/list"})
        wrapped.server(result(f"l{number}", {"tools": tools}))
    wrapped.forget()
    wrapped.client(call(1, "read_file", {"file": "a"}))
    assert [one["params"]["arguments"] for one in wrapped.asked] == [{"path": "a"}]


def test_the_record_tells_what_came_of_a_call(wrapped: Wrapped) -> None:
    wrapped.client(call(1, "read_file", {"path": "a"}))
    wrapped.server({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "out of order"}})
    wrapped.client(call(2, "read_file", {"path": "b"}))
    wrapped.server(result(2, {"content": [{"type": "text", "text": "no such file"}], "isError": True}))
    wrapped.client(call(3, "read_file", {"path": "c"}))
    wrapped.server(result(3, {"content": [{"type": "text", "text": "here"}]}))
    ends = wrapped.records("end")
    assert [end["status"] for end in ends] == ["failed", "failed", "success"]
    assert ["out of order" in str(ends[0]), "no such file" in str(ends[1]), "here" in str(ends[2])] == [True] * 3
    assert [begin["tool"] for begin in wrapped.records("begin")] == ["files/read_file"] * 3
