"""The answer (T-07): the prime model says it with what the tools gave, in words alone. Without a model, or with one
that fails or does nothing but call, a plain sentence says what there is.

Everything here yields pieces of text as early as they can be shown, and last of all the packet.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable
from contextlib import aclosing, suppress
from inspect import iscoroutine
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.text import escaped, estimate, render_json
from rightcall.executor.messages import neutral
from rightcall.models.replies import Failed, Model, describe_failure, options_taken, turn_of
from rightcall.policy.settings import RouterSettings
from rightcall.router import prompts
from rightcall.router.cleaning import Cleaner
from rightcall.router.packet import (
    Budget,
    Packet,
    RouterQuestion,
    Taken,
    budget_of,
    log_step,
    prepare_question,
    put,
    results_of,
    start_step,
    with_state,
)

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate


# ── flow ──
# A model's words as they come, for no longer than there is time. What goes wrong comes as the last piece.
#
# The model runs in a task of its own: one that does not obey when its time is over is left alone, and what it says then
# is heard by nobody.

GRACE = 0.5
"""Seconds that a model has to end once it was told to."""

_Line = asyncio.Queue[str | Failed | None]
_left_alone: set["asyncio.Task[None]"] = set()
"""The event loop itself holds its tasks only weakly."""


async def flowing(opened: Callable[[], Any], seconds: float) -> AsyncGenerator[str | Failed, None]:
    """The pieces of the asynchronous iterator that `opened` gives, all within so many seconds."""
    deadline = asyncio.get_running_loop().time() + seconds
    line: _Line = asyncio.Queue(1)
    pump = asyncio.create_task(_pumped(opened, line))
    try:
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    piece = await line.get()
            except TimeoutError:
                piece = Failed(f"the model gave no whole answer within {round(seconds, 2):g} s")
            if piece is None:
                return
            yield piece
            if isinstance(piece, Failed):
                return
    finally:
        await _stopped(pump)


async def _pumped(opened: Callable[[], Any], line: _Line) -> None:
    """All of it in one task: some iterators can only be left by the task that entered them."""
    source: Any = None
    end: Failed | None = None
    try:
        source = opened()
        if isinstance(source, AsyncIterable):
            async for piece in cast("AsyncIterable[Any]", source):
                if not isinstance(piece, str):
                    end = Failed(f"the model sent a piece of type {type(piece).__name__}; text is due")
                    break
                await line.put(piece)
        else:
            end = Failed(f"the model's `stream` gave a {type(source).__name__}, no asynchronous iterator")
    except Exception as error:  # noqa: BLE001 - whatever a model raises is a value here
        end = describe_failure(error)
    except asyncio.CancelledError:
        if _was_told():
            raise
        end = Failed("the model was cancelled")
    finally:
        await _closed(source)
    await line.put(end)


def _was_told() -> bool:
    """Whether it is us who want this task to end, and not the model itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _closed(source: Any) -> None:
    with suppress(Exception):
        if iscoroutine(source):
            source.close()
        elif (close := getattr(source, "aclose", None)) is not None:
            await close()


async def _stopped(pump: "asyncio.Task[None]") -> None:
    if pump.done():
        return
    pump.cancel()
    _left_alone.add(pump)
    pump.add_done_callback(_left_alone.discard)
    await asyncio.wait({pump}, timeout=GRACE)


Spoken = AsyncGenerator["str | Packet", None]

_TRIES = 2
_PATIENCE = 2
"""So many times the tokens that an answer may have are let through: they are estimated, and servers count otherwise."""
_LONGEST = 2000
_WAITS = ("awaiting_confidence", "awaiting_approval")
VAIN_YES = "A yes that approves nothing"


class _Answer(Struct):
    """What came of asking for an answer, while it comes."""

    text: str = ""
    taken: int = 0
    failed: str | None = None
    calls: int = 0

    def add(self, words: str) -> str:
        """What of these words is new to be shown: an answer does not begin with blanks."""
        words = words if self.text else words.lstrip()
        self.text += words
        return words


