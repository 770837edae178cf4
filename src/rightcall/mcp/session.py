"""One session with one server: requests with ids of our own, any number at a time, in either era of the protocol.

Results stay the bytes that the server sent. What it says by itself (notifications, questions to a client) goes to the
owner, with the request that caused it where that can be told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Mapping
from math import inf
from typing import Any, Final, Protocol

from msgspec import Raw, Struct

from rightcall.mcp.messages import (
    CANCELLED,
    INTERNAL,
    PROGRESS,
    Answer,
    Era,
    Message,
    a_response,
    failed_result,
    fields,
    notification,
    read,
    read_batch,
    request,
)

# ── links ──
# The way to one server: it carries whole messages, as bytes, and knows nothing of what they mean.

FORGOTTEN: Final = "it has forgotten our session"
"""Why a server is lost that only wants to be greeted again."""


class ServerGone(Exception):
    """The server cannot be reached, did not start, or has ended. The message is for people and models."""


class NotRunning(ServerGone):
    """The server does not run now, and nothing was sent to it. The message goes on behind its name."""


class LoginMissing(ServerGone):
    """The server wants a login, and nothing was done about this request. The message says what a person runs."""


class SessionExpired(ServerGone):
    """The server has forgotten the session, and so has done nothing about this request: it can be made again."""


def describe_loss(server: str, gone: Exception) -> str:
    """What became of a call that has no answer, for people and models."""
    if isinstance(gone, ServerSlow):
        return f"The server {server} {gone}. The call was cancelled; whether it had an effect is not known."
    if isinstance(gone, LoginMissing):
        return f"The server {server} cannot be used: {gone}. The call was not sent."
    if isinstance(gone, NotRunning):
        return f"The server {server} {gone}. The call was not sent."
    return f"The server {server} gave no answer: {gone}."


class Heard(Protocol):
    """Who hears what a server says."""

    def message(self, data: bytes, related: int | None) -> None:
        """One whole message. `related` is the request it belongs to, where the way tells."""
        ...

    def waits(self, id: int) -> bool:
        """Whether the answer to this request is still to come."""
        ...

    def failed(self, id: int, why: ServerGone) -> None:
        """No answer will come to this request."""
        ...

    def paused(self, id: int, seconds: float) -> None:
        """The server goes on with this request after so many seconds, and has closed the stream until then."""
        ...

    def lost(self, why: str, words: str = "") -> None:
        """The server is gone, and every request with it. Told once. `words`: what it wrote last to standard error,
        without secrets. That is for the operator alone: it may tell of any caller's call."""
        ...


class Link(Protocol):
    """Stdio and streamable HTTP. Nothing but `open` and `aclose` ever waits, nothing but `open` raises."""

    first: int
    """The number of the first request, once it is open: several processes may share one server."""

    async def open(self, heard: Heard) -> None:
        """Raises ServerGone."""
        ...

    def request(self, id: int, body: bytes, headers: Mapping[str, str]) -> None: ...

    def tell(self, body: bytes) -> None:
        """A notification, or an answer to a question of the server's."""
        ...

    def abandon(self, id: int) -> bool:
        """Nobody waits for this answer any more. Whether that tells the server already, so that no notification of
        ours need do so."""
        ...

    def agreed(self, version: str, *, listen: bool) -> None:
        """Which revision is spoken from now on; `listen` opens the stream for what the server says unasked."""
        ...

    async def aclose(self, *, failed: bool = False) -> None:
        """`failed`: the server did not start as it must, so that nobody with whom it is shared should use it."""
        ...


QUESTIONS = 64
"""Questions of one server that may be open at a time."""
OUTLIVING = 1_000
"""Requests whose progress may still be told of after their answer."""
ASKING = 600.0
"""Seconds that a call may wait while a person or a client's model answers a question of its server."""
STRETCH = 10
"""How many times its time a call may take in all, where the server tells of progress."""


class ServerSlow(Exception):
    """The server did not answer in time."""


class Cause(Protocol):
    """For whose request the server is asked."""

    @property
    def party(self) -> object:
        """The client; compared by identity."""
        ...

    @property
    def wants_progress(self) -> bool: ...

    @property
    def outlives(self) -> bool:
        """Whether there may be progress after the answer: it asks for a task."""
        ...

    def progress(self, params: dict[str, Raw]) -> None: ...

    def paused(self, seconds: float) -> None: ...


