"""The application: our own pages, and the proxy for everything else."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from time import monotonic
from typing import Any, NamedTuple

from msgspec import json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rightcall.serve.access import Access, Guard
from rightcall.serve.callers import Callers, entered
from rightcall.serve.metrics import CONTENT_TYPE, Metrics
from rightcall.serve.refusals import error_body, send_error

Closing = Callable[[], Awaitable[None]]


class _Front:
    """Sends the proxy's requests past Starlette's router, which would cost them more than the rest of the way."""

    def __init__(self, pages: Starlette, proxy: ASGIApp, beside: Mapping[str, ASGIApp]) -> None:
        self._pages = pages
        self._proxy = proxy
        self._beside = beside
        self._paths = frozenset(route.path for route in pages.routes if isinstance(route, Route))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        mine = scope["type"] == "lifespan" or scope["path"] in self._paths
        app = self._pages if mine else self._beside.get(scope["path"], self._proxy)
        await app(scope, receive, send)


async def nothing_here(scope: Scope, receive: Receive, send: Send) -> None:
    """Stands in for the proxy where there is none."""
    del scope, receive
    await send_error(send, 404, "not_found", "there is nothing at this path: see /health for what is served")


class Entrance(NamedTuple):
    """Who may come in: by the server's own token, or by that of a caller."""

    access: Access
    callers: Callers | None = None


class Health(NamedTuple):
    """What stands in `/health` beside status and uptime, for whoever has the server's own token. Everybody else reads
    `version` and whether the server is ready."""

    about: Mapping[str, Any]
    state: Callable[[], Mapping[str, Any]] = dict
    """What is so at the moment; it may say `ready`."""


class Span(NamedTuple):
    """What is done when the server starts, and awaited at its end, the last one first."""

    opening: Sequence[Callable[[], None]] = ()
    closing: Sequence[Closing] = ()


_NO_SPAN = Span()


def build_app(
    entrance: Entrance, metrics: Metrics, health: Health, *, proxy: ASGIApp = nothing_here,
    beside: Mapping[str, ASGIApp] | None = None, span: Span = _NO_SPAN,
) -> ASGIApp:  # fmt: skip
    """`beside` are applications of their own, by path; everything else goes to the proxy."""
    started = monotonic()

    async def tell_health(request: Request) -> Response:
        told: dict[str, Any] = {"status": "ok", **health.about, "ready": True, **health.state()}
        if entered(request.scope).operator:
            told["uptime_seconds"] = round(monotonic() - started, 1)
        else:
            told = {key: told[key] for key in _PUBLIC if key in told}
        return Response(json.encode(told), media_type="application/json")

    async def figures(request: Request) -> Response:
        if not entered(request.scope).operator:
            metrics.refused("operator_only")
            return Response(error_body(403, "operator_only", _OPERATOR_ONLY), 403, media_type="application/json")
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for close in span.closing:
                stack.push_async_callback(close)
            for begin in span.opening:
                begin()
            yield

    pages = Starlette(routes=[Route("/health", tell_health), Route("/metrics", figures)], lifespan=lifespan)
    return Guard(_Front(pages, proxy, beside or {}), entrance.access, entrance.callers, metrics.refused)


_PUBLIC = ("status", "version", "ready", "paused")
"""What `/health` tells whoever asks."""
_OPERATOR_ONLY = "the figures are those of all callers: they need the token that the server was started with"
