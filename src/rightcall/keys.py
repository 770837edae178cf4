"""Under which names the shared tables keep what belongs to one request. The policies read there, the record writes."""

from hashlib import sha256

from msgspec.json import encode

from rightcall.types_running import UNKNOWN, Facts, Request


def same_scope(request: Request, changes: int) -> str:
    """Where identical calls are counted, as long as nothing changes. A state that could not be told is like no other,
    and says nothing here: what such calls gave is compared instead."""
    state = UNKNOWN if request.state.startswith(UNKNOWN) else request.state
    return f"same\0{request.caller}\0{request.digest}\0{state}\0{changes}"


def refused_scope(caller: str, digest: str) -> str:
    """Where refusals of the same call are counted."""
    return f"refused\0{caller}\0{digest}"


def binding(request: Request) -> str:
    """What an approval is bound to: who, exactly what, by which definition, in which state of what it touches, and
    in which conversation, run by which server. One without either has the key it had before they counted: what waits
    in an older store is redeemed by calls without a context alone."""
    bound: list[str | None] = ["call", request.caller, request.digest, request.definition, request.state]
    if request.context is not None or request.origin is not None:
        bound += [request.context, None if request.origin is None else request.origin.digest]
    return sha256(encode(bound)).hexdigest()


def definition_binding(tool: str, definition: str) -> str:
    """What an approval of a changed definition is bound to."""
    return sha256(encode(["definition", tool, definition])).hexdigest()


SERVER_CHANGED = "definition:server"
"""The rule that asks about a server which is not reached as it was: the policy decides so, the record asks about it."""


def server_key(server: str) -> str:
    """Under which the origin of a server is pinned, among the definitions of tools. No tool has a NUL in its name."""
    return f"server\0{server}"


def count_since(facts: Facts, scope: str, since: int, most: int) -> int:
    """How many starts in a scope were later than `since`; counting stops at `most`."""
    count = 0
    while count < most and (mark := facts.nth_last(scope, count + 1)) is not None and mark.at > since:
        count += 1
    return count
