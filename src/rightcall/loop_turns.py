"""The course of the loop, without asking or running anything itself: it says what it wants next and is sent what came
of it. So the asynchronous loop and its synchronous twin are the same loop.

    Ask ─▶ reply ─▶ read ─┬─ no calls ─▶ "answer"
                          └─ Run ─▶ outcomes ─┬─ all wait for a person ─▶ "waiting"
                                              └─ next round, or the last question ─▶ "rounds"
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from rightcall.loop_asking import Failed
from rightcall.loop_messages import Message, answers, unread
from rightcall.loop_replies import Turn, answer_of, is_reply, last_turn, turn_of
from rightcall.present.messages import Outcome
from rightcall.types import Reading

if TYPE_CHECKING:
    from rightcall.gate import Gate

Stopped = Literal["answer", "rounds", "model", "waiting"]
"""Why a loop ended: the model answered; its rounds were over and it was asked for an answer without tools; it failed;
every call of a round waits for a person."""

_PASSES = 3
"""More often than this nobody writes calls around calls by accident."""

NO_MORE = "No more tools can be used for this request: its {rounds} are over. Answer now with what you have."


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

    @property
    def approvals(self) -> tuple[str, ...]:
        """The questions to a person that calls wait for, by id. Once they are answered, the request can go on from
        `messages`: the same call, made again, uses the answer."""
        waiting = [one.decision.approval for one in self.outcomes if one.status == "waiting" and one.decision]
        return tuple(dict.fromkeys(filter(None, waiting)))


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


Course = Generator[Ask | Run, Any, LoopResult]


def course(executor: Tools, messages: list[Message], context: str, step: str | None, rounds: int) -> Course:
    """One request from beginning to end. `messages` grows."""
    outcomes: list[Outcome] = []

    def ended(stopped: Stopped, text: str, rounds: int, error: str | None = None) -> LoopResult:
        return LoopResult(text, messages, tuple(outcomes), rounds, stopped, context, error)

    said, taken = "", set[str]()
    for number in range(1, rounds + 1):
        written = yield Ask(messages)
        if (failure := failure_of(written)) is not None:
            return ended("model", said, number - 1, failure)
        reading = executor.gate.read(written)
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
    reading = executor.gate.read(written)
    turn = turn_of(written, reading)
    said = _extract_answer(executor.gate, turn, reading)
    messages.extend(_closing(turn, said))
    return ended("rounds", said, rounds)


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


def failure_of(written: Any) -> str | None:
    """Why this is no reply; None when it is one."""
    if isinstance(written, Failed):
        return written.error
    if not is_reply(written):
        what = "nothing" if written is None else f"a value of type {type(written).__name__}"
        return f"the model returned {what}; a text or a message is due"
    return None


def _closing(turn: Turn, said: str) -> list[Message]:
    message = last_turn(turn, said)
    return [message] if message is not None else []


def _counted(rounds: int) -> str:
    return f"{rounds} rounds" if rounds != 1 else "1 round"
