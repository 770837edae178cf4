"""A request as what a linear model looks at: its words, pairs of words, and whether the tools have them."""

import re
from collections.abc import Collection, Container

from rightcall.route.words import STOP_WORDS, stem

LONGEST = 1_500
MOST_WORDS = 120

_WORD = re.compile(r"[^\W_]+|[?!]")


def plain_words(text: str) -> list[str]:
    """Words and pairs, for a request without tools.

    >>> plain_words("Who is it?")
    ['who', '^ who', 'is', 'who is', 'it', 'is it', '?', 'it ?']
    """
    return [part for word, pair in _pairs(text) for part in (word, pair)]


def marked_words(text: str, theirs: Container[str], name: Collection[str]) -> list[str]:
    """The same, each word that says something marked by whether the tools have it; and the words of the likeliest
    tool's name by whether the request has them."""
    marked: list[str] = []
    stems: set[str] = set()
    for word, pair in _pairs(text):
        root = stem(word)
        stems.add(root)
        marked += [word if word in STOP_WORDS else word + ("+" if root in theirs else "-"), pair]
    return marked + [f"T:{root}" + ("+" if root in stems else "-") for root in sorted(name)]


def _pairs(text: str) -> list[tuple[str, str]]:
    words: list[str] = _WORD.findall(text[:LONGEST].lower())[:MOST_WORDS]
    return list(
        zip(words, [f"{first} {second}" for first, second in zip(["^", *words], words, strict=False)], strict=True)
    )
