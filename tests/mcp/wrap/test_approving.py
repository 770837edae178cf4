"""Approvals through an MCP client: in both eras an answer counts for exactly the call that was shown, once."""

from typing import Any

import pytest

from rightcall.executor.door import Door
from rightcall.mcp.approvals import KEY, MOST_TEXT, Approver, read_answer
from rightcall.mcp.messages import CAPABILITIES_KEY
from support.every import every
from support.wrapping import ASKING, MODERN, TOOLS, Wrapped, answers, call, line, result

pytestmark = pytest.mark.promise("P-06", "H-04")

YES = {"action": "accept", "content": {"ok": True}}
NO: list[dict[str, Any]] = [
    {"action": "decline"},
    {"action": "cancel"},
    {"action": "accept", "content": {"ok": False}},
    {"action": "accept", "content": {"ok": "true"}},
    {"action": "accept", "content": {"approve": True}},
    {"action": "accept"},
    {"action": "ACCEPT", "content": {"ok": True}},
]
DELETE = {"path": "a"}


class TestHandshake:
    """Until 2025-11-25: a request of our own to the client."""

    @pytest.fixture
    def desk(self, asking: Wrapped) -> Wrapped:
        asking.greet(elicitation={})
        asking.client(call(1, "delete_file", DELETE))
        return asking

    def question(self, desk: Wrapped) -> Any:
        (only,) = [one for one in desk.told if one.get("method") == "elicitation/create"]
        return only

    def test_the_whole_call_is_shown(self, desk: Wrapped) -> None:
        params = self.question(desk)["params"]
        assert '"path": "a"' in params["message"]
        assert '"files/delete_file"' in params["message"]
        assert params["requestedSchema"]["properties"]["ok"]["type"] == "boolean"
        assert desk.server_got == []

    def test_a_yes_lets_the_call_through_once(self, desk: Wrapped) -> None:
        desk.client(result(self.question(desk)["id"], YES))
        assert desk.asked == [call(1, "delete_file", DELETE)]
        desk.forget()
        desk.client(call(2, "delete_file", DELETE))
        assert desk.server_got == []
        assert self.question(desk)["method"] == "elicitation/create"

    def test_the_bytes_that_were_shown_are_the_bytes_that_run(self, asking: Wrapped) -> None:
        asking.greet(elicitation={"form": {}})
        sent = line(call(1, "delete_file", DELETE, _meta={"progressToken": 3}))
        asking.client(sent)
        asking.client(result(self.question(asking)["id"], YES))
        assert asking.server_got == [sent]

    @pytest.mark.parametrize("answer", NO)
    def test_whatever_is_not_a_yes_is_a_no(self, desk: Wrapped, answer: dict[str, Any]) -> None:
        own = self.question(desk)["id"]
        desk.client_got.clear()
        desk.client(result(own, answer))
        assert desk.server_got == []
        assert desk.told[0]["id"] == 1
        assert "A person denied" in desk.refusal
        assert [one["status"] for one in desk.records("answer")] == ["denied"]

    def test_an_answer_given_twice_counts_once_and_never_reaches_the_server(self, desk: Wrapped) -> None:
        answer = result(self.question(desk)["id"], YES)
        desk.client(answer)
        desk.client(answer)
        assert len(desk.server_got) == 1

    def test_a_no_cannot_be_changed_afterwards(self, desk: Wrapped) -> None:
        own = self.question(desk)["id"]
        desk.client(result(own, {"action": "decline"}))
        desk.client(result(own, YES))
        assert desk.server_got == []

    def test_an_answer_to_a_question_that_was_never_asked_is_the_servers(self, desk: Wrapped) -> None:
        guess = line(result("rightcall-0000000000000000-1", YES))
        desk.client(guess)
        assert desk.server_got == [guess]

    def test_a_client_that_cannot_ask_after_all_gets_the_id(self, desk: Wrapped) -> None:
        own = self.question(desk)["id"]
        desk.client_got.clear()
        desk.client({"jsonrpc": "2.0", "id": own, "error": {"code": -32601, "message": "no"}})
        assert "rightcall approvals approve" in desk.refusal

    def test_nobody_answering_is_a_no_and_a_late_yes_does_not_count(self, desk: Wrapped) -> None:
        own = self.question(desk)["id"]
        desk.client_got.clear()
        desk.ends.time_passes()
        taken_back, refused = desk.told
        assert (taken_back["method"], taken_back["params"]["requestId"]) == ("notifications/cancelled", own)
        assert refused["result"]["isError"] is True
        desk.client(result(own, YES))
        assert desk.server_got == []

    def test_a_cancelled_call_takes_its_question_back(self, desk: Wrapped) -> None:
        own = self.question(desk)["id"]
        desk.client_got.clear()
        desk.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        assert [one["params"]["requestId"] for one in desk.told] == [own]
        desk.client(result(own, YES))
        assert desk.server_got == []

    @pytest.mark.parametrize("capabilities", [{}, {"elicitation": None}, {"elicitation": {"url": {}}}])
    def test_without_elicitation_the_model_is_told_the_id(self, asking: Wrapped, capabilities: dict[str, Any]) -> None:
        asking.greet(**capabilities)
        asking.client(call(1, "delete_file", DELETE))
        assert "rightcall approvals approve" in asking.refusal

    def test_the_call_cannot_draw_in_the_question(self, asking: Wrapped) -> None:
        asking.greet(elicitation={})
        asking.client(call(1, "delete_file", {"path": "a\u202e\x1b[2K\ndigest      all is well\r"}))
        message = self.question(asking)["params"]["message"]
        assert "\x1b" not in message
        assert "\u202e" not in message
        assert not any(row.startswith("digest      all") for row in message.splitlines())

    def test_a_call_too_long_to_be_shown_is_not_asked_here(self, asking: Wrapped) -> None:
        asking.greet(elicitation={})
        asking.client(call(1, "delete_file", {"path": "a", "why": "a" * MOST_TEXT}))
        assert "rightcall approvals approve" in asking.refusal


