"""The last resort of a gate: the model of `[gate.llm]`, asked within a budget, its answers kept for a while.

    gate = Gate(tools, policy, last_resort=RepairModel())
    verdict = await gate.acheck("forecast", broken)

What it says is not believed here: `gate/last_resort.py` decides. Budget and answers are this process's own, and in
memory alone. Most processes never ask: what asking needs is loaded with the first question.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct, json

from rightcall.base.text import escaped, estimate
from rightcall.errors import ConfigError

if TYPE_CHECKING:
    from rightcall.gate.last_resort import Plea, Rescue
    from rightcall.models.replies import Asker
    from rightcall.policy.settings import LlmSettings

HOUR: Final = 3600.0
MOST_KEPT: Final = 256
LONGEST_KEPT: Final = 20_000
"""Characters of an answer. No call that is asked about is as long."""
_MOST_TOKENS: Final = 2048
_FEWEST_TOKENS: Final = 64


class _Used(Struct, frozen=True):
    """What one question has used up, and when."""

    at: float
    tokens: int
    seconds: float


class HourBudget:
    """Questions, tokens and seconds of the last hour. What a question may use is taken before it is asked, so that many
    at once do not get beyond it together."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._used: deque[_Used] = deque()
        self._taken = 0
        self._asking = 0

    def take(self, most: LlmSettings, tokens: int) -> str:
        """Take what a question may use; why that is not possible, else empty."""
        now = self._clock()
        while self._used and self._used[0].at <= now - HOUR:
            self._used.popleft()
        if len(self._used) + self._asking >= most.calls:
            return "the budget of calls for this hour is used up"
        if sum(one.tokens for one in self._used) + self._taken + tokens > most.tokens:
            return "the budget of tokens for this hour is used up"
        if sum(one.seconds for one in self._used) + self._asking * most.timeout >= most.seconds:
            return "the budget of seconds for this hour is used up"
        self._asking += 1
        self._taken += tokens
        return ""

    def settle(self, taken: int, tokens: int, seconds: float) -> None:
        """What a question has used in fact, instead of what it took."""
        self._asking -= 1
        self._taken -= taken
        self._used.append(_Used(self._clock(), tokens, seconds))


class RepairModel:
    """Asks the model of `[gate.llm]` how a call was meant to be built; or `model`, any callable of messages, in its
    place. One is enough for a process, and what it keeps is in memory alone."""

    def __init__(self, model: Any = None, *, clock: Callable[[], float] = monotonic) -> None:
        self._given = model
        self._asker: tuple[LlmSettings, Asker] | None = None
        self._clock = clock
        self._budget = HourBudget(clock)
        self._kept: OrderedDict[bytes, str] = OrderedDict()

    async def __call__(self, plea: Plea, settings: LlmSettings) -> Rescue:
        """What the model says, or why it was not asked. Never raises, apart from being cancelled."""
        from rightcall.gate.last_resort import Rescue
        from rightcall.models.replies import ask, options_taken

        messages = plea.messages()
        digest = sha256(json.encode([settings.url, settings.model, messages])).digest()
        kept = self._kept.get(digest)
        if kept is not None:
            self._kept.move_to_end(digest)
            return Rescue(kept, settings.model, cached=True)
        try:
            asking = self._asker_of(settings)
        except ConfigError as error:  # its key is not set
            return Rescue(None, settings.model, escaped(str(error), 300))
        asked = sum(estimate(message["content"]) for message in messages)
        most = min(_MOST_TOKENS, _FEWEST_TOKENS + 2 * estimate(plea.written))
        refused = self._budget.take(settings, asked + most)
        if refused:
            return Rescue(None, settings.model, refused)
        began, used, seconds = self._clock(), asked + most, 0.0
        try:
            reply = await ask(asking, messages, options_taken(asking.model, {"temperature": 0.0, "max_tokens": most}))
            text, why = _read(reply)
            used = _tokens(reply) or asked + estimate(text or "")
        finally:  # also where it is cancelled: then it counts as much as it may have used
            seconds = self._clock() - began
            self._budget.settle(asked + most, used, seconds)
        if text is not None and len(text) <= LONGEST_KEPT:
            self._keep(digest, text)
        return Rescue(text, settings.model, why, used, round(seconds, 3))

    def _asker_of(self, settings: LlmSettings) -> Asker:
        from rightcall.models.endpoint import Endpoint
        from rightcall.models.replies import asker

        if self._asker is None or self._asker[0] != settings:
            model = self._given if self._given is not None else Endpoint.of(settings, seconds=settings.timeout)
            self._asker = settings, asker(model, None, settings.timeout)
        return self._asker[1]

    def _keep(self, digest: bytes, text: str) -> None:
        self._kept[digest] = text
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)


def _read(reply: Any) -> tuple[str | None, str]:
    """The text of a reply, or why there is none."""
    from rightcall.base.json.marks import is_list, is_object
    from rightcall.models.replies import Failed

    if isinstance(reply, Failed):
        return None, escaped(reply.error, 300)
    if isinstance(reply, str):
        return reply, ""
    choices = reply.get("choices") if is_object(reply) else None
    first = choices[0] if is_list(choices) and choices else None
    message = first.get("message") if is_object(first) else None
    text = message.get("content") if is_object(message) else None
    if is_object(first) and first.get("finish_reason") == "length":
        return None, "the model's answer was truncated"
    return (text, "") if isinstance(text, str) else (None, "the model answered without text")


def _tokens(reply: Any) -> int:
    usage: Any = cast("dict[str, Any]", reply).get("usage") if isinstance(reply, dict) else None
    total = cast("dict[str, Any]", usage).get("total_tokens") if isinstance(usage, dict) else None
    return total if isinstance(total, int) and not isinstance(total, bool) and total > 0 else 0
