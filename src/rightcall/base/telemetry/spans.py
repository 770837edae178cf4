"""Spans and durations: one mechanism, and its twin that does nothing.

    telemetry = telemetry_for(policy.telemetry.enabled)
    with telemetry.tool("get_weather") as span:
        span.tell({"rightcall.decision": "allow"})

`Telemetry` and `Span` are the twins that do nothing: where telemetry is off, they are all there is, and nothing of
OpenTelemetry is loaded. `LiveTelemetry` and `LiveSpan` tell a `Backend`, and whoever counts for `/metrics`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from time import time_ns
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

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
Observe = Callable[[str, float, Attributes, Attributes], None]
"""Hears of a metric's name, seconds and labels, and of everything that was told."""

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

    @property
    def is_recorded(self) -> bool:
        """Whether somebody can see it; else only its time is counted."""
        return False

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
        if name != UNKNOWN_TOOL:
            told["gen_ai.tool.type"] = "function"
        if about:
            told["gen_ai.tool.description"] = about[:MOST_ABOUT]
        if call_id:
            told["gen_ai.tool.call.id"] = call_id[:_LONGEST_WHY]
        return LiveSpan(self, TOOL, f"{TOOL.operation} {name}", told, since=since)

    def serve(self, method: str, meta: Mapping[str, Any]) -> Span:
        parent, linked = (None, None) if self.backend is None else self.backend.origin(meta)
        return LiveSpan(self, SERVED, method, {METHOD: method}, origin=(parent, linked))

    def chat(self, provider: str, headers: Headers = ()) -> Span:
        told: dict[str, Value] = {OPERATION: CHAT.operation, "gen_ai.provider.name": provider or "unknown"}
        parent = None if self.backend is None else self.backend.incoming(headers)
        return LiveSpan(self, self._chat, CHAT.operation, told, origin=(parent, None))

    def route(self) -> Span:
        return LiveSpan(self, ROUTE, ROUTE.operation, {})

    def around(self, headers: Headers) -> Span:
        return NO_SPAN if self.backend is None else _Around(self.backend, self.backend.incoming(headers))

    def meta(self) -> dict[str, str]:
        return {} if self.backend is None else self.backend.meta(None)

    def counted(self, observe: Observe) -> Telemetry:
        return LiveTelemetry(self.backend, observe, content=self.content, chat=self._chat)


class LiveSpan(Span):
    """Attributes that come later are told at the end, all at once."""

    __slots__ = (
        "_context",
        "_is_over",
        "_later",
        "_name",
        "_of",
        "_recorder",
        "_since",
        "_token",
        "_within",
        "_work",
        "told",
    )
    is_live = True

    def __init__(
        self, of: LiveTelemetry, work: Work, name: str, told: dict[str, Value], *,
        origin: tuple[Any, Any] = (None, None), since: int = 0,
    ) -> None:  # fmt: skip
        """`origin` is the context it belongs to, and one that it is linked with."""
        context, linked = origin
        self._of = of
        self._work = work
        self._name = name
        self._context = context
        self.told = told
        self._later: dict[str, Value] = {}
        self._since = since or time_ns()
        self._is_over = False
        self._within: Any = None
        self._token: Any = None
        backend = of.backend
        self._recorder = None if backend is None else backend.start(name, work.kind, told, context, linked, self._since)

    def __enter__(self) -> Self:
        if self._of.backend is not None:
            self._token = self._of.backend.attach(self._inside())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._of.backend is not None and self._token is not None:
            self._of.backend.detach(self._token)
        if kind is not None and ERROR not in self._later:
            self.fail(kind.__name__)
        self.end()

    def tell(self, attributes: Attributes) -> None:
        self._later.update(attributes)

    @property
    def is_recorded(self) -> bool:
        return self._recorder is not None

    @property
    def wants_content(self) -> bool:
        return self._of.content and self._recorder is not None and self._recorder.is_recording()

    def tell_content(self, key: str, content: Any, redactor: Redactor | None = None, beside: Any = None) -> None:
        if self.wants_content:
            self._later[key] = _shown(content, redactor, beside)

    def aim(self, target: str) -> None:
        self._later[self._work.target] = target
        if self._recorder is not None:
            self._recorder.update_name(f"{self._name} {target}")

    def fail(self, kind: str, why: str = "") -> None:
        self._later[ERROR] = kind
        if self._recorder is not None and self._of.backend is not None:
            self._of.backend.fail(self._recorder, why[:_LONGEST_WHY])

    def child(self, name: str, since: int, attributes: Attributes, until: int = 0) -> None:
        if self._of.backend is not None:
            done = self._of.backend.start(name, "internal", attributes, self._inside(), None, since or self._since)
            done.end(until or None)

    def step(self, name: str) -> Span:
        return LiveSpan(self._of, Work(name, "internal"), name, {}, origin=(self._inside(), None))

    def inside(self) -> Span:
        return NO_SPAN if self._of.backend is None else _Around(self._of.backend, self._inside())

    def call(self, method: str, target: str = "") -> Span:
        told: dict[str, Value] = {METHOD: method}
        if target:
            told |= {TOOL_NAME: target, OPERATION: TOOL.operation}
        return LiveSpan(self._of, CALLED, f"{method} {target}".rstrip(), told, origin=(self._inside(), None))

    def meta(self) -> dict[str, str]:
        return {} if self._of.backend is None else self._of.backend.meta(self._inside())

    def headers(self, given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        return given if self._of.backend is None else self._of.backend.headers(self._inside(), given)

    def end(self) -> None:
        if self._is_over:
            return
        self._is_over, until = True, time_ns()
        of, later, recorder = self._of, self._later, self._recorder
        if recorder is not None:
            if later:
                recorder.set_attributes(later)
            recorder.end(until)
        metric = self._work.metric
        if metric:
            whole = self.told | later
            labels = {key: whole[key] for key in (*self._work.labels, ERROR) if key in whole}
            seconds = (until - self._since) / 1e9
            if of.backend is not None:
                of.backend.record(metric, seconds, labels)
                self._count_tokens(whole)
            if of.observe is not None:
                of.observe(metric, seconds, labels, whole)

    def _count_tokens(self, whole: Mapping[str, Value]) -> None:
        """What the model's server said that it took."""
        if not self._work.tokens or self._of.backend is None:
            return
        labels = {key: whole[key] for key in self._work.labels if key in whole}
        for kind, key in TOKEN_TYPES.items():
            if isinstance(number := whole.get(key), int):
                self._of.backend.record(self._work.tokens, number, labels | {"gen_ai.token.type": kind})

    def _inside(self) -> Any:
        if self._within is None and self._of.backend is not None and self._recorder is not None:
            self._within = self._of.backend.within(self._recorder, self._context)
        return self._within


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
