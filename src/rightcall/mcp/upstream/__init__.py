"""One server of the policy, as a client sees it: `upstream` starts it and keeps it open, `session` speaks with it in
either era of the protocol, `links` carries the bytes, to a process or over HTTP.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.mcp.upstream.links import HttpLink, ProcessLink
    from rightcall.mcp.upstream.session import Cause, Link, ServerGone, ServerSlow, Session
    from rightcall.mcp.upstream.upstream import Hello, Upstream, greet
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "links": "HttpLink ProcessLink",
            "session": "Cause Link ServerGone ServerSlow Session",
            "upstream": "Hello Upstream greet",
        },
    )

__all__ = [
    "Cause", "Hello", "HttpLink", "Link", "ProcessLink", "ServerGone", "ServerSlow", "Session", "Upstream", "greet",
]  # fmt: skip
