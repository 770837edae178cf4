"""What must not stand in a record is replaced by `[redacted 12hexdigits]`: a digest under the store's own key, so that
equal secrets can be recognised and none can be guessed back.

    >>> hide = Redactor(b"key of the store")
    >>> hide.value({"user": "ann", "password": "hunter2", "days": 3})
    {'user': 'ann', 'password': '[redacted ...]', 'days': 3}
    >>> hide.text("curl -H 'X-Api-Key: hunter2' https://ann:hunter2@example.org")
    "curl -H 'X-Api-Key: [redacted ...]' https://ann:[redacted ...]@example.org"
"""

import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, cast

from msgspec.json import encode

from rightcall.base.secrets import MARK, is_secret, squashed

_MOST_NAMES, _LONGEST_NAME = 4096, 100
"""Of names whose answer is remembered."""

_SHORTEST_REPEATED, _MOST_REPEATED = 4, 64
"""Of secrets that are looked for beside the arguments: characters, and how many; with more, all of it is hidden."""

_QUIET = re.compile(r"(?:[A-Za-z0-9_-]{0,14}+[^A-Za-z0-9_=:<-]++)*+[A-Za-z0-9_-]{0,14}+\Z").match
"""Texts without a sign that could give a name a value, and without a word as long as a token: with no option either,
most arguments are so."""

_MOST_LOOKED = 20_000
"""Values in one call that are looked at; of a larger one nothing is shown, since nobody knows what it holds."""
_LONGEST_TEXT, _LOOKED_AT, _MARGIN = 64_000, 24_000, 8_000
"""Characters of a text that is looked at as a whole; of a longer one only the beginning, and what was looked at last
does not count: it may end with half a secret."""

_BARE: frozenset[type] = frozenset((int, bool, float, type(None)))
_FLAT = _BARE | {str}
_MOST_HOLDERS = 200
"""Objects and lists in one value that are looked at in the fast way."""
_TELLING = frozenset(("value", "before", "after", "message"))
"""Fields that can be secret because of what a field beside them says."""


