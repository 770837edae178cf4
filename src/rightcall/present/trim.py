"""A shaped result as text for a model, within a budget of tokens; what is left out is said, with how to get it."""

import re
from typing import Any

from msgspec import Struct

from rightcall.parse.kinds import is_list, is_object
from rightcall.present.fit import NOTHING, Fit
from rightcall.present.lines import cut_text
from rightcall.present.look import look
from rightcall.present.measure import Measure, weigh
from rightcall.present.registry import view_of
from rightcall.present.view import View
from rightcall.text.tokens import estimate

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
    seen = look(value)
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
