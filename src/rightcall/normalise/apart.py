"""What sets two names apart although they look alike: `exclude_path` is no `path`, `size_gb` no `size_mb`.

A word that one name has and the other lacks may say nothing or only the kind of value. It may also turn the meaning
round, name a unit, count, or say whose value it is; then the names are for different things.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from rightcall.catalog.words import COMMON
from rightcall.normalise.opposites import is_side, opposed
from rightcall.normalise.units import is_unit
from rightcall.normalise.words import EMPTY_WORDS, Words, has_meaning, same_meaning, singular, words_of

_NEGATIONS_TEXT = """
    not no non never without exclude excluded excluding exclusion except ignore ignored skip skipped omit avoid anti
    deny disable disabled hide hidden unless only neither
    """
_NEGATIONS = frozenset(_NEGATIONS_TEXT.split())
_ROLES_TEXT = """
    cc bcc backup secondary primary alternate alternative alt old new previous next from to start end begin finish in
    out min max minimum maximum before after source destination origin target sender recipient receiver first last
    middle parent child home work billing shipping since until default current original final reply emergency fax left
    right top bottom inbound outbound departure arrival return upper lower maiden expected actual per expiry
    """
_ROLES = frozenset(_ROLES_TEXT.split())
_CONFUSABLE_TEXT = """
    from form county country prize price https http even event desert dessert quiet quite affect effect lose loose
    stopover layover waypoint via advice advise personal personnel stationary stationery angel angle casual causal
    complement compliment costumer customer principle principal sever server trail trial untied united marital martial
    """
_CONFUSABLE = frozenset(_CONFUSABLE_TEXT.split())
"""Words of their own that are one slip away from another, or that a name left over must not be taken for."""


class Rest(NamedTuple):
    """The words of two names that have no counterpart in the other."""

    mine: Words
    theirs: Words


def is_word(word: str) -> bool:
    """Whether a word means something of its own, so that it is no slip for another."""
    one = singular(word)
    known = has_meaning(word) or word in _CONFUSABLE or word in COMMON or one in COMMON
    return known or word in _ROLES or word in _NEGATIONS or is_side(one) or is_unit(word)


@lru_cache(maxsize=4096)
def rest_of(name: str, target: str) -> Rest:
    """What is left when words that are the same, and then words that mean the same, have been paired."""
    mine, theirs = list(words_of(name)), list(words_of(target))
    for alike in (_equal, same_meaning):
        for word in tuple(mine):
            other = next((other for other in theirs if alike(word, other)), None)
            if other is not None:
                mine.remove(word)
                theirs.remove(other)
    return Rest(_telling(mine, words_of(target)), _telling(theirs, words_of(name)))


def forbids(name: str, target: str) -> bool:
    """Whether the words that differ say that the names are for different things."""
    rest = rest_of(name, target)
    return opposed(name, target) or any(map(_turns, rest.mine + rest.theirs)) or any(map(_is_role, rest.mine))


def is_narrower(name: str, target: str) -> bool:
    """Whether the target says whose value it is and the name does not: `date` for `departure_date`."""
    return any(map(_is_role, rest_of(name, target).theirs))


def _equal(one: str, other: str) -> bool:
    return singular(one) == singular(other)


def _telling(words: list[str], others: Words) -> Words:
    """Without what says nothing, and without what repeats a word of the other name (`search_query` for `query`)."""
    told = [word for word in words if word not in EMPTY_WORDS]
    return tuple(
        word
        for word in told
        if _turns(word) or _is_role(word) or not any(same_meaning(word, other) for other in others)
    )


def _turns(word: str) -> bool:
    return word in _NEGATIONS or word.isdigit() or is_unit(word)


def _is_role(word: str) -> bool:
    return word in _ROLES
