"""One kind of hostile input, and how the gate is judged on it.

What must hold whatever comes: nothing is raised but what is documented, the answer is there within a second (or a
second per 5 MB), a refusal is short enough for a model to read, and accepted arguments are plain, finite JSON.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NamedTuple

import msgspec

from rightcall import Gate, Unreadable, Verdict, loads
from rightcall.errors import ToolError
from rightcall.types import Reading
from support.pace import process_time
from support.recover.streaming import faults

SECONDS = 1.0
BYTES_PER_SECOND = 5_000_000
LIMIT = 1_000_000  # an argument text of more characters is refused
HINT = 10_000  # characters: a model has to read it
RESERVED = {"__proto__", "constructor", "prototype"}

Expect = Literal["ok", "refused", "any"]


class Kind(NamedTuple):
    name: str
    make: Callable[[int], Any]
    """From a size in bytes (roughly) to the arguments of a call."""
    expect: Expect = "any"
    grows: bool = True
    """False: one size only."""
    tools: Callable[[int], list[Any]] | None = None
    """Tool definitions of its own; the first is called. Building the gate counts towards the time."""
    tool: Any = None
    """The name to call instead of the tool's."""
    angry: bool = False
    """Its own methods raise: a refusal that says so is all one can ask."""

    def __repr__(self) -> str:
        return f"Kind({self.name!r})"


NOTE: dict[str, Any] = {
    "name": "note",
    "description": "Keeps a note.",
    "parameters": {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "urgent": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "level": {"enum": ["low", "middle", "high"]},
            "place": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "floor": {"type": "integer"}},
            },
            "extra": {},
        },
        "required": ["text"],
    },
}


class Judged(NamedTuple):
    seconds: float
    allowed: float
    answer: str
    complaints: list[str]


def allowed_seconds(size: int) -> float:
    return max(SECONDS, size / BYTES_PER_SECOND)


def size_of(arguments: Any, asked: int) -> int:
    """Text counts as the bytes it takes, an object as the size it was made from."""
    return len(arguments.encode("utf-8", "surrogatepass")) if type(arguments) is str else asked


def judge_check(kind: Kind, size: int) -> Judged:
    arguments = kind.make(size)
    tools = kind.tools(size) if kind.tools else [NOTE]
    name = tools[0]["name"] if kind.tool is None else kind.tool
    bulk = max(size_of(arguments, size if kind.grows else 0), size if kind.tools and kind.grows else 0)
    start = process_time()
    try:
        verdict = Gate(tools).check(name, arguments)
        message = verdict.message("openai")
    except ToolError as error:
        seconds = process_time() - start
        # A tool definition is a person's own: one that cannot be used is said at once, and in few words.
        wrong = [] if kind.tools else [f"raised {error!r:.200}"]
        return finish(seconds, bulk, "tool refused", wrong + ([] if len(str(error)) < HINT else ["long error"]))
    except BaseException as error:  # noqa: BLE001  (whatever escapes is the finding)
        return Judged(process_time() - start, 0, "raised", [f"check raised {type(error).__name__}: {error!s:.200}"])
    seconds = process_time() - start
    expect: Expect = "refused" if type(arguments) is str and len(arguments) > LIMIT else kind.expect
    return finish(seconds, bulk, "ok" if verdict.ok else "refused", complaints(verdict, message, expect, kind))


def judge_loads(kind: Kind, size: int, schema: Any = None) -> Judged:
    text = kind.make(size)
    bulk = size_of(text, size)
    start = process_time()
    try:
        loads(text, schema)
        answer = "read"
    except Unreadable as error:
        answer = "unreadable"
        if len(str(error)) > HINT:
            return Judged(process_time() - start, 0, answer, ["long error"])
    except BaseException as error:  # noqa: BLE001  (whatever escapes is the finding)
        return Judged(process_time() - start, 0, "raised", [f"loads raised {type(error).__name__}: {error!s:.200}"])
    return finish(process_time() - start, bulk, answer, [])


def finish(seconds: float, bulk: int, answer: str, found: list[str]) -> Judged:
    allowed = allowed_seconds(bulk)
    slow = [f"took {seconds:.2f} s of {allowed:.2f} s"] if seconds > allowed else []
    return Judged(seconds, allowed, answer, [*found, *slow])


