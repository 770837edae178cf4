"""RC6xx: what a list costs. RC9xx: lists that change between two requests."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from rightcall.base.text import estimate
from rightcall.catalog.tidy import Schema, as_list, as_schema
from rightcall.gate.repair.words import words_of
from rightcall.lint.ballast import find_ballast, measure_idle, render_sent
from rightcall.lint.definitions import Argument, Document, ToolView, view_tool
from rightcall.lint.evident import MOST_TEXT
from rightcall.lint.findings import Hit, join_names, quote_name, quote_text
from rightcall.lint.schemas import walk

DEAR_TOOL: Final = 2_000
"""Tokens of one definition from which on it is told."""
LARGE_TOOL: Final = 600
DEAR_LIST: Final = 20_000
MANY_TOOLS: Final = 40
VERY_MANY_TOOLS: Final = 80
MOST_TOOLS: Final = 128
LONG_DESCRIPTION: Final = 800
"""Tokens of the description of a tool from which on it is told,"""
LONG_BESIDE, TIMES_ARGUMENTS = 600, 3
"""or already, where it takes so many times as much as the arguments."""
LONG_ARGUMENT: Final = 500
"""Tokens of the description of one argument from which on it is told."""
_REPEATED_PARTS, _REPEATED_TOKENS, _REPEATED_OUTPUT = 3, 400, 600
"""How often a schema has one part, and what it costs to repeat it, in the arguments and in `outputSchema`, from which
on it is told."""
_MOST_PARTS, _FEWEST_FIELDS = 200, 4
"""Objects that are compared, and the fields of one."""
_REPEATED_TEXTS, _REPEATED_PIECE, _REPEATED_SUM = 3, 40, 200
"""Texts that share sentences, their tokens, and what it costs to repeat them, from which on it is told."""
_GRID_NAMES, _GRID_ENDINGS, _GRID, _LONGEST_ENDING = 4, 3, 16, 2
"""Names with the same endings, the endings, and the arguments of both from which on they are told; the words of one."""
_MOST_VALUES = 500
"""Values of an `enum` that are looked for in a text."""


def cost_of(tool: ToolView) -> int:
    """The tokens of a definition, roughly. Hosts send a model the name, the description and the schema of the
    arguments; `outputSchema`, `annotations`, `_meta` and the like stay with the host."""
    return estimate(render_sent({"name": tool.name, "description": tool.description, "parameters": tool.schema}))


def check(tool: ToolView) -> Iterator[Hit]:
    yield from find_ballast(tool, cost_of(tool))
    yield from _find_size(tool)
    again = _repeated_part(as_schema(tool.raw.get("outputSchema")), _REPEATED_OUTPUT)
    if again:
        yield Hit("RC608", f"`outputSchema`: {again}", "put it into `$defs` once, and refer to it", ("outputSchema",))


def _find_size(tool: ToolView) -> Iterator[Hit]:
    tokens = cost_of(tool)
    told = estimate(tool.description) - measure_idle(tool, tool.description).total()  # that is told already
    beside = tokens - estimate(render_sent(tool.description))
    if tokens > DEAR_TOOL:
        long = told > LONG_DESCRIPTION
        yield Hit(
            "RC601",
            f"about {tokens:,} tokens in every request{f', of them {told:,} in the description' if long else ''}",
            "shorten the description" if long else "take out arguments and texts that no call needs",
            tool.at("description" if long else "name"),
        )
    elif told > LONG_DESCRIPTION or (told > LONG_BESIDE and told > beside * TIMES_ARGUMENTS):
        yield Hit(
            "RC606",
            f"the description takes about {told:,} tokens in every request",
            "shorten it to what a model needs to choose and call the tool",
            tool.at("description"),
        )
    elif tokens > LONG_ARGUMENT and (long := _long_argument(tool)) is not None:
        yield Hit(
            "RC606",
            f"the description of {quote_name(long.name)} takes about {estimate(long.description):,} tokens",
            "shorten it to what a model needs to fill it",
            long.path,
        )
    elif tokens > LARGE_TOOL and (again := _repeated_part(tool.schema or {}, _REPEATED_TOKENS) or _grid(tool)):
        yield Hit("RC608", again, "make it one argument that takes a list, or describe the form", tool.at("name"))
    elif tokens > _REPEATED_SUM and (texts := _repeated_texts(tool)):
        yield Hit("RC608", *texts, tool.at("name"))
    elif tokens > LARGE_TOOL:
        yield Hit(
            "RC605", f"about {tokens:,} tokens in every request", "shorten it where that loses nothing", tool.at("name")
        )


def _long_argument(tool: ToolView) -> Argument | None:
    return next((one for one in tool.arguments if estimate(one.description) > LONG_ARGUMENT), None)


def _repeated_part(whole: Schema, least: int) -> str:
    """The list of values or the object that a schema has several times; empty where it has none."""
    parts = Counter[str]()
    objects: list[tuple[set[str], list[Schema]]] = []
    for _, schema in walk(whole, ()):
        part = schema.get("enum") or schema.get("properties")
        parts.update([json.dumps(part, ensure_ascii=False, sort_keys=True, default=str)] if part else [])
        fields = as_schema(schema.get("properties"))
        if len(fields) >= _FEWEST_FIELDS and len(objects) < _MOST_PARTS:
            new: list[Schema] = []
            alike = (those for keys, those in objects if len(keys & {*fields}) * 4 >= len(keys | {*fields}) * 3)
            same = next(alike, new)
            objects += [] if same else [({*fields}, same)]
            same.append(fields)
    for part, times in parts.items():
        tokens = estimate(part)
        if times >= _REPEATED_PARTS and (again := tokens * (times - 1)) >= least:
            return f"the schema has the same {tokens:,} tokens {times} times, {again:,} too many: {quote_text(part)}"
    for keys, those in objects:
        costs = sorted(estimate(render_sent(one)) for one in those)
        if len(those) >= _REPEATED_PARTS and (again := sum(costs[:-1])) >= least:
            told = f"{len(those)} objects have nearly the same fields, {again:,} tokens too many"
            return f"{told}: {join_names(sorted(keys), 4)}"
    return ""


def _grid(tool: ToolView) -> str:
    """Many arguments that are some names, each with the same few endings: `price_min`, `price_max`, `price_exact`."""
    endings: dict[str, set[str]] = {}
    for one in tool.top:
        words = words_of(one.name)
        for at in range(max(1, len(words) - _LONGEST_ENDING), len(words)):
            endings.setdefault("_".join(words[:at]), set()).add("_".join(words[at:]))
    often = Counter(ending for those in endings.values() for ending in those)
    common = {ending for ending, times in often.items() if times >= _GRID_NAMES}
    rows = {name: those & common for name, those in endings.items() if len(those & common) >= _GRID_ENDINGS}
    times = sum(map(len, rows.values()))
    if len(rows) < _GRID_NAMES or times < _GRID:
        return ""
    most = join_names(ending for ending, _ in Counter(one for those in rows.values() for one in those).most_common())
    return f"{times} arguments are {len(rows)} names, each with the same endings: {most}"


def _repeated_texts(tool: ToolView) -> tuple[str, str] | None:
    """Sentences that many arguments share, or a text that repeats the values of `enum`; with the advice."""
    for times, piece, tokens in _shared((one.name, one.description, ()) for one in tool.arguments):
        again = tokens * (times - 1)
        told = f"{times} arguments repeat the same {tokens:,} tokens, {again:,} too many: {piece}"
        return told, "tell it once, in the description of the tool"
    for one in tool.arguments:
        listed = as_list(one.schema.get("enum")) or as_list(one.item.get("enum"))
        text = one.description[:MOST_TEXT]
        values = "".join(value for value in listed[:_MOST_VALUES] if isinstance(value, str) and value in text)
        tokens = estimate(values)
        if tokens >= _REPEATED_SUM and 3 * len(values) >= 2 * len(text):  # else it explains them
            told = f"the text of {quote_name(one.name)} repeats the values of its `enum`, {tokens:,} tokens too many"
            return told, "leave them out of the text"
    return None


def check_list(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    tokens = sum(cost_of(tool) for tool in tools)
    if tokens > DEAR_LIST:
        dearest = sorted(tools, key=lambda tool: -cost_of(tool))[:3]
        told = ", ".join(f"{cost_of(tool):,} for `{tool.name[:40]}`" for tool in dearest)
        yield (
            None,
            Hit("RC602", f"about {tokens:,} tokens in every request, of them {told}", "offer fewer or shorter tools"),
        )
    if len(tools) > MOST_TOOLS:
        yield None, Hit("RC603", f"{len(tools)} tools; OpenAI takes {MOST_TOOLS}", "offer fewer tools")
    elif len(tools) > VERY_MANY_TOOLS and tokens <= DEAR_LIST:
        yield None, Hit("RC607", f"{len(tools)} tools in one list", "offer fewer tools, or group them into servers")
    elif len(tools) > MANY_TOOLS:
        yield None, Hit("RC604", f"{len(tools)} tools in one list", "offer fewer tools, or group them into servers")
    yield from _repeated(tools)


def _repeated(tools: Sequence[ToolView]) -> Iterator[tuple[ToolView | None, Hit]]:
    """The same sentences in the descriptions of many tools. Those that tell of an argument belong to each of them."""
    texts = [(str(tool.number), tool.description, {one.name for one in tool.top}) for tool in tools]
    for times, piece, tokens in _shared(texts):
        told = f"{times} tools repeat the same {tokens:,} tokens, {tokens * (times - 1):,} too many: {piece}"
        certain = tokens >= _FIELDS or not _IS_FIELD.match(piece.strip('"'))
        yield None, Hit("RC608", told, "tell it once, in the instructions of the server", certain=certain)


_FIELDS = 100
_IS_FIELD: Final = re.compile(r"\W*[-*•]\s+[`'\"]?\w+[`'\"]?\s?:\s")
"""`- state: open or closed`: a few of the fields that a tool has belong to it."""


def _shared(texts: Iterable[tuple[str, str, Collection[str]]]) -> Iterator[tuple[int, str, int]]:
    """How many texts share sentences that are worth telling, the first of these, and what all of them cost. A text
    comes with whose it is and with names: what begins with one of them belongs there."""
    users: dict[str, dict[str, None]] = {}
    for whose, text, own in texts:
        for piece in dict.fromkeys(re.split(r"\n+|(?<=[.!?])\s+", text)):
            told = _OF_ARGUMENT.match(piece)
            own_limit = _LIMITS.search(piece) is not None
            if len(piece) >= _SHORTEST_PIECE and (told is None or told[1] not in own) and not own_limit:
                users.setdefault(piece.strip(), {})[whose] = None
    shared: dict[tuple[str, ...], list[str]] = {}
    for piece, those in users.items():
        if len(those) >= _REPEATED_TEXTS:
            shared.setdefault(tuple(those), []).append(piece)
    for those, pieces in shared.items():
        tokens = sum(map(estimate, pieces))
        if tokens >= _REPEATED_PIECE and tokens * (len(those) - 1) >= _REPEATED_SUM:
            yield len(those), quote_text(pieces[0]), tokens


_SHORTEST_PIECE: Final = 24
_LIMITS: Final = re.compile(
    r"\b(?:max(?:imum)?|min(?:imum)?|at most|at least|up to|limited to)\b[^.]{0,60}\d", re.IGNORECASE
)
"""A bound belongs to its argument, however many have it."""
_OF_ARGUMENT: Final = re.compile(r"\W*(\w+)[^\n:]{0,40}:")
"""`region (optional): …`"""


def _changed(tool: ToolView, raw: dict[str, Any]) -> str:
    """Which arguments came, went or are needed now."""
    before = {one.name: one.required for one in tool.top}
    after = {one.name: one.required for one in view_tool(raw).top}
    came, went = [name for name in after if name not in before], [name for name in before if name not in after]
    needed = [name for name in after if after[name] and before.get(name) is False]
    told = [
        f"{join_names(names)} {what}"
        for names, what in ((came, "came"), (went, "went"), (needed, "is required now"))
        if names
    ]
    return f": {', '.join(told)}" if told else ""


def check_again(document: Document) -> Iterator[tuple[ToolView | None, Hit]]:
    """The first list beside the second."""
    if document.again is None:
        return
    before = {str(tool.raw.get("name")): tool for tool in document.tools}
    after = {str(raw.get("name")): raw for raw in document.again}
    for name, tool in before.items():
        if name in after and after[name] != tool.raw:
            keys = [key for key in {*tool.raw, *after[name]} if tool.raw.get(key) != after[name].get(key)]
            text = f"{join_names(sorted(map(str, keys)))} changed between two requests{_changed(tool, after[name])}"
            yield tool, Hit("RC901", text, "tell the same each time", ())
    gone, new = [name for name in before if name not in after], [name for name in after if name not in before]
    if gone or new:
        what = " and ".join(
            [*([f"{join_names(gone)} went"] if gone else []), *([f"{join_names(new)} came"] if new else [])]
        )
        yield None, Hit("RC901", f"{what} between two requests", "tell the same list each time")
    elif list(before) != list(after):
        yield None, Hit("RC902", "the tools came in another order when asked again", "sort the list")
