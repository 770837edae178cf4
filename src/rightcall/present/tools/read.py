"""`code/read`: the lines of a file."""

from typing import Any

from rightcall.present.fields import fields, number, own, text, with_truncated
from rightcall.present.registry import Losses, View

_PLAIN = ("utf-8", "utf8", "ascii", "us-ascii")


def shape(result: Any) -> dict[str, Any]:
    result = own(result)
    about = fields(result, "metadata")
    shaped: dict[str, Any] = {
        "path": text(result, "path"),
        "summary": f"{number(about, 'linesReturned')} lines ({number(about, 'totalLines')} total)",
        "content": text(result, "content"),
        "lineRange": f"{number(about, 'startLine')}-{number(about, 'endLine')}",
    }
    if result.get("structure") is not None:
        shaped["structure"] = result["structure"]
    encoding = about.get("encoding")
    if isinstance(encoding, str) and encoding.lower() not in _PLAIN:
        shaped["encoding"] = encoding  # what was decoded otherwise cannot be written back as it stands here
    return with_truncated(shaped, result)


def summary(result: Any) -> str:
    result = own(result)
    return f"Read {number(fields(result, 'metadata'), 'linesReturned')} lines from {text(result, 'path')}"


def note(cut: dict[str, Any], losses: Losses) -> str | None:
    """Where to read on. `lineRange` becomes that of the lines that are left."""
    loss = losses.get(("content",))
    if loss is None or not cut.get("content"):
        return None
    start = int(text(cut, "lineRange").partition("-")[0])
    shown = max(loss.kept, 1)
    following = start + shown
    cut["lineRange"] = f"{start}-{following - 1}"
    rest = f"{loss.total - shown} of {loss.total} lines left out: call code/read with startLine={following}"
    if not loss.line:
        return rest
    inside = f"line {start} is cut after {len(cut['content']) - 1} of {loss.line} characters"
    return f"{inside}; {rest}" if loss.total > 1 else f"{inside}: code/search finds what is further on in it"


VIEW = View("code/read", shape, summary, note)
