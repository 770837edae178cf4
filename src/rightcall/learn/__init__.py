"""What the record teaches: history decided again under another policy, and rules proposed from it.

    history (recorded calls, page by page) ─▶ replay (what another policy would change)
                                           └▶ learn  (what would have saved a retry)

Nothing here runs a tool, and nothing here writes to the store.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.learn.differences import Change, Same, Unknown
    from rightcall.learn.history import Definitions, RecordedCall, RecordedEnd, Span, stream_calls, stream_entries
    from rightcall.learn.replay import Replay
    from rightcall.learn.rulings import Rulings, ruling_of
    from rightcall.learn.sites import Sites
    from rightcall.learn.tally import Tally
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "history": "Definitions RecordedCall RecordedEnd Span stream_calls stream_entries",
            "differences": "Change Same Unknown",
            "replay": "Replay",
            "rulings": "Rulings ruling_of",
            "sites": "Sites",
            "tally": "Tally",
        },
    )

__all__ = [
    "Change", "Definitions", "RecordedCall", "RecordedEnd", "Replay", "Rulings", "Same", "Sites", "Span", "Tally",
    "Unknown", "ruling_of", "stream_calls", "stream_entries",
]  # fmt: skip
