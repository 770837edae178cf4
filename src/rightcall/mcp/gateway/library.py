"""Resources, prompts and completion through the gateway: joined lists, and each request to the server it is about.

A prompt is called as tools are (`server_prompt`, unless the server has another prefix). A resource keeps its address;
where two servers have the same, that of the first one in the policy file counts. An address that no list names goes to
the servers one after the other, those whose templates fit first.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from msgspec import Raw, json

from rightcall.mcp.gateway.forward import (
    MARK,
    Continuations,
    Errand,
    Kept,
    Pending,
    binding_of,
    forward,
    question_result,
    responses_of,
)
from rightcall.mcp.gateway.names import Table
from rightcall.mcp.messages import (
    INVALID_PARAMS,
    SERVER_GONE,
    Answer,
    Refused,
    complete,
    failed_result,
    fields,
    mapping,
    success,
    value,
)
from rightcall.mcp.serving import Exchange
from rightcall.mcp.upstream.session import ServerGone, ServerSlow, Session
from rightcall.mcp.upstream.upstream import Hello, Upstream, listed

LISTING: Final = 3.0
"""Seconds for one server's list; one that takes longer is left out."""
RESTING: Final = 60.0
"""Seconds for which a server that did not list in time is not asked again."""
_NO_SUCH: Final = -32002
_EXPRESSION: Final = re.compile(r"\{[^{}]*\}")
_LONGEST_URI: Final = 4_000
_KEYS: Final = {
    key.casefold(): key
    for key in ("name", "uri", "arguments", "ref", "argument", "context", "_meta", "inputResponses", "requestState")
}


class Servers(Protocol):
    @property
    def hello(self) -> Hello: ...

    def upstream(self, name: str) -> Upstream | None: ...

    def with_capability(self, capability: str) -> list[Upstream]: ...


