"""`debug/logs`: log lines, the newest first."""

from typing import Any

from rightcall.present.fields import own, texts, with_truncated
from rightcall.present.view import View, left_out


def shape(result: Any) -> dict[str, Any]:
    lines = texts(own(result), "lines")
    return with_truncated({"summary": f"{len(lines)} log lines, newest first", "lines": lines}, own(result))


def summary(result: Any) -> str:
    return f"Showed {len(texts(own(result), 'lines'))} log lines"


VIEW = View("debug/logs", shape, summary, left_out("lines", "lines left out, the oldest: use a smaller limit"))
