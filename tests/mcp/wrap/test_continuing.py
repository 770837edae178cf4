"""A call whose server asks for more is still the one call that was judged; another never passes for it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall.executor.door import Door
from rightcall.mcp.messages import CAPABILITIES_KEY, MOST_ROUNDS, ToolCall
from rightcall.mcp.wrap.calls import Continuations, Pending, written
from rightcall.policy.trust import put_stop
from rightcall.policy.types import Pause
from support.wrapping import ASKING, MODERN, Wrapped, answers, call, line, result

pytestmark = pytest.mark.promise("P-06", "H-04")

YES = {"action": "accept", "content": {"ok": True}}
CITY = {"city": {"action": "accept", "content": {"name": "Bonn"}}}
MORE = {"resultType": "input_required", "inputRequests": {"city": {}}, "requestState": "s1"}
DONE = {"resultType": "complete", "content": [{"type": "text", "text": "gone"}]}
DELETE = {"path": "a"}


def goes_on(id: Any = 3, state: str = "s1", arguments: Any = DELETE, **more: Any) -> dict[str, Any]:
    return call(id, "delete_file", arguments, _meta=MODERN, inputResponses=CITY, requestState=state, **more)


def approve(asking: Wrapped) -> None:
    """The call runs after a person's yes."""
    asking.client(call(1, "delete_file", DELETE, _meta=MODERN))
    asked = asking.told[0]["result"]
    more = {"inputResponses": answers(asked, YES), "requestState": asked["requestState"]}
    asking.client(call(2, "delete_file", DELETE, _meta=MODERN, **more))
    assert asking.asked == [call(2, "delete_file", DELETE, _meta=MODERN)]
    asking.forget()


@pytest.fixture
def half_way(asking: Wrapped) -> Wrapped:
    """A call was approved, and its server has asked for more."""
    approve(asking)
    asking.server(result(2, MORE))
    asking.forget()
    return asking


def test_the_servers_question_passes_as_it_is_and_so_does_the_answer(asking: Wrapped) -> None:
    approve(asking)
    more = line(result(2, MORE))
    asking.server(more)
    asking.client(line(goes_on()))
    assert (asking.client_got, asking.server_got) == ([more], [line(goes_on())])


def test_it_goes_on_once(half_way: Wrapped) -> None:
    half_way.client(goes_on(3))
    half_way.client(goes_on(4))
    assert [one["id"] for one in half_way.asked] == [3]
    assert half_way.told[0]["result"]["resultType"] == "input_required"


@pytest.mark.parametrize(
    "other", [goes_on(arguments={"path": "/etc"}), goes_on(state="s2"), call(3, "delete_file", DELETE, _meta=MODERN)]
)
def test_another_call_does_not_go_on_with_it(half_way: Wrapped, other: dict[str, Any]) -> None:
    half_way.client(other)
    assert half_way.server_got == []


def test_another_process_knows_nothing_of_it(tmp_path: Path) -> None:
    policy = tmp_path / "rightcall.toml"
    policy.write_text('version = 1\n[policy.approval]\ntools = ["delete_file"]\n')
    with Door.open("wrap", policy) as first:
        here = Wrapped(first)
        approve(here)
        here.server(result(2, MORE))
    for _ in range(2):
        with Door.open("wrap", policy) as later:
            there = Wrapped(later)
            there.client(goes_on())
            assert there.server_got == []
            assert there.told[0]["result"]["resultType"] == "input_required"


@pytest.fixture
def counting() -> Iterator[Wrapped]:
    """With a policy, which counts repeats."""
    with Door.open("wrap", {"policy": {"repeats": 3}}) as door:
        yield Wrapped(door)


@pytest.mark.promise("P-07")
def test_a_server_that_asks_often_is_no_loop_and_makes_one_record(counting: Wrapped) -> None:
    wrapped = counting
    wrapped.client(call(0, "delete_file", DELETE, _meta=MODERN))
    for number in range(1, MOST_ROUNDS + 1):
        wrapped.server(result(number - 1, MORE))
        wrapped.client(goes_on(number))
    wrapped.server(result(MOST_ROUNDS, DONE))
    assert len(wrapped.server_got) == MOST_ROUNDS + 1
    assert [one["tool"] for one in wrapped.records("begin")] == ["files/delete_file"]
    assert [one["summary"] for one in wrapped.records("end")] == ["gone"]


@pytest.mark.promise("P-07")
def test_a_server_that_never_stops_asking_is_stopped(counting: Wrapped) -> None:
    wrapped = counting
    wrapped.client(call(0, "delete_file", DELETE, _meta=MODERN))
    for number in range(1, 4 * MOST_ROUNDS):
        wrapped.server(result(number - 1, MORE))
        wrapped.client(goes_on(number))
    assert len(wrapped.server_got) == 2 * (MOST_ROUNDS + 1)
    assert any(b"Identical call repeated within a minute" in one for one in wrapped.client_got)


@pytest.mark.promise("P-01")
def test_a_policy_that_has_changed_meanwhile_is_asked_anew(tmp_path: Path) -> None:
    policy = tmp_path / "rightcall.toml"
    policy.write_text("version = 1\n")
    with Door.open("wrap", policy) as door:
        wrapped = Wrapped(door)
        wrapped.client(call(1, "delete_file", DELETE, _meta=MODERN))
        wrapped.server(result(1, MORE))
        wrapped.forget()
        policy.write_text('version = 1\n[policy]\ndeny = ["delete_file"]\n')
        os.utime(policy, (1_000_000_000, 1_000_000_000))  # it has rested for long
        door._next_look = 0.0
        wrapped.client(goes_on())
        assert wrapped.server_got == []
        assert "not whitelisted" in wrapped.refusal


