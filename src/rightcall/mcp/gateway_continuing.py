"""Calls that wait for an answer of their client's, between one request of the client and the next (2026-07-28).

Such a client is asked by the result of its call, and calls again with the answers and with a `requestState` of ours.
That is only a name for what stands here: nobody can make one up, it counts once, for the very same call of the same
caller, and for a limited time. A server's own state never leaves the gateway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, Final

from msgspec import Raw, Struct, json

from rightcall.door_passage import Passage
from rightcall.mcp.messages import SERVER_GONE, value
from rightcall.mcp.serving import Exchange
from rightcall.mcp.serving_answers import Answer, Refused, success
from rightcall.mcp.upstream import Upstream
from rightcall.mcp.upstream_session import ASKING

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
