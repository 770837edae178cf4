"""The proxy as an ASGI application: one request of a client, to the model's server and back.

    untouched paths      bytes in, bytes out
    requests to models   the answer goes through the engine (`rightcall.proxy`), as it comes or as a whole

Whatever goes wrong with the server reaches the client as an error of its own API, for that request alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import monotonic

from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from rightcall.base.http.addresses import Headers, length_of
from rightcall.base.http.client import Incoming
from rightcall.base.http.errors import HttpError
from rightcall.errors import CallError
from rightcall.proxy.gates import Gates
from rightcall.proxy.options import Options, lifts
from rightcall.proxy.wire import FaultKind, Wire
from rightcall.proxy.wires import wires
from rightcall.serve.addresses import OWN, answered, forwarded
from rightcall.serve.answering import LARGE, Answering
from rightcall.serve.asking import Asking, Way
from rightcall.serve.callers import entered
from rightcall.serve.facts import Facts
from rightcall.serve.pages import is_page, told_of_page
from rightcall.serve.pupils import Pupils
from rightcall.serve.refusals import error_body
from rightcall.serve.upstream import Upstream

log = logging.getLogger("rightcall")

_NO_RETRY = ((b"x-should-retry", b"false"),)
"""What OpenAI's and Anthropic's own clients look for before they try again by themselves."""
_STATUS = {"timeout": 504, "internal": 500}


PAUSED = "All tool calls are paused by the operator. Do not retry; no model is asked until the operator resumes."


_ASKING_NOTHING = frozenset(("GET", "HEAD", "OPTIONS"))


class Paused(Exception):
    """The operator has paused all calls: no model is asked for one."""


class Gone(Exception):
    """The client has closed its connection."""


class Proxy:
    """Stands between clients and one upstream. `told` hears of every request when it is over; `paused` says whether
    the operator has stopped all calls."""

    def __init__(
        self, upstream: Upstream, gates: Gates, options: Options, *, told: Callable[[Facts], None] | None = None,
        paused: Callable[[], object | None] | None = None,
    ) -> None:  # fmt: skip
        self.upstream = upstream
        self.gates = gates
        self.options = options
        self.pupils = Pupils()
        self.streams = 0
        """How many are under way."""
        self._told = told
        self._paused = paused
        self._lifts = lifts(options, upstream.host)
        self._wires = wires()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = monotonic()
        wire = self._wire(scope)
        observe = self.options.observe or self.gates.watches
        facts = Facts(wire.name if wire else "passed", self.gates.provider, observe=observe)
        exchange = _Exchange(self, scope, receive, send, wire, facts)
        try:
            await exchange.run()
        except Gone:
            facts.fault = "gone"
        finally:
            facts.seconds = monotonic() - began
            if self._told is not None:
                self._told(facts)

    async def aclose(self) -> None:
        await self.upstream.aclose()

    def is_paused(self) -> bool:
        """Tools may be offered in ways that nobody reads here, and a model may write a call that nobody offered. So
        while calls are paused no model is asked anything."""
        return self._paused is not None and self._paused() is not None

    def _wire(self, scope: Scope) -> Wire | None:
        method, path = scope["method"], scope["path"]
        return next((wire for wire in self._wires if wire.is_for(method, path)), None)

    async def asking(self, wire: Wire, body: bytes, target: str, headers: Headers, facts: Facts) -> Asking | None:
        """What is done about a request to a model; None where there is nothing to do but pass it on."""
        asked = wire.asked(body)
        if asked is None:
            return None
        facts.model, facts.stream = asked.model, asked.stream
        tools = asked.tools
        if len(tools) > LARGE and not self.gates.knows(tools):  # others must not wait for it
            gate = await asyncio.to_thread(self.gates.of, tools)
        else:
            gate = self.gates.of(tools)
        if gate is None:
            return None
        way = Way(wire, self.upstream, target, headers, self._lifts, self.pupils)
        return Asking(way, replace(self.options, observe=facts.observe), asked, gate, body, facts)


class _Exchange:
    """One request."""

    def __init__(
        self, proxy: Proxy, scope: Scope, receive: Receive, send: Send, wire: Wire | None, facts: Facts
    ) -> None:
        self.proxy = proxy
        self.scope = scope
        self.receive = receive
        self.send = send
        self.wire = wire
        self.facts = facts
        self.begun = False

    async def run(self) -> None:
        body = await self._body()
        watch = asyncio.ensure_future(self.receive())  # the next message is that the client has gone
        task = asyncio.current_task()
        watch.add_done_callback(lambda done: task.cancel("gone") if task and not done.cancelled() else None)
        try:
            await self._answer(body)
        except HttpError as error:
            await self._fail(error.kind if error.kind != "tls" else "unreachable", str(error))
        except Paused:
            await self._fail("refused", PAUSED, 503)
            self.facts.fault = "paused"
        except CallError as error:
            await self._fail("refused", str(error), 400)
        except asyncio.CancelledError as why:
            if "gone" in why.args:
                raise Gone from None
            raise
        except Exception:  # an error of ours must not leave the client without an answer
            log.exception("rightcall: a request failed")
            await self._fail("internal", "RightCall could not handle this request; its log says more")
        finally:
            watch.cancel()

    async def _answer(self, body: bytes) -> None:
        if self.scope["method"] not in _ASKING_NOTHING and self.proxy.is_paused():
            raise Paused
        given = self.scope["headers"]
        self.facts.caller = entered(self.scope).caller
        headers = [header for header in given if not header[0].startswith(OWN)]
        target = _target(self.scope)
        asking = None
        if self.wire is not None:
            plain = forwarded(headers, plain=True)
            asking = await self.proxy.asking(self.wire, body, target, plain, self.facts)
        if asking is None:
            upstream = self.proxy.upstream
            incoming = await upstream.send(self.scope["method"], target, forwarded(headers, plain=False), body)
            await self.pass_on(incoming)
            return
        await Answering(self, asking).run()

    # ── the client ───────────────────────────────────────────────────────────────────────────────────────────────

    async def _body(self) -> bytes:
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise Gone
        if not message.get("more_body"):
            return message.get("body", b"")
        pieces = [message.get("body", b"")]
        while message.get("more_body"):
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Gone
            pieces.append(message.get("body", b""))
        return b"".join(pieces)

    @property
    def upstream(self) -> str:
        return self.proxy.upstream.host

    def streaming(self, change: int) -> None:
        self.proxy.streams += change

    async def start(self, status: int, headers: Headers) -> None:
        self.begun = True
        self.facts.status = status
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def end(self, data: bytes = b"") -> None:
        await self.send({"type": "http.response.body", "body": data})

    async def pass_on(self, incoming: Incoming) -> None:
        """Byte for byte; but no client of a model's API can read a page for people."""
        try:
            if self.wire is not None and is_page(incoming):
                await self._fail(
                    "broken", await told_of_page(incoming), incoming.status if incoming.status > 399 else 502
                )
                return
            await self.start(incoming.status, answered(incoming.headers))
            send, read = self.send, incoming.read
            while data := await read():
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await self.end()
        finally:
            incoming.release()

    async def _fail(self, kind: FaultKind, message: str, status: int = 502) -> None:
        """The error, as clients of this API read it. In the middle of bytes that pass untouched nothing can be said:
        the connection is cut, so that nobody takes a half for the whole."""
        self.facts.fault = kind
        if not self.begun:
            status = _STATUS.get(kind, status)
            body = self.wire.error(status, kind, message) if self.wire else error_body(status, kind, message)
            headers = [(b"content-type", b"application/json"), length_of(body)]
            await self.start(status, [*headers, *_NO_RETRY] if message is PAUSED else headers)
            await self.end(body)
        else:  # to return without an end cuts the connection
            log.warning("rightcall: an answer was cut off: %s", message)


def _target(scope: Scope) -> str:
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope.get("query_string") or b""
    return (raw + b"?" + query if query else raw).decode("latin-1")
