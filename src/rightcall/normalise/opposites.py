"""Names that look alike and mean the contrary: `old_value` is never taken for `new_value`, nor `lat1` for `lat2`."""

from __future__ import annotations

from functools import lru_cache

from rightcall.normalise.words import singular, words_of

_PAIRS = """
start begin from first since initial | end finish stop to until last final
before prior | after
early | late
origin source from sender | destination target to recipient receiver
old previous prior before | new next after
min minimum least lowest low lower | max maximum most highest high upper
left | right
top up above | bottom down below
north | south
east | west
width | height depth
row | column col
latitude lat | longitude lon lng
x | y z
input in | output out
http | https
inbound incoming | outbound outgoing
read | write
add insert append | remove delete drop
include allow accept enable show open | exclude deny reject disable hide close
included allowed accepted enabled shown opened active | excluded denied rejected disabled hidden closed inactive
on | off
encrypt encode | decrypt decode
upload push import | download pull export
public | private
local | remote global
internal | external
parent | child
buyer buy bid | seller sell ask
debit | credit
income revenue | expense
home | away
question | answer
request | response
billing | shipping
asc ascending | desc descending
positive | negative
male | female
success | failure
day | night
arrival | departure
"""
_NEGATIONS = ("un", "in", "dis", "de", "non", "im", "ir")


def _sides() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    lines = [line.split("|") for line in _PAIRS.strip().splitlines()]
    return tuple((frozenset(one.split()), frozenset(other.split())) for one, other in lines)


_SIDES = _sides()


_WORDS = frozenset(word for sides in _SIDES for side in sides for word in side)


def is_side(word: str) -> bool:
    """Whether a word has a contrary."""
    return word in _WORDS


@lru_cache(maxsize=4096)
def opposed(name: str, target: str) -> bool:
    """Whether two names say the contrary of each other, or carry another number.

    >>> opposed("max_price", "min_price"), opposed("is_inactive", "is_active"), opposed("x1", "x2"), opposed("a", "b")
    (True, True, True, False)
    """
    mine, theirs = ({singular(word) for word in words_of(one)} for one in (name, target))
    left, right = mine - theirs, theirs - mine
    if any(word.isdigit() for word in left) and any(word.isdigit() for word in right):
        return True
    if any((left & one and right & other) or (left & other and right & one) for one, other in _SIDES):
        return True
    return any(_negates(one, other) or _negates(other, one) for one in left for other in right)


def _negates(word: str, other: str) -> bool:
    return len(other) >= 4 and any(word == negation + other for negation in _NEGATIONS)
