"""What the adapters for frameworks share: the door, the calls of one answer put right, and the record of what ran.

An adapter stands at two places. Where the model's answer arrives, `put_right` finds the calls in it, also those left in
the text, and corrects names and arguments, so that the framework finds the tool and its history holds what ran. Where
a tool is about to run, the call is judged as the model wrote it (`Drafts.written`): policy, limits, approval, record.
"""

import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from secrets import token_hex
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from rightcall.present.summary import summarise
from rightcall.types import Verdict

if TYPE_CHECKING:
    from rightcall.door import Door, Passage

T = TypeVar("T")

MOST_DRAFTS = 10_000
"""Calls whose first writing is remembered; only until they run, so these are the ones under way."""


def missing(adapter: str, framework: str, extra: str | None = None) -> ImportError:
    """The error of an adapter whose framework is not installed.

    >>> str(missing("langchain", "LangChain"))
    'rightcall.hosts.langchain needs LangChain: pip install "rightcall[langchain]"'
    """
    return ImportError(
        f'rightcall.hosts.{adapter} needs {framework}: pip install "rightcall[{extra or adapter}]"',
        name=f"rightcall.hosts.{adapter}",
    )


def door_for(host: str, policy: Any = None, door: "Door | None" = None, **settings: Any) -> "Door":
    """The door given, or one opened for this host; `settings` are those of `Door.open`."""
    from rightcall.door import Door

    if door is None:
        return Door.open(host, policy, **settings)
    named = [name for name, value in {"policy": policy, **settings}.items() if value]
    if named:
        raise TypeError(f"a `door` has its own {named[0]}: give {named[0]} to `Door.open`, or no door")
    return door


class Written(Struct, frozen=True):
    """A native call as the model wrote it: arguments may be a dict, JSON text or broken text."""

    id: str
    name: str
    arguments: Any


class Corrected(Struct, frozen=True):
    """A call put right, as far as that is certain: what is not stays as it was written, and is refused when judged."""

    id: str
    name: str
    arguments: Any
    changed: bool
    in_text: bool
    verdict: Verdict


class Turn(Struct, frozen=True):
    """One answer of a model, read: the prose that is left and every call. `changed` false: keep the answer as it is."""

    text: str
    calls: tuple[Corrected, ...]
    changed: bool


def put_right(
    door: "Door",
    text: str,
    calls: Sequence[Written],
    *,
    offered: Collection[str],
    drafts: "Drafts",
    finish_reason: str | None = None,
    space: str = "",
) -> Turn:
    """The calls of one answer, native ones first, then those left in the text. Only the tools `offered` can be meant.

    What the model wrote is kept in `drafts`, so that the call is judged and recorded as it was written.
    """
    native = [_native(door, call, offered, drafts, space) for call in calls]
    found = _in_text(door, text, calls, offered, finish_reason, space) if text.strip() else None
    if found is None:
        return Turn(text, tuple(native), any(call.changed for call in native))
    prose, verdicts = found
    lifted = [_lifted(verdict, drafts) for verdict in verdicts]
    return Turn(prose, (*native, *lifted), True)


def _native(door: "Door", call: Written, offered: Collection[str], drafts: "Drafts", space: str) -> Corrected:
    message = {"role": "assistant", "content": None, "tool_calls": [_openai(call)]}
    verdicts = door.read(message, space=space).calls
    verdict = verdicts[0] if len(verdicts) == 1 else Verdict(ok=False, call=None)
    meant = verdict.call
    if not verdict.ok or verdict.mode == "observe" or verdict.truncated or meant is None or meant.name not in offered:
        return Corrected(call.id, call.name, call.arguments, False, False, verdict)
    if meant.name == call.name and not verdict.repairs and _fits(call.arguments, meant.arguments):
        return Corrected(call.id, call.name, call.arguments, False, False, verdict)
    drafts.keep(call, meant.name, meant.arguments)
    return Corrected(call.id, meant.name, meant.arguments, True, False, verdict)


