"""Answer one event of a host: Claude Code, Gemini CLI or Codex starts it before and after each tool call, and writes
the event to its standard input. `rightcall install` puts it into their settings.

A call that the policy lets pass gets no word, so that the host's own permissions decide. Else it is denied with the
reason where the model reads it, asked about, or its input is put right. Each call is recorded, with what came of it:
where the policy file says; without one in the user's own state folder, never in the project.

`rightcall hook learn` starts an MCP server, asks for its tools and keeps their definitions beside the record: so a hook
knows what arguments they take. `rightcall wrap` and the gateway leave them there by themselves."""

import os
import sys
from argparse import REMAINDER, ArgumentParser, Namespace

from rightcall.errors import ConfigError

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
    from rightcall.hosts.hook import process

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

    from rightcall.cli.hook_learning import learnt, server_for
    from rightcall.cli.store_options import found_policy
    from rightcall.cli.terminal import say
    from rightcall.config_load import load_policy
    from rightcall.executor_opening import found_folder, open_store, store_path
    from rightcall.hosts.hook_place import policy_of_project, project_folder, record_without_policy
    from rightcall.record.known_tools import remember_tools
    from rightcall.text.escape import escaped

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
