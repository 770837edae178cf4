"""The tools of a router: definitions that nobody here runs, functions, or those of an executor.

Looking for a tool compiles nothing and opens nothing. A gate is made when a model has chosen, of the candidates alone;
an executor when the first call runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from msgspec import Struct, structs
from msgspec.structs import replace

from rightcall.catalog.sources import flatten
from rightcall.catalog.tool import Tool
from rightcall.errors import ConfigError
from rightcall.gate.offering import Kept
from rightcall.policy.settings import Policy
from rightcall.policy.watch import load_policy
from rightcall.router.index import FOUND, MOST_FOUND, PARAMETERS, FollowingIndex, Hit, describe_hit, texts_of
from rightcall.router.lexical import ToolText, tool_texts
from rightcall.router.packets import with_written
from rightcall.router.ranking import FEW, Ranker
from rightcall.router.ranking import FOUND as FOUND_OF_MANY
from rightcall.tools.functions import LocalTool

if TYPE_CHECKING:
    from rightcall.executor.executor import Executor, SyncExecutor
    from rightcall.executor.pipeline import Ask
    from rightcall.gate.gate import Gate


_MOST_GATES = 16
_MOST_IN_A_GATE = 200


class Offer(Struct, frozen=True, eq=False):
    """The tools that one caller may use, in order."""

    tools: Sequence[ToolText]
    by_name: Mapping[str, ToolText]
    of: object
    """What it was made of: another gate means other tools."""


class Near(Struct, frozen=True, eq=False):
    """The tools that are compared with a request; None: nothing is known of any. `hits`: as the index found them."""

    tools: Sequence[ToolText] | None
    hits: Sequence[Hit] | None = None


class Toolset:
    """`executor` is None as long as there is nothing that could run a call."""

    def __init__(self, tools: Any, policy: Any, ask: Ask | None) -> None:
        self.executor: Executor | None = None
        self._given: dict[str, Any] = {}
        self._functions: list[Any] = []
        self._texts: list[ToolText] = []
        self._policy_source, self._ask = policy, ask
        self._own = False
        self._offers: Kept[str, Offer] = Kept()
        self._gates: Kept[tuple[str, ...], Gate] = Kept(_MOST_GATES)
        self._index: FollowingIndex | None = None
        self._indexed: object = None
        self._alone = Lock()
        self._known = tools is not None
        self.ranker = Ranker()
        if not _is_tools(tools):
            self.executor = _executor(tools, policy, ask)
        else:
            self._policy = load_policy(policy)
            self._take(tools)

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._policy if self.executor is None else self.executor.policy

    def take_written(self, root: str) -> None:
        """For tools that no executor has, and so no folder: the examples that were written for them in this one."""
        self._texts = with_written(self._texts, root)

    def offer(self, caller: str) -> Offer:
        """The tools that a caller may use. Of an executor's, those that its policy lets this caller know of."""
        executor = self._theirs
        made_of: object = self._texts if executor is None else executor.gate

        def made() -> Offer:
            texts = self._texts if executor is None else _offered(executor, caller)
            return Offer(texts, {one.name: one for one in texts}, made_of)

        return self._offers.get(caller if executor is not None else "", made_of, made)

    def near(self, text: str, caller: str, limit: int = 0) -> Near:
        """The tools that are worth a closer look for a request: of few all, of many the nearest, `limit` at least."""
        offer = self.offer(caller)
        if len(offer.tools) <= FEW:
            return Near(offer.tools if self._known else None)
        with self._alone:
            index = self._following(offer)
            hits = index.search(text, max(limit, FOUND_OF_MANY), offer.by_name.__contains__, reasons=False)
        return Near([offer.by_name[hit.name] for hit in hits], hits)

    def _following(self, offer: Offer) -> FollowingIndex:
        """One index for all callers, in which only what has changed is done anew."""
        if self._index is None:
            from rightcall.router.index import FollowingIndex  # late: few tools need none

            self._index = FollowingIndex()
        if self._indexed is not offer.of:
            from rightcall.router.index import texts_of

            executor = self._theirs
            self._index.follow(
                offer.by_name if executor is None else texts_of(executor.gate.catalog.tools, executor.root)
            )
            self._indexed = offer.of
        return self._index

    @property
    def _theirs(self) -> Executor | None:
        """An executor that was given, whose policy says who may use what."""
        return None if self._own else self.executor

    def gate(self, names: Iterable[str]) -> Gate:
        """A gate that knows these tools, and the others too as long as they are not many: a call of any of them is
        known for one then. It is kept: every step of a request needs the same."""
        if self.executor is not None and not (self._own and self._given.keys() - self.executor.gate.catalog.tools):
            return self.executor.gate
        known = self._given.keys() if len(self._given) <= _MOST_IN_A_GATE else self._given.keys() & set(names)
        key = tuple(sorted(known))
        return self._gates.get(key, None, lambda: self._gate_of(key))

    def _gate_of(self, names: Iterable[str]) -> Gate:
        from rightcall.gate.gate import Gate

        given = {id(one): one for one in map(self._given.__getitem__, names)}
        return Gate(list(given.values()), self._policy)

    async def running(self) -> Executor | None:
        """The executor, open; None where nobody can run anything."""
        if self.executor is None and self._functions:
            self.executor, self._own = self._made(), True
        if self._own and self.executor is not None:
            await self.executor.__aenter__()  # does nothing where it is open
        return self.executor

    async def join(self) -> None:
        """Wait for the servers of an executor that was given, so that a list of its tools holds up nobody."""
        if self._theirs is not None:
            await self._theirs.join()

    async def close(self) -> None:
        """What was opened here is closed; an executor that was given stays open."""
        if self._own and self.executor is not None:
            await self.executor.__aexit__()

    def _made(self) -> Executor:
        from rightcall.executor.executor import Executor

        source = self._policy_source
        if source is None:  # who hands a function to a router means it to be used; what it may do is another question
            source = {"policy": {"allow": [one.name for one in self._texts]}}
        return Executor.open(
            ".", source, tools=self._functions, store="memory", ask=self._ask, code=False, servers=False
        )

    def _take(self, tools: Any) -> None:
        for one in _listed(tools):
            texts = tool_texts([one])
            self._texts += texts
            self._given |= {text.name: structs.asdict(one) if isinstance(one, ToolText) else one for text in texts}
            if callable(one) and not isinstance(one, type):
                self._functions.append(one)


