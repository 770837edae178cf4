"""The wrapped server as a process: started with its own pipes, ended with everything it has started. And which tools it
has: learned from the lists that pass by, asked for where a call comes before any list.

Of a list that is not read whole, the part that was read is learned: a tool that was known and does not stand in it
counts as changed (P-08).
"""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import Any, Final, Literal, Protocol, cast

from msgspec import Struct
from msgspec.json import encode

from rightcall.base.text import escaped
from rightcall.errors import ConfigError
from rightcall.mcp.messages import Id, Message, envelope, mapping, request, value

GRACE: Final = 3.0
"""Seconds a server has to end by itself once nobody talks to it any more."""
START: Final = 20.0
"""Seconds that calls which came before their server listed its tools wait for that list, once the client has gone."""
HURRY: Final = 1.5
"""Seconds after it was told to end: clients wait two before they kill, and then nobody is left to end the server."""

_POSIX: Final = os.name == "posix"


class Ending:
    """Waits until a thread says that it is over, or one side has gone while nobody was reading from the client, or
    writing to the server."""

    def __init__(self, client: int, server: int) -> None:
        self._over = threading.Event()
        self._client = client
        self._server = server
        self._heard, self._said = os.pipe() if _POSIX else (-1, -1)

    def say(self) -> None:
        if not self._over.is_set():
            self._over.set()
            if _POSIX:
                os.write(self._said, b".")

    def wait(self) -> bool:
        """Whether it is the server that has closed its input. Signals are heard meanwhile."""
        if not _POSIX:
            while not self._over.wait(0.5):  # a wait without end would not hear Ctrl-C
                pass
            return False
        from select import POLLIN, poll

        watched = poll()
        watched.register(self._heard, POLLIN)
        watched.register(self._client, 0)  # only that it has gone: what it says is for the thread that reads it
        watched.register(self._server, 0)
        return any(number == self._server for number, _ in watched.poll())


