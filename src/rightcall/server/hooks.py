"""Answers hooks for the policy file of this server: `rightcall hook` then loads no engine of its own.

A Unix socket in the user's own folder, which nobody else can look into; who connects must be the same user. Each
connection brings one event and takes one answer away. Nothing is judged before the hook has said that it still waits:
until then it judges by itself if anything goes wrong here, and from then on it leaves it to us.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
import struct
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import NamedTuple, cast

from msgspec import Struct

from rightcall.base.files.guarded import identity, take_lock
from rightcall.base.text import escaped
from rightcall.hosts.hooks.hook import GO, GREETING, HOSTS, MINE, MOST_BYTES, NOT_MINE, READY
from rightcall.hosts.hooks.judgement import Failed, Hook, Hooks, policy_source
from rightcall.hosts.hooks.place import MODES, is_private, socket_address, socket_folder, socket_path
from rightcall.policy.watch import load_policy
from rightcall.record.premises import found_folder, open_store, store_place
from rightcall.record.tables import Store
from rightcall.types import Mode

# ── doors ──
# The doors behind which the server judges for hooks: one for each host, project and mode, over one store.

_MOST = 64
"""Doors that are kept open; beyond that the oldest one makes room."""


class Wanted(Struct, frozen=True):
    """What a hook was started with. An empty word means: none was given."""

    host: str
    root: str
    mode: str
    caller: str
    found: bool


class Doors:
    """Opened when they are first asked for. Thread-safe."""

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._open: dict[Wanted, Hooks] = {}
        self._stores: dict[str | None, Store] = {}
        """By the folder that a store was found in: one that was named is another matter."""

    def of(self, wanted: Wanted) -> Hooks:
        """Raises what opening a door raises: the hook then tries by itself, and tells what is wrong."""
        with self._lock:
            found = self._open.get(wanted)
            if found is None or found.door.is_moved:
                mode = cast("Mode | None", wanted.mode or None)
                hook = Hook(wanted.host, self._policy, wanted.root, mode, wanted.caller or None, wanted.found)
                store = self._store_for(hook)
                self._open.pop(wanted, None)
                while len(self._open) >= _MOST:
                    self._open.pop(next(iter(self._open)))  # others may still use it, so that it is not closed
                found = self._open[wanted] = Hooks(hook, every_tool=True, store=store)
            return found

    def _store_for(self, hook: Hook) -> Store:
        policy, folder = load_policy(policy_source(hook)), os.path.dirname(self._policy)
        found_in = found_folder(policy, self._policy, folder)
        known = self._stores.get(found_in)
        if known is None:
            path = store_place(policy, self._policy, folder)
            known = self._stores[found_in] = open_store(None, path, None, found_in, policy.settings.audit.keep_days)
        return known

    def close(self) -> None:
        with self._lock:
            self._open.clear()
            stores, self._stores = self._stores, {}
        for store in stores.values():
            store.close()


log = logging.getLogger("rightcall")

_AT_ONCE = 8
_WAITING = 64
"""Connections that may wait; one more is closed at once, and that hook judges by itself."""
_PATIENCE = 2.0
"""Seconds for an event to arrive, and for its answer to be taken."""
_PIECE = 1 << 20
_WORDS = 9
"""Before the event: the greeting, host, policy, root, mode, caller, whether there is a terminal, whether the policy was
only found, and how long the event is."""
_LONGEST_WORDS = 65_536
_DIGITS = 20


class _Asked(NamedTuple):
    wanted: Wanted
    policy: str
    terminal: bool
    event: bytes


class HookServer:
    """Serves from `start` to `stop`, in threads of its own."""

    def __init__(self, policy: str) -> None:
        self.policy = identity(policy)
        self.path = socket_path(self.policy)
        self._doors = Doors(self.policy)
        self._listener: socket.socket | None = None
        self._mark: tuple[int, int] | None = None
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="rightcall-hook")
        self._room = threading.BoundedSemaphore(_WAITING)
        self.answered = 0
        """How many events were."""
        self._thread: threading.Thread | None = None

    def start(self) -> bool:
        """False, with a word in the log, where there can be none: hooks then judge by themselves."""
        try:
            self._listener = self._bound()
        except (OSError, AttributeError) as fault:  # no such sockets on this system, or another server has it
            log.info("rightcall: hooks are not answered here: %s", fault)
            return False
        self._thread = threading.Thread(target=self._accept, name="rightcall-hooks", daemon=True)
        self._thread.start()
        return True

    def stop(self) -> None:
        """What is being answered is finished. A second time does nothing."""
        listener, self._listener = self._listener, None
        if listener is not None:
            self._remove()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in accept
            listener.close()
        if self._thread is not None:
            self._thread.join()
        self._pool.shutdown()
        self._doors.close()

    def _bound(self) -> socket.socket:
        os.makedirs(socket_folder(), mode=0o700, exist_ok=True)
        folder = os.open(socket_folder(), os.O_RDONLY)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if not is_private(folder):
                raise OSError(errno.EACCES, f"{socket_folder()} can be looked into by others: chmod 700")
            address = socket_address(self.path, folder)
            with _alone():
                self._make_room(address)
                listener.bind(address)
                os.chmod(self.path, 0o600)  # nobody has come in meanwhile: the folder is ours alone
                listener.listen(_WAITING)
                found = os.stat(self.path)
                self._mark = found.st_dev, found.st_ino
        except BaseException:
            listener.close()
            raise
        finally:
            os.close(folder)
        return listener

    def _make_room(self, address: str) -> None:
        """Removes what a server that was killed has left; one that lives keeps its place."""
        if not os.path.lexists(self.path):
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.settimeout(_PATIENCE)
            try:
                probe.connect(address)
            except ConnectionRefusedError:
                os.unlink(self.path)
                return
        raise OSError(errno.EADDRINUSE, "another server answers for this policy file already")

    def _remove(self) -> None:
        """Only our own: another server may have taken the place meanwhile."""
        with suppress(OSError):
            found = os.lstat(self.path)
            if (found.st_dev, found.st_ino) == self._mark:
                os.unlink(self.path)

    def _accept(self) -> None:
        while (listener := self._listener) is not None:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            if not self._room.acquire(blocking=False):
                connection.close()
                continue
            try:
                self._pool.submit(self._serve, connection)
            except RuntimeError:  # it is stopping
                self._room.release()
                connection.close()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(_PATIENCE)
                if not _is_own_user(connection):
                    return
                asked = _received(connection)
                if asked is not None:
                    self._exchange(connection, asked)
        except OSError:
            return  # the hook is gone
        except Exception:
            log.exception("rightcall: a hook could not be answered")
        finally:
            self._room.release()

    def _exchange(self, connection: socket.socket, asked: _Asked) -> None:
        wanted = asked.wanted
        if asked.policy != self.policy or wanted.host not in HOSTS or wanted.mode not in ("", *MODES):
            connection.sendall(NOT_MINE)
            return
        hooks = self._doors.of(wanted)
        connection.sendall(READY + f"{hooks.deadline:g}\n".encode())
        if connection.recv(1) == GO:
            told = _answer_hook(hooks, asked)
            self.answered += 1
            connection.sendall(MINE + told.encode() + b"\n")


@contextmanager
def hooks_answered(policy: str | os.PathLike[str] | None) -> Generator[None]:
    """Hooks of projects under this policy file are answered for as long as the `with` lasts; without a file, none."""
    if policy is None:
        yield
        return
    server = HookServer(os.fspath(policy))
    server.start()
    try:
        yield
    finally:
        server.stop()


def _answer_hook(hooks: Hooks, asked: _Asked) -> str:
    try:
        return hooks.answer(asked.event, can_ask=asked.terminal)
    except Failed as failed:
        log.warning("rightcall: a call of a hook could not be judged: %s", escaped(str(failed), 600))
        return failed.answer


def _received(connection: socket.socket) -> _Asked | None:
    """None for what no hook of this version sends, or for one that has gone away."""
    start = b""
    while start.count(b"\0") < _WORDS:
        piece = connection.recv(_PIECE)
        if not piece or (len(start) > _LONGEST_WORDS):
            return None
        start += piece
    *words, event = start.split(b"\0", _WORDS)
    if words[0] != GREETING or not words[-1].isdigit() or int(words[-1][:_DIGITS]) > MOST_BYTES:
        return None
    pieces, left = [event], int(words[-1]) - len(event)
    while left > 0:
        if not (piece := connection.recv(min(left, _PIECE))):
            return None
        pieces.append(piece)
        left -= len(piece)
    host, policy, root, mode, caller, terminal, found = map(os.fsdecode, words[1:-1])
    return _Asked(Wanted(host, root, mode, caller, bool(found)), policy, bool(terminal), b"".join(pieces))


@contextmanager
def _alone() -> Generator[None]:
    """While no other server takes a place: one that is bound and does not listen yet looks like one that was killed."""
    lock = os.open(os.path.join(socket_folder(), "lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = monotonic() + _PATIENCE
        while not take_lock(lock):
            if monotonic() > until:
                raise OSError(errno.EAGAIN, "another server is being started")
            sleep(0.01)
        yield
    finally:
        os.close(lock)


def _is_own_user(connection: socket.socket) -> bool:
    """The folder lets nobody else in; where the system tells who connects, that counts as well."""
    asking = getattr(socket, "SO_PEERCRED", None)
    if asking is None:
        return True
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, asking, struct.calcsize("3i")))
    return uid == os.geteuid()
