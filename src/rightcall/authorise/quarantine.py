"""A call that was refused again and again is not even looked at for a while (P-11)."""

from rightcall.keys import refused_scope
from rightcall.types_running import HOUR, Decision, Facts, Request


def not_quarantined(request: Request, facts: Facts) -> Decision | None:
    return quarantine(facts, request.caller, request.digest, request.rights.quarantine, request.at)


def quarantine(facts: Facts, caller: str, digest: str, refusals: int, now: int) -> Decision | None:
    """The refusal of a call that is in quarantine; it ends an hour after the first refusal that counts for it."""
    if not refusals:
        return None
    first = facts.nth_last(refused_scope(caller, digest), refusals)
    if first is None or first.at <= now - HOUR:
        return None
    reason = f"This call was refused {refusals} times within an hour and is now in quarantine"
    hint = "Do not make this call again. Do something else, or tell the user that it is not possible."
    return Decision("deny", "quarantine", reason, hint, retry_after=(first.at + HOUR - now) / 1e9)
