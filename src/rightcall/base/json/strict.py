"""JSON as the standard has it: the fast way in, which also notices keys that stand twice. And what stands at a place of
a value."""

from __future__ import annotations

import math
import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

import msgspec

from rightcall.base.text import escaped, regex
from rightcall.errors import Unreadable
from rightcall.types import Problem

_decode = msgspec.json.decode
_encode = msgspec.json.encode
encode_sorted = msgspec.json.Encoder(order="deterministic").encode
"""The JSON of a value with its keys in order: equal values have the same bytes."""
_COLON = "\\u003"
"""How a colon begins that is written as an escape, in either case."""
_STRINGS = regex(r'"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?', re.S)
"""Every string of a JSON text; the group tells that it is a key."""

_LONG = 1_000_000
"""In a longer text it is not worth the time to tell which key stands twice."""

_NEAR = 65536
_NESTED = frozenset({dict, list})
_TOKEN = regex(r'"(?:[^"\\]|\\.)*"(\s*:)?|[{}\[\]]', re.S)


NO_JSON: Any = object()
"""What `attempt` returns for a text that is not JSON."""


def attempt(text: str) -> Any:
    """The value of a JSON text, or `NO_JSON`; numbers keep all their digits.

    >>> attempt('{"id": 12345678901234567890}')
    {'id': 12345678901234567890}
    """
    try:
        return _decode(text)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return NO_JSON


def decode(text: str) -> Any:
    """As `attempt`, but raises `Unreadable` where the text is not JSON."""
    value = attempt(text)
    if value is NO_JSON:
        raise Unreadable("the text is not JSON")
    return value


@lru_cache(1)
def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    from json import JSONDecoder  # late: only a text of a model needs it, and not arguments alone

    return JSONDecoder().scan_once  # type: ignore[attr-defined]


def whole_end(text: str, at: int) -> int:
    """Where the JSON value that begins at `at` ends; -1 when there is none, or not all of it within `_NEAR`."""
    try:  # of a piece: the error of a failure counts the lines of all the text before it
        return at + _scanner()(text[at : at + _NEAR], 0)[1]
    except (StopIteration, ValueError, RecursionError):
        return -1


def duplicate_keys(text: str, value: Any) -> tuple[str, ...]:
    """The paths of keys that stand twice in a JSON text whose value is known; usually nothing has to be read again.

    Each key has a colon of its own, so no more colons than keys means that no key was lost. Where texts have colons
    too, the value written out again has as many of them as the text, or fewer where a key was lost with what it held;
    only a colon that was written as an escape could make up for that.
    """
    if ":" not in text:
        return ()
    try:
        # nearly every text has no escape at all, which is quickly seen
        if ("\\" not in text or _COLON not in text) and text.count(":") == _encode(value).count(b":"):
            return ()
    except (TypeError, ValueError, OverflowError, RecursionError):  # what cannot be written out is counted below
        pass
    keys = _count_keys(value)
    if text.count(":") == keys or sum(map(bool, _STRINGS.findall(text))) == keys:
        return ()
    return _scan(text) if len(text) <= _LONG else ("",)


def opened(value: Any) -> Any:
    """A value, or what a JSON text holds; a text that is no JSON, or has a key twice, stays a text."""
    if not isinstance(value, str):
        return value
    inside = attempt(value)
    return value if inside is NO_JSON or duplicate_keys(value, inside) else inside


def _count_keys(value: Any) -> int:
    count = 0
    todo: list[Any] = [value]
    while todo:
        here = todo.pop()
        below: Any = here
        if type(here) is dict:
            below = here.values()  # pyright: ignore[reportUnknownVariableType] - as it was decoded
            count += len(here)  # pyright: ignore[reportUnknownArgumentType] - any object has a length
        elif type(here) is not list:
            continue
        todo += [child for child in below if type(child) in _NESTED]
    return count


def _scan(text: str) -> tuple[str, ...]:
    """Walk the tokens of a valid text with a stack of key sets."""
    found: list[str] = []
    stack: list[tuple[set[str], str]] = []
    key = ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in "{[":
            stack.append((set(), key))
        elif token in "}]":
            stack.pop()
        elif match[1] is not None:
            keys = stack[-1][0]
            key = cast("str", _decode(token[: -len(match[1])]))
            if key in keys:
                found.append(".".join([*(frame[1] for frame in stack[1:] if frame[1]), key]))
            keys.add(key)
    return tuple(found)


# ── hygiene ──
# What no argument may hold, whatever the schema says: NaN, lone surrogates, reserved keys, bottomless nesting.

MAX_VALUES = 100_000
"""More values than this are refused; a Python object can hold them by the billion, through lists it shares."""

MAX_BITS = 3400
"""About a thousand digits: more is no number that a tool could use."""

