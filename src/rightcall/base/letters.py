"""Letters that look like others: names that look alike are one name, a text that plays with them is pointed out, and
`visible` spells out what cannot be seen."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final
from unicodedata import bidirectional, category, is_normalized, name, normalize

_MOST_WORDS: Final = 3
_LETTERS: Final = (  # each letter is followed by those that can be taken for it
    "aаαɑᴀꓮᎪ", "bьƅвʙꓐᏴ", "cсϲᴄꓚᏟ", "dԁᴅꓓᎠ", "eеєεᴇꓰᎬ", "fꜰꓝ", "gɡɢꓖᏀց", "hһнʜꓧᎻհ", "iіıιӏ|1lɩ!ɪʟꓲꓡᏞᎥ", "jјϳᴊꓙᎫյ",
    "kкκᴋꓗᏦ", "mмᴍꓟᎷ", "nոпηɴꓠ", "oоο0օσᴏꓳ", "pрρᴘꓑᏢ", "qԛզ", "rгᴦʀꓣᎡᏒ", "sѕꜱꓢᏚ", "tтτᴛꓔᎢ", "uսυᴜꓴ", "vνѵᴠꓦᏙ",
    "wԝшωᴡꓪᎳ", "xхχꓫ", "yуγүʏꓬ", "zᴢꓜᏃ",
)  # fmt: skip
_LIKE: Final = {ord(other): letters[0] for letters in _LETTERS for other in letters[1:]}
_CAPITALS: Final = {ord(one): like for one, like in zip("ΒΖΗΜΝΥ", "bzhmny", strict=True)}
"""Greek capitals that look like other letters than their small ones do."""
_LIKE_L: Final = "ӏʟꓡᏞ"
_LATIN: Final = {ord(one): "l" for one in _LIKE_L} | {
    code: letter for code, letter in _LIKE.items() if code > 127 and chr(code) not in _LIKE_L
}
_UNSEEN: Final = (  # what a font draws as nothing at all, or as a blank
    "[\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_STEERS: Final = "[\x01-\x1f\x7f-\x9f\ue000-\uf8ff]"
"""Characters that steer a terminal, and those that mean what two parties agree on."""
_LIKE_SIGNS: Final = "[\u02b0-\u02ff\u0559\u0640\ua717-\ua721\ua788\ua78b\ua78c]"
"""Letters by their kind that are drawn as signs: apostrophes, strokes, accents."""
_PLAYED_WITH: Final = frozenset(("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"))
_LIKE_PUNCTUATION: Final = {"∕": "/", "⁄": "/", "⧸": "/", "⧵": "\\", "∖": "\\", "․": ".", "‥": "..", "꞉": ":", "ː": ":"}


def skeleton(text: str) -> str:
    """What is left of a name when look-alikes count as one: case, marks, signs and whatever cannot be seen are nothing.

    >>> skeleton("Te acher\\u3164"), skeleton("t\\u0435acher"), skeleton("ｔｅａｃｈｅｒ") == skeleton("teacher")
    ('teacher', 'teacher', True)
    """
    return letters(text).replace("rn", "m").replace("vv", "w")


def letters(text: str) -> str:
    """The same letter by letter: two that look like one together stay two."""
    plain = text
    if not text.isascii():
        plain = normalize("NFKD", normalize("NFKC", _seen(text)).translate(_CAPITALS).casefold())
        plain = re.sub(_LIKE_SIGNS, "", _seen(plain))
    return "".join(one for one in plain.casefold().translate(_LIKE) if category(one)[0] in "LN")


def latin(text: str) -> str:
    """A text in small letters, with plain ones in the place of those that look like them; the signs stay.

    >>> latin("\uff0e\u0435nv\u200b"), latin("x\uff0f..\uff0fY")
    ('.env', 'x/../y')
    """
    return text.lower() if text.isascii() else as_signs(text).translate(_CAPITALS).casefold().translate(_LATIN)


def as_signs(text: str) -> str:
    """A text in plain letters and signs where it holds other writings of them, without what cannot be seen."""
    return with_plain_signs(re.sub(_STEERS, "", normalize("NFKC", _seen(text))).replace("\u3002", "."))


def _seen(text: str) -> str:
    return re.sub(_UNSEEN, "", text)  # compiled when first needed: a hook loads this with every call


def has_unseen(text: str) -> bool:
    """Whether a text holds something that is drawn as nothing or as a blank, other than the plain blank itself.

    >>> has_unseen("main\\u3164"), has_unseen("main")
    (True, False)
    """
    return not text.isascii() and re.search(_UNSEEN, text) is not None


def with_plain_signs(text: str) -> str:
    """A text with the plain sign in the place of each that looks like one.

    >>> with_plain_signs("a\\u2215b")
    'a/b'
    """
    return text if text.isascii() else "".join(_LIKE_PUNCTUATION.get(one, one) for one in text)


def suspicions(text: str) -> Iterator[str]:
    """What a person should know of the letters in a text, in plain ASCII; nothing for an ordinary one."""
    if text.isascii():
        return

    words = [word for word in re.findall(r"\w+", text) if not word.isascii()]
    mixed = [word for word in words if len({_alphabet(letter) for letter in word} & _PLAYED_WITH) > 1]
    yield from _list_words("letters of different alphabets in one word", mixed)
    yield from _list_words("letters that only look like plain ones", [word for word in words if _is_styled(word)])
    if not mixed and _all_alike(words):
        yield from _list_words("foreign letters that all look like Latin ones", words)
    signs = sorted({sign for sign in _LIKE_PUNCTUATION if sign in text})
    if signs:
        yield "signs that look like others: " + ", ".join(
            f"{spelled(one)} like {_LIKE_PUNCTUATION[one]}" for one in signs
        )


def _list_words(what: str, words: list[str]) -> Iterator[str]:
    if words:
        some = list(dict.fromkeys(words))[:_MOST_WORDS]
        more = f" and {len(words) - len(some):,} more" if len(words) > len(some) else ""
        yield f"{what}: {', '.join(map(_ascii, some))}{more}"


def _ascii(word: str) -> str:

    cut = word[:40] + ("..." if len(word) > 40 else "")
    return "".join(one if one.isascii() else spelled(one) for one in cut)


@lru_cache(maxsize=4096)
def _alphabet(letter: str) -> str:
    return name(letter, "").partition(" ")[0] if letter.isalpha() else ""


def _is_styled(word: str) -> bool:
    """Such as mathematical or full-width letters: another writing of plain ones."""
    return any(not one.isascii() and normalize("NFKC", one).isascii() for one in word)


def _all_alike(words: list[str]) -> bool:
    letters = {one for word in words for one in word.casefold() if not one.isascii() and one.isalpha()}
    return bool(letters) and all(ord(one) in _LIKE and _alphabet(one) != "LATIN" for one in letters)


# ── visible ──
# Text that a person decides about: every character can be seen, and no two texts look the same.
#
# `escaped` of `text.py` is for messages; this is for what gets approved. Beyond invisible characters it also spells
# out what only looks like nothing (fillers, blank symbols), marks piled upon marks, and letters that are written from
# the right, since they let a terminal reorder what stands around them.
#
#     \u001b \t \r \n   a character that cannot be shown; a backslash that could be taken for one of these is doubled

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
        if any(category(character) in _MARKS for character in set(text)):
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
