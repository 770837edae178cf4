"""A call that the token limit cut off never does anything but read (R-08), even where its end could be completed."""

from rightcall.types_running import Decision, Facts, Request


def truncated(request: Request, _facts: Facts) -> Decision | None:
    if not (request.truncated and request.side_effects):
        return None
    reason = "The call was cut off before its end, and this tool does more than read"
    return Decision("deny", "truncated", reason, "Make the whole call again, in a shorter form if need be.")
