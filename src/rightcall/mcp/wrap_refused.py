"""The record of a call that could not even be judged, since nobody can say what it is."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from rightcall.door_tools import full_name
from rightcall.errors import StoreError
from rightcall.mcp.wrap_ends import log
from rightcall.record.admission import refuse
from rightcall.record.entries import CallBody
from rightcall.types_running import Decision

if TYPE_CHECKING:
    from rightcall.door import Door

_UNKNOWN: Final = "(unknown)"
"""A name that is no tool's may hold anything."""


def record_refusal(
    door: Door, space: str, name: str, why: str, context: str | None, caller: str | None = None
) -> None:  # fmt: skip
    """Under the tool's name where it is one of the server's; without its arguments, of which there may be two."""
    caller = caller or door.caller
    tool = full_name(space, name if door.gate(caller, space).catalog.get(name) is not None else _UNKNOWN)
    digest = sha256(f"{tool}\0{why}".encode()).hexdigest()
    body = CallBody(
        caller=caller, tool=tool, params={}, digest=digest, decision="deny", rule="validation", context=context,
        policy=door.policy.digest, wire=door.host,
    )  # fmt: skip
    decision = Decision("deny", "validation", f"Validation failed: {why}")
    at = door.store.clock.now()
    try:
        door.store.transact(
            partial(refuse, caller=caller, digest=digest, decision=decision, body=body, at=at)
        )  # fmt: skip
    except StoreError as error:
        log.warning("rightcall: a refusal could not be recorded: %s", error)
