"""What diffs have in common, whichever tool shows them."""

from collections.abc import Sequence
from typing import Any

from rightcall.present.fields import Fields, changes, fields, records, text
from rightcall.present.fit import Path
from rightcall.present.view import Losses


def file_list(diffs: Sequence[Fields]) -> list[dict[str, Any]]:
    """The files of a diff, each with its counts (design 002 §11)."""
    return [
        {
            "path": text(diff, "path"),
            "status": text(diff, "status"),
            "changes": changes(fields(diff, "stats")),
            "hunks": len(records(diff, "hunks")),
        }
        for diff in diffs
    ]


def lost_changes(losses: Losses, diffs: Path) -> str | None:
    """`the changes of 3 of 5 files left out in whole or in part`, with what else is missing; None: nothing of both.

    `diffs` is where the list of diffs stands. Its last ones are cut first.
    """
    loss, files = losses.get(diffs), losses.get(("files",))
    lost: list[str] = []
    if loss is not None:
        cut = {path[len(diffs)] for path in losses if path[: len(diffs)] == diffs and len(path) > len(diffs)}
        lost.append(
            f"the changes of {loss.total - loss.kept + len(cut)} of {loss.total} files left out in whole or in part"
        )
    if files is not None:
        lost.append(f"{files.total - files.kept} of {files.total} files not listed")
    return ", ".join(lost) or None
