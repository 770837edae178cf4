"""What texts mean, as vectors: the mean of the static vectors of their tokens. No model runs.

The vectors come from the files of the package `wordllama` (the extra `route`), which is never imported: 32,000 tokens,
256 numbers each. Small letters measured clearly better; weighting tokens by frequency measured worse (the vectors' own
lengths do that already), and leaving out stop words no better. Without the extra `available()` is False
and tools are found by their words alone.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from rightcall.errors import RightCallError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

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
