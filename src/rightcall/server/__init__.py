"""Everything with a socket: `rightcall serve` and `rightcall proxy`. Needs the extra `serve`.

    socket ─▶ protocol (limits) ─▶ access (who, from where) ─▶ app ─▶ exchange (the proxy) ─▶ the model's server
                                                                   ├▶ mcp, channels (the gateway's endpoint)
                                                                   └▶ hooks (answers for `rightcall hook`)

`addresses` joins paths and headers, `recording` writes down what passed, beside the answers.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.server.access import Access, Callers, TokenRequest, make_token, new_token
    from rightcall.server.addresses import Upstream, address_of
    from rightcall.server.app import Entrance, Parts, Running, assemble, build_app, running, serve
    from rightcall.server.exchange import Proxy
    from rightcall.server.health import Health
    from rightcall.server.hooks import HookServer
    from rightcall.server.recording import Facts, Metrics, Recording, open_recording
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "access": "Access Callers TokenRequest make_token new_token",
            "addresses": "Upstream address_of",
            "app": "Entrance Parts Running assemble build_app running serve",
            "exchange": "Proxy",
            "health": "Health",
            "hooks": "HookServer",
            "recording": "Facts Metrics Recording open_recording",
        },
    )

__all__ = [
    "Access", "Callers", "Entrance", "Facts", "Health", "HookServer", "Metrics", "Parts", "Proxy", "Recording",
    "Running", "TokenRequest", "Upstream", "address_of", "assemble", "build_app", "make_token", "new_token",
    "open_recording", "running", "serve",
]  # fmt: skip
