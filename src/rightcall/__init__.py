"""RightCall makes every tool call a language model emits come out right, or not at all.

>>> from rightcall import Gate
>>> gate = Gate([{"name": "add", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}])
>>> gate.check("add", "{'n': 'two'}").call.arguments
{'n': 2}

    Gate       from what a model wrote to a call that fits its tool, or a refusal with a hint
    Executor   runs calls under a policy, with a record of each; `Door` judges calls that somebody else runs
    Router     whether a request needs a tool, and which
    run_loop   asks a model, runs what it calls, until it answers; `Endpoint` is a model behind an address
    guard      one function, made safe for a model to call; `tool` declares one for an executor

Each package below is one stage or one door, and offers its own names in the same way (`front`).
"""

import sys
import typing
from _thread import _count  # pyright: ignore[reportPrivateUsage] - `threading` would be loaded for it
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast

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
        ToolFailure,
        Unreadable,
    )
    from rightcall.executor.door import Door
    from rightcall.executor.executor import Executor
    from rightcall.executor.messages import Outcome
    from rightcall.executor.sync import SyncExecutor
    from rightcall.gate.gate import Gate
    from rightcall.gate.guard import Refused, arun_calls, guard, run_calls
    from rightcall.gate.recover.section import tagged
    from rightcall.gate.recover.window import Format
    from rightcall.gate.repair.arguments import loads
    from rightcall.models.endpoint import Endpoint
    from rightcall.models.loop import LoopResult, ScriptedModel, run_loop, run_loop_sync
    from rightcall.policy.settings import Policy
    from rightcall.policy.types import Approval, Decision
    from rightcall.policy.watch import load_policy
    from rightcall.record.memory import MemoryStore
    from rightcall.record.sqlite import SqliteStore
    from rightcall.router.packet import Candidate, Intent, Packet
    from rightcall.router.router import Router
    from rightcall.tools.functions import tool
    from rightcall.types import Call, Event, Note, Parsed, Problem, Reading, Repair, Verdict

__version__ = "0.1.0"

_F = TypeVar("_F", bound=Callable[..., Any])
_ASYNCHRONOUS = 0x80  # `inspect.CO_COROUTINE`, which takes long to load

_SELDOM = ("textwrap", "msgspec.inspect", "msgspec.toml", "msgspec.yaml")
"""Modules that msgspec loads for what hardly anybody asks of it."""

__all__ = [
    "AnswerError", "Approval", "Call", "CallError", "Candidate", "ConfigError", "Decision", "Door", "Endpoint", "Event",
    "Executor", "Format", "Gate", "Intent", "LoopResult", "MemoryStore", "ModelError", "Note", "Outcome",
    "PackError", "Packet", "Parsed", "Policy", "PolicyError", "Problem", "Reading", "Refused", "Repair",
    "RightCallError", "Router", "ScriptedModel", "SqliteStore", "StoreError", "SyncExecutor", "ToolError",
    "ToolFailure", "Unreadable", "Verdict", "__version__", "arun_calls", "guard", "load_policy", "loads",
    "run_calls", "run_loop", "run_loop_sync", "tagged", "tool",
]  # fmt: skip


