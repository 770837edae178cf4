"""Which of many tools to show a model: those nearest to the request, of those that the caller may use.

    offering = Offering(executor)
    offering.definitions("what changed in the parser?", caller="teacher")   # ten of them, the nearest first
    await run_loop(model, offering.cut("what changed in the parser?"), "…", caller="teacher")
    executor.register(search_tool(executor))                                # or the model looks for them itself

Nothing here permits or forbids a call: what is left out of a list can still be called by whoever may call it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from rightcall.catalog import Tool
from rightcall.errors import ConfigError
from rightcall.execute.functions import LocalTool
from rightcall.offering_kept import Kept
from rightcall.route.following import FollowingIndex, texts_of
from rightcall.route.index import Hit
from rightcall.route.searching import FOUND, MOST, PARAMETERS, described

if TYPE_CHECKING:
    from rightcall.executor import Executor
    from rightcall.executor_sync import SyncExecutor
    from rightcall.gate import Gate

Shape = Literal["openai", "anthropic", "mcp"]

LIMIT: Final = 10
"""Tools that are shown for one request."""
SEARCH: Final = "tools/search"
_DEFAULT: Final = "default"
_CALLER: Final = "caller"


class Offering:
    """The tools of one executor, found by what they are for. It follows what is registered and what the policy says,
    and can be used from several threads."""

    def __init__(self, executor: Executor | SyncExecutor) -> None:
        self._executor = cast("Executor", executor)  # the twin has all that is needed here
        self._index = FollowingIndex()
        self._alone = threading.Lock()
        self._of: object = None
        self._usable: Kept[str, frozenset[str]] = Kept()

    def nearest(self, request: str, caller: str = _DEFAULT, limit: int = LIMIT) -> list[Hit]:
        """The tools nearest to a request that this caller may use, best first, with why they match."""
        return self._search(request, caller, limit)[0]

    def prompt(self, request: str, caller: str = _DEFAULT, limit: int = LIMIT) -> str:
        """As `Executor.prompt`, of the tools nearest to the request."""
        return self._executor.prompt(caller, only=self._names(request, caller, limit))

    def definitions(
        self, request: str, caller: str = _DEFAULT, shape: Shape = "openai", limit: int = LIMIT
    ) -> list[Any]:
        """As `Executor.definitions`, of the tools nearest to the request."""
        return self._executor.definitions(caller, shape, only=self._names(request, caller, limit))

    def cut(self, request: str, limit: int = LIMIT) -> CutTools:
        """The executor as it is for one request, for the tool loop: its lists hold the nearest tools only."""
        return CutTools(self, self._executor, request, limit)

    def found(self, query: str, caller: str = _DEFAULT, limit: int = FOUND) -> list[dict[str, Any]]:
        """What a search says of the tools it finds: enough to call them."""
        hits, tools = self._search(query, caller, limit, without=SEARCH)
        return [described(hit, tools[hit.name].description, tools[hit.name].schema) for hit in hits]

    def _names(self, request: str, caller: str, limit: int) -> list[str]:
        """A model that can look for tools keeps that one, whatever the request is."""
        return [*(hit.name for hit in self.nearest(request, caller, limit)), SEARCH]

    def _search(self, text: str, caller: str, limit: int, without: str = "") -> tuple[list[Hit], Mapping[str, Tool]]:
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - programs without types, too
            raise ConfigError(f"the request must be a text, not {type(text).__name__}")
        if not isinstance(limit, int) or limit < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - likewise
            raise ConfigError(f"`limit` must be a whole number from 1, not {limit!r:.40}")
        gate = self._executor.gate
        tools = gate.catalog.tools
        with self._alone:
            if gate is not self._of:
                self._index.follow(texts_of(tools))
                self._of = gate
            usable = self._usable.get(caller, gate, lambda: self._usable_by(caller))
            return self._index.search(text, limit, lambda name: name in usable and name != without), tools

    def _usable_by(self, caller: str) -> frozenset[str]:
        return frozenset(one["name"] for one in self._executor.definitions(caller, "mcp"))


class CutTools:
    """An executor whose lists are cut to one request. Everything else is the executor's own, the loop's calls too."""

    def __init__(self, offering: Offering, executor: Executor, request: str, limit: int) -> None:
        self._offering, self._executor = offering, executor
        self._request, self._limit = request, limit

    def prompt(self, caller: str = _DEFAULT) -> str:
        return self._offering.prompt(self._request, caller, self._limit)

    def definitions(self, caller: str = _DEFAULT, shape: Shape = "openai") -> list[Any]:
        return self._offering.definitions(self._request, caller, shape, self._limit)

    @property
    def gate(self) -> Gate:
        return self._executor.gate

    @property
    def rounds(self) -> int:
        return self._executor.rounds

    @property
    def run_all(self) -> Callable[..., Any]:
        return self._executor.run_all

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)


def search_tool(executor: Executor | SyncExecutor, name: str = SEARCH) -> LocalTool:
    """A tool to find tools with, for models that are not shown them all: `executor.register(search_tool(executor))`.
    Whoever calls it finds what they may use, and nothing else."""
    offering = Offering(executor)

    def search(query: str, limit: int = FOUND, caller: str = _DEFAULT) -> dict[str, Any]:
        return {"tools": offering.found(query, caller, min(limit, MOST))}

    return LocalTool(
        name=name,
        function=search,
        definition={
            "name": name,
            "description": "Find tools by what is to be done: their names, what they are for and what they take.",
            "parameters": PARAMETERS,
        },
        effects=("read",),
        example={"query": "read a file"},
        caller=_CALLER,
    )
