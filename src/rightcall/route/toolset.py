"""The tools of a router: definitions that nobody here runs, functions, or those of an executor.

Looking for a tool compiles nothing and opens nothing. A gate is made when a model has chosen, of the candidates alone;
an executor when the first call runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, structs

from rightcall.catalog.definitions import flatten
from rightcall.config import Policy
from rightcall.config_load import load_policy
from rightcall.errors import ConfigError
from rightcall.offering_kept import Kept
from rightcall.route.ranking import FEW, Ranker
from rightcall.route.words import ToolText, tool_texts

if TYPE_CHECKING:
    from rightcall.executor import Executor
    from rightcall.executor_asking import Ask
    from rightcall.gate import Gate
    from rightcall.route.following import FollowingIndex
    from rightcall.route.index import Hit

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
        self.plain_ranker = Ranker(meaning=False)
        """By words alone: nearly as good at whether one of many tools is needed, and in half the time."""
        if not _is_tools(tools):
            self.executor = _executor(tools, policy, ask)
        else:
            self._policy = load_policy(policy)
            self._take(tools)

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._policy if self.executor is None else self.executor.policy

    def offer(self, caller: str) -> Offer:
        """The tools that a caller may use. Of an executor's, those that its policy lets this caller know of."""
        executor = self._theirs
        made_of: object = self._texts if executor is None else executor.gate

        def made() -> Offer:
            texts = self._texts if executor is None else tool_texts(executor.definitions(caller, "mcp"))
            return Offer(texts, {one.name: one for one in texts}, made_of)

        return self._offers.get(caller if executor is not None else "", made_of, made)

    def near(self, text: str, caller: str, limit: int = 0) -> Near:
        """The tools that are worth a closer look for a request: of few all, of many the nearest, `limit` at least."""
        offer = self.offer(caller)
        if len(offer.tools) <= FEW:
            return Near(offer.tools if self._known else None)
        with self._alone:
            index = self._following(offer)
            hits = index.search(text, max(limit, FEW), offer.by_name.__contains__, reasons=False)
        return Near([offer.by_name[hit.name] for hit in hits], hits)

    def _following(self, offer: Offer) -> FollowingIndex:
        """One index for all callers, in which only what has changed is done anew."""
        if self._index is None:
            from rightcall.route.following import FollowingIndex  # late: few tools need none

            self._index = FollowingIndex()
        if self._indexed is not offer.of:
            from rightcall.route.following import texts_of

            executor = self._theirs
            self._index.follow(offer.by_name if executor is None else texts_of(executor.gate.catalog.tools))
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
        from rightcall.gate import Gate

        given = {id(one): one for one in map(self._given.__getitem__, names)}
        return Gate(list(given.values()), self._policy)

    async def running(self) -> Executor | None:
        """The executor, open; None where nobody can run anything."""
        if self.executor is None and self._functions:
            self.executor, self._own = self._made(), True
        if self._own and self.executor is not None:
            await self.executor.__aenter__()  # does nothing where it is open
        return self.executor

    async def close(self) -> None:
        """What was opened here is closed; an executor that was given stays open."""
        if self._own and self.executor is not None:
            await self.executor.__aexit__()

    def _made(self) -> Executor:
        from rightcall.executor import Executor

        source = self._policy_source
        if source is None:  # who hands a function to a router means it to be used; what it may do is another question
            source = {"policy": {"allow": [one.name for one in self._texts]}}
        return Executor.open(".", source, tools=self._functions, store="memory", ask=self._ask, code=False)

    def _take(self, tools: Any) -> None:
        for one in _listed(tools):
            texts = tool_texts([one])
            self._texts += texts
            self._given |= {text.name: structs.asdict(one) if isinstance(one, ToolText) else one for text in texts}
            if callable(one) and not isinstance(one, type):
                self._functions.append(one)


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
    from rightcall.executor import Executor

    if not isinstance(given, Executor):
        kind = type(given).__name__
        raise ConfigError(
            f"`tools` must be a list of tools (definitions or functions), an Executor or None, not {kind}"
        )
    if policy is not None or ask is not None:
        word = "policy" if policy is not None else "ask"
        raise ConfigError(f"`{word}` is the executor's own: give it to `Executor.open`, not to the router")
    return given
