"""Where the fork server starts: `python -I boot.py NUMBER`, the number of the socket it is asked through.

Modules of the sandbox are imported under their usual names, from packages that are hollow: nothing else of ours is
loaded, so that any Python will do."""

from __future__ import annotations

import sys

_STARTED_WITH = frozenset(sys.modules)

# ruff: noqa: E402
import gc
import os
import socket
from importlib import import_module
from types import ModuleType


def _hollow_packages() -> None:
    folder = os.path.dirname(os.path.abspath(__file__))
    for name in ("rightcall.tools.sandbox.inside", "rightcall.tools.sandbox", "rightcall.tools", "rightcall"):
        package = ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package
        folder = os.path.dirname(folder)


_PRELOADED = (
    "collections.abc", "dataclasses", "datetime", "itertools", "json", "linecache", "math", "pathlib", "random", "re",
    "threading", "traceback", "typing",
)  # fmt: skip
"""What many scripts import, so that it is there already."""

_hollow_packages()
for _name in _PRELOADED:
    import_module(_name)

from rightcall.tools.sandbox.inside import child, wire
from rightcall.tools.sandbox.inside.server import ForkServer, supervise


def _program() -> child.Run:
    """Serve; returns in each process that is to become a program, when it can do no more than that."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    server = ForkServer(requests)
    facts = server.facts
    child.prefer_fork()
    gc.collect()
    gc.freeze()  # what is there already is not looked at again in each child, which would copy it
    groups = {kind: home.version for home in facts.homes for kind in home.kinds}
    wire.send(requests, {"executable": sys.executable, "groups": groups})
    run = supervise(server.wait_for_run(), facts)
    try:
        tasks = child.become_first(run) if run.request.tier == "namespaces" else child.become_ready(run)
        child.confine_self(run, tasks)
        if run.request.script is None:
            child.replace_self(run)
    except BaseException as error:  # noqa: BLE001  (whatever it was: nothing runs)
        try:
            wire.send(run.channel, {"failed": str(error) or type(error).__name__})
        finally:
            os._exit(125)
    return run


_run = _program()
child.reset_signals(warm=True)
child.set_environment(child.environment(_run))
_run.channel.close()
child.adapt_library(_run)
child.lend_packages(_run.request.packages)
_start = child.prepare_start(str(_run.request.script), _run.request.argv, _STARTED_WITH)
if _start() != 0 and not child.was_interrupted():  # called from here: the fewer frames of ours the program sees
    sys.exit(1)
