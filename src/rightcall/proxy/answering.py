"""One answer of a model on its way to the client: the bytes that come, and the bytes that leave."""

from __future__ import annotations

from rightcall.proxy.events import Event
from rightcall.proxy.flow import Flow
from rightcall.proxy.wire import StreamWire, Usage


class Editor:
    """A stream of an answer. What leaves is what came, except where the flow decided otherwise."""

    def __init__(self, wire: StreamWire, flow: Flow) -> None:
        self.wire = wire
        self.flow = flow
        self.extra: Usage | None = None
        """Tokens of other tries, for the event that tells them."""
        self.changed = False

    def feed(self, data: bytes) -> bytes:
        """More of the answer. Raises framing.TooLong."""
        take, read = self.flow.take, self.wire.read
        for raw in self.wire.framing.feed(data):
            take(read(raw))
        return self.ready()

    def ready(self) -> bytes:
        """What can leave now."""
        events = self.flow.ready()
        if not events:
            return b""
        return b"".join([self._write(event) for event in events])

    def close(self) -> bytes:
        """The answer is over, or the server is gone: what is held leaves."""
        self.flow.end()
        return self.ready() + self.wire.framing.rest()

    def _write(self, event: Event) -> bytes:
        if not event.same:
            self.changed = True
        return self.wire.write(event, self.extra)
