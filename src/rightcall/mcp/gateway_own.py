"""The code tools as tools of an MCP server: run by the executor, with all that belongs to it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final

from msgspec import Raw, json

from rightcall.door_tools import other_names
from rightcall.executor import Executor
from rightcall.mcp.approving import form_for, person, read_answer
from rightcall.mcp.eras import complete
from rightcall.mcp.messages import INVALID_PARAMS, tool_call, value
from rightcall.mcp.naming import wire_names
from rightcall.mcp.serving import Exchange
from rightcall.mcp.serving_answers import Answer, Refused, success
from rightcall.packs import load_pack
from rightcall.types_running import Approval

_FOR: Final[ContextVar[Exchange | None]] = ContextVar("for whose call somebody is asked", default=None)


class CodeTools:
    """`executor` is set once it is open: it asks through `ask`."""

    def __init__(self) -> None:
        self.executor: Executor | None = None
        self._names: dict[str, str] = {}
        self._called: tuple[dict[str, str], dict[str, tuple[str, ...]]] | None = None
        self._listed: dict[tuple[str, str], list[Raw]] = {}

    def listed(self, caller: str) -> list[Raw]:
        key = caller, self._open.policy.digest
        if key not in self._listed:
            self._listed = {key: self._definitions(caller)}
        return self._listed[key]

    def has(self, name: str) -> bool:
        """Also of a tool that not every caller may use: no server's tool is ever called like one of ours."""
        shipped = _shipped_wires()
        return name in shipped or name in shipped.values() or name in self._known() or name in self._known().values()

    def names(self) -> Mapping[str, tuple[str, ...]]:
        """By the name it is listed under, whatever else each of our tools is called, hidden ones too."""
        names = self._known()
        if self._called is None or self._called[0] is not names:
            known = {tool: wire for wire, tool in names.items()}
            both = _shipped_wires() | known
            self._called = names, {wire: _others(tool, in_short=tool in known) for tool, wire in both.items()}
        return self._called[1]

    async def call(self, exchange: Exchange) -> Answer:
        """What the executor makes of it: a name or arguments that are almost right are repaired there."""
        call = tool_call(exchange.line)
        if call is None or call.ambiguous or not isinstance(call.name, str):
            raise Refused(INVALID_PARAMS, "params.name must be the name of a tool, and no key may stand twice")
        written = {"name": self._known().get(call.name, call.name), "arguments": call.arguments}
        token = _FOR.set(exchange)
        try:
            outcome = await self._open.run(written, exchange.caller, context=exchange.client.context)
        finally:
            _FOR.reset(token)
        return success(complete(outcome.message("mcp"), exchange.peer))

    async def ask(self, approval: Approval) -> str | None:
        """Who said yes; None for no. Raises where nobody could be asked: then the question waits elsewhere."""
        exchange = _FOR.get()
        store = self._open.store
        form = None if exchange is None else await asyncio.to_thread(form_for, store, approval.id, exchange.peer)
        if exchange is None or form is None:
            raise NobodyThere("this client cannot ask a person")
        answer = await exchange.ask("elicitation/create", form)
        word = read_answer(value(answer.result or b""))
        if word is None:
            raise NobodyThere("the client did not ask")
        return person(exchange.peer) if word == "approved" else None

    @property
    def _open(self) -> Executor:
        assert self.executor is not None, "the executor opens first"
        return self.executor

    def _definitions(self, caller: str) -> list[Raw]:
        found: list[dict[str, Any]] = self._open.definitions(caller, "mcp")
        wires = {tool: wire for wire, (_, tool) in wire_names(("", one["name"]) for one in found).items()}
        self._names = {wire: tool for tool, wire in wires.items()}
        return [Raw(json.encode({**one, "name": wires[one["name"]]})) for one in found]

    def _known(self) -> dict[str, str]:
        if not self._names:
            self._definitions("default")
        return self._names


@lru_cache(1)
def _shipped_wires() -> dict[str, str]:
    """What the tools are listed under, by their names."""
    return {tool: wire for wire, (_, tool) in wire_names(("", one.name) for one in load_pack("code").tools).items()}


def _others(tool: str, *, in_short: bool) -> tuple[str, ...]:
    """
    >>> _others("code/read", in_short=True)
    ('code/read', 'mcp__code__read', 'read')
    """
    space, _, rest = tool.partition("/")
    if not rest:
        return (tool,)
    short, whole = other_names(space, rest)
    return (tool, whole, short) if in_short else (tool, whole)


class NobodyThere(Exception):
    """No person can be asked through this client."""
