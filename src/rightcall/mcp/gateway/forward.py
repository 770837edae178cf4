"""One request of a client, put to one server and back, whatever era each of them speaks.

    client  server
    old     old      the server's questions are put to the client while the call runs
    old     new      a result that asks is put to the client, and the server is asked again with the answers
    new     new      a result that asks goes to the client, with a state of ours in the place of the server's
    new     old      a question ends the client's request with a result that asks; the server's call waits

Between peers of one era a result passes as the bytes it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, Final

from msgspec import Raw, Struct, json

from rightcall.executor.passage import Passage
from rightcall.mcp.gateway.news import LOG_LEVEL
from rightcall.mcp.messages import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    PREFIX,
    SERVER_GONE,
    VERSION_KEY,
    Answer,
    Era,
    Refused,
    failed_result,
    fields,
    header_value,
    input_required,
    is_input_required,
    mapping,
    success,
    value,
)
from rightcall.mcp.serving import Exchange
from rightcall.mcp.upstream.session import ASKING, Agreed, Session, SessionExpired
from rightcall.mcp.upstream.upstream import Upstream, headers_for

# ── continuations ──
# Calls that wait for an answer of their client's, between one request of the client and the next (2026-07-28).
#
# Such a client is asked by the result of its call, and calls again with the answers and with a `requestState` of ours.
# That is only a name for what stands here: nobody can make one up, it counts once, for the very same call of the same
# caller, and for a limited time. A server's own state never leaves the gateway.

MARK: Final = "rightcall-gateway."
MOST: Final = 1_000
MOST_OF_ONE: Final = 100
"""Of one caller: its oldest makes room for its newest, never for another's."""
_OURS: Final = ("_meta", "inputResponses", "requestState")


class Kept(Struct, frozen=True):
    """One call that will go on: with a server of the new era by its own `state`; with one of the old era by `pending`,
    which still waits for it."""

    binding: str
    passage: Passage | None = None
    state: str | None = None
    pending: Pending | None = None
    forget: Callable[[], None] = lambda: None
    """What to do when the client never comes back."""
    upstream: Upstream | None = None
    """The server it goes on with: the one that it began with."""
    digest: str = ""
    """Of the policy under which it was let through."""
    rounds: int = 0
    """How often its server has asked since it was judged."""


