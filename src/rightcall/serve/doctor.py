"""The doctor: asks a model for tool calls of rising difficulty, and says what share was usable without and with us.

    find        which API, which models
    treat       each question once: the same answer as it came, and as the proxy would have passed it on
    teach       all questions again with the tools in the prompt, where the server does not tell the model of them
    report      shares by step, the damage, and which settings would help

Everything is asked one after the other, with a bound on time, and what is known so far is there at any moment.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.http.client import HttpLimits
from rightcall.config import Policy
from rightcall.errors import ConfigError
from rightcall.proxy.gates import Gates
from rightcall.proxy.options import Options, lifts, provider_of
from rightcall.serve.doctor_finding import find
from rightcall.serve.doctor_questions import STEPS, DoctorQuestion, Step
from rightcall.serve.doctor_requests import Patient, Speech
from rightcall.serve.doctor_treating import Treated, Treating
from rightcall.serve.upstream import Upstream

SEED: Final = 7
UNCALLED: Final = 0.25
"""Share of questions without any call from which on it is worth to try what teaching does."""
_IN_A_ROW: Final = 3
"""Failures of the server one after the other, after which nobody is helped by asking on."""


class Result(Struct, frozen=True):
    """One question, asked once, and where it was tried once more with the tools in the prompt."""

    step: int
    question: DoctorQuestion
    plain: Treated
    taught: Treated | None = None


class Settings(Struct, frozen=True):
    """What the doctor is told."""

    url: str
    model: str | None = None
    speech: Speech | None = None
    key: str = ""
    tries: int = 1
    tokens: int = 512
    seconds: float = 120.0
    """For one question."""
    steps: tuple[Step, ...] = STEPS


class Progress(Struct, frozen=True):
    """How far the doctor is."""

    done: int
    of: int
    doing: str


Heard = Callable[[Progress], None]


class Examination:
    """One visit. `results` grows as it goes on, so that an interrupted one has something to say too."""

    def __init__(self, settings: Settings, heard: Heard | None = None) -> None:
        self.settings = settings
        self.results: list[Result] = []
        self.patient: Patient | None = None
        self.chosen = False
        """Whether the model is the first of the server's list, since none was named."""
        self.complete = False
        self.stopped = ""
        """Why it ended early, where that was the server's doing."""
        self.lifts = True
        self.seconds = 0.0
        self.host = ""
        self._heard = heard

    async def run(self) -> None:
        """Asks everything. Raises ConfigError and HttpError where there is nobody to ask."""
        settings = self.settings
        limits = HttpLimits(first_byte_seconds=settings.seconds, between_seconds=settings.seconds)
        upstream = Upstream(settings.url, limits)
        began = monotonic()
        try:
            treating = await self._introduced(upstream)
            await self._first_pass(treating)
            if not self.stopped and self.wants_teaching:
                await self._second_pass(treating)
            self.complete = not self.stopped
        finally:
            self.seconds = monotonic() - began
            await upstream.aclose()

    @property
    def wants_teaching(self) -> bool:
        """Whether the model may not have known its tools, or does not call them natively."""
        uncalled = 0
        for result in self.results:
            if "refused" in result.plain.damage or result.plain.ignored:
                return True
            uncalled += "none" in result.plain.damage
        return uncalled >= UNCALLED * len(self.results)

    async def _introduced(self, upstream: Upstream) -> Treating:
        settings = self.settings
        self.host = upstream.host
        self._tell(0, 1, "looking for the model")
        found = await find(upstream, settings.speech, settings.key)
        model = settings.model or next(iter(found.models), None)
        if model is None:
            raise ConfigError(f"--model: {upstream.host} lists no models; name the one to ask")
        self.chosen = settings.model is None
        self.patient = Patient(found.speech, model, settings.key, settings.tokens)
        self.lifts = lifts(Options(), upstream.host)
        gates = Gates(Policy(), provider_of(upstream.host, is_local=upstream.is_local))
        return Treating(
            upstream, gates, self.patient, lift=self.lifts, seconds=settings.seconds, models=found.models
        )  # fmt: skip

    async def _first_pass(self, treating: Treating) -> None:
        settings = self.settings
        every = [(at, step, question) for at, step in enumerate(settings.steps) for question in step.questions]
        total = len(every) * settings.tries
        failures = 0
        for turn in range(settings.tries):
            for at, step, question in every:
                self._tell(len(self.results), total, step.name)
                treated = await treating.ask(question, SEED + turn, taught=False)
                self.results.append(Result(at, question, treated))
                failures = failures + 1 if treated.note and "refused" not in treated.damage else 0
                if failures >= _IN_A_ROW:
                    self.stopped = treated.note
                    return

    async def _second_pass(self, treating: Treating) -> None:
        failures = 0
        for at, result in enumerate(self.results):
            self._tell(at, len(self.results), f"tools in the prompt: {self.settings.steps[result.step].name}")
            turn = at // (len(self.results) // self.settings.tries)
            treated = await treating.ask(result.question, SEED + turn, taught=True)
            self.results[at] = replace(result, taught=treated)
            failures = failures + 1 if treated.note else 0
            if failures >= _IN_A_ROW:
                self.stopped = treated.note
                return

    def _tell(self, done: int, of: int, doing: str) -> None:
        if self._heard is not None:
            self._heard(Progress(done, of, doing))
