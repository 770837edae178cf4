"""`debug/logs`: log lines, the newest first."""

from typing import Any, cast

from rightcall.present.fields import own, with_truncated
from rightcall.present.view import Losses, View


def shape(result: Any) -> dict[str, Any]:
    lines = _lines(result)
    return with_truncated({"summary": f"{len(lines)} log lines, newest first", "lines": lines}, own(result))


def _lines(result: Any) -> list[str]:
    found = own(result).get("lines")
    if not isinstance(found, list) or not all(isinstance(line, str) for line in cast("list[Any]", found)):
        raise LookupError("lines")
    return cast("list[str]", found)


def summary(result: Any) -> str:
    return f"Showed {len(_lines(result))} log lines"


def note(_cut: dict[str, Any], losses: Losses) -> str | None:
    loss = losses.get(("lines",))
    if loss is None:
        return None
    return f"{loss.total - loss.kept} of {loss.total} lines left out, the oldest: use a smaller limit"


VIEW = View("debug/logs", shape, summary, note)
