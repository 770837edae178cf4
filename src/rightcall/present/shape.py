"""Results as a model should see them (design 002 §11): the summary first, grouped, counted."""

from typing import Any

from rightcall.present.registry import view_of


def shape(tool: str, value: Any) -> Any:
    """The result of a tool whose form is known, shaped; anything else is the same object.

    >>> shape("code/list", {"files": [{"path": "a.py", "name": "a.py", "size": 7}], "totalFiles": 1})
    {'summary': '1 files (1 total)', 'files': [{'path': 'a.py', 'size': 7}]}
    >>> shape("my_tool", [1, 2])
    [1, 2]
    """
    view = view_of(tool)
    if view is None:
        return value
    try:
        return view.shape(value)
    except Exception:  # noqa: BLE001  (an error, or another tool of that name: any form is possible, and none is wrong)
        return value
