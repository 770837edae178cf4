"""The tools whose results have a form of their own: a `View` for each, listed in `VIEWS`."""

import re
import signal
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any
from urllib.parse import quote

from rightcall.base.text import cut_middle
from rightcall.executor.trimming import (
    Fields,
    Loss,
    Losses,
    View,
    changes,
    fields,
    file_list,
    left_out,
    look,
    lost_changes,
    many,
    number,
    records,
    text,
    texts,
    with_truncated,
)

# ── blame ──
# `code/blame`: who wrote which lines. Neighbours of one commit become one block.


def shape_blame(result: Fields) -> dict[str, Any]:
    lines = records(result, "lines")
    numbers = [number(line, "lineNumber") for line in lines]
    runs = groupby(range(len(lines)), key=lambda at: (_hash(lines[at]), numbers[at] - at))
    blocks = [_block([lines[at] for at in run]) for _, run in runs]
    authors, commits = len({block["author"] for block in blocks}), len({block["commit"] for block in blocks})
    shaped: dict[str, Any] = {
        "path": text(result, "path"),
        "summary": f"{many(len(lines), 'line')} by {many(authors, 'author')} in {many(commits, 'commit')}",
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


def summary_blame(result: Fields) -> str:
    return f"Blamed {many(len(records(result, 'lines')), 'line')} of {text(result, 'path')}"


def note_blame(cut: dict[str, Any], losses: Losses) -> str | None:
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


BLAME = View("code/blame", shape_blame, summary_blame, note_blame)


# ── data list ──
# `data/list`: records of the audit's own tables.


def shape_data_list(result: Fields) -> dict[str, Any]:
    """Without the columns in which a record has nothing."""
    shown = [{column: value for column, value in record.items() if not _is_empty(value)} for record in _rows(result)]
    return with_truncated({"summary": _counted(result), "records": shown}, result)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], (), {})


def _rows(result: Fields) -> Any:
    return records(result, "records")


def _counted(result: Fields) -> str:
    return f"{len(_rows(result))} of {number(result, 'total')} records of {text(result, 'collection')}"


def summary_data_list(result: Fields) -> str:
    return f"Listed {_counted(result)}"


DATA_LIST = View(
    "data/list",
    shape_data_list,
    summary_data_list,
    left_out("records", "records left out: use a filter or a smaller limit"),
)


# ── diff ──
# `code/diff`: what changed, file by file.


def shape_diff(result: Fields) -> dict[str, Any]:
    totals = fields(result, "totalChanges")
    return {
        "summary": f"{many(number(totals, 'filesChanged'), 'file')}: {changes(totals)}",
        "files": file_list(records(result, "diffs")),
        "fullDiff": result,
    }


def summary_diff(result: Fields) -> str:
    totals = fields(result, "totalChanges")
    counts = f"{many(number(totals, 'filesChanged'), 'file')}: {changes(totals)}"
    return f"Compared {text(result, 'base')} with {text(result, 'compare')}: {counts}"


def note_diff(_cut: dict[str, Any], losses: Losses) -> str | None:
    lost = lost_changes(losses, ("fullDiff", "diffs"))
    return lost and f"{lost}: call code/diff with the paths you need, or with contextLines=0"


DIFF = View("code/diff", shape_diff, summary_diff, note_diff, first=("summary", "files"))


# ── execute ──
# `code/execute/python`, `code/execute/javascript` and `ai.execute`: how a program ended, what it printed and left.

_TOOLS = ("code/execute/python", "code/execute/javascript", "ai.execute")
_HIT = {
    "memory": "stopped: it used more memory than it may",
    "processes": "it reached the most processes that it may have",
    "scratch": "its scratch folder is full",
    "output": "stopped: it printed more than it may",
}
_PNG, _SVG = "image/png", "image/svg+xml"
_ERRORS = 6000
"""Characters of standard error that a model is shown."""


def shape_execution(result: Fields) -> dict[str, Any]:
    text(result, "tier")
    shaped: dict[str, Any] = {"summary": f"{_end(result)} in {_took(result)}"}
    if hint := result.get("hint"):
        shaped["hint"] = str(hint)
    limits = [_hit(name, result) for name in texts(result, "limits")]
    if limits:
        shaped["limits"] = limits
    printed = {"stdout": text(result, "stdout"), "stderr": _ends(text(result, "stderr"))}
    shaped |= {stream: told for stream, told in printed.items() if told}
    files = [_file(file) for file in records(result, "files")]
    if files:
        shaped["files"] = files
    left = [f"{text(one, 'path')} ({text(one, 'why')})" for one in records(result, "filesLeftOut")]
    return shaped | ({"filesLeftOut": left} if left else {})


