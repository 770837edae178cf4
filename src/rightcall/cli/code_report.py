"""Results of the tools that run here, as a person wants to see them: lines with their numbers, matches below their
file, changes as a diff, and of what was written how to take it back. What a result is, and the sentence that sums it
up, come from the view that models get. Whatever stands in it is escaped; what is cut says so, and how to go on.

And pull requests. Everything in them was written by somebody: nothing is shown as it is, and since a person decides
about it, nothing hides.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, to_builtins

from rightcall.base.text import escaped
from rightcall.cli.persons import Row, chart, signs_for, spell_out, spelled_lines
from rightcall.cli.terminal import Style, Tint, fold, many, table, visible_width
from rightcall.executor import views
from rightcall.executor.messages import view_of
from rightcall.policy.settings import WriteSettings
from rightcall.tools.sandbox.charts import LIBRARY

if TYPE_CHECKING:
    from rightcall.tools.write.pulls import CheckRun, PullRecord, Remark
    from rightcall.tools.write.review import PullView

# ── text ──
# What all reports of results have in common: text that cannot harm a terminal, and how much of it is shown.

Fields = Mapping[str, Any]

_WIDEST = 500
"""Characters of a line that are shown."""
_MATCH: tuple[Tint, ...] = ("red", "bold")
_DIFF: dict[str, Tint] = {
    "diff --git ": "bold", "--- ": "bold", "+++ ": "bold", "@@": "cyan", "+": "green", "-": "red",
}  # fmt: skip


def safe(value: Any) -> str:
    """One line of anything that was found. A CR at its end is half of a line end, and not shown."""
    return escaped(str(value).removesuffix("\r").replace("\t", "    "), _WIDEST)


def mark_matches(text: str, spans: Sequence[Sequence[int]], style: Style) -> str:
    """The same with the parts that match in colour. Each part is made harmless by itself, so that the only sequences a
    terminal obeys are ours."""
    if not style.colour or not spans:
        return safe(text)
    text = text.removesuffix("\r")
    out, at, room = "", 0, _WIDEST
    for start, end in [*spans, (len(text), len(text))]:
        for part, tints in ((text[at:start], ()), (text[start:end], _MATCH)):
            shown = escaped(part.replace("\t", "    "), room)
            out += style.tint(shown, *tints) if tints else shown
            room = max(room - len(shown), 0)
        at = max(at, end)
    return out


def lines_of(text: str) -> Iterator[str]:
    """The lines of a text; the end of the last one begins no other."""
    return (safe(line) for line in text.removesuffix("\n").split("\n")) if text else iter(())


def some(shown: int, total: int, thing: str) -> str:
    """`2 of 3 files`; `3 files` when all of them are there."""
    return f"{shown:,} of {many(total, thing)}" if shown < total else many(total, thing)


def tint_diff(line: str, style: Style) -> str:
    """A line of a diff, in its colour where there are any."""
    tints: list[Tint] = [tint for start, tint in _DIFF.items() if line.startswith(start)]
    return style.tint(line, *tints[:1])


# ── changes ──
# Changes as a diff, and the commits that made them.

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


Show = Callable[[Fields, Style, Fields], Iterator[str]]
More = Callable[[Fields], str | None]
"""How to go on when there is more than is here; None where that needs no words."""


_WHERE = " where"
"""Where a result has the options for further commands, while it is shown: no tool's own field has a blank in it."""


def code_lines(
    tool: str, result: Any, style: Style, arguments: Fields | None = None, where: str = ""
) -> list[str] | None:
    """The lines to print; None for any other tool, and for a result that is not of the tool's form: the output's cap
    may have cut it, or a tool of somebody else's has that name. `arguments`: those of the call; `where`: the options
    that further commands need."""
    if tool not in _FORMS or not isinstance(result, Mapping) or not _is_own(tool, cast("Fields", result)):
        return None
    fields = {**cast("Fields", result), _WHERE: where}
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
    return f"{style.tint(place + mark, 'dim')}{mark_matches(str(match['matchedText']), spans, style)}"


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
    shaped = views.shape_execution(result)
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
    yield style.tint(safe(views.summary_execution(result)), "dim")


