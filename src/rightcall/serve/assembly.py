"""The server, put together from its parts: proxy, audit, counts, access."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict
from starlette.types import ASGIApp, Receive, Scope, Send

from rightcall import __version__
from rightcall.base.http.client import HttpLimits
from rightcall.config import Policy
from rightcall.executor_policy import PolicyInForce
from rightcall.proxy.gates import Gates
from rightcall.proxy.options import Options, provider_of
from rightcall.serve.access import Access
from rightcall.serve.app import Entrance, Health, Span, build_app
from rightcall.serve.callers import Callers
from rightcall.serve.exchange import Proxy
from rightcall.serve.facts import Facts
from rightcall.serve.metrics import Metrics, added
from rightcall.serve.policy_watch import PolicyWatch
from rightcall.serve.recording import Recording
from rightcall.serve.upstream import Upstream
from rightcall.trust.stops import stopped

if TYPE_CHECKING:
    from rightcall.serve.mcp import Endpoint

log = logging.getLogger("rightcall")

MCP_PATH = "/mcp"

Watcher = Callable[[Facts], None]


class Service(Struct, frozen=True):
    """What can be served."""

    app: ASGIApp
    proxy: Proxy
    metrics: Metrics


class Parts(Struct, frozen=True):
    """What a server has besides its upstream and its policy; each may be missing."""

    recording: Recording | None = None
    """Keeps the audit, and is closed with the server."""
    callers: Callers | None = None
    """Knows the tokens of callers; None: those beside the audit."""
    watcher: Watcher | None = None
    """Hears of every request."""
    mcp: Endpoint | None = None
    """The gateway's, which is served at /mcp and closed with the server."""
    limits: HttpLimits | None = None


_NO_PARTS = Parts()


def assemble(
    url: str, policy: Policy | PolicyInForce, options: Options, access: Access, parts: Parts = _NO_PARTS, *,
    provider: str | None = None,
) -> Service:  # fmt: skip
    """A server in front of the upstream at `url`. A policy that is given as the one in force may change while it
    runs."""
    recording, callers, mcp = parts.recording, parts.callers, parts.mcp
    upstream = Upstream(url, parts.limits)
    provider = provider or provider_of(upstream.host, is_local=upstream.is_local)
    in_force = policy if isinstance(policy, PolicyInForce) else PolicyInForce(policy)
    rules = _Rules(in_force, options, provider, recording)
    metrics = Metrics(lambda: {provider: rules.statistics(proxy)})
    if recording is not None:
        callers = callers or Callers(recording.store)
        metrics.audit_failures = lambda: recording.failures + recording.lost
    paused = stopped if recording is None else recording.paused
    hooks = [partial(count, metrics)]
    hooks += [] if recording is None else [recording.told]
    hooks += [] if parts.watcher is None else [parts.watcher]

    async def stop_recording() -> None:
        if recording is not None:
            await asyncio.to_thread(recording.stop)

    def state() -> dict[str, Any]:
        audit = asdict(recording.state) if recording is not None else None
        held = paused()
        ready = audit is None or audit["ok"]
        servers = {} if mcp is None else mcp.gateway.state()
        if mcp is not None and audit is not None:
            audit["recorded"] += mcp.gateway.recorded
        ready = ready and all(one["state"] == "ready" for one in servers.values())
        said: dict[str, Any] = {"ready": ready, "audit": audit}
        said |= {} if held is None else {"paused": {"since": held.since}}
        return said if mcp is None else said | {"mcp": servers}

    async def under_the_policy_of_now(scope: Scope, receive: Receive, send: Send) -> None:
        watch.look()
        await proxy(scope, receive, send)

    proxy = Proxy(upstream, rules.gates(), options, told=partial(_tell, hooks), paused=paused)
    watch = PolicyWatch(in_force, lambda new: rules.take(new, proxy), rules.note)
    metrics.streams = lambda: proxy.streams
    about = {"version": __version__, "upstream": upstream.host, "provider": provider}
    span = Span(
        opening=[] if mcp is None else [mcp.gateway.start],
        closing=[stop_recording, proxy.aclose, *([] if mcp is None else [mcp.aclose])],
    )
    app = build_app(
        Entrance(access, callers), metrics, Health(about, state), proxy=under_the_policy_of_now,
        beside={} if mcp is None else {MCP_PATH: mcp}, span=span,
    )  # fmt: skip
    return Service(app, proxy, metrics)


class _Rules:
    """What follows from the policy in force, and changes with it."""

    def __init__(self, in_force: PolicyInForce, options: Options, provider: str, recording: Recording | None) -> None:
        self._in_force = in_force
        self._options = options
        self._provider = provider
        self._recording = recording
        self._earlier: Mapping[str, Any] = {"tools": {}}
        """The counts of the gates of earlier policies."""

    def gates(self, policy: Policy | None = None) -> Gates:
        return Gates(policy or self._in_force.current, self._provider, pass_unknown=self._options.retry == 0)

    def take(self, policy: Policy, proxy: Proxy) -> None:
        gates, old = self.gates(policy), proxy.gates
        proxy.gates = gates
        self._earlier = added(self._earlier, old.stats())
        if self._recording is not None:
            self._recording.under(policy)

    def note(self, what: str, policy: Policy, problem: str | None) -> None:
        if self._recording is not None:
            self._recording.note_policy(what, policy, problem)

    def statistics(self, proxy: Proxy) -> Mapping[str, Any]:
        return added(self._earlier, proxy.gates.stats())


def _tell(hooks: Iterable[Watcher], facts: Facts) -> None:
    """The answer is right, whatever is wrong with telling of it."""
    for hook in hooks:
        try:
            hook(facts)
        except Exception:
            log.exception("rightcall: a request could not be counted, recorded or told")


def count(metrics: Metrics, facts: Facts) -> None:
    """One request in the figures."""
    metrics.request(facts.wire, facts.status, facts.seconds)
    for did in facts.did:
        if did.fate in ("repaired", "lifted", "left"):
            watched = did.fate != "left" and (facts.observe or did.verdict.mode == "observe")
            metrics.changed("observed" if watched else did.fate)
    if facts.retries:
        metrics.changed("retried", facts.retries)
    if facts.taught:
        metrics.changed("taught")
    if facts.fault in ("unreachable", "timeout", "broken", "too_large"):
        metrics.upstream_failed(facts.fault)
