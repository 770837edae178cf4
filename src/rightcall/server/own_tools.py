"""Tools that the proxy adds to a request's list and runs itself: those of the policy's servers (`--servers`, X-01).

    request ─▶ extended      the client's tools, and these
    answer  ─▶ run           each call of these goes to the executor; the model is told the result and goes on

They are called by the names that every other list of RightCall has, and run under the same policy, approvals and
record. The client never sees their calls, only what the model makes of the results.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from rightcall.base.text import wire_name
from rightcall.errors import RightCallError
from rightcall.gate.gate import functions, name_of
from rightcall.policy.types import DEFAULT_CALLER
from rightcall.types import Call

if TYPE_CHECKING:
    from rightcall.executor.executor import Executor
    from rightcall.proxy.wires.common import Wire

OVER = "The tool rounds for this request are used up ({}). Answer now with what you have."


class Extended(NamedTuple):
    """A request with our tools in its list."""

    body: bytes
    names: frozenset[str]


class OwnTools:
    """Of one server. `executor` has the policy's servers and no other tools."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    @property
    def rounds(self) -> int:
        """How often the model of one request may call them."""
        return self.executor.rounds

    async def extended(self, wire: Wire, body: bytes, caller: str) -> Extended | None:
        """The request with the tools that this caller may use. None where there are none, or where its own list cannot
        be read. A tool of the client's keeps its name: ours of that name is left out."""
        try:
            request: Any = msgspec.json.decode(body)
            listed: Any = request.get("tools") or []
            taken = {wire_name(name_of(one)) for one in functions(listed)}
        except (RightCallError, msgspec.MsgspecError, UnicodeError, ValueError, TypeError, AttributeError):
            return None
        await self.executor.join()
        definitions = self.executor.definitions(caller or DEFAULT_CALLER, "mcp")
        ours = [one for one in definitions if wire_name(one["name"]) not in taken]
        if not ours:
            return None
        request["tools"] = [*listed, *(_shaped(wire, one) for one in ours)]
        return Extended(msgspec.json.encode(request), frozenset(one["name"] for one in ours))

    async def run(self, calls: Iterable[Call], caller: str) -> list[str]:
        """What the model is told of each call, in order. Whatever is wrong with one is told too."""
        told: list[str] = []
        for call in calls:
            try:
                outcome = await self.executor.run(call, caller or DEFAULT_CALLER)
            except RightCallError as error:
                told.append(f"This call did not run: {error}")
            else:
                told.append(outcome.content)
        return told


def _shaped(wire: Wire, one: dict[str, Any]) -> dict[str, Any]:
    about = {"name": one["name"], "description": one.get("description", "")}
    if wire.name == "anthropic":
        return {**about, "input_schema": one["inputSchema"]}
    function = {**about, "parameters": one["inputSchema"]}
    if wire.name == "openai_responses":
        return {"type": "function", **function, "strict": False}
    return {"type": "function", "function": function}
