"""Results of the tools that run here, as a person wants to see them: lines with their numbers, matches below their
file, changes as a diff, and of what was written how to take it back. What a result is, and the sentence that sums it
up, come from the view that models get. Whatever stands in it is escaped; what is cut says so, and how to go on."""

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any, cast

from rightcall.cli import code_report_changes as changes
from rightcall.cli.code_report_text import Fields, lines_of, marked, safe, some, tinted
from rightcall.cli.terminal import Style, Tint, many
from rightcall.execute.sandbox.charts import LIBRARY
from rightcall.present.registry import view_of
from rightcall.present.tools import execute

Show = Callable[[Fields, Style, Fields], Iterator[str]]
More = Callable[[Fields], str | None]
"""How to go on when there is more than is here; None where that needs no words."""


def code_lines(tool: str, result: Any, style: Style, arguments: Fields | None = None) -> list[str] | None:
    """The lines to print; None for any other tool, and for a result that is not of the tool's form: the output's cap
    may have cut it, or a tool of somebody else's has that name. `arguments`: those of the call."""
    if tool not in _FORMS or not isinstance(result, Mapping) or not _is_own(tool, cast("Fields", result)):
        return None
    fields = cast("Fields", result)
    show, more = _FORMS[tool]
    lines = list(show(fields, style, arguments or {}))
    how = (more(fields) if callable(more) else more) if fields.get("truncated") else None
    if how:
        lines.append(style.tint(f"… {how}", "dim"))
    if fields.get("note"):
        lines.append(style.tint(safe(fields["note"]), "dim"))
    return lines


def _is_own(tool: str, result: Fields) -> bool:
    view = view_of(tool)
    if view is None:
        return all(isinstance(result.get(name), Mapping) for name in _USAGE)
    try:
        return bool(view.summary(result))
    except LookupError:
        return False


# ── files and lines ──────────────────────────────────────────────────────────────────────────────────────────────────


