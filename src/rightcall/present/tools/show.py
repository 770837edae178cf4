"""`code/show`: one commit, and what it changed."""

import re
from typing import Any

from rightcall.present.changes import file_list, lost_changes
from rightcall.present.fields import Fields, changes, fields, own, records, text
from rightcall.present.registry import Losses, View

_HASH = re.compile(r"[0-9a-f]{4,64}")


def shape(result: Any) -> dict[str, Any]:
    commit = fields(own(result), "commit")
    shaped: dict[str, Any] = {
        "summary": _counts(commit),
        "commit": {
            "hash": text(commit, "hash"),
            "author": text(commit, "author"),
            "date": commit["date"],
            "message": text(commit, "message"),
        },
    }
    if commit.get("diff") is None:
        return shaped | {"files": commit.get("filesChanged", [])}
    return shaped | {"files": file_list(records(commit, "diff")), "fullDiff": commit["diff"]}


def _counts(commit: Fields) -> str:
    files = len(commit["filesChanged"] if "filesChanged" in commit else records(commit, "diff"))
    return f"{files} files" + (f": {changes(commit['stats'])}" if commit.get("stats") is not None else "")


def summary(result: Any) -> str:
    commit = fields(own(result), "commit")
    return f"Showed commit {text(commit, 'shortHash')}: {text(commit, 'message').partition(chr(10))[0]}"


def note(cut: dict[str, Any], losses: Losses) -> str | None:
    lost = lost_changes(losses, ("fullDiff",))
    commit = cut["commit"]["hash"][:12]
    known = _HASH.fullmatch(commit) is not None  # else it might say anything, and a note is no data
    refs = f"base={commit}^, compare={commit}" if known else "the commit and the one before it"
    return lost and f"{lost}: call code/diff with {refs} and the paths you need"


VIEW = View("code/show", shape, summary, note, first=("summary", "files"))
