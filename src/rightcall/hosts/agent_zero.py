"""The meta-reasoning gate of Agent Zero: corrects tool arguments before they run, warns, and never blocks.

Usable without Agent Zero: any object with `context.log.log(type=…, content=…)` and `hist_add_warning(text)` is an
agent. Secrets are already unmasked when this hook runs, so no text made here shows a value that came from the model,
other than the words of a declared value map (`bash`).
"""

import contextlib
import inspect
import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rightcall.text.escape import escaped
from rightcall.types import Problem, Repair, Verdict

if TYPE_CHECKING:
    from rightcall.gate import Gate

logger = logging.getLogger(__name__)

POLICY: dict[str, Any] = {"gate": {"mode": "warn", "unknown_tool": "pass", "unknown_argument": "keep"}}
"""Warn only; leave tools and arguments alone that nobody declared: Agent Zero's tools take any keyword."""

CUT_OFF = "was cut off before its end and did not run. Send the whole request again, in a shorter form if need be."

SURE = 0.9
"""From here on a name is another one's; below, a person would have to say so."""


def agent_zero_gate() -> "Gate":
    """A gate with the rules of pack `agent-zero`, as `MetaReasoningGate` makes one. Keep it: it counts."""
    from rightcall.gate import Gate

    return Gate(packs=["agent-zero"], policy=POLICY)


class MetaReasoningGate:
    """What Agent Zero's `tool_execute_before` calls. It lives for one call there, so give it a gate that lives longer.

    >>> import asyncio
    >>> arguments = {"language": "bash", "command": "ls"}
    >>> asyncio.run(MetaReasoningGate(agent=None).execute(arguments, "code_execution_tool"))
    >>> arguments
    {'runtime': 'terminal', 'code': 'ls', 'session': 0, 'reset': False}
    """

    def __init__(self, agent: Any = None, gate: "Gate | None" = None) -> None:
        self.agent = agent
        self._gate = gate

    async def execute(self, tool_args: dict[str, Any] | None = None, tool_name: str = "", **_kwargs: Any) -> None:
        """Correct `tool_args` in place. Whatever goes wrong in here, the call goes on as it was."""
        try:
            if tool_args and tool_name:
                await self._check(tool_args, tool_name)
        except Exception as error:  # noqa: BLE001  warn-only means that no fault of ours may stop a tool
            self.passed(error)

    async def _check(self, tool_args: dict[str, Any], tool_name: str) -> None:
        if self._gate is None:
            self._gate = agent_zero_gate()
        tool = self._gate.catalog.get(tool_name)
        if tool is None:
            return  # only exact names: Agent Zero has already chosen the tool, we cannot rename it
        given = dict(tool_args)
        verdict = self._gate.check(tool_name, given)
        aside = undeclared(verdict)
        if aside:
            given = {key: value for key, value in given.items() if key not in aside}
            verdict = self._gate.check(tool_name, given)
        for fault in (problem for problem in verdict.problems if problem.code == "fault"):
            raise RuntimeError(fault.message)
        if verdict.call is not None and verdict.call.arguments is not given:
            put_in_place(tool_args, {**verdict.call.arguments, **{key: tool_args[key] for key in aside}})
        await self.tell(tool_name, verdict, tool.rules.aliases)

    async def tell(self, tool_name: str, verdict: Verdict, aliases: Mapping[str, str]) -> None:
        """What was corrected, for the log; what is wrong, also into the history, where the model reads it."""
        order = {name: place for place, name in enumerate(aliases)}  # that of the rules, as the gate's design has it
        for repair in sorted(verdict.repairs, key=lambda repair: order.get(repair.path, len(order))):
            self._log("info", f"[MetaGate] Auto-corrected {_correction(repair)}")
        for log_line, warning in _warnings(aliases, verdict.problems):
            self._log("warning", f"[MetaGate] Tool '{tool_name}' {log_line}")
            added = self.agent.hist_add_warning(escaped(f"Tool '{tool_name}' {warning}"))
            if inspect.isawaitable(added):  # a later Agent Zero may make that asynchronous
                await added

    def cut_off(self, tool_name: str) -> str:
        """Half a call, which Agent Zero's own reader has made look whole: what to tell the model."""
        self._log("warning", f"[MetaGate] Tool '{tool_name}' was cut off")
        return escaped(f"Tool '{tool_name}' {CUT_OFF}")

    def passed(self, error: object) -> None:
        """Something failed in here, and the call goes on as it was."""
        self._log("warning", f"[MetaGate] Error (passthrough): {error}")

    def _log(self, kind: str, content: str) -> None:
        try:
            self.agent.context.log.log(type=kind, content=escaped(content))
        except Exception:  # noqa: BLE001  a broken log is no reason to stop a tool either
            with contextlib.suppress(Exception):
                logger.warning("%s", escaped(content))


def undeclared(verdict: Verdict) -> frozenset[str]:
    """Arguments that nobody declared and that would be taken for others without being sure: these tools take any
    keyword, so that they stay what they are."""
    return frozenset(
        repair.path
        for repair in verdict.repairs
        if _is_renaming(repair) and repair.confidence < SURE and "." not in repair.path
    )


def put_in_place(tool_args: dict[str, Any], corrected: Mapping[str, Any]) -> None:
    """Agent Zero's tool reads the very dict that the hook was given."""
    kept = dict(corrected)
    tool_args.clear()
    tool_args.update(kept)


def _correction(repair: Repair) -> str:
    """What was corrected, in the gate's own words."""
    if repair.rule == "value_alias":
        return f"{repair.path} value '{str(repair.before).lower().strip()}' → '{repair.after}'"
    if _is_renaming(repair):
        return f"arg '{repair.before}' → '{repair.after}'"
    return f"{repair.path or 'arguments'} ({repair.rule})"


def _is_renaming(repair: Repair) -> bool:
    return isinstance(repair.after, str) and repair.before == repair.path.rpartition(".")[2]


def _warnings(aliases: Mapping[str, str], problems: tuple[Problem, ...]) -> Iterator[tuple[str, str]]:
    """What to say of the problems: for the log, and for the model."""
    missing = [problem.path for problem in problems if problem.code == "missing"]
    if missing:
        yield (
            f"missing required args: {missing}",
            f"is missing required arguments: {', '.join(missing)}. Check the tool usage format and retry.",
        )
    for target in missing:
        unclear = {p.path for p in problems if p.code == "ambiguous_name"}
        named = [name for name, meant in aliases.items() if meant == target and name in unclear]
        if named:
            yield (
                f"has several args for '{target}': {named}",
                f"has several arguments for {target}: {', '.join(named)}. Give only {target} and retry.",
            )
    # A name that merely might mean another is no problem here: these tools take any argument.
    wrong = [f"{p.path} ({p.code})" for p in problems if p.code not in ("missing", "ambiguous_name")]
    if wrong:
        yield (
            f"args that do not fit: {wrong}",
            f"has arguments that do not fit: {', '.join(wrong)}. Check the tool usage format and retry.",
        )
