"""The tools of a router: definitions that nobody here runs, functions, or those of an executor.

Looking for a tool compiles nothing and opens nothing. A gate is made when a model has chosen, of the candidates alone;
an executor when the first call runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from sys import byteorder
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Final, Literal, Self, cast
from zlib import crc32

from msgspec import MsgspecError, Struct, msgpack, structs
from msgspec.structs import replace

from rightcall.catalog.catalog import Kept
from rightcall.catalog.sources import flatten
from rightcall.catalog.tool import Tool
from rightcall.errors import ConfigError, StoreError
from rightcall.policy.settings import Policy
from rightcall.policy.watch import load_policy
from rightcall.router import packets, vectors
from rightcall.router.lexical import (
    Lexicon,
    Request,
    Saved,
    Stems,
    Told,
    ToolText,
    best_possible,
    fields_of,
    impacts,
    read_request,
    stems_of,
    told_of,
    tool_texts,
    why,
)
from rightcall.router.packets import shipped_examples, with_written
from rightcall.router.ranking import FEW, Ranker
from rightcall.router.ranking import FOUND as FOUND_OF_MANY
from rightcall.router.vectors import Table, rows_of
from rightcall.tools.functions import LocalTool

if TYPE_CHECKING:
    from rightcall.executor.executor import Executor
    from rightcall.executor.pipeline import Ask
    from rightcall.executor.sync import SyncExecutor
    from rightcall.gate.gate import Gate

# ── the file ──
# An index as a file: what it is, a check, then tools, words and vectors as plain data. Nothing in it is ever executed.
#
#     rightcall-index 1 little\n   length of the head (4 bytes)   the head   the tools   the words   the vectors
#
# The first line names the version and the order of bytes; a file with any other is refused. Head, tools and words are
# msgpack; vectors lie as in memory, in half precision.

VERSION = 1
MOST = 512 * 1024 * 1024
_MARK = f"rightcall-index {VERSION} {byteorder}\n".encode()
_KIND = b"rightcall-index "
_LENGTH = 4


class Head(Struct, frozen=True):
    sizes: tuple[int, int, int]
    """Bytes of the tools, the words, the vectors."""
    digest: str
    """The weights that made the vectors."""
    check: int


def save(path: str | PathLike[str], tools: list[ToolText], words: Saved, rows: bytes) -> None:
    parts = (msgpack.encode(tools), msgpack.encode(words), rows)
    body = b"".join(parts)
    sizes = (len(parts[0]), len(parts[1]), len(parts[2]))
    head = msgpack.encode(Head(sizes, vectors.digest() if rows else "", crc32(body)))
    try:
        packets.write(fspath(path), b"".join((_MARK, len(head).to_bytes(_LENGTH, "little"), head, body)))
    except OSError as fault:
        raise StoreError(f"the index cannot be saved to {fspath(path)}: {fault.strerror}") from fault


def load(path: str | PathLike[str]) -> tuple[list[ToolText], Saved, bytes]:
    """Tools, words and vectors; no vectors where they were made with other weights than those that are here."""
    name = fspath(path)
    try:
        data = packets.read(name, MOST)
    except OSError as fault:
        raise StoreError(f"the index {name} cannot be read: {fault.strerror or fault}") from fault
    if not data.startswith(_KIND):
        raise StoreError(f"{name} is not a tool index: make one with ToolIndex(tools).save(path)", "corrupt")
    if not data.startswith(_MARK):
        raise StoreError(f"the index {name} is of another version or machine: make it again", "version")
    try:
        return _parts(memoryview(data)[len(_MARK) :])
    except (MsgspecError, ValueError) as fault:
        raise StoreError(f"the index {name} is damaged ({fault}): make it again", "corrupt") from fault


def _parts(data: memoryview) -> tuple[list[ToolText], Saved, bytes]:
    start = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    head = msgpack.decode(data[_LENGTH:start], type=Head)
    body = data[start:]
    first, second, third = head.sizes
    if min(head.sizes) < 0 or len(body) != first + second + third:
        raise ValueError(f"{len(body)} bytes where {first + second + third} were saved")
    if crc32(body) != head.check:
        raise ValueError("its check does not fit")
    tools = msgpack.decode(body[:first], type=list[ToolText])
    words = msgpack.decode(body[first : first + second], type=Saved)
    fits = third == len(tools) * vectors.ROW_BYTES and head.digest == vectors.digest()
    return tools, words, bytes(body[first + second :]) if fits else b""


# ── index ──
# Finding the right tools among thousands, in a millisecond and without a model.
#
#     words    BM25 over name, description, arguments and their descriptions      always
#     meaning  static vectors of the request and of the tool (`vectors`)          with the extra `route`
#
# Both are set in standard deviations over all tools and added. A tool is added or removed without looking at the
# others.


class Hit(Struct, frozen=True):
    """A tool that was found."""

    name: str
    score: float
    """For sorting; comparable within one search only."""
    lexical: float
    """How much of the request its words cover, 0 to 1, rare words counting more."""
    meaning: float
    """How near its meaning is, -1 to 1; 0 without the extra."""
    why: tuple[str, ...] = ()


class ToolIndex:
    """The tools that can be found. Any thread may search while another adds.

    >>> index = ToolIndex([{"name": "get_weather", "description": "The forecast for a city"}, {"name": "add_numbers"}])
    >>> [(hit.name, hit.why[0]) for hit in index.search("What will the weather be?", 1)]
    [('get_weather', 'words: weather')]
    """

    def __init__(self, tools: Any = (), *, meaning: bool | None = None) -> None:
        """`meaning`: whether vectors are used; None: where the extra is installed."""
        self._lock = RLock()
        self._tools: list[ToolText | None] = []
        self._number: dict[str, int] = {}
        self._free: list[int] = []
        self._told: dict[str, Told] = {}
        self._lexicon = Lexicon()
        self._table = None
        if vectors.available() if meaning is None else meaning:
            self._table = Table(self._lexicon)
        self.add_all(tools)

    def __len__(self) -> int:
        return len(self._number)

    def __contains__(self, name: object) -> bool:
        return name in self._number

    @property
    def meaning(self) -> bool:
        """Whether tools are found by meaning too."""
        return self._table is not None

    def tools(self) -> list[ToolText]:
        with self._lock:
            return [tool for tool in self._tools if tool is not None]

    def add(self, tool: Any) -> None:
        """One tool in any shape of definition. Another of the same name is replaced."""
        self.add_all(tool if isinstance(tool, ToolText) else [tool])

    def add_all(self, tools: Any) -> None:
        """Anything that `Gate` takes as tools; of two with one name the later one counts."""
        fresh = list({tool.name: tool for tool in tool_texts(tools)}.values())
        rows = self._embedded(fresh)  # outside the lock: searches go on meanwhile
        with self._lock:
            numbers = [self._put(tool) for tool in fresh]
            if self._table is not None and rows is not None:
                self._table.put(numbers, rows)

    def _embedded(self, tools: Sequence[ToolText]) -> Any:
        if self._table is None or not tools:
            return None
        return rows_of([fields_of(tool) for tool in tools])

    def _put(self, tool: ToolText) -> int:
        self.remove(tool.name)
        if self._free:
            number = self._free.pop()
            self._tools[number] = tool
        else:
            number = len(self._tools)
            self._tools.append(tool)
        self._number[tool.name] = number
        counted = impacts(_stems(tool))
        self._lexicon.add(number, counted)
        if self._table is not None:
            self._table.forget(counted)
        return number

    def remove(self, name: str) -> bool:
        """Whether there was such a tool."""
        with self._lock:
            number = self._number.pop(name, None)
            tool = None if number is None else self._tools[number]
            if number is None or tool is None:
                return False
            counted = impacts(_stems(tool))
            self._lexicon.remove(number, counted)
            if self._table is not None:
                self._table.drop(number)
                self._table.forget(counted)
            self._tools[number] = None
            self._told.pop(name, None)
            self._free.append(number)
            return True

    def search(
        self, text: str, limit: int = 5, wanted: Callable[[str], bool] | None = None, *, reasons: bool = True
    ) -> list[Hit]:
        """The nearest tools, best first. Without the extra only those that share a word with the request. `wanted`:
        only those whose names it says yes to; the others take nobody's place. `reasons`: whether a hit says why."""
        if limit < 1:
            raise ValueError(f"limit must be 1 or more; got {limit}")
        request = read_request(text)
        with self._lock:
            weights = self._lexicon.weights(request)
            asked, found = limit, self._ranked(text, weights, limit)
            while wanted is not None and len(found) == asked:
                if sum(tool is not None and wanted(tool.name) for tool, *_ in found) >= limit:
                    break
                asked *= 4
                found = self._ranked(text, weights, asked)
        if wanted is not None:
            found = [one for one in found if one[0] is not None and wanted(one[0].name)][:limit]
        most = best_possible(request) or 1.0
        return [
            self._hit(tool, request if reasons else None, score, min(1.0, lexical / most), meaning)
            for tool, score, lexical, meaning in found
            if tool is not None
        ]

    def _hit(self, tool: ToolText, request: Request | None, score: float, lexical: float, meaning: float) -> Hit:
        reasons = () if request is None else why(request, self._told_of(tool), meaning)
        return Hit(tool.name, round(score, 4), round(lexical, 4), round(meaning, 4), reasons)

    def _told_of(self, tool: ToolText) -> Told:
        told = self._told.get(tool.name)
        if told is None:
            told = told_of(tool)
            with self._lock:
                if self._number.get(tool.name) is not None and self._tools[self._number[tool.name]] is tool:
                    self._told[tool.name] = told
        return told

    def _ranked(
        self, text: str, weights: Mapping[str, float], limit: int
    ) -> list[tuple[ToolText | None, float, float, float]]:
        if self._table is not None:
            ranked = self._table.rank(text, weights, limit)
        else:
            ranked = [(number, score, score, 0.0) for number, score in self._lexicon.best(weights, limit)]
        return [(self._tools[number], score, lexical, meaning) for number, score, lexical, meaning in ranked]

    def save(self, path: str | PathLike[str]) -> None:
        """Into one file, for `load`."""

        with self._lock:
            live = [number for number, tool in enumerate(self._tools) if tool is not None]
            save(path, self.tools(), self._lexicon.saved(live), self._table.saved(live) if self._table else b"")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """An index that was saved. Raises StoreError for what is none, is damaged, or is of another version or byte
        order."""
        tools, words, rows = load(path)
        index = cls()
        if index._table is not None and not rows:
            index.add_all(tools)  # saved without meanings, or with those of other weights
            return index
        index._tools += tools
        index._number = {tool.name: number for number, tool in enumerate(tools)}
        index._lexicon.restore(len(tools), words)
        if index._table is not None:
            index._table.restore(range(len(tools)), rows)
        return index


