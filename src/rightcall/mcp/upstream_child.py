"""Start a server's process: the same on every event loop, with nothing of ours but its three pipes.

uvloop's own `subprocess_exec` leaves further copies of the pipes open in the process, so a server that closes its input
or output closes nothing, and hands on every descriptor that may be inherited. Here `subprocess` starts the process, the
loop only reads and writes the pipes, and a thread waits for the end. Windows has no uvloop, and keeps the loop's way.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, cast


async def start_child(
    protocol: asyncio.SubprocessProtocol, command: Sequence[str], env: Mapping[str, str], cwd: str | None
) -> asyncio.SubprocessTransport:
    """Like `loop.subprocess_exec`, in a session of its own. Raises OSError and ValueError."""
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":
        transport, _ = await loop.subprocess_exec(lambda: protocol, *command, env=env, cwd=cwd)
        return transport
    pipe = subprocess.PIPE
    child = _Child(
        loop,
        protocol,
        subprocess.Popen(
            command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe,
            close_fds=True, start_new_session=True, env=env, cwd=cwd,
        ),
    )  # fmt: skip
    try:
        await child.connect()
    except BaseException:
        child.close()
        raise
    return child


class _Child(asyncio.SubprocessTransport):
    """The transport of one process; tells the protocol what the loop's own would."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, protocol: asyncio.SubprocessProtocol, process: subprocess.Popen[bytes]
    ) -> None:
        super().__init__()
        self._loop = loop
        self._protocol = protocol
        self._process = process
        self._pipes: dict[int, asyncio.BaseTransport] = {}

    async def connect(self) -> None:
        self._protocol.connection_made(self)
        threading.Thread(target=self._wait, name="rightcall-server-exit", daemon=True).start()
        for fd, pipe in enumerate((self._process.stdin, self._process.stdout, self._process.stderr)):
            connected = self._loop.connect_read_pipe if fd else self._loop.connect_write_pipe
            self._pipes[fd], _ = await cast("Any", connected)(lambda fd=fd: _Pipe(self._protocol, fd), pipe)

    def _wait(self) -> None:
        self._process.wait()
        with suppress(RuntimeError):  # the loop is closed, and nobody asks any more
            self._loop.call_soon_threadsafe(self._protocol.process_exited)

    def get_pid(self) -> int:
        return self._process.pid

    def get_returncode(self) -> int | None:
        return self._process.returncode

    def get_pipe_transport(self, fd: int) -> asyncio.BaseTransport | None:
        return self._pipes.get(fd)

    def send_signal(self, signal: int) -> None:
        self._process.send_signal(signal)

    def close(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        for fd, pipe in enumerate(cast("tuple[IO[bytes], ...]", pipes)):
            (self._pipes.get(fd) or pipe).close()


class _Pipe(asyncio.Protocol):
    """Passes on what happens at one pipe."""

    def __init__(self, protocol: asyncio.SubprocessProtocol, fd: int) -> None:
        self._protocol = protocol
        self._fd = fd

    def data_received(self, data: bytes) -> None:
        self._protocol.pipe_data_received(self._fd, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.pipe_connection_lost(self._fd, exc)
