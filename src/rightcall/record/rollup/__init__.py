"""The rollup: what was counted of the audit, kept in a file beside it, so that figures of a long one come at once.

audit ─▶ Rollup.catch_up ─▶ Batch ─▶ tables (`audit.db-rollup`) ─▶ count: the figures of a period
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.record.rollup.periods import count, counted
    from rightcall.record.rollup.rollup import Rollup
else:
    __getattr__, __dir__ = front(__name__, {"periods": "count counted", "rollup": "Rollup"})

__all__ = ["Rollup", "count", "counted"]