class Continuations:
    """Bounded in number, for each caller, and in time."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Kept, asyncio.TimerHandle, str]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, kept: Kept, caller: str) -> str:
        """The state to send with the question. Raises Refused where there is no room."""
        own = [token for token, one in self._kept.items() if one[2] == caller]
        if len(own) >= MOST_OF_ONE:
            self._drop(own[0])
        if len(self._kept) >= MOST:
            kept.forget()
            raise Refused(SERVER_GONE, "too many calls wait for answers of their clients already")
        token = MARK + token_urlsafe(24)
        timer = asyncio.get_running_loop().call_later(ASKING, self._drop, token)
        self._kept[token] = kept, timer, caller
        return token

    def upstream_of(self, token: str, caller: str) -> Upstream | None:
        """The server that a call goes on with."""
        found = self._of(token, caller)
        return found[0].upstream if found is not None else None

    def look(self, token: str, binding: str, caller: str) -> Kept | None:
        """What is kept, and stays so. A state with another call than its own is used up, as below."""
        found = self._of(token, caller)
        if found is None or found[0].binding != binding:
            return self.take(token, binding, caller)
        return found[0]

    def take(self, token: str, binding: str, caller: str) -> Kept | None:
        """What was kept, once. A state with another call than its own is used up by trying; to another caller it is
        as unknown as any."""
        found = self._of(token, caller)
        if found is None:
            return None
        del self._kept[token]
        kept, timer, _ = found
        timer.cancel()
        if kept.binding != binding:
            kept.forget()
            return None
        return kept

    def _of(self, token: str, caller: str) -> tuple[Kept, asyncio.TimerHandle, str] | None:
        found = self._kept.get(token)
        return found if found is not None and found[2] == caller else None

    def clear(self) -> None:
        for token in list(self._kept):
            self._drop(token)

    def _drop(self, token: str) -> None:
        if found := self._kept.pop(token, None):
            found[1].cancel()
            found[0].forget()


def binding_of(caller: str, method: str, params: Mapping[str, Raw]) -> str:
    """What a request must share with the one before it to go on with it."""
    told = {name: value(raw) for name, raw in params.items() if name not in _OURS}
    return sha256(json.encode([caller, method, told], order="deterministic")).hexdigest()


class Pending:
    """A call at a server of the old era, which may ask in the middle of it, for a client that can be asked only by a
    result. `work` runs on between the client's requests."""

    def __init__(self, exchange: Exchange, work: Callable[[], Coroutine[Any, Any, Answer]]) -> None:
        exchange.questions = self
        self._exchange = exchange
        self._news = asyncio.Event()
        self._asked: dict[str, tuple[str, Any, asyncio.Future[Answer]]] = {}
        self._count = 0
        self.task: asyncio.Task[Answer] = asyncio.get_running_loop().create_task(work())
        self.task.add_done_callback(lambda _: self._news.set())

    async def ask(self, method: str, params: Mapping[str, Any] | Raw) -> Answer:
        """Called by the work; waits until the client has come back with an answer."""
        self._count += 1
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked[f"q{self._count}"] = method, params, answered
        self._news.set()
        return await answered

    async def result_or_questions(self) -> Answer | dict[str, Any]:
        """The answer of the work, or what it wants to know before. Cancelling it cancels the work."""
        try:
            await self._news.wait()
        except asyncio.CancelledError:
            self.task.cancel()
            raise
        if self.task.done():
            return self.task.result()
        self._news.clear()
        return {key: {"method": method, "params": params} for key, (method, params, _) in self._asked.items()}

    def answer(self, responses: Mapping[str, Any], exchange: Exchange) -> None:
        """What the client has come back with, in another request; a question without an answer is asked again."""
        self._exchange.emit, self._exchange.token = exchange.emit, exchange.token
        for key, response in responses.items():
            asked = self._asked.pop(key, None)
            if asked is not None and not asked[2].done():
                asked[2].set_result(success(response))
        if self._asked:
            self._news.set()

    def cancel(self) -> None:
        self.task.cancel()


ROUNDS: Final = 10
"""How often a server of the new era may ask for one call."""
_ASKS: Final = b"input_required"
_ASKABLE: Final = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
_CACHEABLE: Final = frozenset(
    ("prompts/list", "resources/list", "resources/read", "resources/templates/list", "tools/list")
)


class Errand(Struct, frozen=True):
    """What a server is to be asked. `params` are without `_meta`."""

    upstream: Upstream
    method: str
    params: Mapping[str, Any]
    name: str | None = None
    """The tool, prompt or address in it, which HTTP servers of the new era want beside the body."""
    mirrored: Mapping[str, str] = {}
    """Further headers of that kind."""
    passage: Passage | None = None
    forget: Callable[[], None] = lambda: None
    """What to do when the client does not come back with the answers that the server wants."""
    digest: str = ""
    """Of the policy that let it through."""
    barred: Callable[[], Awaitable[Answer | None]] | None = None
    """What the client gets instead where it may not go on after a question: all calls may be paused by then."""
    rounds: int = 0
    """How often the server has asked for it already."""
    seconds: float | None = 0.0
    """How long its answer may take: 0 for as long as a call, None for as long as the client waits."""


async def forward(errand: Errand, exchange: Exchange, kept: Continuations) -> Answer:
    """The answer as this client can read it. Raises ServerGone and ServerSlow."""
    session = await errand.upstream.ready()
    try:
        return await _put(errand, exchange, session, kept)
    except SessionExpired:  # it has not looked at the request
        return await _put(errand, exchange, await errand.upstream.ready(), kept)


async def _put(errand: Errand, exchange: Exchange, session: Session, kept: Continuations) -> Answer:
    agreed = session.agreed
    assert agreed is not None
    params = dict(errand.params)
    for _ in range(ROUNDS):
        answer = await _ask(errand, params, exchange, session, agreed)
        if answer.result is None:
            return answer
        if agreed.era == "old":
            return _modern(answer, errand.method) if exchange.peer.stateless else answer
        if not asks(answer):
            return answer
        if exchange.peer.stateless:
            return _passed_on(errand, exchange, fields(answer.result), kept)
        params = {**errand.params, **await _ask_client(mapping(value(answer.result)), exchange)}
        if errand.barred is not None and (barred := await errand.barred()) is not None:
            return barred
    return failed_result(
        SERVER_GONE, f"the server {errand.upstream.name} has asked {ROUNDS} times, and still wants more"
    )