async def speak(
    packet: Packet, gate: "Gate", model: Model | None, settings: RouterSettings, tools: Iterable[str] = ()
) -> Spoken:
    """Say what is to be said where a packet stands: the answer, a question to the user, or what it waits for. `tools`
    are those that its caller may use."""
    taken = start_step()
    routing = packet.tool_routing
    if routing.execution_status in _WAITS:
        said = waiting_for(packet)
        yield said
        yield _answered(packet, said, "waiting", packet.status.why, taken)
        return
    asks = packet.intent.user_intent == "ask_back"
    missing = what_is_missing(packet)
    named = () if routing.selected_tool is not None or any(True for _ in results_of(packet)) else tuple(tools)
    messages = prompts.ask_back(packet, missing) if asks else prompts.answer(packet, why_no_result(packet), named)
    question = RouterQuestion(messages, settings.answer_tokens, settings.answer_temperature, settings.top_p)
    answer = _Answer()
    async with aclosing(_ask_in_words(gate, model, question, budget_of(packet, settings, taken), answer)) as pieces:
        async for piece in pieces:
            yield piece
    taken = taken.plus(answer.taken)
    text, why = answer.text.strip(), answer.failed or ""
    if not text:
        text = question_for(missing) if asks else plain_answer(packet, why)
        yield text
        why = why or "the model said nothing in words"
    else:
        if why:
            why = f"the answer is not complete: {why}"
        if note := _not_run(packet, answer.calls):
            text += note
            yield note
    if asks:
        yield _answered(
            packet, text, "waiting", f"waits for what is missing: {', '.join(map(_line, missing)) or 'details'}", taken
        )
    else:
        yield _answered(packet, text, "failed" if why else "answered", why or packet.status.why, taken)


async def _ask_in_words(
    gate: "Gate", model: Model | None, question: RouterQuestion, budget: Budget, answer: _Answer
) -> AsyncGenerator[str, None]:
    """The words of the model. One that only calls is asked once more to answer in words."""
    for _ in range(_TRIES):
        cleaner = Cleaner(gate)
        async with aclosing(_pieces(gate, model, question, budget, answer)) as pieces:
            async for piece in pieces:
                if words := answer.add(cleaner.push(piece)):
                    yield words
        if words := answer.add(cleaner.close()):
            yield words
        answer.calls += cleaner.calls
        if answer.text.strip() or answer.failed is not None:
            return
        question = question.after("(a tool call)" if answer.calls else "", prompts.IN_WORDS)


async def _pieces(
    gate: "Gate", model: Model | None, question: RouterQuestion, budget: Budget, answer: _Answer
) -> AsyncGenerator[str, None]:
    """What the model writes, as it comes, where it can tell it so; else in one piece."""
    stream = _stream_of(model)
    if stream is None:
        reply = await put(model, question, budget, answer.taken)
        answer.taken += reply.tokens
        answer.failed = reply.failed
        if answer.failed is None:
            reading = gate.read(reply.written)
            answer.calls += sum(place.format == "native" for place in reading.places)
            yield turn_of(reply.written, reading).prose
        return
    ready = prepare_question(model, question, budget, answer.taken)
    if isinstance(ready, Failed):
        answer.failed = ready.error
        return
    answer.taken += ready.tokens
    options = {name: value for name, value in ready.options.items() if name != "schema"}
    messages = [dict(message) for message in ready.messages]
    begun, most = answer.taken, _PATIENCE * int(options.get("max_tokens") or budget.settings.answer_tokens)
    coming = flowing(lambda: stream(messages, **options_taken(stream, options)), budget.for_question())
    async with aclosing(coming):
        async for piece in coming:
            if isinstance(piece, Failed):
                answer.failed = piece.error
                return
            answer.taken += estimate(piece)
            yield piece
            if answer.taken - begun > most:
                answer.failed = f"the model wrote far more than the {most // _PATIENCE} tokens it may"
                return


def _stream_of(model: Model | None) -> Model | None:
    """How a model is asked for pieces, where it can be."""
    try:
        stream: Any = getattr(model, "stream", None)
    except Exception:  # noqa: BLE001 - a property of the model's; it can still be asked for the whole
        return None
    return stream if callable(stream) else None


def why_no_result(packet: Packet) -> str:
    """Why the answer is made without a result, for the model to know; empty where there is nothing to explain."""
    routing = packet.tool_routing
    if any(True for _ in results_of(packet)) or routing.execution_status == "pending":
        return ""
    match routing.execution_status:
        case "user_denied":
            return "the user refused it"
        case "failed":
            return f"it could not be used ({_line(packet.status.why)})"
        case _ if routing.selected_tool is not None:
            return f"nobody was sure enough that {_line(routing.selected_tool.tool_name)} is the right one"
        case "skipped":
            reason = _line(routing.selection_reasoning)
            return f"none was chosen (“{reason}”)" if reason else _line(packet.status.why) or "none was chosen"
        case _:
            return ""


