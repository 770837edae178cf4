"""Characters of which only one half is there, as JSON can write them: models write tokens, and one may end within an
emoji. The halves are joined; a half that stays alone is shown as `�`."""

from typing import Any, cast

from rightcall.parse.kinds import is_object


def whole_characters(text: str) -> str:
    r"""
    >>> whole_characters("\ud83d\ude00"), whole_characters("a\ud83db")
    ('😀', 'a�b')
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def with_whole_characters(value: Any) -> Any:
    """The same for every text within a value. Raises RecursionError for one that is too deep."""
    if isinstance(value, str):
        return whole_characters(value)
    if is_object(value):
        return {with_whole_characters(key): with_whole_characters(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_whole_characters(item) for item in cast("list[Any]", value)]
    return value


class Halves:
    """Joins texts that come one after the other: what may be the first half of a character waits for the second."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return whole_characters(text.removesuffix(self._half))

    def rest(self) -> str:
        """What waits at the end, in vain."""
        half, self._half = self._half, ""
        return whole_characters(half)
