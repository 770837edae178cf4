"""The doctor: asks a model for tool calls of rising difficulty, and says what share was usable without and with us.

    find        which API, which models
    treat       each question once: the same answer as it came, and as the proxy would have passed it on
    teach       all questions again with the tools in the prompt, where the server does not tell the model of them
    report      shares by step, the damage, and which settings would help

Everything is asked one after the other, with a bound on time, and what is known so far is there at any moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.http.client import HttpLimits
from rightcall.doctor.judgement import TOLD, Damage, Outcome, Treated, Treating
from rightcall.doctor.questions import STEPS, DoctorQuestion, Patient, Speech, Step, find
from rightcall.errors import ConfigError
from rightcall.policy.settings import Policy
from rightcall.proxy.gates import Gates, Options, lifts, provider_of
from rightcall.server.addresses import Upstream

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


# ── findings ──
# What the doctor found, in figures: by step, in all, and as one record for machines.

Way = Literal["without", "with", "retry", "lift", "teach", "teach_retry"]
"""How the calls reach the client: from the server itself, or through the proxy with these settings."""

WAYS: Final[dict[Way, str]] = {
    "without": "without",
    "with": "with",
    "retry": "--retry 1",
    "lift": "--lift on",
    "teach": "--teach on",
    "teach_retry": "--teach on --retry 1",
}


class Share(Struct, frozen=True):
    """Of so many questions, so many answers were usable, and so many of those also right."""

    asked: int = 0
    usable: int = 0
    right: int = 0


class Row(Struct, frozen=True):
    """The shares of one step, or of all."""

    name: str
    shares: dict[Way, Share]


class Findings(Struct, frozen=True):
    """Everything that is known at the end."""

    rows: tuple[Row, ...]
    total: Row
    damage: dict[Damage, int]
    """In how many answers each was seen, the most frequent first."""
    taught_damage: dict[Damage, int]
    ignored: str
    """Why the server seems to ignore tools; empty where it does not."""
    notes: tuple[str, ...]
    """What the server said where it failed, each once."""

    @property
    def ways(self) -> tuple[Way, ...]:
        """The ways that were tried at all."""
        return tuple(way for way in WAYS if self.total.shares[way].asked)


def findings(examination: Examination) -> Findings:
    """The figures of what was asked so far."""
    results = examination.results
    steps = [
        _row(step.name, [result for result in results if result.step == at])
        for at, step in enumerate(examination.settings.steps)
    ]
    tried = _row("all", results)
    ways = _tried(results)
    return Findings(
        rows=tuple(_only(row, ways) for row in steps if row.shares["without"].asked),
        total=_only(tried, ways),
        damage=_counted(result.plain for result in results),
        taught_damage=_counted(result.taught for result in results if result.taught is not None),
        ignored=next((result.plain.ignored for result in results if result.plain.ignored), ""),
        notes=_notes(results),
    )


def _row(name: str, results: Sequence[Result]) -> Row:
    return Row(name, {way: _share(results, outcome) for way, outcome in _OUTCOMES.items()})


def _share(results: Iterable[Result], outcome: Callable[[Result], Outcome | None]) -> Share:
    outcomes = [found for result in results if (found := outcome(result)) is not None]
    return Share(len(outcomes), sum(one.usable for one in outcomes), sum(one.usable and one.right for one in outcomes))


_OUTCOMES: Final[dict[Way, Callable[[Result], Outcome | None]]] = {
    "without": lambda result: result.plain.without,
    "with": lambda result: result.plain.treated,
    "retry": lambda result: result.plain.retried or result.plain.treated,
    "lift": lambda result: result.plain.lifted,
    "teach": lambda result: None if result.taught is None else result.taught.treated,
    "teach_retry": lambda result: None if result.taught is None else result.taught.retried or result.taught.treated,
}


def _tried(results: Sequence[Result]) -> set[Way]:
    """A way that was the same as another one for every question says nothing."""
    ways: set[Way] = {"without", "with"}
    if any(result.plain.retried is not None for result in results):
        ways.add("retry")
    if any(result.plain.lifted not in (None, result.plain.treated) for result in results):
        ways.add("lift")
    if any(result.taught is not None for result in results):
        ways.add("teach")
    if any(result.taught is not None and result.taught.retried is not None for result in results):
        ways.add("teach_retry")
    return ways


def _only(row: Row, ways: set[Way]) -> Row:
    return Row(row.name, {way: share if way in ways else Share() for way, share in row.shares.items()})


def _counted(treated: Iterable[Treated]) -> dict[Damage, int]:
    counts: Counter[Damage] = Counter()
    for one in treated:
        counts.update(one.damage)
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], list(TOLD).index(pair[0]))))


def _notes(results: Iterable[Result]) -> tuple[str, ...]:
    notes: dict[str, None] = {}
    for result in results:
        for treated in (result.plain, result.taught):
            if treated is not None and treated.note:
                notes[treated.note] = None
    return tuple(notes)


# ── for machines ─────────────────────────────────────────────────────────────────────────────────────────────────────


def record(examination: Examination, found: Findings, advice: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Everything as one object; no key is in it, and nothing that the model wrote."""
    patient = examination.patient
    return {
        "host": examination.host,
        "wire": patient.speech if patient else None,
        "model": patient.model if patient else None,
        "model_chosen": examination.chosen,
        "complete": examination.complete,
        "stopped": examination.stopped or None,
        "seconds": round(examination.seconds, 3),
        "tries": examination.settings.tries,
        "max_tokens": examination.settings.tokens,
        "total": _shares(found.total, found.ways),
        "steps": [{"name": row.name, **_shares(row, found.ways)} for row in found.rows],
        "damage": found.damage,
        "damage_when_taught": found.taught_damage,
        "ignored": found.ignored or None,
        "suggestions": [{"setting": setting or None, "why": why} for setting, why in advice],
        "server_said": list(found.notes),
        "questions": [_result(examination, result) for result in examination.results],
    }


