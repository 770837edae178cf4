"""Cutting a value to a length in the place that hurts least.

- Objects keep all their small fields; what is left of the room is shared among the large ones.
- Lists, and objects with very many keys, keep their first items.
- Texts keep their first lines.

A `View` says how the results of one tool are shaped and summed up before.
"""

import enum
from _json import encode_basestring  # as `json` has it, which loads much that is not needed here
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from math import isfinite
from typing import Any, cast

from msgspec import Struct

# ── look ──
# Any Python value as JSON knows values: text, number, true, false, null, a list or an object. Never raises.
#
# Only one level is looked at: what a list or an object holds is looked at when somebody asks for it, so that a result
# of any size costs what is shown of it.

DEEPEST = 40
"""Deeper than this nothing is shown: neither a person nor a model finds their way there."""

_MOST = 100_000
"""Of a container that must be copied to be looked at, no more than this."""

_BITS = 3000
_BYTES = 1_000_000
# A subclass may say anything of itself; its parent tells what it holds.
_DICT: Any = dict
_LIST: Any = list
_TUPLE: Any = tuple


class Items(Struct, frozen=True):
    """A list."""

    items: Collection[Any]


class Pairs(Struct, frozen=True):
    """An object: keys, which may be anything, and values."""

    pairs: Collection[tuple[Any, Any]]


CONTAINERS = (Items, Pairs)
Seen = str | int | float | bool | None | Items | Pairs


def look(value: Any) -> Seen:
    """What a value is.

    >>> look({1, 2}), look(b"abc"), look(float("nan"))
    (Items(items=[1, 2]), 'abc', 'NaN')
    """
    kind = cast("type[Any]", type(value))  # never `isinstance`, which believes what an object says of itself
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        return _number(value)
    if kind is dict:
        return Pairs(cast("dict[Any, Any]", value).items())
    if kind is list or kind is tuple:
        return Items(cast("list[Any]", value))
    try:
        return _other(value, kind)
    except Exception:  # noqa: BLE001  (a tool may return anything, also what raises at every touch)
        return _named_look(kind)


def key_text(key: Any) -> str:
    """A key as JSON writes it: always a text."""
    if type(key) is str:
        return key
    seen = look(key)
    if isinstance(seen, CONTAINERS):
        return _named_look(cast("type[Any]", type(key)))
    return seen if isinstance(seen, str) else atom_text(seen)


def atom_text(atom: float | None) -> str:
    """A number, true, false or null as JSON writes it."""
    if atom is None:
        return "null"
    return repr(atom).lower() if isinstance(atom, bool) else repr(atom)


def _other(value: Any, kind: type[Any]) -> Seen:
    if issubclass(kind, enum.Enum):
        return look(cast("enum.Enum", value)._value_)
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, int):
        return _number(int.__int__(value))
    if issubclass(kind, float):
        number = float.__float__(value)
        return number if isfinite(number) else "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"
    if issubclass(kind, bytes | bytearray | memoryview):
        return _bytes(value)
    return _container(value, kind)


def _number(number: int) -> int | str:
    bits = number.bit_length()
    return number if bits < _BITS else f"(a number of {bits} bits)"  # Python refuses to write out very long ones


def _container(value: Any, kind: type[Any]) -> Seen:
    if issubclass(kind, dict):
        return Pairs(_DICT.items(value))
    if issubclass(kind, list):
        return Items(_LIST.__getitem__(value, slice(None)))
    if issubclass(kind, tuple):
        items = _TUPLE.__getitem__(value, slice(None))
        names = cast("tuple[str, ...] | None", getattr(cast("type[Any]", kind), "_fields", None))
        return Items(items) if names is None else Pairs(list(zip(names, items, strict=False)))
    if issubclass(kind, set | frozenset):
        found = list(islice(cast("set[Any]", value), _MOST))
        return Items(sorted(found, key=key_text))  # sets have no order, and the same result should read the same
    if issubclass(kind, Mapping):
        return Pairs(list(islice(cast("Mapping[Any, Any]", value).items(), _MOST)))
    for declared in ("__struct_fields__", "__dataclass_fields__"):
        fields = getattr(kind, declared, None)
        if fields is not None:
            return Pairs([(name, getattr(value, name, None)) for name in fields])
    if hasattr(kind, "model_dump"):
        return look(value.model_dump())
    return _as_text(value, kind)


