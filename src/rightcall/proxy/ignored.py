"""Noticing that a server silently ignored the tools of a request."""

from __future__ import annotations

from typing import Any

from rightcall.gate import Gate
from rightcall.proxy.wire import Asked, Usage


def ignored(asked: Asked, request: dict[str, Any], usage: Usage, calls: int, text: str, gate: Gate) -> str | None:
    """Why the tools seem to have been ignored; None where they were not."""
    del request, usage, text, gate
    return "a call was required and none came" if asked.choice == "required" and not calls else None


def refused_tools(status: int, body: bytes) -> bool:
    """Whether an error says that the server or the model knows no tools."""
    return status >= 400 and b"does not support tools" in body
