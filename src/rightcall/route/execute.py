"""Running what was chosen and cleared: through the executor, like any other call, under the packet's id (T-06, T-07).

What the policy says stands: it may refuse, ask a person, or only rehearse. The router tightens it, never the other way
round: it may rehearse more, it has a person asked about every write and every execution, and it has less time.
"""

from typing import TYPE_CHECKING, Any

from msgspec.json import encode

from rightcall.config_router import RouterSettings
from rightcall.errors import CallError, StoreError
from rightcall.present.messages import Outcome
from rightcall.route.budget import budget_of
from rightcall.route.story import RESULT, Taken, logged, routed, standing, starting, with_field, with_note
from rightcall.route.types import DataField, ExecutionStatus, Packet, SelectedTool, Sketchpad, ToolExecutionResult
from rightcall.types import Effect

if TYPE_CHECKING:
    from rightcall.executor import Executor

NOBODY = "nobody here can run it: the router knows its definition alone"
ASKED: tuple[Effect, ...] = ("write", "execute")
"""Effects that need a person's yes whatever the confidence, and whatever the policy asks for (T-06)."""
DRY_RUN = "it was a dry run: nothing was changed"
_MOST_OUTPUT = 50_000
"""Bytes of a result that a packet carries as data; of a larger one it has what a model would be shown."""


async def execute(packet: Packet, executor: "Executor | None", settings: RouterSettings, wait: float) -> Packet:
    """Run the selected call. Whoever calls this has seen to it that it was cleared."""
    taken = starting()
    selected = packet.tool_routing.selected_tool
    if selected is None:
        return refused(packet, "no tool was selected", taken)
    budget = budget_of(packet, settings, taken)
    over = budget.over()
    if executor is None or over is not None:
        return refused(packet, over or NOBODY, taken)
    changed = _changed(executor, selected)
    if changed is not None:
        return refused(packet, changed, taken)
    try:
        outcome = await executor.run(
            {"name": selected.tool_name, "arguments": selected.params},
            packet.header.caller,
            context=packet.header.packet_id,
            step=str(max(packet.tool_routing.reinjection_count, 0) + 1),
            approval=packet.tool_routing.approval,
            wait=wait,
            rehearse=rehearsed(settings),
            ask=ASKED,
            seconds=budget.seconds_left,
        )
    except (CallError, StoreError) as error:
        return refused(packet, str(error), taken)
    return _after(packet, outcome, taken)


def rehearsed(settings: RouterSettings) -> tuple[Effect, ...]:
    """Effects that the router only rehearses, whatever the policy allows."""
    allowed: tuple[tuple[Effect, bool], ...] = (
        ("write", settings.allow_write_tools), ("execute", settings.allow_execute_tools),
    )  # fmt: skip
    return tuple(effect for effect, may in allowed if not may)


def refused(packet: Packet, why: str, taken: Taken) -> Packet:
    """It did not run, and nothing more is tried."""
    packet = routed(packet, execution_status="failed", execution_result=None, routing_requested=False)
    packet = standing(packet, "processing", why)
    return logged(packet, "tool_execution", f"Not run: {why}", taken, seconds=0.0)


def inject(packet: Packet) -> Packet:
    """The result goes back into the packet, for the next selection and for the answer (design 004, 5.2)."""
    routing = packet.tool_routing
    result, selected = routing.execution_result, routing.selected_tool
    if result is None or selected is None:
        return packet
    value = {
        "tool": selected.tool_name, "params": selected.params, "success": result.success, "output": result.output,
        "error": result.error,
    }  # fmt: skip
    packet = with_field(packet, DataField(RESULT, value, "tool_execution_result", "executor"))
    shown = result.output if result.success else result.error
    packet = with_note(packet, Sketchpad("latest_tool_result", shown, "tool_output"))
    return routed(packet, reinjection_count=max(routing.reinjection_count, 0) + 1)


def _changed(executor: "Executor", selected: SelectedTool) -> str | None:
    """What was reviewed is what runs: a call that the gate would have to change now is another call."""
    if selected.tool_name not in executor.gate.catalog.tools:
        return NOBODY
    verdict = executor.gate.check(selected.tool_name, selected.params)
    call = verdict.call
    if verdict.ok and call is not None and (call.name, call.arguments) == (selected.tool_name, selected.params):
        return None
    problems = "; ".join(problem.message for problem in verdict.problems)
    return f"the call does not fit the tool as it stands: {problems or 'its arguments would have to be changed'}"


def _after(packet: Packet, outcome: Outcome, taken: Taken) -> Packet:
    decision, metadata = outcome.decision, outcome.metadata
    if outcome.status == "waiting" and decision is not None:
        packet = routed(
            packet, execution_status="awaiting_approval", execution_result=None, routing_requested=False,
            approval=decision.approval or packet.tool_routing.approval,
        )  # fmt: skip
        packet = standing(packet, "waiting", decision.reason)
        return logged(
            packet, "tool_execution", f"Waits for approval {packet.tool_routing.approval}", taken, seconds=0.0
        )
    if outcome.status == "refused":
        by_person = decision is not None and decision.rule == "approval:denied"
        status: ExecutionStatus = "user_denied" if by_person else "failed"
        why = outcome.error or "it was refused"
        packet = routed(packet, execution_status=status, execution_result=None, routing_requested=False, approval=None)
        packet = standing(packet, "processing", why)
        return logged(packet, "tool_execution", f"Refused: {why}", taken, seconds=0.0)
    rehearsal = decision is not None and decision.kind == "dry_run"
    result = ToolExecutionResult(
        success=outcome.ok and not rehearsal,
        output=_carried(outcome),
        error=DRY_RUN if rehearsal else outcome.error,
        execution_time_ms=round(metadata.execution_time),
        call=metadata.call,
    )
    status = "skipped" if rehearsal else "executed" if outcome.ok else "failed"
    packet = routed(
        packet, execution_status=status, execution_result=result, approval=None,
        routing_requested=packet.tool_routing.routing_requested and not rehearsal,
    )  # fmt: skip
    packet = standing(packet, "processing", DRY_RUN if rehearsal else outcome.error or "")
    words = "Rehearsed" if rehearsal else "Executed"
    end = "nothing was changed" if rehearsal else "success" if outcome.ok else "failed"
    return logged(
        packet, "tool_execution", f"{words} {outcome.tool}: {end}", taken, sure=packet.tool_routing.confidence,
        seconds=metadata.execution_time / 1e3,
    )  # fmt: skip


def _carried(outcome: Outcome) -> Any:
    """A result as a packet carries it: plain data of bounded size."""
    if outcome.result is None:
        return None
    try:
        small = len(encode(outcome.result)) <= _MOST_OUTPUT
    except (TypeError, ValueError, OverflowError, RecursionError):
        small = False
    return outcome.result if small else outcome.content
