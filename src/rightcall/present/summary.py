"""A result in one line, for the audit (design 002 §9)."""

from typing import Any

from rightcall.present.registry import view_of
from rightcall.text.escape import cut_end, escaped, render_json

LONGEST = 200
GENEROUS = 1000
"""Characters of a summary that is still looked through for secrets: a secret that was cut is not known for one."""


def short(line: str) -> str:
    """A summary as it is kept: at most 200 characters."""
    return cut_end(line, LONGEST)


def summarise(tool: str, value: Any, most: int = LONGEST) -> str:
    """`Read 3 lines from src/app.py`; of other tools the beginning of the result as JSON. At most 200 characters, or
    as many as are asked for.

    >>> summarise("my_tool", {"ok": True})
    '{"ok": true}'
    """
    view = view_of(tool)
    if view is not None:
        try:
            return escaped(view.summary(value), most)
        except Exception:  # noqa: BLE001  (a result of another form: see below)
            pass
    try:
        return render_json(value, most)
    except Exception:  # noqa: BLE001  (a tool may return anything, also what raises at every touch)
        return f"a result of type {escaped(str(type(value).__name__), 40)}"
