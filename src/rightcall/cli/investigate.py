"""The free loop of `ask`: a model looks around with the tools until it can answer, and each step is shown."""

from __future__ import annotations

import json
import os
import re
import sys
from argparse import Namespace
from asyncio import Runner
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from shlex import quote
from time import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from msgspec import DecodeError, Struct
from msgspec.json import Decoder, encode

from rightcall.base.files.guarded import state_folder
from rightcall.base.json.marks import is_object
from rightcall.base.text import escaped, render_json, wire_name
from rightcall.cli import OK, REFUSED
from rightcall.cli.options import InputError, redactor_of
from rightcall.cli.packet import DEFAULT_CALLER, approval_ways, models, places
from rightcall.cli.persons import waiting
from rightcall.cli.routing import given_model, open_desk, runnable_tools
from rightcall.cli.terminal import harmless, labelled, say, say_json, style_for
from rightcall.models.endpoint import Endpoint
from rightcall.models.loop import LoopResult, run_loop
from rightcall.router.packets import make_folder, read, write

if TYPE_CHECKING:
    from rightcall.cli.routing import Desk
    from rightcall.executor.executor import Executor
    from rightcall.executor.present.messages import Outcome
    from rightcall.gate.gate import Gate
    from rightcall.policy.settings import RouterSettings

_SYSTEM = (
    "You answer questions about the folder that you are in. Look with the tools before you answer, as often as you "
    "need. Then answer in plain words, and say in which file and line you found it. If you cannot find it, say so."
)
_NUDGE = (
    "That was neither an answer nor a call that could run. Call a tool in the format you were given, or answer the "
    "question in plain words."
)
_WAITING = "(A call waits for a person's approval. Once it is approved, the same call has to be made again.)"
_LEAST_SECONDS = 120.0
"""For one question to the model: a small one on this machine needs its time for what the tools found."""
_LONGEST = 200


class Step(Struct, frozen=True):
    """One call of the loop, as it is shown."""

    tool: str
    arguments: Any
    status: str
    repaired: bool
    milliseconds: float
    summary: str

    @classmethod
    def of(cls, outcome: Outcome) -> Step:
        call = outcome.call
        told = outcome.summary if outcome.ok else outcome.error or outcome.summary
        return cls(
            outcome.tool or "(unreadable)", call.arguments if call is not None else {}, outcome.status,
            bool(outcome.repairs), round(outcome.metadata.execution_time, 1), told,
        )  # fmt: skip

    def line(self) -> str:
        mark = {"success": "✓", "waiting": "…"}.get(self.status, "✗")
        repaired = ", repaired" if self.repaired else ""
        told = escaped(" ".join(self.summary.split()), _LONGEST)
        call = f"{escaped(self.tool, _LONGEST)} {render_json(self.arguments, _LONGEST)}"
        return f"{mark} {call} ({self.milliseconds:.0f} ms{repaired}){f': {told}' if told else ''}"


class Watched:
    """An executor as the loop needs it, with somebody who watches each call."""

    def __init__(self, executor: Executor, tell: Callable[[Step], None]) -> None:
        self._executor, self._tell = executor, tell
        self.steps: list[Step] = []

    @property
    def gate(self) -> Gate:
        return self._executor.gate

    @property
    def rounds(self) -> int:
        return self._executor.rounds

    @property
    def note_turns(self) -> Callable[..., None]:
        return self._executor.note_turns

    def prompt(self, caller: str) -> str:
        return self._executor.prompt(caller)

    def definitions(self, caller: str, shape: Any) -> list[dict[str, Any]]:
        return self._executor.definitions(caller, shape)

    async def run_all(self, message: Any, **options: Any) -> list[Outcome]:
        outcomes = await self._executor.run_all(message, **options)
        for step in map(Step.of, outcomes):
            self.steps.append(step)
            self._tell(step)
        return outcomes