def _offered(executor: Executor, caller: str) -> list[ToolText]:
    """The tools that an executor's policy lets a caller know of, with their examples."""
    known = texts_of(executor.gate.catalog.tools, executor.root)
    return [
        replace(one, examples=known[one.name].examples) if one.name in known else one
        for one in tool_texts(executor.definitions(caller, "mcp"))
    ]


def _is_tools(tools: Any) -> bool:
    return tools is None or isinstance(tools, (Mapping, list, tuple, str, PathLike)) or callable(tools)


def _listed(tools: Any) -> list[Any]:
    if tools is None:
        return []
    if isinstance(tools, (list, tuple)):
        return list(cast("Iterable[Any]", tools))
    if callable(tools):
        return [tools]
    return [one[0] if isinstance(one, tuple) else one for one in flatten(tools)]


def _executor(given: Any, policy: Any, ask: Ask | None) -> Executor:
    from rightcall.executor.executor import Executor

    if not isinstance(given, Executor):
        kind = type(given).__name__
        raise ConfigError(
            f"`tools` must be a list of tools (definitions or functions), an Executor or None, not {kind}"
        )
    if policy is not None or ask is not None:
        word = "policy" if policy is not None else "ask"
        raise ConfigError(f"`{word}` is the executor's own: give it to `Executor.open`, not to the router")
    return given


# ── offering ──
# Which of many tools to show a model: those nearest to the request, of those that the caller may use.
#
#     offering = Offering(executor)
#     offering.definitions("what changed in the parser?", caller="teacher")   # ten of them, the nearest first
#     await run_loop(model, offering.cut("what changed in the parser?"), "…", caller="teacher")
#     executor.register(search_tool(executor))                                # or the model looks for them itself
#
# Nothing here permits or forbids a call: what is left out of a list can still be called by whoever may call it.

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
        return [describe_hit(hit, tools[hit.name].description, tools[hit.name].schema) for hit in hits]

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
                self._index.follow(texts_of(tools, self._executor.root))
                self._of = gate
            usable = self._usable.get(caller, gate, lambda: self._usable_by(caller))
            return self._index.rank(text, limit, lambda name: name in usable and name != without), tools

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

    @property
    def note_turns(self) -> Callable[..., None]:
        return self._executor.note_turns

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)


def search_tool(executor: Executor | SyncExecutor, name: str = SEARCH) -> LocalTool:
    """A tool to find tools with, for models that are not shown them all: `executor.register(search_tool(executor))`.
    Whoever calls it finds what they may use, and nothing else."""
    offering = Offering(executor)

    def search(query: str, limit: int = FOUND, caller: str = _DEFAULT) -> dict[str, Any]:
        return {"tools": offering.found(query, caller, min(limit, MOST_FOUND))}

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
