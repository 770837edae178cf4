"""Text that a person decides about: every character can be seen, and no two texts look the same.

`escape.py` is for messages; this is for what gets approved. Beyond invisible characters it also spells out what only
looks like nothing (fillers, blank symbols), marks piled upon marks, and letters that are written from the right, since
they let a terminal reorder what stands around them.

    \\u001b \\t \\r \\n   a character that cannot be shown; a backslash that could be taken for one of these is doubled
"""

import re
from typing import Final
from unicodedata import bidirectional, category, is_normalized, normalize

MOST_MARKS: Final = 2
"""Combining marks on one letter that are drawn; more are spelled out."""

_SHORT: Final = {"\t": "\\t", "\r": "\\r", "\n": "\\n"}
_BACKSLASH: Final = re.compile(r"\\(?=[\\nrtu]|[^ -~]| \Z)")
_BACKSLASH_OR_QUOTE: Final = re.compile(r"\\(?=[\\nrtu\"]|[^ -~]| \Z)")
_BLANK_LOOKING: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\ufdfd\uffa0\U0001d159"
)
_RIGHT_TO_LEFT: Final = frozenset(("R", "AL", "AN"))
_MARKS: Final = frozenset(("Mn", "Mc"))


def visible(line: str) -> str:
    """One line with everything that could hide, move or be confused spelled out; a blank at its end too.

    >>> visible("rm\\x1b[2K -rf\\t"), visible("a\\\\d \\\\u0041 ")
    ('rm\\\\u001b[2K -rf\\\\t', 'a\\\\d \\\\\\\\u0041\\\\u0020')
    """
    if line.isascii() and line.isprintable() and "\\" not in line and not line.endswith(" "):
        return line
    return _spelled_out(_BACKSLASH.sub(r"\\\\", line))


def quoted(text: str) -> str:
    """A text in quotes, in one line; a quote in it is spelled out.

    >>> quoted('say "hi"')
    '"say \\\\u0022hi\\\\u0022"'
    """
    return '"' + _spelled_out(_BACKSLASH_OR_QUOTE.sub(r"\\\\", text)).replace('"', "\\u0022") + '"'


def _spelled_out(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        if not is_normalized("NFC", text):
            text = _apart(text)
        text = text.translate(_SPELLED)
        if _has_marks(text):
            text = _few_marks(text)
    return text[:-1] + "\\u0020" if text.endswith(" ") else text


def right_to_left_words(line: str) -> list[str]:
    """The words of a line that are written from the right, as they are."""
    if line.isascii():
        return []
    words, word = list[str](), ""
    for character in line:
        if bidirectional(character) in _RIGHT_TO_LEFT and character.isprintable():
            word += character
        elif word:
            words.append(word)
            word = ""
    return [*words, word] if word else words


def spelled(character: str) -> str:
    """A character as JSON would write it, in two parts where one is too small."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def folded(text: str, width: int) -> list[str]:
    """A line broken into rows that fit into `width` columns whatever the terminal: beyond ASCII every character may
    take two. A mark never starts a row, where it would sit on the margin."""
    if text.isascii():
        return [text[at : at + width] for at in range(0, len(text), width)] or [""]
    rows, start, used = list[str](), 0, 0
    for at, character in enumerate(text):
        columns = 1 if character < "\x7f" else 2
        if used + columns > width and category(character) not in _MARKS:
            rows.append(text[start:at])
            start, used = at, 0
        used += columns
    return [*rows, text[start:]]


class _Spelling(dict[int, str]):
    """What a character becomes, worked out when it first turns up."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        found = _SHORT.get(character) or (spelled(character) if _hides(character) else character)
        if len(self) < 50_000:
            self[code] = found
        return found


_SPELLED: Final = _Spelling()


def _hides(character: str) -> bool:
    return (
        not character.isprintable()
        or character in _BLANK_LOOKING
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
        or bidirectional(character) in _RIGHT_TO_LEFT
        or category(character) == "Me"
    )


def _apart(text: str) -> str:
    """Letters with two spellings that look the same: the usual one stays, the other is spelled out."""
    out, before = list[str](), ""
    for character in text:
        twin = normalize("NFC", character) != character or len(normalize("NFC", before + character)) == 1 == len(before)
        out.append(spelled(character) if twin else character)
        before = character
    return "".join(out)


def _has_marks(text: str) -> bool:
    return any(category(character) in _MARKS for character in set(text))


def _few_marks(text: str) -> str:
    """Marks stay on the letter they belong to, up to `MOST_MARKS`; those without a letter are spelled out."""
    out, marks = list[str](), MOST_MARKS
    for character in text:
        if category(character) in _MARKS:
            marks += 1
            out.append(character if marks <= MOST_MARKS else spelled(character))
        else:
            marks = 0 if character.isalpha() else MOST_MARKS
            out.append(character)
    return "".join(out)
