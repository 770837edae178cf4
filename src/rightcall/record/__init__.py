"""The record: audit, limits, approvals and quarantine in one store, in memory or in SQLite."""
