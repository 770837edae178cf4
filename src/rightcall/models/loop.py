"""The tool loop for any model (design 002 §10): ask, run what it calls, give it the results, until it answers.

    async with Executor.open(".", tools=[read_file]) as executor:
        result = await run_loop(model, executor, "How does the parser work?", caller="teacher")
    print(result.text)

A model is any callable that takes a list of messages and returns text, an OpenAI message or response, or an Anthropic
message. Whatever it does, the loop ends: after its rounds (five, unless the policy says otherwise) it is asked for an
answer without tools.
"""

import inspect
import re
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, Unpack, cast
from uuid import uuid4

from msgspec import Struct

from rightcall import check_keywords
from rightcall.base.json.marks import is_list, is_object
from rightcall.base.text import render_json
from rightcall.errors import ConfigError, RightCallError
from rightcall.executor.messages import Outcome, neutral
from rightcall.models.replies import (
    Asker,
    Message,
    Model,
    Native,
    Turn,
    answer_of,
    answers,
    ask,
    ask_sync,
    asker,
    failure_of,
    last_turn,
    opening,
    turn_of,
    unread,
    with_prompt,
)
from rightcall.types import Reading

if TYPE_CHECKING:
    from rightcall.executor.executor import Executor
    from rightcall.executor.sync import SyncExecutor
    from rightcall.gate.gate import Gate


# ── turns ──
# The course of the loop, without asking or running anything itself: it says what it wants next and is sent what came
# of it. So the asynchronous loop and its synchronous twin are the same loop.
#
#     Use ─▶ what was approved meanwhile ─▶
#     Ask ─▶ reply ─▶ read ─┬─ no calls ─▶ "answer"
#                           └─ Run ─▶ outcomes ─┬─ all wait for a person ─▶ "waiting"
#                                               └─ next round, or the last question ─▶ "rounds"

Stopped = Literal["answer", "rounds", "model", "waiting"]
"""Why a loop ended: the model answered; its rounds were over and it was asked for an answer without tools; it failed;
every call of a round waits for a person."""

_PASSES = 3
"""More often than this nobody writes calls around calls by accident."""

_APPROVED = "A person approved this call, and it was made:"
_ID = re.compile(r"\b[0-9a-f]{8}\b")
"""An approval's, in what a model was told."""
_LONGEST = 500

NO_MORE = "Tool limit reached ({rounds}). Do not call more tools. Answer with the results you have."


class Tools(Protocol):
    """What the loop needs of an executor."""

    @property
    def gate(self) -> "Gate": ...

    @property
    def rounds(self) -> int: ...

    @property
    def run_all(self) -> Callable[..., Any]: ...

    def prompt(self, caller: str, /) -> str: ...

    def definitions(self, caller: str, shape: Literal["openai", "anthropic"], /) -> list[dict[str, Any]]: ...

    @property
    def note_turns(self) -> Callable[..., None]: ...


class LoopResult(Struct, frozen=True):
    """How a request ended. Nothing is lost: what was said and done until then is in it, however it ended."""

    text: str
    """The answer, for people: never with the markup of a call. Of a loop that ended otherwise, what the model said
    last beside its calls."""
    messages: list[Message]
    """The whole conversation, ready to go on with. The prompt that names the tools is not in it: it is made anew for
    every question, from what the caller may use then."""
    outcomes: tuple[Outcome, ...]
    """Of all calls, in order."""
    rounds: int
    """In how many rounds calls were answered."""
    stopped: Stopped
    context: str
    """Under which the audit has the records of all its calls."""
    error: str | None = None
    """Why the model failed."""
    turns: int = 0
    """How often the model replied."""
    tool_turns: int = 0
    """In how many of its replies it called a tool."""

    @property
    def adoption(self) -> float | None:
        """The share of its turns in which the model called a tool, in percent (design 002 §17); None without a turn.
        `rightcall stats` and `analytics/tool-usage` have it for each caller, and for all."""
        return 100 * self.tool_turns / self.turns if self.turns else None

    @property
    def approvals(self) -> tuple[str, ...]:
        """The questions to a person that calls wait for, by id. Once they are answered, the request can go on: with
        `run_loop(model, executor, result, …)`, which runs what was approved first."""
        waiting = [one.decision.approval for one in self.outcomes if one.status == "waiting" and one.decision]
        return tuple(dict.fromkeys(filter(None, waiting)))


Request = str | list[Message] | LoopResult
"""What a loop begins with."""


class Ask(Struct, frozen=True):
    """Ask the model. `last`: it may use no more tools; `tools` false: it never hears of any."""

    messages: list[Message]
    last: bool = False
    tools: bool = True