def _fits(written: Any, meant: Any) -> bool:
    """Whether what was written is what runs: a text that needed no repair is, however it is spaced."""
    return isinstance(written, str) or written is meant or written == meant


def _in_text(
    door: "Door", text: str, calls: Sequence[Written], offered: Collection[str], finish_reason: str | None, space: str
) -> tuple[str, list[Verdict]] | None:
    """The prose and the calls in it, or None where the text holds no call to a tool that is there."""
    message = {"role": "assistant", "content": text, "tool_calls": [_openai(call) for call in calls]}
    reading = door.read(message, finish_reason, space=space)
    places = reading.places or ()
    lifted = [
        verdict
        for verdict, place in zip(reading.calls, places, strict=False)
        if place.format != "native" and verdict.mode != "observe" and _name(verdict) in offered
    ]
    return (reading.text, lifted) if lifted else None


def _openai(call: Written) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _name(verdict: Verdict) -> str:
    call = verdict.call or verdict.found
    return call.name if call else ""


def _lifted(verdict: Verdict, drafts: "Drafts") -> Corrected:
    """A call of the text. One that is wrong is lifted too: the model reads why as the answer to its call."""
    call_id = f"call_{token_hex(12)}"
    meant = verdict.call or verdict.found
    found = verdict.found or verdict.call
    assert meant is not None  # `_name` found one of them
    assert found is not None
    drafts.keep(Written(call_id, found.name, found.arguments), meant.name, meant.arguments)
    return Corrected(call_id, meant.name, meant.arguments, True, True, verdict)


class Drafts:
    """What the model wrote, of calls that were put right and did not run yet; safe under threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Written, str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, written: Written, name: str, arguments: Any) -> None:
        with self._lock:
            self._kept[written.id] = (written, name, arguments)
            if len(self._kept) > MOST_DRAFTS:
                self._kept.popitem(last=False)

    def written(self, call_id: str, name: str, arguments: Any) -> Written:
        """The call as the model wrote it. A call that somebody changed since is judged as it is now."""
        with self._lock:
            kept = self._kept.get(call_id)
        if kept is not None and kept[1] == name and kept[2] == arguments:
            return kept[0]
        return Written(call_id, name, arguments)

    def forget(self, call_id: str) -> None:
        with self._lock:
            self._kept.pop(call_id, None)


class Known:
    """The definitions behind one door. Agents that share it add to them: none takes away what another may call."""

    def __init__(self, door: "Door", space: str = "") -> None:
        self._door = door
        self._space = space
        self._tools: dict[str, Any] = {}
        self._lock = threading.Lock()

    def offer(self, tools: Iterable[dict[str, Any]]) -> frozenset[str]:
        """Learn what the model is offered now (`name`, `description`, `parameters`), and say by which names."""
        offered = {tool["name"]: tool for tool in tools}
        with self._lock:
            if any(self._tools.get(name) != tool for name, tool in offered.items()):
                self._tools |= offered
                self._door.know(list(self._tools.values()), self._space)
        return frozenset(offered)


def run_recorded(door: "Door", passage: "Passage", run: Callable[[], T]) -> T:
    """Run the tool, and complete the record with what came of it, also where it raises."""
    started = perf_counter()
    try:
        result = run()
    except BaseException as error:
        door.ended(passage, ok=False, error=described(error), seconds=perf_counter() - started)
        raise
    door.ended(passage, summary=summarise(passage.name, result), seconds=perf_counter() - started)
    return result


async def arun_recorded(door: "Door", passage: "Passage", run: Callable[[], Awaitable[T]]) -> T:
    """As `run_recorded`, for a tool that is awaited."""
    started = perf_counter()
    try:
        result = await run()
    except BaseException as error:
        await door.aended(passage, ok=False, error=described(error), seconds=perf_counter() - started)
        raise
    await door.aended(passage, summary=summarise(passage.name, result), seconds=perf_counter() - started)
    return result


def described(error: BaseException) -> str:
    """An error in one line for the record."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