def _as_text(value: Any, kind: type[Any]) -> str:
    if hasattr(kind, "isoformat"):
        return str.__str__(value.isoformat())
    if issubclass(kind, BaseException):
        return f"{kind.__name__}: {value}"
    # the default text of an object is its address in memory, which tells nobody anything
    plain = kind.__repr__ is object.__repr__ and kind.__str__ is object.__str__
    return _named_look(kind) if plain or issubclass(kind, type) else str.__str__(str(value))


def _bytes(value: Any) -> str:
    size = len(value)
    if size <= _BYTES:
        try:
            return bytes(value).decode("utf-8")
        except UnicodeDecodeError:
            pass
    return f"({size} bytes)"


def _named_look(kind: type[Any]) -> str:
    return f"<{type.__getattribute__(kind, '__name__')}>"


# ── measure ──
# How long values are as JSON with an indent of two, without writing them out.

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


# ── lines ──
# Cutting a text: at the end of a line, and inside one only where not even the first line fits.


class Loss(Struct, frozen=True):
    """What is left of a list or text: so many of its items or lines."""

    kept: int
    total: int
    line: int = 0
    """Where not even the first line fits whole: how long that is."""


def line_count(text: str) -> int:
    """How many lines a text has; a line break at its end begins no other.

    >>> line_count(""), line_count("a"), line_count("a\\nb\\n")
    (0, 1, 2)
    """
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def cut_text(text: str, room: int, *, as_json: bool) -> tuple[str, Loss]:
    """The first lines of a text that is too long for the room. `as_json`: it is measured as JSON writes it.

    >>> cut_text("one\\ntwo\\nthree", 9, as_json=False)
    ('one\\ntwo', Loss(kept=2, total=3, line=0))
    """
    end = max(min(room, len(text)), 0)
    if as_json:
        end = _end_in_json(text[:end], room)
    if end == len(text):
        return text, Loss(line_count(text), line_count(text))
    stop = end if text[end] == "\n" else text.rfind("\n", 0, end)
    if stop > 0:
        return text[:stop], Loss(text.count("\n", 0, stop) + 1, line_count(text))
    if end < 2:
        return "", Loss(0, line_count(text))
    first = text.find("\n")
    return text[: end - 1] + "…", Loss(0, line_count(text), first if first >= 0 else len(text))


def _end_in_json(text: str, room: int) -> int:
    """How many characters of a text are no longer than `room` in JSON."""
    written = quoted_text(text)
    if len(written) - 2 <= room:
        return len(text)
    from json import loads  # late: only a text that is cut needs it

    for end in range(1 + max(room, 0), 0, -1):
        with suppress(ValueError):  # an escape is cut in the middle; none is longer than six characters
            return len(loads(f'"{written[1:end]}"'))
    return 0


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


# ── spread ──
# An object of lists, cut so that each list keeps something: a first item of all before a second of any.

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


Losses = Mapping[Path, Loss]
Fields = Mapping[str, Any]
Noter = Callable[[dict[str, Any], Losses], str | None]


class View(Struct, frozen=True):
    """How results of one tool are shown. Its functions may raise on a result that is not of the tool's own form: then
    the result is treated as any other."""

    tool: str
    shaper: Callable[[Fields], Any]
    summariser: Callable[[Fields], str]
    note: Noter
    """What the cut, shaped result lacks and how to get it; it may correct the result. None: nothing special."""
    first: tuple[str, ...] = ()
    """Fields that are cut last."""
    spread: str | None = None
    """A field with an object of lists, each of which keeps something."""
    drawer: Callable[[Fields], tuple[list[dict[str, Any]], Any]] | None = None

    def shape(self, result: Any) -> Any:
        """The result (design 002 §5) as a model should see it."""
        return self.shaper(own(result))

    def summary(self, result: Any) -> str:
        """The result in one line, for the audit."""
        return self.summariser(own(result))

    def images(self, result: Any) -> tuple[list[dict[str, Any]], Any]:
        """The pictures in the result, as blocks of content in MCP; and the result without them."""
        return ([], result) if self.drawer is None else self.drawer(own(result))


