"""Claude Agent SDK: hooks that judge an agent's tool calls by the policy, put their input right and record them.

    rightcall = RightCall("rightcall.toml", servers={"files": [write_file]})
    options = ClaudeAgentOptions(mcp_servers=…, hooks=rightcall.hooks)

The SDK's command line finds the tool, and checks its own tools' input, before any hook is asked. Tools of MCP servers
are checked here, those of `servers` with all that is known of them. A call that needs a person is asked about in the
SDK's own way: `can_use_tool` puts it to `ask`, and without one it is denied.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from msgspec import Struct, json
from msgspec.structs import replace

from rightcall.errors import AnswerError
from rightcall.executor.door import Door, DoorSettings, host_result
from rightcall.executor.passage import Passage
from rightcall.hosts.adapter import door_for, missing
from rightcall.hosts.hooks.wires import CLAUDE, Happened, WrongEvent, as_called, builtin_tools, label, tool_and_space

try:
    from claude_agent_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny, SdkMcpTool
except ImportError as error:
    raise missing("claude_sdk", "the Claude Agent SDK", "claude-agent-sdk") from error

if TYPE_CHECKING:
    from rightcall.executor.executor import PolicySource

log = logging.getLogger("rightcall")

HOST = "claude-agent-sdk"
_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop")
_MOST = 1000
"""Calls whose end is awaited; a host that never tells leaves more behind."""
_ANYTHING = {"type": "object", "additionalProperties": True}
_KINDS = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}

Ask = Callable[["Passage"], Awaitable[str | None]]
"""Is shown a call that waits, and returns the name of the person who said yes, or None for a no."""


class _Judged(Struct, frozen=True):
    happened: Happened
    passage: "Passage"


class RightCall:
    """`policy` is a path, a dict of the same shape or None; a `door` takes its place (`fixed_names=True`).

    `servers` are the tools of MCP servers by the server's name: the SDK's own (`@tool`), or definitions; `settings` are
    those of `Door.open`. Close it when its agents are done.
    """

    def __init__(
        self,
        policy: "PolicySource" = None,
        *,
        servers: Mapping[str, Iterable[Any]] | None = None,
        ask: Ask | None = None,
        door: "Door | None" = None,
        **settings: "Unpack[DoorSettings]",
    ) -> None:
        if door is None:
            settings["fixed_names"] = True
        self.door = door_for(HOST, policy, door, **settings)
        self.door.know(builtin_tools("claude"))
        self._servers = tuple(servers or ())
        for name, tools in (servers or {}).items():
            self.door.know(map(_definition, tools), name)
        self._ask = ask
        self._judged: dict[str, _Judged] = {}

    def close(self) -> None:
        self.door.close()

    @property
    def hooks(self) -> dict[Any, list[HookMatcher]]:
        """For `ClaudeAgentOptions(hooks=…)`. A hook that fails blocks the call."""
        return {event: [HookMatcher(hooks=[self.hook], on_failure="block")] for event in _EVENTS}

    async def hook(self, event: Any, tool_use_id: str | None = None, context: Any = None) -> Any:
        """The callback for every event."""
        del tool_use_id, context  # the event holds it
        try:
            happened = CLAUDE.read(dict(event), self._servers)
        except WrongEvent as wrong:
            return CLAUDE.deny(f"RightCall could not read the event: {wrong}")
        if happened.kind == "before":
            passage = await self._judge(happened)
            return CLAUDE.answer_before(passage) or {}
        if happened.kind == "after":
            await self._ended(happened)
        return {}

    async def can_use_tool(self, name: str, given: dict[str, Any], context: Any) -> Any:
        """For `ClaudeAgentOptions(can_use_tool=…)`, in place of the permission prompt: a call that waits for a person
        is put to `ask`; any other has passed the policy already. What the hook judged counts for that very call."""
        step = str(getattr(context, "tool_use_id", None) or "")
        tool, space = tool_and_space(name, self._servers)
        judged = self._judged.get(step)
        if judged is None or not _is_of(judged, tool, space, given):  # no hook was asked about this one
            before = judged.happened.context if judged is not None else None
            asked = Happened("before", tool, given, space, before, label(step) or "", called=name)
            judged = await self._judged_anew(asked, judged)
        passage = judged.passage
        if passage.action == "ask":
            passage = await self._answered(judged)
        if passage.action != "allow":
            return PermissionResultDeny(message=passage.message)
        return PermissionResultAllow(updated_input=passage.arguments if passage.changed else given)

    async def _judged_anew(self, happened: Happened, instead: _Judged | None) -> _Judged:
        if instead is not None and instead.passage.action == "allow":
            await self.door.aended(instead.passage, ok=False, error="The host went on with another input.")
        return _Judged(happened, await self._judge(happened))

    async def _answered(self, judged: _Judged) -> "Passage":
        if self._ask is None:
            return judged.passage
        by = await self._ask(judged.passage)
        said: Literal["approved", "denied"] = "approved" if by else "denied"
        try:
            await asyncio.to_thread(self.door.answer, judged.passage, said, by=by or f"(in {HOST})")
        except AnswerError as fault:  # somebody has answered it already: perhaps another prompt for this call
            log.info("rightcall: an answer was not taken: %s", fault)
            now = self._judged.get(judged.happened.step)
            is_settled = now is not None and now.passage.action == "allow" and now.happened == judged.happened
            return now.passage if now is not None and is_settled and said == "approved" else judged.passage
        return await self._judge(judged.happened)

    async def _judge(self, happened: Happened) -> "Passage":
        passage = await self.door.ajudge(
            happened.tool, happened.arguments, context=happened.context, step=happened.step or None,
            call_id=happened.step or None, space=happened.space,
        )  # fmt: skip
        passage = replace(passage, message=as_called(passage.message, happened))
        if happened.step:
            while len(self._judged) >= _MOST:
                del self._judged[next(iter(self._judged))]
            self._judged[happened.step] = _Judged(happened, passage)
        return passage

    async def _ended(self, happened: Happened) -> None:
        judged = self._judged.pop(happened.step, None)
        if judged is not None and judged.passage.action == "allow":
            await self.door.aended(
                judged.passage, ok=happened.ok, summary=happened.summary, error=happened.error,
                seconds=happened.seconds, answer=happened.answer,
            )  # fmt: skip
        elif happened.step:  # somebody said yes at the host's own prompt
            result = host_result(happened.ok, happened.error, happened.seconds)
            await asyncio.to_thread(
                self.door.ended_elsewhere, happened.context, happened.step, result, summary=happened.summary,
                answer=happened.answer,
            )  # fmt: skip


def hooks(policy: "PolicySource" = None, **settings: Any) -> dict[Any, list[HookMatcher]]:
    """The hooks alone, for `ClaudeAgentOptions(hooks=hooks("rightcall.toml"))`; settings as `RightCall` takes them."""
    return RightCall(policy, **settings).hooks


def _is_of(judged: _Judged, tool: str, space: str, given: Any) -> bool:
    """Whether it is about this call: the input as it was written, or as it was put right."""
    happened, passage = judged.happened, judged.passage
    inputs = (happened.arguments, passage.arguments if passage.changed else happened.arguments)
    return (happened.tool, happened.space) == (tool, space) and any(_same(given, one) for one in inputs)


def _same(one: Any, other: Any) -> bool:
    """To the letter: what Python takes for equal (1, 1.0 and true) is not."""
    try:
        return json.encode(one, order="deterministic") == json.encode(other, order="deterministic")
    except (TypeError, ValueError, RecursionError):
        return False


def _definition(tool: Any) -> Any:
    """A tool of the SDK's own says its arguments as JSON Schema, or as names with Python types."""
    if not isinstance(tool, SdkMcpTool):
        return tool
    schema = cast("SdkMcpTool[Any]", tool).input_schema
    if not isinstance(schema, dict):
        return {"name": tool.name, "description": tool.description, "parameters": _ANYTHING}
    if schema.get("type") != "object":
        kinds = {name: {"type": _KINDS[kind]} if kind in _KINDS else {} for name, kind in schema.items()}
        schema = {"type": "object", "properties": kinds, "required": list(kinds)}
    return {"name": tool.name, "description": tool.description, "parameters": schema}
