"""One run of the rules over a document: which of them count, and where each finding is."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct, structs

from rightcall.catalog.tidy import as_schema
from rightcall.lint import (
    changing,
    codes,
    conversation,
    copies,
    doubles,
    explained,
    hints,
    history,
    injection,
    likeness,
    lists,
    mentions,
    pairs,
    prose,
    providers,
    schemas,
    shadowing,
    spelling,
    steering,
    wording,
)
from rightcall.lint.definitions import Document, Lines, ToolView, view_tool
from rightcall.lint.findings import Finding, Hit, rank_of
from rightcall.lint.rules import Rule, load_rules, severity_of

_TOOLS: Final = (
    (likeness, {"RC1"}), (pairs, {"RC1"}), (wording, {"RC2"}), (prose, {"RC3"}),
    (schemas, {"RC4"}), (lists, {"RC6"}), (injection, {"RC7"}), (steering, {"RC1", "RC7"}), (conversation, {"RC7"}),
    (hints, {"RC8"}), (changing, {"RC9"}),
)  # fmt: skip
"""Each group with how the ids of its rules begin."""
_LISTS: Final = (
    (doubles, {"RC1"}), (pairs, {"RC1"}), (spelling, {"RC1"}), (copies, {"RC2"}), (explained, {"RC2"}),
    (codes, {"RC2"}), (schemas, {"RC4"}), (lists, {"RC6"}), (mentions, {"RC2", "RC7"}), (shadowing, {"RC7"}),
)  # fmt: skip


_INJECTION: Final = "RC7"


class Choice(Struct, frozen=True):
    """Which rules count. An entry is an id, the beginning of one, or a name; with `:TOOL` it means tools of that name
    or pattern alone."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    providers: frozenset[str] = frozenset()
    notes: bool = False
    misnamings: tuple[history.Misnaming, ...] = ()
    """What the audit log knows of the tools."""

    def counts(self, rule: Rule, tool: str, *, certain: bool = True) -> bool:
        if any(_means(one, rule, tool) for one in self.ignore):
            return False
        if self.select:
            return any(_means(one, rule, tool) for one in self.select)
        return self.notes or (certain and rule.severity != "note")

    def families(self) -> frozenset[str]:
        """The beginnings of the ids of rules that count for some tool."""
        ignored = [one for one in self.ignore if ":" not in one]
        whole = Choice(tuple(one.partition(":")[0] for one in self.select), tuple(ignored), notes=self.notes)
        return frozenset(rule.id[:3] for rule in load_rules().values() if whole.counts(rule, ""))


def _means(entry: str, rule: Rule, tool: str) -> bool:
    word, _, pattern = entry.partition(":")
    return rule.means(word) and (not pattern or fnmatch.fnmatchcase(tool, pattern))


def lint(document: Document, choice: Choice, progress: Callable[[str], None] | None = None) -> list[Finding]:
    """What the rules find in a document, tool by tool in the order of the list, the worst first."""
    rules, lines = load_rules(), Lines(document)
    found: list[Finding] = []
    for tool, hit in _hits(document, choice, progress or _untold):
        name = tool.name if tool is not None else ""
        if choice.counts(rules[hit.rule], name, certain=hit.certain):
            path = (*tool.path, *hit.path) if tool is not None else ()
            number = tool.number if tool is not None else -1
            place = lines.line(path)
            told = (hit.rule, name, hit.message, hit.remedy, path)
            found.append(Finding(*told, document.source, place, number, hit.fixable, hit.certain))
    renamed = {one.path[-1:] for one in found if one.rule == "RC122"}
    found = [one for one in found if one.rule != "RC113" or one.path[-1:] not in renamed]  # one name is proposed
    found.sort(key=lambda one: (one.number, -rank_of(severity_of(one)), one.line, one.rule))
    return list(dict.fromkeys(found))


def _spoken(document: Document) -> ToolView:
    """The instructions of a server, as the text of a tool that has nothing else."""
    raw = {"description": document.instructions}
    return structs.replace(view_tool(raw, (), len(document.tools)), name="the server's instructions")


def _is_seen(tool: ToolView) -> bool:
    """Whether a model sees the tool. MCP Apps keep those for the app from it; other hosts show them all the same, so
    the rules on injection count for every tool."""
    visible = as_schema(as_schema(tool.raw.get("_meta")).get("ui")).get("visibility")
    return not isinstance(visible, list) or "model" in visible


def _untold(doing: str) -> None:
    del doing


def _hits(document: Document, choice: Choice, progress: Callable[[str], None]) -> Iterator[tuple[ToolView | None, Hit]]:
    wanted = choice.families()
    tools = [one for one in document.tools if _is_seen(one)]
    for at, tool in enumerate(document.tools, 1):
        progress(f"tool {at:,} of {len(document.tools):,}")
        seen = len(tools) == len(document.tools) or _is_seen(tool)
        for group, families in _TOOLS:
            for hit in group.check(tool) if families & wanted and (seen or _INJECTION in families) else ():
                yield tool, hit
        for hit in providers.check(tool, choice.providers) if "RC5" in wanted and seen else ():
            yield tool, hit
    if document.instructions:
        spoken = _spoken(document)
        for group, families in _TOOLS:
            for hit in group.check(spoken) if _INJECTION in families & wanted else ():
                yield spoken, hit
    for group, families in _LISTS:
        if families & wanted:
            progress("the whole list")
            yield from group.check_list(document.tools if _INJECTION in families else tools)
    yield from lists.check_again(document)
    yield from history.check_history(tools, choice.misnamings)
