"""RC701: characters that cannot be seen, and blanks that push what follows out of sight."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rightcall.lint.definitions import ToolView
from rightcall.lint.findings import Hit, quote_text
from rightcall.lint.readings import HIDDEN, texts_of

_TAGS: Final = 0xE0000
"""Where the invisible twins of the ASCII letters begin."""
_GAP: Final = re.compile(r"(?<=\S)\s{9,}(?=\S)")
_MOST_BLANKS: Final = 40
_MOST_LINES: Final = 8


def check(tool: ToolView) -> Iterator[Hit]:
    for path, text in texts_of(tool.raw):
        found = "".join(HIDDEN.findall(text))
        gap = next((one[0] for one in _GAP.finditer(text) if _is_wide(one[0])), "")
        if found:
            told = f"{len(found)} hidden character{'' if len(found) == 1 else 's'}{_spelt(found)}"
            yield Hit("RC701", told, "remove them", path)
        elif gap:
            yield Hit("RC701", f"{len(gap)} blanks hide what follows", "remove them", path, fixable=False)
        if found or gap:
            return


def _spelt(found: str) -> str:
    text = "".join(chr(ord(one) - _TAGS) for one in found if _TAGS + 32 <= ord(one) < _TAGS + 127)
    if text:
        return f", which spell {quote_text(text)}"
    return f": {', '.join(dict.fromkeys(f'U+{ord(one):04X}' for one in found[:20]))[:80]}"


def _is_wide(gap: str) -> bool:
    return gap.count("\n") > _MOST_LINES or max(map(len, gap.splitlines())) > _MOST_BLANKS
