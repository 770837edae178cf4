"""What is left of a request's budget. It stands in the packet's own log, so it holds across a pause as well."""

from time import perf_counter

from msgspec import Struct

from rightcall.config_router import RouterSettings
from rightcall.route.story import Taken
from rightcall.route.types import Packet

_LEAST_TOKENS = 16
"""An answer shorter than this is none."""


class Budget(Struct, frozen=True):
    """Seconds and tokens that a step may still use."""

    seconds: float
    tokens: int
    question: float
    """Seconds for one question to a model."""
    settings: RouterSettings
    began: float

    @property
    def seconds_left(self) -> float:
        return self.seconds - (perf_counter() - self.began)

    def for_question(self) -> float:
        """Seconds that the next question may take."""
        return min(self.question, self.seconds_left)

    def for_answer(self, prompt: int, wanted: int, spent: int = 0) -> int:
        """Tokens that an answer to a prompt of so many may have; 0: none."""
        left = min(wanted, self.tokens - spent - prompt)
        return left if left >= min(_LEAST_TOKENS, wanted) else 0

    def over(self, spent: int = 0) -> str | None:
        """Why nothing more may be done; None while something may."""
        if not self.seconds_left > 0:
            return f"the {self.settings.seconds:g} s for this request are over"
        if not self.tokens - spent > 0:
            return self.no_tokens
        return None

    @property
    def no_tokens(self) -> str:
        return f"the {self.settings.tokens} tokens for this request are used up"


def budget_of(packet: Packet, settings: RouterSettings, taken: Taken) -> Budget:
    """What the steps before have left for the one that begins now. What a file claims to have gained is nothing."""
    log = packet.reasoning.reflection_log
    seconds = sum(max(line.milliseconds, 0.0) for line in log) / 1e3
    tokens = sum(max(line.tokens, 0) for line in log)
    return Budget(settings.seconds - seconds, settings.tokens - tokens, settings.model_seconds, settings, taken.began)
