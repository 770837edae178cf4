"""`code/search`: matches, grouped by file."""

from typing import Any

from rightcall.present.fields import Fields, number, own, records, text, with_truncated
from rightcall.present.view import Losses, View

_TOP = 5


def shape(result: Any) -> dict[str, Any]:
    result = own(result)
    by_file: dict[str, list[Fields]] = {}
    for match in records(result, "matches"):
        by_file.setdefault(text(match, "file"), []).append(_match(match))
    most = sorted(by_file.items(), key=lambda entry: -len(entry[1]))[:_TOP]
    shaped = {
        "summary": summary(result),
        "pattern": text(result, "pattern"),
        "matchesByFile": by_file,
        "topFiles": [{"file": file, "count": len(matches)} for file, matches in most],
    }
    return with_truncated(shaped, result)


def _match(match: Fields) -> Fields:
    """Without the places of the matches in the line: a model reads them in it, and they cost tokens."""
    return {key: value for key, value in match.items() if key != "highlights"} if "highlights" in match else match


def summary(result: Any) -> str:
    result = own(result)
    return f"Found {number(result, 'totalMatches')} matches in {number(result, 'filesSearched')} files"


def note(_cut: dict[str, Any], losses: Losses) -> str | None:
    matches, files = losses.get(("matchesByFile", "*")), losses.get(("matchesByFile",))
    if matches is None or files is None:
        return None
    lost = f"{matches.total - matches.kept} of {matches.total} matches left out"
    if matches.kept == matches.total:
        lost = "long matches are cut"
    unseen = f", {files.total - files.kept} of {files.total} files not shown" if files.kept < files.total else ""
    return f"{lost}{unseen}: use a narrower pattern, filePattern or paths"


VIEW = View("code/search", shape, summary, note, first=("summary", "pattern", "note"), spread="matchesByFile")
