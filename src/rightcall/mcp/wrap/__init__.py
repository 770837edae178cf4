"""`rightcall wrap`: a byte pump between a client and one server, whose tool calls are repaired, checked and recorded.

    client ─▶ wrap ─▶ calls (judged, held while somebody is asked, ended when a task ends) ─▶ process (the server)

What is no tool call passes as it is.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.mcp.wrap.wrap import Pump
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "wrap": "Pump",
        },
    )

__all__ = [
    "Pump",
]  # fmt: skip
