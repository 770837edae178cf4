"""The requests of data/everyday: tool sets, and what people say to them. For the scripts that learn and measure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from rightcall.catalog import load_pack
from rightcall.router.lexical import ToolText, tool_texts
from rightcall.router.packets import shipped_examples

FOLDER = Path(__file__).parent.parent / "data" / "everyday"


def lines(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


class ToolSet(NamedTuple):
    """Tools, requests with the tools they want (none: no tool), and examples of each tool."""

    name: str
    tools: list[ToolText]
    requests: list[tuple[str, list[str]]]
    is_held_out: bool = False
    kind: str = ""

    def without_examples(self) -> ToolSet:
        return self._replace(tools=[replace(tool, examples=()) for tool in self.tools])


def read_sets(folder: Path) -> list[ToolSet]:
    """The tool sets of data/everyday, or of the corpora's folder of the same form."""
    rows = {row["set"]: row for row in lines(folder, "tools")}
    requests: dict[str, list[tuple[str, list[str]]]] = {name: [] for name in rows}
    for number, row in enumerate(lines(folder, "requests")):
        wanted = [] if row["expected"] in ("none", ["none"], None) else row["expected"]
        names = list(rows)  # general talk belongs to no set: each has some
        requests[row["set"] if row["set"] in rows else names[number % len(names)]].append((row["text"], wanted))
    examples: dict[tuple[str, str], tuple[str, ...]] = {}
    if (folder / "examples.jsonl").exists():
        examples = {(row["set"], row["tool"]): tuple(row["examples"]) for row in lines(folder, "examples")}
    return [
        ToolSet(
            name,
            [replace(tool, examples=examples.get((name, tool.name), ())) for tool in tool_texts(row["tools"])],
            requests[name],
            row.get("held_out", False),
            row.get("kind", ""),
        )
        for name, row in rows.items()
    ]


READING = (
    "code/read", "code/search", "code/list", "code/diff", "code/log", "code/blame", "code/show", "ping",
    "system/monitor", "debug/logs", "data/list", "data/read", "ai/report", "analytics/tool-usage",
)  # fmt: skip
"""What an executor offers at first."""


def read_own_sets(held_out: bool = False) -> list[ToolSet]:
    """Our own tools with the examples that ship: all of them, those that only read, those that read code."""
    rows = [row for row in lines(FOLDER, "own") if row["held_out"] == held_out]
    every = {name for row in rows for name in row["expected"]}
    tools = [
        ToolText(tool.name, tool.description, tool.schema or {}, shipped_examples().get(tool.name, ()))
        for tool in load_pack("code").tools
    ]
    return [
        ToolSet(
            f"own, {len(names)} tools",
            [tool for tool in tools if tool.name in names],
            [(row["text"], row["expected"]) for row in rows if not row["expected"] or names & {*row["expected"]}],
            held_out,
        )
        for names in (every, {*READING}, {*READING[:7]})
    ]
