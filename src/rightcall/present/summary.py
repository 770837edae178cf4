"""A result in one line, for the audit (design 002 §9)."""

from typing import Any

from rightcall.present.registry import view_of
from rightcall.text.escape import escaped, shown

LONGEST = 200


def summarise(tool: str, value: Any) -> str:
    """`Read 3 lines from src/app.py`; of other tools the beginning of the result as JSON. At most 200 characters.

    >>> summarise("my_tool", {"ok": True})
    '{"ok": true}'
    """
    view = view_of(tool)
    if view is not None:
        try:
            return escaped(view.summary(value), LONGEST)
        except Exception:  # noqa: BLE001  (a result of another form: see below)
            pass
    try:
        return shown(value, LONGEST)
    except Exception:  # noqa: BLE001  (a tool may return anything, also what raises at every touch)
        return f"a result of type {escaped(str(type(value).__name__), 40)}"