class Server:
    """Its standard error is ours: it goes where it would go without us."""

    def __init__(self, command: Sequence[str]) -> None:
        """Raises ConfigError when it cannot be started."""
        try:
            # In a group of its own, so that whatever it starts can be ended with it.
            self._process = subprocess.Popen(
                _find_command(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                process_group=0 if _POSIX else None,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            told = f"the server cannot be started: {escaped(command[0], 200)!r}: {why}"
            raise ConfigError(f"{told}. After `--` write the command that starts your MCP server") from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self.input = self._input.fileno()
        self.output = self._output.fileno()

    def close_input(self) -> None:
        with suppress(OSError):
            self._input.close()

    def ended(self, within: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(within)
        return self._process.returncode is not None

    @property
    def code(self) -> int:
        """Its exit code, as a shell gives it for one that a signal ended."""
        code = self._process.returncode
        return 1 if code is None else 128 - code if code < 0 else code

    def tell(self, number: int) -> None:
        """A signal for the server and all that it has started."""
        with suppress(OSError):
            if _POSIX:
                os.killpg(self._process.pid, number)
            else:
                self._process.terminate()

    def end(self, grace: float) -> None:
        """Wait, then ask, then make sure."""
        if not self.ended(grace):
            self.hurry(signal.SIGTERM)
        self.tell(signal.SIGTERM)  # what it has left behind

    def hurry(self, number: int) -> None:
        """Ask by a signal, then make sure."""
        self.tell(number)
        if not self.ended(HURRY):
            self.tell(signal.SIGKILL if _POSIX else signal.SIGTERM)
            self.ended(HURRY)


def _find_command(command: Sequence[str]) -> list[str]:
    """On Windows `npx` is `npx.cmd`, which is only found by looking for it."""
    if _POSIX:
        return list(command)
    from shutil import which

    return [which(command[0]) or command[0], *command[1:]]


# ── lines ──
# Lines between two processes, with bounded memory: a line up to a limit is handed over whole, a longer one in pieces.
#
# Blocking reads and writes on plain descriptors: one thread for each direction costs least, and a reader who is slow
# slows down the writer and nothing else.

Part = Literal["line", "head", "middle", "tail", "rest"]
"""`line`: a whole one. `head`, `middle`, `tail`: pieces of one that is too long. `rest`: the end came before its
end."""

CHUNK: Final = 1 << 16
_NEAR: Final = 4096
_ID: Final = rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")'
_FIRST: Final = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"\s*[,}]")
_LAST: Final = re.compile(rb",\s*" + _ID + rb"\s*\}\s*$")


def parts(source: int, most: int) -> Iterator[tuple[Part, bytes]]:
    """What comes from a descriptor until its end; no piece is much longer than `most`."""
    kept: list[bytes] = []
    size, long = 0, False
    while chunk := _read(source):
        start = 0
        while (end := chunk.find(b"\n", start) + 1) > 0:
            piece = chunk[start:end]
            if long:
                yield "tail", piece
            else:
                yield "line", b"".join((*kept, piece)) if kept else piece
            kept, size, long, start = [], 0, False, end
        rest = chunk[start:]
        if long and rest:
            yield "middle", rest
        elif rest:
            kept.append(rest)
            size += len(rest)
            if size > most:
                yield "head", b"".join(kept)
                kept, long = [], True
    if kept:
        yield "rest", b"".join(kept)


def _read(source: int) -> bytes:
    try:
        return os.read(source, CHUNK)
    except OSError:  # whoever wrote is gone; some systems say so instead of ending the stream
        return b""


def id_of(head: bytes, tail: bytes) -> Id | None:
    """The id of a message that is not read: where it stands first, as most write it, or last."""
    found = _FIRST.match(head[:_NEAR]) or _LAST.search(tail[-_NEAR:])
    return None if found is None else value(found[1])


class Output:
    """Where lines go. Several threads may send; a line that is sent in pieces is never torn by another."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._open = False
        """In the middle of a line."""
        self._waiting: list[bytes] = []

    def send(self, line: bytes) -> None:
        """A whole line with its end. Raises OSError when nobody reads any more."""
        with self._lock:
            if self._open:
                self._waiting.append(line)
            else:
                self._write(line)

    def piece(self, data: bytes) -> None:
        """A piece of a line. What others send meanwhile follows after the last."""
        with self._lock:
            self._open = True
            self._write(data)

    def last(self, data: bytes) -> None:
        """The end of a line that was sent in pieces."""
        with self._lock:
            self._open = False
            waiting, self._waiting = self._waiting, []
            for line in (data, *waiting):
                self._write(line)

    def half(self, data: bytes) -> None:
        """A line that will never be complete: it gets an end, so that what follows can be read."""
        with self._lock:
            torn, self._open = self._open, False
            waiting, self._waiting = self._waiting, []
            if data or torn:
                self._write(data + b"\n")
            for line in waiting:
                self._write(line)

    def close(self, within: float) -> bool:
        """Nothing is written from now on; False when somebody still writes after so many seconds."""
        if not self._lock.acquire(timeout=within):
            return False
        self._target = -1  # its number may soon mean another file
        self._lock.release()
        return True

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._target, view) :]


# ── both ends ──
# The two ends between which `wrap` stands, for requests of its own as well: ids that nobody else uses, and time.

log = logging.getLogger("rightcall")

Send = Callable[[bytes], None]
"""Takes a line with its end; raises OSError when nobody reads any more."""

_END: Final = b"\n"


class Ends:
    """Sending never raises: who is gone is noticed by whoever reads from there."""

    def __init__(self, client: Send, server: Send) -> None:
        self._client = client
        self._server = server
        self._lists, self._questions = (f"rightcall-{token_hex(16)}-" for _ in "ab")
        """The server sees the one and the client the other: neither knows what an id for the other begins with."""
        self.client_lost = False
        """Nobody reads our answers any more."""
        self.server_lost = False
        """Nor does the server read what it is sent."""

    def to_client(self, line: bytes) -> bool:
        sent = _sent(self._client, line)
        self.client_lost = self.client_lost or not sent
        return sent

    def to_server(self, line: bytes) -> bool:
        sent = _sent(self._server, line)
        self.server_lost = self.server_lost or not sent
        return sent

    def list_id(self) -> str:
        """For a request of our own to the server."""
        return self._lists + token_hex(8)

    def question_id(self) -> str:
        """For one to the client. Whoever knows other ids of ours cannot tell this one."""
        return self._questions + token_hex(16)

    def is_question(self, id: Id | None) -> bool:
        return isinstance(id, str) and id.startswith(self._questions)

    def is_own(self, id: Id | None) -> bool:
        return isinstance(id, str) and id.startswith((self._lists, self._questions))

    def later(self, seconds: float, work: Callable[[], None]) -> Callable[[], None]:
        """What it returns calls it off."""
        timer = threading.Timer(seconds, _guarded(work))
        timer.daemon = True
        timer.start()
        return timer.cancel

    def soon(self, work: Callable[[], None]) -> None:
        """In a thread of its own: who reads from one end must never wait for the other, or both wait for ever."""
        threading.Thread(target=_guarded(work), daemon=True).start()


def _sent(send: Send, line: bytes) -> bool:
    try:
        send(line if line.endswith(_END) else line + _END)
    except OSError:
        return False
    return True


def _guarded(work: Callable[[], None]) -> Callable[[], None]:
    def done() -> None:
        try:
            work()
        except Exception:
            log.exception("rightcall: a call that was held could not go on")

    return done


# ── x ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

MOST_PAGES: Final = 100
MOST_BYTES: Final = 4 << 20
"""Of one page: a longer one passes unread."""
MOST_TOOLS: Final = 10_000
_MOST_ATTEMPTS: Final = 3
_MOST_OPEN: Final = 1_000
"""Lists of the client that wait for an answer."""
_MOST_ALIKE: Final = 10
"""Definitions of one name; a tool with more is left out."""

Resume = Callable[[], None]
Told = Mapping[str, tuple[Any, ...]]
"""By name: how the server defines a tool, usually in one way."""


class Own(Struct, frozen=True):
    """A request of our own for a page."""

    id: Id
    page: int
    envelope: Mapping[str, Any]
    age: int
    attempt: int = 1
    """The tools may change while they are listed."""


class Gathered(Struct, frozen=True):
    """The tools on the pages so far."""

    tools: Told = {}
    whole: bool = True
    """Nothing of these pages is missing."""


_NOTHING: Final = Gathered(whole=False)


class Asked(Struct, frozen=True):
    """A list that is on its way."""

    cursor: str | None
    age: int
    own: bool = False


class Links(Protocol):
    """What a listing needs of its surroundings."""

    def list_id(self) -> str: ...
    def to_server(self, line: bytes) -> bool: ...
    def later(self, seconds: float, work: Callable[[], None]) -> Callable[[], None]: ...
    def soon(self, work: Callable[[], None]) -> None: ...


class Listing:
    """The tools of one server, and the calls that wait for them. Thread-safe; nothing is sent under its locks."""

    def __init__(self, links: Links, learn: Callable[[list[Any]], None], seconds: float) -> None:
        self._links = links
        self._learn = learn
        self._seconds = seconds
        self._lock = threading.Condition()
        self._learning = threading.Lock()
        """One after the other: what is read last is what is known."""
        self.age = 0
        """Grows when the server says that its tools have changed, and when others are learned."""
        self._ready = False
        self._vain = False
        """The server was asked and gave no list, or none that can be read: calls wait no longer for it."""
        self._asked: dict[Id, Asked] = {}
        self._begun: dict[str, Gathered] = {}
        """By cursor: what stands on the pages before it."""
        self._known: Gathered | None = None
        self._told: Told = {}
        """What the client was told last of each tool. A server may tell us otherwise, so that nobody would notice."""
        self._latest = _NOTHING
        self._own: Own | None = None
        self._call_off: Callable[[], None] = lambda: None
        self._news = 0
        """How often the server has said that its tools are others."""
        self._held: dict[Id, Resume] = {}
        self._resuming = 0

    def client_asks(self, id: Id, params: Mapping[str, Any]) -> None:
        """The client asks for a list, or for its next page."""
        cursor = params.get("cursor")
        with self._lock:
            if len(self._asked) >= _MOST_OPEN:  # its answer will not be known as one
                self._asked.pop(next(iter(self._asked)))
                self._ready = False
            self._asked[id] = Asked(cursor if isinstance(cursor, str) else None, self._news)

    def changed(self) -> None:
        """The server says that its tools are others now."""
        with self._lock:
            self.age += 1
            self._news += 1
            self._ready = self._vain = False
            self._latest = _NOTHING

    def hold(self, id: Id, meta: Mapping[str, Any], resume: Resume) -> bool:
        """Keep a call until the tools are known; False when they are, or when nobody will tell."""
        with self._lock:
            if self._ready or self._vain:
                return False
            self._held[id] = resume
            if self._own is not None:
                return True
            own = self._own = Own(self._links.list_id(), 1, envelope(meta), self._news)
            self._asked[own.id] = Asked(None, own.age, own=True)
            self._call_off = self._links.later(self._seconds, lambda: self._over(self._own))
        self._send(own, {})
        return True

    def holds(self, id: Id) -> bool:
        return id in self._held

    def _send(self, own: Own, cursor: Mapping[str, Any]) -> None:
        self._links.to_server(request(own.id, "tools/list", {**own.envelope, **cursor}) + b"\n")

    def drop(self, id: Id) -> bool:
        """The client takes a call back; whether it was held here."""
        with self._lock:
            return self._held.pop(id, None) is not None

    def settled(self, within: float) -> bool:
        """Wait until no call is held; False when some still are after so many seconds."""
        with self._lock:
            return self._lock.wait_for(lambda: not self._held and not self._resuming, within)

    def answered(self, id: Id, message: Message) -> None:
        """A response arrives; if it is a list that was asked for, it is learned."""
        result = message.result if len(bytes(message.result)) <= MOST_BYTES else None
        self._answered(id, mapping(value(result)) if result is not None else {}, failed=bool(message.error))

    def unread(self, id: Id | None) -> None:
        """A response passes that is too long to be read. Where nobody can say whose it is, it may be a list."""
        if id is not None:
            self._answered(id, {}, failed=False)
            return
        with self._lock:
            waiting = bool(self._asked)
        if waiting:
            self._read(_NOTHING, None)

    def _answered(self, id: Id, result: Mapping[str, Any], *, failed: bool) -> None:
        with self._lock:
            asked = self._asked.pop(id, None)
            if asked is None and isinstance(id, str) and id.isdecimal() and len(id) < 20:
                asked = self._asked.pop(int(id), None)  # clients take the one for the other
            own = self._own if self._own is not None and self._own.id == id else None
        if asked is None:
            return
        tools: Any = result.get("tools")
        following = result.get("nextCursor") or None
        try:
            if isinstance(tools, list):
                self._page(cast("list[Any]", tools), asked, following)
            elif not failed:
                self._read(_NOTHING, None)
        except Exception:
            self._read(_NOTHING, None)
            raise
        finally:
            if own is not None:
                self._links.soon(lambda: self._next(own, following))

    def _page(self, tools: list[Any], asked: Asked, following: Any) -> None:
        with self._lock:
            before = Gathered() if asked.cursor is None else self._begun.get(asked.cursor, _NOTHING)
            gathered = self._latest = _joined(before, tools)
            if isinstance(following, str):
                if len(self._begun) >= MOST_PAGES:
                    self._begun.pop(next(iter(self._begun)))
                self._begun[following] = gathered
            if asked.own:
                gathered = _joined(gathered, [
                    one for name, told in self._told.items() if name in gathered.tools for one in told
                ])  # fmt: skip
            else:
                told = {**self._told, **gathered.tools}
                self._told = told if len(told) <= MOST_TOOLS else gathered.tools
            known, ready = self._known or _NOTHING, self._ready
        if following is None:
            self._read(gathered, asked.age)
        elif not gathered.whole or not isinstance(following, str):
            self._read(Gathered(gathered.tools, whole=False), None)
        elif ready:  # what is new in it counts at once, whether or not anybody reads on
            self._read(Gathered({**known.tools, **gathered.tools}, known.whole), None)

    def _read(self, gathered: Gathered, age: int | None) -> None:
        """A list has come to its end, or cannot be read. `age`: how new it is; None where that does not matter."""
        with self._learning:
            if gathered != self._known:
                self._learn([_as_one(told) for told in gathered.tools.values()])
                self._known = gathered
                with self._lock:
                    self.age += 1
            with self._lock:
                if age is None or age == self._news:
                    self._ready, self._vain = gathered.whole, not gathered.whole

    def _next(self, own: Own, following: str | None) -> None:
        with self._lock:
            old = own.age != self._news
        if old and own.attempt < _MOST_ATTEMPTS:
            self._follow(own, Own(self._links.list_id(), 1, own.envelope, self._news, own.attempt + 1), None)
        elif not old and isinstance(following, str) and own.page < MOST_PAGES:
            after = Own(self._links.list_id(), own.page + 1, own.envelope, own.age, own.attempt)
            self._follow(own, after, following)
        else:
            self._over(own)

    def _follow(self, own: Own, after: Own, cursor: str | None) -> None:
        with self._lock:
            if self._own is not own:  # given up meanwhile
                return
            self._own = after
            self._asked[after.id] = Asked(cursor, after.age, own=True)
        self._send(after, {} if cursor is None else {"cursor": cursor})

    def _over(self, own: Own | None) -> None:
        """Nothing more is to be waited for: the calls that waited go on, with what is known by now."""
        with self._lock:
            if own is None or self._own is not own:
                return
            vain = not self._ready and not self._vain
            part = Gathered(self._latest.tools, whole=False)
        if vain:
            self._read(part, None)
        with self._lock:
            if self._own is not own:
                return
            self._own = None
        self.end()

    def end(self) -> None:
        """No list will come: the calls that waited for one go on. Nothing is learned from that."""
        with self._lock:
            self._own = None
            self._call_off()
            held, self._held = self._held, {}
            self._resuming += 1
        try:
            for resume in held.values():
                resume()
        finally:
            with self._lock:
                self._resuming -= 1
                self._lock.notify_all()


def _joined(before: Gathered, tools: list[Any]) -> Gathered:
    """With further tools, as far as they have names and there is room."""
    found: dict[str, tuple[Any, ...]] = dict(before.tools)
    whole = before.whole
    for tool in tools:
        name = mapping(tool).get("name")
        if not isinstance(name, str):
            continue
        told = found.get(name, ())
        if tool in told:
            continue
        if len(told) >= _MOST_ALIKE or (not told and len(found) >= MOST_TOOLS):
            whole = False
            found.pop(name, None)
        else:
            found[name] = (*told, tool)
    return Gathered(found, whole)


def _as_one(told: tuple[Any, ...]) -> Any:
    """The first that the server gave the name to, as a client would find it; the others are part of what it says."""
    first, *others = told
    if not others:
        return first
    also = encode(others, order="deterministic").decode()
    return {**mapping(first), "description": f"{mapping(first).get('description', '')}\n\nUnder the same name: {also}"}
