"""Tools that write or execute are rehearsed until the policy says otherwise (P-04, P-05)."""

from rightcall.types_running import Decision, Facts, Request


def dry_run(request: Request, _facts: Facts) -> Decision | None:
    return Decision("dry_run", "dry_run") if request.dry_run else None
