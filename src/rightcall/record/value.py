"""What RightCall was worth in a period: calls that would have failed without it, between two bounds that always hold.

    at most    every call that was not right as it was written: the rollup has their number, however long the period is
    at least   those of which the record proves that a strict reader or the schema would have refused them

A call was strictly wrong where its text was no JSON, a value was of another type, the tool's name was nobody's, or it
was written into the prose. Another name for an argument, or one too many, is not proof: an open schema may take it.
The proof needs the single records, so it is looked for in the newest `most` of the period. What it finds there is a
lower bound for all of it, and `Value.proven_since` says how far it went.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder

from rightcall.base.text import estimate
from rightcall.record.calls import LIFTED, UNDONE, PeriodSlots, counted_as, rule_of
from rightcall.record.counts import Part, Tally
from rightcall.record.rollup.periods import count_window
from rightcall.record.tables import Tables

MOST: Final = 50_000
"""Records that are read for proof: about a quarter of a second."""
PROMPT: Final = 2000
"""Tokens of the prompt that another try sends again, where nobody says how many: records hold no prompts."""
_OPEN: Final = frozenset(
    ("alias", "style", "affix", "typo", "suffix", "synonym", "part", "elimination", "dropped_argument", "null_optional",
     "flattened", "tool_alias", "tool_repair", "unwrapped", "value_alias", "default", "last_resort")
)  # fmt: skip
"""Repairs of what an open schema may take as it was written."""
_UNDONE: Final = tuple(map(rule_of, UNDONE))
_NEVER_DONE: Final = frozenset((*_UNDONE, rule_of("left"), rule_of("unknown")))
_UNFIT: Final = frozenset(("validation", "unknown_tool"))


class Bounds(Struct, frozen=True):
    """Calls of one model, provider or tool, or all of them."""

    calls: int
    right: int
    """As they were written."""
    at_least: int
    """Calls that certainly would have failed without RightCall, and did not."""
    at_most: int
    failed: int
    """Nothing made them fit."""


class PackPeriod(Struct, frozen=True):
    """The calls under one set of rule packs, in order of time: before a pack and after it."""

    packs: str
    """Their digest; empty: none."""
    since: str
    until: str
    calls: int
    right: int
    repaired: int
    failed: int


class Saved(Struct, frozen=True):
    """What calls that would have failed would have cost."""

    retries_at_least: int
    """One more try for each that certainly would have failed; or the call was lost."""
    retries_at_most: int
    """An estimate: `at_most` calls times the tries that models needed where RightCall could not help."""
    tries: float
    """How many those were, on the average."""
    sequences: int
    """Of how many calls that is known; 0: of none, then it is taken to be 1."""
    tokens_at_least: int
    """To write those calls once more. The prompts of the tries are not among them."""
    tokens_at_most: int
    """An estimate: `retries_at_most` times the prompt and the call."""
    prompt: int
    """Tokens of a prompt, as they were taken for that."""


class Value(Struct, frozen=True):
    since: str
    until: str
    """UTC."""
    total: Bounds
    saved: Saved
    models: Mapping[str, Bounds]
    providers: Mapping[str, Bounds]
    tools: Mapping[str, Bounds]
    packs: tuple[PackPeriod, ...]
    """Of the records that were read; one entry where nothing changed."""
    proven_since: str
    """From when on single records were read."""
    complete: bool
    """Whether that is all of the period: then `at_least` counts every proof there is."""


class _Body(Struct, frozen=True, gc=False):
    """The few fields of a record that are looked at."""

    caller: str
    tool: str
    rule: str
    params: Raw = Raw(b"null")
    context: str | None = None
    strategy: str = "direct"
    origin: str = "native"
    repairs: Raw = Raw(b"[]")
    """Read only where they matter: most calls are right as they were written."""
    model: str = ""
    provider: str = ""
    packs: str = ""


_read = Decoder(_Body).decode
_read_repairs = Decoder(tuple[dict[str, Any], ...]).decode


def read_value(
    tables: Tables, since: str, *, caller: str | None = None, most: int = MOST, prompt: int = PROMPT
) -> Value:
    """The value of the period from `since` until now, of one caller or (None) of all."""
    window = PeriodSlots("1day", since, tables.wall(), (since,))
    counts = count_window(tables, window, caller)
    head, oldest = tables.head()[0], tables.oldest()
    first = max(head - most, oldest - 1, 0)
    proof = _Proof(caller)
    proven_since = ""
    for entry in tables.entries(first, since=window.since):
        proven_since = proven_since or entry.at
        if entry.kind in ("begin", "refused", "proxied"):
            try:
                proof.take(entry.kind, entry.at, _read(entry.body))
            except (DecodeError, UnicodeDecodeError):  # the figures above have complained, where it matters
                continue
    undone = sum(counts.ruled["proxied"][rule] for rule in _UNDONE)
    total = _bounds(counts.total, proof.certain[""][""], undone)
    complete = first <= oldest - 1 or not proven_since or _begins_before(tables, first, window.since)
    models, providers, tools = (_each(counts.parts[part], proof.certain[part]) for part in _PARTS)
    return Value(
        since=window.since, until=window.until, total=total, saved=_saved(total, proof, prompt), models=models,
        providers=providers, tools=tools, packs=proof.packs, proven_since=proven_since or window.since,
        complete=complete,
    )  # fmt: skip


_PARTS: Final[tuple[Part, ...]] = ("model", "provider", "tool")


def _begins_before(tables: Tables, first: int, since: str) -> bool:
    """Whether the records from number `first` on begin before the period does."""
    entry = next(tables.entries(first), None)
    return entry is None or entry.at < since


class _Proof:
    """What single records prove."""

    def __init__(self, caller: str | None) -> None:
        self._caller = caller
        self.certain: dict[str, Counter[str]] = {part: Counter() for part in ("", *_PARTS)}
        self.tokens = 0
        self._packs: list[list[Any]] = []
        """The fields of each `PackPeriod`: nearly every record changes the last one."""
        self._failing: dict[tuple[str, str | None, str], int] = {}
        self.tries: list[int] = []

    def take(self, kind: str, at: str, body: _Body) -> None:
        if self._caller is not None and body.caller != self._caller:
            return
        fitted = counted_as(body.strategy, body.origin, body.rule)
        self._take_packs(at, body.packs, fitted)
        self._take_tries(kind, body, fitted)
        if fitted == "direct" or fitted == "failed" or kind == "refused" or body.rule in _NEVER_DONE:
            return
        if is_proof(fitted, _read_repairs(body.repairs)):
            for part, name in (("", ""), ("model", body.model), ("provider", body.provider), ("tool", body.tool)):
                self.certain[part][name] += 1
            self.tokens += estimate(bytes(body.params).decode())

    def _take_packs(self, at: str, packs: str, fitted: str) -> None:
        if not self._packs or self._packs[-1][0] != packs:
            self._packs.append([packs, at, at, 0, 0, 0, 0])
        last = self._packs[-1]
        last[2] = at
        last[3] += 1
        last[4 if fitted == "direct" else 6 if fitted == "failed" else 5] += 1

    @property
    def packs(self) -> tuple[PackPeriod, ...]:
        return tuple(PackPeriod(*fields) for fields in self._packs)

    def _take_tries(self, kind: str, body: _Body, fitted: str) -> None:
        """Calls of a tool that were refused as they did not fit, until one did."""
        if body.context is None:
            return
        key = body.caller, body.context, body.tool
        if kind == "refused" and (fitted == "failed" or body.rule in _UNFIT):
            self._failing[key] = self._failing.get(key, 0) + 1
        elif kind == "begin" and (tries := self._failing.pop(key, 0)):
            self.tries.append(tries)


def is_proof(fitted: str, repairs: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a call that fitted in the end would certainly have been refused as it was written.

    >>> is_proof("lifted", ()), is_proof("structure", [{"rule": "dropped_argument"}]), is_proof("direct", ())
    (True, False, False)
    >>> is_proof("python_ast", [{"rule": "single_quotes"}])
    True
    """
    if fitted in ("direct", "failed"):
        return False
    return fitted == LIFTED or any(str(one.get("rule")) not in _OPEN for one in repairs)


def _bounds(tally: Tally, certain: int, undone: int = 0) -> Bounds:
    fitted = tally.strategies
    calls, right, failed = fitted.total(), fitted["direct"], fitted["failed"]
    at_most = max(calls - right - failed - undone, 0)
    return Bounds(calls, right, min(certain, at_most), at_most, failed)


def _each(tallies: Mapping[str, Tally], certain: Counter[str]) -> dict[str, Bounds]:
    """The most helped first."""
    found = {name: _bounds(tally, certain[name]) for name, tally in tallies.items()}
    return dict(sorted(found.items(), key=lambda one: (-one[1].at_most, -one[1].calls, one[0])))


def _saved(total: Bounds, proof: _Proof, prompt: int) -> Saved:
    sequences = len(proof.tries)
    tries = max(sum(proof.tries) / sequences, 1.0) if sequences else 1.0
    retries = round(total.at_most * tries)
    each = proof.tokens / total.at_least if total.at_least else 0.0
    return Saved(
        total.at_least, retries, round(tries, 2), sequences, proof.tokens, round(retries * (prompt + each)), prompt
    )
