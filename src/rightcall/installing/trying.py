"""Whether what is installed works: the very command in the settings is run with an event that means nothing.

It runs with `--mode block` behind it, since a hook that only watches keeps silent about its own failure.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from secrets import token_hex
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, cast

from msgspec import DecodeError, Struct, json

from rightcall.hosts.hook import Options, Unanswered, ask_server
from rightcall.hosts.hook_place import policy_of_project, project_folder, socket_path
from rightcall.installing.commands import Wish, hook_handler, is_misled, mode_of, option, program
from rightcall.installing.files import contents, digest
from rightcall.installing.hooks import Found
from rightcall.installing.json_edits import Path
from rightcall.installing.looking import Installed
from rightcall.installing.manifest import Record
from rightcall.installing.servers import ServerEntry

DEADLINE = 15.0
"""Seconds for a hook to answer, which has five by itself."""
_LOUDER = ("--mode", "block")
_FAILED = "RightCall could not judge this call"
_EVENTS = {"gemini": "BeforeTool"}
_MOST_SHOWN = 300


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
        return Tried(f"there is no hook for {event}: install it again")
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
        return _run(_started(handler, found), _event(event), {**environment, **own})


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


def _event(name: str) -> bytes:
    event = {"hook_event_name": name, "session_id": "rightcall-status", "transcript_path": "", "cwd": os.getcwd()}
    # another one each time: the same call again and again would be refused as a loop
    tool = {"tool_name": "rightcall_status", "tool_input": {"check": token_hex(8)}, "tool_use_id": token_hex(8)}
    return json.encode({**event, **tool, "permission_mode": "default", "turn_id": "rightcall-status", "model": ""})


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
        return Tried("it prints something that is no answer")
    text = out.decode("utf-8", "replace")
    if not isinstance(answer, dict) or _FAILED in text:
        return Tried(_reason(text, err.decode("utf-8", "replace")))
    return Tried(milliseconds=milliseconds)


def _reason(text: str, err: str) -> str:
    """Why it failed is on standard error; where a running server judged, in that server's log."""
    if (start := err.find(_FAILED)) >= 0:
        return err[start:].splitlines()[0][:_MOST_SHOWN]
    start = text.find(_FAILED)
    return "it prints something that is no answer" if start < 0 else text[start:].split('"')[0][:_MOST_SHOWN]


def _policy_fault(policy: str | None, *, found: bool = False) -> str:
    from rightcall.config_found import FoundPolicy
    from rightcall.config_load import load_policy
    from rightcall.errors import ConfigError

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
            return Tried(f"there is no program {word!r}")
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
