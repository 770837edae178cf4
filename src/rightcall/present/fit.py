"""Cutting a value to a length in the place that hurts least.

- Objects keep all their small fields; what is left of the room is shared among the large ones.
- Lists, and objects with very many keys, keep their first items.
- Texts keep their first lines.
"""

from collections.abc import Iterable
from typing import Any

from rightcall.present.lines import Loss, cut_text
from rightcall.present.look import CONTAINERS, Items, Pairs, key_text
from rightcall.present.measure import Measure, around, beside

Path = tuple[str | int, ...]

NOTHING: Any = object()
"""Of this value nothing fits."""

PART, LARGE = 300, 600
"""An item that does not fit is shown in part if there is so much room left, and if it is larger than this."""

_FIELDS = 50
"""An object with more keys than this is a table, and not a record."""


class Fit(Measure):
    """Cuts one value. `losses` says what was cut, by its path.

    `first` are fields that are served before others; `spread` is a field with an object of lists of which each list
    should keep something.
    """

    def __init__(self, first: tuple[str, ...] = (), spread: str | None = None) -> None:
        super().__init__()
        self.losses: dict[Path, Loss] = {}
        self._first = first
        self._spread = spread

    def fit(self, value: Any, depth: int, room: int, path: Path = ()) -> Any:
        """As much of the value as fits, as plain data, or NOTHING."""
        if self.size(value, depth, room) <= room:
            return self.whole(value, depth)
        seen = self.see(value, depth)
        if isinstance(seen, str) and room > 2:
            kept, self.losses[path] = cut_text(seen, room - 2, as_json=True)
            return kept
        if not isinstance(seen, CONTAINERS) or room < 2:
            return NOTHING
        self._inside.add(id(value))
        made = self._container(seen, depth, room, path)
        self._inside.discard(id(value))
        return made

    def _container(self, seen: Items | Pairs, depth: int, room: int, path: Path) -> Any:
        if isinstance(seen, Items):
            kept = self._head(((None, item) for item in seen.items), depth, room, path)
            self.losses[path] = Loss(len(kept), len(seen.items))
            return [item for _, item in kept]
        if len(path) == 1 and path[0] == self._spread:
            from rightcall.present.spread import spread

            return spread(self, seen, depth, room, path)
        fields = dict(_named(seen)) if len(seen.pairs) <= _FIELDS else None
        left = room - around(depth) - sum(beside(depth, key) for key in fields or ())
        if fields is None or left < 2 * len(fields):
            made = dict(self._head(_named(seen), depth, room, path))
            self.losses[path] = Loss(len(made), len(seen.pairs))
            return made
        return self._record(fields, depth, left, path)

    def _head(
        self, items: Iterable[tuple[str | None, Any]], depth: int, room: int, path: Path
    ) -> list[tuple[str | None, Any]]:
        """The first items, and the one that does not fit any more in part, if that is worth it."""
        kept: list[tuple[str | None, Any]] = []
        left = room - around(depth)
        for number, (key, item) in enumerate(items):
            left -= beside(depth, key)
            size = self.size(item, depth + 1, max(left, LARGE))
            if size > left:
                if not kept or (left >= PART and size > LARGE):
                    part = self.fit(item, depth + 1, left, (*path, number if key is None else key))
                    kept += [(key, part)] if part is not NOTHING and part not in ("", [], {}) else []
                break
            kept.append((key, self.whole(item, depth + 1)))
            left -= size
        return kept

    def _record(self, fields: dict[str, Any], depth: int, left: int, path: Path) -> dict[str, Any]:
        """All fields, the small ones whole: each in turn gets an equal share of what those before it have left."""
        sizes = {key: self.size(item, depth + 1, left) for key, item in fields.items()}
        order = sorted(fields, key=lambda key: (key not in self._first, sizes[key]))
        made: dict[str, Any] = {}
        for waiting, key in zip(range(len(order) - 1, -1, -1), order, strict=True):
            share = left - 2 * waiting if key in self._first else left // (waiting + 1)
            part = self.fit(fields[key], depth + 1, share, (*path, key))
            if part is NOTHING:
                self.losses[(*path, key)] = Loss(0, 1)
            else:
                made[key] = part
                left -= self.size(part, depth + 1, left)
        return {key: made[key] for key in fields if key in made}


def _named(seen: Pairs) -> Iterable[tuple[str, Any]]:
    return ((key_text(key), item) for key, item in seen.pairs)
