"""What texts mean, as vectors: the sum of the vectors of their word pieces, made as long as one. No model runs.

The table is ours: 22,000 pieces of words, 256 numbers each, learned so that a request lies near the tool it means
(docs/decisions/0044). It is read in plain Python, a piece at a time. With the extra `route`,
which is numpy, an index of thousands of tools is searched by meaning as well.
"""

import re
import zlib
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from importlib.util import find_spec
from math import sqrt
from operator import mul
from sys import byteorder, modules
from typing import TYPE_CHECKING, Any
from unicodedata import category, normalize

from rightcall.errors import RightCallError
from rightcall.router.lexical import Fields, Lexicon, name_values

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Matrix = NDArray[numpy.float32]
    Numbers = NDArray[numpy.intp]

Vector = tuple[float, ...]

SIZE = 256
ROW_BYTES = 2 * SIZE
"""Of one saved vector, in half precision."""
REQUEST_PIECES, TOOL_PIECES = 46, 70
"""Pieces of a text that are looked at, as they were when the table was learned."""
_LONGEST = 4_000
_LONGEST_WORD = 60
_LONGEST_DESCRIPTION = 300
_MOST_KNOWN = 30_000
_KIND = "rightcall-vectors 1"
_SPECIAL = 4
"""The first pieces stand for no text."""

_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")
_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")


_FINE = 2**17
"""Scales are whole numbers in sums: at most 2,500 then, so that 70 rows fit into 32 bits."""
_UNSIGNED = bytes((number + 128) % 256 for number in range(256))


def _widened(values: bytes) -> int:
    spaced = bytearray(4 * len(values))
    spaced[::4] = values
    return int.from_bytes(spaced, "little")


class Pieces:
    """The table as it lies in the file."""

    def __init__(self, data: bytes) -> None:
        head, _, rest = data.partition(b"\n")
        *kind, count, size, length = head.decode().split()
        if " ".join(kind) != _KIND or int(size) != SIZE:
            raise RightCallError(f"the router's vectors are of another version: {head[:60]!r}")
        words = zlib.decompress(rest[: int(length)]).decode().split("\n")
        self.numbers = {word: number for number, word in enumerate(words)}
        start = int(length)
        self.scales = array("f", rest[start : start + 4 * int(count)])
        if byteorder == "big":
            self.scales.byteswap()
        self.rows = memoryview(rest)[start + 4 * int(count) :].cast("b")
        self.known: dict[str, tuple[int, ...]] = {}

    def pieces(self, text: str, most: int) -> list[int]:
        """The numbers of a text's pieces, in order."""
        small = text[:_LONGEST].lower()
        if not small.isascii():
            small = "".join(letter for letter in normalize("NFD", small) if category(letter) != "Mn")
        found: list[int] = []
        for word in _WORD.findall(small):
            known = self.known.get(word)
            if known is None:
                if len(self.known) > _MOST_KNOWN:
                    self.known.clear()
                known = self.known[word] = tuple(self._split(word))
            found += known
            if len(found) >= most:
                break
        return found[:most]

    def _split(self, word: str) -> list[int]:
        """The longest pieces first; nothing of a word that has a part unknown."""
        found: list[int] = []
        start, end, before = 0, len(word), ""
        if end > _LONGEST_WORD:
            return found
        while start < len(word):
            number = self.numbers.get(before + word[start:end])
            if number is not None and number >= _SPECIAL:
                found.append(number)
                start, end, before = end, len(word), "##"
            elif end - start > 1:
                end -= 1
            else:
                return []
        return found

    def embed(self, text: str, most: int) -> Vector:
        """Of length 1; all zero for a text without a known piece."""
        numbers = self.pieces(text, most)
        scales = [round(self.scales[number] * _FINE) for number in numbers]
        numpy: Any = modules.get("numpy")  # where something else has loaded it: the same whole numbers, sooner
        if numpy is not None and numbers:
            rows = numpy.frombuffer(self.rows, numpy.int8).reshape(-1, SIZE)[numbers]
            sums: list[int] = (numpy.array(scales) @ rows.astype(numpy.int64)).tolist()
        else:
            total = sum(map(mul, scales, map(self._wide, numbers)))
            middle = 128 * sum(scales)
            sums = [value - middle for value in memoryview(total.to_bytes(4 * SIZE, "little")).cast("I")]
        length = sqrt(sum(map(mul, sums, sums)))
        return tuple([value / length for value in sums]) if length > 0.0 else (0.0,) * SIZE

    def _wide(self, number: int) -> int:
        """A row as one long number with 32 bits for each of its own, which are 0 to 255: so a sum of rows is one sum,
        and takes a tenth of the time."""
        return _widened(bytes(self.rows[number * SIZE : (number + 1) * SIZE]).translate(_UNSIGNED))


