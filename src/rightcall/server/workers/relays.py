"""MCP servers that are processes run once for all workers: the parent starts them, and carries lines between them and
the workers that use them.

    worker w1 ─┐                       ┌─ one process of `files`
    worker w2 ─┴─▶ Relays (parent) ─┬──┤
                                    │  └─ one more for clients that can do more
                                    └──── one for a client that has it for itself

A process shakes hands once: further workers are given the same answer. Requests have numbers that no two workers share,
so that each answer finds its way. What a process says or asks by itself may be about one client's call, so that only
the worker hears it which alone waits for this process; where several do, none does. That a list has changed is told to
all. A process outlives its workers for a while, so that it is still there for those that take their place. Calls do not
pass here, only their answers do: workers write to the process themselves (`inputs`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Final

from msgspec import Raw, Struct, json

from rightcall.mcp.gateway.forward import LEVELS, LISTS, RESOURCES, UPDATED, names_in, nobody_asked
from rightcall.mcp.links import LEFT_UNREAD, ProcessLink, open_link
from rightcall.mcp.messages import (
    CANCELLED,
    METHOD_NOT_FOUND,
    PROGRESS,
    STATUS,
    STATUS_NEW,
    Answer,
    Message,
    a_response,
    failed_result,
    fields,
    mapping,
    notification,
    read,
    read_batch,
    request,
    success,
    value,
)
from rightcall.mcp.session import Heard, Link, ServerGone, spawn
from rightcall.policy.settings import Server
from rightcall.server.workers.frames import Frames, connected, listening
from rightcall.server.workers.inputs import Calls, DirectInput, SharedInput, Way

_OPEN, _LINE, _BEGUN, _GONE, _FAILED = b"o", b"j", b"B", b"G", b"F"
SHIFT: Final = 40
"""Bits of a request's number that are its worker's own. The rest says which worker it is."""
LINGER: Final = 10.0
"""Seconds for which a process is kept that nobody uses."""
_CONNECTING: Final = 5.0
_STARTING: Final = 30.0
_ONCE: Final = ("initialize", "server/discover")
"""Requests that a process is asked once, whoever asks the same."""
_INITIALIZED: Final = "notifications/initialized"
_LISTEN: Final = "subscriptions/listen"
_TO_ALL: Final = frozenset((*LISTS, STATUS, STATUS_NEW, CANCELLED))
"""What is of no client, or of one that each worker knows: the others do not pass it on."""
_OF_NOBODY: Final = frozenset(("ping", "tasks/get", "tasks/result", "tasks/cancel", "tasks/list"))
"""Questions that a worker answers by itself, or asks nobody but the client that runs the task."""


class _Wanted(Struct, frozen=True):
    """What a worker wants to use: a server, by all that its process depends on, for a group of clients; `alone`: for
    one of its clients and nobody else."""

    name: str
    command: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    group: str
    alone: str

    @property
    def server(self) -> Server:
        return Server(self.name, self.command, env=self.env, cwd=self.cwd)


class _Begun(Struct, frozen=True):
    """What a worker is told once it can begin: the number of its first request, and how it writes calls by itself."""

    first: int
    way: Way | None = None


class _Ended(Struct, frozen=True):
    why: str
    words: str = ""


# ── in a worker ──


def opening(path: str, name: str) -> Callable[[str], Callable[[Server], Link]]:
    """How the worker `name` reaches servers: those that are processes at the parent, which listens at `path`."""
    numbers = count()

    def for_group(group: str) -> Callable[[Server], Link]:
        alone = "" if group else f"{name}.{next(numbers)}"

        def open_way(server: Server) -> Link:
            if server.url:
                return open_link(server)
            wanted = _Wanted(server.name, server.command, dict(server.env), server.cwd, group, alone)
            return RelayLink(path, wanted)

        return open_way

    return for_group


class RelayLink:
    """The way to a server whose process is the parent's."""

    def __init__(self, path: str, wanted: _Wanted) -> None:
        self._path = path
        self._wanted = wanted
        self._heard: Heard | None = None
        self._frames = Frames(self._told, self._lost)
        self._opened: asyncio.Future[_Begun] | None = None
        self._direct: DirectInput | None = None
        self._ended: _Ended | None = None
        self._is_closed = False
        self.first = 1

    async def open(self, heard: Heard) -> None:
        self._heard = heard
        self._opened = asyncio.get_running_loop().create_future()
        if not await connected(self._frames, self._path, _CONNECTING):
            raise ServerGone("the process that starts servers for all workers is gone")
        self._frames.send(_OPEN, json.encode(self._wanted))
        try:
            async with asyncio.timeout(_STARTING):
                begun = await self._opened
        except TimeoutError:
            self._frames.close()
            raise ServerGone("it was not started in time") from None
        self.first = begun.first
        if begun.way is not None and not self._is_closed:
            with suppress(OSError):  # then everything goes through the parent
                self._direct = DirectInput(begun.way)

    def request(self, id: int, body: bytes, headers: Mapping[str, str]) -> None:
        del headers
        if self._direct is None or not self._direct.write(id, body):
            self._frames.send(_LINE, body)

    def tell(self, body: bytes) -> None:
        self._frames.send(_LINE, body)

    def abandon(self, id: int) -> bool:
        del id
        return False

    def agreed(self, version: str, *, listen: bool) -> None:
        del version, listen

    async def aclose(self, *, failed: bool = False) -> None:
        self._is_closed = True
        if failed:
            self._frames.send(_FAILED)
        self._frames.close()
        self._leave()

    def _leave(self) -> None:
        if self._direct is not None:
            self._direct.close()
            self._direct = None

    def _told(self, kind: bytes, content: bytes) -> None:
        if kind == _LINE and self._heard is not None and not self._is_closed:
            self._heard.message(content, None)
        elif kind == _BEGUN and self._opened is not None and not self._opened.done():
            self._opened.set_result(json.decode(content, type=_Begun))
        elif kind == _GONE:
            self._ended = json.decode(content, type=_Ended)
            if self._opened is not None and not self._opened.done():
                self._opened.set_exception(ServerGone(self._ended.why))

    def _lost(self) -> None:
        self._leave()
        ended = self._ended or _Ended(LEFT_UNREAD if self._frames.is_given_up else "it ended, or its parent did")
        if self._opened is not None and not self._opened.done():
            self._opened.set_exception(ServerGone(ended.why))
        elif not self._is_closed and self._heard is not None:
            self._is_closed = True
            self._heard.lost(ended.why, ended.words)


