"""Words in names: how a name is split, which words say nothing, and which mean the same.

The thesaurus is about parameter names, not about English: two words stand in one group when people who write tools
use the one where others use the other.
"""

from __future__ import annotations

import re
from functools import lru_cache
from unicodedata import normalize

from rightcall.catalog.words import COMMON
from rightcall.normalise.thesaurus import GROUPS

Words = tuple[str, ...]

_SPLIT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")

_VOWEL = re.compile(r"[aeiouy]|[^a-z]")

EMPTY_WORDS = frozenset(
    [
        "value",
        "val",
        "input",
        "param",
        "parameter",
        "arg",
        "argument",
        "field",
        "the",
        "a",
        "an",
        "my",
        "your",
        "our",
        "given",
        "str",
        "string",
        "int",
        "integer",
        "obj",
        "variable",
        "var",
        "this",
        "requested",
        "desired",
        "selected",
        "of",
        "for",
        "is",
    ]
)
"""Words that can be added to a name or left out of it without changing what it names."""

NOISE = frozenset(
    [
        "reason",
        "reasoning",
        "reasons",
        "rationale",
        "explanation",
        "explain",
        "thought",
        "thoughts",
        "thinking",
        "think",
        "comment",
        "comments",
        "note",
        "notes",
        "justification",
        "analysis",
        "confidence",
        "certainty",
        "request_id",
        "requestid",
        "call_id",
        "callid",
        "tool_call_id",
        "trace",
        "trace_id",
        "session_id",
        "correlation_id",
        "timestamp",
        "tool",
        "tool_name",
        "function",
        "function_name",
        "action",
        "intent",
        "goal",
        "plan",
        "step",
        "verbose",
        "debug",
        "metadata",
        "meta",
        "context",
        "source",
        "caller",
        "model",
        "agent",
        "observation",
        "self",
        "kwargs",
        "_meta",
        "purpose",
        "why",
    ]
)
"""Arguments that models add on their own account: about the call, not for the tool."""


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, lower case: `maxResults_v2` has max, results, v, 2."""
    return tuple(word.lower() for word in _SPLIT.findall(name if name.isascii() else normalize("NFKC", name)))


@lru_cache(maxsize=4096)
def joined(name: str) -> str:
    """A name without case and separators."""
    return "".join(words_of(name)).casefold()


@lru_cache(maxsize=4096)
def singular(word: str) -> str:
    """One form for singular and plural; good enough to compare, not to print."""
    if not _VOWEL.search(word):
        return word  # `https` and `dns` are no plurals
    if len(word) > 3 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 2 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


_MEANINGS: dict[str, frozenset[int]] = {}


def _meanings() -> dict[str, frozenset[int]]:
    if not _MEANINGS:
        groups: dict[str, set[int]] = {}
        for number, line in enumerate(GROUPS.strip().splitlines()):
            for word in line.split():
                groups.setdefault(singular(word), set()).add(number)
        _MEANINGS.update((word, frozenset(numbers)) for word, numbers in groups.items())
    return _MEANINGS


def has_meaning(word: str) -> bool:
    """Whether a word has a meaning of its own here."""
    return singular(word) in _meanings()


def same_meaning(left: str, right: str) -> bool:
    """Whether two words are used for the same thing in names of parameters."""
    left, right = singular(left), singular(right)
    if left == right:
        return True
    meanings = _meanings()
    one, other = meanings.get(left), meanings.get(right)
    if one is not None and other is not None:
        return bool(one & other)
    return _abbreviates(left, right) if one is None and len(left) < len(right) else _abbreviates(right, left)


def _abbreviates(short: str, long: str) -> bool:
    """`desc` for description, `msg` for message; only words that mean nothing else are abbreviations."""
    if short in _meanings() or short in COMMON or len(long) < len(short) + 2 or short[:1] != long[:1]:
        return False
    if len(short) >= 3 and long.startswith(short):
        return True
    letters = iter(long)
    return len(short) >= 2 and not set(short[1:]) & set("aeiou") and all(letter in letters for letter in short)
