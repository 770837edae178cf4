"""An object of lists, cut so that each list keeps something: a first item of all before a second of any."""

from itertools import islice
from typing import Any

from rightcall.present.fit import NOTHING, PART, Fit, Path
from rightcall.present.lines import Loss
from rightcall.present.look import Items, Pairs, key_text
from rightcall.present.measure import around, beside

_LEAST = 40
"""No list with an item in it takes less room."""

_TELLING = 150
"""An item that is cut to less than this tells nothing."""


def spread(fit: Fit, seen: Pairs, depth: int, room: int, path: Path) -> dict[str, list[Any]]:
    """As many lists as fit, each with as many of its first items as all others have. Large first items share the room
    that is there, and are cut to it."""
    lists = {key_text(key): _items(fit, value, depth) for key, value in seen.pairs}
    left = room - around(depth)
    share = _share(fit, lists, depth, left)
    kept: dict[str, list[Any]] = {}
    for key, items in lists.items():
        spare = left - _opening(depth, key)
        if items and fit.size(items[0], depth + 2, max(spare, 0)) > spare and spare < _TELLING:
            break
        firsts = [fit.fit(item, depth + 2, min(spare, share), (*path, key, 0)) for item in items[:1]]
        if NOTHING in firsts or spare < 0:
            break
        kept[key] = firsts
        left = spare - sum(fit.size(first, depth + 2, spare) for first in firsts)
    _add_rounds(fit, lists, kept, depth, left)
    fit.losses[path] = Loss(len(kept), len(lists))
    fit.losses[(*path, "*")] = Loss(sum(map(len, kept.values())), sum(map(len, lists.values())))
    return kept


def _items(fit: Fit, value: Any, depth: int) -> list[Any]:
    seen = fit.see(value, depth + 1)
    return list(seen.items) if isinstance(seen, Items) else [value]


def _opening(depth: int, key: str) -> int:
    """What a list takes beside its first item."""
    return beside(depth, key) + around(depth + 1) + beside(depth + 1)


def _share(fit: Fit, lists: dict[str, list[Any]], depth: int, room: int) -> int:
    """How long a first item may be: an equal part, and what the small ones leave of theirs."""
    firsts = {key: items[0] for key, items in islice(lists.items(), room // _LEAST + 1) if items}
    room -= sum(_opening(depth, key) for key in firsts)
    share = max(PART, room // max(len(firsts), 1))
    sizes = [fit.size(first, depth + 2, share) for first in firsts.values()]
    large = sum(size > share for size in sizes)
    unused = room - sum(min(size, share) for size in sizes)
    return share + max(unused, 0) // large if large else share


def _add_rounds(fit: Fit, lists: dict[str, list[Any]], kept: dict[str, list[Any]], depth: int, left: int) -> None:
    """Second items, third items, … as long as whole ones fit."""
    going = [key for key in kept if len(lists[key]) > 1]
    while going:
        for key in going:
            item = lists[key][len(kept[key])]
            left -= beside(depth + 1)
            size = fit.size(item, depth + 2, max(left, 0))
            if size > left:
                return
            kept[key].append(fit.whole(item, depth + 2))
            left -= size
        going = [key for key in going if len(lists[key]) > len(kept[key])]
