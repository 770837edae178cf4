"""`code/blame`: who wrote which lines. Neighbours of one commit become one block."""

from itertools import groupby
from typing import Any

from rightcall.present.fields import Fields, fields, number, own, records, text, with_truncated
from rightcall.present.view import Losses, View


def shape(result: Any) -> dict[str, Any]:
    result = own(result)
    lines = records(result, "lines")
    numbers = [number(line, "lineNumber") for line in lines]
    runs = groupby(range(len(lines)), key=lambda at: (_hash(lines[at]), numbers[at] - at))
    blocks = [_block([lines[at] for at in run]) for _, run in runs]
    authors, commits = len({block["author"] for block in blocks}), len({block["commit"] for block in blocks})
    shaped: dict[str, Any] = {
        "path": text(result, "path"),
        "summary": f"{len(lines)} lines by {authors} authors in {commits} commits",
        "lineRange": f"{numbers[0]}-{numbers[-1]}" if numbers else "",
        "blocks": blocks,
    }
    if result.get("truncated") is True and numbers:
        rest = f"lines {numbers[-1] + 1}-{number(result, 'totalLines')} left out"
        shaped["summary"] += f"; {rest}: call code/blame with startLine={numbers[-1] + 1}"
    return with_truncated(shaped, result)


def _hash(line: Fields) -> str:
    return text(fields(line, "commit"), "shortHash")


def _block(run: list[Fields]) -> dict[str, Any]:
    commit = fields(run[0], "commit")
    block: dict[str, Any] = {
        "lines": f"{number(run[0], 'lineNumber')}-{number(run[-1], 'lineNumber')}",
        "commit": text(commit, "shortHash"),
        "author": text(commit, "author"),
        "date": commit["date"],
        "message": text(commit, "message"),
    }
    if all(line.get("content") is not None for line in run):
        block["content"] = "\n".join(text(line, "content") for line in run)
    return block


def summary(result: Any) -> str:
    result = own(result)
    return f"Blamed {len(records(result, 'lines'))} lines of {text(result, 'path')}"


def note(cut: dict[str, Any], losses: Losses) -> str | None:
    """Where to go on. `lineRange`, and `lines` of the last block, become those of the lines that are left."""
    loss = losses.get(("blocks",))
    if loss is None or not loss.kept:
        return None
    first, end = (int(part) for part in text(cut, "lineRange").split("-"))
    last = cut["blocks"][loss.kept - 1]
    start, stop = (int(part) for part in last["lines"].split("-"))
    inside = losses.get(("blocks", loss.kept - 1, "content"))
    if inside is not None:
        stop = start + max(inside.kept, 1) - 1
        last["lines"] = f"{start}-{stop}"
    cut["lineRange"] = f"{first}-{stop}"
    if stop >= end:
        return None
    return f"{end - stop} of {end - first + 1} lines left out: call code/blame with startLine={stop + 1}"


VIEW = View("code/blame", shape, summary, note)
