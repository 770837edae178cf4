"""Letters that look like others: names that look alike are one name, and a text that plays with them is pointed out."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final
from unicodedata import category, name, normalize

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
    return with_plain_signs(normalize("NFKC", _seen(text)))


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
    from rightcall.text.visible import spelled

    words = [word for word in re.findall(r"\w+", text) if not word.isascii()]
    mixed = [word for word in words if _is_mixed(word)]
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
    from rightcall.text.visible import spelled

    cut = word[:40] + ("..." if len(word) > 40 else "")
    return "".join(one if one.isascii() else spelled(one) for one in cut)


@lru_cache(maxsize=4096)
def _alphabet(letter: str) -> str:
    return name(letter, "").partition(" ")[0] if letter.isalpha() else ""


def _is_mixed(word: str) -> bool:
    return len({_alphabet(letter) for letter in word} & _PLAYED_WITH) > 1


def _is_styled(word: str) -> bool:
    """Such as mathematical or full-width letters: another writing of plain ones."""
    return any(not one.isascii() and normalize("NFKC", one).isascii() for one in word)


def _all_alike(words: list[str]) -> bool:
    letters = {one for word in words for one in word.casefold() if not one.isascii() and one.isalpha()}
    return bool(letters) and all(ord(one) in _LIKE and _alphabet(one) != "LATIN" for one in letters)
