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
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from rightcall.errors import CallError
from rightcall.proxy import report
from rightcall.proxy.answering import Editor
from rightcall.proxy.events import Event
from rightcall.proxy.flow import Flow
from rightcall.proxy.framing import TooLong
from rightcall.proxy.gates import Gates
from rightcall.proxy.ignored import refused_tools
from rightcall.proxy.options import Options, lifts
from rightcall.proxy.wire import FaultKind, Wire
from rightcall.proxy.wires import wires
from rightcall.proxy.wires.common import plus
from rightcall.serve.addresses import Headers, answered, forwarded
from rightcall.serve.answers import error_body
from rightcall.serve.asking import Asking, Pupils, replacement
from rightcall.serve.facts import Facts
from rightcall.serve.incoming import Incoming
from rightcall.serve.upstream import Upstream
from rightcall.serve.upstream_errors import UpstreamError

log = logging.getLogger("rightcall")

OWN = b"x-rightcall"
"""The beginning of the headers that are between the client and us."""

_STATUS = {"timeout": 504, "internal": 500}
_STREAMS = (b"text/event-stream", b"application/x-ndjson", b"application/jsonl", b"application/stream+json")


class Gone(Exception):
    """The client has closed its connection."""


class Proxy:
    """Stands between clients and one upstream. `told` hears of every request when it is over."""

    def __init__(
        self, upstream: Upstream, gates: Gates, options: Options, *, told: Callable[[Facts], None] | None = None
    ) -> None:
        self.upstream = upstream
        self.gates = gates
        self.options = options
        self.pupils = Pupils()
        self.streams = 0
        """How many are under way."""
        self._told = told
        self._lifts = lifts(options, upstream.host)
        self._wires = wires()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = monotonic()
        wire = self._wire(scope)
        facts = Facts(wire.name if wire else "passed", self.gates.provider, observe=self.options.observe)
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

    def _wire(self, scope: Scope) -> Wire | None:
        method, path = scope["method"], scope["path"]
        return next((wire for wire in self._wires if wire.is_for(method, path)), None)

    def asking(self, wire: Wire, body: bytes, target: str, headers: Headers, facts: Facts) -> Asking | None:
        """What is done about a request to a model; None where there is nothing to do but pass it on."""
        asked = wire.asked(body)
        if asked is None:
            return None
        facts.model, facts.stream = asked.model, asked.stream
        gate = self.gates.of(asked.tools)
        if gate is None:
            return None
        return Asking(
            wire, asked, gate, body, upstream=self.upstream, target=target, headers=headers, options=self.options,
            lift=self._lifts, pupils=self.pupils, facts=facts,
        )  # fmt: skip


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
        except UpstreamError as error:
            await self._fail(error.kind if error.kind != "tls" else "unreachable", str(error))
        except TooLong:
            await self._fail("too_large", f"{self.proxy.upstream.host} sent an event that does not end")
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
        given = self.scope["headers"]
        self.facts.caller = report.caller_of(_header(given, report.CALLER_HEADER) or None)
        headers = [header for header in given if not header[0].startswith(OWN)]
        target = _target(self.scope)
        asking = None
        if self.wire is not None:
            plain = forwarded(headers, plain=True)
            asking = self.proxy.asking(self.wire, body, target, plain, self.facts)
        if asking is None:
            upstream = self.proxy.upstream
            incoming = await upstream.send(self.scope["method"], target, forwarded(headers, plain=False), body)
            await self._pass(incoming)
            return
        await _Answering(self, asking).run()

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

    async def start(self, status: int, headers: Headers) -> None:
        self.begun = True
        self.facts.status = status
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def end(self, data: bytes = b"") -> None:
        await self.send({"type": "http.response.body", "body": data})

    async def _pass(self, incoming: Incoming) -> None:
        """Byte for byte."""
        try:
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
            await self.start(status, [(b"content-type", b"application/json"), _length(body)])
            await self.end(body)
        else:  # to return without an end cuts the connection
            log.warning("rightcall: an answer was cut off: %s", message)


