"""The texts of a definition as a model reads them, each as it is written and once more in a plain form: a model reads
through line breaks, markup, look-alike letters and HTML entities, and so must a rule."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, cast
from unicodedata import normalize

from rightcall.base.letters import latin, with_plain_signs
from rightcall.gate.repair.words import is_word
from rightcall.lint.definitions import ToolView
from rightcall.lint.encoded import meanings, turned
from rightcall.lint.findings import Steps
from rightcall.lint.hidden import BLANK, HIDDEN


def texts_of(value: Any) -> Iterator[tuple[Steps, str]]:
    """Every text in a definition, keys among them, with its place."""
    left: list[tuple[Steps, Any]] = [((), value)]
    while left:
        path, part = left.pop()
        if isinstance(part, str):
            yield path, part
        elif isinstance(part, dict):
            for key, inner in reversed(cast("dict[str, Any]", part).items()):
                left += [((*path, key), inner), ((*path, key), key)]
        elif isinstance(part, list):
            inners = cast("list[Any]", part)
            left += [((*path, number), inners[number]) for number in reversed(range(len(inners)))]


_SHORT: Final = 24


def prose_of(tool: ToolView) -> Iterator[tuple[Steps, str]]:
    """The texts that can say something: all but single words and the keywords of a schema."""
    for path, text in texts_of(tool.raw):
        if path and (len(text) > _SHORT or not (text.isascii() and text.replace("_", "").isalnum()) or _PACKED(text)):
            yield path, text


def describes_tool(tool: ToolView, path: Steps) -> bool:
    """Whether a text is about the tool itself, and not about an argument or a result."""
    schema = tool.schema_path
    return tool.schema is None or path[: len(schema)] != schema or path[len(schema) :] in (("description",), ("title",))


# ── the plain form ──

_WORDY = r"[^\W\d_]+"
_PACKED: Final = re.compile(rf"(?<![\w-]){_WORDY}(?:[_-]{_WORDY}){{2,}}(?![\w-])").search
"""Several words in one: `tell_no_one_of_it`."""
_INLINE: Final = re.compile(
    r"</?(?:a|abbr|b|big|code|del|em|font|i|ins|kbd|mark|q|s|small|span|strong|sub|sup|tt|u|wbr)\b[^<>]{0,80}>|"
    r"<!--[^<>]{0,20}-->",
    re.IGNORECASE,
)
_EMPHASIS: Final = re.compile(r"(?<!\w)[*_`~]{1,3}(?=\w)|(?<=\w)[*_`~]{1,3}(?!\w)")
_ODD_BLANKS: Final = re.compile(rf"[\t\u2028\u2029{BLANK}]")
_BLANKS: Final = re.compile(r" {2,}")
_SPACED: Final = re.compile(r"(?<!\S)[^\W_](?: [^\W_]){2,}(?!\S)")
_WRAP: Final = re.compile(r"(?<=[^\n.!?:;。！？]) ?\r?\n ?(?=[^\s\-*•#|>\d])")
"""A line break inside a paragraph: no end of a sentence before it, and no heading, list or table behind."""
_MARKED: Final = re.compile("(?<=[A-Za-z])[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]+")
_UNUSUAL: Final = re.compile("[\u0180-\u024f\u1e00-\u1eff]")
"""Letters with marks that no large language of Western Europe writes."""
_NO_APOSTROPHE: Final = re.compile(r"\b(do|does|must|should|need|is|are|was|wo|ca)nt\b", re.IGNORECASE)
_AT: Final = re.compile(r" ?[\[({] ?at ?[\])}] ?", re.IGNORECASE)
_DOT: Final = re.compile(r"(?<=\w) ?[\[({] ?dot ?[\])}] ?(?=\w)", re.IGNORECASE)
_DIGITS: Final = re.compile(r"\b(?=\w{0,20}[A-Za-z])(?=\w{0,20}[0134578@$])[A-Za-z0134578@$]{2,20}\b")
_AS_LETTERS: Final = str.maketrans("034578@$", "oeastbas")


def plain(text: str) -> str:
    """A text as it is read aloud.

    >>> plain("Do&nbsp;**not** te<b></b>ll\\nthem. \\uff41sk")
    'Do not tell them. ask'
    """
    told = html.unescape(text) if "&" in text else text
    told = _INLINE.sub("", told) if "<" in told else told
    told = _ODD_BLANKS.sub(" ", told)
    if not told.isascii():
        told = re.sub(r"\S+", _in_letters(_is_foreign(told)), told).replace("\u2019", "'").replace("\u2018", "'")
    told = _SPACED.sub(lambda found: found[0].replace(" ", ""), told)
    told = _PACKED_WORDS.sub(lambda found: re.sub("[_-]", " ", found[0]), _EMPHASIS.sub("", told))
    told = _NO_APOSTROPHE.sub(r"\1n't", _BLANKS.sub(" ", told))
    told = _DOT.sub(".", _AT.sub("@", told)) if "at" in told.lower() else told
    return _DIGITS.sub(_without_digits, _WRAP.sub(" ", told))


_PACKED_WORDS: Final = re.compile(rf"(?<![\w./~@-]){_WORDY}(?:[_-]{_WORDY}){{3,}}(?![\w/@-])")


def _in_letters(foreign: bool) -> Callable[[re.Match[str]], str]:
    """What writes a word in plain letters, where it is another writing of them."""

    def of_word(found: re.Match[str]) -> str:
        word = found[0]
        if word.isascii():
            return word
        word = with_plain_signs(normalize("NFKC", HIDDEN.sub("", word)))
        if _MARKED.search(word) or _UNUSUAL.search(word):
            word = _MARKED.sub("", normalize("NFD", word))
        return re.sub(r"\w+", of_letters, word)

    def of_letters(found: re.Match[str]) -> str:
        word = found[0]
        alike = word if word.isascii() else latin(word)
        own = (foreign or len(word) <= _LETTERS) and _OTHER_ALPHABET.fullmatch(word)
        return alike if alike.isascii() and not own else word

    return of_word


def _is_foreign(text: str) -> bool:
    """Whether a text has at least as many words of another alphabet as words that only look like Latin ones."""
    words = _OTHER_ALPHABET.findall(text)
    return sum(not latin(one).isascii() for one in words) * 2 >= len(words)


_OTHER_ALPHABET: Final = re.compile("[\u0370-\u058f\u13a0-\u13ff]+")
_LETTERS: Final = 3
"""A word of another alphabet that has no more letters may look like a Latin one by chance."""


def _without_digits(found: re.Match[str]) -> str:
    word = found[0].lower().translate(_AS_LETTERS)
    known = next((one for one in (word.replace("1", "i"), word.replace("1", "l")) if _is_known(one)), "")
    doubtful = len(word) <= _LETTERS or re.search(r"\d\d|\d$|[@$]", found[0])
    return known or (found[0] if doubtful else word.replace("1", "i"))


def _is_known(word: str) -> bool:
    return word in ("do", "not", "no", "to") or (len(word) > _LETTERS and is_word(word))


@lru_cache(maxsize=512)
def readings(text: str) -> tuple[str, ...]:
    """A text as it is written, in the plain form, and what its encoded pieces say, where these are others."""
    told = [text, plain(text), turned(text), "\n".join(meaning for _, meaning in meanings(text))]
    return tuple(dict.fromkeys(one for one in told if one))
