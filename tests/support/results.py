"""Results of the code tools as design 002 §5 describes them, of any size."""

from typing import Any

from hypothesis import strategies as st

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)
"""Any value that JSON can hold."""


def read_result(lines: int = 3, first: int = 1, total: int | None = None, line: str = "x = {}") -> dict[str, Any]:
    last = first + lines - 1
    return {
        "success": True,
        "path": "src/app.py",
        "content": "\n".join(line.format(number) for number in range(first, last + 1)),
        "metadata": {
            "totalLines": total or last,
            "linesReturned": lines,
            "startLine": first,
            "endLine": last,
            "lastModified": "2025-11-16T10:00:00Z",
            "size": 100,
            "encoding": "utf-8",
        },
    }


def match(file: str, line: int, text: str = "log()") -> dict[str, Any]:
    return {
        "file": file,
        "line": line,
        "column": 1,
        "matchedText": text,
        "contextBefore": ["before"],
        "contextAfter": ["after"],
    }


def search_result(counts: dict[str, int], text: str = "log()") -> dict[str, Any]:
    """So many matches in each file."""
    matches = [match(file, line, text) for file, count in counts.items() for line in range(1, count + 1)]
    return {
        "success": True,
        "pattern": "log",
        "matches": matches,
        "totalMatches": len(matches),
        "filesSearched": 40,
        "truncated": False,
    }


def file_diff(path: str, lines: int = 1) -> dict[str, Any]:
    added = [{"type": "addition", "lineNumber": number, "content": f"x = {number}"} for number in range(1, lines + 1)]
    return {
        "path": path,
        "status": "modified",
        "hunks": [{"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": lines, "lines": added}],
        "stats": {"insertions": lines, "deletions": 0},
    }


def diff_result(lines: dict[str, int]) -> dict[str, Any]:
    """So many added lines in each file."""
    return {
        "success": True,
        "base": "main",
        "compare": "HEAD",
        "diffs": [file_diff(path, count) for path, count in lines.items()],
        "totalChanges": {"filesChanged": len(lines), "insertions": sum(lines.values()), "deletions": 0},
        "truncated": False,
    }


def list_result(files: int, total: int | None = None) -> dict[str, Any]:
    entries = [
        {"path": f"src/f{n}.py", "name": f"f{n}.py", "size": n, "lastModified": "2025-11-16", "isDirectory": False}
        for n in range(files)
    ]
    return {"success": True, "files": entries, "totalFiles": total or files, "truncated": total is not None}


def commit(day: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "hash": f"{day:040x}",
        "shortHash": f"{day:07x}",
        "author": "Joel",
        "email": "joel@example.org",
        "date": f"2025-11-{day:02}T10:00:00Z",
        "message": "Fix the clock\n\nIt was wrong.",
        "filesChanged": ["src/app.py"],
        "stats": {"insertions": 3, "deletions": 1},
        **fields,
    }


def log_result(commits: int, total: int = 143) -> dict[str, Any]:
    return {
        "success": True,
        "commits": [commit(28 - n) for n in range(commits)],
        "totalCommits": total,
        "truncated": commits < total,
    }


def blame_result(runs: dict[int, int], first: int = 1) -> dict[str, Any]:
    """So many lines each, from the commits of these days."""
    days = [day for day, count in runs.items() for _ in range(count)]
    lines = [{"lineNumber": n, "content": f"x = {n}", "commit": commit(day)} for n, day in enumerate(days, first)]
    return {"success": True, "path": "src/app.py", "lines": lines}


def records_result(count: int, total: int) -> dict[str, Any]:
    records = [{"id": 900 - n, "caller": "ada", "tool": f"code/read {n}", "error": None} for n in range(count)]
    return {"success": True, "collection": "calls", "records": records, "total": total, "truncated": count < total}


def logs_result(count: int) -> dict[str, Any]:
    lines = [f"2026-01-01T12:00:00.000Z #{900 - n} ada code/read success 1.0 ms" for n in range(count)]
    return {"success": True, "lines": lines, "truncated": True}


