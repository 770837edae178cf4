"""The executor: every tool, whatever it is, goes the same way (X-01). The order stands in `_Pipeline.run`.

    read ─▶ check ─▶ authorise, record ─▶ execute ─▶ record ─▶ present

Asynchronous; `Executor.open_sync` gives its synchronous twin.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

from rightcall.errors import CallError, StoreError
from rightcall.execute.cache import Cache
from rightcall.execute.functions import LocalTool, local_tool, tool
from rightcall.executor_calls import OnStage, Who, Written
from rightcall.executor_opening import open_store, store_path
from rightcall.executor_outcomes import equipped
from rightcall.executor_pipeline import Pipeline
from rightcall.executor_policy import PolicyInForce
from rightcall.executor_reading import groups, one_call, writings
from rightcall.executor_toolbox import Toolbox, build_toolbox
from rightcall.record.asking import answer
from rightcall.record.entries import NoteBody, encode
from rightcall.record.notes import note_diagnosis, note_message
from rightcall.record.tables import Store
from rightcall.text.redact import Redactor
from rightcall.types import Event
from rightcall.types_running import Approval, Outcome

if TYPE_CHECKING:
    from rightcall.config import Policy
    from rightcall.executor_sync import SyncExecutor
    from rightcall.gate import Gate
    from rightcall.record.clock import Clock

F = TypeVar("F", bound=Callable[..., Any])
Ask = Callable[[Approval], "str | None | Awaitable[str | None]"]
"""Asks a person about a call: the name of who said yes, None for no."""

DEFAULT_CALLER = "default"
_LONGEST_NAME = 200
_POLL = 0.1
"""Seconds between two looks whether a person has answered."""
