"""The words of problems, made for a model to act on: which argument, which rule, what was there instead."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rightcall.text.escape import escaped, render_json

Path = tuple[str | int, ...]
CHOICES = 12

_TYPES = {
    "string": "a text", "integer": "an integer", "number": "a number", "boolean": "true or false", "array": "a list",
    "object": "an object", "null": "null",
}  # fmt: skip


def path_text(path: Iterable[str | int]) -> str:
    """`items[0].size`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{escaped(step, 60)}" if text else escaped(step, 60)
    return text


def named(path: Sequence[str | int]) -> str:
    """An argument in a sentence; the call as a whole when there is no path."""
    return f"`{path_text(path)}`" if path else "the arguments"


def type_words(types: Iterable[str]) -> str:
    """`an integer or null`; null comes last, since it is hardly ever what is wanted."""
    return joined([_TYPES.get(name, name) for name in sorted(types, key=lambda name: name == "null")])


def got(value: Any) -> str:
    """What was there: `the text "three"`, `the number 3`, `a list [1, 2]`."""
    if isinstance(value, str):
        return f"the text {render_json(value)}"
    if value is None or isinstance(value, bool):
        return render_json(value)
    if isinstance(value, (int, float)):
        return f"the number {render_json(value)}"
    if isinstance(value, Mapping):
        return f"the object {render_json(value)}"
    if isinstance(value, (list, tuple)):
        return f"the list {render_json(value)}"
    return render_json(value)


def choices(values: Sequence[Any]) -> str:
    """`celsius, fahrenheit`, cut where a long list would drown the rest; other than plain words as JSON."""
    plain = [
        value if isinstance(value, str) and _is_plain(value) else render_json(value, 40) for value in values[:CHOICES]
    ]
    more = f" … ({len(values)} in all)" if len(values) > CHOICES else ""
    return ", ".join(plain) + more


def joined(words: Sequence[str], last: str = "or") -> str:
    """`a, b or c`."""
    unique = list(dict.fromkeys(words))
    return f"{', '.join(unique[:-1])} {last} {unique[-1]}" if len(unique) > 1 else "".join(unique)


def _is_plain(text: str) -> bool:
    return bool(text) and len(text) <= 40 and text.isprintable() and not set(text) & set('",;') and text == text.strip()
