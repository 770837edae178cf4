"""Visits of the doctor that a page has asked for: each runs in a thread of its own, says how far it is, and leaves a
report. Reports are kept as long as the console runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from secrets import token_hex
from typing import Any, Final, Literal

from msgspec import Struct

from rightcall.base.text import escaped
from rightcall.errors import RightCallError

MOST: Final = 20
"""Reports that are kept; the oldest goes first."""

VisitKind = Literal["checks", "model"]
"""A look around on this machine, or questions to a model."""


class Doing(Struct, frozen=True):
    """How far a visit is; `of` is 0 where nobody can say."""

    done: int = 0
    of: int = 0
    doing: str = "starting"


Told = Callable[[Doing], None]
Work = Callable[[Told], Mapping[str, Any]]


class Visit:
    """One visit. It is written by its own thread alone, a whole value at a time."""

    def __init__(self, kind: VisitKind, title: str, at: str, by: str) -> None:
        self.id = token_hex(4)
        self.kind = kind
        self.title = title
        self.at = at
        """UTC."""
        self.by = by
        self.doing = Doing()
        self.report: Mapping[str, Any] | None = None
        self.problem = ""

    @property
    def is_running(self) -> bool:
        return self.report is None and not self.problem

    def run(self, work: Work) -> None:
        try:
            self.report = work(self._tell)
        except RightCallError as fault:
            self.problem = escaped(str(fault), 500)
        except Exception as fault:  # noqa: BLE001  nobody else would hear of it
            self.problem = f"it failed: {escaped(str(fault) or type(fault).__name__, 300)}"

    def _tell(self, doing: Doing) -> None:
        self.doing = doing


class Visits:
    """Those of one console; one of each kind runs at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: dict[str, Visit] = {}

    def all(self, kind: VisitKind) -> list[Visit]:
        """The newest first."""
        with self._lock:
            return [one for one in reversed(self._all.values()) if one.kind == kind]

    def find(self, id: str) -> Visit | None:
        with self._lock:
            return self._all.get(id)

    def start(self, visit: Visit, work: Work) -> Visit:
        """Begins it; where one of its kind runs already, that one is returned."""
        with self._lock:
            for one in self._all.values():
                if one.kind == visit.kind and one.is_running:
                    return one
            self._keep(visit)
        threading.Thread(target=visit.run, args=(work,), name="rightcall-doctor", daemon=True).start()
        return visit

    def add(self, visit: Visit) -> None:
        """One whose report came from elsewhere."""
        with self._lock:
            self._keep(visit)

    def _keep(self, visit: Visit) -> None:
        self._all[visit.id] = visit
        ended = [one for one in self._all.values() if one.kind == visit.kind and not one.is_running]
        for one in ended[: max(0, len(ended) - MOST)]:
            del self._all[one.id]
