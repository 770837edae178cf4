"""Does a request need a tool? Decided in about a millisecond, without a model, on the tools that are really there.

call   one of the tools is needed, and its values are there
ask    one of the tools is needed, but a value it cannot do without is missing
none   no tool is needed, or none of these would help
"""

import re
from collections.abc import Collection, Container, Sequence
from typing import TYPE_CHECKING

from rightcall.router.lexical import STOP_WORDS, ToolText, names_value, stem
from rightcall.router.ranking import BY_WORDS, Asked, Found, Ranker, alone, chance, forest, load_weights
from rightcall.router.slots import FILLED, filled_shares
from rightcall.router.types import Intent, Mode

if TYPE_CHECKING:
    from rightcall.router.index import Hit


# ── heuristics ──
# The two heuristics of design 004, by name and for comparison: words that stand in a request, and patterns.
#
# Both were measured: the words fire on everything once there are tools, the patterns find 3 % of what needs one
# (docs/reference/routing.md). `mode = "learned"` is what is used.

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


# ── request words ──
# A request as what a linear model looks at: its words, pairs of words, and whether the tools have them.

LONGEST = 1_500
MOST_WORDS = 120

_WORD = re.compile(r"[^\W_]+|[?!]")


def plain_words(text: str) -> list[str]:
    """Words and pairs, for a request without tools.

    >>> plain_words("Who is it?")
    ['who', '^ who', 'is', 'who is', 'it', 'is it', '?', 'it ?']
    """
    return [part for word, pair in _pairs(text) for part in (word, pair)]


def marked_words(text: str, theirs: Container[str], name: Collection[str]) -> list[str]:
    """The same, each word that says something marked by whether the tools have it; and the words of the likeliest
    tool's name by whether the request has them."""
    marked: list[str] = []
    stems: set[str] = set()
    for word, pair in _pairs(text):
        root = stem(word)
        stems.add(root)
        marked += [word if word in STOP_WORDS else word + ("+" if root in theirs else "-"), pair]
    return marked + [f"T:{root}" + ("+" if root in stems else "-") for root in sorted(name)]


def _pairs(text: str) -> list[tuple[str, str]]:
    words: list[str] = _WORD.findall(text[:LONGEST].lower())[:MOST_WORDS]
    return list(
        zip(words, [f"{first} {second}" for first, second in zip(["^", *words], words, strict=False)], strict=True)
    )


SURELY_NONE, SURELY_CALL = (0.01, 0.095), 0.6
"""Below the first a "none" is sure, beside a handful of tools and beside more; from the second on a "call". Between
them it is too close to tell. A tool that is missed is not noticed, so "none" has to be surer than "call", which a model
selects and another reviews."""

LOOKED_AT = 6
"""Of many tools, so many that the index puts first are compared: whether any is needed shows in those."""

_ASKING = re.compile(r"(?:what|who|which|when|where|how|why|is|are|does|do)\b")
_WISHING = re.compile(r"(?:can|could|would|will) you|i(?:'d| would)? (?:need|want|like)|please|find|get|show|give|help")
_ASK_NUMBERS = tuple(
    BY_WORDS.index(name) for name in ("filled", "least_filled", "missing", "required", "in_any", "bm25", "name_said")
)
_EXACT, _LEAST_FILLED = BY_WORDS.index("exact"), BY_WORDS.index("least_filled")
_PLACES = frozenset(map(stem, ("city", "location", "place", "destination", "address", "country", "region", "airport")))
HANDFUL = 4
"""So many tools are few, when it is weighed whether one is needed."""
ALONE_MARGIN = 10.0
"""The margin of the only tool there is."""


def judge_intent(
    text: str,
    tools: Sequence[ToolText] | None,
    mode: Mode = "learned",
    *,
    ranker: Ranker | None = None,
    hits: "Sequence[Hit] | None" = None,
) -> Intent:
    """`tools` None: nothing is known of them, and the text alone is judged. `hits`: as for `Ranker.among`.

    >>> judge_intent("What is 2 + 2?", []).why
    ('there are no tools',)
    """
    if mode != "learned":
        return _heuristic(text, mode, bool(tools))
    if tools is None:
        return _by_text(text)
    if not tools:
        return Intent("none", 0.0, scores={"call": 0.0, "ask": 0.0, "none": 1.0}, why=("there are no tools",))
    ranker = ranker or Ranker()
    if hits is not None:
        tools, hits = tools[:LOOKED_AT], hits[:LOOKED_AT]
    asked = ranker.ask(text)
    return _learned(asked, ranker.among(asked, tools, hits), len(tools))


