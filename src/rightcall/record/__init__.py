"""The record: audit, limits, approvals and quarantine in one store, in SQLite or in memory.

    admission (decide and record, one transaction) ─▶ tables ─▶ sqlite, memory
    calls, analytics, metrics, browse, verify ◀───────┘

`tables` is what a store can do, and each backend implements that and nothing else. `notes` and `tokens` are kept beside
the calls; `identity` says whether the record of a folder may be believed.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.record.admission import Reply, admit, answer, pause, resume
    from rightcall.record.analytics import Analytics, as_design, read_analytics
    from rightcall.record.calls import CallFilter, CallRecord, Period, find_calls, plan_steps, steps
    from rightcall.record.memory import MemoryStore, existing_folder, open_store, store_path
    from rightcall.record.metrics import Metric, read_metrics
    from rightcall.record.notes import remember_tools
    from rightcall.record.sqlite import SqliteStore
    from rightcall.record.tables import Clock, ManualClock, Store, Tables
    from rightcall.record.verify import Verification, prune, verify_audit
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "admission": "Reply admit answer pause resume",
            "analytics": "Analytics as_design read_analytics",
            "calls": "CallFilter CallRecord Period find_calls plan_steps steps",
            "memory": "MemoryStore existing_folder open_store store_path",
            "metrics": "Metric read_metrics",
            "notes": "remember_tools",
            "sqlite": "SqliteStore",
            "tables": "Clock ManualClock Store Tables",
            "verify": "Verification prune verify_audit",
        },
    )

__all__ = [
    "Analytics", "CallFilter", "CallRecord", "Clock", "ManualClock", "MemoryStore", "Metric", "Period", "Reply",
    "SqliteStore", "Store", "Tables", "Verification", "admit", "answer", "as_design", "existing_folder", "find_calls",
    "open_store", "pause", "plan_steps", "prune", "read_analytics", "read_metrics", "remember_tools", "resume", "steps",
    "store_path", "verify_audit",
]  # fmt: skip
