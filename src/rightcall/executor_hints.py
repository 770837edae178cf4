"""What may be said of a call to the caller that made it: nothing of tools that it may not use, neither their names nor
their arguments (V-09). A tool is called by the name that the model wrote."""

from collections.abc import Iterable
from typing import Any, cast

from msgspec.structs import replace

from rightcall.authorise.allowlist import denial, may_use, not_whitelisted
from rightcall.config_settings import Rights
from rightcall.executor_batches import Inner, inner_calls, names_of
from rightcall.executor_calls import Written
from rightcall.executor_toolbox import Equipped, Toolbox
from rightcall.types import Batch, Problem, Repair, Verdict
from rightcall.types_running import Decision
from rightcall.validate import hint

_UNTOLD = Problem(
    "inner_call", "", "A call inside the batch cannot be told: each names exactly one tool, with an object as arguments"
)  # fmt: skip
_NAMING = {
    "; it is called `{}`": "", " of another tool, `{}`": " of another tool", "The {} call could": "The call could",
}  # fmt: skip
"""The words in which the gate names tools, and the same without."""


def as_written(written: Written, tool: str) -> str:
    """The name that a model wrote for a tool."""
    found = written.verdict.found
    return spelled(written.verdict.repairs, found.name if found is not None else tool)


def spelled(repairs: Iterable[Repair], tool: str) -> str:
    """The name that became this one, by the repairs that were made."""
    before = {one.after: one.before for one in repairs if one.rule.startswith("tool_")}
    for _ in range(len(before)):
        tool = before.get(tool, tool)
    return tool


def forbidden_inside(verdict: Verdict, found: Equipped, toolbox: Toolbox, rights: Rights) -> Decision | None:
    """The refusal of a batch that holds a call of a tool that the caller may not use."""
    for inner in _inside(verdict, found.tool.rules.batch, toolbox):
        for written in inner.names:
            for name in names_of(toolbox, written):
                if not may_use(rights, name):
                    rule = denial(rights, name) or "allowlist"
                    return Decision("deny", rule, not_whitelisted(spelled(verdict.repairs, written)))
    return None


def discreet(verdict: Verdict, found: Equipped, toolbox: Toolbox, rights: Rights) -> Verdict:
    """The same verdict without a word of tools that the caller may not use."""
    if not verdict.problems:
        return verdict
    usable = {one.tool.name for one in toolbox.usable(rights)}
    other = found.tool.rules.replaced_by
    if other is not None and other not in usable:
        return replace(verdict, problems=(), hint=None)
    hidden = [name for name in toolbox.tools if name not in usable]
    problems = tuple(replace(one, message=without_names(one.message, hidden)) for one in verdict.problems)
    if not all(inner.told for inner in _inside(verdict, found.tool.rules.batch, toolbox)):
        problems = (*(one for one in problems if one.code != "inner_call"), _UNTOLD)
    return (
        verdict
        if problems == verdict.problems
        else replace(verdict, problems=problems, hint=hint(found.tool, problems))
    )


def without_names(message: str, hidden: list[str]) -> str:
    """A problem of the gate's without the place where it names a tool that the model did not."""
    for name in hidden:
        for named, nameless in _NAMING.items():
            message = message.replace(named.format(name), nameless)
    return message


def _inside(verdict: Verdict, batch: Batch | None, toolbox: Toolbox) -> list[Inner]:
    call = verdict.call or verdict.found
    arguments: Any = None if call is None else call.arguments
    if batch is None or not isinstance(arguments, dict):
        return []
    return list(inner_calls(toolbox, batch, cast("dict[str, Any]", arguments)))