class TestStateless:
    """From 2026-07-28: the client calls again, with the answer and the seal."""

    def ask(self, asking: Wrapped, arguments: Any = DELETE, **more: Any) -> Any:
        asking.client(call(1, "delete_file", arguments, _meta=MODERN, **more))
        (told,) = asking.told
        asking.forget()
        return told["result"]

    def again(self, asking: Wrapped, asked: Any, answer: Any = YES, **more: Any) -> None:
        arguments = more.pop("arguments", DELETE)
        name = more.pop("name", "delete_file")
        more = {"requestState": asked["requestState"], "inputResponses": answers(asked, answer), **more}
        asking.client(call(2, name, arguments, _meta=MODERN, **more))

    def test_the_question_is_the_result_of_the_call(self, asking: Wrapped) -> None:
        asked = self.ask(asking)
        assert asked["resultType"] == "input_required"
        ((key, question),) = asked["inputRequests"].items()
        assert key.startswith(KEY)
        assert question["method"] == "elicitation/create"
        assert question["params"]["mode"] == "form"
        assert '"path": "a"' in question["params"]["message"]

    def test_a_yes_with_its_seal_lets_the_call_through_without_a_trace_of_it(self, asking: Wrapped) -> None:
        self.again(asking, self.ask(asking))
        assert asking.asked == [call(2, "delete_file", DELETE, _meta=MODERN)]

    @pytest.mark.parametrize("answer", NO)
    def test_whatever_is_not_a_yes_is_a_no(self, asking: Wrapped, answer: dict[str, Any]) -> None:
        state = self.ask(asking)
        self.again(asking, state, answer)
        assert asking.server_got == []
        assert "A person denied" in asking.refusal
        asking.forget()
        self.again(asking, state)  # and now a yes after all
        assert asking.server_got == []

    def test_an_answer_that_comes_first_is_none(self, asking: Wrapped) -> None:
        asking.client(call(2, "delete_file", DELETE, _meta=MODERN, inputResponses={KEY: YES, f"{KEY}.1": YES}))
        assert asking.server_got == []
        assert asking.told[0]["result"]["resultType"] == "input_required"

    def test_a_forged_or_changed_seal_is_none(self, asking: Wrapped) -> None:
        asked = self.ask(asking)
        state = asked["requestState"]
        body, _, proof = state.rpartition(".")
        for forged in (
            "", "x", "rightcall2.", "rightcall2.e30=.e30=", body, f"{state}0", f"{state}=", f"{body}.{proof.upper()}",
            f"{body}.", f"{body}x.{proof}",
            f"{body}.{proof[:-6]}AAAAA=", f"{body[:-8]}AAAAAAAA.{proof}", state.replace("rightcall2", "rightcall1"),
            "rightcall2.\u00e4.\u00e4",
        ):  # fmt: skip
            asking.forget()
            self.again(asking, asked, requestState=forged)
            assert asking.server_got == [], forged
            assert asking.told[0]["result"]["resultType"] == "input_required"

    def test_a_seal_of_another_store_is_none(self, asking: Wrapped) -> None:
        with Door.open("wrap", ASKING) as other:
            state = self.ask(Wrapped(other))
        self.again(asking, state)
        assert asking.server_got == []

    def test_a_seal_is_for_its_arguments_only(self, asking: Wrapped) -> None:
        state = self.ask(asking)
        self.again(asking, state, arguments={"path": "/etc/passwd"})
        assert asking.server_got == []
        assert asking.told[0]["result"]["resultType"] == "input_required"

    def test_a_seal_is_for_its_tool_only(self) -> None:
        with Door.open("wrap", {"policy": {"approval": {"tools": ["*"]}}}) as door:
            asking = Wrapped(door)
            state = self.ask(asking)
            self.again(asking, state, name="read_file")
            assert asking.server_got == []

    def test_a_seal_is_for_its_caller_only(self) -> None:
        with Door.open("wrap", ASKING) as first:
            state = self.ask(Wrapped(first))
            with Door.open("wrap", ASKING, caller="somebody", store=first.store) as second:
                asking = Wrapped(second)
                self.again(asking, state)
                assert asking.server_got == []

    def test_a_seal_is_used_once(self, asking: Wrapped) -> None:
        state = self.ask(asking)
        self.again(asking, state)
        self.again(asking, state)
        assert len(asking.server_got) == 1
        assert asking.told[0]["result"]["resultType"] == "input_required"

    def test_a_seal_expires(self, asking: Wrapped) -> None:
        moment = 1_000_000.0
        approver = Approver(asking.door, now=lambda: moment)
        passage = asking.door.judge("delete_file", DELETE, space="files")
        asked = approver.question(passage, _tool_call(), _peer())
        assert asked is not None
        retry = _tool_call(responses=answers(asked, YES), state=asked["requestState"])
        assert approver.heard(passage, retry) == "approved"
        moment += 601
        assert approver.heard(passage, retry) is None

    def test_without_elicitation_the_model_is_told_the_id(self, asking: Wrapped) -> None:
        asking.client(call(1, "delete_file", DELETE, _meta={**MODERN, CAPABILITIES_KEY: {}}))
        assert "rightcall approvals approve" in asking.refusal
        assert asking.told[0]["result"]["resultType"] == "complete"

    def test_what_the_client_brought_for_the_server_arrives_after_the_yes(self, asking: Wrapped) -> None:
        own = {"city": {"action": "accept", "content": {"name": "Bonn"}}}
        state = self.ask(asking, inputResponses=own, requestState="the server's")
        self.again(asking, state)
        params = asking.asked[0]["params"]
        assert (params["inputResponses"], params["requestState"]) == (own, "the server's")

    def test_a_server_that_asks_for_more_goes_on_without_a_second_approval(self, asking: Wrapped) -> None:
        self.again(asking, self.ask(asking))
        more = {"resultType": "input_required", "inputRequests": {"city": {}}, "requestState": "s1"}
        asking.server(result(2, more))
        assert asking.told[0]["result"] == more
        asking.forget()
        city = {"city": {"action": "accept", "content": {"name": "Bonn"}}}
        retry = call(3, "delete_file", DELETE, _meta=MODERN, inputResponses=city, requestState="s1")
        asking.client(retry)
        assert asking.asked[0]["params"]["requestState"] == "s1"
        assert asking.asked[0]["params"]["inputResponses"] == city
        asking.forget()
        asking.client(retry)  # but only once
        assert asking.server_got == []

    def test_questions_of_a_server_pass_untouched_where_nobody_had_to_approve(self, wrapped: Wrapped) -> None:
        wrapped.client(call(1, "read_file", {"path": "a"}, _meta=MODERN))
        more = line(result(1, {"resultType": "input_required", "inputRequests": {"a": {}}, "requestState": "s1"}))
        wrapped.server(more)
        retry = line(call(2, "read_file", {"path": "a"}, _meta=MODERN, inputResponses={"a": YES}, requestState="s1"))
        wrapped.client(retry)
        assert (wrapped.client_got, wrapped.server_got[1:]) == ([more], [retry])


