"""RightCall makes every tool call a language model emits come out right, or not at all.

>>> from rightcall import Gate
>>> gate = Gate([{"name": "add", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}])
>>> gate.check("add", "{'n': 'two'}").call.arguments
{'n': 2}
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rightcall.config import Policy
    from rightcall.config_load import load_policy
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
    from rightcall.execute.functions import tool
    from rightcall.executor import Executor
    from rightcall.gate import Gate
    from rightcall.guarding import Refused, arun_calls, guard, run_calls
    from rightcall.loading import loads
    from rightcall.present.messages import Outcome
    from rightcall.record.memory import MemoryStore
    from rightcall.record.sqlite import SqliteStore
    from rightcall.recover.section import tagged
    from rightcall.recover.take import Format
    from rightcall.route.router import Router
    from rightcall.route.types import Candidate, Intent
    from rightcall.types import Call, Event, Parsed, Problem, Reading, Repair, Verdict
    from rightcall.types_running import Approval, Decision

__version__ = "0.1.0"

_HOME = {
    "Gate": "gate", "loads": "loading", "guard": "guarding", "run_calls": "guarding", "arun_calls": "guarding",
    "Refused": "guarding", "Verdict": "types", "Call": "types", "Repair": "types", "Problem": "types",
    "Event": "types", "Parsed": "types", "Policy": "config", "load_policy": "config_load", "RightCallError": "errors",
    "Unreadable": "errors", "ConfigError": "errors", "PolicyError": "errors", "PackError": "errors",
    "ToolError": "errors", "Reading": "types", "Format": "recover.take", "tagged": "recover.section",
    "Executor": "executor", "tool": "execute.functions", "Outcome": "present.messages", "Decision": "types_running",
    "Approval": "types_running", "MemoryStore": "record.memory", "SqliteStore": "record.sqlite",
    "StoreError": "errors", "AnswerError": "errors", "CallError": "errors", "ModelError": "errors",
    "Router": "route.router", "Intent": "route.types", "Candidate": "route.types",
}  # fmt: skip
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
