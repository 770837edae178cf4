"""What texts mean, as vectors: the mean of the static vectors of their tokens. No model runs.

The vectors come from the files of the package `wordllama` (the extra `route`), which is never imported: 32,000 tokens,
256 numbers each. Small letters measured clearly better; weighting tokens by frequency measured worse (the vectors' own
lengths do that already), and leaving out stop words no better. Without the extra `available()` is False
and tools are found by their words alone.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from rightcall.errors import RightCallError
from rightcall.router.lexical import Fields, long_text, short_text

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from rightcall.router.lexical import Lexicon

    Matrix = NDArray[numpy.float32]
    Numbers = NDArray[numpy.intp]

SIZE = 256
ROW_BYTES = 2 * SIZE
"""Of one saved vector, in half precision."""
LONGEST = 2_000
"""Characters of a text that are embedded: a mean over more says less."""
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENS = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_SPACE = "\u2581"
"""How the tokens write the space before a word."""
_ODD = re.compile(f"{_SPACE}|</?s>|<unk>")
_LONGEST_WORD = 40
_MOST_KNOWN = 30_000
_HOW = 'install the extra: pip install "rightcall[route]"'


def available() -> bool:
    """Whether texts can be embedded: the packages and the two files are there. Loads nothing."""
    return _folder() is not None


@lru_cache(maxsize=1)
def _folder() -> Path | None:
    for package in ("numpy", "tokenizers"):
        if find_spec(package) is None:
            return None
    found = find_spec("wordllama")
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(found.submodule_search_locations[0])
    return folder if (folder / _WEIGHTS).is_file() and (folder / _TOKENS).is_file() else None


def embed(texts: Sequence[str]) -> "Matrix":
    """One row of length 1 for each text; a row of zeros for a text without tokens.

    Raises RightCallError without the extra: ask `available()` first.
    """
    return _embedder().embed(texts)


def embed_request(text: str) -> Any:
    """The row of one text, kept for a while: the index asks for it, and then whoever compares what was found."""
    return _embed_cached(text[:LONGEST])


@lru_cache(maxsize=4)
def _embed_cached(text: str) -> Any:
    row = _embedder().embed([text])[0]
    row.setflags(write=False)
    return row


def digest() -> str:
    """Names the weights, so that vectors saved with others are not compared with these; empty without the extra."""
    return _embedder().digest if available() else ""


class _Embedder:
    def __init__(self, folder: Path) -> None:
        import numpy
        from tokenizers import Tokenizer

        self.table, self.digest = _read_weights(folder / _WEIGHTS)
        tokenizer: Any = Tokenizer.from_file(str(folder / _TOKENS))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.tokenizer = tokenizer
        self.numpy = numpy
        self.known: dict[str, list[int]] = {}

    def embed(self, texts: Sequence[str]) -> "Matrix":
        rows = self.numpy.zeros((len(texts), SIZE), self.numpy.float32)
        for row, text in zip(rows, texts, strict=True):
            # One by one: batches are no faster, and start threads that do not outlive a fork.
            cut = text[:LONGEST].lower()
            cut = cut if cut.isascii() else cut.encode("utf-8", "replace").decode()
            ids = self._tokens(cut)
            if ids:
                self.numpy.add.reduce(self.table[ids], axis=0, dtype=self.numpy.float32, out=row)
                length = float(row @ row) ** 0.5
                row *= 1.0 / length if length > 0.0 else 0.0
        return rows

    def _tokens(self, text: str) -> list[int]:
        """No token reaches across a space, so that words can be remembered, which is three times as fast."""
        words = text.split(" ")
        if "" in words or _ODD.search(text):
            return self.tokenizer.encode(text, add_special_tokens=False).ids
        known = self.known
        unseen = [word for word in dict.fromkeys(words) if word not in known and len(word) <= _LONGEST_WORD]
        if unseen:
            self._learn(unseen)
        ids: list[int] = []
        for word in words:
            found = known.get(word)
            ids += found if found is not None else self.tokenizer.encode(word, add_special_tokens=False).ids
        return ids

    def _learn(self, words: list[str]) -> None:
        encoded = self.tokenizer.encode(" ".join(words), add_special_tokens=False)
        ids: list[int] = encoded.ids
        starts = [at for at, token in enumerate(encoded.tokens) if token.startswith(_SPACE)]
        if len(starts) == len(words):
            if len(self.known) > _MOST_KNOWN:
                self.known.clear()
            ends = [*starts[1:], len(ids)]
            self.known.update((word, ids[start:end]) for word, start, end in zip(words, starts, ends, strict=True))


_lock = Lock()
_loaded: list[_Embedder] = []


def _embedder() -> _Embedder:
    if not _loaded:
        folder = _folder()
        if folder is None:
            raise RightCallError(f"texts cannot be embedded: the package wordllama is not there; {_HOW}")
        with _lock:
            if not _loaded:
                _loaded.append(_Embedder(folder))
    return _loaded[0]


def _read_weights(path: Path) -> tuple[Any, str]:
    """The one table of a safetensors file, as it lies on the disk, and a short digest of its place and kind."""
    import numpy
    from msgspec import json

    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.decode(file.read(length), type=dict[str, Any])
    (about,) = (entry for name, entry in header.items() if name != "__metadata__")
    kinds = {"F16": numpy.float16, "F32": numpy.float32}
    rows, columns = about["shape"]
    if about["dtype"] not in kinds or columns != SIZE:
        raise RightCallError(f"{path.name} holds {about['dtype']} of {about['shape']}; right is F16 of [32000, {SIZE}]")
    table: Any = numpy.memmap(path, kinds[about["dtype"]], "r", 8 + length + about["data_offsets"][0], (rows, columns))
    return numpy.asarray(table), f"{path.name}:{rows}x{columns}:{about['dtype']}"


# ── the table ──
# The vectors of an index's tools, and its sums over thousands of tools at once.

MEANING = 1.6
"""How much the meaning counts where the words count 1."""


def rows_of(fields: Sequence[Fields]) -> "Matrix":
    """The vectors of tools, for `Table.put`."""
    both = embed([short_text(one) for one in fields]) + embed([long_text(one) for one in fields])
    both *= 0.5
    return both


class Table:
    """A vector for each tool: half of its name and description, half of these with its arguments. The half without is
    the better one where the arguments say much that has nothing to do with the request. Rows are the index's numbers;
    room doubles when it runs out."""

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
        meaning = self.rows[: self.used] @ embed_request(text)
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
