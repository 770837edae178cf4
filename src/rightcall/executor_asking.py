"""Waiting for a person: one whom the host asks on the spot, or one who answers elsewhere in time."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Literal, Protocol

from rightcall.errors import StoreError
from rightcall.record.tables import Store
from rightcall.types_running import Approval

log = logging.getLogger("rightcall")

Ask = Callable[[Approval], str | Awaitable[str | None] | None]
"""Asks a person about a call: the name of who said yes, None for no."""

POLL = 0.1
"""Seconds between two looks whether a person has answered."""

Answered = Literal["answered", "waiting", "expired"]


class Desk(Protocol):
    """Where questions wait and answers are given."""

    @property
    def store(self) -> Store: ...

    def answer(self, id: str, said: Literal["approved", "denied"], *, by: str, digest: str) -> Approval: ...


async def answered(desk: Desk, id: str, ask: Ask | None, wait: float) -> Answered:
    """What has become of a question after at most `wait` seconds."""
    if ask is not None:
        return await _ask_host(desk, id, ask)
    clock = asyncio.get_running_loop().time
    deadline = clock() + wait
    while clock() < deadline:
        await asyncio.sleep(POLL)
        try:
            approval = await asyncio.to_thread(_approval, desk, id)
        except StoreError as error:  # it may come back before the time is over
            log.warning("whether approval %s was answered cannot be seen: %s", id, error)
            continue
        if approval is None or approval.status not in ("waiting", "expired"):
            return "answered"
        if approval.status == "expired" or approval.expires_at <= desk.store.clock.now():
            return "expired"
    return "waiting"


async def _ask_host(desk: Desk, id: str, ask: Ask) -> Answered:
    """What the host's own way of asking says; when it fails, nobody has said yes."""
    try:
        approval = await asyncio.to_thread(_approval, desk, id)
        if approval is None or approval.status != "waiting":
            return "answered"
        said = ask(approval)
        name = await said if isawaitable(said) else said
        word: Literal["approved", "denied"] = "approved" if name else "denied"
        await asyncio.to_thread(desk.answer, id, word, by=name or "(nobody)", digest=approval.digest)
    except Exception:  # the host's own code
        log.exception("rightcall: asking a person about approval %s failed, so it still waits", id)
        return "waiting"
    return "answered"


def _approval(desk: Desk, id: str) -> Approval | None:
    return desk.store.look(lambda tables: tables.approval(id))