class Redactor:
    """Hides secrets in values and texts. `names` are secret besides the built-in ones. Never raises."""

    def __init__(self, key: bytes, names: Iterable[str] = ()) -> None:
        if not key:
            raise ValueError("key is empty: without one a short secret could be guessed from its digest")
        self._key = key[:64]
        self._own = frozenset(map(squashed, names))
        self._secret: dict[str, bool] = {}
        self._plain: set[Any] = set()
        self._labels: dict[str, str] = {}

    def value(self, thing: Any) -> Any:
        """A copy of a JSON-like value without its secrets; the very same object when there are none."""
        try:
            if type(thing) is str:
                return self.text(thing)
            return thing if self._is_quiet(thing) else self._walked(thing, {})
        except Exception:  # noqa: BLE001  (what is no JSON may do anything when it is touched; then it is not recorded)
            return self._hidden(thing)

    def label(self, text: str) -> str:
        """As `value`, for a text that comes again and again, such as the name of a session: looked at once."""
        known = self._labels.get(text) if type(text) is str else self.value(text)
        if known is None:
            known = self.value(text)
            if len(text) <= _LONGEST_NAME and len(self._labels) < _MOST_NAMES:
                self._labels[text] = known
        return known

    def text(self, text: str) -> str:
        """A text without its secrets; a very long one is cut."""
        if len(text) > _LONGEST_TEXT:
            return f"{self.text(text[:_LOOKED_AT])[:-_MARGIN]}… ({len(text):,} characters)"
        if _QUIET(text) and not _has_options(text):
            return text
        from rightcall.base.scan import without_secrets  # late: dozens of patterns, which most calls never need

        return without_secrets(text, self.is_secret, self.mark)

    def beside(self, thing: Any, arguments: Any) -> Any:
        """As `value`; and what is secret by its name in a call's arguments is hidden wherever `thing` repeats it: the
        text around the call, the error of a tool that quotes what it was given."""
        try:
            found = self._named(arguments)
            if not found:
                return self.value(thing)
            secrets = sorted(found, key=len, reverse=True)
            if len(secrets) <= _MOST_REPEATED:
                return self._walked(thing, {secret: self.mark(secret) for secret in secrets})
        except Exception:  # noqa: BLE001  (as above)
            pass
        return self._hidden(thing)

    def _hidden(self, thing: Any) -> Any:
        """What is left of a value of which nobody can tell what in it is secret."""
        if type(thing) is dict and len(fields := cast("dict[Any, Any]", thing)) <= _MOST_HOLDERS:
            return {key: self.whole(item) for key, item in fields.items()}
        return self.mark(_type_of(thing))

    def is_secret(self, name: str) -> bool:
        """Whether values of this name are hidden."""
        known = self._secret.get(name)
        if known is None:
            known = is_secret(name) or (bool(self._own) and squashed(name) in self._own)
            if len(name) <= _LONGEST_NAME:
                if len(self._secret) >= _MOST_NAMES:
                    self._secret.clear()
                self._secret[name] = known
        return known

    def mark(self, secret: str) -> str:
        """What stands for a secret."""
        data = secret.encode("utf-8", "surrogatepass")
        return f"[redacted {blake2b(data, digest_size=6, key=self._key).hexdigest()}]"

    def keyed(self, data: bytes) -> str:
        """A digest that says whether two things are the same, and that nobody can guess back without the key."""
        return f"keyed:{blake2b(data, digest_size=16, key=self._key).hexdigest()}"

    def whole(self, thing: Any) -> str:
        """What stands for a value that is hidden as it is; of one that is no text, for its JSON."""
        if isinstance(thing, str):
            return thing if MARK.fullmatch(thing) else self.mark(thing)
        try:
            return self.mark(encode(thing, order="deterministic").decode())
        except Exception:  # noqa: BLE001  (no JSON, or too deep: the digest then only says of what type it was)
            return self.mark(_type_of(thing))

    def _walked(self, thing: Any, repeated: Mapping[str, str]) -> Any:
        from rightcall.base.scan import Walk  # late: as above

        return Walk(self, repeated).clean(thing)

    def _is_quiet(self, thing: Any) -> bool:
        """Whether it is an object that plainly holds no secret; looked at as one text, which is much faster."""
        if type(thing) is not dict:
            return False
        whole = cast("dict[Any, Any]", thing)
        if not self._plain.issuperset(whole) and not self._are_plain(whole):
            return False
        texts: list[str] = []
        inner: list[Any] = []
        for item in whole.values():
            if type(item) is str:
                texts.append(item)
            elif type(item) not in _BARE:
                inner.append(item)
        if inner and not self._are_quiet(inner, texts):
            return False
        joined = "\n".join(texts)
        return _QUIET(joined) is not None and not _has_options(joined)

    def _are_quiet(self, inner: list[Any], texts: list[str]) -> bool:
        """The same for what an object holds; its texts are added to `texts`."""
        for holder in inner:  # which grows meanwhile
            items = self._items(holder)
            if items is None or len(inner) > _MOST_HOLDERS:
                return False
            for item in items:
                if type(item) is str:
                    texts.append(item)
                elif type(item) not in _BARE:
                    inner.append(item)
        return True

    def _items(self, holder: Any) -> Iterable[Any] | None:
        """What a list or an object with plain names holds; None for anything else."""
        if type(holder) is dict:
            names = cast("dict[Any, Any]", holder)
            return names.values() if self._are_plain(names) else None
        if type(holder) is list:
            items = cast("list[Any]", holder)
            is_pair = len(items) == 2 and isinstance(items[0], str) and self.is_secret(items[0])
            return None if is_pair else items
        return None

    def _are_plain(self, holder: dict[Any, Any]) -> bool:
        return all(key in self._plain or self._is_plain(key) for key in holder)

    def _is_plain(self, key: Any) -> bool:
        if type(key) is not str or key in _TELLING or self.is_secret(key) or self.text(key) is not key:
            return False
        if len(key) <= _LONGEST_NAME and len(self._plain) < _MOST_NAMES:
            self._plain.add(key)
        return True

    def _is_flat(self, arguments: dict[Any, Any]) -> bool:
        """Whether no name is secret and no value holds others; the usual case."""
        return self._plain.issuperset(arguments) and _FLAT.issuperset(map(type, arguments.values()))

    def _named(self, arguments: Any) -> set[str]:
        """Every text and number below a name that is secret."""
        found: set[str] = set()
        if type(arguments) is dict and self._is_flat(cast("dict[Any, Any]", arguments)):
            return found
        seen: set[tuple[int, bool]] = set()
        waiting: list[tuple[Any, bool]] = [(arguments, False)]
        looked = 1
        while waiting:
            thing, hidden = waiting.pop()
            if isinstance(thing, (Mapping, list, tuple)):
                if (id(thing), hidden) in seen:  # pyright: ignore[reportUnknownArgumentType] - any object has one
                    continue
                seen.add((id(thing), hidden))  # pyright: ignore[reportUnknownArgumentType] - as above
                looked += len(thing)  # pyright: ignore[reportUnknownArgumentType] - as above
                if looked > _MOST_LOOKED:
                    raise ValueError("too large to be looked through")
            if isinstance(thing, Mapping):
                items = cast("Mapping[Any, Any]", thing).items()
                waiting += [(item, hidden or (isinstance(key, str) and self.is_secret(key))) for key, item in items]
            elif isinstance(thing, (list, tuple)):
                waiting += [(item, hidden) for item in cast("list[Any]", thing)]
            elif hidden and isinstance(thing, (str, int, float)) and not isinstance(thing, bool):
                text = str(thing)
                if len(text) >= _SHORTEST_REPEATED and not MARK.fullmatch(text):
                    found.add(text)
        return found


def _has_options(text: str) -> bool:
    return "-" in text and (" -" in text or "--" in text or "\n-" in text or text[0] == "-")


def _type_of(thing: Any) -> str:
    return type(cast("object", thing)).__name__
