"""What somebody should know beside the difference: why it may not work yet, what was left out, and whether the
installed command really runs."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from secrets import token_hex
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, Literal, cast

from msgspec import DecodeError, Struct, json

from rightcall.catalog.toml import KeyPath, Source
from rightcall.errors import ConfigError, PolicyError
from rightcall.hosts.hooks.hook import Options, Unanswered, ask_server
from rightcall.hosts.hooks.place import TRIAL, policy_of_project, project_folder, socket_path
from rightcall.hosts.hooks.wires import CANNOT_JUDGE
from rightcall.hosts.install.edits import Path, read
from rightcall.hosts.install.hosts import Found, ServerEntry, entries_of
from rightcall.hosts.install.places import (
    HOSTS,
    Host,
    Wish,
    contents,
    digest,
    hook_handler,
    is_misled,
    is_passing,
    mode_of,
    option,
    program,
    read_toml,
    settings_file,
    text_of,
    toml_settings,
)
from rightcall.hosts.install.plans import Change, Installed, Record
from rightcall.policy.settings import DEFAULT_POLICY, HOST_NAMES, Policy
from rightcall.policy.trust import FoundPolicy, read_text
from rightcall.types import Mode


def notes_on(change: Change, wish: Wish) -> list[str]:
    """One sentence each."""
    notes: list[str] = []
    if is_passing(wish.program):
        notes.append(
            f"{wish.program[0]} lies in a cache that may be emptied: install rightcall for good, then do this again."
        )
    settings = settings_of(change)
    if change.host.kind == "servers":
        notes += _left_out(entries_of(settings), wish)
    elif off := switched_off(change.host, change.path, settings):
        notes.append(off)
    return notes


def settings_of(change: Change) -> Any:
    """The settings after the change, as plain data."""
    if change.after is None or change.path.endswith(".toml"):
        return {} if change.after is None else tomllib.loads(text_of(change.after, change.path).removeprefix("\ufeff"))
    text = text_of(change.after, change.path)
    return read(text).plain() if text.strip("\ufeff \t\r\n") else {}


def switched_off(host: Host, path: str, settings: Any) -> str:
    """Says so where the host runs no hooks at all."""
    if host.name == "claude-code" and settings.get("disableAllHooks") is True:
        return "Hooks are switched off in these settings: disableAllHooks is true."
    if host.name == "gemini" and _in(settings, "hooksConfig", "enabled") is False:
        return "Hooks are switched off in these settings: hooksConfig.enabled is false."
    if (
        host.name == "codex"
        and _in(toml_settings(os.path.join(os.path.dirname(path), "config.toml")), "features", "hooks") is False
    ):
        return "Hooks are switched off in Codex's config.toml: hooks is false under [features]."
    return ""


def _in(settings: Any, table: str, key: str) -> Any:
    inner = settings.get(table) if isinstance(settings, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return inner.get(key) if isinstance(inner, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _left_out(entries: list[ServerEntry], wish: Wish) -> list[str]:
    chosen = [entry for entry in entries if not wish.only or entry.name in wish.only]
    remote = [entry.name for entry in chosen if entry.state == "remote"]
    odd = [entry.name for entry in chosen if entry.state == "odd"]
    notes: list[str] = []
    if remote:
        notes.append(f"Left as they are, since they run elsewhere and have no command: {', '.join(remote)}.")
    if odd:
        notes.append(f"Left as they are, since their command is not understood: {', '.join(odd)}.")
    return notes


# ── trying ──
# Whether what is installed works: the very command in the settings is run with an event that means nothing.
#
# It runs with `--mode block` behind it, since a hook that only watches keeps silent about its own failure.

DEADLINE = 15.0
"""Seconds for a hook to answer, which has five by itself."""
_LOUDER = ("--mode", "block")
_FAILED = "RightCall could not judge this call"
_EVENTS = {"gemini": "BeforeTool"}
_MOST_SHOWN = 1000
"""Characters of why it failed: enough for the command that helps, which comes last."""


class Tried(Struct, frozen=True):
    """How it went: `why` it does not work, or why that is `unknown`, or neither."""

    why: str = ""
    unknown: str = ""
    milliseconds: int | None = None

    @property
    def works(self) -> bool | None:
        return None if self.unknown else not self.why


def try_hook(installed: Installed, record: Record | None, environment: Mapping[str, str]) -> Tried:
    """Runs the command that stands before a tool's use, as the host would; but only where it is surely ours: settings
    in a project may come from anybody."""
    event = _EVENTS.get(installed.host.name, "PreToolUse")
    found = next((one for one in installed.hooks if one.event == event), None)
    if found is None:
        return Tried(f"the hook for {event} is missing: install it again")
    if is_misled(found.words):
        return Tried("an older version wrote its command, which runs what a project calls rightcall: install it again")
    handler = _handler(installed.settings, found.path)
    if not _is_surely_ours(installed, record, handler, found):
        return Tried(unknown="it was not run: others wrote into this file, and its command is not of this program")
    named = option(found.words, "--policy")
    policy = named or policy_of_project(project_folder())
    if wrong := _policy_fault(policy, found=not named):
        return Tried(wrong)
    with TemporaryDirectory(prefix="rightcall-status-") as folder:
        # without a policy the record is the user's own, where a call that never was has no place
        own = {} if policy else {"XDG_STATE_HOME": folder, "LOCALAPPDATA": folder}
        return _run(_started(handler, found), _event(), {**environment, **own})


def _is_surely_ours(installed: Installed, record: Record | None, handler: Mapping[str, Any], found: Found) -> bool:
    if record is not None and digest(contents(installed.path) or b"") == record.after:
        return True
    wish = Wish(program(), windows=sys.platform == "win32")
    mode, policy = mode_of(found.words), option(found.words, "--policy")
    known = hook_handler(installed.host.name, wish, mode or "observe", policy)
    return all(handler.get(key) == known.get(key) for key in ("command", "args"))


def _handler(settings: Any, path: Path) -> dict[str, Any]:
    here = settings
    for step in path:
        here = here[step]
    return cast("dict[str, Any]", here)


def _started(handler: Mapping[str, Any], found: Found) -> list[str]:
    if handler.get("args") or sys.platform == "win32":
        return [*found.words, *_LOUDER]
    return ["/bin/sh", "-c", f"{handler['command']} {' '.join(_LOUDER)}"]


def _event() -> bytes:
    """Of a kind that no host sends, so that the call is judged and not recorded: it would never end."""
    tool = {"tool_name": "rightcall_status", "tool_input": {"check": token_hex(8)}}
    return json.encode({"hook_event_name": TRIAL, "session_id": "rightcall-status", "cwd": os.getcwd(), **tool})


def _run(words: list[str], event: bytes, environment: Mapping[str, str]) -> Tried:
    begun = monotonic()
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(environment),
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return Tried(f"its program cannot be started: {error.strerror or error}")
    try:
        out, err = process.communicate(event, DEADLINE)
    except subprocess.TimeoutExpired:
        return Tried(f"it does not answer within {DEADLINE:g} seconds")
    finally:
        _end(process)
    return _judged(process.returncode, out, err, round((monotonic() - begun) * 1000))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends what we started, and whatever that started, if it still runs."""
    if process.poll() is None:
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.communicate()