def left_out(field: str, words: str) -> Noter:
    """A note for a list of which only the beginning is shown: how much of it is not, and these words."""

    def note(_cut: dict[str, Any], losses: Losses) -> str | None:
        loss = losses.get((field,))
        return None if loss is None else f"{loss.total - loss.kept} of {loss.total} {words}"

    return note


# ── fields ──
# Reading fields of a result that may have any form. A field that is not as it should be raises LookupError.


def own(result: Any) -> Fields:
    """The result of a tool that did what it was asked; another one is none of ours."""
    found = _as(Mapping, result, "the result")
    if found.get("success") is False:
        raise LookupError("the tool did not succeed")
    return cast("Fields", found)


def text(fields: Fields, name: str) -> str:
    return _as(str, fields.get(name), name)


def number(fields: Fields, name: str) -> int:
    found = fields.get(name)
    if isinstance(found, bool):
        raise LookupError(name)
    return _as(int, found, name)


def fields(fields: Fields, name: str) -> Fields:
    return _as(Mapping, fields.get(name), name)


def records(fields: Fields, name: str) -> Sequence[Fields]:
    found = _as(Sequence, fields.get(name), name)
    if isinstance(found, str | bytes) or not all(isinstance(item, Mapping) for item in found):
        raise LookupError(name)
    return cast("Sequence[Fields]", found)


def texts(fields: Fields, name: str) -> list[str]:
    found = _as(list | tuple, fields.get(name), name)
    if not all(isinstance(item, str) for item in found):
        raise LookupError(name)
    return list(found)


def many(count: int, word: str) -> str:
    """`1 file`, `2 files`, `2 matches`."""
    return f"{count} {word}{'' if count == 1 else 'es' if word.endswith('ch') else 's'}"


def changes(stats: Fields) -> str:
    """`+3/-1`, as the design writes counts of lines."""
    return f"+{number(stats, 'insertions')}/-{number(stats, 'deletions')}"


def with_truncated(shaped: dict[str, Any], result: Fields) -> dict[str, Any]:
    """A tool that stopped at its own limit says so, and what it has to say about it."""
    if result.get("truncated") is True:
        shaped = shaped | {"truncated": True}
    return shaped | {"note": result["note"]} if isinstance(result.get("note"), str) else shaped


def _as(kind: Any, value: Any, name: str) -> Any:
    if not isinstance(value, kind):
        raise LookupError(name)
    return value


# ── changes ──
# What diffs have in common, whichever tool shows them.


def file_list(diffs: Sequence[Fields]) -> list[dict[str, Any]]:
    """The files of a diff, each with its counts (design 002 §11)."""
    return [
        {
            "path": text(diff, "path"),
            "status": text(diff, "status"),
            "changes": changes(fields(diff, "stats")),
            "hunks": len(records(diff, "hunks")),
        }
        for diff in diffs
    ]


def lost_changes(losses: Losses, diffs: Path) -> str | None:
    """`the changes of 3 of 5 files left out in whole or in part`, with what else is missing; None: nothing of both.

    `diffs` is where the list of diffs stands. Its last ones are cut first.
    """
    loss, files = losses.get(diffs), losses.get(("files",))
    lost: list[str] = []
    if loss is not None:
        cut = {path[len(diffs)] for path in losses if path[: len(diffs)] == diffs and len(path) > len(diffs)}
        lost.append(
            f"the changes of {loss.total - loss.kept + len(cut)} of {loss.total} files left out in whole or in part"
        )
    if files is not None:
        lost.append(f"{files.total - files.kept} of {files.total} files not listed")
    return ", ".join(lost) or None