def _stems(tool: ToolText) -> Stems:
    return stems_of(fields_of(tool))


# ── following ──
# An index that follows a changing set of tools: only what came, went or changed is looked at again.


def texts_of(tools: Mapping[str, Tool], root: str) -> dict[str, ToolText]:
    """The tools of a catalogue as an index reads them, with the examples that were written for them in this folder."""
    texts = [
        ToolText(tool.name, tool.description, tool.schema, tool.rules.examples or shipped_examples().get(name, ()))
        for name, tool in tools.items()
    ]
    return dict(zip(tools, with_written(texts, root), strict=True))


_WORTH_SHOWING: Final = 0.1
"""The confidence in a tool that shares no word with what is searched for."""


class FollowingIndex:
    """Not for several threads at once."""

    def __init__(self) -> None:
        self._index = ToolIndex()
        self._known: dict[str, ToolText] = {}
        self._ranker: Ranker | None = None

    def follow(self, tools: Mapping[str, ToolText]) -> int:
        """Make the index that of these tools, by the names they are found under; how many it had to touch."""
        gone = [name for name, tool in self._known.items() if tools.get(name) != tool]
        for name in gone:
            self._index.remove(name)
            del self._known[name]
        new = {name: tool for name, tool in tools.items() if name not in self._known}
        self._index.add_all(list(new.values()))
        self._known |= new
        return len({*gone, *new})

    def search(self, text: str, limit: int, wanted: Callable[[str], bool], *, reasons: bool = True) -> list[Hit]:
        """The nearest of those that are wanted, best first. What is not wanted takes nobody's place."""
        return self._index.search(text, limit, wanted, reasons=reasons)

    def rank(self, text: str, limit: int, wanted: Callable[[str], bool]) -> list[Hit]:
        """The same in the order of the router, which knows the examples of requests too; a tool that only they speak
        for is found as well."""
        self._ranker = self._ranker or Ranker()
        found = {hit.name: hit for hit in self.search(text, max(limit, FOUND_OF_MANY), wanted)}
        pool = [tool for name, tool in self._known.items() if wanted(name)]
        hits = None
        if len(pool) > FEW:
            hits = list(found.values())
            pool = [self._known[name] for name in found]
        ranked = self._ranker.rank(text, pool, limit, hits)
        return [
            found.get(one.name) or Hit(one.name, one.score, 0.0, 0.0, one.why)
            for one in ranked
            if one.name in found or one.confidence >= _WORTH_SHOWING
        ]


# ── searching ──
# A search for tools as a tool: what it takes, and what it says of one that it finds.

FOUND: Final = 5
MOST_FOUND: Final = 50
"""Tools that one search gives."""
PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "description": "What is to be done, in a few words."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_FOUND,
            "description": f"At most this many tools (default {FOUND}).",
        },
    },
    "required": ["query"],
}


def describe_hit(hit: Hit, description: str, parameters: Any) -> dict[str, Any]:
    """Enough to call it, and why it is here. The description is its author's, as in any list of tools."""
    return {"name": hit.name, "description": description, "parameters": parameters, "why": list(hit.why)}


# ── toolset ──

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
        if not (tools is None or isinstance(tools, (Mapping, list, tuple, str, PathLike)) or callable(tools)):
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
            self._index = FollowingIndex()
        if self._indexed is not offer.of:
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
        self._alone = Lock()
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
