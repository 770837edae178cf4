"""Whether Codex runs the hooks that are installed in it. It runs none that its user has not trusted, and says so to
nobody else: neither its output nor its exit code tells of a hook that was passed over.

    ~/.codex/config.toml   [hooks.state."FILE:pre_tool_use:0:0"]  trusted_hash = "sha256:…"   each hook, as it is now
                           [projects."FOLDER"]  trust_level = "trusted"                       for hooks in a project

Only Codex writes these: whether its user trusts a program is not for that program to say. They are read here, so that
`rightcall status` can tell. The hash is that of Codex 0.130 to 0.166: the hook as Codex understands it, as JSON with
sorted keys. One that does not fit counts as a hook that has changed, which is what Codex makes of it as well.
"""

import os
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Literal, cast

from msgspec import json

from rightcall.errors import ConfigError
from rightcall.installing.hooks import Found
from rightcall.installing.looking import Installed
from rightcall.installing.places import HOSTS, read_toml, settings_file

Trust = Literal["trusted", "untrusted", "changed", "off", "project", "unreadable"]
"""`off`: its user has switched it off. `project`: Codex reads nothing of this project. `unreadable`: what its user
trusts cannot be read."""

_USUAL_SECONDS = 600
_SESSION_END = "SessionEnd"
_SESSION_END_SECONDS = 3
_USUAL_CONTEXT = 2_500
_MOST_DIGITS = 12
_STEP = "start `codex` and choose to trust them, or type /hooks there"
_NOTHING: Mapping[str, Any] = {}
_WHY: Mapping[Trust, str] = {
    "trusted": "",
    "untrusted": f"Codex runs no hook that you have not trusted, and these are new to it: {_STEP}",
    "changed": f"Codex runs no hook that you have not trusted, and these have changed since: {_STEP}",
    "off": "its hooks are switched off in Codex: start `codex`, type /hooks and switch them on",
    "unreadable": "Codex's config.toml cannot be read, so whether it runs these hooks is not known: start `codex`, "
    "which says what is wrong in it, and correct that",
    "project": "Codex reads no hooks of a project that you have not trusted: start `codex` in its folder, trust the "
    "project, then trust the hooks",
}


def why_not_run(installed: Installed, environment: Mapping[str, str]) -> str:
    """Why Codex passes over our hooks, and what to do; empty where it runs them."""
    found = set(hook_trusts(installed, environment))
    return next((_WHY[one] for one in ("unreadable", "project", "untrusted", "changed", "off") if one in found), "")


def hook_trusts(installed: Installed, environment: Mapping[str, str]) -> Iterator[Trust]:
    """Of each hook of ours in the file."""
    own = os.path.dirname(settings_file(HOSTS["codex"], "user", os.getcwd(), environment))
    try:
        known = read_toml(os.path.join(own, "config.toml"))
    except ConfigError:
        yield "unreadable"
        return
    folder = os.path.dirname(os.path.abspath(installed.path))
    if os.path.realpath(folder) != os.path.realpath(own) and not _is_trusted_project(os.path.dirname(folder), known):
        yield "project"
    states = _table(_table(known.get("hooks")).get("state"))
    for hook in installed.hooks:
        yield _trust_of(hook, installed, states)


def _trust_of(hook: Found, installed: Installed, states: Mapping[str, Any]) -> Trust:
    place = f"{_snake(hook.event)}:{hook.group}:{hook.handler}"
    files = dict.fromkeys((os.path.abspath(installed.path), os.path.realpath(installed.path)))
    state = next((_table(found) for file in files if (found := states.get(f"{file}:{place}")) is not None), _NOTHING)
    if "trusted_hash" not in state:
        return "untrusted"
    if state["trusted_hash"] != hook_hash(hook.event, *_group_and_handler(installed.settings, hook)):
        return "changed"
    return "off" if state.get("enabled") is False else "trusted"


def hook_hash(event: str, group: Mapping[str, Any], handler: Mapping[str, Any]) -> str:
    """What Codex calls a hook by when it is trusted."""
    seconds = _whole(handler.get("timeout"))
    if event == _SESSION_END:
        seconds = min(max(seconds or 1, 1), _SESSION_END_SECONDS)
    plain: dict[str, Any] = {
        "type": "command",
        "command": handler.get("command"),
        "timeout": _USUAL_SECONDS if seconds is None else max(seconds, 1),
        "async": handler.get("async", False),
    }
    if os.name == "nt":
        plain["command"] = handler.get("commandWindows") or handler.get("command_windows") or plain["command"]
    if handler.get("statusMessage") is not None:
        plain["statusMessage"] = handler["statusMessage"]
    limit = _whole(handler.get("additionalContextLimit"))
    if limit not in (None, _USUAL_CONTEXT) and event != _SESSION_END:
        plain["additionalContextLimit"] = limit
    identity: dict[str, Any] = {"event_name": _snake(event), "hooks": [plain]}
    if group.get("matcher") is not None:
        identity["matcher"] = group["matcher"]
    return f"sha256:{sha256(json.encode(identity, order='deterministic')).hexdigest()}"


def _group_and_handler(settings: Any, hook: Found) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    group = settings["hooks"][hook.event][hook.group]
    return _table(group), _table(group["hooks"][hook.handler])


def _is_trusted_project(folder: str, known: Mapping[str, Any]) -> bool:
    """By its folder, or by that of its repository."""
    projects = _table(known.get("projects"))
    places = dict.fromkeys((folder, os.path.realpath(folder), *_repository(os.path.realpath(folder))))
    return any(_table(projects.get(place)).get("trust_level") == "trusted" for place in places)


def _repository(folder: str) -> Iterator[str]:
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above
    yield folder


def _snake(event: str) -> str:
    """
    >>> _snake("PreToolUse")
    'pre_tool_use'
    """
    return re.sub(r"(?<=.)(?=[A-Z])", "_", event).lower()


def _whole(value: Any) -> int | None:
    """A number, which in settings that are JSON is as it was written."""
    if isinstance(value, tuple):
        written = str(cast("tuple[str, str]", value)[1])
        return int(written) if written.isdecimal() and len(written) < _MOST_DIGITS else None
    return value if isinstance(value, int) else None


def _table(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else _NOTHING
