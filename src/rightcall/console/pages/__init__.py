"""The screens of the console, in the order of the navigation. To add one: a module here with its `PAGE`, a template of
the same name in `console/templates`, and its line below."""

from rightcall.console.pages import (
    analytics,
    audit,
    call,
    changes,
    doctor,
    inbox,
    live,
    login,
    overview,
    playground,
    policy,
    requests,
    tools,
)

PAGES = tuple(
    one.PAGE
    for one in (
        overview, inbox, live, playground, tools, policy, changes, requests, analytics, audit, doctor, call, login,
    )
)  # fmt: skip

__all__ = ["PAGES"]
