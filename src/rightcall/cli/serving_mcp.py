"""The MCP gateway as the commands start it: the policy file's servers, its door, and what people are told."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from rightcall.cli.serving import missing_package
from rightcall.cli.store_options import policy_file
from rightcall.errors import StoreError
from rightcall.mcp.upstream_link import ServerGone

if TYPE_CHECKING:
    from rightcall.config_servers import Server
    from rightcall.door import Door
    from rightcall.mcp.upstream_link import Link
    from rightcall.serve.mcp import Endpoint


def open_endpoint(options: Namespace, tell: Callable[[str], None]) -> Endpoint:
    """The gateway and its endpoint. Without an audit it remembers in memory only."""
    from rightcall.mcp.gateway_shared import SharedGateway
    from rightcall.serve.mcp import Endpoint

    return Endpoint(SharedGateway(open_door(options), open_link, news=tell))


def open_door(options: Namespace) -> Door:
    from rightcall.door import Door

    store = "memory" if getattr(options, "no_audit", False) else None
    try:
        return Door.open("gateway", policy_file(options), strict=True, root=options.root, store=store, remote=True)
    except StoreError as error:
        why = str(error).removesuffix(" Nothing was run.")
        raise StoreError(f"{why}\n--root DIR keeps the audit elsewhere", error.fault) from None


def open_link(server: Server) -> Link:
    """The way to a server of the policy. HTTP is loaded only where one needs it."""
    if server.url:
        try:
            from rightcall.serve.mcp_upstream import HttpLink
        except ImportError as missing:
            told = missing_package(missing)
            raise ServerGone(str(told)) from missing

        return HttpLink(server)
    from rightcall.mcp.upstream_process import ProcessLink

    return ProcessLink(server)
