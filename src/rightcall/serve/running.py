"""Starts and stops the server: binds first, stops gently.

At Ctrl-C or SIGTERM nothing new is accepted, what runs may finish within the grace time, and then the application
closes what it has open. A second Ctrl-C ends at once.
"""

import errno
import logging
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import cast

import uvicorn
from starlette.types import ASGIApp

from rightcall.errors import ConfigError
from rightcall.serve.browsers import NEVER_A_PAGE
from rightcall.serve.limits import ServeLimits
from rightcall.serve.metrics import Metrics
from rightcall.serve.protocol import protocol_for
from rightcall.text.escape import escaped

_PATIENCE = 5.0
"""Seconds in which a further signal other than Ctrl-C means the same end: see `rightcall.cli.ending`."""

Ready = Callable[[str, int], None]
Stopping = Callable[[int], None]
"""Hears how many requests still run when the server begins to stop."""


def _nobody(*_: object) -> None:
    pass


class Running(uvicorn.Server):
    """One server on one bound socket. `heard` is the signal that has ended it."""

    def __init__(
        self,
        app: ASGIApp,
        bound: socket.socket,
        limits: ServeLimits,
        *,
        on_ready: Ready = _nobody,
        on_stopping: Stopping = _nobody,
        metrics: Metrics | None = None,
    ) -> None:
        protocol, crowd = protocol_for(limits, metrics.refused if metrics else _nobody)
        if metrics is not None:
            metrics.connections = crowd.__len__
        super().__init__(_config(app, protocol, limits))
        self.heard: int | None = None
        self._heard_at = 0.0
        self._bound = bound
        self._on_ready = on_ready
        self._on_stopping = on_stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:  # so newer versions of uvicorn tell it; what happened is in the log
            self.started = False
        if not self.started:
            raise ConfigError("the server did not start: see what was logged just before")
        host, port = self._bound.getsockname()[:2]
        self._on_ready(host, port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if running := len(self.server_state.tasks):
            self._on_stopping(running)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """uvicorn's would raise the signal once more in the end; we tell it by the exit code."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
        numbers = [number for name in names if (number := getattr(signal, name, None)) is not None]
        before = {number: signal.signal(number, self.handle_exit) for number in numbers if not _is_ignored(number)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        del frame
        if self.heard is None:
            self.heard, self._heard_at = sig, monotonic()
            self.should_exit = True
        elif sig == signal.SIGINT or monotonic() - self._heard_at > _PATIENCE:
            self.force_exit = True


def _is_ignored(number: int) -> bool:
    return signal.getsignal(number) == signal.SIG_IGN  # `nohup`


def _config(app: ASGIApp, protocol: type, limits: ServeLimits) -> uvicorn.Config:
    # what uvicorn has to say goes where ours goes
    logging.getLogger("uvicorn").parent = logging.getLogger("rightcall")
    return uvicorn.Config(
        app,
        http=protocol,
        headers=[(name.decode(), value.decode()) for name, value in NEVER_A_PAGE],
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        log_level=logging.ERROR,  # its warnings tell of every malformed request; those are counted instead
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,  # the upstream's passes through
        workers=1,
        backlog=2048,
        timeout_keep_alive=max(1, round(limits.keep_alive_seconds)),
        timeout_graceful_shutdown=cast("int", limits.grace_seconds),  # any number of seconds does
    )


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, or the reason why not in words that help."""
    if not 0 <= port <= 65_535:  # the system would take the rest of a division
        raise ConfigError(f"--port: {port} is no port; they go from 1 to 65535, and 0 takes any that is free")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as why:
        raise ConfigError(unbound(host, port, why)) from None


def unbound(host: str, port: int, why: OSError) -> str:
    """Why a port or an address cannot be had, and what can."""
    if why.errno == errno.EADDRINUSE:
        return f"--port: {port} is in use already; choose another one, or --port 0 for any that is free"
    if why.errno in (errno.EACCES, errno.EPERM):
        return f"--port: {port} needs special rights; choose one above 1023"
    told = why.strerror or type(why).__name__
    return f"--host: {escaped(host, 100)} is no address of this machine ({told}); 127.0.0.1 always is one"


def serve(
    app: ASGIApp,
    *,
    address: tuple[str, int] = ("127.0.0.1", 0),
    limits: ServeLimits | None = None,
    on_ready: Ready = _nobody,
    on_stopping: Stopping = _nobody,
    metrics: Metrics | None = None,
) -> int:
    """Serves until a signal comes, and returns the exit code: 128 and the signal's number, as shells count."""
    bound = bind(*address)
    try:
        server = Running(
            app, bound, limits or ServeLimits(), on_ready=on_ready, on_stopping=on_stopping, metrics=metrics
        )
        server.run(sockets=[bound])
    finally:
        bound.close()
    return 128 + server.heard if server.heard is not None else 0


@contextmanager
def running(
    app: ASGIApp, *, limits: ServeLimits | None = None, metrics: Metrics | None = None
) -> Generator[tuple[str, int]]:
    """Serves in a thread of its own, on any free port of 127.0.0.1, for as long as the `with` lasts."""
    bound = bind("127.0.0.1", 0)
    ready = threading.Event()
    failures: list[BaseException] = []

    def has_started(_host: str, _port: int) -> None:
        ready.set()

    server = Running(app, bound, limits or ServeLimits(), on_ready=has_started, metrics=metrics)

    def work() -> None:
        try:
            server.run(sockets=[bound])
        except BaseException as failure:  # noqa: BLE001  told to whoever started it
            failures.append(failure)
        finally:
            ready.set()

    thread = threading.Thread(target=work, name="rightcall-serve", daemon=True)
    thread.start()
    ready.wait()
    try:
        if failures:
            raise failures[0]
        yield bound.getsockname()[:2]
    finally:
        server.should_exit = True
        thread.join()
        bound.close()