def investigate(options: Namespace, text: str, settings: RouterSettings) -> int:
    """Ask, show what is done, answer. 1 where there is no whole answer."""
    model = given_model(options, settings) or _configured(settings)
    model.seconds = max(model.seconds, _LEAST_SECONDS)
    with open_desk(options, runnable_tools(options)) as desk, Runner() as runner:
        session = Session(options)
        earlier = session.load() if options.go_on else []
        tools = Watched(desk.executor, _quiet if options.json else _show)
        messages = [{"role": "system", "content": _SYSTEM}, *earlier, {"role": "user", "content": text}]
        result = runner.run(_ask(model, tools, messages, options.caller, session.context))
        why = _why_not(result, tools)
        said = result.text if not is_only_a_call(result.text, tools.gate) else _WAITING if result.approvals else ""
        if said:
            session.save([*earlier, messages[-1], {"role": "assistant", "content": said}], desk)
    return _report(options, result, tools.steps, why)


def _configured(settings: RouterSettings) -> Endpoint:
    named = settings.prime or settings.light
    assert named is not None, "that there is a model was looked at before"
    return Endpoint.of(named, seconds=settings.model_seconds)


async def _ask(model: Endpoint, tools: Watched, messages: list[Any], caller: str, context: str) -> LoopResult:
    """The loop; a model that only wrote a call down, or nothing, is told so once."""

    async def asked(messages: list[dict[str, Any]]) -> Any:
        with waiting(lambda seconds: style_for(sys.stderr).tint(f"{seconds:.0f} s  asking the model", "dim")):
            return await model(messages)

    result = await run_loop(asked, tools, messages, caller=caller, context=context)
    if result.stopped != "answer" or not is_only_a_call(result.text, tools.gate):
        return result
    said = [] if result.text else [{"role": "assistant", "content": "(nothing)"}]
    again = [*result.messages, *said, {"role": "user", "content": _NUDGE}]
    return await run_loop(asked, tools, again, caller=caller, context=context)


def _why_not(result: LoopResult, tools: Watched) -> str:
    """Why there is no whole answer; empty where there is one."""
    match result.stopped:
        case "model":
            return result.error or "the model failed"
        case "waiting":
            return "a call needs a person's approval"
        case "rounds":
            return f"the tool rounds for one question are over ({result.rounds}); the answer may not be whole"
        case _ if not result.text:
            return "the model gave no answer"
        case _ if is_only_a_call(result.text, tools.gate):
            return "the model only wrote a tool call as text, and no answer"
        case _:
            return ""


_CALL = re.compile(r"```.*?```|`[^`]*`|<(\w+)\b[^>]*>.*?</\1>|[\w./-]+\(.*\)|\{.*\}", re.DOTALL)
_FEW_WORDS = 8
"""Fewer words than this beside a call are no answer."""


def is_only_a_call(text: str, gate: Gate) -> bool:
    """Whether a text is nothing, or a call of a tool and next to no words."""
    if not text.strip():
        return True
    removed = "".join(found[0] for found in _CALL.finditer(text))
    if len(_CALL.sub(" ", text).split()) >= _FEW_WORDS or not any(sign in removed for sign in "({<"):
        return False
    names = {name for tool in gate.catalog.tools for name in (tool, wire_name(tool))}
    return any(name in removed for name in names) or _is_call_object(text)


def _is_call_object(text: str) -> bool:
    try:
        value = json.loads(text.strip().strip("`").removeprefix("json"))
    except (ValueError, RecursionError):
        return False
    return is_object(value) and not value.keys().isdisjoint(("tool", "name", "function", "tool_name"))


# ── what is shown ──


def _show(step: Step) -> None:
    sys.stderr.write(style_for(sys.stderr).tint(step.line(), "dim") + "\n")
    sys.stderr.flush()


def _quiet(_: Step) -> None:
    """A program reads the steps in the JSON."""


