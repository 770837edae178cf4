"""The two heuristics of design 004, by name and for comparison: words that stand in a request, and patterns.

Both were measured: the words fire on everything once there are tools, the patterns find 3 % of what needs one
(docs/routing.md). `mode = "learned"` is what is used.
"""

import re

FILE_WORDS = (
    "read ", "open ", "show ", "view ", "cat ", "write ", "save ", "create file", ".md", ".txt", ".json", ".py",
    ".yaml", ".yml", "/gaia", "/knowledge", "/app", "/docs",
)  # fmt: skip
COMMAND_WORDS = ("run ", "execute ", "shell ", "command ", "ls ", "pwd", "git ", "docker ")
SEARCH_WORDS = ("search ", "find ", "look for ", "where is ", "semantic search", "query ")

_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"read\s+(?:the\s+)?(?:file|document)",
        r"(?:show|display|open|view)\s+(?:me\s+)?(?:the\s+)?[\w/]+\.(md|txt|json|py)",
        r"execute\s+(?:the\s+)?(?:command|script)",
        r"run\s+(?:the\s+)?(?:command|script)",
        r"search\s+(?:for|the)\s+",
        r"find\s+(?:the\s+)?(?:file|document)",
    )
)
_LONGEST = 10_000
"""Of a request, this much is looked at: a pattern that starts with a long run of words could take its time."""


def by_words(text: str, has_tools: bool) -> str | None:
    """The word that says a tool is needed, or that there are tools at all; None when nothing does.

    >>> by_words("Show me the log", has_tools=False)
    'show '
    """
    lowered = text.lower()
    found = next((word for word in (*FILE_WORDS, *COMMAND_WORDS, *SEARCH_WORDS) if word in lowered), None)
    return found or ("tools are available" if has_tools else None)


def by_pattern(text: str) -> str | None:
    """
    >>> by_pattern("Please open the notes.md")
    'open the notes.md'
    """
    lowered = text[:_LONGEST].lower()
    found = next((match for pattern in _PATTERNS if (match := pattern.search(lowered))), None)
    return found.group() if found else None
