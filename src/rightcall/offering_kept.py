"""What was worked out of the tools there are, kept for whoever asks again: which of them a caller may use, say."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST = 100
"""Answers that are kept. With more, all are forgotten, which costs no more than to work them out again."""


class Kept(Generic[K, V]):
    """Answers by who asks. Each holds as long as what it was made of: the very same object, or one that is equal."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._answers: dict[K, tuple[object, V]] = {}

    def has(self, key: K, of: object) -> bool:
        return self._find(key, of) is not None

    def get(self, key: K, of: object, make: Callable[[], V]) -> V:
        """The answer that is known, or the one that is made now."""
        known = self._find(key, of)
        if known is None:
            known = of, make()
            if key not in self._answers and len(self._answers) >= self._most:
                self._answers.clear()
            self._answers[key] = known
        return known[1]

    def _find(self, key: K, of: object) -> tuple[object, V] | None:
        known = self._answers.get(key)
        return known if known is not None and (known[0] is of or known[0] == of) else None
