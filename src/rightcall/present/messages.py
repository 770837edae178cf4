"""What a model is told of an outcome: the result as content, and the content as a message (O-02)."""

from itertools import count
from typing import Any, NamedTuple, get_args

from msgspec import Struct

from rightcall.present.look import Pairs, look
from rightcall.present.marks import mark_as_data, neutral
from rightcall.present.measure import Measure
from rightcall.present.registry import view_of
from rightcall.present.shape import shape as shaped
from rightcall.present.summary import GENEROUS, summarise
from rightcall.present.trim import Trimmed, trim
from rightcall.text.escape import escaped
from rightcall.text.messages import answer
from rightcall.text.tokens import estimate
from rightcall.types import Call, MessageShape, Repair, StrategyName
from rightcall.types_running import RENAMED, Decision, Metadata, Status

_MARK = 50
"""Tokens that a mark takes, about."""

_LARGEST = 1_000_000
"""Characters of a result that is handed on as data."""

_LONGEST_ERROR = 4000
_TRIES = 4
"""Guesses at how much room a text with escapes needs, before each is half of the last."""


class Content(NamedTuple):
    """A result for a model: its text, about how many tokens that is, and a line for the audit, which is still to be
    cut (`summary.short`)."""

    text: str
    tokens: int
    summary: str


class Outcome(Struct, frozen=True):
    """What came of one call. `content` is what the model should read, `result` the data; `decision` says why."""

    ok: bool
    tool: str
    content: str
    result: Any = None
    error: str | None = None
    hint: str | None = None
    decision: Decision | None = None
    status: Status = "success"
    call: Call | None = None
    repairs: tuple[Repair, ...] = ()
    summary: str = ""
    metadata: Metadata = Metadata()

    @property
    def normalization_strategy(self) -> StrategyName:
        """The strategy that made the arguments fit: `direct` where they did already, `failed` where nothing helped.
        That a tool was called by another of its names does not count."""
        unfit = self.decision is not None and self.decision.rule in ("validation", "unknown_tool")
        used: list[StrategyName] = [one.strategy for one in self.repairs if one.rule not in RENAMED]
        return "failed" if unfit else max(["direct", *used], key=get_args(StrategyName).index)

    def message(self, shape: MessageShape = "text") -> Any:
        """The answer to the call in the shape a model's API wants."""
        return message(self, shape)


def content(tool: str, value: Any, tokens: int, cut: str | None = None) -> Content:
    """A result shaped, trimmed to its budget and marked as data. `cut`: what the tool itself left out.

    >>> content("ping", "pong", 4000).summary
    '"pong"'
    """
    text = _within(tool, shaped(tool, value), max(tokens, 0), _note(cut))
    return Content(text, estimate(text), summarise(tool, value, GENEROUS))


def _note(cut: str | None) -> str:
    return f"\n[… {neutral(escaped(cut, 200))}]" if cut else ""


def _within(tool: str, shown: Any, tokens: int, note: str) -> str:
    """The block, with the notes behind it: they are ours, and no data. Never more than so many tokens."""
    beside = _MARK + estimate(note)
    room = max(tokens - beside, tokens // 2)
    trimmed = trim(shown, room, tool)
    for tried in count():
        text = _marked(tool, trimmed) + note
        taken = estimate(text)
        if taken <= tokens:
            return text
        if room <= 0 or not trimmed.body:
            break
        # rare: a text full of escapes, which the trimming does not know of
        less = room * max(tokens - beside, 0) // max(taken - beside, 1) if tried < _TRIES else room // 2
        room = min(less, room - 1)
        trimmed = trim(shown, room, tool)
    return f"{trimmed.left_out}{note}".lstrip()[: tokens * 4].rstrip()


def _marked(tool: str, trimmed: Trimmed) -> str:
    block = mark_as_data(tool, trimmed.body)
    return f"{block}\n{trimmed.left_out}" if trimmed.left_out else block


def error_content(error: str, hint: str | None = None, tool: str | None = None) -> str:
    """An error for a model (design 002 §10), and what to do about it. `tool`: the error is that tool's own text, and is
    marked as data; without it the error is one of ours.

    >>> print(error_content("Path 'x' is not readable or does not exist", "Look for it with code/list."))
    Error: Path 'x' is not readable or does not exist
    Look for it with code/list.
    """
    told = trim(error, _LONGEST_ERROR // 4).text
    told = f"Error: {neutral(told)}" if tool is None else f"Error: the tool failed.\n{mark_as_data(tool, told)}"
    return f"{told}\n{neutral(hint)}" if hint and hint not in error else told


def message(outcome: Outcome, shape: MessageShape = "text") -> Any:
    """The outcome as the message that answers its call.

    A model that only reads text gets a block under `[Tool: name]`; MCP gets the result as data too, if it is an
    object of no more than a million characters.
    """
    text = outcome.content
    if not text and not outcome.ok:
        text = error_content(outcome.error or "the call failed", outcome.hint)
    if shape == "text":
        text = f"[Tool: {neutral(escaped(outcome.tool, 200))}]\n{text}"
    call_id = (outcome.call.id if outcome.call is not None else None) or ""
    told = answer(text, shape, call_id=call_id, error=not outcome.ok)
    if shape == "mcp" and outcome.ok:
        pictures, data = _pictures(outcome.tool, outcome.result)
        told["content"] += pictures
        told |= _structured(data)
    elif shape == "anthropic" and outcome.ok and (shown := _anthropic_images(outcome)):
        told["content"] = [{"type": "text", "text": text}, *shown]
    return told


def _anthropic_images(outcome: Outcome) -> list[dict[str, Any]]:
    """The pictures of a kind that these models take."""
    pictures, _ = _pictures(outcome.tool, outcome.result)
    return [
        {"type": "image", "source": {"type": "base64", "media_type": one["mimeType"], "data": one["data"]}}
        for one in pictures
        if one["type"] == "image"
    ]


def _pictures(tool: str, result: Any) -> tuple[list[dict[str, Any]], Any]:
    """What a client can show, and the rest of the result."""
    view = view_of(tool)
    if view is None or view.images is None:
        return [], result
    try:
        return view.images(result)
    except Exception:  # noqa: BLE001  (a dry run, or another tool of that name)
        return [], result


def _structured(result: Any) -> dict[str, Any]:
    """MCP clients may read an object as data, beside the text."""
    measure = Measure()
    if not isinstance(look(result), Pairs) or measure.size(result, 0, _LARGEST) > _LARGEST:
        return {}
    return {"structuredContent": measure.whole(result, 0)}
