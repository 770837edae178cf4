"""What the record teaches: history decided again under another policy, and rules proposed from it.

    history (recorded calls, page by page) ─▶ replay (what another policy would change)
                                           └▶ learn  (what would have saved a retry)

Nothing here runs a tool, and nothing here writes to the store.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.learn.history import Definitions, RecordedCall, RecordedEnd, Span, stream_calls, stream_entries
else:
    __getattr__, __dir__ = front(
        __name__, {"history": "Definitions RecordedCall RecordedEnd Span stream_calls stream_entries"}
    )

__all__ = ["Definitions", "RecordedCall", "RecordedEnd", "Span", "stream_calls", "stream_entries"]
