"""Changes as a diff, and the commits that made them."""

from collections.abc import Iterator

from rightcall.cli.code_report_text import Fields, lines_of, safe
from rightcall.cli.terminal import Style, Tint, many

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


def more_of_diff(_result: Fields) -> str:
    return "not all is shown; paths chooses files"


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
    for file in diffs:
        yield style.tint(f"{file['status']}  {safe(file['path'])}{_about(file)}", "bold")
        for hunk in file["hunks"]:
            spans = f"-{hunk['oldStart']},{hunk['oldLines']} +{hunk['newStart']},{hunk['newLines']}"
            yield style.tint(f"@@ {spans} @@", "cyan")
            for line in hunk["lines"]:
                sign, colour = _SIGNS[line["type"]]
                yield style.tint(sign + safe(line["content"]), *colour)
        if file.get("truncated"):
            yield style.tint("…", "dim")


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
