"""`code/execute/python`, `code/execute/javascript` and `ai.execute`: how a program ended, what it printed and left."""

import signal
from typing import Any
from urllib.parse import quote

from rightcall.present.fields import Fields, many, number, own, records, text, texts
from rightcall.present.view import Losses, View
from rightcall.text.cut import cut_middle

_TOOLS = ("code/execute/python", "code/execute/javascript", "ai.execute")
_HIT = {
    "memory": "stopped: it used more memory than it may",
    "processes": "it reached the most processes that it may have",
    "scratch": "its scratch folder is full",
    "output": "stopped: it printed more than it may",
}
_PNG, _SVG = "image/png", "image/svg+xml"
_ERRORS = 6000
"""Characters of standard error that a model is shown."""


def shape(result: Any) -> dict[str, Any]:
    result = own(result)
    text(result, "tier")
    shaped: dict[str, Any] = {"summary": f"{_end(result)} in {_took(result)}"}
    if hint := result.get("hint"):
        shaped["hint"] = str(hint)
    limits = [_hit(name, result) for name in texts(result, "limits")]
    if limits:
        shaped["limits"] = limits
    printed = {"stdout": text(result, "stdout"), "stderr": _ends(text(result, "stderr"))}
    shaped |= {stream: told for stream, told in printed.items() if told}
    files = [_file(file) for file in records(result, "files")]
    if files:
        shaped["files"] = files
    left = [f"{text(one, 'path')} ({text(one, 'why')})" for one in records(result, "filesLeftOut")]
    return shaped | ({"filesLeftOut": left} if left else {})


def _ends(errors: str) -> str:
    """What went wrong stands last, and what led to it first."""
    if len(errors) <= _ERRORS:
        return errors
    head, tail = errors[: _ERRORS // 3], errors[-_ERRORS * 2 // 3 :]
    return cut_middle(errors, head, tail)


def _end(result: Fields) -> str:
    """`exit 0`, `ended by SIGKILL`."""
    if result["signal"] is None:
        return f"exit {number(result, 'exitCode')}"
    if result["exitCode"] is not None:
        raise LookupError("exitCode")
    ended = number(result, "signal")
    try:
        return f"ended by {signal.Signals(ended).name}"
    except ValueError:
        return f"ended by signal {ended}"


def _took(result: Fields) -> str:
    """`23 ms`, `4.0 s`."""
    found = number(result, "executionTime")
    return f"{found} ms" if found < 1000 else f"{found / 1000:.1f} s"


def _hit(name: str, result: Fields) -> str:
    return f"stopped after {_took(result)}" if name == "seconds" else _HIT.get(name, name)


def _file(file: Fields) -> Any:
    """An object with the content of a text or table, a line for anything else."""
    kind, path, size = text(file, "type"), text(file, "path"), _size(number(file, "size"))
    if kind == "image":
        left = ", too large to be shown" if file.get("data") is None and file.get("text") is None else ""
        return f"[image {path} {number(file, 'width')}×{number(file, 'height')}, {size}{left}]"
    if kind == "table":
        about = f"{many(number(file, 'rows'), 'row')}, {many(number(file, 'columns'), 'column')}"
        return {"path": path, "summary": about, "table": text(file, "text").split("\n")}
    if kind == "text":
        cut = {"truncated": True} if file.get("truncated") is True else {}
        return {"path": path, "content": text(file, "text")} | cut
    return f"[{text(file, 'mediaType')} {path}, {size}]"


def _size(size: int) -> str:
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def summary(result: Any) -> str:
    """`exit 0 in 23 ms, 2 files (namespaces)`; with the limits that it reached."""
    result = own(result)
    files = len(records(result, "files"))
    told = f", {many(files, 'file')}" if files else ""
    limits = texts(result, "limits")
    hit = f", limit reached: {', '.join(limits)}" if limits else ""
    return f"{_end(result)} in {_took(result)}{told}{hit} ({text(result, 'tier')})"


def note(_cut: dict[str, Any], losses: Losses) -> str | None:
    """Whose beginning alone is shown."""
    cut = [stream for stream in ("stdout", "stderr") if (stream,) in losses]
    cut += ["files"] if any(path[:1] == ("files",) for path in losses) else []
    return f"only the beginning of {' and '.join(cut)} is shown: print less, or what matters first" if cut else None


def images(result: Any) -> tuple[list[dict[str, Any]], Any]:
    """The pictures, as a client can show them; and the result without their data, which need not be there twice."""
    result = own(result)
    files = records(result, "files")
    blocks = [block for file in files if (block := _block(file)) is not None]
    rest = [
        {key: value for key, value in file.items() if key != "data" and (key != "text" or file.get("type") != "image")}
        for file in files
    ]
    return blocks, {**result, "files": rest}


def _block(file: Fields) -> dict[str, Any] | None:
    """A PNG is an image. An SVG is a resource: clients hand images on to models, of which none takes that kind."""
    data, drawn = file.get("data"), file.get("text")
    if file.get("type") != "image":
        return None
    if file.get("mediaType") == _PNG and isinstance(data, str):
        return {"type": "image", "data": data, "mimeType": _PNG}
    if file.get("mediaType") == _SVG and isinstance(drawn, str):
        uri = f"sandbox:///{quote(text(file, 'path'))}"
        return {"type": "resource", "resource": {"uri": uri, "mimeType": _SVG, "text": drawn}}
    return None


VIEWS = tuple(View(tool, shape, summary, note, first=("summary", "hint", "limits"), images=images) for tool in _TOOLS)