@lru_cache(maxsize=1)
def table() -> Pieces:
    return Pieces(files("rightcall.router").joinpath("weights", "vectors.bin").read_bytes())


@lru_cache(maxsize=4)
def embed_request(text: str) -> Vector:
    """Kept for a while: the index asks for it, and then whoever compares what was found."""
    return table().embed(name_values(text[:_LONGEST]), REQUEST_PIECES)


def embed_tool(fields: Fields) -> Vector:
    """Name, description and arguments' names in one."""
    return table().embed(tool_sentence(fields), TOOL_PIECES)


def tool_sentence(fields: Fields) -> str:
    """A tool as the table was learned from.

    >>> tool_sentence(Fields("getForecast_v2", "The  weather.", (("cityName", ""), ("day", ""))))
    'get forecast v 2: The weather. (city name, day)'
    """
    described = " ".join(fields.description.split())[:_LONGEST_DESCRIPTION]
    arguments = ", ".join(spoken_name(name) for name, _ in fields.arguments[:20])
    return f"{spoken_name(fields.name)}: {described}" + (f" ({arguments})" if arguments else "")


def spoken_name(name: str) -> str:
    """A name as words."""
    return " ".join(_NAME.findall(name)).lower()


def near(one: Vector, other: Vector) -> float:
    """The cosine of two vectors of length 1."""
    return sum(map(mul, one, other))


class Stack:
    """Vectors side by side, compared with another in one go. Each of their 256 numbers is, for all of them, one long
    number as above: what a loop over pairs does in milliseconds takes 256 products so."""

    def __init__(self, vectors: Sequence[Vector]) -> None:
        self._count = len(vectors)
        self._scales = [max(map(abs, one)) / 127.0 or 1.0 for one in vectors]
        rows = [[round(value / scale) + 128 for value in one] for one, scale in zip(vectors, self._scales, strict=True)]
        self._sums = [sum(row) * _STEPS for row in rows]
        self._columns = [_widened(bytes(column)) for column in zip(*rows, strict=True)]

    def near(self, asked: Vector) -> list[float]:
        """The cosine with each of them, to within a thousandth."""
        factors = [round((value + 1.0) * _STEPS) for value in asked]
        total = sum(map(mul, factors, self._columns))
        raised = 128.0 * (sum(factors) - SIZE * _STEPS)
        sums = memoryview(total.to_bytes(4 * self._count, "little")).cast("I")
        return [
            (value - own - raised) * scale / _STEPS
            for value, own, scale in zip(sums, self._sums, self._scales, strict=True)
        ]


_STEPS = 2047


def mean(vectors: Sequence[Vector]) -> Vector:
    """Of length 1: the middle of several."""
    total = list(map(sum, zip(*vectors, strict=True)))
    length = sqrt(sum(map(mul, total, total)))
    return tuple([value / length for value in total]) if length > 0.0 else tuple(total)


def available() -> bool:
    """Whether an index can be searched by meaning: numpy is there. Loads nothing."""
    return find_spec("numpy") is not None


def digest() -> str:
    """Names the table, so that vectors saved with another are not compared with these."""
    return f"{_KIND}:{zlib.crc32(table().rows):08x}" if available() else ""


# ── the table ──
# The vectors of an index's tools, and its sums over thousands of tools at once.

MEANING = 1.6
"""How much the meaning counts where the words count 1."""


