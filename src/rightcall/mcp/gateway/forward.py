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
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, Final, cast

from msgspec import Raw, Struct, json
from msgspec.structs import replace

from rightcall.base.telemetry.spans import NO_SPAN, Span
from rightcall.executor.passage import Passage
from rightcall.mcp.messages import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    INTERNAL,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    PREFIX,
    RELATED,
    SERVER_GONE,
    STATUS_NEW,
    SUBSCRIPTION_KEY,
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
    notification,
    success,
    value,
)
from rightcall.mcp.serving import Client, Exchange
from rightcall.mcp.session import ASKING, Agreed, Session, SessionExpired
from rightcall.mcp.spans import CALL, tell_answer
from rightcall.mcp.upstream import Upstream, headers_for

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


class KeptCall(Struct, frozen=True):
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
    """Bounded in number, for each caller, and in time. `place` names the process that keeps them, where one among
    several does."""

    def __init__(self, place: str = "") -> None:
        self._mark = f"{MARK}{place}." if place else MARK
        self._kept: dict[str, tuple[KeptCall, asyncio.TimerHandle, str]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, kept: KeptCall, caller: str) -> str:
        """The state to send with the question. Raises Refused where there is no room."""
        own = [token for token, one in self._kept.items() if one[2] == caller]
        if len(own) >= MOST_OF_ONE:
            self._drop(own[0])
        if len(self._kept) >= MOST:
            kept.forget()
            raise Refused(SERVER_GONE, "too many calls wait for answers of their clients already")
        token = self._mark + token_urlsafe(24)
        timer = asyncio.get_running_loop().call_later(ASKING, self._drop, token)
        self._kept[token] = kept, timer, caller
        return token

    def upstream_of(self, token: str, caller: str) -> Upstream | None:
        """The server that a call goes on with."""
        found = self._of(token, caller)
        return found[0].upstream if found is not None else None

    def look(self, token: str, binding: str, caller: str) -> KeptCall | None:
        """What is kept, and stays so. A state with another call than its own is used up, as below."""
        found = self._of(token, caller)
        if found is None or found[0].binding != binding:
            return self.take(token, binding, caller)
        return found[0]

    def take(self, token: str, binding: str, caller: str) -> KeptCall | None:
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

    def _of(self, token: str, caller: str) -> tuple[KeptCall, asyncio.TimerHandle, str] | None:
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


NO_ANSWERS: Final = "The client did not come back with the answers it was asked for."


class Pending:
    """A call at a server of the old era, which may ask in the middle of it, for a client that can be asked only by a
    result. `work` runs on between the client's requests."""

    def __init__(self, exchange: Exchange, work: Callable[[], Coroutine[Any, Any, Answer]]) -> None:
        exchange.questions = self
        self._exchange = self._asking = exchange
        """The one that began it, and the one whose client waits now."""
        self._news = asyncio.Event()
        self._asked: dict[str, tuple[str, Any, asyncio.Future[Answer]]] = {}
        self._count = 0
        self.task: asyncio.Task[Answer] = asyncio.get_running_loop().create_task(work())
        self.task.add_done_callback(lambda _: self._news.set())

    async def ask(self, method: str, params: Mapping[str, Any] | Raw | None) -> Answer:
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
            self._exchange.given_up = self._asking.why_cut_off
            self.task.cancel()
            await asyncio.wait((self.task,))  # until that is recorded
            raise
        if self.task.done():
            return self.task.result()
        self._news.clear()
        return {
            key: {"method": method} if params is None else {"method": method, "params": params}
            for key, (method, params, _) in self._asked.items()
        }

    def answer(self, responses: Mapping[str, Any], exchange: Exchange) -> None:
        """What the client has come back with, in another request; a question without an answer is asked again."""
        self._asking = exchange
        self._exchange.emit, self._exchange.token = exchange.emit, exchange.token
        for key, response in responses.items():
            asked = self._asked.pop(key, None)
            if asked is not None and not asked[2].done():
                asked[2].set_result(success(response))
        if self._asked:
            self._news.set()

    def cancel(self) -> None:
        self._exchange.given_up = NO_ANSWERS
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
    span: Span = NO_SPAN
    """What follows it, where telemetry is on."""


