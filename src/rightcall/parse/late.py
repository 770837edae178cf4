"""Patterns that are compiled when they are first used: a text needs few of the many, and each takes a while."""

import re
from collections.abc import Callable, Iterator
from sys import maxsize


class Late:
    """Stands for a compiled pattern, with the methods that are used here."""

    __slots__ = ("_compiled", "flags", "source")

    def __init__(self, source: str, flags: int = 0) -> None:
        self.source = source
        self.flags = flags
        self._compiled: re.Pattern[str] | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self.source, self.flags)
        return self._compiled

    def match(self, text: str, at: int = 0, end: int = maxsize) -> re.Match[str] | None:
        return self.pattern.match(text, at, end)

    def search(self, text: str, at: int = 0, end: int = maxsize) -> re.Match[str] | None:
        return self.pattern.search(text, at, end)

    def fullmatch(self, text: str, at: int = 0) -> re.Match[str] | None:
        return self.pattern.fullmatch(text, at)

    def finditer(self, text: str, at: int = 0) -> Iterator[re.Match[str]]:
        return self.pattern.finditer(text, at)

    def findall(self, text: str) -> list[str]:
        return self.pattern.findall(text)

    def split(self, text: str) -> list[str]:
        return [part or "" for part in self.pattern.split(text)]

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        return self.pattern.sub(replacement, text)