_FEW = 40
"""Values in each list or object that `is_plain` looks at: it is quick, and in three levels far from MAX_VALUES."""
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
_MOST = 20
_CONTAINERS = frozenset({dict, list, tuple, OrderedDict, defaultdict})
"""Whatever else pretends to be one of these may do anything when it is looked at."""
_SURROGATE = regex("[\ud800-\udfff]")
_type = cast("Callable[[Any], type[object]]", type)
_numbered = cast("Callable[[Any], Iterable[tuple[Any, Any]]]", enumerate)
_items = dict[Any, Any].items  # a subclass may have items of its own
_Step = tuple["_Step", Any] | None
"""Where a value stands, as a chain of steps; made into words only for a problem."""


def unsound(value: Any, max_depth: int, reserved: Container[str] = ()) -> tuple[Problem, ...]:
    """Every such fault in a value, at most twenty. Never recursive, so fit for values that hold themselves."""
    problems: list[Problem] = []
    level: list[tuple[Any, _Step]] = [(value, None)]
    count = 0
    for _ in range(max_depth + 1):
        deeper: list[tuple[Any, _Step]] = []
        for item, step in level:
            kind = _type(item)
            children: Iterable[tuple[Any, Any]]
            if kind is list or kind is tuple:
                children = _numbered(item)
            elif kind in _CONTAINERS:
                _keys(item, step, reserved, problems)
                children = list(_items(item))
            else:
                children = ((None, item),)
            for key, child in children:
                inner = _type(child)
                if inner is str:
                    if not child.isascii() and _SURROGATE.search(child):
                        problems.append(_half_pair((step, key)))
                elif inner in _CONTAINERS:
                    deeper.append((child, (step, key)))
                elif child is not None and inner is not bool:
                    _leaf(child, inner, (step, key), problems)
            count += 1 if kind not in _CONTAINERS else len(item)
            if len(problems) >= _MOST:
                return tuple(problems[:_MOST])
            if count > MAX_VALUES:
                return (*problems, Problem("too_large", "", f"The arguments hold more than {MAX_VALUES:,} values"))
        if not deeper:
            return tuple(problems)
        level = deeper
    return (*problems, Problem("too_large", "", f"The arguments are nested deeper than {max_depth} levels"))


def is_plain(value: Any, depth: int, reserved: Container[str] = ()) -> bool:
    """Whether a dict or list is small, no deeper than this, and certainly holds nothing that `unsound` would name; no
    says nothing. Most arguments are like that, and this takes a fraction of the time."""
    if len(value) > _FEW:
        return False
    children = value
    if _type(value) is dict:
        for key in value:
            if _type(key) is not str or key in reserved or (not key.isascii() and _SURROGATE.search(key)):
                return False
        children = value.values()
    for child in children:
        kind = _type(child)
        if kind is str:
            if not child.isascii() and _SURROGATE.search(child):
                return False
        elif kind is int:
            if not _SMALLEST <= child <= _LARGEST:
                return False
        elif kind is float:
            if not math.isfinite(child):
                return False
        elif kind is dict or kind is list:
            if not depth or not is_plain(child, depth - 1, reserved):
                return False
        elif child is not None and kind is not bool:
            return False
    return True


def _keys(item: Any, step: _Step, reserved: Container[str], problems: list[Problem]) -> None:
    for key, _ in list(_items(item)):
        if _type(key) is not str:
            name = _type(key).__name__
            problems.append(Problem("type", _path(step), f"The name of an argument must be text, not {name}"))
        elif key in reserved:
            path = _path((step, key))
            problems.append(Problem("reserved_key", path, f"`{path}` is a reserved name and cannot be an argument"))
        elif not key.isascii() and _SURROGATE.search(key):
            problems.append(Problem("text", _path(step), "The name of an argument holds half of a surrogate pair"))


def _leaf(value: Any, kind: type[object], step: _Step, problems: list[Problem]) -> None:
    if issubclass(kind, float):
        if not math.isfinite(value):
            path = _path(step)
            problems.append(Problem("number", path, f"`{path}` must be a finite number, not {float.__repr__(value)}"))
    elif issubclass(kind, int):
        if int.bit_length(value) > MAX_BITS:
            path = _path(step)
            problems.append(Problem("number", path, f"`{path}` has too many digits to be a number"))
    elif issubclass(kind, str):
        if _SURROGATE.search(value):
            problems.append(_half_pair(step))
    else:
        path = _path(step)
        problems.append(
            Problem("type", path, f"`{path}` is a Python {type(value).__name__}, which is not a JSON value")
        )


def _half_pair(step: _Step) -> Problem:
    path = _path(step)
    return Problem("text", path, f"`{path}` contains half of a surrogate pair, which is not text")


def _path(step: _Step) -> str:
    parts: list[str] = []
    while step is not None and len(parts) < _MOST:
        step, key = step
        if key is not None:
            name = key if type(key) is str else None
            parts.append(f"[{key}]" if type(key) is int else f".{escaped(name, 80) if name else '?'}")
    return "".join(reversed(parts)).removeprefix(".")


# ── what stands at a place of a value: `path`, `ws.url`, `operations[].path` ──────────────────────────────────────────
# The path rules and the state of a call depend on it, so it errs on the side of seeing too much: a text in which the
# place goes on is opened as JSON, an argument that is itself named like the place counts beside it, and one object
# where a list is expected counts as well as a list where one object is. Below a place every text and every key counts,
# and names are compared without case and separators: `Path` and `file-path` may be what a tool takes. Whatever a model
# wrote, nothing is raised, nothing is followed by recursion, and each text is read once.

