"""Search patterns. What may be written is what all engines have in common, and means the same in each:

- characters, `.`, `|`, `( )`, `(?: )`, named groups, `*`, `+`, `?`, `{n}`, `{n,}`, `{n,m}` (at most 1,000) and their
  lazy forms, `^`, `$`, `\\A`, `\\z`, `\\Z` (line by line, also where lines end in CRLF), `\\b`, `\\B`;
- `\\d`, `\\w`, `\\s`, `\\b` and their opposites, which mean ASCII; `[…]`, `[^…]`, `[[:alpha:]]`, `\\p{L}`;
- `\\t`, `\\r`, `\\x41`, `\\x{1F600}`, `\\u0041`, `\\Q…\\E`, an escaped sign; `(?i)`, `(?-i)`, `(?i:…)`.

A match never spans lines: `.` and negated sets stop at their end, `(?s)` and `(?m)` change nothing. Looking around,
back references, possessive and atomic groups, recursion, `(?x)` and `\\n` are refused. Time is linear in the text,
whatever the pattern; one that would need too much memory is refused.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.code.search_reading import MOST_CHARACTERS, Reader

MEMORY = 8 << 20
"""Bytes for a compiled pattern and what it learns on the way."""
_MOST_STEPS = 10_000
"""Instructions of the compiled pattern: each character of a text costs so many at worst."""
_WORK = 10_000_000
"""Such steps at one go, about a tenth of a second at worst, after which the clock is looked at."""
_SHORTEST, _LONGEST = 1 << 12, 1 << 22
_COSTLY = 150
"""Steps from which on a text can be made to cost so much that it is left to our own engine, which we can bound."""

_TOO_LARGE = "pattern: is too large to be searched for; repeat less, or search for a part of it"

Finder = Callable[[bytes, int, int], int]
"""Where the first match in `text[start:end]` begins, or -1. What stands around is seen by `^`, `$` and `\\b`."""

Spanner = Callable[[bytes, int, int], tuple[int, int]]
"""The same, and where it ends."""


class Pattern(Struct, frozen=True):
    """One pattern for both engines: `find` and `span` are ours, `ripgrep` is what the other is given."""

    find: Finder
    span: Spanner
    ripgrep: str
    reach: int
    """Bytes of text that `find` may be given at one go."""
    costly: bool = False
    """Whether a character of a text can cost so much that no other engine is asked."""


def read_pattern(written: str, *, case_sensitive: bool) -> Pattern:
    """Raises ToolFailure that says where the pattern is wrong and what would be right."""
    if not written:
        raise ToolFailure("pattern: is empty; write what to look for, . finds every line that is not empty")
    if len(written) > MOST_CHARACTERS:
        raise ToolFailure(f"pattern: has {len(written)} characters, {MOST_CHARACTERS} are possible")
    flags = "(?m)" if case_sensitive else "(?mi)"
    ours = flags + Reader(written, lambda letter: f"\\{letter}").read()
    find, span, steps = _compiled(ours)
    theirs = flags + Reader(written, lambda letter: f"(?-u:\\{letter})").read()
    return Pattern(find, span, theirs, min(max(_WORK // steps, _SHORTEST), _LONGEST), steps > _COSTLY)


def _compiled(pattern: str) -> tuple[Finder, Spanner, int]:
    """The engine for a pattern, and how many steps a character costs it at worst."""
    re2: Any = import_module("re2")  # late, for those who search; and it tells no types
    options: Any = re2.Options()
    options.max_mem = MEMORY
    options.never_capture = True
    options.log_errors = False
    try:
        compiled: Any = re2.compile(pattern.encode(), options)
    except re2.error as fault:
        raise ToolFailure(_TOO_LARGE) from fault
    finally:
        re2.purge()  # it would keep every pattern, and what each has learned, for ever
    if compiled.programsize > _MOST_STEPS:
        raise ToolFailure(_TOO_LARGE)
    return *_finders(re2, compiled), max(compiled.programsize, 1)


def _finders(re2: Any, compiled: Any) -> tuple[Finder, Spanner]:
    try:  # the bare engine: what is wrapped around it costs more than a match
        match: Any = compiled._regexp.Match
        anywhere: Any = re2._Anchor.UNANCHORED
        match(anywhere, b"", 0, 0)[0][0]
    except (AttributeError, TypeError, LookupError):
        search: Any = compiled.search

        def found(text: bytes, start: int, end: int) -> int:
            hit = search(text, start, end)
            return -1 if hit is None else hit.start()

        def spanned(text: bytes, start: int, end: int) -> tuple[int, int]:
            hit = search(text, start, end)
            return (-1, -1) if hit is None else hit.span()

        return found, spanned

    def find(text: bytes, start: int, end: int) -> int:
        return match(anywhere, text, start, end)[0][0]

    def span(text: bytes, start: int, end: int) -> tuple[int, int]:
        return match(anywhere, text, start, end)[0]

    return find, span
