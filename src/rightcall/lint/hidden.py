"""RC701: characters that cannot be seen, and blanks that push what follows out of sight."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from rightcall.lint.findings import Hit, Steps, quote_text

_TAGS: Final = 0xE0000
"""Where the invisible twins of the ASCII letters begin."""
_FLAGS: Final = [
    "\U0001f3f4" + "".join(chr(_TAGS + ord(one)) for one in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
]
"""The regions whose flags are written with tags."""
_IN_FLAG: Final = "|".join(
    f"(?<={flag[:at]}){flag[at]}" + (f"(?={flag[at + 1 :]})" if flag[at + 1 :] else "")
    for flag in _FLAGS
    for at in range(1, len(flag))
)
_JOINING: Final = "\u0600-\u08ff\u0900-\u0dff\u0e80-\u109f\u1780-\u17ff\u1800-\u18af\ufb50-\ufdff\ufe70-\ufefc"
"""Alphabets whose spelling needs joiners and non-joiners: Arabic, those of India, Burmese, Khmer, Mongolian."""
BLANK: Final = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
HIDDEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ue000-\uf8ff\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000f0000-\U0010ffff"
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
    f"|(?!{_IN_FLAG})[\U000e0000-\U000e0fff]"
    f"|(?<![\u203c-\U0010ffff{_JOINING}])\u200d|\u200d(?![\u203c-\U0010ffff{_JOINING}])|(?<![{_JOINING}])\u200c"
    "|(?<=[A-Za-z.\ufe0e\ufe0f])[\ufe0e\ufe0f]|\r(?!\n)"
    f"|[{BLANK}]{{3,}}"
)
"""Without the joiners that a spelling needs, and without the joiner, the selectors and the tags inside of an emoji."""

_GAP: Final = re.compile(r"(?<=\S)\s{9,}(?=\S)")
_MOST_BLANKS: Final = 40
_MOST_LINES: Final = 8


def check(texts: Iterable[tuple[Steps, str]]) -> Iterator[Hit]:
    """The first text with hidden characters, and how many all of them have; or the first with blanks."""
    places: list[tuple[Steps, str]] = []
    for path, text in texts:
        if found := "".join(HIDDEN.findall(text)):
            places.append((path, found))
        if places:
            continue
        gap = next((one[0] for one in _GAP.finditer(text) if _is_wide(one[0]) and not _is_aligned(text, one)), "")
        if gap:
            yield Hit("RC701", f"{len(gap)} blanks hide what follows", "remove them", path, fixable=False)
            return
    if places:
        every = "".join(found for _, found in places)
        told = f"{len(every)} hidden character{'' if len(every) == 1 else 's'}{_spelt(every)}"
        more = f" (in {len(places)} texts)" if len(places) > 1 else ""
        yield Hit("RC701", told + more, "remove them", places[0][0])


def _spelt(found: str) -> str:
    text = "".join(chr(ord(one) - _TAGS) for one in found if _TAGS + 32 <= ord(one) < _TAGS + 127)
    if text:
        return f", which spell {quote_text(text)}"
    return f": {', '.join(dict.fromkeys(f'U+{ord(one):04X}' for one in found[:20]))[:80]}"


def _is_aligned(text: str, gap: re.Match[str]) -> bool:
    """Whether one line goes on below words of the line before, so that both are in sight."""
    broken = gap[0].count("\n") == 1
    above = text[text.rfind("\n", 0, gap.start()) + 1 : gap.start()]
    return broken and len(gap[0].rpartition("\n")[2]) < min(len(above), _MOST_ALIGNED)


_MOST_ALIGNED: Final = 80


def _is_wide(gap: str) -> bool:
    return gap.count("\n") > _MOST_LINES or max(map(len, gap.splitlines())) > _MOST_BLANKS


def without_hidden(text: str) -> str:
    """A text without the characters that cannot be seen. A blank stays in the place of those that part words."""
    return HIDDEN.sub(lambda found: " " if found[0].isspace() else "", text)
