"""Executors for tests: a clock that stands still, tools that leave a trace, both stores."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, MemoryStore, SqliteStore, tool
from rightcall.record.tables import ManualClock, Store


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(10**12)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Store]:
    """Each test runs on both."""
    made = MemoryStore(clock) if request.param == "memory" else SqliteStore(str(tmp_path / "audit.db"), clock)
    yield made
    made.close()


class Workshop:
    """A synchronous executor with a few tools; `trace` is what they did."""

    def __init__(self, root: Path, policy: Any, store: Store, **options: Any) -> None:
        self.trace: list[Any] = []
        self.store = store
        self.executor = Executor.open_sync(root, policy, store=store, **options)

        @tool(effects=["read"])
        def add(a: int, b: int) -> int:
            """Add two numbers."""
            self.trace.append(("add", a, b))
            return a + b

        @tool(effects=["write"], paths=["path"])
        def save(path: str, content: str = "") -> str:
            """Save a file."""
            self.trace.append(("save", path, content))
            (root / path).write_text(content)
            return f"saved {path}"

        @tool(effects=["read"])
        def fail(reason: str) -> None:
            """Always fails."""
            raise ValueError(reason)

        def undeclared(n: int = 0) -> int:
            """Says nothing of its effects."""
            self.trace.append(("undeclared", n))
            return n

        self.executor.register(add, save, fail, undeclared)

    def run(self, name: str, arguments: Any = None, caller: str = "teacher", **options: Any) -> Any:
        return self.executor.run({"name": name, "arguments": {} if arguments is None else arguments}, caller, **options)

    def entries(self) -> list[Any]:
        return self.store.look(lambda tables: list(tables.entries()))

    def close(self) -> None:
        self.executor.close()


@pytest.fixture
def workshop(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`workshop(policy)` opens one; all are closed in the end. The process works in the root, as most do."""
    monkeypatch.chdir(tmp_path)
    opened: list[Workshop] = []

    def opener(policy: Any = None, **options: Any) -> Workshop:
        opened.append(Workshop(tmp_path, policy, store, **options))
        return opened[-1]

    yield opener
    for one in opened:
        one.close()