async def forward(errand: Errand, exchange: Exchange, kept: Continuations) -> Answer:
    """The answer as this client can read it. Raises ServerGone and ServerSlow."""
    if not exchange.span.is_live:
        return await _forward(errand, exchange, kept)
    with exchange.span.call(errand.method, (errand.name or "") if errand.method == CALL else "") as span:
        transport = "tcp" if errand.upstream.server.url else "pipe"
        span.tell({"network.transport": transport, "rightcall.server": errand.upstream.name})
        answer = await _forward(replace(errand, span=span) if span.is_recorded else errand, exchange, kept)
        tell_answer(span, answer)
        return answer


async def _forward(errand: Errand, exchange: Exchange, kept: Continuations) -> Answer:
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
    meta = _meta(exchange, agreed) | errand.span.meta()
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
    waits = KeptCall(
        binding, errand.passage, own, None, errand.forget, errand.upstream, errand.digest, errand.rounds + 1
    )
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


# ── notifications ──
# What servers say unasked, and which clients hear it: changed lists, changed resources, tasks, log messages.

MOST_LISTENS: Final = 1_000
"""Clients that listen at a time."""
MOST_LISTENS_OF_ONE: Final = 100
"""That listen for one caller."""
MOST_WATCHED: Final = 1_000
"""Resources or tasks that one client hears of."""
RESOURCES: Final = "resourceSubscriptions"
TASKS: Final = "taskIds"
MESSAGE: Final = "notifications/message"
UPDATED: Final = "notifications/resources/updated"
TOOLS: Final = "notifications/tools/list_changed"
LISTS: Final[Mapping[str, str]] = {
    TOOLS: "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}
"""With what a client of the new era asks to hear of them."""
LOG_LEVEL: Final = PREFIX + "logLevel"
LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class News:
    """Who listens: sessions of the old era, and the `subscriptions/listen` of the new one."""

    def __init__(self) -> None:
        self.sessions: set[Client] = set()
        self._listens: dict[Exchange, tuple[Mapping[str, Any], asyncio.Future[None]]] = {}
        self._is_over = False

    @property
    def is_heard(self) -> bool:
        return bool(self.sessions or self._listens)

    @property
    def level(self) -> str | None:
        """The most talkative that a session wants; None where none has said."""
        levels = [LEVELS.index(one.level) for one in self.sessions if one.level in LEVELS]
        return LEVELS[min(levels)] if levels else None

    def watched(self) -> set[str]:
        """The resources that anybody wants to hear of."""
        return {uri for client in self.sessions for uri in client.subscribed} | {
            uri for wanted, _ in self._listens.values() for uri in names_in(wanted, RESOURCES)
        }

    def watched_tasks(self) -> set[tuple[str, str]]:
        """The tasks that anybody wants to hear of, by caller."""
        return {(one.caller, task) for one, (wanted, _) in self._listens.items() for task in names_in(wanted, TASKS)}

    def changed(self, method: str) -> None:
        """A list of one of the servers has changed."""
        for client in list(self.sessions):
            client.send(notification(method))
        for exchange, (wanted, _) in list(self._listens.items()):
            if wanted.get(LISTS[method]) is True:
                exchange.emit(notification(method, {"_meta": _stamp(exchange)}))

    def updated(self, params: Raw, cause: Exchange | None, only: Client | None) -> None:
        """To those who have asked for it. Some servers tell it unasked: to the client whose call it comes with, else to
        the only one there is."""
        uri = value(fields(params).get("uri", b""))
        if not isinstance(uri, str):
            return
        unasked = cause.client if cause is not None else only
        wanting = [one for one in self.sessions if uri in one.subscribed] or [
            one for one in self.sessions if one is unasked
        ]
        for client in wanting:
            client.send(notification(UPDATED, params))
        for exchange, (wanted, _) in list(self._listens.items()):
            if uri in names_in(wanted, RESOURCES):
                exchange.emit(notification(UPDATED, {"uri": uri, "_meta": _stamp(exchange)}))

    def task_moved(self, caller: str, id: str, params: Raw) -> None:
        """To those of its caller who want to hear of a task."""
        for exchange, (wanted, _) in list(self._listens.items()):
            if exchange.caller == caller and id in names_in(wanted, TASKS):
                exchange.emit(notification(STATUS_NEW, {**fields(params), "_meta": _stamp(exchange)}))

    def logged(self, params: Raw, cause: Exchange | None, only: Client | None) -> None:
        """To the client whose call it is about, since it may tell of that call; else to the only one there ever was
        (`only`), else to nobody."""
        level = value(fields(params).get("level", b""))
        if cause is not None and cause.peer.stateless:  # which wants to hear it only where the request says so
            wanted = cause.meta.get(LOG_LEVEL)
            if wanted in LEVELS and _is_loud_enough(level, wanted):
                cause.emit(notification(MESSAGE, params))
            return
        client = cause.client if cause is not None else only
        if client is not None and _is_loud_enough(level, client.level):
            (cause.emit if cause is not None else client.send)(notification(MESSAGE, params))

    async def listen(self, exchange: Exchange, resources: Sequence[str] = (), tasks: Sequence[str] = ()) -> Answer:
        """`subscriptions/listen`: its answer comes when it ends. `resources` and `tasks` are those that it may hear
        of."""
        of_one = sum(one.caller == exchange.caller for one in self._listens)
        if len(self._listens) >= MOST_LISTENS or of_one >= MOST_LISTENS_OF_ONE:
            raise Refused(INTERNAL, "too many clients listen already")
        wanted = mapping(value(exchange.params.get("notifications", b"")))
        honoured: dict[str, Any] = {key: True for key in LISTS.values() if wanted.get(key) is True}
        for key, names in ((RESOURCES, resources), (TASKS, tasks)):
            if len(names) > MOST_WATCHED:
                raise Refused(INVALID_PARAMS, f"params.notifications.{key}: {MOST_WATCHED} at most")
            if names:
                honoured[key] = names
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._listens[exchange] = honoured, ended
        try:
            exchange.emit(
                notification(
                    "notifications/subscriptions/acknowledged", {"notifications": honoured, "_meta": _stamp(exchange)}
                )
            )
            if not self._is_over:
                await ended
        finally:
            self._listens.pop(exchange, None)
        return success({"resultType": "complete", "_meta": _stamp(exchange)})

    def end(self) -> None:
        """No more news: those who listen are told that it was on purpose."""
        self._is_over = True
        for _, ended in list(self._listens.values()):
            if not ended.done():
                ended.set_result(None)


def names_in(wanted: Mapping[str, Any], key: str) -> list[str]:
    found = wanted.get(key)
    return [one for one in cast("list[Any]", found) if isinstance(one, str)] if isinstance(found, list) else []


def _stamp(exchange: Exchange) -> dict[str, Any]:
    return {SUBSCRIPTION_KEY: value(exchange.id)}


def _is_loud_enough(level: Any, wanted: str | None) -> bool:
    return wanted is None or level not in LEVELS or LEVELS.index(level) >= LEVELS.index(wanted)


# ── questions of servers ──
# Questions of servers of the old era to a client (sampling, elicitation, roots): whom they are meant for.
#
#     with a request of a client's      that client, and no other
#     about a task                      the client that began it
#     out of the blue                   the only client of a caller who is alone here; else nobody
#
# A client that runs what it is asked as a task of its own (2025-11-25) is asked for it by the server later.

MEETING: Final = 30.0
"""Seconds for which a question to the only client waits until that has shaken hands: servers ask as soon as they are
greeted, which may be before."""
_ASKED: Final = {"sampling/createMessage": "sampling", "elicitation/create": "elicitation", "roots/list": "roots"}
_TASKS: Final = frozenset(("tasks/get", "tasks/result", "tasks/cancel", "tasks/list"))


class Questions:
    """`began` says who began a task at a server; `alone`: only one client will ever come; `others`: other workers use
    the same processes."""

    def __init__(
        self, news: News, began: Callable[[Upstream, str], Client | None], *, alone: bool, others: bool = False
    ) -> None:
        self._news = news
        self._began = began
        self._alone = alone
        self._others = others and not alone
        self._callers: set[str] = set()
        self._met = asyncio.Event()
        self._run_by: dict[tuple[str, str], Client] = {}
        """Which client runs a task for which server."""

    def came(self, caller: str) -> None:
        """A request of this caller's."""
        self._callers.add(caller)

    def met(self) -> None:
        """A client has shaken hands."""
        self._met.set()

    def gone(self, client: Client) -> None:
        self._run_by = {key: one for key, one in self._run_by.items() if one is not client}

    def is_shared(self, upstream: Upstream) -> bool:
        """Whether clients of other workers use the same process."""
        return self._others and bool(upstream.server.command)

    def only(self, upstream: Upstream) -> Client | None:
        """The one client to whom all that is said unasked can be told, since there never was another caller."""
        if self.is_shared(upstream):
            return None
        sessions = self._news.sessions
        return next(iter(sessions)) if len(sessions) == 1 and len(self._callers) <= 1 else None

    async def ask(self, upstream: Upstream, method: str, params: Raw, exchange: Exchange | None) -> Answer:
        """`exchange`: the request that the question came with, where that can be told."""
        if method == "ping":
            return success({})
        told = mapping(value(params))
        if method in _TASKS:
            return await self._ask_runner(upstream, method, params or Raw(b"{}"), told)
        capability = _ASKED.get(method)
        if capability is None:
            return failed_result(METHOD_NOT_FOUND, "Method not found", method)
        beginner = self._beginner(upstream, told)
        if exchange is not None and (beginner is None or beginner is exchange.client):
            if not exchange.can(capability):
                return failed_result(METHOD_NOT_FOUND, f"the client of this call does not support {capability}")
            return self._kept(upstream.name, exchange.client, await exchange.ask(method, params or None))
        client = beginner or await self._alone_here(upstream)
        if client is None or not isinstance(client.capabilities.get(capability), dict):
            return failed_result(METHOD_NOT_FOUND, nobody_asked(upstream.name, method))
        return self._kept(upstream.name, client, await client.ask(method, params or None, client.send))

    async def _alone_here(self, upstream: Upstream) -> Client | None:
        if self._alone and not self._met.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(MEETING):
                    await self._met.wait()
        return self.only(upstream)

    def _beginner(self, upstream: Upstream, told: Mapping[str, Any]) -> Client | None:
        related = mapping(mapping(told.get("_meta")).get(RELATED)).get("taskId")
        client = self._began(upstream, related) if isinstance(related, str) else None
        return client if client in self._news.sessions else None

    def _kept(self, server: str, client: Client, answer: Answer) -> Answer:
        """A client may answer with a task, for which the server will ask."""
        if answer.result is not None and b'"taskId"' in bytes(answer.result):
            task = mapping(mapping(value(answer.result)).get("task")).get("taskId")
            if isinstance(task, str):
                if len(self._run_by) >= MOST_LISTENS:
                    del self._run_by[next(iter(self._run_by))]
                self._run_by[server, task] = client
        return answer

    async def _ask_runner(self, upstream: Upstream, method: str, params: Raw, told: Mapping[str, Any]) -> Answer:
        server, task = upstream.name, told.get("taskId")
        alone = self.only(upstream) if self._alone else None
        client = self._run_by.get((server, task)) if isinstance(task, str) else alone
        if client is None:
            return failed_result(METHOD_NOT_FOUND, nobody_asked(server, method))
        return await client.ask(method, params, client.send)


def nobody_asked(server: str, method: str) -> str:
    return (
        f"{server} asks ({method}) while no call, or calls of several clients, are under way: "
        "the gateway cannot tell whom it asks"
    )
