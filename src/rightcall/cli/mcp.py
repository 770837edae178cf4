"""Serve the code tools of a folder as an MCP server over standard input and output. Calls are repaired, checked and
recorded. With --servers, also serve the MCP servers of the policy file, under the same policy."""

from __future__ import annotations

import os
import re
import sys
from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from shlex import quote
from typing import TYPE_CHECKING, BinaryIO, cast

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.text import escaped
from rightcall.cli import OK
from rightcall.cli.options import SHARED, found_policy, policy_file
from rightcall.errors import ConfigError

if TYPE_CHECKING:
    from rightcall.policy.settings import Policy, Server
    from rightcall.policy.trust import FoundPolicy

EXAMPLES = """\
examples:
  rightcall mcp --root ~/project
  rightcall mcp --root ~/project --servers --as teacher

in a client:
  Claude Desktop (claude_desktop_config.json) and Cursor (.cursor/mcp.json)
    {"mcpServers": {"code": {"command": "rightcall", "args": ["mcp", "--root", "/home/me/project"]}}}
  Claude Code
    claude mcp add code -- rightcall mcp --root .

tools are called code_read, code_search and so on, those of servers NAME_tool (files_read_file).
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--root", metavar="DIR", default=".", help=SHARED["--root"])
    parser.add_argument("--policy", metavar="FILE", help=SHARED["--policy"])
    parser.add_argument(
        "--servers", action="store_true", help="Also serve the MCP servers of the policy ([servers.NAME])"
    )
    parser.add_argument("--no-code", action="store_true", help="Serve only the MCP servers, without the code tools")
    parser.add_argument("--as", dest="caller", metavar="CALLER", help="Run as this caller (default: gateway)")


def run(options: Namespace) -> int:
    import asyncio  # late: `wrap` does without it

    if options.no_code and not options.servers:
        raise ConfigError("--no-code leaves nothing to serve: it goes with --servers")
    from rightcall.cli.serve_log import lines_and_log

    source, target = protocol_files()
    with (
        os.fdopen(source, "rb", buffering=0, closefd=False) as given,
        os.fdopen(target, "wb", buffering=0) as answers,
        lines_and_log(sys.stderr) as lines,
    ):
        asyncio.run(_serve(options, given, answers, lines.say))
    return OK


async def _serve(options: Namespace, source: object, target: object, tell: Callable[[str], None]) -> None:
    from rightcall.base.telemetry.sdk import start_exporting
    from rightcall.executor.door import Door
    from rightcall.executor.executor import Executor
    from rightcall.mcp.gateway.gateway import CALLER, CodeTools, Gateway
    from rightcall.mcp.links import for_caller, open_link
    from rightcall.mcp.serving import StdioServer
    from rightcall.models import RepairModel

    own = None if options.no_code else CodeTools()
    policy = policy_file(options)
    ask = None if own is None else own.ask
    async with Executor.open(
        options.root, policy, ask=ask, code=own is not None, servers=False, last_resort=RepairModel()
    ) as executor:
        if own is not None:
            own.executor = executor
        door = Door.open("gateway", policy, strict=True, root=options.root, store=executor.store)
        start_exporting(door.telemetry)
        caller = options.caller or CALLER
        gateway = Gateway(door, for_caller(open_link, caller) if options.servers else None, own=own, news=tell)
        ends = cast("BinaryIO", source), cast("BinaryIO", target)
        server = StdioServer(gateway, caller, *ends, ending=gateway.news.end)
        try:
            await server.run()
        finally:
            await gateway.aclose()
            door.close()


HELP_WRAP = """\
Run an MCP server behind RightCall, over standard input and output. Every `tools/call` is repaired, checked and
decided by the policy before the server gets it; everything else passes byte for byte, in every
revision of the protocol. A call that waits for a person is asked through the client where that can ask.

The policy is the file given, or `rightcall.toml` in the current folder. With a policy file each call is recorded where
that says; without one nothing is written to disk."""

EXAMPLES_WRAP = """\
examples:
  rightcall wrap --name files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  rightcall wrap --policy ~/rightcall.toml --name git -- uvx mcp-server-git
  rightcall wrap --mode observe -- python -m my_server
  rightcall wrap --name notes   # the server behind the `url` of [servers.notes], with its login

in a client, put `rightcall wrap --name NAME --` before the server's own command, with the client's name for it:
  Claude Desktop (claude_desktop_config.json) and Cursor (.cursor/mcp.json)
    {"mcpServers": {"files": {"command": "rightcall", "args": ["wrap", "--name", "files",
      "--policy", "/home/me/rightcall.toml", "--", "npx", "-y",
      "@modelcontextprotocol/server-filesystem", "/home/me/notes"]}}}
  Claude Code
    claude mcp add files -- rightcall wrap --name files -- npx -y @modelcontextprotocol/server-filesystem .

