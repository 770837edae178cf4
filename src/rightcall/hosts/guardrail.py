"""Tool schema guardrails: a call that lacks something is not run, and the model reads what and an example.

`SchemaGuardrail().pre_tool_use_schema_guardrail` is a PreToolUse hook in the shape of the Claude Agent SDK;
`check` is the same without a host.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from rightcall.types import Call, Event, Verdict

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate

POLICY: dict[str, Any] = {"gate": {"mode": "block", "unknown_tool": "pass", "unknown_argument": "keep"}}
"""The pack knows what a tool needs, not all it can take; and a host has tools nobody told us of."""

CERTAIN = 0.9
"""A repair less sure than this is shown to a person before it runs."""


class SchemaGuardrail:
    """Checks tool calls by the rules of pack `guardrail`, or of the packs, tools or gate given.

    >>> guardrail = SchemaGuardrail()
    >>> print(guardrail.check("list_directory", {}).hint)
    ⚠️ Invalid list_directory call. Missing required fields: path. Example: {"path": "notes"}
    """

    def __init__(
        self,
        gate: "Gate | None" = None,
        *,
        packs: Iterable[str] = ("guardrail",),
        tools: Iterable[Any] | None = None,
        on_event: Callable[[Event], object] | None = None,
        when_repaired: Literal["host", "allow", "ask"] = "host",
    ) -> None:
        """A `gate` takes the place of `packs`, `tools` and `on_event`: it has its own.

        `when_repaired` is what the hook says beside the corrected input. `host`, nothing: the host asks, allows or
        denies as it would have done for the right call. `allow` skips its permission prompt, so that a call with a
        misspelt argument may do what the right one may not; only for hosts that take no input without a decision.
        """
        if gate is None:
            from rightcall.gate.gate import Gate

            gate = Gate(None if tools is None else list(tools), policy=POLICY, packs=tuple(packs), on_event=on_event)
        elif tools is not None or on_event is not None:
            raise TypeError("SchemaGuardrail: a `gate` has its own tools and `on_event`; give them to the gate")
        self.gate = gate
        self.when_repaired = when_repaired

    def check(self, tool_name: str, tool_input: Any, call_id: str | None = None) -> Verdict:
        """The verdict on one call: `ok` false means do not run it, `hint` is what the model should read.

        A failure is also the structured warning `tool_validation_failed`, in the log and for `on_event`.
        """
        return self.gate.check(tool_name, tool_input, call_id=call_id)

    async def pre_tool_use_schema_guardrail(
        self, input_data: Mapping[str, Any], tool_use_id: str | None = None, _context: Any = None
    ) -> dict[str, Any]:
        """The hook: `{}` where there is nothing to say, else a decision in `hookSpecificOutput`."""
        tool_name = str(input_data.get("tool_name", ""))
        tool_input: Any = input_data.get("tool_input") or {}
        if self.gate.catalog.find(tool_name).kind == "typo":
            return {}  # the host knows this tool under this name: it is another one, however alike
        verdict = self.check(tool_name, tool_input, tool_use_id)
        if not verdict.ok or verdict.call is None:
            return _output(permissionDecision="deny", permissionDecisionReason=verdict.message("text"))
        if verdict.call.name != tool_name and _is_replaced(verdict):
            return _output(permissionDecision="deny", permissionDecisionReason=_use_instead(tool_name, verdict.call))
        said: dict[str, Any] = {}
        if verdict.call.arguments != tool_input:
            decision = self.when_repaired if verdict.confidence >= CERTAIN else "ask"
            if decision != "host":
                said |= {"permissionDecision": decision, "permissionDecisionReason": _corrected(verdict)}
            said["updatedInput"] = verdict.call.arguments
        if verdict.mode == "warn" and verdict.hint:
            said["additionalContext"] = verdict.hint
        return _output(**said) if said else {}


def _output(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}


def _is_replaced(verdict: Verdict) -> bool:
    return any(repair.rule == "tool_replaced" and not repair.path for repair in verdict.repairs)


def _use_instead(tool_name: str, call: Call) -> str:
    """A hook can change a tool's input, not which tool runs."""
    fields = ", ".join(call.arguments)
    return f"⚠️ Invalid {tool_name} call. It is deprecated: use `{call.name}` instead, with the fields {fields}."


def _corrected(verdict: Verdict) -> str:
    """For the person who is asked; where nobody is, it reaches the model."""
    changes = [
        f"`{repair.before}` is `{repair.after}`"
        if isinstance(repair.after, str) and repair.before == repair.path.rpartition(".")[2]
        else f"`{repair.path}` ({repair.rule})"
        for repair in verdict.repairs
        if not repair.rule.startswith("tool_")  # the host has chosen the tool, whatever we call it
    ]
    return f"RightCall corrected the input: {', '.join(changes) or 'defaults filled in'}."
