"""The screens of the console, in the order of the navigation. To add one: a module here with its `PAGE`, a template of
the same name in `console/templates`, and its line below."""

from rightcall.console.pages import call, doctor, inbox, live, login, overview, playground, policy, tools

PAGES = (
    overview.PAGE, inbox.PAGE, live.PAGE, call.PAGE, playground.PAGE, tools.PAGE, policy.PAGE, doctor.PAGE, login.PAGE,
)  # fmt: skip

__all__ = ["PAGES"]