def _judged(code: int, out: bytes, err: bytes, milliseconds: int) -> Tried:
    if code != 0:
        said = err.decode("utf-8", "replace").strip()[:_MOST_SHOWN]
        return Tried(f"its command ends with code {code}" + (f": {said}" if said else ""))
    try:
        answer: Any = json.decode(out) if out.strip() else {}
    except DecodeError:
        return Tried("it prints an invalid answer")
    text = out.decode("utf-8", "replace")
    if not isinstance(answer, dict) or _FAILED in text:
        return Tried(_reason(text, err.decode("utf-8", "replace")))
    return Tried(milliseconds=milliseconds)


def _reason(text: str, err: str) -> str:
    """Why it failed is on standard error; where a running server judged, in that server's log."""
    if (start := err.find(_FAILED)) >= 0:
        return err[start:].splitlines()[0][:_MOST_SHOWN]
    if CANNOT_JUDGE in text:
        return f"{_FAILED}; the log of the server that runs for this folder says why"
    start = text.find(_FAILED)
    return "it prints an invalid answer" if start < 0 else text[start:].split('"')[0][:_MOST_SHOWN]


def _policy_fault(policy: str | None, *, found: bool = False) -> str:
    from rightcall.policy.watch import load_policy

    try:
        load_policy(policy if policy is None or not found else FoundPolicy(policy, quiet=True))
    except (ConfigError, OSError) as error:
        return f"the policy is wrong: {error}"
    return ""


def try_server(entry: ServerEntry, environment: Mapping[str, str]) -> Tried:
    """Looks whether both programs are there, ours and the server's. It is not started: that might do something."""
    if wrong := _policy_fault(option(entry.ours, "--policy")):
        return Tried(wrong)
    for word in (entry.words[0], entry.server[0]):
        if shutil.which(word, path=environment.get("PATH")) is None:
            return Tried(f"program {word!r} not found")
    return Tried()


