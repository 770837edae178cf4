"""Finding the right tools among thousands, in a millisecond and without a model.

    words    BM25 over name, description, arguments and their descriptions      always
    meaning  static vectors of the request and of the tool (`vectors`)          with the extra `route`

Both are set in standard deviations over all tools and added. A tool is added or removed without looking at the others.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from sys import byteorder
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Self
from zlib import crc32

from msgspec import MsgspecError, Struct, msgpack

from rightcall.catalog.tool import Tool
from rightcall.errors import StoreError
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

if TYPE_CHECKING:
    from rightcall.router.ranking import Ranker

# ── the file ──
# An index as a file: what it is, a check, then tools, words and vectors as plain data. Nothing in it is ever executed.
#
#     rightcall-index 1\n   the head   the tools   the words   the vectors (half precision)
#
# Head, tools and words are msgpack. Numbers lie as in memory: a file of a machine that orders bytes otherwise is
# foreign.

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
            from rightcall.router.vectors import Table  # late: it needs the extra

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
        from rightcall.router.vectors import rows_of

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
        """An index that was saved. Raises StoreError for what is none, is damaged or comes from a newer version."""

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
        from rightcall.router.ranking import FEW, FOUND, Ranker  # late: a search alone needs no ranking

        self._ranker = self._ranker or Ranker()
        found = {hit.name: hit for hit in self.search(text, max(limit, FOUND), wanted)}
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
