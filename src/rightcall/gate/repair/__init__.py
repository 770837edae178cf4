"""From a candidate to a call that fits its tool, only where one reading exists.

    arguments ─▶ names ─▶ values ─▶ numbers, choices ─▶ defaults
                 words              every change in a `Log` (choices)

`arguments` is the whole of it; `names` says which argument is meant, with `words` for what names are made of; `values`
fits each value to its schema. The strategies that every repair belongs to stand in `rightcall.base.json.marks`.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.gate.repair.arguments import ToolRepair, normalise
    from rightcall.gate.repair.choices import Log
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "arguments": "ToolRepair normalise",
            "choices": "Log",
        },
    )

__all__ = [
    "Log", "ToolRepair", "normalise",
]  # fmt: skip