class Library:
    """What servers have beside tools."""

    def __init__(self, servers: Servers, kept: Continuations) -> None:
        self._servers = servers
        self._kept = kept
        self._prompts = Table()
        self._homes: dict[str, str] = {}
        """Which server an address is of."""
        self._templates: dict[str, list[str]] = {}
        self._silent: dict[tuple[str, str], tuple[Session, float]] = {}
        """Which list of which server did not come, and until when it is not asked for again."""

    def name_by(self, prefixes: Mapping[str, str]) -> None:
        """What stands before the prompts of some servers, as before their tools."""
        self._prompts.name_by(prefixes)

    # ── lists ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def resources(self) -> list[Raw]:
        found: list[Raw] = []
        homes: dict[str, str] = {}
        for name, items in await self._lists("resources", "resources/list", "resources"):
            for item in items:
                uri = value(fields(item).get("uri", b""))
                if isinstance(uri, str) and uri not in homes:
                    homes[uri] = name
                    found.append(item)
        self._homes = homes
        return found

    async def templates(self) -> list[Raw]:
        found: list[Raw] = []
        for name, items in await self._lists("resources", "resources/templates/list", "resourceTemplates"):
            uris = [value(fields(item).get("uriTemplate", b"")) for item in items]
            self._templates[name] = [uri for uri in uris if isinstance(uri, str)]
            found += items
        return found

    async def prompts(self) -> list[Raw]:
        for name, items in await self._lists("prompts", "prompts/list", "prompts"):
            self._prompts.put(name, items)
        return self._prompts.listed(lambda _: True, [one.name for one in self._servers.with_capability("prompts")])

    async def _lists(self, capability: str, method: str, key: str) -> list[tuple[str, list[Raw]]]:
        """Of all servers at once; one that does not answer leaves the others as they are."""
        upstreams = self._servers.with_capability(capability)

        async def one(upstream: Upstream) -> tuple[str, list[Raw]]:
            session = upstream.session
            if session is None or self._is_silent(upstream.name, method, session):
                return upstream.name, []
            try:
                return upstream.name, await listed(session, self._servers.hello, method, key, LISTING)
            except ServerSlow:
                until = asyncio.get_running_loop().time() + RESTING
                self._silent[upstream.name, method] = session, until
                return upstream.name, []
            except ServerGone:
                return upstream.name, []

        return await asyncio.gather(*map(one, upstreams))

    def _is_silent(self, server: str, method: str, session: Session) -> bool:
        known = self._silent.get((server, method))
        return known is not None and known[0] is session and asyncio.get_running_loop().time() < known[1]

    # ── one of them ──────────────────────────────────────────────────────────────────────────────────────────────

    async def get_prompt(self, exchange: Exchange) -> Answer:
        upstream, name = await self._home_of_prompt(value(exchange.params.get("name", b"")), "params.name")
        return await self._put(exchange, upstream, {"name": name}, name)

    async def _home_of_prompt(self, wanted: Any, where: str) -> tuple[Upstream, str]:
        """Its server, and what that calls it. Raises Refused, unless one server has all prompts under its own names: it
        says itself which it does not have, as it would without us."""
        if self._prompts.find(wanted) is None:
            await self.prompts()
        entry = self._prompts.find(wanted)
        upstream = self._servers.upstream(entry.space) if entry is not None else None
        if entry is not None and upstream is not None:
            return upstream, entry.name
        able = self._servers.with_capability("prompts")
        if len(able) == 1 and able[0].server.prefix == "" and isinstance(wanted, str):
            return able[0], wanted
        raise Refused(INVALID_PARAMS, f"{where}: there is no such prompt; prompts/list names those there are")

    async def read(self, exchange: Exchange) -> Answer:
        """The words of the likeliest server, where none has it: a client reads what it would read without us."""
        uri = uri_of(exchange)
        refused: list[Answer] = []
        lost: list[Answer] = []
        for upstream in self._begun_with(exchange) or await self.homes_of(uri):
            try:
                answer = await self._put(exchange, upstream, {}, uri)
            except (ServerGone, ServerSlow) as gone:
                lost.append(failed_result(SERVER_GONE, f"the server {upstream.name}: {gone}"))
                continue
            if answer.result is not None:
                return answer
            refused.append(answer)
        code = INVALID_PARAMS if exchange.peer.stateless else _NO_SUCH
        return next(iter(refused + lost), failed_result(code, "Resource not found", {"uri": uri}))

    async def complete(self, exchange: Exchange) -> Answer:
        ref = mapping(value(exchange.params.get("ref", b"")))
        if ref.get("type") == "ref/prompt":
            upstream, name = await self._home_of_prompt(ref.get("name"), "params.ref.name")
            return await self._put(exchange, upstream, {"ref": {**ref, "name": name}}, None)
        uri = ref.get("uri")
        for upstream in self._begun_with(exchange) or await self.homes_of(uri if isinstance(uri, str) else ""):
            answer = await self._put(exchange, upstream, {}, None)
            if answer.result is not None:
                return answer
        return success(complete({"completion": {"values": []}}, exchange.peer))

    async def homes_of(self, uri: str) -> list[Upstream]:
        """The servers that may have a resource, the likeliest first."""
        if uri not in self._homes:
            await asyncio.gather(self.resources(), self.templates())
        able = self._servers.with_capability("resources")
        home = self._homes.get(uri)
        if home is not None:
            return [one for one in able if one.name == home]
        fitting = [one for one in able if any(fits(uri, each) for each in self._templates.get(one.name, ()))]
        return fitting or sorted(able, key=lambda one: not self._has_scheme(one.name, uri.partition(":")[0]))

    def _has_scheme(self, server: str, scheme: str) -> bool:
        known = [uri for uri, home in self._homes.items() if home == server]
        return any(one.startswith(f"{scheme}:") for one in (*known, *self._templates.get(server, ())))

    def _begun_with(self, exchange: Exchange) -> list[Upstream]:
        """The server of a request that goes on."""
        state = value(exchange.params.get("requestState", b""))
        began = self._kept.upstream_of(state, exchange.caller) if isinstance(state, str) else None
        return [began] if began is not None and self._servers.upstream(began.name) is began else []

    async def _put(
        self, exchange: Exchange, upstream: Upstream, changed: Mapping[str, Any], name: str | None
    ) -> Answer:
        ours = ("_meta", "inputResponses", "requestState")
        if any(_KEYS.get(key.casefold(), key) != key for key in exchange.params):
            raise Refused(
                INVALID_PARAMS, "a key of params is almost one of the protocol's, which servers may take for it"
            )
        params: dict[str, Any] = {**{key: raw for key, raw in exchange.params.items() if key not in ours}, **changed}
        state = value(exchange.params.get("requestState", b""))
        if isinstance(state, str):
            binding = binding_of(exchange.caller, exchange.method, exchange.params)
            kept = self._kept.take(state, binding, exchange.caller)
            if kept is None or not state.startswith(MARK) or kept.upstream is not upstream:
                raise Refused(INVALID_PARAMS, "requestState is used up, too old, or of another request")
            responses = mapping(value(exchange.params.get("inputResponses", b"")))
            if kept.pending is not None:
                kept.pending.answer(responses, exchange)
                return await self._until_asked(kept.pending, upstream, exchange)
            params |= {"inputResponses": responses} if responses else {}
            params |= {"requestState": kept.state} if kept.state is not None else {}
        else:
            params |= responses_of(exchange)
        errand = Errand(upstream, exchange.method, params, name)
        if not exchange.peer.stateless:
            return await forward(errand, exchange, self._kept)
        pending = Pending(exchange, lambda: forward(errand, exchange, self._kept))
        return await self._until_asked(pending, upstream, exchange)

    async def _until_asked(self, pending: Pending, upstream: Upstream, exchange: Exchange) -> Answer:
        found = await pending.result_or_questions()
        if isinstance(found, Answer):
            return found
        binding = binding_of(exchange.caller, exchange.method, exchange.params)
        kept = Kept(binding, None, None, pending, pending.cancel, upstream)
        return question_result(found, self._kept.keep(kept, exchange.caller))

    def forget(self, server: str) -> None:
        self._prompts.drop(server)
        self._templates.pop(server, None)
        self._homes = {uri: home for uri, home in self._homes.items() if home != server}


def uri_of(exchange: Exchange) -> str:
    uri = value(exchange.params.get("uri", b""))
    if not isinstance(uri, str):
        raise Refused(INVALID_PARAMS, "params.uri must be the address of a resource")
    return uri


def list_result(key: str, items: Iterable[Raw], exchange: Exchange) -> Answer:
    fresh = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if exchange.peer.stateless else {}
    return Answer(Raw(json.encode({key: list(items), **fresh})))


def fits(uri: str, template: str) -> bool:
    """Whether an address may be one of a template's; in doubt it may.

    >>> fits("file:///a/b.txt", "file:///{+path}"), fits("db://x/1", "db://y/{id}")
    (True, False)
    """
    if uri == template:
        return True
    if len(uri) > _LONGEST_URI or len(template) > _LONGEST_URI:
        return False
    pieces = _EXPRESSION.split(template)
    if not uri.startswith(pieces[0]) or not uri.endswith(pieces[-1]):
        return False
    at = 0
    for piece in pieces:
        found = uri.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True
