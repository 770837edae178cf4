"""Reading fields of a result that may have any form. A field that is not as it should be raises LookupError."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

Fields = Mapping[str, Any]


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
    """`1 file`, `2 files`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


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
