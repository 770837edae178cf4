"""The store on a PostgreSQL server: the same tables for many machines.

    store (what callers see) ─▶ writer (one connection, batches) ─▶ batch (decided at once) or tables (one alone)
                                    └─▶ node (lease, epoch, chain)        └─▶ schema, connection

Decisions stay in Python: the server keeps, locks and tells the time. Nothing here is loaded before a store is opened.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.record.postgres.connection import is_postgres
    from rightcall.record.postgres.store import PostgresReader, PostgresStore
else:
    __getattr__, __dir__ = front(__name__, {"connection": "is_postgres", "store": "PostgresReader PostgresStore"})

__all__ = ["PostgresReader", "PostgresStore", "is_postgres"]