def _ends(errors: str) -> str:
    """What went wrong stands last, and what led to it first."""
    if len(errors) <= _ERRORS:
        return errors
    head, tail = errors[: _ERRORS // 3], errors[-_ERRORS * 2 // 3 :]
    return cut_middle(errors, head, tail)


def _end(result: Fields) -> str:
    """`exit 0`, `ended by SIGKILL`."""
    if result["signal"] is None:
        return f"exit {number(result, 'exitCode')}"
    if result["exitCode"] is not None:
        raise LookupError("exitCode")
    ended = number(result, "signal")
    try:
        return f"ended by {signal.Signals(ended).name}"
    except ValueError:
        return f"ended by signal {ended}"


def _took(result: Fields) -> str:
    """`23 ms`, `4.0 s`."""
    found = number(result, "executionTime")
    return f"{found} ms" if found < 1000 else f"{found / 1000:.1f} s"


def _hit(name: str, result: Fields) -> str:
    return f"stopped after {_took(result)}" if name == "seconds" else _HIT.get(name, name)


def _file(file: Fields) -> Any:
    """An object with the content of a text or table, a line for anything else."""
    kind, path, size = text(file, "type"), text(file, "path"), _size(number(file, "size"))
    if kind == "image":
        left = ", too large to be shown" if file.get("data") is None and file.get("text") is None else ""
        return f"[image {path} {number(file, 'width')}×{number(file, 'height')}, {size}{left}]"
    if kind == "table":
        about = f"{many(number(file, 'rows'), 'row')}, {many(number(file, 'columns'), 'column')}"
        return {"path": path, "summary": about, "table": text(file, "text").split("\n")}
    if kind == "text":
        cut = {"truncated": True} if file.get("truncated") is True else {}
        return {"path": path, "content": text(file, "text")} | cut
    return f"[{text(file, 'mediaType')} {path}, {size}]"


def _size(size: int) -> str:
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def summary_execution(result: Fields) -> str:
    """`exit 0 in 23 ms, 2 files (namespaces)`; with the limits that it reached."""
    files = len(records(result, "files"))
    told = f", {many(files, 'file')}" if files else ""
    limits = texts(result, "limits")
    hit = f", limit reached: {', '.join(limits)}" if limits else ""
    return f"{_end(result)} in {_took(result)}{told}{hit} ({text(result, 'tier')})"


def note_execution(_cut: dict[str, Any], losses: Losses) -> str | None:
    """Whose beginning alone is shown."""
    cut = [stream for stream in ("stdout", "stderr") if (stream,) in losses]
    cut += ["files"] if any(path[:1] == ("files",) for path in losses) else []
    return f"only the beginning of {' and '.join(cut)} is shown: print less, or what matters first" if cut else None


def images(result: Fields) -> tuple[list[dict[str, Any]], Any]:
    """The pictures, as a client can show them; and the result without their data, which need not be there twice."""
    files = records(result, "files")
    blocks = [block for file in files if (block := _block_execute(file)) is not None]
    rest = [
        {key: value for key, value in file.items() if key != "data" and (key != "text" or file.get("type") != "image")}
        for file in files
    ]
    return blocks, {**result, "files": rest}


def _block_execute(file: Fields) -> dict[str, Any] | None:
    """A PNG is an image. An SVG is a resource: clients hand images on to models, of which none takes that kind."""
    data, drawn = file.get("data"), file.get("text")
    if file.get("type") != "image":
        return None
    if file.get("mediaType") == _PNG and isinstance(data, str):
        return {"type": "image", "data": data, "mimeType": _PNG}
    if file.get("mediaType") == _SVG and isinstance(drawn, str):
        uri = f"sandbox:///{quote(text(file, 'path'))}"
        return {"type": "resource", "resource": {"uri": uri, "mimeType": _SVG, "text": drawn}}
    return None


EXECUTIONS = tuple(
    View(tool, shape_execution, summary_execution, note_execution, first=("summary", "hint", "limits"), drawer=images)
    for tool in _TOOLS
)


# ── files ──
# `code/list`: files and folders.


def shape_files(result: Fields) -> dict[str, Any]:
    files = [_entry(entry) for entry in records(result, "files")]
    shaped = {"summary": f"{many(len(files), 'file')} ({number(result, 'totalFiles')} total)", "files": files}
    return with_truncated(shaped, result)


def _entry(entry: Fields) -> Fields:
    """Without the name, which the path ends with; and whether it is a folder only where it is one."""
    text(entry, "path")
    unsaid = {"name"} if entry.get("isDirectory") is True else {"name", "isDirectory"}
    return {key: value for key, value in entry.items() if key not in unsaid}


def summary_files(result: Fields) -> str:
    return f"Listed {len(records(result, 'files'))} of {many(number(result, 'totalFiles'), 'file')}"


FILES = View(
    "code/list", shape_files, summary_files, left_out("files", "files left out: use a narrower pattern or directory")
)


# ── log ──
# `code/log`: commits.

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| ?[+-]\d\d:?\d\d)?)?")


