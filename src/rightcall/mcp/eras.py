"""The two eras of the protocol. Until 2025-11-25 a client shakes hands once (`initialize`) and both sides remember;
from 2026-07-28 nothing is remembered: each request says in its `_meta` which revision it speaks and what the client
can do, and a server that needs an answer returns its question as the result, for the client to ask again with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from rightcall.mcp.messages import mapping

Era = Literal["old", "new"]

HANDSHAKE: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions that begin with `initialize`, oldest first."""
STATELESS: Final = ("2026-07-28",)
"""Revisions whose requests each carry an envelope."""

PREFIX: Final = "io.modelcontextprotocol/"
VERSION_KEY: Final = PREFIX + "protocolVersion"
CLIENT_KEY: Final = PREFIX + "clientInfo"
CAPABILITIES_KEY: Final = PREFIX + "clientCapabilities"
MOST_ROUNDS: Final = 16
"""How often a server may ask for one call (2026-07-28); what follows is judged as a call of its own."""
SUBSCRIPTION_KEY: Final = PREFIX + "subscriptionId"

_ENVELOPE: Final = (VERSION_KEY, CLIENT_KEY, CAPABILITIES_KEY)
_FORM_SINCE: Final = "2025-11-25"
"""The first revision in which a question says that it is a form."""


class Peer(Struct, frozen=True):
    """Who asks: what the client told of itself, once or in this request."""

    version: str = HANDSHAKE[0]
    stateless: bool = False
    can_be_asked: bool = False
    """Whether it can show a person a form and bring back what they say."""
    name: str = ""
    """What the client calls itself. It is not proven."""

    @property
    def names_forms(self) -> bool:
        return self.stateless or self.version >= _FORM_SINCE


def peer_of_handshake(params: Mapping[str, Any]) -> Peer:
    """The client, as it presents itself in `initialize`."""
    return _peer(params.get("protocolVersion"), params.get("capabilities"), params.get("clientInfo"), stateless=False)


def peer_of_request(meta: Mapping[str, Any], known: Peer) -> Peer:
    """The client, as this request presents it; as it is `known` where the request says nothing."""
    version = meta.get(VERSION_KEY)
    if not isinstance(version, str):
        return known
    return _peer(version, meta.get(CAPABILITIES_KEY), meta.get(CLIENT_KEY), stateless=True)


def _peer(version: Any, capabilities: Any, client: Any, *, stateless: bool) -> Peer:
    name = mapping(client).get("name")
    return Peer(
        version=version if isinstance(version, str) else HANDSHAKE[0],
        stateless=stateless,
        can_be_asked=_shows_forms(mapping(capabilities).get("elicitation")),
        name=name if isinstance(name, str) else "",
    )


def _shows_forms(elicitation: Any) -> bool:
    """A capability without any mode is one for forms: the first revision that had it knew no other."""
    return isinstance(elicitation, dict) and (not elicitation or isinstance(mapping(elicitation).get("form"), dict))


def envelope(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What a request of our own needs beside those of this client: in its era, in its name, without its tokens. Empty
    where requests have none."""
    if not isinstance(meta.get(VERSION_KEY), str):
        return {}
    return {"_meta": {key: meta[key] for key in _ENVELOPE if key in meta}}


def complete(result: Mapping[str, Any], peer: Peer) -> dict[str, Any]:
    """A result as this client wants it."""
    return {**result, "resultType": "complete"} if peer.stateless else dict(result)


def refusal(text: str, peer: Peer) -> dict[str, Any]:
    """The result of a call that does not run: the model reads why."""
    return complete({"content": [{"type": "text", "text": text}], "isError": True}, peer)


def input_required(requests: Mapping[str, Any], state: str) -> dict[str, Any]:
    """The result of a call that waits for an answer (stateless): the client asks, then calls again with both."""
    return {"resultType": "input_required", "inputRequests": requests, "requestState": state}


def is_input_required(result: Mapping[str, Any]) -> bool:
    return result.get("resultType") == "input_required"
