"""A model that makes the same call over and over, while nothing changes, is told so (P-07)."""

from rightcall.keys import same_scope
from rightcall.types_running import MINUTE, Decision, Facts, Request


def not_repeated(request: Request, facts: Facts) -> Decision | None:
    times = request.rights.repeats
    if not times or request.repeatable:
        return None
    first = facts.nth_last(same_scope(request, facts.changes()), times - 1)
    if first is None or first.at <= request.at - MINUTE:
        return None
    reason = f"This is the same call for the {_ordinal(times)} time within a minute, and nothing has changed since"
    hint = f"Use the result of call {first.call}, or call with other arguments."
    wait = (first.at + MINUTE - request.at) / 1e9
    return Decision("deny", "loop", reason, hint, retry_after=wait, earlier=first.call)


def _ordinal(number: int) -> str:
    return {2: "second", 3: "third", 4: "fourth", 5: "fifth"}.get(number) or f"{number}th"