class Run(Struct, frozen=True):
    """Run the calls of a reading; `emission` is the text it is of."""

    reading: Reading
    step: str
    emission: str


class Use(Struct, frozen=True):
    """Run the calls that were approved under these ids since the conversation stopped."""

    ids: frozenset[str]


Course = Generator[Ask | Run | Use, Any, LoopResult]


def course(executor: Tools, messages: list[Message], context: str, step: str | None, rounds: int) -> Course:
    """One request from beginning to end. `messages` grows."""
    outcomes: list[Outcome] = []
    turns = tool_turns = 0

    def ended(stopped: Stopped, text: str, rounds: int, error: str | None = None) -> LoopResult:
        return LoopResult(text, messages, tuple(outcomes), rounds, stopped, context, error, turns, tool_turns)

    ids = frozenset(_ID.findall(" ".join(str(message.get("content")) for message in messages)))
    if ids and rounds:  # 0: no tools at all
        outcomes += yield Use(ids)
        if outcomes:
            messages[-1:] = _with_results(messages[-1], outcomes)
    said, taken = "", set[str]()
    for number in range(1, rounds + 1):
        written = yield Ask(messages)
        if (failure := failure_of(written)) is not None:
            return ended("model", said, number - 1, failure)
        reading = executor.gate.read(written)
        turns, tool_turns = turns + 1, tool_turns + bool(reading.calls)
        turn = turn_of(written, reading, taken)
        taken.update(native.id for native in turn.natives)
        said, retry = _extract_answer(executor.gate, turn, reading), unread(turn, reading)
        if not reading.calls and not retry:
            messages.extend(_closing(turn, said))
            return ended("answer", said, number - 1)
        results: list[Outcome] = (yield Run(reading, step or str(number), turn.prose)) if reading.calls else []
        outcomes += results
        waits = bool(results) and all(outcome.status == "waiting" for outcome in results)
        over = NO_MORE.format(rounds=_counted(rounds)) if number == rounds and not waits else ""
        messages.extend((turn.message, *answers(turn, results, "\n\n".join(filter(None, (retry, over))))))
        if waits:
            return ended("waiting", said, number)
    written = yield Ask(messages, last=True, tools=rounds > 0)
    if (failure := failure_of(written)) is not None:
        return ended("model", said, rounds, failure)
    turns += 1  # calls in it are not run
    reading = executor.gate.read(written)
    turn = turn_of(written, reading)
    said = _extract_answer(executor.gate, turn, reading)
    messages.extend(_closing(turn, said))
    return ended("rounds", said, rounds)


def _with_results(last: Message, outcomes: list[Outcome]) -> list[Message]:
    """The last message with what came of calls that were approved. Not as one of its own: templates of some models take
    none of the user's after another or after a tool's."""
    told = "\n\n".join(f"{_APPROVED} {_shown_call(one)}\n{one.message('text')}" for one in outcomes)
    said = last.get("content")
    if last.get("role") not in ("user", "tool") or not isinstance(said, (str, list)):
        return [last, {"role": "user", "content": told}]
    if isinstance(said, list):
        return [{**last, "content": [*cast("list[Any]", said), {"type": "text", "text": told}]}]
    return [{**last, "content": f"{said}\n\n{told}"}]


def _shown_call(outcome: Outcome) -> str:
    return neutral(render_json(outcome.call.arguments if outcome.call is not None else {}, _LONGEST))


def _extract_answer(gate: "Gate", turn: Turn, reading: Reading) -> str:
    """The answer in a reply. Where something was taken out, what is left may form a call: that is no answer either."""
    text = answer_of(turn, reading, opened=gate.reasoning == "open")
    if text == turn.prose:
        return text
    for _ in range(_PASSES):
        left = gate.stream("closed").read(text)
        if not left.calls:
            return text
        text = left.text.strip()
    return ""


def _closing(turn: Turn, said: str) -> list[Message]:
    message = last_turn(turn, said)
    return [message] if message is not None else []


def _counted(rounds: int) -> str:
    return f"{rounds} rounds" if rounds != 1 else "1 round"


class LoopOptions(TypedDict, total=False):
    """What a loop takes besides the caller, for type checkers; `run_loop` says what each means."""

    context: str | None
    step: str | None
    turn: str | None
    task: str | None
    rounds: int | None
    native: Native | None
    model_seconds: float | None
    wait: float


class _Terms(Struct, frozen=True, kw_only=True):
    context: str | None = None
    step: str | None = None
    turn: str | None = None
    task: str | None = None
    rounds: int | None = None
    native: Native | None = None
    model_seconds: float | None = None
    wait: float = 0


def _terms(called: str, options: LoopOptions) -> _Terms:
    check_keywords(called, options, (*_Terms.__struct_fields__, "caller"))
    return _Terms(**options)