def _shares(row: Row, ways: Sequence[Way]) -> dict[str, Any]:
    shares = {way: row.shares[way] for way in ways}
    return {
        "asked": row.shares["without"].asked,
        **{way: {"asked": one.asked, "usable": one.usable, "right": one.right} for way, one in shares.items()},
    }


def _result(examination: Examination, result: Result) -> dict[str, Any]:
    outcomes = {way: outcome(result) for way, outcome in _OUTCOMES.items()}
    return {
        "id": result.question.id,
        "step": examination.settings.steps[result.step].name,
        "stream": result.question.stream,
        "seconds": round(result.plain.seconds, 3),
        "damage": list(result.plain.damage),
        "damage_when_taught": list(result.taught.damage) if result.taught else None,
        **{way: {"usable": one.usable, "right": one.right} for way, one in outcomes.items() if one is not None},
    }


# ── advice ──
# Which settings would help, each with the figure it rests on; and what no setting helps against.

Advice = tuple[str, str]
"""The setting (empty where there is none) and the reason."""


def advice(examination: Examination, found: Findings) -> list[Advice]:
    """What to set for `rightcall proxy`, the most useful first."""
    if not found.total.shares["without"].asked:
        return []
    return [*_settings(found), *_limits(examination, found), *_beyond_repair(found)] or [_nothing(found)]


def _settings(found: Findings) -> Iterator[Advice]:
    shares = found.total.shares
    now, retry = shares["with"], shares["retry"]
    teach, teach_retry, lift = shares["teach"], shares["teach_retry"], shares["lift"]
    best_plain = max(now.usable, retry.usable)
    if teach.asked == now.asked and max(teach.usable, teach_retry.usable) > best_plain:
        yield "--teach on", _more("tools in the prompt", teach, now) + _why_taught(found)
        if teach_retry.usable > teach.usable:
            yield "--retry 1", _more("asking again when a call cannot be repaired", teach_retry, teach)
        return
    if "refused" in found.damage and teach.usable > now.usable:
        yield "--teach auto", "the default: this server refuses tools, and the proxy then puts them into the prompt"
    if retry.usable > now.usable:
        yield "--retry 1", _more("asking again when a call cannot be repaired", retry, now)
    if lift.usable > now.usable:
        yield "--lift on", _more("this provider's calls in the text", lift, now)
    if now.usable > shares["without"].usable:
        yield "", _more("the proxy with its default settings", now, shares["without"])


def _more(what: str, better: Share, than: Share) -> str:
    return f"{what}: {better.usable} of {better.asked} usable instead of {than.usable} of {than.asked}"


def _why_taught(found: Findings) -> str:
    if "refused" in found.damage:
        return "; the server refuses tools"
    return f"; {found.ignored}" if found.ignored else ""


def _limits(examination: Examination, found: Findings) -> Iterator[Advice]:
    cut = max(found.damage.get("cut", 0), found.taught_damage.get("cut", 0))
    if cut:
        tokens = examination.settings.tokens
        who = "one answer was" if cut == 1 else f"{cut} answers were"
        yield "max tokens", f"{who} truncated at {tokens} tokens: allow more in your client (here: --max-tokens)"
    slow = max(found.damage.get("slow", 0), found.taught_damage.get("slow", 0))
    if slow:
        seconds = examination.settings.seconds
        yield "timeout", f"{slow} answers took more than {seconds:g} s: allow more in your client (here: --timeout)"


def _beyond_repair(found: Findings) -> Iterator[Advice]:
    """What repair cannot help against: said plainly, so that nobody waits for a setting that does."""
    best_taught = found.total.shares["teach"].usable > found.total.shares["with"].usable
    damage = found.taught_damage if best_taught else found.damage
    asked = found.total.shares["without"].asked
    if wrong := damage.get("wrong tool", 0):
        yield "", f"this model picks the wrong tool in {wrong} of {asked} answers: no repair helps against that"
    if not best_taught and (deaf := damage.get("ignored", 0)):
        why = "and with the tools in its prompt the model did no better"
        yield "", f"the server did not tell the model of its tools in {deaf} of {asked} answers, {why}"
    if none := damage.get("none", 0):
        yield "", f"in {none} of {asked} answers the model made no tool call, though one was asked for"
    best = max(found.total.shares.values(), key=lambda share: share.usable)
    if best.usable > best.right:
        wrong = best.usable - best.right
        yield "", f"in {wrong} of {asked} answers the call fits, but a value is not the one that was asked for"


def _nothing(found: Findings) -> Advice:
    shares = found.total.shares
    if shares["without"].usable == shares["without"].asked:
        return "", "every call was right as it came: with this model the proxy has nothing to do here"
    return "", "no setting would have made more of these answers usable"
