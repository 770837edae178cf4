"""What becomes of the calls in an answer that LiteLLM hands on: the proxy's engine, and the policy's word on each call.

LiteLLM runs nothing, so that a refused call can only be taken out. Its place is held by a call under a name that is
remembered, and `without_refused` puts the reason there when the answer is written.
"""

from collections.abc import Callable
from secrets import token_hex
from typing import TYPE_CHECKING, Any, cast

from msgspec import json

from rightcall.hosts.adapting import beginning
from rightcall.parse.kinds import is_object
from rightcall.proxy.settle import Did, Settler
from rightcall.types import Call, Verdict

if TYPE_CHECKING:
    from rightcall.door import Door
    from rightcall.door_passage import Passage

HANDED = "Handed to the client, which runs it"
"""All that the record can say of the outcome."""

REFUSED = "rightcall-refused-"


class JudgingSettler(Settler):
    """Judges the calls of one answer by a door."""

    cuts = True

    def __init__(self, door: "Door", caller: str | None, new_id: Callable[[], str]) -> None:
        here = door.policy.hosts.get(door.host)
        super().__init__(door.gate(caller), observe=here is not None and here.mode == "observe", new_id=new_id)
        self.refused: dict[str, str] = {}
        """By the name of the call that stands in its place, which no tool has: what the reader is told."""
        self.called: set[int] = set()
        """The answers of which the client got a call. A stream tells of them one chunk at a time."""
        self._door = door
        self._caller = caller

    def native(self, name: Any, arguments: Any, call_id: Any, *, cut: bool = False) -> tuple[Call | None, Did]:
        given = call_id if isinstance(call_id, str) and call_id else None
        written = name if isinstance(name, str) else ""
        passage = self._judged(written, beginning(arguments) if cut else arguments, given)
        verdict = passage.verdict
        if passage.action == "allow" and not verdict.repairs:
            return self._named(given, Did("right", verdict, written, arguments))
        if passage.observed or (_is_invalid(passage) and not (cut and _is_readable(arguments))):
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
        if passage.action == "allow":
            return Call(passage.name, passage.arguments, given or self.new_id())
        place = f"{REFUSED}{token_hex(12)}"  # not by its id: models and servers give two calls the same
        self.refused[place] = passage.message
        return Call(place, {}, given or self.new_id())


def _is_invalid(passage: "Passage") -> bool:
    """Whether it was refused for how it was written, which the client notices too. What the policy says of a tool is
    not the client's affair, however its arguments are written."""
    return passage.action == "deny" and passage.decision.rule in ("validation", "unknown_tool")


def _is_readable(arguments: Any) -> bool:
    """Whether a client could run a call with these, though its answer was cut off there."""
    if not isinstance(arguments, str):
        return True
    try:
        return not arguments.strip() or is_object(json.decode(arguments))
    except (ValueError, RecursionError):
        return False


def without_refused(answer: dict[str, Any], settler: JudgingSettler, part: str) -> dict[str, Any]:
    """A whole answer (`part` is `message`) or a chunk (`delta`), changed: the reasons stand where refused calls stood.
    Calls are the reason to end only where one is left."""
    refused = settler.refused
    for at, choice in enumerate(cast("list[dict[str, Any]]", answer.get("choices") or [])):
        said = cast("dict[str, Any]", choice.get(part) or {})
        calls = cast("list[dict[str, Any]]", said.get("tool_calls") or [])
        lone = cast("dict[str, Any]", said.get("function_call") or {})
        reasons = [refused[name] for name in (*map(_name, calls), lone.get("name")) if name in refused]
        if reasons:
            said["content"] = "\n\n".join([*filter(None, [said.get("content")]), *reasons])
            said["tool_calls"] = [call for call in calls if _name(call) not in refused] or None
            said["function_call"] = None if lone.get("name") in refused else said.get("function_call")
        which = choice.get("index", at)
        if said.get("tool_calls") or said.get("function_call"):
            settler.called.add(which)
        if refused and which not in settler.called and choice.get("finish_reason") in ("tool_calls", "function_call"):
            choice["finish_reason"] = "stop"
    return answer


def _name(call: dict[str, Any]) -> Any:
    return (call.get("function") or {}).get("name")