def shape_log(result: Fields) -> dict[str, Any]:
    commits = [_commit(commit) for commit in records(result, "commits")]
    return with_truncated({"summary": _counted_log(result), "commits": commits}, result)


def _counted_log(result: Fields) -> str:
    """How many there are in all, nobody has counted: only that there is another one."""
    shown = len(records(result, "commits"))
    return many(shown, "commit") + (", more exist" if number(result, "totalCommits") > shown else "")


def _commit(commit: Fields) -> dict[str, Any]:
    shaped: dict[str, Any] = {
        "commit": text(commit, "shortHash"),
        "author": text(commit, "author"),
        "date": commit["date"],
        "message": text(commit, "message"),
    }
    if commit.get("stats") is not None:
        shaped["changes"] = changes(commit["stats"])
    return shaped | {name: commit[name] for name in ("filesChanged", "moreFiles", "diff") if commit.get(name)}


def summary_log(result: Fields) -> str:
    return f"Showed {_counted_log(result)}"


def note_log(cut: dict[str, Any], losses: Losses) -> str | None:
    loss = losses.get(("commits",))
    if loss is None:
        return None
    if loss.kept == loss.total:
        return "the last commit is cut: call code/show for it"
    last = look(cut["commits"][-1].get("date")) if loss.kept else None
    dated = isinstance(last, str) and _DATE.fullmatch(last)  # else it might say anything, and a note is no data
    how = f"until={last}" if dated else "a narrower path or since"
    return f"{loss.total - loss.kept} of {loss.total} commits left out: call code/log with {how}"


LOG = View("code/log", shape_log, summary_log, note_log)


# ── logs ──
# `debug/logs`: log lines, the newest first.


def shape_logs(result: Fields) -> dict[str, Any]:
    lines = texts(result, "lines")
    return with_truncated({"summary": f"{len(lines)} log lines, newest first", "lines": lines}, result)


def summary_logs(result: Fields) -> str:
    return f"Showed {len(texts(result, 'lines'))} log lines"


LOGS = View(
    "debug/logs", shape_logs, summary_logs, left_out("lines", "lines left out, the oldest: use a smaller limit")
)


# ── read ──
# `code/read`: the lines of a file.

_PLAIN = ("utf-8", "utf8", "ascii", "us-ascii")


def shape_read(result: Fields) -> dict[str, Any]:
    about = fields(result, "metadata")
    shaped: dict[str, Any] = {
        "path": text(result, "path"),
        "summary": f"{many(number(about, 'linesReturned'), 'line')} ({number(about, 'totalLines')} total)",
        **({"content": text(result, "content")} if "lines" not in result else {"lines": result["lines"]}),
        "lineRange": f"{number(about, 'startLine')}-{number(about, 'endLine')}",
    }
    if result.get("structure") is not None:
        shaped["structure"] = result["structure"]
    encoding = about.get("encoding")
    if isinstance(encoding, str) and encoding.lower() not in _PLAIN:
        shaped["encoding"] = encoding  # what was decoded otherwise cannot be written back as it stands here
    return with_truncated(shaped, result)


def summary_read(result: Fields) -> str:
    return f"Read {many(number(fields(result, 'metadata'), 'linesReturned'), 'line')} from {text(result, 'path')}"


