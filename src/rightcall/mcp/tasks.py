"""Tasks: calls whose result comes later, in both forms in use.

    2025-11-25   the client asks for one (`task` in `tools/call`); `tasks/get` tells where it stands, `tasks/result`
                 waits for its result, `tasks/list` and `tasks/cancel` do what they say
    2026-07-28   an extension: the server decides, where the client has said that it can (`resultType: "task"`);
                 `tasks/get` tells where it stands and brings the result, `tasks/update` answers its questions

What is said of a task here is read only as far as the record of its call needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Raw, Struct
from msgspec.json import encode

from rightcall.executor.present.messages import GENEROUS
from rightcall.mcp.messages import Outcome, fields, mapping, outcome_of, value, with_note

EXTENSION: Final = "io.modelcontextprotocol/tasks"
RELATED: Final = "io.modelcontextprotocol/related-task"
STATUS: Final = "notifications/tasks/status"
STATUS_NEW: Final = "notifications/tasks"
UPDATE: Final = "tasks/update"
ABOUT_ONE: Final = ("tasks/get", "tasks/result", "tasks/cancel", UPDATE)
"""Requests that name a task."""
LONGEST: Final = 86_400.0
"""Seconds for which the record of a call waits for a task, whatever its server says."""
EXPIRED: Final = "The task expired before its result was fetched."
CANCELLED: Final = "The client cancelled the task."
_KEY: Final = b"taskId"
_ENDED: Final = {"failed": "The task failed.", "cancelled": "The task was cancelled."}


class Created(Struct, frozen=True):
    """A result that is none yet: the server has begun a task."""

    id: str
    seconds: float
    """How long the server keeps it."""


def is_able(capabilities: Any) -> bool:
    """Whether a client has said that it can have tasks (2026-07-28)."""
    return EXTENSION in mapping(mapping(capabilities).get("extensions"))


def created_by(result: Raw | None, *, wanted: bool, able: bool) -> Created | None:
    """The task that a result of `tools/call` names; None where it is the result. `wanted`: the call asked for one
    (2025-11-25). `able`: the client can have them (2026-07-28). To any other client what only looks like a task is the
    result, and so it is recorded."""
    if not (wanted or able) or result is None or _KEY not in bytes(result):
        return None
    found = mapping(value(result))
    is_new = able and found.get("resultType") == "task"
    task = found if is_new else mapping(found.get("task") if wanted else None)
    named = task.get("taskId")
    return Created(named, _lifetime(task)) if isinstance(named, str) else None


def _lifetime(task: Mapping[str, Any]) -> float:
    told = task.get("ttlMs", task.get("ttl"))
    is_told = isinstance(told, (int, float)) and not isinstance(told, bool) and told >= 0
    return min(told, LONGEST * 1000) / 1000 if is_told else LONGEST  # the smaller first: a number may be of any length


def ending_of(method: str, result: Raw | None, error: Raw | None) -> Outcome | None:
    """What the answer to a request about a task says of the end of its call; None where it goes on."""
    if method == "tasks/result":
        return outcome_of(result, error)
    if result is None:
        return None
    if method == "tasks/cancel":
        status = mapping(value(result)).get("status")
        return Outcome(ok=False, error=CANCELLED) if status in (None, "cancelled") else None
    return ending_told(result) if method == "tasks/get" else None


def ending_told(task: Raw) -> Outcome | None:
    """The same for a task as a server describes it. One that is completed has its result in it, or it is still to be
    fetched."""
    found = fields(task)
    status = value(found.get("status", b""))
    if status == "completed" and "result" in found:
        return outcome_of(found["result"], None)
    if status == "failed" and "error" in found:
        return outcome_of(None, found["error"])
    if status not in _ENDED:
        return None
    told = value(found.get("statusMessage", b""))
    return Outcome(ok=False, error=told[:GENEROUS] if isinstance(told, str) and told else _ENDED[status])


def with_warning(method: str, result: Raw, text: str) -> Raw:
    """The answer to a request about a task with a note for the model, where the result of its call is in it."""
    if method == "tasks/result":
        return with_note(result, text)
    found = fields(result)
    if method != "tasks/get" or "result" not in found:
        return result
    return Raw(encode({**found, "result": with_note(found["result"], text)}))


def renamed(result: Raw, id: str) -> Raw:
    """A task as it is described, under another id."""
    found: dict[str, Any] = dict(fields(result))
    if "task" in found:
        found["task"] = renamed(found["task"], id)
    elif _KEY.decode() in found:
        found[_KEY.decode()] = id
    else:
        return result
    return Raw(encode(found))
