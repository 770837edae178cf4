"""What stands at a place of a call's arguments: `path`, `ws.url`, `operations[].path`.

The path rules and the state of a call depend on it, so it errs on the side of seeing too much: a text in which the
place goes on is opened as JSON, an argument that is itself named like the place counts beside it, and one object where
a list is expected counts as well as a list where one object is. Below a place every text and every key counts, and
names are compared without case and separators: `Path` and `file-path` may be what a tool takes. Whatever a model wrote,
nothing is raised, nothing is followed by recursion, and each text is read once.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

from rightcall.base.json.strict import NO_JSON, attempt, duplicate_keys

_Object = Mapping[str, Any]

_CLOSED = "\0"
"""At the end of a text that should have been opened and is not JSON: no path has it, so no rule lets it pass."""


_MOST = 20_000
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
            found = list(_items(found, closed))
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
    left = _MOST
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


def _items(values: Iterable[Any], closed: list[str]) -> Iterator[Any]:
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
    left = _MOST
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