def server_answers(policy: str | None) -> bool | None:
    """Whether the running `rightcall serve` for a policy answers hooks; None where none is running."""
    if policy is None or not os.path.exists(socket_path(policy)):
        return None
    event = json.encode({"hook_event_name": "SessionEnd", "session_id": "rightcall-status", "reason": "other"})
    try:
        return ask_server(Options("claude", policy, project_folder(), None, None), event) is not None
    except Unanswered:
        return False


# ── codex trust ──
# Whether Codex runs the hooks that are installed in it. It runs none that its user has not trusted, and says so to
# nobody else: neither its output nor its exit code tells of a hook that was passed over.
#
#     ~/.codex/config.toml   [hooks.state."FILE:pre_tool_use:0:0"]  trusted_hash = "sha256:…"   each hook, as it is now
#                            [projects."FOLDER"]  trust_level = "trusted"                       for hooks in a project
#
# Only Codex writes these: whether its user trusts a program is not for that program to say. They are read here, so that
# `rightcall status` can tell. The hash is that of Codex 0.130 to 0.166: the hook as Codex understands it, as JSON with
# sorted keys. One that does not fit counts as a hook that has changed, which is what Codex makes of it as well.

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


# ── modes ──
# The mode that counts where RightCall is installed, and where it comes from.
#
#     [gate.tools.NAME] mode ─▶ [gate.hosts.HOST] mode ─▶ --mode of the installed command ─▶ [gate] mode
#
# The policy's word on the host wins over what was installed; a file that was only found wins where it is stricter.


class ModeInForce(Struct, frozen=True):
    mode: Mode
    installed: Mode | None
    """`--mode` of the installed command; None where it has none."""
    file: str | None = None
    """The policy file that says `mode`; None where it is the installed command that counts, or the default."""
    line: int | None = None
    tools: dict[str, Mode] = {}
    """Tools for which the policy says another mode."""

    @property
    def words(self) -> str:
        """As people read it: `observe (rightcall.toml line 2; installed: block); Bash: warn`."""
        said = [] if self.file is None else [f"{os.path.basename(self.file)} line {self.line}"]
        if self.installed is not None and self.installed != self.mode:
            said.append(f"installed: {self.installed}")
        tools = "".join(f"; {name}: {mode}" for name, mode in self.tools.items())
        return f"{self.mode} ({'; '.join(said)}){tools}" if said else f"{self.mode}{tools}"


def mode_in_force(host: str, installed: Mode | None, policy: str | None, *, found: bool = False) -> ModeInForce:
    """What counts at a host for a command with this `--mode`. `found`: nobody named the policy. One that cannot be read
    is told of elsewhere; then it is what was installed."""
    from rightcall.policy.watch import load_policy  # late: `install` starts without it

    given = DEFAULT_POLICY
    with suppress(ConfigError, OSError):
        given = load_policy(FoundPolicy(policy, installed or "block", quiet=True) if found and policy else policy)
    here = given.hosts.get(host)
    said = None if here is None else here.mode
    mode = said or installed or given.mode
    tools = _of_tools(given, mode)
    if policy is None or (said is None and installed is not None):
        return ModeInForce(mode, installed, tools=tools)
    names = (host, *(other for other, name in HOST_NAMES.items() if name == host))
    keys: list[KeyPath] = [("gate", "mode")] if said is None else [("gate", "hosts", name, "mode") for name in names]
    line = _line_saying(policy, keys, mode)
    return ModeInForce(mode, installed, None if line is None else policy, line, tools)


def _of_tools(policy: Policy, mode: Mode) -> dict[str, Mode]:
    return {name: own for name, tool in policy.tools.items() if (own := tool.rules.mode) is not None and own != mode}


def _line_saying(file: str, keys: list[KeyPath], mode: Mode) -> int | None:
    """The line on which one of these keys has this value. A milder one of a found file does not count."""
    with suppress(ConfigError, OSError):
        source = Source.of_bytes(file, PolicyError, read_text(file).raw)
        document = source.parse()
        return next((source.lines.get(key) for key in keys if _value(document, key) == mode), None)
    return None


def _value(document: dict[str, Any], key: KeyPath) -> Any:
    here: Any = document
    for part in key:
        here = cast("dict[Any, Any]", here).get(part) if isinstance(here, dict) else None
    return here