def front(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package: its public names, each loaded when it is first used, so that
    importing the package costs nothing. `homes` has the names of each module below it, with spaces between."""

    def load(name: str) -> Any:
        for home, names in homes.items():
            if name in names.split():
                if home != "errors" and not _count():
                    lighten()
                value = getattr(import_module(f"{package}.{home}"), name)
                setattr(sys.modules[package], name, value)
                return value
        raise _missing(package, name)

    def names() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return load, names


def lighten(*, alone: bool = False) -> None:
    """Loads msgspec without what it never uses: `typing_extensions`, which it would load where that is installed, for
    names that `typing` has since Python 3.11. Where no thread can see it, also without what is hardly ever used of it,
    which is loaded when it is used, and without `platform`, which `uuid` asks for no more than the system's name (from
    Python 3.13 on not even that). Meanwhile no other thread can load them. What stands for `datetime`, and for
    compiling, stays there in a process that does nothing else (`alone`)."""
    if "msgspec" in sys.modules or "typing_extensions" in sys.modules:
        return
    absent: dict[str, Any] = {"typing_extensions": None}
    unseen = alone or "threading" not in sys.modules
    if unseen:
        absent |= {name: LateModule(name) for name in _SELDOM}
        if sys.platform == "linux" and "uuid" not in sys.modules:
            absent["platform"] = _Linux
            if alone:
                absent["_uuid"] = None  # for addresses of the network, of which nobody asks
        if sys.version_info < (3, 12):  # from then on, `datetime` is no more than this
            absent["datetime"] = import_module("_datetime")
    absent = {name: module for name, module in absent.items() if name not in sys.modules}
    sys.modules.update(absent)
    if unseen:
        typing.compile = _as_written  # pyright: ignore[reportAttributeAccessIssue]
    try:
        import msgspec  # noqa: F401  # pyright: ignore[reportUnusedImport]
    finally:
        for name in absent.keys() - ({"datetime"} if alone else ()):
            sys.modules.pop(name, None)
        if unseen and not alone:
            del typing.compile  # pyright: ignore[reportAttributeAccessIssue]


def _as_written(source: str, *_: str) -> str:
    """What `typing` keeps of a type in quotes until somebody evaluates it, which works with the text, too. The first
    text that Python compiles in a process takes it a millisecond."""
    return source


class LateModule(ModuleType):
    """Stands for a module until something of it is used that is not here yet: then it is loaded."""

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # every `from … import` asks for it; only packages have one
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


class _Linux:
    """What `uuid` wants of `platform`."""

    @staticmethod
    def system() -> str:
        return "Linux"


class LateLog:
    """The logger of RightCall, silent until the host configures logging. Python's own module for it is loaded with the
    first message: most calls have none, and a hook pays for every import."""

    def __getattr__(self, name: str) -> Any:
        import logging

        logger = logging.getLogger("rightcall")
        if not any(isinstance(one, logging.NullHandler) for one in logger.handlers):
            logger.addHandler(logging.NullHandler())
        value = getattr(logger, name)
        setattr(self, name, value)
        return value


def suggest(name: str, known: Iterable[str]) -> str:
    """What a misspelt name was meant to be, as the end of a message; empty where none is near."""
    from difflib import get_close_matches  # late: only a mistake pays for it

    near = get_close_matches(name, [one for one in known if one != name], n=1)
    return f": did you mean {near[0]!r}?" if near else ""


def suggest_keywords(function: _F) -> _F:
    """Makes a function answer a misspelt keyword with the one that was meant. It must name all that it takes."""
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if code.co_flags & _ASYNCHRONOUS:

        @wraps(function)
        async def call_awaited(*args: Any, **given: Any) -> Any:
            try:
                begun = function(*args, **given)
            except TypeError:
                check_keywords(function.__qualname__, given, known)
                raise
            return await begun

        return cast("_F", call_awaited)

    @wraps(function)
    def called(*args: Any, **given: Any) -> Any:
        try:
            return function(*args, **given)
        except TypeError:
            check_keywords(function.__qualname__, given, known)
            raise

    return cast("_F", called)


def check_keywords(called: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises the TypeError of a call with a keyword that is not known."""
    for name in given:
        if name not in known:
            message = f"{called}() got an unexpected keyword argument {name!r}{suggest(name, known)}"
            raise TypeError(message) from None


def _missing(package: str, name: str) -> Exception:
    caller = sys._getframe(2)  # pyright: ignore[reportPrivateUsage] - who asks decides which error is heard
    if name.startswith("__") or caller.f_code.co_name == "_handle_fromlist":
        # `from package import module` asks here first, and looks for the module after a plain no.
        return AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
    hint = suggest(name, sys.modules[package].__all__)
    from opcode import opname

    if opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM" and f"{package}.{name}" not in sys.modules:
        # Python would make an error of its own here, without the suggestion.
        return ImportError(f"cannot import name {name!r} from {package!r}{hint}", name=package)
    return AttributeError(f"module {package!r} has no attribute {name!r}{hint}", name=name)


if not TYPE_CHECKING:  # a type checker sees the names above, and says where one is misspelt
    __getattr__, __dir__ = front(
        __name__,
        {
            "errors": "AnswerError CallError ConfigError ModelError PackError PolicyError RightCallError StoreError "
            "ToolError ToolFailure Unreadable",
            "executor.door": "Door",
            "executor.executor": "Executor",
            "executor.messages": "Outcome",
            "executor.sync": "SyncExecutor",
            "gate.gate": "Gate",
            "gate.guard": "Refused arun_calls guard run_calls",
            "gate.repair.arguments": "loads",
            "gate.recover.section": "tagged",
            "gate.recover.window": "Format",
            "models.endpoint": "Endpoint",
            "models.loop": "LoopResult ScriptedModel run_loop run_loop_sync",
            "policy.watch": "load_policy",
            "policy.settings": "Policy",
            "policy.types": "Approval Decision",
            "record.memory": "MemoryStore",
            "record.sqlite": "SqliteStore",
            "router.packet": "Candidate Intent Packet",
            "router.router": "Router",
            "tools.functions": "tool",
            "types": "Call Event Note Parsed Problem Reading Repair Verdict",
        },
    )
