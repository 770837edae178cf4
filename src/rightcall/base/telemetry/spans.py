"""Spans and durations: one mechanism, and its twin that does nothing.

    telemetry = telemetry_for(policy.telemetry.enabled)
    with telemetry.tool("get_weather") as span:
        span.tell({"rightcall.decision": "allow"})

`Telemetry` and `Span` are the twins that do nothing: where telemetry is off, they are all there is, and nothing of
OpenTelemetry is loaded. `LiveTelemetry` and `LiveSpan` tell a `Backend`, and whoever counts for `/metrics`; without a
backend it is a `CountedSpan`, which costs little.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from time import time_ns
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, cast

from rightcall.base.telemetry.conventions import (
    CALLED,
    CHAT,
    ERROR,
    METHOD,
    OPERATION,
    ROUTE,
    SERVED,
    TOKEN_TYPES,
    TOOL,
    TOOL_NAME,
    UNKNOWN_TOOL,
    Attributes,
    SpanKindName,
    Value,
    Work,
    captures_content,
    chat_work,
    is_wanted,
)

if TYPE_CHECKING:
    from rightcall.base.secrets import Redactor

Headers = Iterable[tuple[bytes, bytes]]
Observe = Callable[[Work, float, Attributes], None]
"""Hears of the kind of work that is over, of its seconds, and of everything that was told."""

MOST_CONTENT: Final = 16_000
"""Characters of arguments or of a result in a span."""
MOST_ABOUT: Final = 1000
"""Characters of a tool's description in a span."""
_LONGEST_WHY: Final = 200