def _written(tool: str) -> tuple[Show, None]:
    """The sentence that models get, what only people need to know, the diff where there is one, and how to take it
    back."""

    def show(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
        view = view_of(tool)
        yield safe(view.shape(result)["summary"] if view is not None else "")
        yield from (style.tint(line, tint) for line, tint in _besides(result))
        yield from (tint_diff(line, style) for line in lines_of(result.get("diff", "")))
        if result["undo"]:
            yield style.tint(f"to take it back: {safe(result['undo'])}{result[_WHERE]}", "dim")

    return show, None


def _besides(result: Fields) -> Iterator[tuple[str, Tint]]:
    if "files" in result and result["branch"]:
        yield "not committed yet", "dim"
    if "worktree" in result:
        yield f"its files: {safe(result['worktree'])}, once something is edited there", "dim"
    if result.get("uncommitted"):
        yield f"not committed, and so not a part of it: {', '.join(map(safe, result['uncommitted']))}", "yellow"
    if "uncommitted" in result:
        yield f"to look at it: rightcall pr show {safe(result['id'])}{result[_WHERE]}", "dim"
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
    from rightcall.cli.stats import duration, percent  # late: no other report needs figures

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
    "code/diff": (diff, "not all is shown; paths chooses files"),
    "code/log": (log, more_of_log),
    "code/show": (show, more_of_show),
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


_STATUS: dict[str, Tint] = {"open": "green", "merged": "cyan", "closed": "red"}
_KIND: dict[str, Tint] = {"approve": "green", "reject": "red", "check": "yellow", "merge": "cyan", "close": "red"}
_SAID = {
    "opened": "opened it",
    "comment": "says",
    "approve": "approves",
    "reject": "rejects",
    "check": "ran the checks",
    "merge": "on the merge",
    "close": "closed it",
}
_SHORT = 10
_MOST_TAIL = 30


def summary(record: "PullRecord") -> dict[str, Any]:
    """As `list --json` prints it."""
    return {
        "id": record.id,
        "title": record.title,
        "author": record.author,
        "branch": record.branch,
        "base": record.base,
        "status": record.status,
        "made": record.made,
        "remarks": len(record.discussion),
    }


def whole(view: "PullView", needed: int) -> dict[str, Any]:
    """As `show --json` prints it."""
    now = view.now
    return to_builtins(view.record) | {
        "status": view.record.status,
        "head": view.head,
        "commits": to_builtins(view.commits),
        "totals": None if view.totals is None else to_builtins(view.totals),
        "approved_by": [] if now is None else list(now.approved),
        "rejected_by": [] if now is None else [one.by for one in now.rejected],
        "void": [] if now is None else [{"by": one.by, "commit": one.commit} for one in now.void],
        "needed": needed,
        "missing": view.missing,
    }


def listing(found: "Sequence[PullRecord]", style: Style) -> list[str]:
    rows = [
        [
            one.id,
            style.tint(one.status, _STATUS[one.status]),
            spell_out(one.author, 30),
            f"{spell_out(one.branch, 40)} → {spell_out(one.base, 40)}",
            spell_out(one.made[:16].replace("T", " "), 16),
            spell_out(one.title, 60),
        ]
        for one in found
    ]
    return table(["id", "status", "by", "branch", "opened (UTC)", "title"], rows, style, left=6)


def story(view: "PullView", settings: "WriteSettings", style: Style, where: str = "") -> list[str]:
    record = view.record
    branches = f"{spell_out(record.branch)} → {spell_out(record.base)}"
    by = f"by {spell_out(record.author)}, {spell_out(record.made)}"
    return [
        f"{style.tint(f'#{record.id}', 'yellow')}  {style.tint(spell_out(record.title), 'bold')}",
        f"{style.tint(record.status, _STATUS[record.status])}  {branches}, {by}",
        *(f"  {line}" for line in spelled_lines(record.body, most=200) if record.body),
        *_commits(view, style),
        *_reviews(view, settings.reviews, style),
        *_checks(record.checks, style),
        *_discussion(record.discussion, style),
        *_next(record, view, where),
    ]


def diff_lines(text: str, style: Style) -> Iterator[str]:
    """A diff in which nothing hides, with colours where there are any."""
    for line in spelled_lines(text.removesuffix("\n")):
        yield tint_diff(line, style)


def _commits(view: "PullView", style: Style) -> Iterator[str]:
    if view.missing:
        yield style.tint(escaped(view.missing), "dim")  # a message of ours
    for one in view.commits:
        yield f"  {style.tint(one.hash[:_SHORT], 'yellow')}  {spell_out(one.subject, 100)}  ({_names(one.names)})"
    if view.totals is not None:
        told = view.totals
        yield style.tint(f"  {many(told.files, 'file')}, +{told.insertions} -{told.deletions}", "dim")


def _reviews(view: "PullView", needed: int, style: Style) -> Iterator[str]:
    if view.now is None:
        return
    now = view.now
    yield f"approvals: {len(now.approved)} of {needed}" + (f" ({_names(now.approved)})" if now.approved else "")
    for one in now.rejected:
        yield style.tint(f"rejected by {spell_out(one.by, 60)}", "red")
    for one in now.void:
        yield style.tint(f"void: {spell_out(one.by, 60)} approved {one.commit[:_SHORT]}, an earlier commit", "yellow")


def _checks(runs: "Sequence[CheckRun]", style: Style) -> Iterator[str]:
    if not runs:
        return
    last = runs[-1]
    word = style.tint("passed", "green") if last.ok else style.tint("failed", "red")
    ended = f"exit {last.exit}" if last.exit is not None else "ended"
    limits = f", limit: {', '.join(last.limits)}" if last.limits else ""
    yield f"checks: {word} ({ended}{limits}, {last.seconds:g} s, {spell_out(last.at)}; {many(len(runs), 'run')})"
    if not last.ok:
        tail = "\n".join(last.tail.split("\n")[-_MOST_TAIL:]).replace("\t", "    ")
        yield from (f"  | {line}" for line in spelled_lines(tail))


def _discussion(remarks: "Sequence[Remark]", style: Style) -> Iterator[str]:
    for one in remarks:
        who = spell_out(one.by, 60) + (" (a person)" if one.person else "")
        at = f" at {one.commit[:_SHORT]}" if one.kind in ("approve", "reject") else ""
        said = style.tint(f"{_SAID[one.kind]}{at}", _KIND.get(one.kind, "dim"))
        yield f"{style.tint(spell_out(one.at), 'dim')}  {who} {said}"
        yield from (f"    {line}" for line in spelled_lines(one.text, most=100) if one.text)


def _next(record: "PullRecord", view: "PullView", where: str) -> list[str]:
    if record.status != "open" or view.missing:
        return []
    return [
        f"See what it changes:  rightcall pr diff {record.id}{where}",
        f"Merge it:             rightcall pr merge {record.id}{where}",
    ]


def _names(names: Iterable[str]) -> str:
    return ", ".join(spell_out(name, 60) for name in names)