class Owner(Protocol):
    """What a session belongs to."""

    def asked(self, method: str, params: Raw, cause: Cause | None) -> Awaitable[Answer]:
        """A question of the server's to a client."""
        ...

    def told_by_server(self, method: str, params: Raw, cause: Cause | None) -> None: ...

    def lost(self, session: Session, why: str, words: str = "") -> None: ...


class Agreed(Struct, frozen=True):
    """What both sides have settled on."""

    era: Era
    version: str
    capabilities: Mapping[str, Any]
    info: Mapping[str, Any]
    instructions: str = ""


class _Pending:
    """A request that waits for its answer, until `limit` where there is one at all (`seconds`)."""

    __slots__ = ("began", "cause", "future", "limit", "seconds")

    def __init__(self, future: asyncio.Future[Answer], cause: Cause | None, seconds: float, began: float) -> None:
        self.future = future
        self.cause = cause
        self.seconds = seconds
        self.began = began
        self.limit = began + seconds if seconds else inf


class Session:
    """Used within one event loop. `agreed` is set by `rightcall.mcp.upstream`."""

    def __init__(self, link: Link, owner: Owner) -> None:
        self._link = link
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._pending: dict[int, _Pending] = {}
        self._questions: dict[bytes, asyncio.Task[None]] = {}
        self._outliving: dict[int, Cause] = {}
        self._next = 1
        self._timer: asyncio.TimerHandle | None = None
        """For all that is pending: a timer for each would cost every request, and hardly any comes to its limit."""
        self._due = inf
        """When it is to ring."""
        self._gone: str | None = None
        self.agreed: Agreed | None = None
        self.has_answered = False
        """Whether a request of a client's was answered."""

    async def open(self) -> None:
        await self._link.open(self)
        self._next = self._link.first

    def settle(self, agreed: Agreed) -> None:
        self.agreed = agreed
        standing = agreed.era == "old"
        self._link.agreed(agreed.version, listen=standing)

    async def request(
        self, method: str, params: Mapping[str, Any], seconds: float | None, *, cause: Cause | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:  # fmt: skip
        """Ask, and wait so long at most. Raises ServerGone and ServerSlow; cancelling it cancels the request."""
        if self._gone is not None:
            raise ServerGone(self._gone)
        number = self._next
        self._next += 1
        if cause is not None and cause.wants_progress:
            params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": number}}
        began = self._loop.time()
        pending = self._pending[number] = _Pending(self._loop.create_future(), cause, seconds or 0.0, began)
        try:
            self._link.request(number, request(number, method, params), headers or {})
            if pending.limit < self._due:
                self._watch(pending.limit)
            answer = await pending.future
        except TimeoutError:
            self._abandon(number, "no answer in time")
            took = self._loop.time() - began
            raise ServerSlow(f"did not answer within {took:.3g} seconds") from None
        except asyncio.CancelledError:
            self._abandon(number, "the client has cancelled it")
            raise
        finally:
            self._pending.pop(number, None)
        if cause is not None and cause.wants_progress and cause.outlives:
            if len(self._outliving) >= OUTLIVING:
                del self._outliving[next(iter(self._outliving))]
            self._outliving[number] = cause
        self.has_answered = self.has_answered or cause is not None
        return answer

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        if self._gone is None:
            self._link.tell(notification(method, params))

    async def aclose(self, *, failed: bool = False) -> None:
        self._end("the gateway has closed it")
        await self._link.aclose(failed=failed)

    def _watch(self, when: float) -> None:
        """Look at that time at what is pending."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._due = self._loop.call_at(when, self._expire), when

    def _expire(self) -> None:
        self._timer, self._due = None, inf
        now = self._loop.time()
        for pending in self._pending.values():
            if pending.limit <= now and not pending.future.done():
                pending.future.set_exception(TimeoutError())
        left = [one.limit for one in self._pending.values() if not one.future.done()]
        if (first := min(left, default=inf)) < inf:
            self._watch(first)

    def _extend(self, pending: _Pending, when: float) -> None:
        """It may wait until then, where there is a limit at all."""
        if pending.seconds:
            pending.limit = when
            if when < self._due:
                self._watch(when)

    def _abandon(self, id: int, reason: str) -> None:
        if self._gone is None and not self._link.abandon(id):
            self._link.tell(notification(CANCELLED, {"requestId": id, "reason": reason}))

    # what the link tells

    def message(self, data: bytes, related: int | None) -> None:
        found = read(data)
        if found is None:  # a batch; or something else, since servers print all kinds of things there
            for one in read_batch(data) or ():
                self._take(read(one), related)
        else:
            self._take(found, related)

    def _take(self, message: Message | None, related: int | None) -> None:
        if message is None:
            return
        if isinstance(message.method, str):
            self._spoken(message, message.method, related)
        elif message.id:
            self._answered(message, related)

    def waits(self, id: int) -> bool:
        pending = self._pending.get(id)
        return pending is not None and not pending.future.done()

    def failed(self, id: int, why: ServerGone) -> None:
        pending = self._pending.get(id)
        if pending is not None and not pending.future.done():
            pending.future.set_exception(why)

    def paused(self, id: int, seconds: float) -> None:
        pending = self._pending.get(id)
        if pending is not None and pending.cause is not None:
            pending.cause.paused(seconds)

    def lost(self, why: str, words: str = "") -> None:
        self._end(why)
        self._owner.lost(self, why, words)

    def _end(self, why: str) -> None:
        self._gone = self._gone or why
        for number in list(self._pending):
            self.failed(number, ServerGone(why))
        for task in list(self._questions.values()):
            task.cancel()
        if self._timer is not None:
            self._timer.cancel()

    def _answered(self, message: Message, related: int | None) -> None:
        number = _number(message.id) or related  # an error that could not read our id is the answer to this request
        pending = self._pending.get(number) if number is not None else None
        if pending is not None and not pending.future.done():  # a second answer is nobody's
            pending.future.set_result(_answer(message))

    def _spoken(self, message: Message, method: str, related: int | None) -> None:
        if message.id:
            self._question(bytes(message.id), method, message.params, related)
        elif method == PROGRESS:
            self._progressed(message.params)
        elif method == CANCELLED:
            self._withdrawn(message.params)
        else:
            self._owner.told_by_server(method, message.params, self._cause(related))

    def _progressed(self, params: Raw) -> None:
        told = fields(params)
        number = _number(told.get("progressToken")) or 0
        pending = self._pending.get(number)
        if pending is None and number in self._outliving:
            self._outliving[number].progress(told)
        elif pending is not None and pending.cause is not None:
            latest = pending.began + pending.seconds * STRETCH
            self._extend(pending, min(self._loop.time() + pending.seconds, latest))
            pending.cause.progress(told)

    def _cause(self, related: int | None) -> Cause | None:
        """Whose request the server speaks of: the one it came with, or the only client that waits for this server."""
        if related is not None:
            pending = self._pending.get(related)
            if pending is not None and pending.cause is not None:
                return pending.cause
        causes = [one.cause for one in self._pending.values() if one.cause is not None]
        return causes[-1] if len({id(cause.party) for cause in causes}) == 1 else None

    def _question(self, id: bytes, method: str, params: Raw, related: int | None) -> None:
        if id in self._questions or len(self._questions) >= QUESTIONS:
            self._link.tell(
                a_response(id, failed_result(-32000, "too many questions at a time, or one id for two of them"))
            )
            return
        cause = self._cause(related)
        waiting = [one for one in self._pending.values() if one.cause is cause and cause is not None]
        for one in waiting:
            self._extend(one, self._loop.time() + ASKING)
        task = self._loop.create_task(self._ask(id, method, params, cause, waiting))
        self._questions[id] = task
        task.add_done_callback(lambda _: self._questions.pop(id, None))

    async def _ask(self, id: bytes, method: str, params: Raw, cause: Cause | None, waiting: list[_Pending]) -> None:
        try:
            answer = await self._owner.asked(method, params, cause)
        except Exception:  # noqa: BLE001  the server must not wait for an answer for ever
            answer = failed_result(-32603, "the gateway could not ask the client")
        for one in waiting:
            self._extend(one, self._loop.time() + one.seconds)
        if self._gone is None:
            self._link.tell(a_response(id, answer))

    def _withdrawn(self, params: Raw) -> None:
        """The server takes a question back."""
        asked = fields(params).get("requestId")
        task = self._questions.get(bytes(asked)) if asked is not None else None
        if task is not None:
            task.cancel()


def _answer(message: Message) -> Answer:
    if message.error:
        return Answer(error=message.error)
    if not message.result:
        return failed_result(INTERNAL, "the server's answer held no result")
    if bytes(message.result).lstrip()[:1] != b"{":
        return failed_result(INTERNAL, "the server's answer is not a result: expected an object")
    return Answer(message.result)


def _number(id: Raw | None) -> int | None:
    try:
        return int(bytes(id)) if id is not None else None
    except ValueError:
        return None


def spawn(tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Work that is kept among these until it ends: nothing else holds a task."""
    task = asyncio.get_running_loop().create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task