tools are called NAME/tool in policy and audit (files/read_file); `[servers.NAME]` of the policy holds for them too.
its exit code is the server's.
"""


def arguments_wrap(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--policy", metavar="FILE", help=f"Use this policy file (default: {POLICY_FILE} in the current folder)"
    )
    parser.add_argument(
        "--name", metavar="NAME", help="Name of the server in policy and audit log (default: from its command)"
    )
    parser.add_argument("--as", dest="caller", metavar="CALLER", help="Run as this caller (default: wrap)")
    parser.add_argument(
        "--mode", choices=("block", "warn", "observe"),
        help="Refuse invalid calls, pass them with a warning, or only record them, unless the policy says otherwise",
    )  # fmt: skip
    parser.add_argument("command", nargs=REMAINDER, metavar="-- COMMAND", help="Command of the server, after --")


def run_wrap(options: Namespace) -> int:
    from rightcall.base.telemetry.sdk import start_exporting
    from rightcall.cli.serve_log import lines_and_log
    from rightcall.executor.door import Door
    from rightcall.executor.notices import warn_of_notices
    from rightcall.mcp.gateway.names import server_name
    from rightcall.mcp.wrap.wrap import Pump

    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    policy = options.policy
    if policy is None and os.path.lexists(POLICY_FILE):
        policy = found_policy(POLICY_FILE, options.mode or "block")
    if not command:
        return _wrap_address(options, policy)
    space = server_name(command) if options.name is None else _checked(options.name)
    with lines_and_log(sys.stderr), Door.open("wrap", policy, caller=options.caller, mode=options.mode) as door:
        if policy is not None and options.name is None:
            _say_name(space)
        warn_of_notices(door.policy)
        source, target = protocol_files()
        start_exporting(door.telemetry)
        pump = Pump(door, space, command, source, target, answerable=policy is not None)
        code = pump.run()
        if pump.was_deaf:
            _say("the server closed its input while it was running, so it was ended")
        return code


def _wrap_address(options: Namespace, policy: str | FoundPolicy | None) -> int:
    """A server of the policy that is reached by HTTP: a gateway with this one, whose tools keep their names."""
    import asyncio  # late: a server that is a process does without it

    from rightcall.cli.serve_log import lines_and_log
    from rightcall.policy.watch import load_policy

    server = load_policy(policy).servers.get(options.name) if policy is not None and options.name else None
    if server is None or not server.url:
        raise ConfigError(
            "say which server to wrap: rightcall wrap -- COMMAND [ARGUMENTS], or --name NAME of one with a `url` in "
            "the policy that you trust"
        )
    source, target = protocol_files()
    with (
        os.fdopen(source, "rb", buffering=0, closefd=False) as given,
        os.fdopen(target, "wb", buffering=0) as answers,
        lines_and_log(sys.stderr) as lines,
    ):
        asyncio.run(_serve_address(options, policy, (given, answers), lines.say))
    return OK


async def _serve_address(
    options: Namespace, policy: object, ends: tuple[BinaryIO, BinaryIO], tell: Callable[[str], None]
) -> None:
    from rightcall.base.telemetry.sdk import start_exporting
    from rightcall.executor.door import Door
    from rightcall.mcp.gateway.gateway import Gateway
    from rightcall.mcp.links import for_caller, open_link
    from rightcall.mcp.serving import StdioServer

    with Door.open("wrap", policy, caller=options.caller, mode=options.mode) as door:  # pyright: ignore[reportArgumentType] - as it was read above
        start_exporting(door.telemetry)
        gateway = Gateway(door, for_caller(open_link, door.caller), news=tell)
        gateway.only = options.name
        server = StdioServer(gateway, door.caller, *ends, ending=gateway.news.end)
        try:
            await server.run()
        finally:
            await gateway.aclose()


def _say_name(space: str) -> None:
    """A rule for another name is a rule for nothing: whoever gave none should know which one counts."""
    _say(f"in the policy its tools are {space}/…; --name changes that")


def _say(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"rightcall wrap: {text}\n")
        sys.stderr.flush()


def _checked(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", name):
        raise ConfigError("--name takes letters, digits, `_`, `-` and `.`, at most 64 of them")
    return name


def protocol_files() -> tuple[int, int]:
    """Our standard input and output for the protocol alone: whatever else is printed goes to standard error."""
    sys.stdout.flush()
    target = os.dup(1)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt

        for number in (0, target):
            msvcrt.setmode(number, os.O_BINARY)
    else:
        os.set_blocking(0, True)
        os.set_blocking(target, True)
    return 0, target


HELP_HOOK = """\
Answer one event of a host: Claude Code, Gemini CLI or Codex starts it before and after each tool call, and writes
the event to its standard input. `rightcall install` puts it into their settings.

