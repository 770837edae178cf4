"""The hosts, where they keep their settings, and which of their events we listen to."""

import os
import sys
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from rightcall.errors import ConfigError
from rightcall.installing.files import contents, text_of
from rightcall.installing.toml_edits import block_of

Kind = Literal["hooks", "servers", "files"]
Scope = Literal["user", "project", "local"]


class Host(Struct, frozen=True):
    """A host. `events` has the seconds that the host should wait for us, per event; `unit` is what its own timeouts
    count, as parts of a second; `filters` are the events that take a pattern of tool names."""

    name: str
    title: str
    kind: Kind
    events: Mapping[str, int] = {}
    unit: int = 1
    filters: tuple[str, ...] = ()
    scopes: tuple[Scope, ...] = ("user", "project")
    after: str = ""


_TOOLS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")

HOSTS: Mapping[str, Host] = {
    host.name: host
    for host in (
        Host(
            "claude-code", "Claude Code", "hooks",
            {"PreToolUse": 30, "PostToolUse": 30, "PostToolUseFailure": 30, "SessionEnd": 10},
            filters=_TOOLS, scopes=("user", "project", "local"),
            after="Sessions that are open take it up when they are started again; /hooks shows it there.",
        ),
        Host(
            "gemini", "Gemini CLI", "hooks",
            {"BeforeTool": 30, "AfterTool": 30, "SessionEnd": 10}, unit=1000,
            after="It counts from the next start on; /hooks shows it there.",
        ),
        Host(
            "codex", "Codex", "hooks",
            {"PreToolUse": 30, "PostToolUse": 30, "SessionEnd": 3}, filters=_TOOLS,
            after="Codex runs no hook that you have not trusted: start `codex` and choose to trust them, or type "
            "/hooks there. Every change of them, also of their mode, asks for that again. `rightcall status` says "
            "whether they are trusted.",
        ),
        Host("claude-desktop", "Claude Desktop", "servers", scopes=("user",), after="Start Claude Desktop again."),
        Host("cursor", "Cursor", "servers", after="Cursor takes it up when its MCP servers are started again."),
        Host("agent-zero", "Agent Zero", "files", scopes=("user",), after="Start Agent Zero again."),
    )
}  # fmt: skip


def host_named(name: str) -> Host:
    host = HOSTS.get(name) or HOSTS.get({"claude": "claude-code", "gemini-cli": "gemini"}.get(name, ""))
    if host is None:
        raise ConfigError(f"there is no host {name!r}: the hosts are {', '.join(HOSTS)}")
    return host


def settings_file(
    host: Host, scope: Scope, folder: str, environment: Mapping[str, str], platform: str = sys.platform
) -> str:
    """Where a host reads its settings: for all work of the user, or in the project's folder."""
    if scope not in host.scopes:
        raise ConfigError(_no_such_scope(host))
    if host.name == "claude-desktop":
        return os.path.join(_desktop(environment, platform), "claude_desktop_config.json")
    if host.name == "claude-code":
        name = "settings.local.json" if scope == "local" else "settings.json"
        return os.path.join(_folder(".claude", "CLAUDE_CONFIG_DIR", scope, folder, environment), name)
    if host.name == "gemini":
        return os.path.join(_gemini(scope, folder, environment), "settings.json")
    if host.name == "cursor":
        return os.path.join(folder if scope == "project" else _home(environment), ".cursor", "mcp.json")
    return _codex(_folder(".codex", "CODEX_HOME", scope, folder, environment))


def _no_such_scope(host: Host) -> str:
    if "project" in host.scopes:
        return f"{host.title} has no settings that a project keeps to one person: --project instead of --local"
    return f"{host.title} has no settings of its own in a project: leave --project and --local out"


def _codex(folder: str) -> str:
    """Hooks may stand in a file of their own or among the settings; in both at once Codex complains."""
    own, settings = os.path.join(folder, "hooks.json"), os.path.join(folder, "config.toml")
    if os.path.lexists(own) and not _has_our_block(settings):
        return own
    return settings if _has_inline_hooks(settings) else own


def _has_our_block(file: str) -> bool:
    try:
        return block_of(_text(file)) is not None
    except ConfigError:
        return False


def _has_inline_hooks(file: str) -> bool:
    hooks = toml_settings(file).get("hooks")
    # `state` is where Codex itself notes which hooks are trusted
    return bool(hooks) and (not isinstance(hooks, dict) or set(hooks) != {"state"})  # pyright: ignore[reportUnknownArgumentType]


def toml_settings(file: str) -> dict[str, Any]:
    """What a TOML file holds; nothing where it cannot be read."""
    try:
        return read_toml(file)
    except ConfigError:
        return {}


def read_toml(file: str) -> dict[str, Any]:
    """What a TOML file holds; nothing where there is none. Raises ConfigError."""
    import tomllib

    try:
        return tomllib.loads(_text(file).removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"is not valid TOML: {error}", source=file) from None


def _text(file: str) -> str:
    return text_of(contents(file) or b"", file)


def _folder(name: str, variable: str, scope: Scope, folder: str, environment: Mapping[str, str]) -> str:
    if scope == "user":
        return environment.get(variable) or os.path.join(_home(environment), name)
    return os.path.join(folder, name)


def _gemini(scope: Scope, folder: str, environment: Mapping[str, str]) -> str:
    home = folder if scope == "project" else environment.get("GEMINI_CLI_HOME") or _home(environment)
    return os.path.join(home, ".gemini")


def _desktop(environment: Mapping[str, str], platform: str) -> str:
    home = _home(environment)
    if platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "Claude")
    if platform == "win32":
        return os.path.join(environment.get("APPDATA") or os.path.join(home, "AppData", "Roaming"), "Claude")
    return os.path.join(environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "Claude")


def _home(environment: Mapping[str, str]) -> str:
    return environment.get("HOME") or os.path.expanduser("~")
