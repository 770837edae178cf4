"""`code/read`: the lines of a file."""

from typing import Any

from rightcall.present.fields import fields, number, own, text, with_truncated
from rightcall.present.lines import Loss
from rightcall.present.view import Losses, View

_PLAIN = ("utf-8", "utf8", "ascii", "us-ascii")


def shape(result: Any) -> dict[str, Any]:
    result = own(result)
    about = fields(result, "metadata")
    shaped: dict[str, Any] = {
        "path": text(result, "path"),
        "summary": f"{number(about, 'linesReturned')} lines ({number(about, 'totalLines')} total)",
        **({"content": text(result, "content")} if "lines" not in result else {"lines": result["lines"]}),
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


VIEW = View("code/read", shape, summary, note)
