"""Results of the code tools, as a person wants to see them: lines with their numbers, matches below their file, changes
as a diff, and of what was written how to take it back. Whatever stands in them is escaped; what is cut says so, and how
to go on."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from rightcall.cli import code_report_changes as changes
from rightcall.cli import code_report_ran as programs
from rightcall.cli import code_report_search as matches
from rightcall.cli import code_report_web as web
from rightcall.cli import code_report_writes as writes
from rightcall.cli.code_report_text import Fields, lines_of, safe
from rightcall.cli.terminal import Style, many


class Form(Struct, frozen=True):
    """How the result of one tool is known and shown. `parts`: the fields it always has; `more`: how to go on when there
    is more than is here, None where that needs no words."""

    parts: dict[str, type]
    show: Callable[[Fields, Style, Fields], Iterator[str]]
    more: Callable[[Fields], str | None]


def code_lines(tool: str, result: Any, style: Style, arguments: Fields | None = None) -> list[str] | None:
    """The lines to print; None for any other tool, and for a result that is not of the tool's form: the output's cap
    may have cut it, or a tool of somebody else's has that name. `arguments`: those of the call."""
    form = _FORMS.get(tool)
    if form is None or not isinstance(result, Mapping):
        return None
    fields = cast("Fields", result)
    if not all(isinstance(fields.get(name), kind) for name, kind in form.parts.items()):
        return None
    lines = list(form.show(fields, style, arguments or {}))
    if fields.get("truncated") and (how := form.more(fields)):
        lines.append(style.tint(f"… {how}", "dim"))
    if fields.get("note"):
        lines.append(style.tint(safe(fields["note"]), "dim"))
    return lines


def _read(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    about = result["metadata"]
    width = len(str(about["endLine"]))
    for number, line in enumerate(lines_of(result["content"]), about["startLine"]):
        yield f"{style.tint(f'{number:>{width}}', 'dim')}  {line}"
    if about["endLine"] < about["totalLines"]:
        yield style.tint(f"… {_goes_on(about['totalLines'], about['endLine'])}", "dim")
    yield from _structure(result.get("structure") or {}, style)


def _goes_on(total: int, last: int) -> str:
    return f"{many(total, 'line')} in all; startLine {last + 1} goes on"


def _structure(structure: Fields, style: Style) -> Iterator[str]:
    """What a file declares, where it was asked for."""
    for kind in ("imports", "classes", "functions", "exports"):
        entries = [f"{safe(one.get('name') or one.get('text'))} ({one['line']})" for one in structure.get(kind) or ()]
        if entries:
            yield f"{style.tint(f'{kind:<10}', 'dim')} {', '.join(entries)}"
    if structure.get("truncated"):
        yield style.tint("… not all of the structure is shown", "dim")


def _list(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    for entry in result["files"]:
        if entry["isDirectory"]:
            yield style.tint(f"{'':>10}  {safe(entry['path'])}/", "bold")
        else:
            size = f"{entry['size']:>10,}"
            yield f"{style.tint(size, 'dim')}  {safe(entry['path'])}"
    shown, total = len(result["files"]), result["totalFiles"]
    yield style.tint(f"{shown:,} of {total:,}" if shown < total else f"{total:,} in all", "dim")


def _more_files(result: Fields) -> str | None:
    if len(result["files"]) < result["totalFiles"]:
        return "a narrower pattern or directory shows the others"
    return None if result.get("note") else "the time ran out; a narrower pattern or directory takes less"


def _blame(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    width = len(str(result["lines"][-1]["lineNumber"])) if result["lines"] else 1
    for line in result["lines"]:
        commit = line["commit"]
        who = f"{safe(commit['shortHash'])} {safe(commit['date'])[:10]} {safe(commit['author'])[:17]:<17}"
        place = f"{who} {line['lineNumber']:>{width}}"
        yield f"{style.tint(place, 'dim')}  {safe(line.get('content') or '')}"


def _more_blamed(result: Fields) -> str | None:
    if not result["lines"]:
        return None
    return _goes_on(result["totalLines"], result["lines"][-1]["lineNumber"])


def _logs(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    yield from map(safe, result["lines"])
    yield style.tint(f"{many(len(result['lines']), 'line')}, newest first", "dim")


_RAN = Form({"stdout": str, "stderr": str, "files": list, "executionTime": int}, programs.ran, programs.more)
_CHANGE: dict[str, type] = {"change": str, "undo": str}
_EDIT = _CHANGE | {"diff": str, "branch": str, "files": list}
_COUNTS: dict[str, type] = {"filesChanged": int, "insertions": int, "deletions": int}
_REQUEST = _CHANGE | {"id": str}


def _written(parts: dict[str, type], show: Callable[[Fields, Style, Fields], Iterator[str]]) -> Form:
    return Form(parts, show, lambda _: None)


_FORMS = {
    "code/read": Form({"content": str, "metadata": Mapping}, _read, lambda _: None),
    "code/search": Form({"matches": list, "totalMatches": int, "filesSearched": int}, matches.search, matches.more),
    "code/list": Form({"files": list, "totalFiles": int}, _list, _more_files),
    "code/diff": Form({"diffs": list, "totalChanges": Mapping}, changes.diff, changes.more_of_diff),
    "code/log": Form({"commits": list, "totalCommits": int}, changes.log, changes.more_of_log),
    "code/show": Form({"commit": Mapping}, changes.show, changes.more_of_show),
    "code/blame": Form({"lines": list, "totalLines": int}, _blame, _more_blamed),
    "debug/logs": Form({"lines": list}, _logs, lambda _: "older lines exist; limit shows up to 500"),
    "analytics/tool-usage": Form(
        {"stats": Mapping, "toolBreakdown": Mapping, "callers": Mapping, "providers": Mapping, "repairs": Mapping},
        web.usage,
        lambda _: "there are more names; `rightcall stats --json` has them all",
    ),
    "web/fetch": Form({"url": str, "content": str, "start": int, "length": int}, web.page, web.page_goes_on),
    "web/search": Form({"results": list, "query": str}, web.hits, lambda _: None),
    "code/execute/python": _RAN,
    "code/execute/javascript": _RAN,
    "ai.execute": _RAN,
    "file/save": _written(_CHANGE | {"diff": str}, writes.saved),
    "code/edit": _written(_EDIT, writes.edited),
    "code/create-test": _written(_EDIT, writes.edited),
    "code/create-branch": _written(_CHANGE | {"branch": str, "base": str, "worktree": str}, writes.branched),
    "code/commit": _written(_CHANGE | _COUNTS | {"shortHash": str, "branch": str}, writes.committed),
    "code/pull-request": _written(_REQUEST | _COUNTS | {"branch": str, "base": str, "commits": int}, writes.opened),
    "code/review": _written(_REQUEST | {"decision": str, "commit": str, "approvals": int}, writes.reviewed),
    "code/merge": _written(_REQUEST | _COUNTS | {"base": str, "commit": str}, writes.merged),
}
