"""What a model is told of its call, in the shape its API wants."""

from typing import Any

from rightcall.types import MessageShape, Verdict


def refusal(verdict: Verdict, shape: MessageShape = "text") -> Any:
    """The refusal, or the warning of a call that runs all the same; None when there is nothing to tell.

    A refused call is answered in place of the tool, so the message carries the call's id. In mode `warn` the same
    shapes come without the mark of an error, since the tool will answer itself.
    """
    told = verdict.hint or _problems(verdict)
    if not told:
        return None
    call = verdict.call or verdict.found
    return answer(told, shape, call_id=(call.id if call is not None else None) or "", error=not verdict.ok)


def answer(text: str, shape: MessageShape, *, call_id: str, error: bool) -> Any:
    """What answers a call, in the shape an API wants; for a model that only reads text it is the text itself."""
    match shape:
        case "text":
            return text
        case "openai":
            return {"role": "tool", "tool_call_id": call_id, "content": text}
        case "anthropic":
            return {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": error}
        case "mcp":
            return {"content": [{"type": "text", "text": text}], "isError": error}
    raise ValueError(f"there is no message shape {shape!r}; known are openai, anthropic, mcp and text")


def _problems(verdict: Verdict) -> str:
    """A verdict made without a hint still says why."""
    if verdict.ok:
        return ""
    return " ".join(f"{problem.message}." for problem in verdict.problems) or "The call was refused."
