"""The emergency stop (P-17): while it holds, every call is refused before anything else is asked."""

from rightcall.types_running import PAUSED, Decision, Facts, Request


def not_paused(_request: Request, facts: Facts) -> Decision | None:
    return None if facts.paused() is None else PAUSED