class _Answering:
    """An answer of a model on its way to the client."""

    def __init__(self, exchange: _Exchange, asking: Asking) -> None:
        self.exchange = exchange
        self.asking = asking
        self.wire = asking.wire
        self.facts = exchange.facts

    async def run(self) -> None:
        incoming = await self.asking.first()
        try:
            if incoming.status >= 400 and self.asking.may_teach and self.asking.asked.choice != "none":
                incoming = await self._refused(incoming)
                if incoming is None:
                    return
            if incoming.status < 300 and await self.asking.is_untold(incoming):
                incoming.release()
                incoming = await self.asking.teach()
            kind = _header(incoming.headers, b"content-type").partition(b";")[0].strip().lower()
            if incoming.status >= 300 or _header(incoming.headers, b"content-encoding") not in (b"", b"identity"):
                await self.exchange._pass(incoming)  # pyright: ignore[reportPrivateUsage]
            elif kind in _STREAMS:
                proxy = self.exchange.proxy
                proxy.streams += 1
                try:
                    await self._stream(incoming)
                finally:
                    proxy.streams -= 1
            else:
                await self._whole(incoming)
        finally:
            if incoming is not None:
                incoming.release()

    async def _refused(self, incoming: Incoming) -> Incoming | None:
        """An error: where the server says that it knows no tools, the model is taught. None when it was passed on."""
        body = await incoming.read_all()
        incoming.release()
        if refused_tools(incoming.status, body):
            self.asking.note_refusal()
            return await self.asking.teach()
        headers = [header for header in answered(incoming.headers) if header[0] != b"content-length"]
        await self.exchange.start(incoming.status, [*headers, _length(body)])
        await self.exchange.end(body)
        return None

    # ── whole answers ────────────────────────────────────────────────────────────────────────────────────────────

    async def _whole(self, incoming: Incoming) -> None:
        raw = await incoming.read_all()
        answer = _decoded(raw)
        event = self.wire.whole(answer) if answer is not None else None
        headers = [header for header in answered(incoming.headers) if header[0] != b"content-length"]
        if event is None:
            await self._send_whole(incoming.status, headers, raw)
            return
        flow = self.asking.flow()
        flow.take(event)
        result = (answer, event, flow)
        if flow.broken:
            spent = self.wire.usage(answer)
            other = await self.asking.redone(flow)
            if other is None:
                flow.give_up()
            else:
                result = other
            self.asking.spent = plus(self.asking.spent, spent) if other is not None else self.asking.spent
        elif self.asking.note_ignored(flow, self.wire.usage(answer)):
            other = await self.asking.taught_whole()
            if other is not None:
                self.asking.spent = plus(self.asking.spent, self.wire.usage(answer))
                result = other
        self.facts.did = result[2].did
        if result[0] is not answer or not event.same:
            written = self.wire.written(result[1])
            raw = msgspec.json.encode(self.wire.with_usage(written, self.asking.spent))
        await self._send_whole(incoming.status, headers, raw)

    async def _send_whole(self, status: int, headers: Headers, body: bytes) -> None:
        facts = self.facts
        told = report.header(facts.did, retries=facts.retries, taught=facts.taught, observe=facts.observe)
        own = [(OWN, told.encode())] if told else []
        await self.exchange.start(status, [*headers, *own, _length(body)])
        await self.exchange.end(body)

    # ── streams ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def _stream(self, incoming: Incoming) -> None:
        flow = self.asking.flow()
        editor = Editor(self.wire.stream(), flow)
        headers = [header for header in answered(incoming.headers) if header[0] != b"content-length"]
        if self.facts.taught:
            headers.append((OWN, b"taught=1"))
        await self.exchange.start(incoming.status, headers)
        send, feed, read = self.exchange.send, editor.feed, incoming.read
        try:
            while data := await read():
                if out := feed(data):
                    await send({"type": "http.response.body", "body": out, "more_body": True})
            if flow.unended:
                host = self.exchange.proxy.upstream.host
                await self._break_off(editor, "broken", f"{host} ended its answer without the end that its API has")
                return
            if flow.broken:
                self._replace(editor, await self.asking.redone(flow))
            elif flow.uncalled or not flow.calls:
                ignored = self.asking.note_ignored(flow, editor.wire.usage)
                if flow.uncalled:
                    self._replace(editor, await self.asking.taught_whole() if ignored else None)
        except UpstreamError as error:
            await self._break_off(editor, error.kind if error.kind != "tls" else "unreachable", str(error))
            return
        except TooLong:
            host = self.exchange.proxy.upstream.host
            await self._break_off(editor, "too_large", f"{host} sent an event that does not end")
            return
        self.facts.did = flow.did
        rest = editor.close()
        await self.exchange.end(rest + self._comment(editor))

    def _replace(self, editor: Editor, other: tuple[Any, Event, Flow] | None) -> None:
        """Another answer in place of what is held; None where there is none."""
        if other is None:
            editor.flow.give_up()
            return
        answer, event, better = other
        editor.flow.replace(*replacement(event, better))
        editor.extra = plus(self.asking.spent, self.wire.usage(answer))

    async def _break_off(self, editor: Editor, kind: FaultKind, message: str) -> None:
        self.facts.fault = kind
        rest = editor.break_off()
        self.facts.did = editor.flow.did
        await self.exchange.end(rest + self.wire.stream_error(kind, message))

    def _comment(self, editor: Editor) -> bytes:
        if not editor.changed or self.wire.name == "ollama":  # lines of JSON have no comments
            return b""
        facts = self.facts
        return report.comment(facts.did, retries=facts.retries, taught=facts.taught, observe=facts.observe)


def _target(scope: Scope) -> str:
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope.get("query_string") or b""
    return (raw + b"?" + query if query else raw).decode("latin-1")


def _header(headers: Headers, name: bytes) -> bytes:
    return next((value for key, value in headers if key == name), b"")


def _length(body: bytes) -> tuple[bytes, bytes]:
    return (b"content-length", b"%d" % len(body))


def _decoded(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