@pytest.mark.promise("P-08")
def test_a_changed_definition_asks_and_a_yes_is_enough(asking: Wrapped) -> None:
    asking.client(call(1, "read_file", {"path": "a"}))
    asking.server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    asking.greet(elicitation={})
    asking.client({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    asking.server(result(2, {"tools": [{"name": "read_file", "description": "Send it.", "inputSchema": schema}]}))
    asking.forget()
    asking.client(call(3, "read_file", {"path": "a"}))
    assert asking.server_got == []
    (question,) = asking.told
    assert "Send it." in question["params"]["message"]
    asking.client(result(question["id"], YES))
    assert asking.asked == [call(3, "read_file", {"path": "a"})]


@pytest.mark.promise("P-08")
def test_where_no_answer_can_be_given_anywhere_the_model_is_told_so() -> None:
    with Door.open("wrap") as door:
        wrapped = Wrapped(door, answerable=False)
        wrapped.client(call(1, "read_file", {"path": "a"}))
        wrapped.client({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        wrapped.server(result(2, {"tools": [{**TOOLS[0], "description": "Send it."}]}))
        wrapped.forget()
        wrapped.client(call(3, "read_file", {"path": "a"}))
        assert "has changed since it was first seen" in wrapped.refusal
        assert "rightcall wrap --policy FILE" in wrapped.refusal
        assert "approvals approve" not in wrapped.refusal


@every("response", [None, 5, [], {}, {"action": 3}, {"content": {"ok": True}}])
def test_what_is_no_answer_says_nothing(response: Any) -> None:
    assert read_answer(response) is None


def _tool_call(**more: Any) -> Any:
    from rightcall.mcp.messages import ToolCall

    return ToolCall("delete_file", DELETE, MODERN, **more)


def _peer() -> Any:
    from rightcall.mcp.messages import Peer, peer_of_request

    return peer_of_request(MODERN, Peer())
