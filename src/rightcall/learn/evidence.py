"""Evidence: how often each clue was seen, and from how many sources that do not depend on each other.

    Clue ─▶ Book.note ─▶ Support (counted at most so often for each caller and each context)

Nobody can make a rule alone: what one caller or one context repeats a thousand times is one source. Two sources differ
in both. Callers that have done nothing in the whole history but make one mistake and correct it do not count beside
others that work, so that made-up names are no sources either.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from rightcall.learn.clues import Clue, Kind
from rightcall.learn.emissions import Emitted
from rightcall.learn.retries import Retry

CAP: Final = 5
"""Corrections that count of one caller, and of one context."""
_MOST_CLUES: Final = 50_000
_MOST_OF_CALLER: Final = 2_000
"""New clues that one caller may bring."""
_MOST_MEANT: Final = 50
_MOST_SHOWN: Final = 60
_MOST_PAIRS: Final = 400
_MOST_EXAMPLES: Final = 3
_MOST_CALLERS: Final = 200_000
_MADE_UP: Final = 4
"""So many callers without any other call may be new ones; more are one."""


class Key(NamedTuple):
    """What was wrong: everything of a clue but what was meant."""

    kind: Kind
    tool: str
    place: str
    given: str


def key_of_clue(clue: Clue) -> Key:
    if clue.kind in ("name", "switch", "missing", "format"):
        return Key(clue.kind, "", "", clue.given)
    if clue.kind == "alias":
        return Key("alias", clue.tool, "", clue.given)
    if clue.kind == "form":
        return Key("form", clue.tool, clue.place, clue.meant)
    return Key(clue.kind, clue.tool, clue.place, clue.given)


class Example(NamedTuple):
    """One correction, for people: the numbers of both records, and what was written."""

    failed: int
    corrected: int
    caller: str
    model: str
    written: Any
    meant: Any


MakeExample = Callable[[], Example]
"""Few corrections become examples, so one is made only where it is kept."""


class Support:
    """How often one meaning was seen."""

    __slots__ = ("by_caller", "by_context", "counted", "examples", "models", "pairs", "parts", "shown", "total")

    def __init__(self) -> None:
        self.total = 0
        self.counted = 0
        self.parts: Counter[int] = Counter()
        """How many count in each context, by the number of its part."""
        self.by_caller: Counter[str] = Counter()
        self.by_context: Counter[str] = Counter()
        self.models: Counter[str] = Counter()
        self.pairs: dict[tuple[str, str], None] = {}
        self.shown: Counter[str] = Counter()
        self.examples: list[Example] = []

    def add(self, emitted: Emitted, shown: str, example: MakeExample | None) -> None:
        self.total += 1
        caller, context = source_of(emitted)
        if self.by_caller[caller] < CAP and self.by_context[context] < CAP:
            self.counted += 1
            self.parts[part_of(emitted)] += 1
        if len(self.pairs) < _MOST_PAIRS or (caller, context) in self.pairs:
            self.by_caller[caller] += 1
            self.by_context[context] += 1
            self.pairs[caller, context] = None
        if emitted.model in self.models or len(self.models) < 50:
            self.models[emitted.model] += 1
        if shown and (shown in self.shown or len(self.shown) < _MOST_SHOWN):
            self.shown[shown] += 1
        if example is not None and len(self.examples) < _MOST_EXAMPLES:
            known = {one.caller for one in self.examples}
            if caller not in known or self.total > CAP:
                self.examples.append(example())


def source_of(emitted: Emitted) -> tuple[str, str]:
    """Caller and context. Where no context is told, all that a caller does counts as one."""
    return emitted.caller, emitted.context or f"\0{emitted.caller}"


def part_of(emitted: Emitted) -> int:
    """Which part of the history a context is: what is learned from the others is measured on it."""
    name = "\0".join(source_of(emitted)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(name, digest_size=6).digest())


class Book:
    """All clues of a history, and what else the callers did."""

    def __init__(self) -> None:
        self.clues: OrderedDict[Key, dict[str, Support]] = OrderedDict()
        self.calls: Counter[str] = Counter()
        """Calls of each tool that fitted, or were corrected."""
        self.seen = 0
        self.refused = 0
        self.corrected = 0
        self.left_out = 0
        """Clues that there was no room for."""
        self._brought: Counter[str] = Counter()
        self._plain: Counter[str] = Counter()
        self._callers: set[str] = set()

    @property
    def named_callers(self) -> int:
        return len(self._callers - {""})

    def note_call(self, emitted: Emitted, *, right: bool) -> None:
        self.seen += 1
        self.refused += not right
        if emitted.caller in self._callers or len(self._callers) < _MOST_CALLERS:
            self._callers.add(emitted.caller)
            self._plain[emitted.caller] += right

    def note_retry(self, retry: Retry) -> None:
        self.corrected += 1
        if self._plain[retry.after.caller]:
            self._plain[retry.after.caller] -= 1

    def note(self, clue: Clue, emitted: Emitted, example: MakeExample | None = None) -> None:
        key = key_of_clue(clue)
        known = self.clues.get(key)
        if known is None:
            if self._brought[emitted.caller] >= _MOST_OF_CALLER:
                self.left_out += 1
                return
            self._brought[emitted.caller] += 1
            known = self.clues[key] = {}
            self._make_room()
        support = known.get(clue.meant)
        if support is None:
            if len(known) >= _MOST_MEANT:
                self.left_out += 1
                return
            support = known[clue.meant] = Support()
        support.add(emitted, clue.shown, example)

    def _make_room(self) -> None:
        """Forget the oldest clues that were seen only once."""
        if len(self.clues) <= _MOST_CLUES:
            return
        once = [key for key, meant in self.clues.items() if sum(support.total for support in meant.values()) == 1]
        for key in once[: _MOST_CLUES // 10] or [next(iter(self.clues))]:
            del self.clues[key]
            self.left_out += 1

    def of_kind(self, *kinds: Kind) -> Iterator[tuple[Key, dict[str, Support]]]:
        """In an order that does not depend on when they were seen."""
        return iter(sorted((item for item in self.clues.items() if item[0].kind in kinds), key=lambda one: one[0]))

    def working_callers(self, callers: Iterable[str]) -> set[str]:
        """Those that have done something else in this history than to correct a mistake."""
        return {caller for caller in callers if self._plain[caller] > 0}

    def sources(self, support: Support) -> int:
        """How many independent sources there are: so many corrections that all differ in caller and in context."""
        callers = {caller for caller, _ in support.pairs}
        working = self.working_callers(callers)
        pairs = [(caller, context) for caller, context in support.pairs if caller in working]
        made_up = callers - working
        if made_up and len(self.working_callers(self._callers)) < 2:
            single = len(made_up) > _MADE_UP
            pairs += [("\0" if single else caller, of) for caller, of in support.pairs if caller in made_up]
        return matched(pairs)

    def made_up(self, support: Support) -> int:
        """Callers that do nothing else, and so do not count."""
        callers = {caller for caller, _ in support.pairs}
        return len(callers - self.working_callers(callers))


_ENOUGH: Final = 20


def matched(pairs: Iterable[tuple[str, str]]) -> int:
    """The largest number of pairs of which no two share a caller or a context; no more than twenty are counted.

    >>> matched([("ann", "1"), ("ann", "2"), ("bob", "2")]), matched([("ann", "1"), ("bob", "1")])
    (2, 1)
    """
    beside: dict[str, list[str]] = {}
    for caller, context in pairs:
        beside.setdefault(caller, []).append(context)
    taken: dict[str, str] = {}

    def place(caller: str, tried: set[str]) -> bool:
        for context in beside[caller]:
            if context not in tried:
                tried.add(context)
                if context not in taken or place(taken[context], tried):
                    taken[context] = caller
                    return True
        return False

    for caller in sorted(beside):
        if len(taken) >= _ENOUGH:
            break
        place(caller, set())
    return len(taken)
