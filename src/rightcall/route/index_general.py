"""How common a word is in general: the share of tools and of requests that hold it.

A catalogue of three tools cannot tell that `find` says little and `thyroid` much, so every catalogue is counted as if
so many general texts stood beside it. The table is made by scripts/train_index.py.
"""

from functools import lru_cache
from importlib.resources import files
from math import log

from msgspec import Struct, json

BESIDE = 1_000.0
"""General texts counted beside the catalogue's own: they decide for a few tools and matter little for thousands."""


class General(Struct, frozen=True):
    """What scripts/train_index.py writes."""

    made_from: str
    texts: int
    words: dict[str, int]
    """How many of so many texts hold a stem. Rarer ones are left out."""


@lru_cache(maxsize=1)
def general() -> General:
    return json.decode(files("rightcall.route").joinpath("weights", "words.json").read_bytes(), type=General)


@lru_cache(maxsize=20_000)
def share(stem: str) -> float:
    """The share of general texts that hold a stem."""
    table = general()
    return table.words.get(stem, 1) / table.texts


def rarity(stem: str, holding: int = 0, tools: int = 0) -> float:
    """How much a word tells: the more, the fewer texts hold it. `holding` of `tools` are the catalogue's own."""
    if not tools:
        return _rarity_in_general(stem)
    with_it = holding + BESIDE * share(stem)
    return log(1.0 + (tools + BESIDE - with_it + 0.5) / (with_it + 0.5))


@lru_cache(maxsize=20_000)
def _rarity_in_general(stem: str) -> float:
    with_it = BESIDE * share(stem)
    return log(1.0 + (BESIDE - with_it + 0.5) / (with_it + 0.5))