_Object = Mapping[str, Any]

_CLOSED = "\0"
"""At the end of a text that should have been opened and is not JSON: no path has it, so no rule lets it pass."""


_MOST_VALUES = 20_000
"""Values below one place; of more, nobody says what they are."""


def plain_name(name: str) -> str:
    """A name of an argument without case, separators, what cannot be seen and letters that only look like others:
    `filePath`, `file-path` and `file_path` are one."""
    return _plain_name(name) if len(name) <= _LONGEST_NAME else _plain_name.__wrapped__(name)


_LONGEST_NAME = 100
"""Of longer ones none is kept in mind."""


@lru_cache(2048)
def _plain_name(name: str) -> str:
    if name.isalnum() and name.isascii():
        return name.lower()
    if not name.isascii():
        from rightcall.base.letters import latin  # late: hardly any name needs it

        name = latin(name)
    return "".join(one for one in name.casefold() if one.isalnum())


def values_at(arguments: _Object, place: str) -> list[str]:
    """The texts at a place and below it, keys included; also those in JSON that is written as a text, beside that text.

    >>> values_at({"operations": [{"path": "a"}, {"path": "b"}, {}]}, "operations[].path")
    ['a', 'b']
    >>> values_at({"operations": '[{"path": "a"}]'}, "operations[].path")
    ['a']
    """
    return list(_texts(found_at(arguments, place)))


def found_at(arguments: _Object, place: str) -> list[Any]:
    """The values at a place, whatever they are. A text that hides what would be there ends in a NUL character."""
    named = _named(arguments, place) if "[]" not in place else [arguments[place]] if place in arguments else []
    if "." not in place and "[]" not in place:
        return named
    found: list[Any] = [arguments]
    closed: list[str] = []
    for step in place.split("."):
        name = step.split("[]")[0]
        found = [value for one in _objects(found, closed) for value in _named(one, name) or _deeper(one, name, closed)]
        for _ in range(step.count("[]")):
            found = list(_list_items(found, closed))
    return [*named, *found, *closed]


def _named(arguments: _Object, name: str) -> list[Any]:
    """The values of all arguments that could be the one of this name, the exact one first."""
    exact = [arguments[name]] if name in arguments else []
    if len(arguments) == len(exact):
        return exact
    plain = plain_name(name)
    return exact + [value for key, value in arguments.items() if key != name and plain_name(key) == plain]


def _deeper(table: _Object, name: str, closed: list[str]) -> Iterator[Any]:
    """The same where it stands further down: `{"1": {"path": "a"}}` for a list of such objects."""
    todo: list[Any] = [table]
    left = _MOST_VALUES
    while todo:
        value = todo.pop()
        left -= 1
        if left < 0:
            closed.append(_CLOSED)
            return
        if isinstance(value, Mapping):
            found = _named(cast("_Object", value), name)
            yield from found
            todo += [] if found else cast("_Object", value).values()
        elif isinstance(value, list):
            todo += cast("list[Any]", value)


def _objects(values: Iterable[Any], closed: list[str]) -> Iterator[_Object]:
    """The objects among the values, in lists and in texts too."""
    todo = list(values)[::-1]
    while todo:
        value = _opened(todo.pop(), closed)
        if isinstance(value, list):
            todo += cast("list[Any]", value)[::-1]
        elif isinstance(value, Mapping):
            yield cast("_Object", value)


def _list_items(values: Iterable[Any], closed: list[str]) -> Iterator[Any]:
    for value in values:
        inner = _opened(value, closed)
        if isinstance(inner, list):
            yield from cast("list[Any]", inner)
        elif isinstance(inner, Mapping):
            yield cast("_Object", inner)


def _opened(value: Any, closed: list[str]) -> Any:
    """What a text holds, or what the text in it holds; None for one that is not JSON, which is then noted."""
    while isinstance(value, str):
        inner = _read(value)
        if inner is NO_JSON:
            closed.append(value + _CLOSED)
            return None
        value = inner
    return value


def _texts(values: Iterable[Any]) -> Iterator[str]:
    todo = list(values)[::-1]
    left = _MOST_VALUES
    while todo:
        value = todo.pop()
        left -= 1
        if left < 0:
            yield _CLOSED
            return
        if isinstance(value, list):
            todo += cast("list[Any]", value)[::-1]
        elif isinstance(value, Mapping):
            table = cast("_Object", value)
            todo += [*table.values()][::-1]
            yield from table
        elif isinstance(value, str):
            yield value
            if value.lstrip()[:1] in ("[", '"', "{") and isinstance(inner := _read(value), list | str | dict):
                todo.append(inner)


def _read(text: str) -> Any:
    """A key that stands twice makes it unreadable: which of the two a tool would take is not known here."""
    value = attempt(text)
    return NO_JSON if value is NO_JSON or duplicate_keys(text, value) else value
