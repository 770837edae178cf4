"""Finding the right tools among thousands, in a millisecond and without a model.

    words    BM25 over name, description, arguments and their descriptions      always
    meaning  static vectors of the request and of the tool (`vectors`)          with the extra `route`

Both are set in standard deviations over all tools and added. A tool is added or removed without looking at the others.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from threading import RLock
from typing import Any, Self

from msgspec import Struct

from rightcall.route import vectors
from rightcall.route.index_lexical import Lexicon, Request, Stems, best_possible, impacts, read_request, stems_of
from rightcall.route.index_why import Told, told_of, why
from rightcall.route.words import ToolText, fields_of, tool_texts


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
            from rightcall.route.vectors_table import Table  # late: it needs the extra

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
        from rightcall.route.vectors_table import rows_of

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
        from rightcall.route.index_file import save  # late: most indexes are never saved

        with self._lock:
            live = [number for number, tool in enumerate(self._tools) if tool is not None]
            save(path, self.tools(), self._lexicon.saved(live), self._table.saved(live) if self._table else b"")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """An index that was saved. Raises StoreError for what is none, is damaged or comes from a newer version."""
        from rightcall.route.index_file import load

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
