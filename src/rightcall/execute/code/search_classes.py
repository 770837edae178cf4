"""Sets of characters in a search pattern, as ranges of code points, so that every engine is given the same set in the
same spelling. No set ever holds the end of a line: what is searched is one line at a time."""

from typing import Literal

Ranges = tuple[tuple[int, int], ...]

_LAST = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)
_LINE_ENDS = ((0x0A, 0x0A), (0x0D, 0x0D))

DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
BLANK: Ranges = ((0x09, 0x09), (0x0B, 0x0C), (0x20, 0x20))
"""What `\\s` finds inside a line."""

NAMED: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0x00, 0x09), (0x0B, 0x0C), (0x0E, 0x7F)),
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0x00, 0x09), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x7F)),
    "digit": DIGIT,
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": BLANK,
    "upper": ((0x41, 0x5A),),
    "word": WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}
"""The sets that are written `[[:name:]]`, as POSIX has them."""

PERL: dict[str, tuple[Ranges, bool]] = {
    "d": (DIGIT, False), "D": (DIGIT, True), "w": (WORD, False), "W": (WORD, True), "s": (BLANK, False),
    "S": (BLANK, True),
}  # fmt: skip
"""`\\d` and the like, and whether it is what lies outside the set."""

_CATEGORIES = frozenset((
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps", "Pe", "Pi",
    "Pf", "Po", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs",
))  # fmt: skip
_SCRIPTS = frozenset((
    "Arabic", "Armenian", "Bengali", "Cyrillic", "Devanagari", "Georgian", "Greek", "Han", "Hangul", "Hebrew",
    "Hiragana", "Katakana", "Latin", "Tamil", "Thai",
))  # fmt: skip
PROPERTIES = _CATEGORIES | _SCRIPTS
"""What may stand in `\\p{…}`: known to all engines by the same names."""


def without_line_ends(ranges: Ranges) -> Ranges:
    """The same set less the characters that end lines.

    >>> without_line_ends(((0x09, 0x0D),))
    ((9, 9), (11, 12))
    """
    for first, last in _LINE_ENDS:
        ranges = _less(ranges, first, last)
    return ranges


def outside(ranges: Ranges) -> Ranges:
    """Every other character that can stand in a line."""
    found: Ranges = ((0, _LAST),)
    for first, last in ranges:
        found = _less(found, first, last)
    return without_line_ends(found)


def _less(ranges: Ranges, first: int, last: int) -> Ranges:
    kept: list[tuple[int, int]] = []
    for low, high in ranges:
        if last < low or first > high:
            kept.append((low, high))
            continue
        if low < first:
            kept.append((low, first - 1))
        if last < high:
            kept.append((last + 1, high))
    return tuple(kept)


def spelled(ranges: Ranges, properties: tuple[str, ...] = (), *, negated: bool = False) -> str | None:
    """The set as both engines read it; None when nothing is in it. A negated one leaves out line ends too."""
    shown = [_range(low, high) for low, high in _less(ranges, *_SURROGATES)]
    shown += [f"\\p{{{name}}}" for name in properties]
    if negated:
        return f"[^\\n\\r{''.join(shown)}]"
    return f"[{''.join(shown)}]" if shown else None


def _range(low: int, high: int) -> str:
    return character(low) if low == high else f"{character(low)}-{character(high)}"


def character(code: int) -> str:
    """One character that stands for itself, in a set or outside of one."""
    letter = chr(code)
    return letter if letter.isascii() and letter.isalnum() else f"\\x{{{code:x}}}"


def range_kind(low: int, high: int) -> Literal["plain", "backwards", "surrogate"]:
    """Whether a range can be had."""
    if low > high:
        return "backwards"
    if any(_SURROGATES[0] <= end <= _SURROGATES[1] for end in (low, high)):
        return "surrogate"
    return "plain"
