"""`code/show`: one commit, and what it changed."""

import re
from typing import Any

from rightcall.present.changes import file_list, lost_changes
from rightcall.present.fields import Fields, changes, fields, number, own, records, text, with_truncated
from rightcall.present.view import Losses, View

_HASH = re.compile(r"[0-9a-f]{4,64}")


def shape(result: Any) -> dict[str, Any]:
    result = own(result)
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
    return f"{files} files" + (f": {changes(commit['stats'])}" if commit.get("stats") is not None else "")


def summary(result: Any) -> str:
    commit = fields(own(result), "commit")
    return f"Showed commit {text(commit, 'shortHash')}: {text(commit, 'message').partition(chr(10))[0]}"


def note(cut: dict[str, Any], losses: Losses) -> str | None:
    lost = lost_changes(losses, ("fullDiff",))
    commit = cut["commit"]["hash"][:12]
    known = _HASH.fullmatch(commit) is not None  # else it might say anything, and a note is no data
    refs = f"base={commit}^, compare={commit}" if known else "the commit and the one before it"
    lines = losses.get(("content",))
    rest = f"{lines.total - lines.kept} of {lines.total} lines of the file left out" if lines is not None else None
    how = lost and f"{lost}: call code/diff with {refs} and the paths you need"
    return f"{rest}; {how}" if rest and how else rest or how


VIEW = View("code/show", shape, summary, note, first=("summary", "files"))