# ── in the parent ──


class Relays:
    """All processes, each found by what it was started as."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._server: asyncio.AbstractServer | None = None
        self._running: dict[bytes, _Relay] = {}
        self._mute: set[bytes] = set()
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await listening(self._path, lambda: _User(self).frames)

    async def aclose(self) -> None:
        if self._server is not None:
            self._server.close()
        await asyncio.gather(*(one.aclose() for one in list(self._running.values())), return_exceptions=True)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def join(self, user: _User, content: bytes) -> None:
        relay = self._running.get(content)
        if relay is None:
            wanted = json.decode(content, type=_Wanted)
            place = f"{self._path}.{next(self._numbers)}"
            relay = self._running[content] = _Relay(wanted.server, place, lambda one: self._over(content, one))
            relay.is_mute = content in self._mute
            spawn(self._tasks, relay.open())
        relay.join(user)

    def _over(self, key: bytes, relay: _Relay) -> None:
        if relay.died_asked:  # at a question before the handshake: the next process is not asked it
            self._mute.add(key)
        if self._running.get(key) is relay:
            del self._running[key]
        spawn(self._tasks, relay.aclose())


class _User:
    """A worker's connection to one process."""

    def __init__(self, relays: Relays) -> None:
        self.frames = Frames(self._heard, self._lost)
        self.number = 0
        self.relay: _Relay | None = None
        self.is_served = False
        """Whether it was answered something after the handshake, other than with an error."""
        self.pending: set[int] = set()
        self.calls: Calls | None = None
        """Those that it has written by itself."""
        self.watched: set[str] = set()
        self.listens: dict[int, set[str]] = {}
        """What it hears of by requests that are answered when they end."""
        self.level = ""
        self._relays = relays

    def _heard(self, kind: bytes, content: bytes) -> None:
        if kind == _OPEN and self.relay is None:
            self._relays.join(self, content)
        elif kind == _LINE and self.relay is not None:
            self.relay.said(self, content)
        elif kind == _FAILED and self.relay is not None:
            self.relay.failed_for(self)

    def _lost(self) -> None:
        if self.relay is not None:
            self.relay.leave(self)
        self.forget()

    def asking(self) -> list[int]:
        """Its requests that have no answer yet."""
        return [*self.pending, *(() if self.calls is None else self.calls.all())]

    @property
    def waits(self) -> bool:
        """Whether a client of its may be waiting."""
        return any(number not in self.listens for number in self.asking())

    def watches(self, uri: object) -> bool:
        return uri in self.watched or any(uri in one for one in self.listens.values())

    def over(self, number: int) -> None:
        """It waits no longer for that answer."""
        self.pending.discard(number)
        self.listens.pop(number, None)
        if self.calls is not None:
            self.calls.remove(number)

    def forget(self) -> None:
        if self.calls is not None:
            self.calls.close()
            self.calls = None


