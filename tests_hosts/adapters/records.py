"""What a door has recorded."""

from rightcall.door import Door
from rightcall.record.reading import CallRecord, calls


def records(door: Door) -> list[CallRecord]:
    """Every call, the oldest first."""
    door.store.transact(lambda _: None)  # what was left for later is written with this
    return sorted(door.store.look(lambda tables: list(calls(tables))), key=lambda record: record.id)


def statuses(door: Door) -> list[tuple[str, str]]:
    return [(record.tool, record.status) for record in records(door)]
