"""The console in the browser: what happened, each call from what was written to what was read, and approvals to answer.
Needs the extra `serve`.

    socket ─▶ app (host, headers, origin, session: access) ─▶ pages ─▶ page (a look into the store, a template)
                                                          └▶ events (one stream: there is something new)

`people` is who may come in, `questions` lays out an approval, `pages` has a module for each screen.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.console.access import Address, Visitor
    from rightcall.console.app import Console, build_app, console_running, serve_console
    from rightcall.console.people import add_person, make_link, revoke_person
    from rightcall.console.questions import Question, lay_out
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "access": "Address Visitor",
            "app": "Console build_app console_running serve_console",
            "people": "add_person make_link revoke_person",
            "questions": "Question lay_out",
        },
    )

__all__ = [
    "Address", "Console", "Question", "Visitor", "add_person", "build_app", "console_running", "lay_out", "make_link",
    "revoke_person", "serve_console",
]  # fmt: skip
