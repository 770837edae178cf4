"""The span of a request that a router answers, from the question to the last piece of the answer.

    rightcall.route            how it went: the tool, its confidence, the status
      rightcall.route.select   each step, and within it
        chat MODEL             the models that it asks
        execute_tool NAME      the call

While the answer comes in pieces, the span is current only as long as the router works: whoever listens in between
does something else.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from rightcall.base.telemetry.conventions import Value

if TYPE_CHECKING:
    from rightcall.base.telemetry.spans import Telemetry
    from rightcall.router.packet import Models, Packet
    from rightcall.router.trip import Pieces, Trip


def follow_models(models: Models, telemetry: Telemetry) -> None:
    """The models that are asked over HTTP tell of it. Any other is a function, which tells what it likes."""
    from rightcall.models.endpoint import Endpoint  # late: most routers are given their models

    for model in (models.light, models.prime):
        if isinstance(model, Endpoint):
            model.telemetry = telemetry


async def follow_trip(trip: Trip, pieces: Pieces) -> Pieces:
    """The same pieces, with a span around the work for them."""
    span = trip.span = trip.router.telemetry.route()
    try:
        async with aclosing(pieces):
            while True:
                with span.inside():
                    piece = await anext(pieces, None)
                if piece is None:
                    return
                yield piece
    except BaseException as error:
        if not isinstance(error, GeneratorExit):  # who stops listening has what they wanted
            span.fail(type(error).__name__)
        raise
    finally:
        span.tell(route_told(trip.packet))
        span.end()


def route_told(packet: Packet) -> dict[str, Value]:
    """How a request went, without a word of what was asked."""
    routing, intent = packet.tool_routing, packet.intent
    told: dict[str, Value] = {
        "rightcall.caller": packet.header.caller,
        "rightcall.route.intent": intent.user_intent,
        "rightcall.route.status": routing.execution_status,
    }
    if routing.selected_tool is not None:
        told["rightcall.route.tool"] = routing.selected_tool.tool_name
        told["rightcall.route.confidence"] = round(routing.confidence, 3)
    return told
