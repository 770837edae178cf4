"""May this call run? Small policies, each a function of a frozen request and the shared tables, asked in this order.

The first denial or question ends it. Nothing runs that no policy has allowed: silence is a denial.
"""

from collections.abc import Callable

from rightcall.authorise.allowlist import allowed, denied
from rightcall.authorise.approval import approved
from rightcall.authorise.batches import by_itself
from rightcall.authorise.damage import truncated
from rightcall.authorise.definitions import unchanged
from rightcall.authorise.effects import dry_run
from rightcall.authorise.limits import within_limits
from rightcall.authorise.loops import not_repeated
from rightcall.authorise.paths import inside
from rightcall.authorise.pause import not_paused
from rightcall.authorise.quarantine import not_quarantined
from rightcall.types_running import Decision, Facts, Request

Policy = Callable[[Request, Facts], Decision | None]
"""Its word on a request, None when it has none. `allow` and `dry_run` let the next policy speak."""

POLICIES: tuple[tuple[str, Policy], ...] = (
    ("pause", not_paused),
    ("denied", denied),
    ("allowed", allowed),
    ("batch", by_itself),
    ("quarantine", not_quarantined),
    ("truncated", truncated),
    ("paths", inside),
    ("loops", not_repeated),
    ("limits", within_limits),
    ("definition", unchanged),
    ("effects", dry_run),
    ("approval", approved),
)

NOBODY_ALLOWED = Decision("deny", "default", "Nothing allows this call")


def decide(request: Request, facts: Facts) -> Decision:
    """The decision on a request, with the id of the rule that made it."""
    decision = NOBODY_ALLOWED
    for _, policy in POLICIES:
        word = policy(request, facts)
        if word is None:
            continue
        if word.kind in ("deny", "ask"):
            return word
        decision = word
    return decision
