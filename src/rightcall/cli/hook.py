"""Answer one event of a host: Claude Code, Gemini CLI or Codex starts it before and after each tool call, and writes
the event to its standard input. `rightcall install` puts it into their settings.

A call that the policy lets pass gets no word, so that the host's own permissions decide. Else it is denied with the
reason where the model reads it, asked about, or its input is put right. Each call is recorded, with what came of it:
where the policy file says; without one in the user's own state folder, never in the project.

`rightcall hook learn` starts an MCP server, asks for its tools and keeps their definitions beside the record: so a hook
knows what arguments they take. `rightcall wrap` and the gateway leave them there by themselves."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any

from msgspec import Raw, json

from rightcall import __version__
from rightcall.base.text import escaped
from rightcall.errors import ConfigError
from rightcall.mcp.messages import Answer, Era
from rightcall.mcp.upstream.links import ProcessLink
from rightcall.mcp.upstream.session import Cause, ServerGone, ServerSlow, Session
from rightcall.mcp.upstream.upstream import Hello, greet, listed
from rightcall.policy.settings import Server

if TYPE_CHECKING:
    from rightcall.policy.settings import Policy


EXAMPLES = """\
options, behind the host:
  --policy FILE  your policy file (default: rightcall.toml in the project's folder, or above it in the repository,
                 which can only be stricter than --mode, and whose approvals do not skip the host's own question)
  --mode MODE    block, warn or observe: what happens to a call, where the policy does not say (default: block)
  --caller NAME  who calls, for [callers.NAME] (default: the host)
  --root DIR     the project's folder (default: as the host says, else the current one)
options of `learn`: --policy, --root, and
  --name NAME    what the host calls the server
  --env NAME     an environment variable that the server needs

examples:
  rightcall hook claude --mode observe < event.json
  rightcall hook codex --policy ~/rightcall.toml < event.json
  rightcall hook learn --name files -- npx -y @modelcontextprotocol/server-filesystem .
  rightcall hook learn --name files        (the server's command stands in [servers.files] of the policy)

in the policy, for claude-code, gemini or codex:
  [gate.hosts.claude-code]
  mode = "block"             # block | warn | observe; it wins over --mode (a found policy: only if it is stricter)
  ask = ["execute"]          # tools that do this ask a person
  on_failure = "deny"        # when it cannot judge; default: deny where it blocks, else allow
  deadline = 5               # seconds
"""

WHAT = ("claude", "gemini", "codex", "learn")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("what", choices=WHAT, metavar="HOST", help="claude, gemini or codex; or `learn`")
    parser.add_argument("rest", nargs=REMAINDER, metavar="OPTIONS", help="see below")


def run(options: Namespace) -> int:
    if options.what == "learn":
        return _learn(_learning_options(options.rest))
    from rightcall.hosts.hooks.hook import process

    sys.stdout.flush()
    return process([options.what, *options.rest])


def _learning_options(words: list[str]) -> Namespace:
    parser = ArgumentParser(prog="rightcall hook learn", allow_abbrev=False)
    for name in ("--policy", "--root", "--name"):
        parser.add_argument(name)
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("command", nargs=REMAINDER)
    return parser.parse_args(words)


def _learn(options: Namespace) -> int:
    from contextlib import closing

    from rightcall.base.text import escaped
    from rightcall.cli.options import found_policy
    from rightcall.cli.terminal import say
    from rightcall.executor.stores import found_folder, open_store, store_path
    from rightcall.hosts.hooks.place import policy_of_project, project_folder, record_without_policy
    from rightcall.policy.loader import load_policy
    from rightcall.record.notes import remember_tools

    root = project_folder(options.root)
    policy = os.path.abspath(options.policy) if options.policy else policy_of_project(root)
    settings = load_policy(policy if options.policy or policy is None else found_policy(policy))
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    server = server_for(options.name, command, options.env, settings)
    tools = learnt(server)
    path = record_without_policy() if policy is None else store_path(settings, policy, root)
    found_in = None if policy is None else found_folder(settings, policy, root)
    with closing(open_store(None, path, None, found_in)) as store:
        if not remember_tools(store, server.name, tools):
            raise ConfigError(f"the definitions could not be written beside {path}")
    names = ", ".join(str(tool.get("name", "")) for tool in tools)
    say(escaped(f"{server.name}: {len(tools)} tool{'' if len(tools) == 1 else 's'} learnt: {names}", 2000))
    return 0


# ── the tools of a server ──
# Asks an MCP server for its tools, once: it is started, introduced to, listed and ended.

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
