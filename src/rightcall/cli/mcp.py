"""Be an MCP server over standard input and output: the code tools on a folder, whose calls are repaired, checked and
recorded like any other. With --servers also the servers of the policy file, joined, under the same policy."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from rightcall.cli import OK
from rightcall.cli.store_options import policy_file
from rightcall.door_guarding import POLICY_FILE
from rightcall.errors import ConfigError

EXAMPLES = """\
examples:
  rightcall mcp --root ~/project
  rightcall mcp --root ~/project --servers --caller teacher

in a client:
  Claude Desktop (claude_desktop_config.json) and Cursor (.cursor/mcp.json)
    {"mcpServers": {"code": {"command": "rightcall", "args": ["mcp", "--root", "/home/me/project"]}}}
  Claude Code
    claude mcp add code -- rightcall mcp --root .

tools are called code_read, code_search and so on, those of servers NAME_tool (files_read_file).
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--root", metavar="DIR", default=".", help="the folder that is looked at (default: this one)")
    parser.add_argument("--policy", metavar="FILE", help=f"the policy file (default: {POLICY_FILE} in --root, if any)")
    parser.add_argument("--servers", action="store_true", help="also join the servers of the policy ([servers.NAME])")
    parser.add_argument("--no-code", action="store_true", help="only the servers, without the code tools")
    parser.add_argument("--caller", metavar="NAME", help="who calls, for [callers.NAME] of the policy (gateway)")


def run(options: Namespace) -> int:
    import asyncio

    if options.no_code and not options.servers:
        raise ConfigError("--no-code leaves nothing to serve: it goes with --servers")
    from rightcall.cli.serving_lines import lines_and_log
    from rightcall.cli.wrap import protocol_files

    source, target = protocol_files()
    with (
        os.fdopen(source, "rb", buffering=0, closefd=False) as given,
        os.fdopen(target, "wb", buffering=0) as answers,
        lines_and_log(sys.stderr) as lines,
    ):
        asyncio.run(_serve(options, given, answers, lines.say))
    return OK


async def _serve(options: Namespace, source: object, target: object, tell: Callable[[str], None]) -> None:
    from typing import BinaryIO, cast

    from rightcall.cli.serving_mcp import open_link
    from rightcall.door import Door
    from rightcall.executor import Executor
    from rightcall.mcp.gateway import CALLER, Gateway
    from rightcall.mcp.gateway_own import CodeTools
    from rightcall.mcp.stdio_server import StdioServer

    own = None if options.no_code else CodeTools()
    policy = policy_file(options)
    ask = None if own is None else own.ask
    async with Executor.open(options.root, policy, ask=ask, code=own is not None) as executor:
        if own is not None:
            own.executor = executor
        door = Door.open("gateway", policy, strict=True, root=options.root, store=executor.store)
        gateway = Gateway(door, open_link if options.servers else None, own=own, news=tell)
        caller = options.caller or CALLER
        ends = cast("BinaryIO", source), cast("BinaryIO", target)
        server = StdioServer(gateway, caller, *ends, ending=gateway.news.end)
        try:
            await server.run()
        finally:
            await gateway.aclose()
            door.close()