def complaints(verdict: Verdict, message: Any, expect: Expect, kind: Kind) -> list[str]:
    found: list[str] = []
    if expect != "any" and verdict.ok != (expect == "ok"):
        found.append(f"should be {expect}, is {'ok' if verdict.ok else 'refused'}: {verdict.problems!r:.300}")
    if any(problem.code == "fault" for problem in verdict.problems) and not kind.angry:
        found.append(f"a fault of our own: {verdict.problems!r:.500}")
    if not verdict.ok and not (verdict.problems and verdict.hint):
        found.append("refused without saying why")
    if verdict.hint and len(verdict.hint) > HINT:
        found.append(f"a hint of {len(verdict.hint)} characters")
    try:
        msgspec.json.encode(message)
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError) as error:
        found.append(f"the message cannot be sent: {error!s:.200}")
    if verdict.ok:
        found += impurities(verdict.call.arguments if verdict.call else None, kind)
    return found


def impurities(arguments: Any, kind: Kind) -> list[str]:
    """What accepted arguments must not hold. Iterative: they may be deep."""
    if type(arguments) is not dict and not isinstance(arguments, dict):
        return [f"accepted arguments are {type(arguments).__name__}"]
    todo, seen, found = [arguments], set[int](), list[str]()
    try:
        msgspec.json.encode(arguments)
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError) as error:
        found.append(f"accepted arguments cannot be sent: {error!s:.200}")
    while todo:
        value = todo.pop()
        if isinstance(value, dict | list | tuple):
            if id(value) in seen:
                continue
            seen.add(id(value))
            todo += [*value.keys(), *value.values()] if isinstance(value, dict) else value
            if isinstance(value, dict) and not kind.tools and RESERVED & {key for key in value if isinstance(key, str)}:
                found.append("accepted a reserved key")
        elif isinstance(value, float) and not math.isfinite(value):
            found.append(f"accepted {value}")
        elif isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:
                found.append("accepted text that is not Unicode")
        elif not isinstance(value, int | float | None):
            found.append(f"accepted a {type(value).__name__}")
    return found


MOST = 2000
"""Calls and attempts at one: a person or a model has to deal with every one of them."""

PIECE = 1000


@cache
def gate(known: bool) -> Gate:
    return Gate([NOTE] if known else [])


def judge_read(kind: Kind, size: int, *, known: bool = True) -> Judged:
    return _judged(kind, size, lambda text: gate(known).read(text))


def judge_stream(kind: Kind, size: int) -> Judged:
    def stream(text: str) -> Reading:
        feed = gate(True).stream()
        events = [event for at in range(0, len(text), PIECE) for event in feed.push(text[at : at + PIECE])]
        events += feed.close()
        prose = "".join(event for event in events if isinstance(event, str))
        return Reading(tuple(event for event in events if not isinstance(event, str)), prose, tuple(feed.notes))

    return _judged(kind, size, stream)


def _judged(kind: Kind, size: int, read: Callable[[str], Reading]) -> Judged:
    text = kind.make(size)
    bulk = size_of(text, size)
    with faults() as errors:
        start = process_time()
        try:
            reading = read(text)
        except BaseException as error:  # noqa: BLE001  (whatever escapes is the finding)
            seconds = process_time() - start
            return Judged(seconds, 0, "raised", [f"raised {type(error).__name__}: {error!s:.200}"])
        seconds = process_time() - start
    found = [f"a fault of our own: {error:.300}" for error in errors[:1]]
    for verdict in reading.calls[:50]:
        found += complaints(verdict, verdict.message("openai"), "any", kind)
    if len(reading.calls) > MOST or len(reading.notes) > MOST:
        found.append(f"{len(reading.calls)} calls and {len(reading.notes)} notes")
    if not reading.calls and reading.text != text:
        found.append("no call, and yet the text came back otherwise")
    if len(reading.text) > len(text):
        found.append("more text than there was")
    return finish(seconds, bulk, f"{len(reading.calls)} calls", list(dict.fromkeys(found)))