def _report(options: Namespace, result: LoopResult, steps: list[Step], why: str) -> int:
    answer = "" if why and result.stopped == "answer" else result.text
    state = "answered" if not why else "waiting" if result.stopped == "waiting" else "failed"
    if options.json:
        record = {
            "answer": answer, "state": state, "why": why, "rounds": result.rounds,
            "approvals": list(result.approvals), "context": result.context,
            "steps": [json.loads(encode(step)) for step in steps],
        }  # fmt: skip
        say_json(record)
        return OK if not why else REFUSED
    if answer:
        say(*harmless(answer.rstrip()).split("\n"))
    if why:
        sys.stdout.flush()
        sys.stderr.write(f"rightcall: no whole answer: {escaped(' '.join(why.split()), 2000)}\n")
    for approval in result.approvals:
        say(*labelled("approval", approval_ways(approval, places(options)), style_for(sys.stdout)))
    if result.approvals:
        say(*labelled("to go on", [f"{_command(options)}   once it is approved"], style_for(sys.stdout)))
    return OK if not why else REFUSED


def _command(options: Namespace) -> str:
    """What goes on with this session, as it can be copied."""
    caller = "" if options.caller == DEFAULT_CALLER else f" --as {quote(escaped(options.caller))}"
    session = f" --session {quote(escaped(options.session))}" if options.session else ""
    return f'rightcall ask --continue "go on"{caller}{session}{models(options)}{places(options)}'


# ── sessions ──
# What was asked and answered, so that the next question can refer to it: texts alone, bounded, of one root, caller and
# session. They are words in a conversation like any other: the policy decides on every call anew. The context is the
# name under which the audit has the calls; an approval counts in its own alone, for the very call that was approved.

_CONTEXT = re.compile(r"[0-9a-f-]{36}")
_MOST_SESSIONS = 200
_MOST_TURNS = 20
_MOST_CHARACTERS = 40_000
_MOST_BYTES = 1_000_000


class Turn(Struct, frozen=True):
    role: str
    content: str


class Kept(Struct, frozen=True):
    version: int
    at: float
    turns: list[Turn]
    context: str = ""


class Session:
    """The file of one session, in the user's own folder, which no tool may touch and no project brings along."""

    def __init__(self, options: Namespace) -> None:
        key = "\0".join((os.path.realpath(options.root), options.caller, options.session))
        self._folder = os.path.join(state_folder(), "sessions")
        self._path = os.path.join(self._folder, f"{sha256(key.encode(errors='replace')).hexdigest()[:32]}.session")
        self._options = options
        self.context = str(uuid4())

    def load(self) -> list[dict[str, str]]:
        """The turns so far, a question and an answer in turn."""
        try:
            kept = Decoder(Kept).decode(read(self._path, _MOST_BYTES))
        except (OSError, DecodeError):
            raise InputError(
                "there is no session to continue here: ask without --continue first, with the same --root, --as and "
                "--session"
            ) from None
        self.context = kept.context if _CONTEXT.fullmatch(kept.context) else self.context
        turns = [{"role": one.role, "content": one.content} for one in kept.turns if one.role in ("user", "assistant")]
        return _bounded(turns)

    def save(self, turns: list[dict[str, str]], desk: Desk) -> None:
        hide = redactor_of(self._options, desk.store).text
        kept = [Turn(one["role"], hide(one["content"])) for one in _bounded(turns)]
        try:
            make_folder(self._folder)
            write(self._path, encode(Kept(1, time(), kept, self.context)))
            self._forget_oldest()
        except OSError as error:
            sys.stderr.write(f"rightcall: the session could not be kept: {error.strerror or error}\n")

    def _forget_oldest(self) -> None:
        with os.scandir(self._folder) as entries:
            kept = sorted((one.stat(follow_symlinks=False).st_mtime, one.path) for one in entries if one.is_file())
        for _, path in kept[:-_MOST_SESSIONS]:
            with suppress(OSError):
                os.remove(path)


def _bounded(turns: list[dict[str, str]]) -> list[dict[str, str]]:
    """The last ones, beginning with a question."""
    room = _MOST_CHARACTERS
    left: list[dict[str, str]] = []
    for one in reversed(turns[-_MOST_TURNS:]):
        room -= len(one["content"])
        if room < 0:
            break
        left.insert(0, one)
    return left[1:] if left and left[0]["role"] == "assistant" else left
