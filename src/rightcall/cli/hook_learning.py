"""Asks an MCP server for its tools, once: it is started, introduced to, listed and ended."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any

from msgspec import Raw, json

from rightcall import __version__
from rightcall.config_servers import Server
from rightcall.errors import ConfigError
from rightcall.mcp.eras import Era
from rightcall.mcp.serving_answers import Answer
from rightcall.mcp.upstream_greeting import Hello, greet
from rightcall.mcp.upstream_link import ServerGone
from rightcall.mcp.upstream_listing import listed
from rightcall.mcp.upstream_process import ProcessLink
from rightcall.mcp.upstream_session import Cause, ServerSlow, Session
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.config import Policy

_STARTING = 30.0
"""Seconds for a server to start, and again to list its tools: some are fetched first."""


def server_for(name: str | None, command: Sequence[str], passed: Sequence[str], policy: Policy) -> Server:
    """The server to learn from: that of the command line, or that of the policy. Raises ConfigError."""
    if not name:
        raise ConfigError("--name: say what the host calls the server, as in `rightcall hook learn --name files -- …`")
    missing = [one for one in passed if one not in os.environ]
    if missing:
        raise ConfigError(f"--env: there is no environment variable {escaped(missing[0], 60)}")
    if command:
        # as `${NAME}`, which is filled in where the server is started
        return Server(name, command=tuple(command), env={one: f"${{{one}}}" for one in passed})
    known = policy.servers.get(name)
    if known is not None and policy.standing == "tightened":
        raise ConfigError(
            f"the command of [servers.{escaped(name, 60)}] is not used: {escaped(policy.source)} was only found, and "
            f"is not trusted. Read and trust it: rightcall trust {escaped(quote(policy.source))}"
        )
    if known is None or not known.command:
        raise ConfigError(f"give the server's command after --, or as command of [servers.{escaped(name, 60)}]")
    return known


def learnt(server: Server) -> list[dict[str, Any]]:
    """Its tools as it lists them. Raises ConfigError where it does not start or does not answer."""
    try:
        return [json.decode(one) for one in asyncio.run(_listed(server))]
    except ServerSlow as fault:
        raise ConfigError(f"server {escaped(server.name, 60)}: it {fault}") from None
    except ServerGone as fault:  # whose words are a sentence of their own
        raise ConfigError(f"server {escaped(server.name, 60)}: {fault}") from None


async def _listed(server: Server) -> list[Raw]:
    hello = Hello({"name": "rightcall", "version": __version__}, {})
    try:
        return await _ask_server(server, hello)
    except ServerGone:  # some of the old era end at a question before the handshake
        return await _ask_server(server, hello, only="old")


async def _ask_server(server: Server, hello: Hello, *, only: Era | None = None) -> list[Raw]:
    session = Session(ProcessLink(server), _Nobody())
    await session.open()
    try:
        await greet(session, hello, _STARTING, only=only)
        return await listed(session, hello, "tools/list", "tools", _STARTING)
    finally:
        await session.aclose()


class _Nobody:
    """Who is told of what the server says by itself."""

    async def asked(self, method: str, params: Raw, cause: Cause | None) -> Answer:
        del method, params, cause
        return Answer(error=Raw(b'{"code": -32601, "message": "there is nobody to ask"}'))

    def told_by_server(self, method: str, params: Raw, cause: Cause | None) -> None:
        del method, params, cause

    def lost(self, session: Session, why: str, words: str = "") -> None:
        del session, why, words