def ran_result(lines: int = 0, **fields: Any) -> dict[str, Any]:
    """Of a program that printed so many lines."""
    return {
        "success": True,
        "exitCode": 0,
        "signal": None,
        "stdout": "".join(f"line {n}\n" for n in range(lines)),
        "stderr": "",
        "files": [],
        "filesLeftOut": [],
        "limits": [],
        "tier": "namespaces",
        "executionTime": 23,
        "truncated": False,
        **fields,
    }


_CHANGED = {"success": True, "change": "c-7f3a9b2e", "undo": "rightcall undo c-7f3a9b2e"}
_COUNTS = {"filesChanged": 2, "insertions": 9, "deletions": 1, **_CHANGED}


def edited_result(lines: int = 300) -> dict[str, Any]:
    files = [{"path": "src/app.py", "status": "modified", "insertions": lines, "deletions": 0}]
    return {"branch": "fix", "files": files, "diff": "\n".join(f"+x = {n}" for n in range(lines)), **_CHANGED}


WRITTEN: dict[str, dict[str, Any]] = {
    "file/save": {
        "path": "experimental/a.md", "bytes": 900, "created": True, "diff": "\n".join(f"+{n}" for n in range(900)),
        **_CHANGED,
    },
    "code/create-branch": {"branch": "fix", "base": "main", "commit": "0" * 40, "worktree": "/w" * 900, **_CHANGED},
    "code/create-test": edited_result(),
    "code/edit": edited_result(),
    "code/commit": {"commit": "0" * 40, "shortHash": "0" * 7, "branch": "fix", **_COUNTS},
    "code/pull-request": {
        "id": "7", "title": "Fix " * 900, "branch": "fix", "base": "main", "commits": 1, "status": "open",
        "uncommitted": [], **_COUNTS,
    },
    "code/review": {
        "id": "7", "decision": "approve", "commit": "0" * 900, "status": "open", "approvals": 1, "needed": 2,
        **_CHANGED,
    },
    "code/merge": {
        "id": "7", "title": "Fix " * 900, "branch": "fix", "base": "main", "commit": "0" * 40, "approvedBy": ["ada"],
        "checks": "passed", "sandbox": "namespaces", "checkout": True, "status": "merged",
        **_COUNTS,
    },
}  # fmt: skip


def page_result(lines: int) -> dict[str, Any]:
    content = "\n".join(f"line {number} of a page" for number in range(lines))
    return {
        "success": True, "url": "https://example.org/page", "redirects": ["https://example.org/"],
        "contentType": "text/html", "title": "A page", "content": content, "start": 100, "length": len(content) + 500,
        "truncated": True, "untrusted": True,
    }  # fmt: skip


def hits_result(count: int) -> dict[str, Any]:
    hits = [{"title": f"Page {n}", "url": f"https://example.org/{n}", "snippet": "words " * 30} for n in range(count)]
    return {"success": True, "query": "words", "results": hits, "untrusted": True}


def room_result(count: int) -> dict[str, Any]:
    told = [
        {
            "id": 3 * at,
            "timestamp": "2026-01-01T12:00:00.000Z",
            "from": "grok",
            "kind": "finding",
            "text": f"Found {at}.",
        }
        for at in range(1, count + 1)
    ]
    return {
        "success": True, "room": "debug-session", "messages": told, "next": 3 * count, "truncated": False,
        "untrusted": True,
    }  # fmt: skip


RESULTS: dict[str, dict[str, Any]] = {
    "code/read": read_result(200, 11, 900),
    "code/search": search_result({f"src/f{n}.py": n for n in range(1, 9)}),
    "code/diff": diff_result({f"src/f{n}.py": 3 * n for n in range(1, 6)}),
    "code/list": list_result(60, 900),
    "code/log": log_result(20),
    "code/blame": blame_result({1: 30, 2: 5, 3: 40}, 11),
    "code/show": {"success": True, "commit": commit(3, diff=[file_diff(f"src/f{n}.py", 9) for n in range(4)])},
    "data/list": records_result(60, 900),
    "debug/logs": logs_result(60),
    "code/execute/python": ran_result(900),
    "code/execute/javascript": ran_result(900),
    "ai.execute": ran_result(900),
    "web/fetch": page_result(900),
    "web/search": hits_result(20),
    "room/read": room_result(40),
    **WRITTEN,
}
"""One of each, too long for a small budget."""
