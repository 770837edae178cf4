"""RightCall makes every tool call a language model emits come out right, or not at all.

>>> from rightcall import Gate
>>> gate = Gate([{"name": "add", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}])
>>> gate.check("add", "{'n': 'two'}").call.arguments
{'n': 2}
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rightcall.errors import (
        AnswerError,
        CallError,
        ConfigError,
        ModelError,
        PackError,
        PolicyError,
        RightCallError,
        StoreError,
        ToolError,
        Unreadable,
    )
    from rightcall.executor.executor import Executor
    from rightcall.executor.present.messages import Outcome
    from rightcall.gate.gate import Gate
    from rightcall.gate.guard import Refused, arun_calls, guard, run_calls
    from rightcall.gate.loads import loads
    from rightcall.gate.recover.section import tagged
    from rightcall.gate.recover.window import Format
    from rightcall.policy.loader import load_policy
    from rightcall.policy.settings import Policy
    from rightcall.policy.types import Approval, Decision
    from rightcall.record.memory import MemoryStore
    from rightcall.record.sqlite import SqliteStore
    from rightcall.router.router import Router
    from rightcall.router.types import Candidate, Intent
    from rightcall.tools.functions import tool
    from rightcall.types import Call, Event, Parsed, Problem, Reading, Repair, Verdict

__version__ = "0.1.0"

_HOME = {
    "Gate": "gate.gate",
    "loads": "gate.loads",
    "guard": "gate.guard",
    "run_calls": "gate.guard",
    "arun_calls": "gate.guard",
    "Refused": "gate.guard",
    "Verdict": "types",
    "Call": "types",
    "Repair": "types",
    "Problem": "types",
    "Event": "types",
    "Parsed": "types",
    "Policy": "policy.settings",
    "load_policy": "policy.loader",
    "RightCallError": "errors",
    "Unreadable": "errors",
    "ConfigError": "errors",
    "PolicyError": "errors",
    "PackError": "errors",
    "ToolError": "errors",
    "Reading": "types",
    "Format": "gate.recover.window",
    "tagged": "gate.recover.section",
    "Executor": "executor.executor",
    "tool": "tools.functions",
    "Outcome": "executor.present.messages",
    "Decision": "policy.types",
    "Approval": "policy.types",
    "MemoryStore": "record.memory",
    "SqliteStore": "record.sqlite",
    "StoreError": "errors",
    "AnswerError": "errors",
    "CallError": "errors",
    "ModelError": "errors",
    "Router": "router.router",
    "Intent": "router.types",
    "Candidate": "router.types",
}
"""Where each public name lives; it is imported when it is first used, so that importing the package costs nothing."""

__all__ = [
    "AnswerError", "Approval", "Call", "CallError", "Candidate", "ConfigError", "Decision", "Event", "Executor",
    "Format", "Gate", "Intent", "MemoryStore", "ModelError", "Outcome", "PackError", "Parsed", "Policy", "PolicyError",
    "Problem", "Reading", "Refused", "Repair", "RightCallError", "Router", "SqliteStore", "StoreError", "ToolError",
    "Unreadable", "Verdict", "__version__", "arun_calls", "guard", "load_policy", "loads", "run_calls", "tagged",
    "tool",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'rightcall' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"rightcall.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