@pytest.mark.promise("P-08")
def test_a_definition_that_has_changed_meanwhile_asks(half_way: Wrapped) -> None:
    half_way.client({"jsonrpc": "2.0", "id": 8, "method": "tools/list"})
    half_way.server(result(8, {"tools": [{"name": "delete_file", "inputSchema": {"type": "object"}}]}))
    half_way.forget()
    half_way.client(goes_on())
    assert half_way.server_got == []


def test_a_repaired_call_goes_on_as_it_was_repaired(wrapped: Wrapped) -> None:
    wrapped.client(call(1, "delete_file", {"file": "a"}, _meta=MODERN))
    wrapped.server(result(1, MORE))
    wrapped.client(goes_on(arguments={"file": "a"}))
    assert [one["params"]["arguments"] for one in wrapped.asked] == [{"path": "a"}] * 2
    assert wrapped.asked[1]["params"]["requestState"] == "s1"


def test_a_client_that_does_not_come_back_is_recorded(half_way: Wrapped) -> None:
    half_way.between.calls.server_gone("over", tell=False)
    (end,) = half_way.records("end")
    assert (end["status"], "did not come back" in end["error"]) == ("failed", True)


def test_it_waits_for_a_limited_time() -> None:
    now = 0.0
    lost: list[Pending] = []
    continuing = Continuations(lost.append, lambda: now)
    again = ToolCall("t", {}, responses={"a": 1})
    with Door.open("wrap") as door:
        pending = Pending(door.judge("t", {}), result(1, None)["id"], 0.0, written(again))
    assert continuing.keep(pending, None, "policy", 10)
    assert continuing.keep(pending, None, "policy", 10)
    now = 9
    assert continuing.take(again, "policy") is not None
    now = 11
    assert continuing.take(again, "policy") is None
    assert len(lost) == 1


class TestBehindAnother:
    """One wrap around another, each with questions of its own."""

    @pytest.fixture(params=["two records", "one record"])
    def both(self, request: pytest.FixtureRequest) -> Iterator[tuple[Wrapped, Wrapped]]:
        with Door.open("wrap", ASKING) as first:
            store = first.store if request.param == "one record" else None
            with Door.open("wrap", ASKING, store=store) as second:
                yield Wrapped(first), Wrapped(second)

    def send(self, both: tuple[Wrapped, Wrapped], message: dict[str, Any]) -> Any:
        """The result that the client gets, and what reaches the server in the end."""
        outer, inner = both
        for one in both:
            one.forget()
        outer.client(message)
        for sent in outer.server_got:
            inner.client(sent)
        for back in inner.client_got:
            outer.server(back)
        return outer.told[-1]["result"] if outer.told else inner.asked

    def test_each_hears_the_answer_to_its_own_question(self, both: tuple[Wrapped, Wrapped]) -> None:
        first = self.send(both, call(1, "delete_file", DELETE, _meta=MODERN))
        more = {"inputResponses": answers(first, YES), "requestState": first["requestState"]}
        second = self.send(both, call(2, "delete_file", DELETE, _meta=MODERN, **more))
        assert second["inputRequests"].keys().isdisjoint(first["inputRequests"])
        more = {"inputResponses": answers(second, YES), "requestState": second["requestState"]}
        assert self.send(both, call(3, "delete_file", DELETE, _meta=MODERN, **more)) == [
            call(3, "delete_file", DELETE, _meta=MODERN)
        ]

    def test_the_yes_to_one_is_none_to_the_other(self, both: tuple[Wrapped, Wrapped]) -> None:
        first = self.send(both, call(1, "delete_file", DELETE, _meta=MODERN))
        more = {"inputResponses": answers(first, YES), "requestState": first["requestState"]}
        second = self.send(both, call(2, "delete_file", DELETE, _meta=MODERN, **more))
        more["requestState"] = second["requestState"]
        again = self.send(both, call(3, "delete_file", DELETE, _meta=MODERN, **more))
        assert again["resultType"] == "input_required"
        assert both[1].server_got == []


def test_a_client_that_cannot_be_asked_goes_on_too(wrapped: Wrapped) -> None:
    meta = {**MODERN, CAPABILITIES_KEY: {}}
    wrapped.client(call(1, "delete_file", DELETE, _meta=meta))
    wrapped.server(result(1, {"resultType": "input_required", "requestState": "s1"}))
    wrapped.client(call(2, "delete_file", DELETE, _meta=meta, requestState="s1"))
    assert len(wrapped.records("begin")) == 1


@pytest.fixture
def stops() -> Iterator[Callable[[Door, bool], None]]:
    """The emergency stop, of one store or everywhere; it ends with the test."""

    def stop(door: Door, everywhere: bool) -> None:
        if everywhere:
            put_stop(Pause("ada", "2026-01-01T00:00:00Z"))
        else:
            door.pause(by="ada")

    yield stop
    put_stop(None)


@pytest.mark.promise("P-17")
@pytest.mark.parametrize("everywhere", [False, True])
def test_an_emergency_stop_holds_for_a_call_that_would_go_on(
    half_way: Wrapped, stops: Callable[[Door, bool], None], everywhere: bool
) -> None:
    stops(half_way.door, everywhere)
    half_way.client(goes_on())
    assert half_way.server_got == []
    assert "paused by the operator" in half_way.refusal
    assert [one["rule"] for one in half_way.records("refused")] == ["paused"]
    assert half_way.records("end") == []
    put_stop(None)
    half_way.door.resume(by="ada")
    half_way.client(goes_on())  # neither its state nor what let it through was used up
    assert len(half_way.server_got) == 1
    assert len(half_way.records("begin")) == 1
