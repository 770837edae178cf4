"""The code tools as tools of an MCP server: run by the executor, with all that belongs to it."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final

from msgspec import Raw, json

from rightcall.executor import Executor
from rightcall.mcp.approving import form_for, person, said
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
        self._listed: dict[tuple[str, str], list[Raw]] = {}

    def listed(self, caller: str) -> list[Raw]:
        key = caller, self._open.policy.digest
        if key not in self._listed:
            self._listed = {key: self._definitions(caller)}
        return self._listed[key]

    def has(self, name: str) -> bool:
        """Also of a tool that not every caller may use: no server's tool is ever called like one of ours."""
        return name in _shipped() or name in self._known() or name in self._known().values()

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
        word = said(value(answer.result or b""))
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
def _shipped() -> frozenset[str]:
    names = [tool.name for tool in load_pack("code").tools]
    return frozenset((*names, *wire_names(("", name) for name in names)))


class NobodyThere(Exception):
    """No person can be asked through this client."""
