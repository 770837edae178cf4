"""RC112, RC123: names of arguments that no word explains: `nsz`, `val` for a new status, `from_`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rightcall.gate.repair.numbers import is_unit
from rightcall.gate.repair.words import singular, words_of
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.findings import Hit, join_names, quote_name, word_set
from rightcall.lint.spelling import count_begun, is_usual

_MOST_TEXT: Final = 4_000
_MOST_SIBLINGS: Final = 40
_SHORTEST: Final = 3
_LONGEST: Final = 5
"""Letters of a name that may be an abbreviation. A longer one that no word list has is a trade name, or foreign."""
_BARE: Final = 4
_NEAR: Final = 4
_VOWEL: Final = re.compile(r"[aeiouy]")
_KINDS: Final = word_set("id ids no nr num number code cd key name type val value flag flg str int dt ts")
"""Words that say the kind of a value, not which one it is."""
_NEVER: Final = word_set("val arg param var obj str tmp")
_SAYS_NOTHING: Final = _NEVER | word_set("value input")
_PAIRED: Final = word_set("key field type name property attribute by kind column path option setting variable func")
"""What a `val` stands beside."""
_PHRASE: Final = re.compile(
    r"\W*((?:[A-Za-z]+[ -]){0,4}?[A-Za-z]+)(?=\W*$|[,.;:(\n]| (?:of|for|to|in|on|at|from|that|which|as|with|by|after|"
    r"the|is|one|must|per)\b)"
)
"""What a text begins with, up to its noun."""
_ADJECTIVES: Final = word_set("new next desired target wanted current exact full actual final a an the its")
_NOUNLESS: Final = word_set("value values text string number input data argument parameter object it one")


def find_marked(argument: Argument) -> Iterator[Hit]:
    """`from_`: a name that Python's keywords have taken; a model knows nothing of Python here."""
    plain = argument.name.rstrip("_")
    if plain != argument.name and words_of(plain) and plain not in argument.siblings:
        yield Hit(
            "RC123", f"argument {quote_name(argument.name)} ends in `_`", f"call it {quote_name(plain)}", argument.path
        )


def find_emptied(argument: Argument, tool: ToolView) -> str | None:
    """What the value is by its text, where the name says nothing: `status` for a `val`, the new status. A name that is
    a word counts where the tool is named for what the text tells: the `value` of `set_status`."""
    name = argument.name.lower()
    if name not in _SAYS_NOTHING or argument.depth:
        return None
    siblings = {word for one in argument.siblings if one != argument.name for word in words_of(one)}
    if not _PAIRED.isdisjoint(siblings):
        return None
    phrase = _PHRASE.match(argument.description[:200])
    words = [word for word in words_of(phrase[1]) if word not in _ADJECTIVES] if phrase is not None else []
    if not words or words[-1] in _NOUNLESS or len(words) > _OF_NAME:
        return None
    about = singular(words[-1]) in map(singular, words_of(tool.name)[1:]) and words_of(tool.name)[0] in _SETS
    return "_".join(words) if about or name in _NEVER else None


_OF_NAME = 2
_SETS: Final = word_set("set change update adjust modify switch put")


def find_initials(argument: Argument, tool: ToolView, known: frozenset[str]) -> Iterator[Hit]:
    """`sp` and `ep`, a `Start port` and an `End port`: initials of what the texts begin with. One alone may be a word
    of a trade, as `sl` is; it is told at the first of several."""
    group = [one for one in tool.arguments[:_MOST_SIBLINGS] if one.path[:-1] == argument.path[:-1]]
    long = {one.name: name for one in group if (name := _of_initials(one, known))}
    if len(long) > 1 and next(iter(long)) == argument.name:
        yield Hit(
            "RC113", f"models write {join_names(long)} out: {join_names(long.values())}",
            f"name them {join_names(long.values())}", argument.path,
        )  # fmt: skip


