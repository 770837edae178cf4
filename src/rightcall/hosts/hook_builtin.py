"""The tools that hosts bring along: what they do, and which of their arguments are paths, commands and addresses.

Nothing else is checked of them, unless the policy asks for it (a pack, or `[gate.tools.NAME]`): a host has checked its
own tools before its hook is asked, and knows them better. Those of Claude Code stand in pack `claude`; the others have
no pack, since no door but the hook sees their calls.
"""

from typing import Any

from rightcall.catalog import PackTool
from rightcall.door_tools import HOST_OWN
from rightcall.packs import load_pack
from rightcall.types import Effect, Rules

_ANYTHING: dict[str, Any] = {"type": "object", "additionalProperties": True}
_ALL: tuple[Effect, ...] = ("read", "write", "execute", "network")


def _tool(name: str, *effects: Effect, rules: Rules | None = None) -> PackTool:
    return PackTool(name, "", _ANYTHING, effects, rules or Rules(), HOST_OWN)


_FILE = Rules(paths=("file_path", "absolute_path"))
_FOLDER = Rules(paths=("dir_path", "path"))
"""By the names of all its versions."""
_SEARCH = Rules(paths=("dir_path", "path"), globs=("include", "include_pattern", "glob"))

GEMINI = (
    _tool("read_file", "read", rules=_FILE),
    _tool("write_file", "write", rules=_FILE),
    _tool("replace", "read", "write", rules=_FILE),
    _tool("list_directory", "read", rules=_FOLDER),
    _tool("glob", "read", rules=Rules(paths=("dir_path", "path"), globs=("pattern",))),
    _tool("grep_search", "read", rules=_SEARCH),
    _tool("search_file_content", "read", rules=_SEARCH),
    _tool("read_many_files", "read", rules=Rules(paths=("include", "paths"), globs=("include", "paths"))),
    _tool("run_shell_command", *_ALL, rules=Rules(paths=("dir_path",), commands=("command",))),
    _tool("web_fetch", "network", rules=Rules(urls=("prompt", "url"))),
    _tool("google_web_search", "network"),
    _tool("invoke_agent", *_ALL),
    _tool("write_todos"),
    _tool("update_topic"),
    _tool("complete_task"),
    _tool("ask_user"),
    _tool("enter_plan_mode"),
    _tool("exit_plan_mode"),
    _tool("activate_skill", "read"),
    _tool("get_internal_docs", "read"),
    _tool("list_mcp_resources", "read"),
    _tool("read_mcp_resource", "read", "network"),
)
CODEX = (
    _tool("Bash", *_ALL, rules=Rules(commands=("command",))),
    _tool("shell", *_ALL, rules=Rules(paths=("workdir",), commands=("command",))),
    _tool("local_shell", *_ALL, rules=Rules(commands=("command", "action.command"))),
    _tool("shell_command", *_ALL, rules=Rules(paths=("workdir",), commands=("command",))),
    _tool("exec_command", *_ALL, rules=Rules(paths=("workdir",), commands=("cmd",))),
    _tool("unified_exec", *_ALL, rules=Rules(commands=("input",))),
    _tool("apply_patch", "read", "write", rules=Rules(paths=("workdir",), patches=("command", "input", "patch"))),
    _tool("view_image", "read", rules=Rules(paths=("path",))),
    _tool("web_search", "network"),
    _tool("update_plan"),
)
_OF_HOSTS = {"gemini": GEMINI, "codex": CODEX}


def builtin_tools(host: str, name: str | None = None) -> list[PackTool]:
    """All of a host's own tools, or the one of this name."""
    tools = _OF_HOSTS.get(host) or tuple(map(_as_the_hosts_own, load_pack("claude").tools))
    return [tool for tool in tools if name is None or tool.name == name]


def _as_the_hosts_own(tool: PackTool) -> PackTool:
    said = tool.rules
    rules = Rules(
        paths=said.paths, commands=said.commands, urls=said.urls, patches=said.patches, globs=said.globs,
        repeatable=said.repeatable,
    )  # fmt: skip
    return _tool(tool.name, *(tool.effects if tool.effects is not None else _ALL), rules=rules)
