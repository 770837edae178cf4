"""Prose as a model writes it, from a fixed seed: with quotes, apostrophes, brackets and a few words of code."""

from random import Random

SEED = 11

SUBJECTS = (
    "the report", "our importer", "this table", "the second draft", "a nightly job", "the client's request",
    "the cache", "every row", "the older parser", "your summary", "the test server", "one of the tickets",
    "the weekly mail", "that change", "the harbour office", "nobody on the team",
)  # fmt: skip
VERBS = (
    "shows", "doesn't mention", "depends on", "was moved to", "replaces", "can't reach", "waits for", "rounds",
    "quietly drops", "agrees with", "was written for", "explains", "repeats", "belongs to", "isn't ready for", "counts",
)  # fmt: skip
OBJECTS = (
    "the totals of last spring", "three smaller files", "whatever the user typed", "a list of ferry times",
    "the margin notes", "two columns that look alike", "the same answer twice", "a page of settings",
    "the price of a ticket", "an empty folder", "the first ten lines", "people's home addresses",
    "snow in the valley", "a longer explanation", "both halves of the contract", "the wrong month",
)  # fmt: skip
TURNS = (
    "so", "because", "although", "and then", "which means that", "unless", "while", "but",
)  # fmt: skip
ASIDES = (
    "as far as I can tell", "in most cases", "according to Mira", "at least since Tuesday", "more or less", "of course",
)  # fmt: skip
PLAIN_ENDS = (
    ".", ".", ".", ".", ";", "?", "!", ", I'd say.", " - or so it seems.", " at 7:30.", ", about 12.5 % of it.",
    ': "not yet", she wrote.', ", i.e. the one you'd expect.", " (see below).",
)  # fmt: skip
MARKED_ENDS = (
    *PLAIN_ENDS,
    *PLAIN_ENDS,
    " [2].",
    "; `load_rows()` does that.",
    ", as in `totals[0]`.",
    ", so a < b holds.",
    ", {draft} or not.",
    "; run `make check` first.",
    ".\n\n- one for the office\n- one for the archive\n",
    ", e.g. <b>here</b>.",
)
"""Ends with what may begin a call and does not: brackets, braces, backticks, tags."""


def sentence(random: Random, ends: tuple[str, ...]) -> str:
    clause = f"{random.choice(SUBJECTS)} {random.choice(VERBS)} {random.choice(OBJECTS)}"
    if random.random() < 0.4:
        clause += f", {random.choice(ASIDES)}"
    if random.random() < 0.5:
        turn, subject, verb = random.choice(TURNS), random.choice(SUBJECTS), random.choice(VERBS)
        clause += f", {turn} {subject} {verb} {random.choice(OBJECTS)}"
    return clause[0].upper() + clause[1:] + random.choice(ends)


def prose(size: int, *, plain: bool = False) -> str:
    """Exactly `size` characters of it; `plain` leaves out all that may begin a call.

    >>> prose(40)
    "The harbour office isn't ready for both "
    """
    random = Random(SEED)
    ends = PLAIN_ENDS if plain else MARKED_ENDS
    parts: list[str] = []
    length = 0
    while length < size:
        part = sentence(random, ends) + ("\n\n" if random.random() < 0.15 else " ")
        parts.append(part)
        length += len(part)
    return "".join(parts)[:size]
