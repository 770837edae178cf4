"""Nobody but the person who is asked can answer our questions: ids of ours are known to one side alone."""

from collections.abc import Callable

import pytest

from support.wrapping import TOOLS, Wrapped, call, line, result

pytestmark = pytest.mark.promise("P-06", "H-04")

YES = {"action": "accept", "content": {"ok": True}}
FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
CATS = {"message": "Do you like cats?", "requestedSchema": FORM}


@pytest.fixture
def listing(asking: Wrapped) -> str:
    """The id of a request of our own, as the server sees it."""
    asking.greet(elicitation={})
    asking.server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    asking.client(call(1, "read_file", {"path": "a"}))
    own = asking.asked[0]["id"]
    asking.server(result(own, {"tools": TOOLS}))
    asking.forget()
    return own


def question(asking: Wrapped) -> str:
    asking.client(call(2, "delete_file", {"path": "a"}))
    (only,) = asking.told
    asking.forget()
    return only["id"]


def test_what_the_server_sees_of_our_ids_tells_nothing_of_those_the_client_sees(asking: Wrapped, listing: str) -> None:
    first, second = question(asking), ""
    asking.client(result(first, {"action": "cancel"}))
    asking.forget()
    asking.client(call(3, "delete_file", {"path": "b"}))
    second = asking.told[0]["id"]
    start = listing.rpartition("-")[0]
    assert not first.startswith(start)
    assert len(first.rpartition("-")[2]) == len(second.rpartition("-")[2]) == 32
    assert first != second


@pytest.mark.parametrize("wrong", [str, lambda own: own + "0", lambda own: own.rpartition("-")[0] + "-2"])
def test_a_question_of_the_server_under_an_id_of_ours_does_not_pass(
    asking: Wrapped, listing: str, wrong: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    question(asking)
    forged = {"jsonrpc": "2.0", "id": wrong(listing), "method": "elicitation/create", "params": CATS}
    asking.server(forged)
    assert asking.client_got == []
    ping = {"jsonrpc": "2.0", "id": 5, "method": "ping"}
    asking.server([forged, ping])
    assert asking.told == [[ping]]
    asking.server([forged])
    assert len(asking.client_got) == 1
    assert "has an id of ours" in caplog.text


def test_an_answer_to_it_is_neither_a_yes_nor_the_servers(asking: Wrapped, listing: str) -> None:
    question(asking)
    asking.client(result(listing, YES))
    assert asking.server_got == []
    assert asking.client_got == []


def test_a_yes_under_the_beginning_of_our_id_is_none(asking: Wrapped, listing: str) -> None:
    own = question(asking)
    asking.client(result(own[:-1], YES))
    assert asking.server_got == []
    asking.client(result(own, YES))
    assert asking.asked == [call(2, "delete_file", {"path": "a"})]


def test_questions_of_other_servers_of_ours_pass(asking: Wrapped) -> None:
    """One wrap may stand behind another."""
    other = line({"jsonrpc": "2.0", "id": "rightcall-0123-4567", "method": "elicitation/create", "params": CATS})
    asking.server(other)
    assert asking.client_got == [other]


def test_nobody_waits_for_a_question_that_is_answered(asking: Wrapped, listing: str) -> None:
    own = question(asking)
    assert len(asking.ends.put_off) == 1
    asking.client(result(own, YES))
    assert asking.ends.put_off == []