def rows_of(fields: Sequence[Fields]) -> "Matrix":
    """The vectors of tools, for `Table.put`."""
    import numpy

    pieces = table()
    values = numpy.frombuffer(pieces.rows, numpy.int8).reshape(-1, SIZE)
    scales = numpy.frombuffer(pieces.scales, numpy.float32)
    rows = numpy.zeros((len(fields), SIZE), numpy.float32)
    for row, one in zip(rows, fields, strict=True):
        numbers = pieces.pieces(tool_sentence(one), TOOL_PIECES)
        if numbers:
            numpy.matmul(scales[numbers], values[numbers].astype(numpy.float32), out=row)
            length = float(row @ row) ** 0.5
            row *= 1.0 / length if length > 0.0 else 0.0
    return rows


class Table:
    """A vector for each tool. Rows are the index's numbers; room doubles when it runs out."""

    def __init__(self, lexicon: "Lexicon") -> None:
        import numpy

        self.numpy = numpy
        self.lexicon = lexicon
        self.rows = numpy.zeros((16, SIZE), numpy.float32)
        self.live = numpy.zeros(16, numpy.bool_)
        self.used = 0
        self.held: dict[str, tuple[Numbers, Matrix]] = {}

    def put(self, tools: Sequence[int], rows: "Matrix") -> None:
        if not tools:
            return
        numpy = self.numpy
        self.used = max(self.used, max(tools) + 1)
        room = len(self.live)
        if self.used > room:
            more = max(2 * room, self.used) - room
            self.rows = numpy.concatenate((self.rows, numpy.zeros((more, SIZE), numpy.float32)))
            self.live = numpy.concatenate((self.live, numpy.zeros(more, numpy.bool_)))
        numbers = list(tools)
        self.rows[numbers] = rows
        self.live[numbers] = True

    def saved(self, tools: Sequence[int]) -> bytes:
        return self.rows[list(tools)].astype(self.numpy.float16).tobytes()

    def restore(self, tools: Sequence[int], data: bytes) -> None:
        rows = self.numpy.frombuffer(data, self.numpy.float16).reshape(len(tools), SIZE)
        self.put(tools, rows.astype(self.numpy.float32))

    def drop(self, tool: int) -> None:
        self.rows[tool] = 0.0
        self.live[tool] = False

    def forget(self, stems: Mapping[str, float]) -> None:
        """The tools that hold these words have changed."""
        for stem in stems:
            self.held.pop(stem, None)

    def rank(self, text: str, weights: Mapping[str, float], limit: int) -> list[tuple[int, float, float, float]]:
        """The best tools, best first: number, score, lexical score, meaning."""
        numpy = self.numpy
        live = self.live[: self.used]
        count = int(live.sum())
        if not count:
            return []
        lexical = numpy.zeros(self.used, numpy.float32)
        for stem, weight in weights.items():
            tools, values = self._held(stem)
            lexical[tools] += numpy.float32(weight) * values
        meaning = self.rows[: self.used] @ numpy.array(embed_request(text), numpy.float32)
        score = _standard(lexical, count) + MEANING * _standard(meaning, count)
        if count < self.used:
            score[~live] = -numpy.inf
        best = numpy.argpartition(score, max(0, self.used - limit))[max(0, self.used - limit) :]
        best = best[numpy.lexsort((best, -score[best]))][:count]
        return [(int(one), float(score[one]), float(lexical[one]), float(meaning[one])) for one in best]

    def _held(self, stem: str) -> "tuple[Numbers, Matrix]":
        found = self.held.get(stem)
        if found is None:
            tools, numpy = self.lexicon.holding[stem], self.numpy
            found = self.held[stem] = (
                numpy.fromiter(tools.keys(), numpy.intp, len(tools)),
                numpy.fromiter(tools.values(), numpy.float32, len(tools)),
            )
        return found


def _standard(values: "Matrix", count: int) -> "Matrix":
    """In standard deviations from the mean of all tools; places without a tool hold 0 and are not counted."""
    mean = float(values.sum()) / count
    spread = max(0.0, float(values @ values) / count - mean * mean) ** 0.5
    return (values - mean) / spread if spread > 1e-6 else values * 0.0
