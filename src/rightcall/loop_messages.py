"""The conversation: how a request begins it, how the model is told of its tools, how its calls are answered."""

from collections.abc import Mapping
from typing import Any, cast

from rightcall.errors import ConfigError
from rightcall.loop_replies import Turn, left_markers
from rightcall.present.messages import Outcome
from rightcall.recover.native_fields import dumped, is_many, text_of
from rightcall.types import Reading

Message = dict[str, Any]

_TOLD = ("unreadable", "too_many", "reasoning", "final")
"""What was left of a reply that a model can do better the next time."""

_UNREAD = "⚠️ Not run: {reasons}. Send the call again, complete and in the format you were given, or answer without it."


def opening(request: Any) -> list[Message]:
    """The messages that a request begins with.

    >>> opening("Where is the parser?")
    [{'role': 'user', 'content': 'Where is the parser?'}]
    """
    text = text_of(request)
    if text is not None:
        return [{"role": "user", "content": text}]
    if not is_many(request):
        kind = type(cast("object", request)).__name__
        raise ConfigError(f"`request` must be a text or a list of messages, not a {kind}")
    messages = [_message(given, at) for at, given in enumerate(request)]
    if not messages:
        raise ConfigError("`request` is an empty list: a conversation begins with a message")
    return messages


def _message(given: Any, at: int) -> Message:
    data: Any = dict(cast("Mapping[str, Any]", given)) if isinstance(given, Mapping) else dumped(given)
    if not isinstance(data, dict) or text_of(cast("Message", data).get("role")) is None:
        raise ConfigError(f"`request[{at}]` is no message; one is {{'role': 'user', 'content': '…'}}")
    return cast("Message", data)


def with_prompt(messages: list[Message], prompt: str) -> list[Message]:
    """The conversation as a model without native tools reads it: the tools stand in the system message, after what
    the user's own says.

    >>> with_prompt([{"role": "system", "content": "Be brief."}], "You have tools.")
    [{'role': 'system', 'content': 'Be brief.\\n\\nYou have tools.'}]
    """
    if not prompt:
        return messages
    first = messages[0]
    if first.get("role") not in ("system", "developer"):
        return [{"role": "system", "content": prompt}, *messages]
    said = first.get("content")
    if isinstance(said, list):
        content: Any = [*cast("list[Any]", said), {"type": "text", "text": prompt}]
    else:
        content = f"{said}\n\n{prompt}" if said else prompt
    return [{**first, "content": content}, *messages[1:]]


def unread(turn: Turn, reading: Reading) -> str:
    """What the model should be told of calls that could not even be found; empty when there is nothing to tell.

    An answer with prose is an answer: notes on odd parts of its message are no reason to ask again.
    """
    told = [note.message for note in reading.notes if note.code in _TOLD]
    lost = turn.misread or left_markers(turn, reading) or reading.calls or not reading.text.strip()
    return _UNREAD.format(reasons="; ".join(dict.fromkeys(told))) if told and lost else ""


def answers(turn: Turn, outcomes: list[Outcome], last: str) -> list[Message]:
    """The messages after the model's turn: a result for each call, in the shape of the call, then `last`."""
    native = {found.at for found in turn.natives}
    blocks = [_block(outcome) for at, outcome in enumerate(outcomes) if at not in native]
    text = "\n\n".join(part for part in (*blocks, last) if part)
    if not turn.natives:
        return [{"role": "user", "content": text}]
    results = [_result(outcomes[found.at], turn.shape, found.id) for found in turn.natives]
    if turn.shape == "anthropic":
        return [{"role": "user", "content": [*results, *([{"type": "text", "text": text}] if text else [])]}]
    if text:  # not as a message of its own: templates of some models take none of the user's after a tool's
        results[-1] = {**results[-1], "content": f"{results[-1]['content']}\n\n{text}"}
    return results


def _block(outcome: Outcome) -> str:
    return outcome.message("text") if outcome.tool else outcome.content  # what could not be read names no tool


def _result(outcome: Outcome, shape: Any, id: str) -> Message:
    key = "tool_use_id" if shape == "anthropic" else "tool_call_id"
    return {**outcome.message(shape), key: id}
