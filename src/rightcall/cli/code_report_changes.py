"""Changes as a diff, and the commits that made them."""

from collections.abc import Iterator
from itertools import zip_longest

from msgspec import Struct

from rightcall.cli.code_report_text import Fields, lines_of, safe
from rightcall.cli.terminal import Style, Tint, fold, many, visible_width

LEAST_SPLIT = 60
"""Columns without which changes are shown below each other."""

_SIGNS: dict[str, tuple[str, tuple[Tint, ...]]] = {
    "addition": ("+", ("green",)),
    "deletion": ("-", ("red",)),
    "context": (" ", ()),
}


def diff(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    yield from _changes(result["diffs"], style)
    totals = result["totalChanges"]
    counts = f"{many(totals['filesChanged'], 'file')}, +{totals['insertions']} -{totals['deletions']}"
    yield style.tint(counts, "dim")


def log(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    for commit in result["commits"]:
        yield from _commit(commit, style)
    if not result["commits"]:
        yield style.tint("no commits", "dim")


def more_of_log(result: Fields) -> str:
    if len(result["commits"]) < result["totalCommits"]:
        return "more exist: limit, since and path narrow it down"
    return "not all changes are shown; code/show has those of one commit"


def show(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    yield from _commit(result["commit"], style)
    if isinstance(result.get("content"), str):
        yield style.tint(safe(result["path"]), "bold")
        yield from lines_of(result["content"])


def more_of_show(result: Fields) -> str | None:
    if result.get("note"):  # it is a file that is cut, and it says so
        return None
    name = safe(result["commit"]["shortHash"])
    return f"not all is shown; code/diff with base {name}^! and paths shows the changes of single files"


def _commit(commit: Fields, style: Style) -> Iterator[str]:
    first, _, rest = str(commit["message"]).partition("\n")
    yield f"{style.tint(safe(commit['shortHash']), 'yellow')}  {safe(first)}"
    stats, files = commit["stats"], len(commit["filesChanged"]) + commit.get("moreFiles", 0)
    counts = f"{many(files, 'file')}, +{stats['insertions']} -{stats['deletions']}"
    yield style.tint(f"    {safe(commit['author'])}, {safe(commit['date'])}, {counts}", "dim")
    yield from (f"    {line}" for line in lines_of(rest.strip()) if line)
    yield from _changes(commit.get("diff") or [], style)


def _changes(diffs: list[Fields], style: Style) -> Iterator[str]:
    split = style.split and style.width >= LEAST_SPLIT
    if style.split and not split and diffs:
        yield style.tint(f"the terminal has {style.width} columns, {LEAST_SPLIT} are needed for --split", "yellow")
    for file in diffs:
        yield style.tint(f"{file['status']}  {safe(file['path'])}{_about(file)}", "bold")
        for hunk in file["hunks"]:
            spans = f"-{hunk['oldStart']},{hunk['oldLines']} +{hunk['newStart']},{hunk['newLines']}"
            yield style.tint(f"@@ {spans} @@", "cyan")
            yield from _side_by_side(hunk, style) if split else _below_each_other(hunk, style)
        if file.get("truncated"):
            yield style.tint("…", "dim")


def _below_each_other(hunk: Fields, style: Style) -> Iterator[str]:
    for line in hunk["lines"]:
        sign, colour = _SIGNS[line["type"]]
        yield style.tint(sign + safe(line["content"]), *colour)


class _Side(Struct, frozen=True):
    """One line on one side: its number, what became of it, and its text."""

    number: int
    kind: str
    text: str


def _side_by_side(hunk: Fields, style: Style) -> Iterator[str]:
    """What was on the left, what is on the right; of lines that were changed the first beside the first. Long ones go
    on in the row below."""
    last = max(hunk["oldStart"] + hunk["oldLines"], hunk["newStart"] + hunk["newLines"])
    gutter, half = len(str(last)), (style.width - 3) // 2
    for old, new in _rows(hunk):
        pieces = [[] if side is None else fold(side.text, half - gutter - 2) for side in (old, new)]
        for at, texts in enumerate(zip_longest(*pieces, fillvalue="")):
            left, right = (
                _cell(side, text, gutter, style, first=at == 0)
                for side, text in zip((old, new), texts, strict=True)
            )  # fmt: skip
            yield f"{left}{' ' * (half - visible_width(left))} {style.tint('│', 'dim')} {right}".rstrip()


def _cell(side: _Side | None, text: str, gutter: int, style: Style, *, first: bool) -> str:
    if side is None:
        return ""
    sign, tints = _SIGNS[side.kind]
    number, text = (str(side.number), sign + text) if first else ("", f" {text}")
    return f"{style.tint(f'{number:>{gutter}}', 'dim')} {style.tint(text, *tints) if tints else text}"


def _rows(hunk: Fields) -> Iterator[tuple[_Side | None, _Side | None]]:
    old, new = hunk["oldStart"], hunk["newStart"]
    gone: list[_Side] = []
    come: list[_Side] = []
    for line in hunk["lines"]:
        text = safe(line["content"])
        if line["type"] == "context":
            yield from zip_longest(gone, come)
            gone, come = [], []
            yield _Side(old, "context", text), _Side(new, "context", text)
        elif line["type"] == "deletion":
            if come:  # another change begins
                yield from zip_longest(gone, come)
                gone, come = [], []
            gone.append(_Side(old, "deletion", text))
        else:
            come.append(_Side(new, "addition", text))
        old += line["type"] != "addition"
        new += line["type"] != "deletion"
    yield from zip_longest(gone, come)


def _about(file: Fields) -> str:
    told = [f"was {safe(file['oldPath'])}"] if file.get("oldPath") else []
    told += ["binary"] if file.get("binary") else []
    told += ["other line ends"] if _other_ends(file) else []
    return f" ({', '.join(told)})" if told else ""


def _other_ends(file: Fields) -> bool:
    """Whether lines end with CR LF on one side only: the CR is not shown, and they could look unchanged."""
    ends: dict[str, set[bool]] = {}
    for hunk in file["hunks"]:
        for line in hunk["lines"]:
            ends.setdefault(line["type"], set()).add(line["content"].endswith("\r"))
    return "addition" in ends and "deletion" in ends and ends["addition"] != ends["deletion"]
