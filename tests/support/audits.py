"""Writing an audit by hand in tests: calls with their outcomes, at moments of a clock that stands still in between."""

from typing import Any

from rightcall.record.memory import MemoryStore
from rightcall.record.tables import CallBody, EndBody, ManualClock, Store, encode

NOON = 1_767_268_800.0
"""2026-01-01 12:00:00 UTC"""


class Diary:
    """A store with a clock that is moved by hand, and short words to write records into it."""

    def __init__(self, store: Store | None = None, clock: ManualClock | None = None) -> None:
        self.clock = clock or ManualClock(wall=NOON)
        self.store = store or MemoryStore(self.clock)

    @property
    def now(self) -> str:
        return self.clock.wall()

    def begin(self, caller: str = "ada", tool: str = "code/read", **more: Any) -> int:
        body = CallBody(caller, tool, {}, "d" * 64, "allow", more.pop("rule", "stage:read-only"), **more)
        return self.store.transact(lambda tables: tables.append("begin", 0, encode(body)))

    def end(self, call: int, time: float = 1.0, status: Any = "success", **more: Any) -> int:
        body = EndBody(status, time, **more)
        return self.store.transact(lambda tables: tables.append("end", call, encode(body)))

    def ran(self, caller: str = "ada", tool: str = "code/read", time: float = 1.0, **more: Any) -> int:
        """A call that began and succeeded."""
        call = self.begin(caller, tool, **more)
        self.end(call, time)
        return call

    def failed(self, caller: str = "ada", tool: str = "code/read", time: float = 1.0, error: str | None = None) -> int:
        call = self.begin(caller, tool)
        self.end(call, time, "failed", error=error)
        return call

    def refused(self, caller: str = "ada", tool: str = "code/read", rule: str = "allowlist", **more: Any) -> int:
        body = CallBody(caller, tool, {}, "d" * 64, "deny", rule, **more)
        return self.store.transact(lambda tables: tables.append("refused", 0, encode(body)))

    def waiting(self, caller: str = "ada", tool: str = "file/save") -> int:
        body = CallBody(caller, tool, {}, "d" * 64, "ask", "approval:effects", approval="a1")
        return self.store.transact(lambda tables: tables.append("waiting", 0, encode(body)))