A call that the policy lets pass gets no word, so that the host's own permissions decide. Else it is denied with the
reason where the model reads it, asked about, or its input is repaired. Each call is recorded with its result,
where the policy file says; without one in the user's own state folder, never in the project.

`rightcall hook learn` starts an MCP server, asks for its tools and keeps their definitions beside the record: so a hook
knows what arguments they take. `rightcall wrap` and the gateway leave them there by themselves."""

EXAMPLES_HOOK = """\
options, behind the host:
  --policy FILE  your policy file (default: rightcall.toml in the project's folder, or above it in the repository,
                 which can only be stricter than --mode, and whose approvals do not skip the host's own question)
  --mode MODE    block, warn or observe: what happens to a call, where the policy does not say (default: block)
  --as CALLER    who calls, for [callers.NAME] (default: the host)
  --root DIR     the project's folder (default: as the host says, else the current one)
options of `learn`: --policy, --root, and
  --name NAME    what the host calls the server
  --env NAME     an environment variable that the server needs

examples:
  rightcall hook claude --mode observe < event.json
  rightcall hook codex --policy ~/rightcall.toml < event.json
  rightcall hook learn --name files -- npx -y @modelcontextprotocol/server-filesystem .
  rightcall hook learn --name files   # with the command of [servers.files] in the policy

in the policy, for claude-code, gemini or codex:
  [gate.hosts.claude-code]
  mode = "block"             # block | warn | observe; it wins over --mode (a found policy: only if it is stricter)
  ask = ["execute"]          # tools that do this ask a person
  on_failure = "deny"        # when it cannot judge; default: deny where it blocks, else allow
  deadline = 5               # seconds
"""

WHAT = ("claude", "gemini", "codex", "learn")


def arguments_hook(parser: ArgumentParser) -> None:
    parser.add_argument("what", choices=WHAT, metavar="HOST", help="claude, gemini or codex; or `learn`")
    parser.add_argument("rest", nargs=REMAINDER, metavar="OPTIONS", help="See `rightcall help hook`")


def parse_hook(parser: ArgumentParser, arguments: list[str]) -> Namespace:
    """`rightcall hook claude --help` asks for the help of the command: what stands behind a host is the hook's own."""
    asks = len(arguments) == 2 and arguments[0] in WHAT and arguments[1] in ("-h", "--help")
    return parser.parse_args(arguments[1:] if asks else arguments)


def run_hook(options: Namespace) -> int:
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
    from rightcall.cli.terminal import say
    from rightcall.hosts.hooks.place import policy_of_project, project_folder, record_without_policy
    from rightcall.mcp.links import learn_tools
    from rightcall.policy.watch import load_policy
    from rightcall.record.notes import remember_tools
    from rightcall.record.premises import existing_folder, found_folder, open_store, store_place

    root = existing_folder(project_folder(options.root))
    policy = os.path.abspath(options.policy) if options.policy else policy_of_project(root)
    settings = load_policy(policy if options.policy or policy is None else found_policy(policy))
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    server = server_for(options.name, command, options.env, settings)
    tools = learn_tools(server)
    path = record_without_policy() if policy is None else store_place(settings, policy, root)
    found_in = None if policy is None else found_folder(settings, policy, root)
    with closing(open_store(None, path, None, found_in)) as store:
        if not remember_tools(store, server.name, tools):
            raise ConfigError(f"the definitions could not be written beside {path}")
    names = ", ".join(str(tool.get("name", "")) for tool in tools)
    say(escaped(f"{server.name}: {len(tools)} tool{'' if len(tools) == 1 else 's'} learnt: {names}", 2000))
    return 0


def server_for(name: str | None, command: Sequence[str], passed: Sequence[str], policy: Policy) -> Server:
    """The server to learn from: that of the command line, or that of the policy. Raises ConfigError."""
    if not name:
        raise ConfigError("--name: say what the host calls the server, as in `rightcall hook learn --name files -- …`")
    missing = [one for one in passed if one not in os.environ]
    if missing:
        raise ConfigError(f"environment variable {escaped(missing[0], 60)} is missing (`--env`)")
    if command:
        from rightcall.policy.settings import Server

        # as `${NAME}`, which is filled in where the server is started
        return Server(name, command=tuple(command), env={one: f"${{{one}}}" for one in passed})
    known = policy.servers.get(name)
    if known is not None and policy.standing == "tightened":
        raise ConfigError(
            f"the command of [servers.{escaped(name, 60)}] is not used: {escaped(policy.source)} was only found, and "
            f"is not trusted. Read and trust it: rightcall trust {escaped(quote(policy.source))}"
        )
    if known is None or not (known.command or known.url):
        raise ConfigError(f"give the server's command after --, or as command of [servers.{escaped(name, 60)}]")
    return known
