"""How results of one tool are shown: shaped, summed up and cut."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from rightcall.executor.present.trim import Loss, Path

Losses = Mapping[Path, Loss]
Fields = Mapping[str, Any]
Noter = Callable[[dict[str, Any], Losses], str | None]


class View(Struct, frozen=True):
    """How results of one tool are shown. Its functions may raise on a result that is not of the tool's own form: then
    the result is treated as any other."""

    tool: str
    shaper: Callable[[Fields], Any]
    summariser: Callable[[Fields], str]
    note: Noter
    """What the cut, shaped result lacks and how to get it; it may correct the result. None: nothing special."""
    first: tuple[str, ...] = ()
    """Fields that are cut last."""
    spread: str | None = None
    """A field with an object of lists, each of which keeps something."""
    drawer: Callable[[Fields], tuple[list[dict[str, Any]], Any]] | None = None

    def shape(self, result: Any) -> Any:
        """The result (design 002 §5) as a model should see it."""
        return self.shaper(own(result))

    def summary(self, result: Any) -> str:
        """The result in one line, for the audit."""
        return self.summariser(own(result))

    def images(self, result: Any) -> tuple[list[dict[str, Any]], Any]:
        """The pictures in the result, as blocks of content in MCP; and the result without them."""
        return ([], result) if self.drawer is None else self.drawer(own(result))


def left_out(field: str, words: str) -> Noter:
    """A note for a list of which only the beginning is shown: how much of it is not, and these words."""

    def note(_cut: dict[str, Any], losses: Losses) -> str | None:
        loss = losses.get((field,))
        return None if loss is None else f"{loss.total - loss.kept} of {loss.total} {words}"

    return note


# ── fields ──
# Reading fields of a result that may have any form. A field that is not as it should be raises LookupError.


def own(result: Any) -> Fields:
    """The result of a tool that did what it was asked; another one is none of ours."""
    found = _as(Mapping, result, "the result")
    if found.get("success") is False:
        raise LookupError("the tool did not succeed")
    return cast("Fields", found)


def text(fields: Fields, name: str) -> str:
    return _as(str, fields.get(name), name)


def number(fields: Fields, name: str) -> int:
    found = fields.get(name)
    if isinstance(found, bool):
        raise LookupError(name)
    return _as(int, found, name)


def fields(fields: Fields, name: str) -> Fields:
    return _as(Mapping, fields.get(name), name)


def records(fields: Fields, name: str) -> Sequence[Fields]:
    found = _as(Sequence, fields.get(name), name)
    if isinstance(found, str | bytes) or not all(isinstance(item, Mapping) for item in found):
        raise LookupError(name)
    return cast("Sequence[Fields]", found)


def texts(fields: Fields, name: str) -> list[str]:
    found = _as(list | tuple, fields.get(name), name)
    if not all(isinstance(item, str) for item in found):
        raise LookupError(name)
    return list(found)


def many(count: int, word: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def changes(stats: Fields) -> str:
    """`+3/-1`, as the design writes counts of lines."""
    return f"+{number(stats, 'insertions')}/-{number(stats, 'deletions')}"


def with_truncated(shaped: dict[str, Any], result: Fields) -> dict[str, Any]:
    """A tool that stopped at its own limit says so, and what it has to say about it."""
    if result.get("truncated") is True:
        shaped = shaped | {"truncated": True}
    return shaped | {"note": result["note"]} if isinstance(result.get("note"), str) else shaped


def _as(kind: Any, value: Any, name: str) -> Any:
    if not isinstance(value, kind):
        raise LookupError(name)
    return value


# ── changes ──
# What diffs have in common, whichever tool shows them.


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
