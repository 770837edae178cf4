"""The screens of the console, in the order of the navigation. To add one: a module here with its `PAGE`, a template of
the same name in `console/templates`, and its line below."""

from rightcall.console.pages import analytics, audit, call, changes, inbox, live, login, overview, requests

PAGES = (
    overview.PAGE,
    inbox.PAGE,
    live.PAGE,
    changes.PAGE,
    requests.PAGE,
    audit.PAGE,
    analytics.PAGE,
    call.PAGE,
    login.PAGE,
)

__all__ = ["PAGES"]