async def run_loop(
    model: Model, executor: Tools, request: Request, *, caller: str, **options: Unpack[LoopOptions]
) -> LoopResult:
    """Let a model answer a request with the tools that `caller` may use.

    `model` may be synchronous (it is asked in a thread) or asynchronous. One with a parameter `tools` gets native
    definitions, in OpenAI's shape unless `native` says "anthropic"; any other gets the system prompt. `request` is a
    text, a list of messages, or an earlier result, whose conversation goes on in its context: calls that a person has
    approved since then are made first, as they were approved. All calls are recorded under `context` (a
    fresh id when none is given), each round as a step of its own unless `step` names one. `rounds` can lower the
    policy's number, never raise it. `turn` names the request of a person that this answers, as for `Executor.run`;
    without it identical calls are counted within `context`, so that another conversation may make them too.
    `task` is the kind of work, for the metrics: "debug" is the one that is measured. `model_seconds` limits each
    question to the model; `wait` says for how many seconds a call may wait for a person's yes.
    """
    terms = _terms("run_loop", options)
    asking = asker(model, terms.native, terms.model_seconds)
    if (join := getattr(executor, "join", None)) is not None:  # servers that start hold up this request alone
        await join()
    turns, common = _begin(executor, request, caller, terms)
    want = _advance(turns, None)
    while not isinstance(want, LoopResult):
        if isinstance(want, Ask):
            came: Any = await ask(asking, *_question(asking, executor, caller, want))
        elif isinstance(want, Use):
            use = getattr(executor, "run_approved", None)
            came = [] if use is None else await use(want.ids, **_without_wait(common))
        else:
            came = await executor.run_all(want.reading, step=want.step, emission=want.emission, **common)
        want = _advance(turns, came)
    return _noted(executor, want, caller, terms)


def run_loop_sync(
    model: Model, executor: "SyncExecutor", request: Request, *, caller: str, **options: Unpack[LoopOptions]
) -> LoopResult:
    """As `run_loop`, for code without an event loop: with what `Executor.open_sync` gives. An asynchronous model, such
    as `Endpoint`, is asked in the executor's own loop."""
    terms = _terms("run_loop_sync", options)
    asking = asker(model, terms.native, terms.model_seconds)
    tools = cast("Tools", executor)  # all but what runs calls it leaves to the executor it stands for
    turns, common = _begin(tools, request, caller, terms)
    want = _advance(turns, None)
    while not isinstance(want, LoopResult):
        if isinstance(want, Ask):
            question = _question(asking, tools, caller, want)
            came: Any = (
                executor.wait_for(partial(_ask_within, asking, question))
                if asking.asynchronous
                else ask_sync(asking, *question)
            )
        elif isinstance(want, Use):
            came = executor.run_approved(want.ids, **_without_wait(common))
        else:
            came = executor.run_all(want.reading, step=want.step, emission=want.emission, **common)
        want = _advance(turns, came)
    return _noted(tools, want, caller, terms)


def _without_wait(common: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in common.items() if name != "wait"}


async def _ask_within(asking: Asker, question: tuple[list[Message], dict[str, Any]], _: "Executor") -> Any:
    return await ask(asking, *question)


def _noted(executor: Tools, result: LoopResult, caller: str, terms: _Terms) -> LoopResult:
    """A request is one message of its caller, for the metrics."""
    if result.turns:
        executor.note_turns(caller, result.context, terms.task, result.turns, result.tool_turns)
    return result


def _begin(executor: Tools, request: Any, caller: str, terms: _Terms) -> tuple[Course, dict[str, Any]]:
    """The loop at its start, and what all its calls have in common."""
    if not hasattr(executor, "run_all"):
        told = f"`executor` must come from Executor.open or Executor.open_sync, not a {type(executor).__name__}"
        raise ConfigError(f"{told}; the order is: model, executor, request")
    rounds, wait = cast("object", terms.rounds), cast("object", terms.wait)  # a program may break its word
    if isinstance(rounds, bool) or not isinstance(rounds, int | None):
        raise TypeError(f"`rounds` must be a whole number or None, not {type(rounds).__name__}")
    if isinstance(wait, bool) or not isinstance(wait, int | float):
        raise TypeError(f"`wait` must be a number of seconds, not {type(wait).__name__}")
    if rounds is not None and rounds < 0:
        raise ConfigError(f"`rounds` must be 0 or more (0: no tools at all), not {rounds!r}")
    if not wait >= 0:
        raise ConfigError(f"`wait` must be 0 or more seconds, not {wait!r}")
    most = executor.rounds if rounds is None else min(rounds, executor.rounds)
    earlier = request if isinstance(request, LoopResult) else None
    context = terms.context or (earlier.context if earlier is not None else str(uuid4()))
    request = request if earlier is None else earlier.messages
    # another conversation may ask the same again; who goes on with this one is still counted
    common: dict[str, Any] = {"caller": caller, "context": context, "turn": terms.turn or context}
    if wait:
        common["wait"] = wait
    return course(executor, opening(request), context, terms.step, most), common


