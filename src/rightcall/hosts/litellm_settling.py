"""What becomes of the calls in an answer that LiteLLM hands on: the proxy's engine, and the policy's word on each call.

LiteLLM runs nothing, so that a refused call can only be taken out. Its place is held by a call under an id that is
remembered, and `without_refused` puts the reason there when the answer is written.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from rightcall.proxy.settle import Did, Settler, is_wrong
from rightcall.types import Call, Verdict

if TYPE_CHECKING:
    from rightcall.door import Door
    from rightcall.door_passage import Passage

HANDED = "Handed to the client, which runs it"
"""All that the record can say of the outcome."""


class JudgingSettler(Settler):
    """Judges the calls of one answer by a door."""

    def __init__(self, door: "Door", caller: str | None, new_id: Callable[[], str]) -> None:
        here = door.policy.hosts.get(door.host)
        super().__init__(door.gate(caller), observe=here is not None and here.mode == "observe", new_id=new_id)
        self.refused: dict[str, str] = {}
        """By the id of the call that stands in its place: what the reader is told."""
        self.sent = 0
        """Calls that the client gets."""
        self._door = door
        self._caller = caller

    def native(self, name: Any, arguments: Any, call_id: Any) -> tuple[Call | None, Did]:
        given = call_id if isinstance(call_id, str) and call_id else None
        written = name if isinstance(name, str) else ""
        passage = self._judged(written, arguments, given)
        verdict = passage.verdict
        if passage.action == "allow" and not verdict.repairs:
            self.sent += 1
            return self._named(given, Did("right", verdict, written, arguments))
        if passage.observed or (passage.action == "deny" and is_wrong(verdict)):
            self.sent += 1
            return None, Did("left", verdict, written, arguments)
        return self._sent(passage, given), Did("repaired", verdict, written, arguments)

    def lifted(self, verdict: Verdict) -> Call:
        found = verdict.found or verdict.call
        assert found is not None  # `liftable` has seen the call
        return self._sent(self._judged(found.name, found.arguments, None), None)

    def _judged(self, name: str, arguments: Any, call_id: str | None) -> "Passage":
        passage = self._door.judge(name, arguments, caller=self._caller, call_id=call_id)
        self._door.ended(passage, summary=HANDED)
        return passage

    def _sent(self, passage: "Passage", given: str | None) -> Call:
        assert self.new_id is not None
        call_id = given or self.new_id()
        if passage.action == "allow":
            self.sent += 1
        else:
            self.refused[call_id] = passage.message
        return Call(passage.name, passage.arguments, call_id)


def without_refused(answer: dict[str, Any], settler: JudgingSettler, part: str) -> dict[str, Any]:
    """A whole answer (`part` is `message`) or a chunk (`delta`), changed: the reasons stand where refused calls stood.
    Calls are the reason to end only where one is left."""
    refused = settler.refused
    for choice in cast("list[dict[str, Any]]", answer.get("choices") or []):
        said = cast("dict[str, Any]", choice.get(part) or {})
        calls = cast("list[dict[str, Any]]", said.get("tool_calls") or [])
        reasons = [refused[call["id"]] for call in calls if call.get("id") in refused]
        if reasons:
            said["content"] = "\n\n".join([*filter(None, [said.get("content")]), *reasons])
            said["tool_calls"] = [call for call in calls if call.get("id") not in refused] or None
        if refused and not settler.sent and choice.get("finish_reason") == "tool_calls":
            choice["finish_reason"] = "stop"
    return answer
