"""What the record teaches: history decided again under another policy, and rules proposed from it.

    history (recorded calls, page by page) ─▶ replay (what another policy would change)
                                           └▶ learn  (what would have saved a retry)

Nothing here runs a tool, and nothing here writes to the store.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.learn.bench import Bench
    from rightcall.learn.differences import Change, Same, Unknown
    from rightcall.learn.emissions import Emitted, logged, recorded
    from rightcall.learn.history import Definitions, RecordedCall, RecordedEnd, Span, stream_calls, stream_entries
    from rightcall.learn.learner import Learned, learn
    from rightcall.learn.packfile import pack_text
    from rightcall.learn.proposals import Proposal
    from rightcall.learn.replay import Replay
    from rightcall.learn.rulings import Rulings, ruling_of
    from rightcall.learn.safety import Safety
    from rightcall.learn.sites import Sites
    from rightcall.learn.tally import Tally
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "bench": "Bench",
            "differences": "Change Same Unknown",
            "emissions": "Emitted logged recorded",
            "history": "Definitions RecordedCall RecordedEnd Span stream_calls stream_entries",
            "learner": "Learned learn",
            "packfile": "pack_text",
            "proposals": "Proposal",
            "replay": "Replay",
            "rulings": "Rulings ruling_of",
            "safety": "Safety",
            "sites": "Sites",
            "tally": "Tally",
        },
    )

__all__ = [
    "Bench", "Change", "Definitions", "Emitted", "Learned", "Proposal", "RecordedCall", "RecordedEnd", "Replay",
    "Rulings", "Safety", "Same", "Sites", "Span", "Tally", "Unknown", "learn", "logged", "pack_text", "recorded",
    "ruling_of", "stream_calls", "stream_entries",
]  # fmt: skip
