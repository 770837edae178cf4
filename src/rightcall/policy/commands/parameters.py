"""What a shell makes of `${name…}`: a part of a value, another case, a pattern cut off or replaced, an item of a list.

Only what can be told without running anything. A value that is not known, or a pattern that would take long to match,
gives None; the caller then takes it for text that nobody knows."""

import re
from collections.abc import Callable

from rightcall.base.text import regex
from rightcall.policy.commands.words import HOLE, KEPT, as_pattern, as_text

_LONGEST = 200
"""Characters of a value that is changed."""
_PART = regex(r":\s*(-?\d{1,6})(?:\s*:\s*(-?\d{1,6}))?\s*")
_ITEM = regex(r"\[([^\]]*)\]")
_NUMBER = regex(r"-?\d{1,6}")
_CASES: dict[str, Callable[[str], str]] = {
    "^^": str.upper, "^": lambda text: text[:1].upper() + text[1:], "@U": str.upper,
    ",,": str.lower, ",": lambda text: text[:1].lower() + text[1:], "@L": str.lower,
    "@u": lambda text: text[:1].upper() + text[1:], "@Q": str, "@E": str,
}  # fmt: skip


def alter(value: str, operation: str) -> str | None:
    """A value after what stands behind its name in the braces.

    >>> alter("a.tar.gz", "%.*"), alter("Xenv", "/X/."), alter("aaenv", ":2"), alter("ENV", ",,")
    ('a.tar', '.env', 'env', 'env')
    """
    if not operation:
        return value
    if len(value) > _LONGEST or HOLE in value or HOLE in operation or value.startswith(KEPT):
        return None
    if (case := _CASES.get(operation)) is not None:
        return case(value)
    if (found := _PART.fullmatch(operation)) is not None:
        return "".join(_part(list(value), found))
    if operation[0] in "#%":
        twice = operation[:2] in ("##", "%%")
        return _cut(value, operation[1 + twice :], at_end=operation[0] == "%", longest=twice)
    return _replace(value, operation[1:]) if operation[0] == "/" else None


def items_of(items: tuple[str, ...], operation: str) -> tuple[tuple[str, ...], bool] | None:
    """The items that `${list[…]…}` means, and whether it means all of them beside each other; None where nobody knows.

    >>> items_of(("a", ".env"), "[1]"), items_of(("a", "b", "c"), "[@]:1")
    ((('.env',), False), (('b', 'c'), True))
    """
    found = _ITEM.match(operation)
    if found is None:
        return None
    key, rest = found[1], operation[found.end() :]
    every = key in ("@", "*")
    exact = not any(HOLE in one or one.startswith(KEPT) for one in items)
    if every and (part := _PART.fullmatch(rest)) is not None:
        return (tuple(_part(list(items), part)) if exact else items), True
    if not every and exact and _NUMBER.fullmatch(key):
        items = items[int(key) :][:1]  # behind the last there is nothing
    made = [alter(one, rest) for one in items]
    return tuple(HOLE if one is None else one for one in made), every


def _part(whole: list[str], found: "re.Match[str]") -> list[str]:
    rest = whole[int(found[1]) :]
    return rest if found[2] is None else rest[: int(found[2])]


def _cut(value: str, pattern: str, *, at_end: bool, longest: bool) -> str | None:
    meant = _matcher(pattern)
    if meant is None:
        return None
    lengths = range(len(value) + 1)
    for length in reversed(lengths) if longest else lengths:
        piece = value[len(value) - length :] if at_end else value[:length]
        if meant.fullmatch(piece):
            return value[: len(value) - length] if at_end else value[length:]
    return value


def _replace(value: str, operation: str) -> str | None:
    """`/pattern/text`, `//…` for all of them, `/#…` and `/%…` at one end."""
    sign = operation[:1] if operation[:1] in ("/", "#", "%") else ""
    pattern, _, text = operation[len(sign) :].partition("/")
    meant = _matcher(pattern) if pattern else None
    if meant is None:
        return None
    text = as_text(text)
    if sign in ("#", "%"):
        rest = _cut(value, pattern, at_end=sign == "%", longest=True)
        if rest is None or rest == value:
            return rest
        return rest + text if sign == "%" else text + rest
    return meant.sub(lambda _found: text, value, count=0 if sign == "/" else 1)


def _matcher(pattern: str) -> re.Pattern[str] | None:
    """A pattern with one star at most, so that it is matched in the length of a value times itself."""
    glob = as_pattern(pattern)
    if len(glob) > _LONGEST or len(re.findall(r"(?<!\[)\*", glob)) > 1 or "(" in glob:
        return None
    pieces = re.findall(r"\[[!^]?\]?[^\]]*\]|.", glob, re.DOTALL)
    written = [_WILD.get(one) or (_class(one) if len(one) > 2 else re.escape(one)) for one in pieces]
    try:
        return re.compile("".join(written), re.DOTALL)
    except re.error:
        return None


_WILD = {"*": ".*", "?": "."}


def _class(written: str) -> str:
    inside = written[1:-1].replace("\\", "\\\\").replace("[", "\\[")
    return f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]"
