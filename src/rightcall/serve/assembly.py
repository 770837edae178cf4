"""The server, put together from its parts: proxy, audit, counts, access."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict
from starlette.types import ASGIApp

from rightcall import __version__
from rightcall.config import Policy
from rightcall.proxy.gates import Gates
from rightcall.proxy.options import Options, provider_of
from rightcall.serve.access import Access
from rightcall.serve.app import build_app
from rightcall.serve.exchange import Proxy
from rightcall.serve.facts import Facts
from rightcall.serve.limits import UpstreamLimits
from rightcall.serve.metrics import Metrics
from rightcall.serve.recording import Recording
from rightcall.serve.upstream import Upstream

Watcher = Callable[[Facts], None]


class Service(Struct, frozen=True):
    """What can be served."""

    app: ASGIApp
    proxy: Proxy
    metrics: Metrics


def assemble(
    url: str,
    policy: Policy,
    options: Options,
    access: Access,
    *,
    provider: str | None = None,
    limits: UpstreamLimits | None = None,
    recording: Recording | None = None,
    watcher: Watcher | None = None,
) -> Service:
    """A server in front of the upstream at `url`. `recording` keeps the audit, and is closed with the server; `watcher`
    hears of every request."""
    upstream = Upstream(url, limits)
    provider = provider or provider_of(upstream.host, is_local=upstream.is_local)
    gates = Gates(policy, provider, pass_unknown=options.retry == 0)
    metrics = Metrics(lambda: {provider: gates.stats()})
    if recording is not None:
        metrics.audit_failures = lambda: recording.failures + recording.lost

    def told(facts: Facts) -> None:
        count(metrics, facts)
        if recording is not None:
            recording.told(facts)
        if watcher is not None:
            watcher(facts)

    async def stop_recording() -> None:
        if recording is not None:
            await asyncio.to_thread(recording.stop)

    def state() -> dict[str, Any]:
        return {"audit": asdict(recording.state) if recording is not None else None}

    proxy = Proxy(upstream, gates, options, told=told)
    metrics.streams = lambda: proxy.streams
    about = {"version": __version__, "upstream": upstream.host, "provider": provider}
    app = build_app(
        proxy=proxy, access=access, metrics=metrics, about=about, state=state, closing=[stop_recording, proxy.aclose]
    )
    return Service(app, proxy, metrics)


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
