"""A server in a process of its own, for the tests that send it signals. Echoes a body piece by piece as it comes."""

import sys

from starlette.types import Receive, Scope, Send

from rightcall.base.http.answers import ServeLimits
from rightcall.server.app import Told, serve


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        tell("closed")
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while (message := await receive())["type"] == "http.request":
        more = message["more_body"]
        await send({"type": "http.response.body", "body": message["body"], "more_body": more})
        if not more:
            break


if __name__ == "__main__":
    limits = ServeLimits(grace_seconds=float(sys.argv[1]))
    sys.exit(
        serve(
            application,
            limits=limits,
            told=Told(lambda _host, port: tell(str(port)), lambda running: tell(f"finishing {running}")),
        )
    )
