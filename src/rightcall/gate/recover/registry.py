"""All formats, and the scanner made of them: one expression that finds the first word of any."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from rightcall.base.json.marks import Late
from rightcall.gate.recover.formats import prose, tags
from rightcall.gate.recover.section import BLOCKS
from rightcall.gate.recover.window import Format, Literals, Markers, one_of

REASONING = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<mm:think>": "</mm:think>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|thought_start|>": "<|thought_end|>",
    "<|channel>thought": "<channel|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
}
"""Where reasoning begins and ends."""
CLOSES = Literals(REASONING.values())

_TAILS = (
    "</s>", "<|im_end|>", "<|endoftext|>", "<|tool_response>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>",
    "<|end_of_text|>", "<｜end▁of▁sentence｜>", "[/TOOL_CALLS]",
)  # fmt: skip
"""Tokens that end a message, and leak after a call."""


@cache
def builtin_formats() -> tuple[Format, ...]:
    """The formats of every family, in the order in which they are tried."""
    return (
        *prose.BARE,
        *tags.FUNCTION_TAGS,
        *tags.FUNCTIONARY,
        *prose.HALLUCINATED,
        *tags.HARMONY,
        *tags.JSON_IN_TAGS,
        *tags.KIMI_K3,
        *tags.LLAMA3,
        *tags.MINIMAX_M3,
        *prose.REACT,
        *tags.SPECIAL_TOKENS,
    )


class Scanner:
    """Looks for the opening words of all formats at once."""

    def __init__(self, formats: Iterable[Format]) -> None:
        self.formats = tuple(formats)
        self.table: dict[str, list[Format]] = {}
        self._names: dict[tuple[str, str], str] = {}
        ahead: dict[str, str] = {}
        self.ahead: dict[str, Late] = {}
        """What has to follow some of the words."""
        for format_ in self.formats:
            for word in format_.opens:
                self.table.setdefault(word, []).append(format_)
                if format_.ahead:
                    ahead[word] = f"(?={format_.ahead}|{format_.maybe_ahead})"
                    self.ahead[word] = Late(format_.ahead)
        words = {*self.table, *REASONING, *REASONING.values(), *BLOCKS}
        ordered = sorted(words, key=lambda word: (-len(word), word))
        self.pattern = re.compile(one_of(words, ahead))
        self.marked = Late(one_of((word for word in words if len(word) > 1), ahead))
        """The same without the words that are brackets: for a text in which too much was tried in vain."""
        self.longest = len(ordered[0])
        self.prefixes = frozenset(word[:n] for word in words for n in range(1, len(word)))
        self.firsts = re.compile(f"[{re.escape(''.join(sorted({word[0] for word in words})))}]")
        self.markers = Markers(
            (word for one in self.formats if one.marker for word in one.opens),
            (*_TAILS, *(word for one in self.formats if one.name != "fenced" for word in one.closes)),
            (word for one in self.formats if one.named for word in one.opens),
        )

    def held(self, text: str, start: int) -> int:
        """From where on the end of `text` may be the beginning of an opening word."""
        at = max(start, len(text) - self.longest + 1)
        while True:
            found = self.firsts.search(text, at)
            if found is None:
                return len(text)
            if text[found.start() :] in self.prefixes:
                return found.start()
            at = found.end()

    def name_of(self, word: str, kind: str) -> str:
        """Which format it is, when its opening word and the shape of the call are known."""
        name = self._names.get((word, kind))
        if name is None:
            found = self.table[word]
            name = next((one.name for one in found if kind in one.kinds), found[0].name)
            self._names[word, kind] = name
        return name


@cache
def scanner_for(formats: tuple[Format, ...] = ()) -> Scanner:
    """The scanner for the built-in formats and these."""
    return Scanner((*formats, *builtin_formats()))
