"""Results of the code tools as a person wants to see them: lines with their numbers, matches below their file, changes
as a diff. Whatever stands in them is escaped."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rightcall.cli.terminal import Style, Tint
from rightcall.text.escape import escaped

_WIDEST = 500
"""Characters of a line that are shown."""
_SIGNS: dict[str, tuple[str, tuple[Tint, ...]]] = {
    "addition": ("+", ("green",)),
    "deletion": ("-", ("red",)),
    "context": (" ", ()),
}

Fields = Mapping[str, Any]


def code_lines(tool: str, result: Any, style: Style) -> list[str] | None:
    """The lines to print; None for any other tool, and for a result that is not of the tool's form."""
    render = _RENDERERS.get(tool)
    if render is None:
        return None
    try:
        return list(render(result, style))
    except (KeyError, TypeError, ValueError, AttributeError):  # cut by the output's cap, or by another tool of the name
        return None


def counted(number: int, thing: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _text(value: Any) -> str:
    return escaped(str(value).replace("\t", "    "), _WIDEST)


def _read(result: Fields, style: Style) -> Iterator[str]:
    about = result["metadata"]
    first = int(about["startLine"])
    lines = str(result["content"]).removesuffix("\n").split("\n") if result["content"] else []
    width = len(str(first + len(lines)))
    for number, line in enumerate(lines, first):
        place = f"{number:>{width}}"
        yield f"{style.tint(place, 'dim')}  {_text(line.removesuffix(chr(13)))}"
    if about["endLine"] < about["totalLines"]:
        yield style.tint(f"… {about['totalLines']} lines in all; startLine {about['endLine'] + 1} goes on", "dim")
    if result.get("note"):
        yield style.tint(_text(result["note"]), "dim")
    yield from _structure(result.get("structure") or {}, style)


def _structure(structure: Fields, style: Style) -> Iterator[str]:
    """What a file declares, where it was asked for."""
    for kind in ("imports", "classes", "functions", "exports"):
        entries = [f"{_text(one.get('name') or one.get('text'))} ({one['line']})" for one in structure.get(kind) or ()]
        if entries:
            yield f"{style.tint(f'{kind:<10}', 'dim')} {', '.join(entries)}"


def _search(result: Fields, style: Style) -> Iterator[str]:
    file = None
    for match in result["matches"]:
        if match["file"] != file:
            file = match["file"]
            yield style.tint(_text(file), "bold")
        number = f"{match['line']:>6}  " if "line" in match else "  "
        yield f"{style.tint(number, 'dim')}{_text(match['matchedText'])}"
    shown, total = len(result["matches"]), result["totalMatches"]
    some = f"{shown} of {total} matching lines" if shown < total else counted(total, "matching line")
    yield style.tint(f"{some}, {counted(result['filesSearched'], 'file')} searched", "dim")
    if result.get("note"):
        yield style.tint(_text(result["note"]), "dim")


def _list(result: Fields, style: Style) -> Iterator[str]:
    for entry in result["files"]:
        if entry["isDirectory"]:
            yield style.tint(f"{'':>10}  {_text(entry['path'])}/", "bold")
        else:
            size = f"{entry['size']:>10,}"
            yield f"{style.tint(size, 'dim')}  {_text(entry['path'])}"
    shown, total = len(result["files"]), result["totalFiles"]
    yield style.tint(f"{shown} of {total}" if shown < total else f"{total} in all", "dim")


def _diff(result: Fields, style: Style) -> Iterator[str]:
    yield from _changes(result["diffs"], style)
    totals = result["totalChanges"]
    counts = f"{counted(totals['filesChanged'], 'file')}, +{totals['insertions']} -{totals['deletions']}"
    yield style.tint(f"{counts}{'; not all is shown' if result['truncated'] else ''}", "dim")


def _changes(diffs: list[Fields], style: Style) -> Iterator[str]:
    for file in diffs:
        renamed = f" (was {_text(file['oldPath'])})" if file.get("oldPath") else ""
        yield style.tint(f"{file['status']}  {_text(file['path'])}{renamed}", "bold")
        for hunk in file["hunks"]:
            spans = f"-{hunk['oldStart']},{hunk['oldLines']} +{hunk['newStart']},{hunk['newLines']}"
            yield style.tint(f"@@ {spans} @@", "cyan")
            for line in hunk["lines"]:
                sign, colour = _SIGNS[line["type"]]
                yield style.tint(sign + _text(line["content"]), *colour)


def _log(result: Fields, style: Style) -> Iterator[str]:
    for commit in result["commits"]:
        yield from _commit(commit, style)
    if not result["commits"]:
        yield style.tint("no commits", "dim")
    if result["truncated"]:
        yield style.tint("more exist: limit, since and path narrow it down", "dim")


def _commit(commit: Fields, style: Style) -> Iterator[str]:
    first, _, rest = str(commit["message"]).partition("\n")
    yield f"{style.tint(_text(commit['shortHash']), 'yellow')}  {_text(first)}"
    stats: Fields = commit.get("stats") or {}
    counts = f", +{stats['insertions']} -{stats['deletions']}" if stats else ""
    about = f"{commit['author']}, {commit['date']}, {counted(len(commit['filesChanged']), 'file')}{counts}"
    yield style.tint(f"    {_text(about)}", "dim")
    yield from (f"    {_text(line)}" for line in rest.strip().split("\n") if line)
    yield from _changes(commit.get("diff") or [], style)


def _show(result: Fields, style: Style) -> Iterator[str]:
    yield from _commit(result["commit"], style)
    if isinstance(result.get("content"), str):
        yield style.tint(_text(result["path"]), "bold")
        yield from (_text(line) for line in result["content"].removesuffix("\n").split("\n"))


def _blame(result: Fields, style: Style) -> Iterator[str]:
    width = len(str(result["lines"][-1]["lineNumber"])) if result["lines"] else 1
    for line in result["lines"]:
        commit = line["commit"]
        who = f"{commit['shortHash']} {str(commit['date'])[:10]} {_text(commit['author'])[:17]:<17}"
        place = f"{who} {line['lineNumber']:>{width}}"
        yield f"{style.tint(place, 'dim')}  {_text(line.get('content') or '')}"


_RENDERERS: dict[str, Callable[[Any, Style], Iterator[str]]] = {
    "code/read": _read,
    "code/search": _search,
    "code/list": _list,
    "code/diff": _diff,
    "code/log": _log,
    "code/show": _show,
    "code/blame": _blame,
}
