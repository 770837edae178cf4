"""HTTP/1.1 as a client, with the standard library alone.

    addresses ─▶ client (connections) ─▶ answers (one answer, read without I/O, or the fault in it)

`addresses` also reads headers, event streams and JSON lines, for whoever serves or forwards them.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.base.http.answers import (
        Address,
        Answer,
        Fault,
        Headers,
        HttpError,
        JsonLines,
        ServeLimits,
        ServerSentEvents,
        TooLong,
        header_of,
        is_loopback,
        payload,
        read_address,
        sse,
    )
    from rightcall.base.http.client import Client, Connection, HttpLimits, Incoming, Request
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "answers": "Address Answer Fault Headers HttpError JsonLines ServeLimits ServerSentEvents TooLong "
            "header_of is_loopback payload read_address sse",
            "client": "Client Connection HttpLimits Incoming Request",
        },
    )

__all__ = [
    "Address", "Answer", "Client", "Connection", "Fault", "Headers", "HttpError", "HttpLimits", "Incoming",
    "JsonLines", "Request", "ServeLimits", "ServerSentEvents", "TooLong", "header_of", "is_loopback", "payload",
    "read_address", "sse",
]  # fmt: skip