def _advance(turns: Generator[Any, Any, LoopResult], came: Any) -> Ask | Run | Use | LoopResult:
    try:
        return turns.send(came)
    except StopIteration as end:
        return end.value


def _question(asking: Asker, executor: Tools, caller: str, want: Ask) -> tuple[list[Message], dict[str, Any]]:
    """The messages and keywords of one question. Copies: what a model does with them is its own affair."""
    messages = [dict(message) for message in want.messages]
    if not want.tools:
        return messages, {}
    if asking.native is None:
        return with_prompt(messages, executor.prompt(caller)), {}
    return messages, asking.options(executor.definitions(caller, asking.native), last=want.last)


# ── a scripted model ──
# It says what it was told to say: for tests of agents, and for examples that run without a network.

_NOTHING: Any = object()


class OutOfReplies(RightCallError, LookupError):
    """A scripted model was asked something that its script has no reply to."""


class Asked(Struct, frozen=True):
    """One question: the messages as they were then, and the keywords beside them, such as `tools`."""

    messages: list[dict[str, Any]]
    options: dict[str, Any]

    @property
    def said(self) -> str:
        """The text of the last message."""
        return text_of(self.messages[-1]) if self.messages else ""


class ScriptedModel:
    """A model for `run_loop`, or for any agent that calls one with a list of messages.

    `replies` are given one after the other; or, as a dict, by words that stand in the last message: the first that
    fits, as often as it fits. A reply is a text or a message; an exception is raised; a function is asked with the
    messages. `then` is the reply to everything else; without it, that raises `OutOfReplies`. What it was asked stands
    in `asked`. Safe to use from several threads and tasks.

    >>> ScriptedModel({"Where": "Here."}, then="No idea.")([{"role": "user", "content": "Where is it?"}])
    'Here.'
    """

    def __init__(self, replies: Iterable[Any] | Mapping[str, Any], *, then: Any = _NOTHING) -> None:
        if isinstance(replies, (str, bytes)):
            raise ConfigError("`replies` must be a list of replies, or a dict of them; for one reply write [reply]")
        self._by_words = dict(cast("Mapping[str, Any]", replies)) if isinstance(replies, Mapping) else None
        self._replies = list(cast("Iterable[Any]", replies)) if self._by_words is None else []
        self._then = then
        self._next = 0
        self._lock = threading.Lock()
        self.asked: list[Asked] = []

    def __call__(self, messages: list[dict[str, Any]], **options: Any) -> Any:
        with self._lock:
            question = Asked(deepcopy(messages), dict(options))
            self.asked.append(question)
            reply = self._reply_to(question)
        if isinstance(reply, BaseException) or inspect.isclass(reply):
            raise cast("BaseException", reply)
        return reply(messages) if callable(reply) else deepcopy(reply)

    @property
    def left(self) -> int:
        """How many replies of a list were not asked for: 0 when a script was played to its end."""
        return len(self._replies) - self._next

    def _reply_to(self, question: Asked) -> Any:
        if self._by_words is not None:
            fitting = (reply for words, reply in self._by_words.items() if words in question.said)
            reply = next(fitting, self._then)
            why = f"none of the words {', '.join(map(repr, self._by_words))} is in"
        else:
            reply = self._replies[self._next] if self.left else self._then
            self._next += bool(self.left)
            why = f"the script is over (replies: {len(self._replies)}), and it was asked"
        if reply is _NOTHING:
            raise OutOfReplies(f"{why}: {question.said[:200]!r}. Give `then=` a reply to everything else.")
        return reply


class AsyncScriptedModel(ScriptedModel):
    """The same for agents that await their model."""

    async def __call__(self, messages: list[dict[str, Any]], **options: Any) -> Any:
        reply = super().__call__(messages, **options)
        return await reply if hasattr(reply, "__await__") else reply


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message: its content, or the texts in its blocks, tool results among them.

    >>> text_of({"content": [{"type": "tool_result", "content": "42"}, {"type": "text", "text": "So?"}]})
    '42\\nSo?'
    """
    content = message.get("content")
    if not is_list(content):
        return content if isinstance(content, str) else ""
    texts = [block.get("text") or text_of(block) for block in content if is_object(block)]
    return "\n".join(text for text in texts if text)
