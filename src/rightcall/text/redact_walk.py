"""One walk through a value that may hold secrets. Values that are shared or hold themselves are looked at once."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec.json import encode

from rightcall.text.secret_names import asks
from rightcall.text.secret_texts import without_aws_secret

if TYPE_CHECKING:
    from rightcall.text.redact import Redactor

MOST_LOOKED = 20_000
"""Values in one thing that are looked at."""
DEEPEST = 100
"""Levels that are looked into; what lies deeper is hidden whole."""

_PAIR_NAMES = ("name", "key", "header", "field", "variable")
"""What a pair calls its name, when it is written as an object with a `value`."""
_STEPS = re.compile(r"[^.\[\]/]+")


class Walk:
    """`repeated`: secrets that are known from elsewhere, each with what stands for it; the longest first."""

    def __init__(self, redactor: "Redactor", repeated: Mapping[str, str]) -> None:
        self._redactor = redactor
        self._repeated = [(secret, encode(secret)[1:-1].decode(), mark) for secret, mark in repeated.items()]
        self._seen: dict[int, Any] = {}
        self._looked = 0

    def clean(self, thing: Any, depth: int = 0, near_aws_key: bool = False) -> Any:
        """The value without its secrets; the same object when it has none. Raises ValueError for a very large one."""
        self._looked += 1
        if self._looked > MOST_LOOKED:
            raise ValueError("too large to be looked through")
        if isinstance(thing, str):
            return self._text(thing, near_aws_key)
        if thing is None or isinstance(thing, (bool, int, float)):
            return thing
        if isinstance(thing, (bytes, bytearray)):
            text = thing.decode("latin-1")
            return thing if self._text(text, near_aws_key) == text else self._redactor.mark(text)
        if not isinstance(thing, (dict, list, tuple, set, frozenset, Mapping)):  # Mapping last: it takes its time
            return thing
        place = id(thing)  # pyright: ignore[reportUnknownArgumentType] - any object has one
        known = self._seen.get(place)
        if known is not None:
            return known
        if depth >= DEEPEST or place in self._seen:  # or it holds itself
            return self._redactor.whole(thing)
        self._seen[place] = None
        if isinstance(thing, (dict, Mapping)):
            found = self._mapping(cast("Mapping[Any, Any]", thing), depth)
        else:
            found = self._sequence(cast("Sequence[Any]", thing), depth)
        self._seen[place] = found
        return found

    def _text(self, text: str, near_aws_key: bool) -> str:
        clean = text
        for secret, as_json, mark in self._repeated:
            clean = clean.replace(secret, mark).replace(as_json, mark)
        clean = self._redactor.text(clean)
        if near_aws_key:
            clean = without_aws_secret(clean, self._redactor.mark)
        return text if clean == text else clean

    def _mapping(self, thing: Mapping[Any, Any], depth: int) -> Any:
        named = self._named_beside(thing)
        near = _holds_aws_key(thing.values())
        out: dict[Any, Any] = {}
        same = True
        for key, item in thing.items():
            written: Any = self._text(key, False) if isinstance(key, str) else key
            if key in named or (self._is_secret(key) and not _is_answer(key, item)):
                new = self._redactor.whole(item)
            else:
                new = self.clean(item, depth + 1, near)
            same = same and new is item and written is key
            out[written] = new
        return thing if same else out

    def _named_beside(self, thing: Mapping[Any, Any]) -> tuple[str, ...]:
        """The fields of an object that another field calls secret: pairs of name and value, repairs and problems."""
        if "value" in thing and any(self._is_secret(thing.get(name)) for name in _PAIR_NAMES):
            return ("value",)
        path = thing.get("path")
        if isinstance(path, str) and ("before" in thing or ("message" in thing and "code" in thing)):
            steps = _STEPS.findall(path[-1000:])
            return ("before", "after", "message") if any(map(self._is_secret, steps)) else ()
        return ()

    def _sequence(self, thing: Sequence[Any], depth: int) -> Any:
        items = list(thing)
        near = _holds_aws_key(items)
        out: list[Any] = []
        for at, item in enumerate(items):
            before: Any = items[at - 1] if at else None
            is_value = self._is_secret(before) and (len(items) == 2 or before.startswith("-"))
            if is_value and not (isinstance(item, str) and item.startswith("-")):
                out.append(self._redactor.whole(item))
            else:
                out.append(self.clean(item, depth + 1, near))
        return thing if all(new is old for new, old in zip(out, items, strict=True)) else out

    def _is_secret(self, name: Any) -> bool:
        return isinstance(name, str) and self._redactor.is_secret(name)


def _is_answer(name: str, item: Any) -> bool:
    """A yes or no to a question: `has_password` tells nothing."""
    return isinstance(item, bool) and asks(name)


def _holds_aws_key(items: Iterable[Any]) -> bool:
    return any(isinstance(item, str) and ("AKIA" in item or "ASIA" in item) for item in items)
