"""How long values are as JSON with an indent of two, without writing them out."""

from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring
from typing import Any

from rightcall.present.look import CONTAINERS, DEEPEST, Items, Pairs, Seen, atom_text, key_text, look

TOO_DEEP = "(nested too deep to be shown)"
CYCLE = "(contains itself)"

_MOST_NODES = 50_000

quoted_text = encode_basestring
"""A text as JSON writes it."""


def around(depth: int) -> int:
    """What the brackets of a container take that is not empty."""
    return 2 + 2 * depth


def beside(depth: int, key: str | None = None) -> int:
    """What an item of a container at `depth` takes beside itself: line break, indent, comma, and its key."""
    return 2 * depth + 4 + (len(quoted_text(key)) + 2 if key is not None else 0)


class Measure:
    """Sizes of values. Knows the containers it is in, so that one that holds itself is noticed."""

    def __init__(self) -> None:
        self._inside: set[int] = set()

    def see(self, value: Any, depth: int) -> Seen:
        """`look`, with an end."""
        seen = look(value)
        if isinstance(seen, CONTAINERS):
            return CYCLE if id(value) in self._inside else TOO_DEEP if depth >= DEEPEST else seen
        return seen

    def size(self, value: Any, depth: int, cap: int) -> int:
        """How long the value is at this depth; anything above `cap` once it is longer than that."""
        seen = value if type(value) is str else self.see(value, depth)
        if isinstance(seen, str):
            return len(seen) + 2 if len(seen) > cap else len(quoted_text(seen))
        if not isinstance(seen, CONTAINERS):
            return len(atom_text(seen))
        self._inside.add(id(value))
        total = self._items(seen, depth, cap) if isinstance(seen, Items) else self._pairs(seen, depth, cap)
        self._inside.discard(id(value))
        return total

    def _items(self, seen: Items, depth: int, cap: int) -> int:
        total, each = around(depth) if seen.items else 2, beside(depth)
        for item in seen.items:
            total += each
            total += self.size(item, depth + 1, cap - total)
            if total > cap:
                break
        return total

    def _pairs(self, seen: Pairs, depth: int, cap: int) -> int:
        total, each = around(depth) if seen.pairs else 2, beside(depth) + 2
        for key, item in seen.pairs:
            total += each + len(quoted_text(key if type(key) is str else key_text(key)))
            total += self.size(item, depth + 1, cap - total)
            if total > cap:
                break
        return total

    def whole(self, value: Any, depth: int) -> Any:
        """The value as plain data, all of it; for what was measured before."""
        seen = self.see(value, depth)
        if isinstance(seen, Items):
            self._inside.add(id(value))
            made: Any = [self.whole(item, depth + 1) for item in seen.items]
        elif isinstance(seen, Pairs):
            self._inside.add(id(value))
            made = {key_text(key): self.whole(item, depth + 1) for key, item in seen.pairs}
        else:
            return seen
        self._inside.discard(id(value))
        return made

    def text(self, value: Any, depth: int = 0) -> str:
        """The value as JSON, all of it; for what was measured before."""
        seen = value if type(value) is str else self.see(value, depth)
        if isinstance(seen, str):
            return quoted_text(seen)
        if not isinstance(seen, CONTAINERS):
            return atom_text(seen)
        self._inside.add(id(value))
        line = "\n" + "  " * (depth + 1)
        if isinstance(seen, Items):
            inside = [line + self.text(item, depth + 1) for item in seen.items]
            brackets = "[]"
        else:
            named = ((quoted_text(key_text(key)), item) for key, item in seen.pairs)
            inside = [f"{line}{key}: {self.text(item, depth + 1)}" for key, item in named]
            brackets = "{}"
        self._inside.discard(id(value))
        return f"{brackets[0]}{','.join(inside)}{line[:-2]}{brackets[1]}" if inside else brackets


def children(seen: Items | Pairs) -> Iterable[tuple[str | None, Any]]:
    """What a container holds, in order, with its keys."""
    if isinstance(seen, Items):
        return ((None, item) for item in seen.items)
    return ((key_text(key), item) for key, item in seen.pairs)


def weigh(value: Any) -> tuple[int, bool]:
    """About how long a value is, and whether all of it was looked at."""
    total, nodes = 0, 0
    stack: list[Iterator[tuple[str | None, Any]]] = [iter(((None, value),))]
    while stack:
        found = next(stack[-1], None)
        if found is None:
            stack.pop()
            continue
        nodes += 1
        if nodes > _MOST_NODES:
            return total, False
        key, item = found
        seen = look(item)
        total += beside(len(stack), key)
        if isinstance(seen, str):
            total += len(seen) + 2
        elif isinstance(seen, CONTAINERS):
            if len(stack) < DEEPEST:
                stack.append(iter(children(seen)))
        else:
            total += len(atom_text(seen))
    return total, True
