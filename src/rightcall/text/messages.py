"""What a model is told of a verdict, in the shape its API wants."""

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
    call_id = (call.id if call is not None else None) or ""
    match shape:
        case "text":
            return told
        case "openai":
            return {"role": "tool", "tool_call_id": call_id, "content": told}
        case "anthropic":
            return {"type": "tool_result", "tool_use_id": call_id, "content": told, "is_error": not verdict.ok}
        case "mcp":
            return {"content": [{"type": "text", "text": told}], "isError": not verdict.ok}
    raise ValueError(f"there is no message shape {shape!r}; known are openai, anthropic, mcp and text")


def _problems(verdict: Verdict) -> str:
    """A verdict made without a hint still says why."""
    if verdict.ok:
        return ""
    return " ".join(f"{problem.message}." for problem in verdict.problems) or "The call was refused."