async def _ask(errand: Errand, params: dict[str, Any], exchange: Exchange, session: Session, agreed: Agreed) -> Answer:
    meta = _meta(exchange, agreed)
    headers = None
    if agreed.era == "new":
        named = None if errand.name is None else header_value(errand.name)
        headers = {**headers_for(errand.method, agreed.version, named), **errand.mirrored}
    if meta:
        params = {**params, "_meta": meta}
    seconds = errand.upstream.server.timeout if errand.seconds == 0.0 else errand.seconds
    return await session.request(errand.method, params, seconds, cause=exchange, headers=headers)


def _meta(exchange: Exchange, agreed: Agreed) -> dict[str, Any]:
    """What the client says about its request, in the server's era. Its progress token is ours to replace."""
    meta = {key: one for key, one in exchange.meta.items() if not key.startswith(PREFIX) and key != "progressToken"}
    if agreed.era == "old":
        return meta
    info = exchange.meta.get(CLIENT_KEY) or exchange.client.info
    level = exchange.meta.get(LOG_LEVEL) or exchange.client.level
    envelope = {VERSION_KEY: agreed.version, CAPABILITIES_KEY: exchange.capabilities}
    return {
        **meta, **envelope, **({CLIENT_KEY: info} if info else {}), **({LOG_LEVEL: level} if level else {}),
    }  # fmt: skip


def _modern(answer: Answer, method: str) -> Answer:
    """A result of the old era with what the new one wants in every result."""
    assert answer.result is not None
    added: dict[str, Any] = {"resultType": "complete"}
    if method in _CACHEABLE:
        added |= {"ttlMs": 0, "cacheScope": "private"}
    return Answer(Raw(json.encode({**fields(answer.result), **added})))


def _passed_on(errand: Errand, exchange: Exchange, result: dict[str, Raw], kept: Continuations) -> Answer:
    state = value(result.get("requestState", b""))
    binding = binding_of(exchange.caller, exchange.method, exchange.params)
    own = state if isinstance(state, str) else None
    waits = Kept(binding, errand.passage, own, None, errand.forget, errand.upstream, errand.digest, errand.rounds + 1)
    token = kept.keep(waits, exchange.caller)
    return Answer(Raw(json.encode({**result, "requestState": token})))


async def _ask_client(result: Mapping[str, Any], exchange: Exchange) -> dict[str, Any]:
    """The answers of a client of the old era to the questions of a server of the new one."""
    responses: dict[str, Any] = {}
    for key, request in mapping(result.get("inputRequests")).items():
        asked = mapping(request)
        method = asked.get("method")
        if not isinstance(method, str) or not exchange.can(_ASKABLE.get(method, "")):
            continue
        answer = await exchange.ask(method, mapping(asked.get("params")))
        if answer.result is not None:
            responses[key] = answer.result
    state = result.get("requestState")
    return {
        **({"inputResponses": responses} if responses else {}),
        **({"requestState": state} if isinstance(state, str) else {}),
    }


def era_of(upstream: Upstream) -> Era | None:
    """The era that is spoken with a server; None where it is not there."""
    session = upstream.session
    return session.agreed.era if session is not None and session.agreed is not None else None


def responses_of(exchange: Exchange) -> dict[str, Any]:
    """The answers that came with a request: the server's to read, which ignores those it has not asked for."""
    given = exchange.params.get("inputResponses")
    return {} if given is None or not exchange.peer.stateless else {"inputResponses": given}


def asks(answer: Answer) -> bool:
    """Whether a result is no result yet, but a question to the client (2026-07-28)."""
    result = answer.result
    return result is not None and _ASKS in bytes(result) and is_input_required(mapping(value(result)))


def question_result(questions: Mapping[str, Any], token: str) -> Answer:
    return success(input_required(questions, token))