def what_is_missing(packet: Packet) -> tuple[str, ...]:
    """What the user is asked for: in the words of the model that chose no tool, else the arguments that were missed
    without one."""
    if packet.tool_routing.selection_reasoning:
        return (packet.tool_routing.selection_reasoning,)
    return packet.intent.detected.missing if packet.intent.detected is not None else ()


def _not_run(packet: Packet, calls: int) -> str:
    """That a call came to nothing, in words of ours: a model may say that it did it. `calls` stood in the answer, where
    none is run."""
    routing = packet.tool_routing
    if calls and routing.selected_tool is None and not any(True for _ in results_of(packet)):
        return "\n\n[The tool call in this answer was not run]"
    if routing.selected_tool is None or routing.execution_status not in ("failed", "skipped"):
        return ""
    what = "was not run" if routing.execution_status == "skipped" else "did not succeed"
    why = f": {_line(packet.status.why)}" if packet.status.why else ""
    return f"\n\n[{_line(routing.selected_tool.tool_name)} {what}{why}]"


def waiting_for(packet: Packet) -> str:
    """What is to be decided by a person, said plainly."""
    routing = packet.tool_routing
    selected = routing.selected_tool
    call = (
        ""
        if selected is None
        else f"{_line(selected.tool_name)} with {neutral(render_json(selected.params, _LONGEST))}"
    )
    if routing.execution_status == "awaiting_approval":
        why = f" Nobody has yet: {_line(packet.status.why)}." if was_said_yes(packet) else ""
        return (
            f"I would run {call}. A person has to approve that first (approval {_line(routing.approval or '')}).{why}"
        )
    unsure = f" The review says: “{_line(routing.review_reasoning)}”" if routing.review_reasoning else ""
    return (
        f"I would run {call}, but I am not sure enough that it is right "
        f"(confidence {routing.confidence:.2f}).{unsure} Shall I?"
    )


def was_said_yes(packet: Packet) -> bool:
    """Whether the last that happened was a yes that approves nothing."""
    log = packet.reasoning.reflection_log
    return bool(log) and log[-1].summary.startswith(VAIN_YES)


def is_shown_whole(params: dict[str, Any]) -> bool:
    """Whether `waiting_for` leaves nothing of these arguments out: only then a yes can be to all of them."""
    return render_json(params, _LONGEST) == render_json(params, 10 * _LONGEST)


def question_for(missing: tuple[str, ...]) -> str:
    """
    >>> question_for(("city", "date"))
    'I need to know more before I can do that: city, date. What shall I use?'
    >>> question_for(("Which city?",))
    'I need to know more before I can do that: Which city?'
    """
    what = prompts.sentence(", ".join(map(_line, missing)) or "what exactly is wanted")
    return f"I need to know more before I can do that: {what}{'' if what.endswith('?') else ' What shall I use?'}"


def plain_answer(packet: Packet, why: str) -> str:
    """An answer made of the last result, for when no model gives one."""
    last = next(reversed(list(results_of(packet))), None)
    if last is None:
        reason = _line(why or packet.status.why or "no model has answered")
        return f"I cannot answer this now: {prompts.sentence(reason)}"
    tool = _line(str(last.get("tool", "")))
    if last.get("success"):
        output = last.get("output")
        text = output[:_LONGEST] if isinstance(output, str) else render_json(output, _LONGEST)
        return f"{tool} gave:\n{neutral(text)}"
    return f"{tool} did not succeed: {_line(str(last.get('error') or 'it gave no reason'))}"


def _answered(packet: Packet, text: str, state: Any, why: str, taken: Taken) -> Packet:
    packet = replace(packet, content=replace(packet.content, answer=text))
    summary = {"answered": "Answered", "waiting": "Asked the user"}.get(state, f"No full answer: {why}")
    return log_step(with_state(packet, state, why), "response", summary, taken)


def _line(text: str) -> str:
    return neutral(escaped(" ".join(text.split()), _LONGEST))
