"""What became of a call on its way through the proxy: one table of its words, for the header of an answer, the log, the
records, the figures and the command line.
"""

from collections.abc import Mapping
from typing import Final, Literal, get_args

from msgspec import Struct

Fit = Literal["right", "repaired", "lifted", "left"]
"""How a call came to fit. right: as it was written · repaired: it was changed, or would have been under `--mode
observe` · lifted: right, but written into the text, and taken out of it · left: nothing made it fit, or it was left as
it was."""

Fate = Literal["right", "repaired", "lifted", "left", "unknown", "repeated"]
"""right: untouched · repaired: a native call was written anew · lifted: a call in the text became a native one · left:
wrong, and passed on as the model wrote it · unknown: of a tool that the request does not offer, passed on · repeated: a
call in the text that the answer also has natively."""


class FateWords(Struct, frozen=True):
    """What is said of a fate."""

    fit: Fit | None
    """None: as its strategy and its origin say."""
    is_told: bool
    """Whether the client is told how many there are."""
    would: str = ""
    """The word where nothing may be changed, if it is another one."""
    why: str = ""
    """What there is to say of it, where its repairs and problems do not."""
    would_why: str = ""


FATES: Final[Mapping[Fate, FateWords]] = {
    "right": FateWords(None, False),
    "repaired": FateWords("repaired", True, "would-repair"),
    "lifted": FateWords(
        None, True, "would-lift", "moved from the text to a tool call",
        "would be moved from the text to a tool call; nothing was changed",
    ),
    "left": FateWords("left", True),
    "unknown": FateWords("right", False, why="the request has no such tool; passed on unchanged"),
    "repeated": FateWords(
        "right", True, why="the answer has the same native call; removed from the text",
        would_why="the answer has the same native call; nothing was changed",
    ),
}  # fmt: skip

WORDS: Final = tuple(word for fate in get_args(Fate) for word in (fate, FATES[fate].would) if word)
"""Every word for what became of a call, as the header, the log and the records have it."""

UNDONE: Final = tuple(words.would for words in FATES.values() if words.would)
"""Those of calls that were not changed, since nothing may be."""


def word_of(fate: Fate, *, observed: bool) -> str:
    """
    >>> word_of("lifted", observed=False), word_of("lifted", observed=True), word_of("right", observed=True)
    ('lifted', 'would-lift', 'right')
    """
    return (observed and FATES[fate].would) or fate


def rule_of(word: str) -> str:
    """The rule that the record of such a call names.

    >>> rule_of("would-lift")
    'proxy:would-lift'
    """
    return f"proxy:{word}"


FITS: Final[Mapping[str, Fit]] = {
    rule_of(word): words.fit for fate, words in FATES.items() for word in (fate, words.would) if word and words.fit
}
"""By the rule of its record."""
