"""The hook command as hosts start it: its words, a project with a policy, and what was recorded there."""

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import json

import rightcall
from rightcall.hosts.hooks.place import socket_address
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import read_call, read_end


def bind(listener: socket.socket, path: str) -> None:
    """To an address of any length: folders of tests are deep."""
    _at(path, listener.bind)


def connect(client: socket.socket, path: str) -> None:
    _at(path, client.connect)


def _at(path: str, use: Callable[[str], None]) -> None:
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        use(socket_address(path, folder))
    finally:
        os.close(folder)


SOURCE = str(Path(rightcall.__file__).parent.parent)

POLICY = """\
version = 1
[policy]
deny = ["Bash", "run_shell_command", "files/move_file"]
repeats = 0
[policy.approval]
tools = ["Write", "replace", "files/edit_file"]
[policy.paths]
deny = ["private/**"]
"""


def hook_command(host: str, *options: str, state: Path) -> str:
    """The command for the host's settings. Hosts hand their environment on or not, so that it brings its own."""
    words = (sys.executable, "-m", "rightcall", "hook", host, *options)
    return shlex.join(("env", f"PYTHONPATH={SOURCE}", f"XDG_STATE_HOME={state}", *words))


def hook(host: str, event: Mapping[str, Any] | bytes, folder: Path, *options: str, **variables: str) -> Any:
    """What the hook says to an event, started in `folder`; None for nothing. Nothing else may happen."""
    given = event if isinstance(event, bytes) else json.encode(event)
    done = subprocess.run(
        [sys.executable, "-m", "rightcall", "hook", host, *options],
        input=given, capture_output=True, timeout=200, check=False, cwd=folder, start_new_session=True,
        env={"PATH": os.defpath, "PYTHONPATH": SOURCE, "XDG_STATE_HOME": str(folder / "state"), **variables},
    )  # fmt: skip
    assert done.returncode == 0, done
    assert not done.stderr or done.stderr.startswith(b"RightCall could not judge"), done
    told = json.decode(done.stdout) if done.stdout.strip() else None
    if told is not None and done.stderr:  # why, which the operator reads and no model
        told["hookSpecificOutput"]["permissionDecisionReason"] += f" {done.stderr.decode()}"
    return told


def project(folder: Path, policy: str | None = POLICY) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.txt").write_text("the words of a\n")
    (folder / "private").mkdir(exist_ok=True)
    (folder / "private" / "b.txt").write_text("nobody's business\n")
    if policy is not None:
        (folder / "rightcall.toml").write_text(policy)
    return folder


def recorded(folder: Path, database: str = ".rightcall/audit.db") -> list[dict[str, Any]]:
    """Every call of the record: tool, decision, rule, and what came of it."""
    store = SqliteStore(folder / database)
    try:
        return store.look(_calls)
    finally:
        store.close()


def _calls(tables: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for entry in tables.entries():
        if entry.kind not in ("begin", "refused", "waiting"):
            continue
        body = read_call(entry.body)
        ends = [read_end(one.body) for one in tables.belonging(entry.seq) if one.kind == "end"]
        found.append(
            {
                "kind": entry.kind,
                "tool": body.tool,
                "caller": body.caller,
                "rule": body.rule,
                "reason": body.reason,
                "arguments": body.params,
                "context": body.context,
                "step": body.step,
                "end": ends[-1].status if ends else None,
                "error": ends[-1].error if ends else None,
                "approval": body.approval,
            }
        )
    return found