def note_read(cut: dict[str, Any], losses: Losses) -> str | None:
    """Where to read on. `lineRange` becomes that of the lines that are left."""
    loss = losses.get(("content",)) or _loss_of_lines(cut, losses)
    if loss is None or not (cut.get("content") or cut.get("lines")):
        return None
    start = int(text(cut, "lineRange").partition("-")[0])
    shown = max(loss.kept, 1)
    following = start + shown
    cut["lineRange"] = f"{start}-{following - 1}"
    rest = f"{loss.total - shown} of {loss.total} lines left out: call code/read with startLine={following}"
    if not loss.line:
        return rest
    shown_text = cut["content"] if "content" in cut else cut["lines"][0]
    inside = f"line {start} is cut after {len(shown_text) - 1} of {loss.line} characters"
    return f"{inside}; {rest}" if loss.total > 1 else f"{inside}: code/search finds what is further on in it"


def _loss_of_lines(cut: dict[str, Any], losses: Losses) -> Loss | None:
    """The same of a list of lines. One of which only the beginning is left is taken out, unless it is the first."""
    loss = losses.get(("lines",))
    lines: list[str] = cut.get("lines") or []
    inside = losses.get(("lines", len(lines) - 1))
    if loss is None or inside is None:
        return loss
    if len(lines) > 1:
        lines.pop()
        return Loss(loss.kept - 1, loss.total)
    return Loss(0, loss.total, inside.line)


READ = View("code/read", shape_read, summary_read, note_read)


# ── search ──
# `code/search`: matches, grouped by file.

_TOP = 5


def shape_search(result: Fields) -> dict[str, Any]:
    by_file: dict[str, list[Fields]] = {}
    for match in records(result, "matches"):
        by_file.setdefault(text(match, "file"), []).append(_match(match))
    most = sorted(by_file.items(), key=lambda entry: -len(entry[1]))[:_TOP]
    shaped = {
        "summary": summary_search(result),
        "pattern": text(result, "pattern"),
        "matchesByFile": by_file,
        "topFiles": [{"file": file, "count": len(matches)} for file, matches in most],
    }
    return with_truncated(shaped, result)


def _match(match: Fields) -> Fields:
    """Without the places of the matches in the line: a model reads them in it, and they cost tokens."""
    return {key: value for key, value in match.items() if key != "highlights"} if "highlights" in match else match


def summary_search(result: Fields) -> str:
    """The design counts the files that were searched, which reads as if all of them had matches: both are told."""
    found, listed = number(result, "totalMatches"), records(result, "matches")
    files = len({text(match, "file") for match in listed})
    at_least = "at least " if len(listed) < found else ""
    return (
        f"Found {many(found, 'match')} in {at_least}{many(files, 'file')} ({number(result, 'filesSearched')} searched)"
    )


def note_search(_cut: dict[str, Any], losses: Losses) -> str | None:
    matches, files = losses.get(("matchesByFile", "*")), losses.get(("matchesByFile",))
    if matches is None or files is None:
        return None
    lost = f"{matches.total - matches.kept} of {matches.total} matches left out"
    if matches.kept == matches.total:
        lost = "long matches are cut"
    unseen = f", {files.total - files.kept} of {files.total} files not shown" if files.kept < files.total else ""
    return f"{lost}{unseen}: use a narrower pattern, filePattern or paths"


SEARCH = View(
    "code/search",
    shape_search,
    summary_search,
    note_search,
    first=("summary", "pattern", "note"),
    spread="matchesByFile",
)


# ── show ──
# `code/show`: one commit, and what it changed.

_HASH = re.compile(r"[0-9a-f]{4,64}")


def shape_show(result: Fields) -> dict[str, Any]:
    commit = fields(result, "commit")
    shaped: dict[str, Any] = {
        "summary": _counts(commit),
        "commit": {
            "hash": text(commit, "hash"),
            "author": text(commit, "author"),
            "date": commit["date"],
            "message": text(commit, "message"),
        },
    }
    if commit.get("moreFiles"):
        shaped["moreFiles"] = number(commit, "moreFiles")
    if commit.get("diff") is None:
        shaped["files"] = commit.get("filesChanged", [])
    else:
        shaped |= {"files": file_list(records(commit, "diff")), "fullDiff": commit["diff"]}
    shaped |= {name: text(result, name) for name in ("path", "encoding", "content") if name in result}
    return with_truncated(shaped, result)


def _counts(commit: Fields) -> str:
    files = len(commit["filesChanged"] if "filesChanged" in commit else records(commit, "diff"))
    files += number(commit, "moreFiles") if commit.get("moreFiles") else 0
    return many(files, "file") + (f": {changes(commit['stats'])}" if commit.get("stats") is not None else "")


