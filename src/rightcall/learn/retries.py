"""Retries: which call was refused or failed, and which later call of the same caller in the same context corrected it.

    Emitted, with its verdict ─▶ Threads.take ─▶ Retry (corrected) or Given up (nobody corrected it)

Only so many threads, and so many open mistakes in each, are remembered: a history may have any length.
"""

import re
from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from rightcall.base.json.marks import is_list, is_object
from rightcall.learn.emissions import Emitted
from rightcall.types import Verdict

MOST_THREADS: Final = 20_000
MOST_OPEN: Final = 8
"""Mistakes of one thread that may still be corrected."""
PATIENCE: Final = 6
"""Calls after which a mistake counts as given up."""
ALIKE: Final = 0.5
"""Of the values of a call, so many must come again where something else was called in between, or another tool."""
_SOMEWHAT: Final = 0.3
"""The same of the next call of the same tool."""
_FEW: Final = 2
"""So few values may all be wrong."""
_MOST_LEAVES: Final = 400
_WORD: Final = re.compile(r"\w+")
_LONG_ENOUGH: Final = 3


class Mistake(NamedTuple):
    """A call, or a text, that did not lead to a result; `verdict` is None for a text without a call."""

    emitted: Emitted
    verdict: Verdict | None
    ran: bool = False
    """It fits, as it is or repaired, and somebody says that it failed."""


class Retry(NamedTuple):
    """A mistake and the call that corrected it."""

    mistake: Mistake
    after: Emitted
    corrected: Verdict


class GivenUp(NamedTuple):
    mistake: Mistake


class _Thread:
    __slots__ = ("open", "since")

    def __init__(self) -> None:
        self.open: deque[tuple[Mistake, int]] = deque(maxlen=MOST_OPEN)
        self.since = 0


def is_right(emitted: Emitted, verdict: Verdict | None) -> bool:
    """Whether a call fits, and nobody says that it failed. One that a policy or a person refused did not work."""
    if emitted.ok is False or emitted.denied:
        return False
    return verdict is not None and not verdict.problems and verdict.call is not None


def loses_argument(verdict: Verdict | None) -> bool:
    """Whether an argument was left out because the tool has none of that name: the call runs, and may do too much."""
    return verdict is not None and any(repair.rule == "dropped_argument" for repair in verdict.repairs)


class Threads:
    """What is going on in each context of each caller."""

    def __init__(self) -> None:
        self._threads: OrderedDict[tuple[str, str], _Thread] = OrderedDict()

    def take(self, emitted: Emitted, verdict: Verdict | None) -> Iterator[Retry | GivenUp]:
        """One call after the other, in the order in which they were written."""
        if emitted.denied:
            return
        thread = self._thread(emitted)
        if is_right(emitted, verdict):
            assert verdict is not None
            thread.since += 1
            yield from _settled(thread, emitted, verdict)
        if not is_right(emitted, verdict) or loses_argument(verdict):
            if len(thread.open) == MOST_OPEN:
                yield GivenUp(thread.open.popleft()[0])
            ran = verdict is not None and not verdict.problems and emitted.ok is False
            thread.open.append((Mistake(emitted, verdict, ran), thread.since))
        while thread.open and thread.since - thread.open[0][1] > PATIENCE:
            yield GivenUp(thread.open.popleft()[0])
        while len(self._threads) > MOST_THREADS:
            yield from (GivenUp(mistake) for mistake, _ in self._threads.popitem(last=False)[1].open)

    def close(self) -> Iterator[GivenUp]:
        """What nobody corrected until the end."""
        for thread in self._threads.values():
            yield from (GivenUp(mistake) for mistake, _ in thread.open)
        self._threads.clear()

    def _thread(self, emitted: Emitted) -> _Thread:
        key = emitted.caller, emitted.context or f"\0{emitted.model}"
        thread = self._threads.get(key)
        if thread is None:
            thread = self._threads[key] = _Thread()
        else:
            self._threads.move_to_end(key)
        return thread


def _settled(thread: _Thread, emitted: Emitted, verdict: Verdict) -> Iterator[Retry]:
    """The open mistakes that this call corrects."""
    left: list[tuple[Mistake, int]] = []
    for mistake, since in thread.open:
        if corrects(mistake, verdict, is_next=thread.since - since == 1):
            yield Retry(mistake, emitted, verdict)
        else:
            left.append((mistake, since))
    thread.open = deque(left, maxlen=MOST_OPEN)


def corrects(mistake: Mistake, verdict: Verdict, *, is_next: bool) -> bool:
    """Whether a right call is the corrected form of a mistake: of the same tool and next after it, or much alike."""
    call = verdict.call
    assert call is not None
    if mistake.verdict is None:
        return is_next and call.name.lower() in mistake.emitted.text.lower()
    written = mistake.verdict.found
    arguments: Any = None if written is None else written.arguments
    if mistake.verdict.call is not None and mistake.verdict.call.name == call.name:
        few = sum(1 for _ in leaves(arguments)) <= _FEW
        return (is_next and few) or likeness(arguments, call.arguments) >= (_SOMEWHAT if is_next else ALIKE)
    if not arguments and not call.arguments:
        return is_next
    if mistake.ran and is_next and kinship(arguments, call.arguments) >= ALIKE:
        return True  # another tool, with the same words: `cat notes.txt` in a shell, then the tool that reads files
    return likeness(arguments, call.arguments) >= ALIKE


def likeness(one: Any, other: Any) -> float:
    """Which part of the values in one call comes again in another, from 0 to 1."""
    mine = [leaf for _, leaf in leaves(one)]
    theirs = {leaf for _, leaf in leaves(other)}
    return sum(leaf in theirs for leaf in mine) / len(mine) if mine else 0.0


def kinship(one: Any, other: Any) -> float:
    """Which part of the words in one call comes again in another, of the one that has fewer: from 0 to 1."""
    mine, theirs = words_in(one), words_in(other)
    fewer = min(len(mine), len(theirs))
    return len(mine & theirs) / fewer if fewer else 0.0


def words_in(value: Any) -> set[str]:
    """The words in arguments that are long enough to say something."""
    return {word for _, leaf in leaves(value) for word in _WORD.findall(leaf) if len(word) >= _LONG_ENOUGH}


def leaves(value: Any) -> Iterator[tuple[str, str]]:
    """Every value in arguments, as text that can be compared, with the name it has."""
    todo: list[tuple[str, Any]] = [("", value)]
    for seen, (name, here) in enumerate(todo):
        if seen > _MOST_LEAVES:
            return
        if is_object(here):
            todo.extend(here.items())
        elif is_list(here):
            todo.extend((name, item) for item in here)
        else:
            yield name, plain(here)


def plain(value: Any) -> str:
    """A scalar so that `5`, `"5"` and `5.0` are the same."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip().casefold()
