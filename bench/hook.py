"""What a hook costs: CPU of the whole process that a host starts for each call, with a running server and without."""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.table import Figure
from rightcall.record.notes import remember_tools
from rightcall.record.sqlite import SqliteStore
from rightcall.server.hooks import HookServer

RUNS = 20
WITH_SERVER, ALONE = 0.060, 0.150
POLICY = "version = 1\n[policy]\nrepeats = 0\nlimits = { caller = { minute = 0, hour = 0, burst = 0 } }\n"
TOOL = {
    "name": "write_file",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
}
CALLS = {
    "a host's own tool": ("Grep", {"pattern": "def main"}),
    "a server's tool": ("mcp__files__write_file", {"path": "a.txt", "content": "x"}),
    "a server's tool, put right": ("mcp__files__write_file", {"file_path": "a.txt", "text": "x"}),
}


def hooking() -> Iterator[Figure]:
    """As it is installed: by the script on the path, where there is one."""
    with tempfile.TemporaryDirectory() as folder:
        project, environment = Path(folder), _environment(folder)
        (project / "rightcall.toml").write_text(POLICY, encoding="utf-8")
        store = SqliteStore(project / ".rightcall" / "audit.db")
        remember_tools(store, "files", [TOOL])
        store.close()
        bare = _cpu([sys.executable, "-c", "pass"], b"", folder, environment)
        for what, call in CALLS.items():
            yield _figure(f"{what}, no server", _hook(call, folder, environment), bare, ALONE)
        before = os.environ.get("XDG_STATE_HOME")
        os.environ["XDG_STATE_HOME"] = environment["XDG_STATE_HOME"]
        server = HookServer(str(project / "rightcall.toml"))
        try:
            assert server.start(), "no socket can be made here"
            for what, call in CALLS.items():
                yield _figure(f"{what}, server", _hook(call, folder, environment), bare, WITH_SERVER)
            assert server.answered == (RUNS + 1) * len(CALLS)
        finally:
            server.stop()
            os.environ.pop("XDG_STATE_HOME")
            os.environ.update({} if before is None else {"XDG_STATE_HOME": before})


def _figure(what: str, taken: float, bare: float, most: float) -> Figure:
    ours, peer = f"{taken * 1e3:.0f} ms", f"{bare * 1e3:.0f} ms bare Python"
    return Figure(f"hook: {what}, CPU", ours, peer, f"{taken / bare:.1f}", f"<= {most * 1e3:.0f} ms", taken <= most)


def _hook(call: tuple[str, dict[str, Any]], folder: str, environment: dict[str, str]) -> float:
    event = {
        "session_id": "s", "cwd": folder, "hook_event_name": "PreToolUse", "tool_name": call[0], "tool_input": call[1],
        "tool_use_id": "t",
    }  # fmt: skip
    script = Path(sys.executable).with_name("rightcall")
    program = [str(script)] if script.exists() else [sys.executable, "-m", "rightcall"]
    return _cpu([*program, "hook", "claude"], json.dumps(event).encode(), folder, environment)


def _cpu(command: list[str], sent: bytes, folder: str, environment: dict[str, str]) -> float:
    """Median CPU seconds, user and system; the first run only warms the caches."""
    taken: list[float] = []
    for _ in range(RUNS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, input=sent, stdout=subprocess.DEVNULL, cwd=folder, env=environment, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(taken[1:])


def _environment(folder: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_PROJECT_DIR")}
    return kept | {"XDG_STATE_HOME": os.path.join(folder, "state")}