def summary_show(result: Fields) -> str:
    commit = fields(result, "commit")
    return f"Showed commit {text(commit, 'shortHash')}: {text(commit, 'message').partition(chr(10))[0]}"


def note_show(cut: dict[str, Any], losses: Losses) -> str | None:
    lost = lost_changes(losses, ("fullDiff",))
    commit = cut["commit"]["hash"][:12]
    known = _HASH.fullmatch(commit) is not None  # else it might say anything, and a note is no data
    refs = f"base={commit}^, compare={commit}" if known else "the commit and the one before it"
    lines = losses.get(("content",))
    rest = f"{lines.total - lines.kept} of {lines.total} lines of the file left out" if lines is not None else None
    how = lost and f"{lost}: call code/diff with {refs} and the paths you need"
    return f"{rest}; {how}" if rest and how else rest or how


SHOW = View("code/show", shape_show, summary_show, note_show, first=("summary", "files"))


# ── web ──
# `web/fetch` and `web/search`: what strangers wrote, and where.


def shape_page(result: Fields) -> dict[str, Any]:
    title, passed = text(result, "title"), texts(result, "redirects")
    return {
        "url": text(result, "url"),
        "summary": f"{_counted_web(result)} of {text(result, 'contentType')}, {_warning(result)}",
        **({"redirectedFrom": passed} if passed else {}),
        **({"title": title} if title else {}),
        "start": number(result, "start"),
        "content": text(result, "content"),
    } | ({"truncated": True, "next": _following(result)} if result.get("truncated") is True else {})


def _warning(result: Fields) -> str:
    if result["untrusted"] is not True:
        raise LookupError("untrusted")
    return "untrusted content from the web"


def _counted_web(result: Fields) -> str:
    return f"{len(text(result, 'content')):,} of {number(result, 'length'):,} characters"


def _following(result: Fields) -> str:
    return f"start={number(result, 'start') + len(text(result, 'content'))}"


def summarise_page(result: Fields) -> str:
    """Without the query, which may hold a key."""
    return f"Fetched {_counted_web(result)} from {text(result, 'url').partition('?')[0]}"


def note_page(cut: dict[str, Any], losses: Losses) -> str | None:
    """Where to read on."""
    loss = losses.get(("content",))
    if loss is None or not cut.get("content"):
        return None
    shown = len(cut["content"]) - (1 if loss.line else 0)
    following = number(cut, "start") + shown
    if "next" in cut:
        cut["next"] = f"start={following}"
    return f"the text goes on: call web/fetch with start={following}"


def shape_hits(result: Fields) -> dict[str, Any]:
    found = [dict(hit) for hit in records(result, "results")]
    summary = f"{many(len(found), 'result')}, {_warning(result)}"
    return {"query": text(result, "query"), "summary": summary, "results": found}


def summarise_hits(result: Fields) -> str:
    return f"Found {many(len(records(result, 'results')), 'result')}"


_FEWER_HITS = left_out("results", "results left out: use a smaller limit")
WEB = (
    View("web/fetch", shape_page, summarise_page, note_page, first=("url", "summary")),
    View("web/search", shape_hits, summarise_hits, _FEWER_HITS, first=("query", "summary")),
)


# ── rooms ──
# `room/read`: what other callers wrote.


def shape_room(result: Fields) -> dict[str, Any]:
    if result["untrusted"] is not True:
        raise LookupError("untrusted")
    told = [dict(message) for message in records(result, "messages")]
    shaped: dict[str, Any] = {
        "room": text(result, "room"),
        "summary": f"{many(len(told), 'message')}, untrusted content from other callers",
        "next": number(result, "next"),
        "messages": told,
    }
    return with_truncated(shaped, result)


def summarise_room(result: Fields) -> str:
    return f"Read {many(len(records(result, 'messages')), 'message')} of room {text(result, 'room')}"


def note_room(cut: dict[str, Any], losses: Losses) -> str | None:
    """Where to read on: `next` becomes the last message that is shown."""
    loss = losses.get(("messages",))
    if loss is None or not loss.kept:
        return None
    cut["next"] = number(cut["messages"][loss.kept - 1], "id")
    return f"{loss.total - loss.kept} of {loss.total} messages left out: call room/read with since={cut['next']}"


ROOM = View("room/read", shape_room, summarise_room, note_room, first=("room", "summary", "next"))


# ── write ──
# The tools that write: what was changed, and how it can be taken back.


