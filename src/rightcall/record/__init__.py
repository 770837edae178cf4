"""The record: audit, limits, approvals and quarantine in one store, in SQLite, on PostgreSQL or in memory.

    admission (decide and record, one transaction) ─▶ tables ─▶ sqlite, postgres, memory
    calls, analytics, browse, verify ◀────────────────┤
    figures, listing: what pages show ◀─── rollup ◀───┘

`tables` is what a store can do, and each backend implements that and nothing else. `notes` and `tokens` are kept beside
the calls; `identity` says whether the record of a folder may be believed.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.record.admission import Reply, admit, answer, pause, resume
    from rightcall.record.analytics import Analytics, Metric, as_design, read_analytics, read_metrics
    from rightcall.record.calls import CallFilter, CallRecord, Period, find_calls, plan_steps, steps
    from rightcall.record.figures import (
        Figures,
        Overview,
        Point,
        count_waiting,
        read_overview,
        read_series,
    )
    from rightcall.record.listing import CallPage, CallQuery, list_calls
    from rightcall.record.memory import MemoryStore
    from rightcall.record.notes import remember_tools
    from rightcall.record.premises import existing_folder, open_store, store_path
    from rightcall.record.sqlite import SqliteStore
    from rightcall.record.tables import CallFacts, Clock, ManualClock, Store, Tables
    from rightcall.record.verify import Verification, prune, verify_audit
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "admission": "Reply admit answer pause resume",
            "analytics": "Analytics Metric as_design read_analytics read_metrics",
            "calls": "CallFilter CallRecord Period find_calls plan_steps steps",
            "figures": "Figures Overview Point count_waiting read_overview read_series",
            "listing": "CallPage CallQuery list_calls",
            "memory": "MemoryStore",
            "notes": "remember_tools",
            "premises": "existing_folder open_store store_path",
            "sqlite": "SqliteStore",
            "tables": "CallFacts Clock ManualClock Store Tables",
            "verify": "Verification prune verify_audit",
        },
    )

__all__ = [
    "Analytics", "CallFacts", "CallFilter", "CallPage", "CallQuery", "CallRecord", "Clock", "Figures", "ManualClock",
    "MemoryStore", "Metric", "Overview", "Period", "Point", "Reply", "SqliteStore", "Store", "Tables", "Verification",
    "admit", "answer", "as_design", "count_waiting", "existing_folder", "find_calls", "list_calls", "open_store",
    "pause", "plan_steps", "prune", "read_analytics", "read_metrics", "read_overview", "read_series", "remember_tools",
    "resume", "steps", "store_path", "verify_audit",
]  # fmt: skip
