"""What is known of one request when it is over: for the counts, the audit and the log."""

from __future__ import annotations

from msgspec import Struct

from rightcall.proxy.settle import Did


class Facts(Struct):
    """Filled in while the request runs. Nothing of its headers, and no key, is ever in here."""

    wire: str
    """The API, or `passed` for paths that are none of a model's."""
    provider: str
    model: str = ""
    caller: str = ""
    stream: bool = False
    status: int = 0
    seconds: float = 0.0
    did: list[Did] = []
    retries: int = 0
    taught: bool = False
    observe: bool = False
    fault: str = ""
    """In one word, what was wrong with the upstream."""
