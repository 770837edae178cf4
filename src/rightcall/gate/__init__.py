"""From what a model wrote to a call that fits its tool, or a refusal with a hint. Pure: no I/O, and nothing runs.

    text, message ─▶ recover/ ─▶ gate (fits: done) ─▶ judge ─▶ repair/ ─▶ explain ─▶ Verdict
                     stream                                               examples (the hint)

`gate` is the fast path and `judge` the slow one, loaded for the first call that does not fit as it is. `guard` and
`loads` are at the front door: `from rightcall import guard, loads`.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.gate.examples import example, hint, unknown_tool_hint
    from rightcall.gate.gate import Gate, suited
    from rightcall.gate.guard import Refused, arun_calls, run_calls
    from rightcall.gate.stream import Stream
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "examples": "example hint unknown_tool_hint",
            "gate": "Gate suited",
            "guard": "Refused arun_calls run_calls",
            "stream": "Stream",
        },
    )

__all__ = [
    "Gate", "Refused", "Stream", "arun_calls", "example", "hint", "run_calls", "suited",
    "unknown_tool_hint",
]  # fmt: skip