def _heuristic(text: str, mode: Mode, has_tools: bool) -> Intent:
    found = by_words(text, has_tools) if mode == "keywords" else by_pattern(text)
    return Intent("call" if found else "none", float(bool(found)), why=(f"{mode}: {found or 'nothing found'}",))


def _by_text(text: str) -> Intent:
    call = chance(alone().score(plain_words(text)))
    sure = not SURELY_NONE[1] < call < SURELY_CALL
    return _intent(call, 0.0, (), ("by the text alone: no tools are known",), sure)


def _learned(asked: Asked, found: Found, count: int) -> Intent:
    numbers = need_numbers(asked, found, count)
    model = load_weights().need
    theirs = set[str]().union(*(known.counted for known in found.known))
    words = marked_words(asked.request.text, theirs, found.known[0].name)
    heard = [score for one in model.voices for score in (one.words.score(words), one.meaning.score(asked.vector))]
    odds = forest(model.trees, [*numbers, *heard]) - model.shifts[count > HANDFUL]
    needed = chance(odds)
    missing = _missing(asked, found)
    asking = chance(model.ask.score(ask_numbers(odds, found))) if missing else 0.0
    best = found.known[0].tool.name
    why = [f"likeliest tool: {best} ({found.shares[0]:.0%} of those there are)"]
    if missing:
        why.append(f"no value seen for: {', '.join(missing)}")
    sure = needed >= SURELY_CALL or (needed < SURELY_NONE[count > HANDFUL] and not _names_value(asked, found))
    return _intent(needed, asking, missing, tuple(why), sure)


def _names_value(asked: Asked, found: Found) -> bool:
    """Whether the request names something that a tool would look at, or a place where one of them takes places. Then
    "none" is no more than a guess."""
    if any(row[_EXACT] for row in found.numbers) or names_value(asked.request.text[:LONGEST]):
        return True
    takes_places = any(not _PLACES.isdisjoint(argument) for known in found.known for argument in known.each_argument)
    return takes_places and bool(asked.values.counts["place"])


def need_numbers(asked: Asked, found: Found, count: int) -> list[float]:
    """What the trees look at: the likeliest tool, the most of each number over all tools, and the request itself."""
    best = found.numbers[0]
    most = [max(column) for column in zip(*found.numbers, strict=True)]
    margin = found.scores[0] - found.scores[1] if len(found.scores) > 1 else ALONE_MARGIN
    return [*best, *most, float(min(count, 20)), margin, *_of_request(asked)]


def ask_numbers(odds: float, found: Found) -> list[float]:
    """What tells a missing value from a call."""
    best = found.numbers[0]
    return [max(-6.0, min(6.0, odds)), *(best[at] for at in _ASK_NUMBERS)]


def _of_request(asked: Asked) -> list[float]:
    text, counts = asked.request.text, asked.values.counts
    small = text[:200].lower()
    return [
        float(min(len(text.split()), 200)), float(counts["number"]), float(counts["quoted"]), float(counts["named"]),
        float(counts["date"]), float(asked.values.foreign), float("?" in text), float(bool(_ASKING.match(small))),
        float(bool(_WISHING.match(small))), float(counts["link"]), float(min(text.count("\n"), 20)),
    ]  # fmt: skip


def _missing(asked: Asked, found: Found) -> tuple[str, ...]:
    if found.numbers[0][_LEAST_FILLED] >= FILLED:  # as most are: nothing is looked for twice
        return ()
    wanted = found.known[0].wanted
    return tuple(
        one.name for one, held in zip(wanted, filled_shares(wanted, asked.values), strict=True) if held < FILLED
    )


def _intent(needed: float, asking: float, missing: tuple[str, ...], why: tuple[str, ...], sure: bool) -> Intent:
    scores = {"call": needed * (1.0 - asking), "ask": needed * asking, "none": 1.0 - needed}
    answer = "none" if needed < 0.5 else "ask" if asking >= 0.5 else "call"
    return Intent(
        answer,
        round(needed, 4),
        sure,
        {name: round(score, 4) for name, score in scores.items()},
        missing if answer == "ask" else (),
        why,
    )
