"""What the record teaches: history decided again under another policy, and rules proposed from it.

    history (recorded calls, page by page) ─▶ replay (what another policy would change)
                                           └▶ learn  (what would have saved a retry)

Nothing here runs a tool, and nothing here writes to the store.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.learn.bench import Bench
    from rightcall.learn.emissions import Emitted, logged, recorded
    from rightcall.learn.history import Definitions, RecordedCall, RecordedEnd, Span, stream_calls, stream_entries
    from rightcall.learn.learner import Learned, learn
    from rightcall.learn.packfile import pack_text
    from rightcall.learn.proposals import Proposal
    from rightcall.learn.safety import Safety
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "bench": "Bench",
            "emissions": "Emitted logged recorded",
            "history": "Definitions RecordedCall RecordedEnd Span stream_calls stream_entries",
            "learner": "Learned learn",
            "packfile": "pack_text",
            "proposals": "Proposal",
            "safety": "Safety",
        },
    )

__all__ = [
    "Bench", "Definitions", "Emitted", "Learned", "Proposal", "RecordedCall", "RecordedEnd", "Safety", "Span", "learn",
    "logged", "pack_text", "recorded", "stream_calls", "stream_entries",
]  # fmt: skip
