"""How often: exact sliding windows over all callers, one caller, and one caller's use of one tool (P-02)."""

from collections.abc import Iterator

from rightcall.config_settings import Rights, Window
from rightcall.types_running import HOUR, MINUTE, SECOND, Decision, Facts, Request, Scope

_PERIODS = {"minute": MINUTE, "hour": HOUR, "burst": SECOND}
_WORDS = {"minute": "a minute", "hour": "an hour", "burst": "a second"}
_WHOM = {"all": "all callers", "caller": "this caller", "tool": "this tool"}


def scopes_of(rights: Rights, tool: str) -> tuple[Scope, ...]:
    """What a call of this tool counts towards. Where a limit is 0 nothing is counted."""
    counted = (
        ("all", "all", rights.all),
        (f"caller\0{rights.caller}", "caller", rights.window),
        (f"tool\0{rights.caller}\0{tool}", "tool", rights.tools.get(tool)),
    )
    return tuple(Scope(name, windows) for name, rule, window in counted if (windows := tuple(_windows(rule, window))))


def _windows(rule: str, window: Window | None) -> Iterator[tuple[int, int, str]]:
    if window is None:
        return
    for period, length in _PERIODS.items():
        calls: int = getattr(window, period)
        if calls:
            yield calls, length, f"limit:{rule}:{period}"


def within_limits(request: Request, facts: Facts) -> Decision | None:
    """Refused when any window is full; of several, the one that stays full the longest says when to try again."""
    worst: tuple[int, int, str] | None = None
    for scope in request.scopes:
        for calls, length, rule in scope.windows:
            mark = facts.nth_last(scope.name, calls)
            if mark is not None and (free := mark.at + length) > request.at and (worst is None or free > worst[0]):
                worst = (free, calls, rule)
    return None if worst is None else _full(*worst, request.at)


def _full(free: int, calls: int, rule: str, now: int) -> Decision:
    _, whom, period = rule.split(":")
    wait = (free - now) / 1e9
    reason = (
        "Rate limit exceeded. Please wait before making more tool calls. "
        f"(rate limit: {calls} {_WORDS[period]} for {_WHOM[whom]}; try again in {_seconds(wait)})"
    )
    return Decision("deny", rule, reason, f"Try again in {_seconds(wait)}.", retry_after=wait)


def _seconds(wait: float) -> str:
    return f"{wait:.1f} s" if wait < 10 else f"{wait:.0f} s"
