"""A text that fits a schema: by format, by pattern where the pattern is simple, by length."""

import re

from rightcall.catalog.keywords import Schema

_FORMATS = {
    "date": "2025-01-31", "date-time": "2025-01-31T09:30:00Z", "time": "09:30:00Z", "duration": "PT1H",
    "email": "name@example.com", "idn-email": "name@example.com", "uri": "https://example.com/page",
    "url": "https://example.com/page", "uri-reference": "/page", "iri": "https://example.com/page",
    "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "json-pointer": "/name",
    "uuid": "123e4567-e89b-12d3-a456-426614174000", "regex": "^[a-z]+$",
}  # fmt: skip
_LONGEST = 500
_PIECE = re.compile(
    r"(?P<atom>\\[dwsDWS]|\\.|\[\^?(?:\\.|[^\]\\])+\]|[^\\\[\](){}*+?|^$])"
    r"(?P<count>\{\d+(?:,\d*)?\}|[*+?])?"
)
_CLASSES = {r"\d": "1", r"\w": "a", r"\s": " ", r"\D": "a", r"\W": "-", r"\S": "a", ".": "a"}


def text_for(node: Schema, name: str) -> str:
    """A text for an argument; without any wish of the schema its own name in angle brackets."""
    wished = _FORMATS.get(str(node.get("format", "")))
    pattern = node.get("pattern")
    if isinstance(pattern, str):
        from_pattern = text_matching(pattern, node.get("minLength", 0))
        text = from_pattern if from_pattern is not None else (wished or "text")
    else:
        text = wished or (f"<{name}>" if name else "text")
    least, most = node.get("minLength", 0), node.get("maxLength")
    if len(text) < least <= 2 * _LONGEST and not isinstance(pattern, str):
        text = text.ljust(least, "x")
    return text[:most] if isinstance(most, int) and len(text) > most else text


def text_matching(pattern: str, least: int = 0) -> str | None:
    """The shortest text of a simple pattern (letters, classes, counts, plain groups); None when it is not simple.

    >>> text_matching(r"^[A-Z]{3}-\\d+$")
    'AAA-1'
    """
    if len(pattern) > _LONGEST:
        return None
    flat = _ungrouped(pattern.removeprefix("^").removesuffix("$"))
    if flat is None:
        return None
    text, position, growing = "", 0, None
    while position < len(flat):
        piece = _PIECE.match(flat, position)
        if piece is None:
            return None
        letter = _letter(piece["atom"])
        if letter is None:
            return None
        low, high = _counts(piece["count"])
        if low > _LONGEST:
            return None
        text += letter * low
        growing = (len(text), letter) if high is None else growing
        position = piece.end()
    if len(text) < least <= 2 * _LONGEST and growing is not None:
        at, letter = growing
        text = text[:at] + letter * (least - len(text)) + text[at:]
    return text if len(text) <= 2 * _LONGEST else None


def _ungrouped(pattern: str) -> str | None:
    """Groups without counts, by their first alternative; deeper or counted groups are not simple."""
    while True:
        group = re.search(r"(?<!\\)\((?:\?:)?([^()]*)\)(.?)", pattern)
        if group is None:
            break
        if group[2] in ("{", "*", "+"):
            return None
        inner = "" if group[2] == "?" else _first_choice(group[1])
        if inner is None:
            return None
        keep = "" if group[2] == "?" else group[2]
        pattern = pattern[: group.start()] + inner + keep + pattern[group.end() :]
    return _first_choice(pattern)


def _first_choice(pattern: str) -> str | None:
    choice = re.match(r"(?:\\.|\[(?:\\.|[^\]\\])*\]|[^|\\\[])*", pattern)
    if choice is None or pattern[choice.end() : choice.end() + 1] not in ("", "|"):
        return None  # a bracket that never closes
    return choice[0].removesuffix("$")


def _letter(atom: str) -> str | None:
    if atom in _CLASSES:
        return _CLASSES[atom]
    if atom.startswith("\\"):
        return None if atom[1].isalnum() else atom[1]
    if not atom.startswith("["):
        return atom
    if atom.startswith("[^"):
        excluded = re.compile(atom)
        return next((letter for letter in "a1-A_ " if excluded.match(letter)), None)
    first = re.match(r"\[(\\.|.)", atom)
    return _letter(first[1]) if first else None


def _counts(count: str | None) -> tuple[int, int | None]:
    """Least and most of a repetition; None for no end."""
    if count is None:
        return 1, 1
    if count in "*+?":
        return {"*": 0, "+": 1, "?": 0}[count], 1 if count == "?" else None
    low, _, high = count[1:-1].partition(",")
    return int(low), None if "," in count and not high else int(high or low)