def _saved(result: Fields) -> str:
    if "files" in result:  # on a branch
        return _edited(result)
    done = "Created" if result["created"] is True else "Saved" if text(result, "change") else "Left unchanged"
    return f"{done} {text(result, 'path')}, {number(result, 'bytes')} bytes"


def _branched(result: Fields) -> str:
    base = text(result, "base")
    return f"Created branch {text(result, 'branch')} at {text(result, 'commit')[:12]}" + (f" of {base}" if base else "")


def _edited(result: Fields) -> str:
    files = records(result, "files")
    first = f" ({text(files[0], 'path')})" if len(files) == 1 else ""
    branch = text(result, "branch")
    return f"Changed {many(len(files), 'file')}{first}" + (f" on branch {branch}" if branch else "")


def _committed(result: Fields) -> str:
    files = many(number(result, "filesChanged"), "file")
    return f"Committed {text(result, 'shortHash')} on {text(result, 'branch')}: {files}, {changes(result)}"


def _opened(result: Fields) -> str:
    about = f"{many(number(result, 'filesChanged'), 'file')}, {changes(result)}"
    return f"Opened pull request {text(result, 'id')}: {text(result, 'branch')} into {text(result, 'base')}, {about}"


def _reviewed(result: Fields) -> str:
    count = f"{number(result, 'approvals')} of {number(result, 'needed')} approvals"
    return f"Reviewed pull request {text(result, 'id')}: {text(result, 'decision')}, {count}"


def _merged(result: Fields) -> str:
    where = f"{text(result, 'branch')} into {text(result, 'base')} as {text(result, 'commit')[:12]}"
    return f"Merged pull request {text(result, 'id')}: {where} ({text(result, 'sandbox')})"


_CHANGED = {"change": str, "undo": str}
_COUNTED = {"filesChanged": int, "insertions": int, "deletions": int, **_CHANGED}
_EDITED = {"branch": str, "files": list, "diff": str, **_CHANGED}
_SAVED = {"path": str, "bytes": int, "created": bool, "diff": str, **_CHANGED}

_Form = tuple[Callable[[Fields], str], Mapping[str, type]]
_FORMS: Mapping[str, _Form] = {
    "file/save": (_saved, _SAVED),
    "code/create-branch": (
        _branched, {"branch": str, "base": str, "commit": str, "worktree": str, **_CHANGED},
    ),
    "code/create-test": (_edited, _EDITED),
    "code/edit": (_edited, _EDITED),
    "code/commit": (_committed, {"commit": str, "shortHash": str, "branch": str, **_COUNTED}),
    "code/pull-request": (
        _opened,
        {
            "id": str, "title": str, "branch": str, "base": str, "commits": int, "status": str, "uncommitted": list,
            **_COUNTED,
        },
    ),
    "code/review": (
        _reviewed,
        {"id": str, "decision": str, "commit": str, "status": str, "approvals": int, "needed": int, **_CHANGED},
    ),
    "code/merge": (
        _merged,
        {
            "id": str, "title": str, "branch": str, "base": str, "commit": str, "approvedBy": list, "checks": str,
            "sandbox": str, "checkout": bool, "status": str, **_COUNTED,
        },
    ),
}  # fmt: skip
"""How each is summed up, and the fields that its result has."""


def _require(result: Fields, form: Mapping[str, type]) -> None:
    """A result of the tool's own form. A file that is saved on a branch is an edit."""
    if form is _SAVED and "branch" in result:
        form = _EDITED
    for name, kind in form.items():
        value = result.get(name)
        if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
            raise LookupError(name)


def _view(tool: str, form: _Form) -> View:
    told, kinds = form

    def summary(result: Fields) -> str:
        _require(result, kinds)
        return told(result) + (f" [{result['change']}]" if result["change"] else "")

    def shape(result: Fields) -> dict[str, Any]:
        _require(result, kinds)
        return {"summary": told(result), **{key: value for key, value in result.items() if key != "success"}}

    def note(_cut: dict[str, Any], losses: Losses) -> str | None:
        return "the diff is shown in part: code/diff shows the branch" if ("diff",) in losses else None

    return View(tool, shape, summary, note, first=("summary", "change", "undo"))


WRITES = tuple(_view(tool, form) for tool, form in _FORMS.items())

VIEWS = (BLAME, DATA_LIST, DIFF, FILES, LOG, LOGS, READ, SEARCH, SHOW, *EXECUTIONS, *WEB, ROOM, *WRITES)
