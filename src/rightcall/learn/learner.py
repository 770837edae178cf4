"""Learning from a history: look through it for corrections, propose rules, and try them on all of it.

    history ─▶ Threads ─▶ clues ─▶ Book ─▶ proposals ─▶ trial ─▶ Learned
                 ▲                             │
                 └──── once more, with them ───┘   for calls with two mistakes

Deterministic: the same history gives the same answer, in the same order.
"""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from rightcall.base.json.marks import is_object
from rightcall.catalog.packs import read_pack_text
from rightcall.learn.bench import Bench
from rightcall.learn.clues import Clue, clues
from rightcall.learn.emissions import History
from rightcall.learn.evidence import Book, Example
from rightcall.learn.packfile import pack_text
from rightcall.learn.proposals import Proposal, proposals
from rightcall.learn.retries import GivenUp, Mistake, Retry, Threads, is_right
from rightcall.learn.safety import Safety
from rightcall.learn.trial import tried
from rightcall.learn.unread import unread_clues

_LONGEST_EXAMPLE: Final = 1000
Stage = Callable[[str, int], object]
"""Told what is done now, and how many calls were looked at."""


class Learned(Struct, frozen=True):
    """What a history teaches. `found` has everything that was seen often enough, also what is set aside."""

    calls: int
    refused: int
    corrected: int
    found: tuple[Proposal, ...]
    left_out: int = 0
    callers: int = 0
    """That are named at all."""

    @property
    def proposed(self) -> tuple[Proposal, ...]:
        return tuple(one for one in self.found if not one.refused)

    @property
    def rules(self) -> tuple[Proposal, ...]:
        """What a pack can hold."""
        return tuple(one for one in self.proposed if one.is_rule)


def _untold(what: str, done: int) -> None:
    """Nobody watches."""


def learn(history: History, bench: Bench, safety: Safety, stage: Stage = _untold) -> Learned:
    """Look through a history several times, in bounded memory."""
    book = _read(history, bench, _step("Reading", stage))
    found = proposals(book, bench, safety)
    first = tried(found, history, bench, _step("Measuring", stage))
    rules = [one for one in first if one.is_rule and not one.refused]
    if rules:
        with_rules = bench.with_pack(read_pack_text(pack_text(rules, "learned")))
        again = proposals(_read(history, with_rules, _step("Reading again", stage), again=True), bench, safety)
        known = {one.id for one in first}
        new = [one for one in again if one.is_rule and one.id not in known]
        if any(not one.refused for one in new):
            first = tried([*first, *new], history, bench, _step("Measuring again", stage))
    return Learned(book.seen, book.refused, book.corrected, tuple(first), book.left_out, book.named_callers)


def _step(what: str, stage: Stage) -> Callable[[], None]:
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        if done % 1000 == 1:
            stage(what, done)

    return count


def _read(history: History, bench: Bench, progress: Callable[[], object], *, again: bool = False) -> Book:
    """Everything that corrections say; when it is read again, only those that are refused still."""
    book, threads = Book(), Threads()
    for emitted in history():
        progress()
        verdict = bench.judge(emitted.name, emitted.arguments, emitted.tools) if emitted.name else None
        right = is_right(emitted, verdict)
        book.note_call(emitted, right=right or not emitted.name)
        if verdict is not None and verdict.call is not None:
            book.calls[verdict.call.name] += 1
        if again and not right and verdict is not None and not verdict.problems:
            continue
        for one in threads.take(emitted, verdict):
            _note(one, book, bench)
    for one in threads.close():
        _note(one, book, bench)
    return book


def _note(one: Retry | GivenUp, book: Book, bench: Bench) -> None:
    for clue in _unknown_tools(one.mistake):
        book.note(clue, one.mistake.emitted, _example(one))
    if isinstance(one, GivenUp):
        return
    book.note_retry(one)
    found = unread_clues(one) if one.mistake.verdict is None else clues(one, bench)
    for clue in dict.fromkeys(found):  # the same in each item of a list is one
        book.note(clue, one.mistake.emitted, _example(one))


def _unknown_tools(mistake: Mistake) -> Iterator[Clue]:
    verdict = mistake.verdict
    if verdict is not None and any(problem.code == "unknown_tool" for problem in verdict.problems):
        arguments = verdict.found.arguments if verdict.found is not None else None
        names = ", ".join(sorted(arguments)[:8]) if is_object(arguments) else ""
        yield Clue("missing", "", "", mistake.emitted.name, "", names[:200])


def _example(one: Retry | GivenUp) -> Example:
    emitted = one.mistake.emitted
    written = emitted.arguments if emitted.name else emitted.text
    after = one.after.number if isinstance(one, Retry) else 0
    meant = one.corrected.call.arguments if isinstance(one, Retry) and one.corrected.call is not None else None
    name = one.corrected.call.name if isinstance(one, Retry) and one.corrected.call is not None else ""
    shown = {"name": emitted.name, "arguments": _short(written)} if emitted.name else _short(written)
    return Example(
        emitted.number, after, emitted.caller, emitted.model, shown, {"name": name, "arguments": _short(meant)}
    )


def _short(value: object) -> object:
    """A value that an example can hold."""
    from msgspec import json

    try:
        return value if len(json.encode(value)) <= _LONGEST_EXAMPLE else "(too long to be shown)"
    except (TypeError, ValueError, RecursionError):
        return "(cannot be shown)"
