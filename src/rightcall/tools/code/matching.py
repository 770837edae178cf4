"""The lines of one file in which a pattern matches, found by our own engine in what was opened beneath the root. A
file with a NUL byte is binary and has none, unless it begins with the mark of UTF-16."""

import codecs
import os
from collections.abc import Callable, Iterator
from time import monotonic

from msgspec import Struct

from rightcall.base.files.sight import Opened
from rightcall.tools.code.pattern import Pattern

_BLOCK = 4 << 20
"""Bytes that are looked through at once."""
_LONGEST_LINE = 16 << 20
"""Bytes of one line; where it is longer, what follows counts as another with the same number."""
_LARGEST_WIDE = 32 << 20
"""Bytes of a file in UTF-16, which has to be rewritten as a whole."""
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_NEWLINE = 0x0A
_PATIENCE = 0.3
"""Seconds for one very long line. Most patterns need none of it; some texts are made to cost."""
_GLANCE = 64
"""Lines after which the clock is looked at."""

Slice = Callable[[int, int], bytes]
"""The text from one byte to another, wherever it is kept."""


class Hit(Struct, frozen=True):
    """A line that matches: its number, counted from 1, where it begins and ends, and where the match begins."""

    number: int
    start: int
    end: int
    match: int


class Looked(Struct):
    """What a file holds: the first hits, how many lines match, and how to get at its text."""

    hits: list[Hit]
    total: int
    text: Slice
    size: int
    begin: int = 0
    """Where the text begins: after a mark of its encoding."""

    def add(self, text: bytes, at: int, lines: int, pattern: Pattern, most: int, effort: "Effort") -> None:
        """What a block of whole lines holds, after so many lines."""
        counted, number = 0, lines + 1
        for start, end, match in matching(text, pattern, effort):
            self.total += 1
            if len(self.hits) < most:
                number += text.count(b"\n", counted, start)
                counted = start
                self.hits.append(Hit(number, at + start, at + end, at + match))
            elif end - start < pattern.reach:
                self.total += _count(text, end + 1, pattern, effort)
                return


class Effort:
    """How much a search may do. `late`: time ran out; `cut`: the end of a very long line was not looked at."""

    __slots__ = ("cut", "deadline", "late")

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.late = self.cut = False

    def over(self) -> bool:
        """Whether there is no time left."""
        self.late = self.late or monotonic() > self.deadline
        return self.late


class _Binary(Exception):
    """The file is no text."""


def look_into(file: Opened, pattern: Pattern, most: int, effort: Effort) -> Looked | None:
    """Search an open file; at most so many hits are kept. None when nothing is in it, or it is binary."""
    size = file.stat.st_size
    try:
        first = os.read(file.fd, min(size + 1, _BLOCK))
        if len(first) > size or len(first) == _BLOCK or first[:2] in _WIDE or not first:
            return _look_at_length(file, pattern, most, effort)
    except OSError:
        return None
    return None if b"\0" in first else _look_whole(_unmarked(first), pattern, most, effort)


def _look_at_length(file: Opened, pattern: Pattern, most: int, effort: Effort) -> Looked | None:
    """A file that is large, that grows meanwhile, or that has to be rewritten."""
    first = file.read(_BLOCK)
    if first[:2] in _WIDE:
        whole = file.read(_LARGEST_WIDE + 1) if file.stat.st_size <= _LARGEST_WIDE else b""
        text = whole[2:].decode(_WIDE[first[:2]], "replace").encode()
        return None if b"\0" in text else _look_whole(text, pattern, most, effort)
    begin = len(first) - len(_unmarked(first))
    found = Looked([], 0, lambda start, end: os.pread(file.fd, end - start, start), os.fstat(file.fd).st_size, begin)
    lines = 0
    try:
        for block, at in _blocks(file, first, begin):
            found.add(block, at, lines, pattern, most, effort)
            if effort.late:
                break
            lines += block.count(b"\n") if len(found.hits) < most else 0
    except _Binary:
        return None
    return found


def _unmarked(text: bytes) -> bytes:
    return text.removeprefix(codecs.BOM_UTF8)


def _look_whole(text: bytes, pattern: Pattern, most: int, effort: Effort) -> Looked | None:
    if len(text) <= pattern.reach and pattern.find(text, 0, len(text)) < 0:  # most files
        return None
    found = Looked([], 0, lambda start, end: text[start:end], len(text))
    found.add(text, 0, 0, pattern, most, effort)
    return found


def _count(text: bytes, at: int, pattern: Pattern, effort: Effort) -> int:
    """How many lines match from here on, where nobody wants to see them."""
    find, whole, total = pattern.find, len(text), 0
    while at < whole:
        if total % _GLANCE == 0 and effort.over():
            break
        stop = min(at + pattern.reach, whole)
        match = find(text, at, stop)
        if match < 0 and stop < whole:
            if effort.over():
                break
            at = max(text.rfind(b"\n", at, stop) + 1, at + pattern.reach // 2)
            continue
        if match < 0 or (match == whole and text[-1] == _NEWLINE):
            break
        total += 1
        end = text.find(b"\n", match)
        if end < 0:
            break
        at = end + 1
    return total


def matching(text: bytes, pattern: Pattern, effort: Effort) -> Iterator[tuple[int, int, int]]:
    """Each line that matches, until time runs out: where it begins and ends, and where its first match begins."""
    find, reach = pattern.find, pattern.reach
    at, whole = 0, len(text)
    while at < whole:
        stop = min(at + reach, whole)
        if stop < whole:
            stop = text.rfind(b"\n", at, stop) + 1
            if stop == 0:
                stop = text.find(b"\n", at) + 1 or whole
                match = _within(text, at, stop, pattern, effort)
                if match >= 0:
                    yield at, stop - (text[stop - 1] == _NEWLINE), match
                at = stop
        while at < stop and (match := find(text, at, stop)) >= 0:
            if match >= stop and (stop < whole or text[-1] == _NEWLINE):
                break  # at the beginning of the next line, if there is one
            start = text.rfind(b"\n", at, match) + 1 or at
            end = text.find(b"\n", match)
            end = whole if end < 0 else end
            yield start, end, match
            at = end + 1
        at = max(at, stop)
        if at < whole and effort.over():
            return


def _within(text: bytes, start: int, stop: int, pattern: Pattern, effort: Effort) -> int:
    """The first match in a line that is too long to be looked through at once, or -1: piece by piece, each half over
    the one before, so that nothing short of half a piece is missed. Where that takes long the rest is left."""
    until = monotonic() + _PATIENCE
    for at in range(start, stop, pattern.reach // 2):
        match = pattern.find(text, at, min(at + pattern.reach, stop))
        if match >= 0 and (match < stop or text[-1] != _NEWLINE):
            return match
        if effort.over():
            break
        if monotonic() > until:
            effort.cut = True
            break
    return -1


def _blocks(file: Opened, first: bytes, begin: int) -> Iterator[tuple[bytes, int]]:
    """A large file in blocks of whole lines, and where each begins. Raises _Binary and OSError."""
    rest, at, read = first[begin:], begin, len(first)
    block = first
    while block:
        if b"\0" in block:
            raise _Binary
        cut = rest.rfind(b"\n") + 1
        if cut == 0 and len(rest) > _LONGEST_LINE:
            cut = len(rest)
        if cut:
            yield rest[:cut], at
            rest, at = rest[cut:], at + cut
        block = os.pread(file.fd, _BLOCK, read)
        read += len(block)
        rest += block
    if rest:
        yield rest, at
