"""What becomes of one call: it stays as it is, is written anew, or is left alone since nobody can say what it means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from rightcall.gate import Gate
from rightcall.proxy.teaching import is_copied
from rightcall.recovering import Stream
from rightcall.types import Call, ReasoningMode, Verdict

Fate = Literal["right", "repaired", "lifted", "left", "unknown", "repeated"]
"""right: untouched · repaired: a native call was written anew · lifted: a call in the text became a native one · left:
wrong, and passed on as the model wrote it · unknown: of a tool that the request does not offer, passed on · repeated: a
call in the text that the answer also has natively."""


class Did(NamedTuple):
    """What was done about one call, for the header, the audit and the counts."""

    fate: Fate
    verdict: Verdict
    written: str
    """The tool's name as the model wrote it."""
    said: Any = None
    """The arguments as the model wrote them, or the text of a call in the text."""


def is_wrong(verdict: Verdict) -> bool:
    """Whether a call is none that anybody should run. A policy that only warns or observes calls it ok all the same;
    but to pass a wrong call on is one thing, to make one is another."""
    return not verdict.ok or bool(verdict.problems) or verdict.truncated or verdict.call is None


def can_retry(verdict: Verdict) -> bool:
    """Whether the model could do better if it were told."""
    return is_wrong(verdict) and verdict.retry


class Settler:
    """Judges the calls of one answer. Under `observe` nothing changes, and what would have is told all the same."""

    cuts = False
    """Whether `native` says what becomes of a call at which the answer was cut off. Otherwise it passes as it came."""

    def __init__(
        self, gate: Gate, *, observe: bool = False, taught: bool = False, new_id: Callable[[], str] | None = None
    ) -> None:
        self.gate = gate
        self.observe = observe
        self.taught = taught
        """Whether the model has seen examples of ours, which small ones repeat."""
        self.new_id = new_id
        """How the API names a call that has no name yet; None where calls have none."""
        self.reasoning: ReasoningMode = gate.reasoning
        """Whether an answer begins inside of reasoning."""
        self.closed_alone: Callable[[], None] | None = None
        """Hears of an answer with a tag that closes reasoning which none had opened."""

    def stream(self, *, first: bool = True) -> Stream:
        """What reads a text of an answer. Only its `first` can begin inside of reasoning."""
        return self.gate.stream(self.reasoning if first else "closed")

    def native(
        self, name: Any, arguments: Any, call_id: Any, *, cut: bool = False  # noqa: ARG002 - a whole one may pass here
    ) -> tuple[Call | None, Did]:  # fmt: skip
        """The call in place of the native one that came, or None where it stays; and what was done. `cut`: the answer
        was cut off at it."""
        given = call_id if isinstance(call_id, str) and call_id else None
        verdict = self.gate.check(name, arguments, call_id=given)
        written = name if isinstance(name, str) else ""
        known = verdict.call is not None and verdict.call.name in self.gate.catalog.tools
        if not known and not verdict.problems:
            return self._named(given, Did("unknown", verdict, written, arguments))
        if is_wrong(verdict) or verdict.call is None:
            return None, Did("left", verdict, written, arguments)
        if not verdict.repairs:
            return self._named(given, Did("right", verdict, written, arguments))
        did = Did("repaired", verdict, written, arguments)
        if self.observes(verdict):
            return None, did
        return (replace(verdict.call, id=given or (self.new_id() if self.new_id else None)), did)

    def _named(self, given: str | None, did: Did) -> tuple[Call | None, Did]:
        """A right call without an id, where the API wants one: clients cannot answer it."""
        call = did.verdict.call
        wanted = given is None and self.new_id is not None and not self.observes(did.verdict)
        if not wanted or self.new_id is None or call is None or type(call.arguments) is not dict:
            return None, did
        return replace(call, id=self.new_id()), did._replace(fate="repaired")

    def observes(self, verdict: Verdict) -> bool:
        """Whether this call is only looked at: all are, or the policy says so of the tool or of this door."""
        return self.observe or verdict.mode == "observe"

    def liftable(self, verdict: Verdict) -> bool:
        """Whether a call in the text is one that the client could have been sent natively. What was cut off, or names
        a tool that nobody offered, stays text."""
        call = verdict.call
        if is_wrong(verdict) or call is None or call.name not in self.gate.catalog.tools:
            return False
        return not (self.taught and is_copied(call.arguments))

    def lifted(self, verdict: Verdict) -> Call:
        assert verdict.call is not None
        return replace(verdict.call, id=verdict.call.id or (self.new_id() if self.new_id else None))