class _Relay:
    """One process, and the workers that use it. `over` hears when it is no more."""

    def __init__(self, server: Server, place: str, over: Callable[[_Relay], None]) -> None:
        self._link = ProcessLink(server)
        self._place = place
        """How the files begin that are for this process."""
        self._input: SharedInput | None = None
        self._over: Callable[[_Relay], None] | None = over
        self._users: dict[int, _User] = {}
        self._next = 0
        self._is_open = False
        self._once: dict[str, _Once] = {}
        self._asking: dict[int, str] = {}
        """Of those, which are under way."""
        self._is_initialized = False
        self._idle: asyncio.TimerHandle | None = None
        self.is_mute = False
        """Whether it must not be asked anything before the handshake."""
        self.died_asked = False

    async def open(self) -> None:
        try:
            await self._link.open(self)
        except ServerGone as gone:
            self._end(_Ended(str(gone)))
            return
        self._is_open = True
        with suppress(OSError):  # then everything goes through the parent
            self._link.share_input(self._share)
        for user in self._users.values():
            self._begin(user)

    async def aclose(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._over = None
        await self._link.aclose()
        if self._input is not None:
            self._input.close()
            with suppress(OSError):
                os.unlink(self._place)

    def join(self, user: _User) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        user.number, user.relay = self._next, self
        self._next += 1
        self._users[user.number] = user
        if self._is_open:
            self._begin(user)

    def _share(self, transport: asyncio.WriteTransport, pipe: int) -> SharedInput:
        stuck = "a worker that was stopped keeps others from writing to it"
        self._input = SharedInput(transport, pipe, self._place, lambda: self._link.lose(stuck))
        return self._input

    def _begin(self, user: _User) -> None:
        way = None
        if self._input is not None and os.path.exists(self._input.path):
            with suppress(OSError):  # as above
                calls = f"{self._place}.{user.number}"
                user.calls = Calls(calls, new=True)
                way = Way(self._input.path, self._place, calls)
        user.frames.send(_BEGUN, json.encode(_Begun(user.number << SHIFT | 1, way)))

    def leave(self, user: _User) -> None:
        """Nobody waits for its answers any more."""
        self._users.pop(user.number, None)
        with suppress(OSError):
            os.unlink(f"{self._place}.{user.number}")
        for number in user.asking():
            self._link.tell(notification(CANCELLED, {"requestId": number, "reason": "the client is gone"}))
        if not self._users and self._over is not None:
            self._idle = asyncio.get_running_loop().call_later(LINGER, self._end, _Ended("nobody uses it"))

    def failed_for(self, user: _User) -> None:
        """It did not start as it must, for this worker. Unless it serves another, the next one who comes is to find
        another process."""
        if not any(one.is_served for one in self._users.values() if one is not user):
            self._end(_Ended("it did not start as it must"))

    # ── from a worker ────────────────────────────────────────────────────────────────────────────────────────────

    def said(self, user: _User, line: bytes) -> None:
        message = read(line)
        if message is None or not isinstance(message.method, str):
            self._link.tell(line)  # an answer to a question of the server's
        elif not message.id:
            if message.method == CANCELLED and (number := _number(fields(message.params).get("requestId"))) is not None:
                user.over(number)
            if message.method != _INITIALIZED or not self._is_initialized:
                self._is_initialized = self._is_initialized or message.method == _INITIALIZED
                self._link.tell(line)
        else:
            self._asked(user, message, line)

    def _asked(self, user: _User, message: Message, line: bytes) -> None:
        method, number = str(message.method), _number(message.id)
        if number is None:
            return
        if method in _ONCE:
            self._ask_once(user, number, line, method + bytes(message.params).decode("utf-8", "replace"))
            return
        if method == "resources/unsubscribe" or method == "resources/subscribe":
            uri = str(value(fields(message.params).get("uri", b"")))
            (user.watched.add if method == "resources/subscribe" else user.watched.discard)(uri)
            if method == "resources/unsubscribe" and any(uri in one.watched for one in self._users.values()):
                user.frames.send(_LINE, a_response(bytes(message.id), success({})))
                return
        elif method == "logging/setLevel":
            user.level = str(value(fields(message.params).get("level", b"")))
            line = request(number, method, {"level": self._lowest()})
        elif method == _LISTEN:
            wanted = mapping(value(fields(message.params).get("notifications", b"")))
            user.listens[number] = {*names_in(wanted, RESOURCES)}
        user.pending.add(number)
        self._link.request(number, line, {})

    def _lowest(self) -> str:
        """The level of the log that all workers together want to hear."""
        wanted = [one.level for one in self._users.values() if one.level in LEVELS]
        return min(wanted, key=LEVELS.index) if wanted else LEVELS[-1]

    def _ask_once(self, user: _User, number: int, line: bytes, asked: str) -> None:
        if asked.startswith("server/discover") and self.is_mute:
            refused = failed_result(METHOD_NOT_FOUND, "Method not found")
            user.frames.send(_LINE, a_response(b"%d" % number, refused))
            return
        once = self._once.get(asked)
        if once is None:
            once = self._once[asked] = _Once()
            self._asking[number] = asked
            self._link.request(number, line, {})
        if once.answer is None:
            once.waiting.append((user, number))
        else:
            user.frames.send(_LINE, a_response(b"%d" % number, once.answer))

    # ── from the process: what a link tells ──────────────────────────────────────────────────────────────────────

    def message(self, data: bytes, related: int | None) -> None:
        del related
        found = read(data)
        if found is not None:
            self._take(found, data)
            return
        for one in read_batch(data) or ():
            self._take(read(one), bytes(one))

    def _take(self, found: Message | None, data: bytes) -> None:
        if found is None:
            return
        if isinstance(found.method, str):
            self._spoken(found, data)
        elif found.id:
            self._answered(found, data)

    def _answered(self, message: Message, data: bytes) -> None:
        number = _number(message.id)
        if number is None:
            return
        once = self._once.get(self._asking.pop(number, ""))
        if once is not None:
            once.answer = Answer(error=message.error) if message.error else Answer(message.result or Raw(b"{}"))
            for user, asked in once.waiting:
                user.frames.send(_LINE, a_response(b"%d" % asked, once.answer))
            once.waiting.clear()
            return
        user = self._users.get(number >> SHIFT)
        if user is not None:
            user.is_served = user.is_served or not message.error
            user.over(number)
            user.frames.send(_LINE, data)

    def _spoken(self, message: Message, data: bytes) -> None:
        if message.id:
            self._question(message, data)
            return
        told = fields(message.params)
        if message.method in _TO_ALL:
            hearing = list(self._users.values())
        elif message.method == PROGRESS:
            token = _number(told.get("progressToken"))
            hearing = [self._users.get(token >> SHIFT) if token is not None else None]
        else:
            uri = value(told.get("uri", b"")) if message.method == UPDATED else None
            hearing = [one for one in self._users.values() if one.watches(uri)] or [self._waiting()]
        for user in filter(None, hearing):
            user.frames.send(_LINE, data)

    def _waiting(self) -> _User | None:
        """The worker of the client that the process may speak of: the only one, or the only one that waits for it."""
        users = list(self._users.values())
        waiting = [one for one in users if one.waits] if len(users) > 1 else users
        return waiting[0] if len(waiting) == 1 else None

    def _question(self, message: Message, data: bytes) -> None:
        """To one worker. Where several wait, the client that it finds may be another's."""
        user, method = self._waiting(), str(message.method)
        if user is None and (method in _OF_NOBODY or not any(one.waits for one in self._users.values())):
            user = next(iter(self._users.values()), None)
        if user is not None:
            user.frames.send(_LINE, data)
        elif self._users:
            refused = failed_result(METHOD_NOT_FOUND, nobody_asked(self._link.name, method))
            self._link.tell(a_response(bytes(message.id), refused))

    def waits(self, id: int) -> bool:
        user = self._users.get(id >> SHIFT)
        return user is not None and id in user.asking()

    def failed(self, id: int, why: ServerGone) -> None:
        del id, why  # a process fails as a whole

    def paused(self, id: int, seconds: float) -> None:
        del id, seconds  # nor does it pause

    def lost(self, why: str, words: str = "") -> None:
        self.died_asked = any(one.startswith("server/discover") for one in self._asking.values())
        self._end(_Ended(why, words))

    def _end(self, ended: _Ended) -> None:
        over, self._over = self._over, None
        if over is None:
            return
        for user in list(self._users.values()):
            user.relay = None
            with suppress(OSError):
                os.unlink(f"{self._place}.{user.number}")
            user.frames.send(_GONE, json.encode(ended))
            user.frames.close()
        self._users.clear()
        over(self)


class _Once:
    """The answer to a request that is asked once, and who waits for it."""

    def __init__(self) -> None:
        self.answer: Answer | None = None
        self.waiting: list[tuple[_User, int]] = []


def _number(id: Any) -> int | None:
    try:
        return int(bytes(id)) if id else None
    except ValueError:
        return None
