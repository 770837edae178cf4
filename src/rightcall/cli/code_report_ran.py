"""What a program has printed and left, for people."""

from collections.abc import Iterator
from typing import Any

from rightcall.cli.code_report_text import Fields, lines_of, safe
from rightcall.cli.terminal import Style
from rightcall.execute.sandbox.charts import LIBRARY
from rightcall.present.tools.execute import shape, summary


def ran(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    shaped = shape(result)
    yield from lines_of(result["stdout"])
    yield from (style.tint(line, "yellow") for line in lines_of(shaped.get("stderr", "")))
    for file in shaped.get("files", ()):
        yield from _file(file, style)
    yield from (style.tint(f"left out: {safe(line)}", "dim") for line in shaped.get("filesLeftOut", ()))
    yield from (style.tint(safe(line), "red") for line in shaped.get("limits", ()))
    if "hint" in shaped:
        yield style.tint(f"{LIBRARY} is not available in the sandbox: pip install 'rightcall[charts]'", "yellow")
    yield style.tint(safe(summary(result)), "dim")


def _file(file: Any, style: Style) -> Iterator[str]:
    if isinstance(file, str):
        yield style.tint(safe(file), "cyan")
        return
    about = f", {file['summary']}" if "summary" in file else ""
    yield style.tint(f"[{safe(file['path'])}{about}]", "cyan")
    lines = map(safe, file["table"]) if "table" in file else lines_of(file["content"])
    yield from (f"  {line}" for line in lines)


def more(_result: Fields) -> str:
    return "not all of it is here: print less, or write fewer and smaller files"