class Span:
    """One piece of work that nobody follows: every method does nothing. As a context it is what further work belongs
    to, and it ends with it."""

    __slots__ = ()
    is_live = False
    is_recorded = False
    """Whether somebody can see it; of one that is only live, the time and few attributes are counted."""

    @property
    def wants_content(self) -> bool:
        """Whether what `tell_content` is told would be told on."""
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        pass

    def tell(self, attributes: Attributes) -> None:
        """What else is known of it."""

    def tell_content(self, key: str, content: Any, redactor: Redactor | None = None, beside: Any = None) -> None:
        """What a person or a model wrote, or a tool gave: told only where that is asked for, and never with secrets.
        What is secret by its name in `beside`, the arguments of a call, is hidden wherever it is repeated."""

    def aim(self, target: str) -> None:
        """What it turned out to be about, such as the tool that was meant."""

    def fail(self, kind: str, why: str = "") -> None:
        """It did not succeed: `kind` is one of few words."""

    def child(self, name: str, since: int, attributes: Attributes, until: int = 0) -> None:
        """Work within this one that is over already; `since` and `until` are of `Telemetry.now`: 0 means that it began
        with this one, or ends now."""

    def step(self, name: str) -> Span:
        """A part of it that others belong to; nothing is measured of it."""
        del name
        return self

    def inside(self) -> Span:
        """As a context, what is done within this work and does not end it: a part of what comes in pieces."""
        return self

    def call(self, method: str, target: str = "") -> Span:
        """A request to an MCP server, made for this work."""
        del method, target
        return self

    def meta(self) -> dict[str, str]:
        """What tells the receiver of an MCP request which work it belongs to, for its `_meta`."""
        return {}

    def headers(self, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """The headers of a request that belongs to this work."""
        return given

    def end(self) -> None:
        """It is over. A second time changes nothing."""


NO_SPAN: Final = Span()


class Telemetry:
    """Follows nothing."""

    is_on = False
    missing: str = ""
    """The package without which nothing is followed although somebody asks for it."""

    def now(self) -> int:
        """The time, for work that is told of when it is over."""
        return 0

    def tool(self, name: str, since: int = 0, call_id: str | None = None, about: str = "") -> Span:
        """A tool is called here; `about` is its description."""
        del name, since, call_id, about
        return NO_SPAN

    def serve(self, method: str, meta: Mapping[str, Any]) -> Span:
        """A client's MCP request. It belongs to what its `_meta` names, and is linked with the HTTP request around
        it."""
        del method, meta
        return NO_SPAN

    def chat(self, provider: str, headers: Headers = ()) -> Span:
        """A request to a model, which belongs to what the client's headers name."""
        del provider, headers
        return NO_SPAN

    def route(self) -> Span:
        """A request that a router answers."""
        return NO_SPAN

    def around(self, headers: Headers) -> Span:
        """An HTTP request, whose own span is somebody else's."""
        del headers
        return NO_SPAN

    def meta(self) -> dict[str, str]:
        """What tells the receiver of an MCP request which work it belongs to: what is being done now."""
        return {}

    def counted(self, observe: Observe) -> Telemetry:
        """The same, of which every duration is told as well."""
        return LiveTelemetry(None, observe)


OFF: Final = Telemetry()


class Recorder(Protocol):
    """A span of OpenTelemetry's API, as far as it is used here."""

    def is_recording(self) -> bool: ...
    def set_attributes(self, attributes: Attributes) -> None: ...
    def update_name(self, name: str) -> None: ...
    def end(self, end_time: int | None = None) -> None: ...


class Backend(Protocol):
    """What is OpenTelemetry's: `otel.py`. A context is what its API calls so."""

    def start(
        self, name: str, kind: SpanKindName, attributes: Attributes, context: Any, linked: Any, since: int | None
    ) -> Recorder: ...
    def within(self, recorder: Recorder, context: Any) -> Any: ...
    def attach(self, context: Any) -> Any: ...
    def detach(self, token: Any) -> None: ...
    def fail(self, recorder: Recorder, why: str) -> None: ...
    def origin(self, meta: Mapping[str, Any]) -> tuple[Any, Any]: ...
    def incoming(self, headers: Headers) -> Any: ...
    def meta(self, context: Any) -> dict[str, str]: ...
    def headers(self, context: Any, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]: ...
    def record(self, metric: str, value: float, labels: Attributes) -> None: ...


class LiveTelemetry(Telemetry):
    """Follows work: to a backend, where there is one, and to whoever observes durations."""

    is_on = True

    def __init__(
        self, backend: Backend | None, observe: Observe | None = None, *, content: bool = False, chat: Work = CHAT
    ) -> None:
        self.backend = backend
        self.observe = observe
        self.content = content
        self._chat = chat

    def now(self) -> int:
        return time_ns()

    def tool(self, name: str, since: int = 0, call_id: str | None = None, about: str = "") -> Span:
        told: dict[str, Value] = {OPERATION: TOOL.operation, TOOL_NAME: name}
        if self.backend is None:
            return CountedSpan(self, TOOL, told, since)
        if name != UNKNOWN_TOOL:
            told["gen_ai.tool.type"] = "function"
        if about:
            told["gen_ai.tool.description"] = about[:MOST_ABOUT]
        if call_id:
            told["gen_ai.tool.call.id"] = call_id[:_LONGEST_WHY]
        return LiveSpan(self, TOOL, f"{TOOL.operation} {name}", told, since=since)

    def serve(self, method: str, meta: Mapping[str, Any]) -> Span:
        if self.backend is None:
            return CountedSpan(self, SERVED, {METHOD: method})
        origin = self.backend.origin(meta)
        return LiveSpan(self, SERVED, method, {METHOD: method}, origin=origin)

    def chat(self, provider: str, headers: Headers = ()) -> Span:
        told: dict[str, Value] = {OPERATION: CHAT.operation, "gen_ai.provider.name": provider or "unknown"}
        if self.backend is None:
            return CountedSpan(self, self._chat, told)
        origin = (self.backend.incoming(headers), None)
        return LiveSpan(self, self._chat, CHAT.operation, told, origin=origin)

    def route(self) -> Span:
        if self.backend is None:
            return CountedSpan(self, ROUTE, {})
        return LiveSpan(self, ROUTE, ROUTE.operation, {})

    def around(self, headers: Headers) -> Span:
        return NO_SPAN if self.backend is None else _Around(self.backend, self.backend.incoming(headers))

    def meta(self) -> dict[str, str]:
        return {} if self.backend is None else self.backend.meta(None)

    def counted(self, observe: Observe) -> Telemetry:
        return LiveTelemetry(self.backend, observe, content=self.content, chat=self._chat)


class CountedSpan(Span):
    """Work that nobody follows, and whose duration somebody counts."""

    __slots__ = ("_of", "_since", "_until", "_work", "told")
    is_live = True

    def __init__(self, of: LiveTelemetry, work: Work, told: dict[str, Value], since: int = 0) -> None:
        self._of = of
        self._work = work
        self.told = told
        self._since = since or time_ns()
        self._until = 0
        """0 as long as it is not over."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is not None and ERROR not in self.told:
            self.fail(kind.__name__)
        self.end()

    def tell(self, attributes: Attributes) -> None:
        self.told.update(attributes)

    def aim(self, target: str) -> None:
        self.told[self._work.target] = target

    def fail(self, kind: str, why: str = "") -> None:
        del why
        self.told[ERROR] = kind

    def step(self, name: str) -> Span:
        return CountedSpan(self._of, Work(name, "internal"), {})

    def inside(self) -> Span:
        return NO_SPAN

    def call(self, method: str, target: str = "") -> Span:
        return CountedSpan(self._of, CALLED, _call_told(method, target))

    def end(self) -> None:
        if not self._until:
            self._until = time_ns()
            if self._work.metric and self._of.observe is not None:
                self._of.observe(self._work, (self._until - self._since) / 1e9, self.told)


class LiveSpan(CountedSpan):
    """Work that a backend follows. Attributes that come later are told at the end, all at once."""

    __slots__ = ("_backend", "_context", "_later", "_name", "_recorder", "_token", "_within")
    is_recorded = True

    def __init__(
        self, of: LiveTelemetry, work: Work, name: str, told: dict[str, Value], *,
        origin: tuple[Any, Any] = (None, None), since: int = 0,
    ) -> None:  # fmt: skip
        """`origin` is the context it belongs to, and one that it is linked with."""
        super().__init__(of, work, told, since)
        backend = self._backend = cast("Backend", of.backend)
        self._name = name
        self._context, linked = origin
        self._later: dict[str, Value] = {}
        self._within: Any = None
        self._token: Any = None
        self._recorder = backend.start(name, work.kind, told, self._context, linked, self._since)

    def __enter__(self) -> Self:
        self._token = self._backend.attach(self._inside())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._token is not None:
            self._backend.detach(self._token)
        super().__exit__(kind, error, trace)

    def tell(self, attributes: Attributes) -> None:
        self._later.update(attributes)
        self.told.update(attributes)

    @property
    def wants_content(self) -> bool:
        return self._of.content and self._recorder.is_recording()

    def tell_content(self, key: str, content: Any, redactor: Redactor | None = None, beside: Any = None) -> None:
        if self.wants_content:
            self._later[key] = _shown(content, redactor, beside)

    def aim(self, target: str) -> None:
        self.tell({self._work.target: target})
        self._recorder.update_name(f"{self._name} {target}")

    def fail(self, kind: str, why: str = "") -> None:
        self.tell({ERROR: kind})
        self._backend.fail(self._recorder, why[:_LONGEST_WHY])

    def child(self, name: str, since: int, attributes: Attributes, until: int = 0) -> None:
        done = self._backend.start(name, "internal", attributes, self._inside(), None, since or self._since)
        done.end(until or None)

    def step(self, name: str) -> Span:
        return self._within_this(Work(name, "internal"), name, {})

    def inside(self) -> Span:
        return _Around(self._backend, self._inside())

    def call(self, method: str, target: str = "") -> Span:
        return self._within_this(CALLED, f"{method} {target}".rstrip(), _call_told(method, target))

    def meta(self) -> dict[str, str]:
        return self._backend.meta(self._inside())

    def headers(self, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        return self._backend.headers(self._inside(), given)

    def end(self) -> None:
        if self._until:
            return
        super().end()
        if self._later:
            self._recorder.set_attributes(self._later)
        self._recorder.end(self._until)
        work, told = self._work, self.told
        if not work.metric:
            return
        labels = {key: told[key] for key in work.labels if key in told}
        failed = {ERROR: told[ERROR]} if ERROR in told else {}
        self._backend.record(work.metric, (self._until - self._since) / 1e9, labels | failed)
        for kind, key in TOKEN_TYPES.items() if work.tokens else ():  # what the model's server said that it took
            if isinstance(number := told.get(key), int):
                self._backend.record(work.tokens, number, labels | {"gen_ai.token.type": kind})

    def _within_this(self, work: Work, name: str, told: dict[str, Value]) -> LiveSpan:
        return LiveSpan(self._of, work, name, told, origin=(self._inside(), None))

    def _inside(self) -> Any:
        if self._within is None:
            self._within = self._backend.within(self._recorder, self._context)
        return self._within


def _call_told(method: str, target: str) -> dict[str, Value]:
    return {METHOD: method, TOOL_NAME: target, OPERATION: TOOL.operation} if target else {METHOD: method}


def _shown(content: Any, redactor: Redactor | None, beside: Any) -> str:
    """As JSON, without secrets, and cut where it is long."""
    from rightcall.base.secrets import Redactor  # late: few ask for content
    from rightcall.base.text import render_json

    return render_json((redactor or Redactor(os.urandom(32))).beside(content, beside), MOST_CONTENT)


class _Around(Span):
    """What is current while a request is answered whose own span is somebody else's."""

    __slots__ = ("_backend", "_context", "_token")

    def __init__(self, backend: Backend, context: Any) -> None:
        self._backend = backend
        self._context = context
        self._token: Any = None

    def __enter__(self) -> Self:
        if self._context is not None:
            self._token = self._backend.attach(self._context)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._token is not None:
            self._backend.detach(self._token)


def telemetry_for(said: bool | None) -> Telemetry:
    """As the policy (`[telemetry] enabled`) and the environment say. Where the package is missing nothing is followed,
    and the log says so where the policy asks for it: in a program the variables may be meant for others. A command
    says it in any case, in `start_exporting`."""
    if not is_wanted(said, os.environ):
        return OFF
    try:
        from rightcall.base.telemetry.otel import open_backend  # late: nobody pays for it where telemetry is off
    except ImportError as missing:
        if said:
            from logging import getLogger  # late: as above

            getLogger("rightcall").warning(
                "telemetry is off: %s is not installed. Run: pip install 'rightcall[otel]'", missing.name
            )
        off = Telemetry()
        off.missing = missing.name or "opentelemetry"
        return off
    return LiveTelemetry(open_backend(), content=captures_content(os.environ), chat=chat_work(os.environ))
