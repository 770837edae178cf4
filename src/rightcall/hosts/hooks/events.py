"""What an event of a host says, whichever host it is; and how the names of its tools are to be read."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, cast

from rightcall.catalog.packs import load_pack
from rightcall.catalog.tool import PackTool
from rightcall.executor.rights import HOST_OWN
from rightcall.types import Effect, Rules

Kind = Literal["before", "after", "over", "other"]
_PREFIX = "mcp__"
_LONGEST_LABEL = 200


class Happened(NamedTuple):
    """`before` a tool runs, `after` it has run, `over` when a session or a turn is; anything `other` needs no word."""

    kind: Kind
    tool: str = ""
    arguments: Any = None
    space: str = ""
    """The MCP server, for a tool of one."""
    context: str | None = None
    """The session."""
    step: str = ""
    """The call, as the host numbers it; empty for a host that does not."""
    ok: bool = True
    error: str | None = None
    summary: str = ""
    seconds: float | None = None
    reached: Mapping[str, Any] | None = None
    """How that server is reached, where the host tells: `command`, `args`, `cwd`, `url`."""
    cwd: str | None = None
    """The folder that the host works in at the moment."""
    answer: Any = None
    """All that the tool gave, as the host tells it."""
    called: str = ""
    """The tool by the name that the model calls it, where a word on it follows."""


class WrongEvent(Exception):
    """The event is not what the host says it sends; the text says what is wrong."""


def as_called(message: str, happened: Happened) -> str:
    """A refusal for the model, which knows a server's tool by the host's name for it.

    >>> as_called("⚠️ Invalid read call.", Happened("before", "read", space="files", called="mcp__files__read"))
    '⚠️ Invalid mcp__files__read call.'
    """
    if not message or not happened.space or not happened.called:
        return message
    from rightcall.base.text import escaped  # late: a call that passes says nothing

    tool, called = (f"⚠️ Invalid {escaped(name, 100)} call." for name in (happened.tool, happened.called))
    return message.replace(tool, called, 1)


def tool_and_space(name: str, servers: Iterable[str] = ()) -> tuple[str, str]:
    """`mcp__files__read` is the tool `read` of server `files`. The longest server that is known counts, since names of
    servers may hold the separator; hosts write what they do not take in a name as `_`.

    >>> tool_and_space("mcp__files__read_file"), tool_and_space("Read")
    (('read_file', 'files'), ('Read', ''))
    >>> tool_and_space("mcp__my_files__v2__read", ["my files__v2"])
    ('read', 'my files__v2')
    """
    if not name.startswith(_PREFIX):
        return name, ""
    rest = name.removeprefix(_PREFIX)
    for server in sorted(servers, key=len, reverse=True):
        start = f"{plain(server)}__"
        if rest.startswith(start) and len(rest) > len(start):
            return rest.removeprefix(start), server
    server, separator, tool = rest.partition("__")
    return (tool, server) if server and separator and tool else (name, "")


def plain(server: str) -> str:
    """A server's name as hosts write it in the names of its tools."""
    return "".join(one if one.isascii() and (one.isalnum() or one in "_-") else "_" for one in server)


def label(value: object) -> str | None:
    """An id that can stand in a record."""
    return value if isinstance(value, str) and value.isprintable() and 0 < len(value) <= _LONGEST_LABEL else None


def text_of(value: object, most: int = 300) -> str:
    """The beginning of what a tool gave back, as text. Only for the record, where it is shown escaped."""
    if isinstance(value, str):
        return value[:most]
    if isinstance(value, list):
        return " ".join(filter(None, (text_of(one, most) for one in value[:5])))[:most]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, dict):
        for key in ("text", "stdout", "content", "llmContent", "output", "message", "filePath", "file"):
            if found := text_of(value.get(key), most):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
                return found
    return ""


_TIMINGS = ("duration", "elapsed")
_DEEPEST = 20


def answer_of(value: Any, depth: int = 0) -> Any:
    """What a tool gave, without what a host says beside it: how long it took is no part of the answer.

    >>> answer_of({"stdout": "ok", "durationMs": 12, "_meta": {}})
    {'stdout': 'ok'}
    """
    if depth < _DEEPEST and isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {
            key: answer_of(one, depth + 1)
            for key, one in table.items()
            if not (key == "_meta" or key.casefold().startswith(_TIMINGS))
        }
    if depth < _DEEPEST and isinstance(value, list):
        return [answer_of(one, depth + 1) for one in cast("list[Any]", value)]
    return value


def inside(value: Any, key: str) -> Any:
    """What a value holds under a key; None where it is no object."""
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None


def field(event: dict[str, Any], name: str, kind: type) -> Any:
    """What the event must hold. Raises WrongEvent."""
    value = event.get(name)
    if not isinstance(value, kind):
        raise WrongEvent(f"its `{name}` is {'absent' if value is None else 'of the wrong type'}")
    return value


def is_unjudged(rule: str) -> bool:
    """Whether a refusal says nothing of the call itself: it could not be recorded, or judging it failed."""
    return rule == "fault" or rule.startswith("store:")


def denies_unjudged(on_failure: str | None, mode: str | None) -> bool:
    """Whether a call that nobody could judge is denied: as `on_failure` says, else where calls are blocked."""
    return (on_failure or ("deny" if mode in (None, "block") else "allow")) == "deny"


CANNOT_JUDGE = "RightCall could not judge this call, so it was not made. Do not repeat it; tell the user."
"""What the model reads when a call is denied because nobody could judge it. Why is for the operator."""


# ── built-in tools ──
# The tools that hosts bring along: what they do, and which of their arguments are paths, commands and addresses.
#
# Nothing else is checked of them, unless the policy asks for it (a pack, or `[gate.tools.NAME]`): a host has checked
# its own tools before its hook is asked, and knows them better. Those of Claude Code stand in pack `claude`; the
# others have no pack, since no door but the hook sees their calls.

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