def _read(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    about = result["metadata"]
    width = len(str(about["endLine"]))
    for number, line in enumerate(lines_of(result["content"]), about["startLine"]):
        yield f"{style.tint(f'{number:>{width}}', 'dim')}  {line}"
    if about["endLine"] < about["totalLines"]:
        yield style.tint(f"… {_goes_on(about['totalLines'], about['endLine'])}", "dim")
    structure: Fields = result.get("structure") or {}
    for kind in ("imports", "classes", "functions", "exports"):
        entries = [f"{safe(one.get('name') or one.get('text'))} ({one['line']})" for one in structure.get(kind) or ()]
        if entries:
            yield f"{style.tint(f'{kind:<10}', 'dim')} {', '.join(entries)}"
    if structure.get("truncated"):
        yield style.tint("… not all of the structure is shown", "dim")


def _goes_on(total: int, last: int) -> str:
    return f"{many(total, 'line')} in all; startLine {last + 1} goes on"


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
    return _goes_on(result["totalLines"], result["lines"][-1]["lineNumber"]) if result["lines"] else None


def _logs(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    yield from map(safe, result["lines"])
    yield style.tint(f"{many(len(result['lines']), 'line')}, newest first", "dim")


# ── matches ──────────────────────────────────────────────────────────────────────────────────────────────────────────

Line = tuple[int | None, str, Fields | None]
"""Its number, where that is known, its text, and the match that it is, None for one around it."""


def _search(result: Fields, style: Style, arguments: Fields) -> Iterator[str]:
    """Two lines around each match always come with a result; whoever has not asked for any wants the matches."""
    around = bool(arguments.get("contextLines"))
    for file, found in groupby(result["matches"], key=lambda match: match["file"]):
        yield style.tint(safe(file), "bold")
        matches = list(found)
        groups = _numbered(matches) if all("line" in match for match in matches) else map(_around, matches)
        for at, group in enumerate(groups if around else ([(one.get("line"), "", one)] for one in matches)):
            if at and around:
                yield style.tint("--", "dim")
            yield from (_line(*line, style, ": " if around else "  ") for line in group)
    count = some(len(result["matches"]), result["totalMatches"], "matching line")
    yield style.tint(f"{count}, {many(result['filesSearched'], 'file')} searched", "dim")


def _line(number: int | None, text: str, match: Fields | None, style: Style, mark: str) -> str:
    place = "" if number is None else f"{number:>6}"
    if match is None:
        return style.tint(f"{place}- {safe(text)}", "dim")
    spans = match.get("highlights") or ()
    return f"{style.tint(place + mark, 'dim')}{marked(str(match['matchedText']), spans, style)}"


def _numbered(matches: list[Fields]) -> Iterator[list[Line]]:
    """The lines of a file in their order, each of them once; a gap begins another group."""
    lines: dict[int, Line] = {}
    for match in matches:
        for number, text, matched in _around(match):
            if number is not None and (matched is not None or number not in lines):
                lines[number] = (number, text, matched)
    for _, group in groupby(enumerate(sorted(lines)), key=lambda found: found[1] - found[0]):
        yield [lines[number] for _, number in group]


def _around(match: Fields) -> list[Line]:
    number = match.get("line")
    before, after = match["contextBefore"], match["contextAfter"]
    first = None if number is None else number - len(before)
    lines = [*((text, None) for text in before), (match["matchedText"], match), *((text, None) for text in after)]
    return [(None if first is None else first + at, text, matched) for at, (text, matched) in enumerate(lines)]


def _more_matches(result: Fields) -> str | None:
    fewer = len(result["matches"]) < result["totalMatches"]
    return "paths, filePattern or a narrower pattern show the others" if fewer else None


# ── what ran, what was written ───────────────────────────────────────────────────────────────────────────────────────


def _ran(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    shaped = execute.shape(result)
    yield from lines_of(result["stdout"])
    yield from (style.tint(line, "yellow") for line in lines_of(shaped.get("stderr", "")))
    for file in shaped.get("files", ()):
        if isinstance(file, str):
            yield style.tint(safe(file), "cyan")
            continue
        about = f", {file['summary']}" if "summary" in file else ""
        yield style.tint(f"[{safe(file['path'])}{about}]", "cyan")
        lines = map(safe, file["table"]) if "table" in file else lines_of(file["content"])
        yield from (f"  {line}" for line in lines)
    yield from (style.tint(f"left out: {safe(line)}", "dim") for line in shaped.get("filesLeftOut", ()))
    yield from (style.tint(safe(line), "red") for line in shaped.get("limits", ()))
    if "hint" in shaped:
        yield style.tint(f"{LIBRARY} is not available in the sandbox: pip install 'rightcall[charts]'", "yellow")
    yield style.tint(safe(execute.summary(result)), "dim")


def _written(tool: str) -> tuple[Show, None]:
    """The sentence that models get, what only people need to know, the diff where there is one, and how to take it
    back."""

    def show(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
        view = view_of(tool)
        yield safe(view.shape(result)["summary"] if view is not None else "")
        yield from (style.tint(line, tint) for line, tint in _besides(result))
        yield from (tinted(line, style) for line in lines_of(result.get("diff", "")))
        if result["undo"]:
            yield style.tint(f"to take it back: {safe(result['undo'])}", "dim")

    return show, None


def _besides(result: Fields) -> Iterator[tuple[str, Tint]]:
    if "files" in result and result["branch"]:
        yield "not committed yet", "dim"
    if "worktree" in result:
        yield f"its files: {safe(result['worktree'])}, once something is edited there", "dim"
    if result.get("uncommitted"):
        yield f"not committed, and so not a part of it: {', '.join(map(safe, result['uncommitted']))}", "yellow"
    if "uncommitted" in result:
        yield f"to look at it: rightcall pr show {safe(result['id'])}", "dim"
    if "checkSeconds" in result:
        where = "; the checkout shows it" if result.get("checkout") else ""
        yield f"the checks passed in {result['checkSeconds']:g} s{where}", "dim"


# ── the web, and the use of tools ────────────────────────────────────────────────────────────────────────────────────


def _page(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    """The text as it is, below where it comes from."""
    if result.get("title"):
        yield style.tint(safe(result["title"]), "bold")
    yield style.tint(safe(result["url"]), "dim")
    yield from lines_of(result["content"])


def _more_of_page(result: Fields) -> str:
    following = result["start"] + len(result["content"])
    return f"{result['length']:,} characters in all; start {following} goes on"


def _hits(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    for number, hit in enumerate(result["results"], 1):
        yield f"{number}. {style.tint(safe(hit['title']), 'bold')}"
        yield f"   {style.tint(safe(hit['url']), 'cyan')}"
        if hit.get("snippet"):
            yield f"   {safe(hit['snippet'])}"
    if not result["results"]:
        yield "no results"


_USAGE = ("stats", "toolBreakdown", "callers", "providers", "repairs")


def _usage(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    """The figures that `rightcall stats` has more of."""
    import sys

    from rightcall.cli.bars import Row, chart, signs_for  # late: no other report needs charts
    from rightcall.cli.stats_report import duration, percent

    def about(share: Fields, repairs: Fields | None) -> str:
        told = [many(share["calls"], "call")]
        told += [] if share["successRate"] is None else [f"{percent(share['successRate'], 0)} success"]
        told += [] if share["avgTime"] is None else [f"{duration(share['avgTime'])} avg"]
        told += [f"{percent(repairs['repairRate'], 0)} repaired"] if repairs and repairs["repaired"] else []
        return f"({', '.join(told)})"

    stats, repairs = result["stats"], result["repairs"]
    yield style.tint(f"{safe(result['personaName'])}, {result['period']}", "bold")
    yield f"{many(stats['totalCalls'], 'call')}, {percent(stats['successRate'])} success"
    tables: list[tuple[str, Fields, Fields]] = [
        ("tools", result["toolBreakdown"], repairs["byTool"]),
        ("callers", result["callers"], {}),
        ("providers", result["providers"], repairs["byProvider"]),
    ]
    for title, shares, rates in tables:
        if shares:
            yield style.tint(f"{title}:", "bold")
            rows = [Row(safe(name), share["calls"], about(share, rates.get(name))) for name, share in shares.items()]
            yield from chart(rows, style, signs_for(sys.stdout), indent=2)


_RUNS = (_ran, "not all of it is here: print less, or write fewer and smaller files")
_WRITE = (
    "file/save", "code/edit", "code/create-test", "code/create-branch", "code/commit", "code/pull-request",
    "code/review", "code/merge",
)  # fmt: skip
_FORMS: Mapping[str, tuple[Show, More | str | None]] = {
    "code/read": (_read, None),
    "code/search": (_search, _more_matches),
    "code/list": (_list, _more_files),
    "code/diff": (changes.diff, "not all is shown; paths chooses files"),
    "code/log": (changes.log, changes.more_of_log),
    "code/show": (changes.show, changes.more_of_show),
    "code/blame": (_blame, _more_blamed),
    "debug/logs": (_logs, "older lines exist; limit shows up to 500"),
    "analytics/tool-usage": (_usage, "there are more names; `rightcall stats --json` has them all"),
    "web/fetch": (_page, _more_of_page),
    "web/search": (_hits, None),
    "code/execute/python": _RUNS,
    "code/execute/javascript": _RUNS,
    "ai.execute": _RUNS,
    **{tool: _written(tool) for tool in _WRITE},
}
"""How the result of each tool is shown, and how to go on where it is cut."""