def _of_initials(argument: Argument, known: frozenset[str]) -> str | None:
    """The words that a text begins with, where a name of two or three letters is made of their initials."""
    name = argument.name
    if not _INITIALS.fullmatch(name) or name in known or is_unit(name) or name in words_of(argument.description):
        return None
    words = [word for word in words_of(argument.description[:80]) if word not in _ADJECTIVES - {"exact", "full"}]
    told = words[: len(name)]
    return "_".join(told) if all(len(word) > 2 for word in told) and _abbreviates(name, told) else None


_INITIALS: Final = re.compile(r"[a-z]{2,3}")


def is_riddle(argument: Argument, tool: ToolView, known: frozenset[str]) -> bool:
    """Whether no part of a name is a word or an abbreviation that people know, and no text tells what it is short for.
    Without a text, it counts where several words begin so; with one, where it has no vowel."""
    parts = [word for word in words_of(argument.name) if word not in _KINDS and not word.isdigit()]
    short = len("".join(parts)) < _SHORTEST
    if not parts or short or not argument.name.isascii() or any(map(str.isdigit, argument.name)):
        return False
    told = words_of(argument.description[:_MOST_TEXT])
    bare = [part for part in parts if len(part) >= _BARE and _VOWEL.search(part) is None and part not in known]
    if not all(_is_obscure(part, known, bare=not told) for part in parts):
        parts = [part for part in bare if told and _is_obscure(part, known, bare=False)]  # `psi_thrs`
    around = words_of(f"{tool.name} {tool.description[:_MOST_TEXT]}")
    others = [word for one in tool.arguments[:_MOST_SIBLINGS] for word in words_of(one.description[:_MOST_TEXT])]
    beside = [word for one in argument.siblings[:_MOST_SIBLINGS] if one != argument.name for word in words_of(one)]
    if not parts or any(_is_explained(part, told, around) or part in others for part in parts):
        return False
    if any(part.startswith(word) for part in parts for word in (*told, *beside) if len(word) >= _SHORTEST):
        return False  # `hgvsp`, in HGVS
    return not any(map(is_usual, parts)) and (bool(told) or any(count_begun(part) > 1 for part in parts))


def _is_obscure(part: str, known: frozenset[str], *, bare: bool) -> bool:
    """Whether it may be short for something, as far as its letters tell."""
    counted = part[0] == "n" and len(part) > _SHORTEST and part[1:] in known  # `nproc`
    if not 1 < len(part) <= _LONGEST or part in known or counted or is_unit(part):
        return False
    return bare or _VOWEL.search(part) is None or _ENDS_CUT.search(part) is not None


_ENDS_CUT: Final = re.compile(
    r"^(?!.*(?:[cf]t|[kpx]t|[cdklnprst]s|[lnr][cdfgkmnpt]|[lr][lv]|s[kmpt]|ng|nk|mp|mb|ck|sh|th|ch|gh|ff|ss|ll|zz|rr|tt|nn|"
    r"bs|gs|ms|ws|w[kln])$).*[bcdfghjklmnpqrstvwxz]{2}$"
)
"""No English word ends so: `intp`, `avtl`."""


def _is_explained(part: str, told: Sequence[str], around: Sequence[str]) -> bool:
    if part in told or part in around or _is_told(part, told, _NEAR) or _is_told(part, around, 1):
        return True
    return any(_abbreviates(part, around[at : at + len(part)]) for at in range(len(around)))


def _is_told(part: str, words: Sequence[str], most: int) -> bool:
    """Whether its letters stand in this order in a word, or in some that follow each other."""
    return any(word[0] == part[0] and _in_order(part, "".join(words[at : at + most])) for at, word in enumerate(words))


def _in_order(letters: str, text: str) -> bool:
    left = iter(text)
    return all(letter in left for letter in letters)


def _abbreviates(part: str, words: Sequence[str]) -> bool:
    return part == "".join(word[0] for word in words)
