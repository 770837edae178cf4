"""Judging for many clients at once on one event loop: what takes long (the first call of a server's tools, which are
made ready then, and large calls) is done in a thread, so that nobody else waits for it."""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec.structs import replace

from rightcall.door import Door
from rightcall.door_passage import Passage
from rightcall.door_tools import full_name
from rightcall.mcp.gateway_naming import Meant
from rightcall.mcp.gateway_table import Table
from rightcall.mcp.messages import ToolCall, tool_call
from rightcall.mcp.serving import Exchange
from rightcall.text.escape import escaped

BIG: Final = 64_000
"""Bytes of a request from which on it is looked at in a thread."""
_AT_A_TIME: Final = 2
_MOST: Final = 1_000
Ready = tuple[int, str]


class Judging:
    """Used within one event loop."""

    def __init__(self, door: Door, table: Table) -> None:
        self._door = door
        self._table = table
        self._few = asyncio.Semaphore(_AT_A_TIME)
        self._ready: dict[tuple[str, str], Ready] = {}
        self.recorded = 0
        """Calls of which there is a record."""
        self._under_way: dict[tuple[str, str, Ready], asyncio.Task[None]] = {}

    async def read(self, exchange: Exchange) -> ToolCall | None:
        if len(bytes(exchange.line)) <= BIG:
            return tool_call(exchange.line)
        async with self._few:
            return await asyncio.to_thread(tool_call, exchange.line)

    async def judge(self, meant: Meant, call: ToolCall, exchange: Exchange) -> Passage:
        caller, space, context = exchange.caller, meant.entry.space, exchange.client.context
        await self._made_ready(caller, space)
        if len(bytes(exchange.line)) <= BIG:
            passage = await self._door.ajudge(meant.name, call.arguments, caller=caller, space=space, context=context)
        else:
            async with self._few:
                passage = await asyncio.to_thread(
                    self._door.judge, meant.name, call.arguments, caller=caller, space=space, context=context
                )
        return self._counted(replace(passage, message=self._as_listed(passage, space)))

    async def judge_unknown(self, call: ToolCall, exchange: Exchange) -> Passage:
        """A call of a tool that no server has is recorded as well."""
        return self._counted(
            await self._door.ajudge(call.name, call.arguments, caller=exchange.caller, context=exchange.client.context)
        )

    def _counted(self, passage: Passage) -> Passage:
        self.recorded += passage.call > 0
        return passage

    def _as_listed(self, passage: Passage, space: str) -> str:
        """What the model reads, with the tool called as it is in the client's list, which is all that the model can
        call it by."""
        call = passage.verdict.call or passage.verdict.found
        name = call.name if call is not None else passage.name
        wire = self._table.wire(space, name)
        if wire is None:
            return passage.message
        own, whole, listed = (escaped(one, 100) for one in (name, full_name(space, name), wire))
        return passage.message.replace(f"Invalid {own} call.", f"Invalid {listed} call.", 1).replace(
            f"'{whole}'", f"'{listed}'", 1
        )

    async def _made_ready(self, caller: str, space: str) -> None:
        """The tools of one server for one caller; all calls that need them wait for the same work."""
        now = self._table.version, self._door.policy.digest
        if self._ready.get((caller, space)) == now:
            return
        key = caller, space, now
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.get_running_loop().create_task(self._make_ready(caller, space, now))
            task.add_done_callback(lambda _: self._under_way.pop(key, None))
        await asyncio.shield(task)

    async def _make_ready(self, caller: str, space: str, now: Ready) -> None:
        await asyncio.to_thread(self._door.gate, caller, space)
        if len(self._ready) >= _MOST:
            self._ready.clear()
        self._ready[caller, space] = now
