"""RC213: a text that stops in the middle of a sentence, as one does that a limit cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rightcall.lint.definitions import ToolView
from rightcall.lint.findings import Hit, quote_text

_LAST = 160
"""Characters at the end of a text that are read."""
_LEAST_WORDS = 6
_OPEN_END: Final = re.compile(
    r"(?:,|\b(?:the|an|and|or|but|because|which|whose|such as|(?:can|may|must|will|cannot|should) be|(?:is|of|to|for|"
    r"with|by|"
    r"in|from|as) a))$"
)
"""Words that no sentence ends with. Small letters alone: `A` and `THE` may be names."""
_ENGLISH: Final = re.compile(r"\b(?:the|to|for|with|is|are|of)\b")
_CODE: Final = re.compile(r"[{}=<>|]|https?://")


def find_cut(tool: ToolView) -> Iterator[Hit]:
    """The description of the tool, and the first of those of its arguments that was cut off."""
    texts = [(tool.at("description"), tool.description)]
    texts += [((*one.path, "description"), one.description) for one in tool.arguments if "description" in one.part]
    for path, text in texts:
        ends = text.rstrip()[-_LAST:]
        line = ends.rsplit("\n", 1)[-1]
        if len(text.split()) >= _LEAST_WORDS and _is_cut(line) and _ENGLISH.search(ends):
            told = f"the text stops in the middle of a sentence: {quote_text(line[-40:])}"
            yield Hit("RC213", told, "write the rest of it", path)
            return


def _is_cut(line: str) -> bool:
    if not line.isascii() or _CODE.search(line) or len(line.split()) < _LEAST_WORDS:
        return False
    return _OPEN_END.search(line) is not None
