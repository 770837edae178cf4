"""Results as a model should see them (design 002 §11): the summary first, grouped, counted."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rightcall.base.json.marks import is_list, is_object
from rightcall.base.text import estimate
from rightcall.executor.present.fields import View
from rightcall.executor.present.trim import NOTHING, Fit, Measure, cut_text, look, weigh

if TYPE_CHECKING:
    from collections.abc import Mapping


# ── registry ──
# What is known of single tools: how a result is shaped, summed up and cut. They stand in `views`.


@cache
def views() -> Mapping[str, View]:
    """All of them, by tool."""
    from rightcall.executor.present.views import VIEWS  # late: a call that shows no result needs none of them

    return {view.tool: view for view in VIEWS}


def view_of(tool: str) -> View | None:
    """What is known of a tool; None for all others."""
    return views().get(tool)


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


# ── trim ──
# A shaped result as text for a model, within a budget of tokens; what is left out is said, with how to get it.

NOTE = 200
"""Characters that are kept free for the note; none is longer."""

_SURROGATES = re.compile("[\ud800-\udfff]")


class Trimmed(Struct, frozen=True):
    """`text` is all of it; `left_out` is the note at its end, empty where nothing is missing."""

    text: str
    tokens: int
    left_out: str = ""

    @property
    def body(self) -> str:
        """The text without the note."""
        return self.text[: -len(self.left_out)].removesuffix("\n") if self.left_out else self.text


def trim(value: Any, tokens: int, tool: str = "") -> Trimmed:
    """The value as text: text as it is, anything else as JSON. Never raises; bounded in time and memory.

    >>> trim({"city": "Bern", "days": [1, 2]}, 100).text.replace("\\n", " ")
    '{   "city": "Bern",   "days": [     1,     2   ] }'
    >>> print(trim("one line\\n" * 500, 60).left_out)
    [… about 1096 of 1125 tokens left out; ask for less at a time]
    """
    room = max(tokens, 0) * 4
    try:
        body, note = _trimmed(value, room, view_of(tool))
    except Exception as error:  # noqa: BLE001  (whatever a tool returned, and whoever changes it meanwhile)
        body, note = "", f"the result cannot be shown ({type(error).__name__})"
    if not body.isascii():
        body = _SURROGATES.sub("�", body)  # half a character, which no encoder takes
    if not note:
        return Trimmed(body, estimate(body))
    note = f"[… {note}]"
    text = f"{body}\n{note}" if body else note
    return Trimmed(text, estimate(text), note)


def _trimmed(value: Any, room: int, view: View | None) -> tuple[str, str]:
    """The text, and the note where something is missing."""
    less = max(room - NOTE, room // 2)
    seen = value if type(value) is str else look(value)
    if isinstance(seen, str):
        if len(seen) <= room:
            return seen, ""
        body = cut_text(seen, less, as_json=False)[0]
        return body, _lost(len(body), len(seen), exact=True)
    whole = Measure()
    if whole.size(value, 0, room) <= room:
        return whole.text(value), ""
    fit = Fit(view.first, view.spread) if view is not None else Fit()
    cut = fit.fit(value, 0, less)
    if cut is NOTHING:
        return "", _lost(0, *weigh(value))
    told = _note_losses(view, cut, fit)  # before the text is made: it may correct what the cut made wrong
    body = whole.text(cut)
    return body, told or _items_lost(cut, fit) or _lost(len(body), *weigh(value))


def _note_losses(view: View | None, cut: Any, fit: Fit) -> str | None:
    if view is None or not is_object(cut):
        return None
    try:
        return view.note(cut, fit.losses)
    except Exception:  # noqa: BLE001  (a result that has the tool's name and not its form)
        return None


def _items_lost(cut: Any, fit: Fit) -> str | None:
    loss = fit.losses.get(()) if is_list(cut) else None
    return loss and f"{loss.total - loss.kept} of {loss.total} items left out; ask for less at a time"


def _lost(shown: int, total: int, exact: bool) -> str:
    kept, all_of_it = -(-shown // 4), -(-total // 4)
    left = max(all_of_it - kept, 1)
    of = f"{'' if exact else 'more than '}{max(all_of_it, left)}"
    return f"about {left} of {of} tokens left out; ask for less at a time"
