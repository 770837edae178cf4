"""How results of one tool are shown: shaped, summed up and cut."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from rightcall.present.fit import Path
from rightcall.present.lines import Loss

Losses = Mapping[Path, Loss]
Shaper = Callable[[Any], Any]
Noter = Callable[[dict[str, Any], Losses], str | None]


class View(Struct, frozen=True):
    """How results of one tool are shown. Its functions may raise on a result that is not of the tool's own form: then
    the result is treated as any other."""

    tool: str
    shape: Shaper
    """The result (design 002 §5) as a model should see it."""
    summary: Callable[[Any], str]
    """The result in one line, for the audit."""
    note: Noter
    """What the cut, shaped result lacks and how to get it; it may correct the result. None: nothing special."""
    first: tuple[str, ...] = ()
    """Fields that are cut last."""
    spread: str | None = None
    """A field with an object of lists, each of which keeps something."""
    images: Callable[[Any], tuple[list[dict[str, Any]], Any]] | None = None
    """The pictures in the result, as blocks of content in MCP; and the result without them."""


def left_out(field: str, words: str) -> Noter:
    """A note for a list of which only the beginning is shown: how much of it is not, and these words."""

    def note(_cut: dict[str, Any], losses: Losses) -> str | None:
        loss = losses.get((field,))
        return None if loss is None else f"{loss.total - loss.kept} of {loss.total} {words}"

    return note
