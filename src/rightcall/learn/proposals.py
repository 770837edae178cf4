"""Proposals: which clues are worth a rule, and why the others are not.

    Book ─▶ candidates (seen often enough, by two sources, of one meaning) ─▶ unsafe ones set aside ─▶ Proposal

A proposal that is set aside says why. Nothing here can name a policy key: a pack that is made of proposals holds other
names, values, defaults and forms, and nothing else.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final

from msgspec import Struct, json

from rightcall.catalog.forms import convert, layouts
from rightcall.learn.bench import Bench
from rightcall.learn.clues import RULES, Kind
from rightcall.learn.evidence import Book, Example, Key, Support
from rightcall.learn.safety import Safety

LEAST: Final = 3
"""Corrections that count, at least."""
PAIR: Final = 2
"""The same where they are from two sources, all agree, and hardly anything else was seen once."""
_PAIRED: Final[frozenset[Kind]] = frozenset(("name", "alias", "value", "missing"))
SOURCES: Final = 2
AGREE: Final = 0.9
"""Of all corrections of the same mistake, so many must mean the same."""
_UNCLEAR, _UNCLEAR_SHARE, _UNCLEAR_VALUES, _UNCLEAR_MOST = 6, 0.05, 5, 0.34
"""From so many corrections, of so many calls of a tool, with so many values of which none is too common, a description
counts as misleading."""
_CORRECTED: Final = 0.4
"""A tool is not missing where a larger part of its calls was followed by that of another."""
_SWITCHED: Final = 4
_LEAST_SHOWN: Final = 2
"""Values that must have been seen in a form: one alone may stand for itself."""
_NOISY, _NOISY_SHARE = 2, 0.3
"""So many wrong values of an argument, of all that were corrected more than once, mean now this and now that."""
_CHANCE: Final = 0.02
_ANYTHING: Final = 5
_MOST: Final = 500


class Measured(Struct, frozen=True):
    """What a rule would have done to the whole history."""

    tested: int = 0
    """Corrected mistakes that it is about, in parts of the history that it was not learned from."""
    saved: int = 0
    """Of these, so many that would have been right at once."""
    saved_in_all: int = 0
    wrong: int = 0
    """Mistakes that it would have made another call of than the one that followed."""
    changed: int = 0
    """Calls that worked and would have been another call."""
    also: int = 0
    """Refused calls that nobody corrected, and that it would have let through."""


NOT_MEASURED: Final = Measured()


class Proposal(Struct, frozen=True):
    """One thing to learn: a rule for a pack, or advice for whoever writes the tools."""

    id: str
    kind: Kind
    tool: str
    place: str
    given: str
    meant: Any
    seen: int
    counted: int
    """How many of these count: not more than five of each caller and each context."""
    sources: int
    callers: tuple[str, ...]
    caller_count: int
    contexts: int
    models: Mapping[str, int]
    otherwise: int
    """Corrections of the same mistake that mean something else."""
    examples: tuple[Example, ...]
    shown: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    """Of the tool, beyond reading; what it declares, or everything."""
    parts: Mapping[int, int] = {}
    """How many count in each context."""
    measured: Measured = NOT_MEASURED
    refused: str = ""
    """Why it is not proposed; empty where it is."""
    made_up: int = 0
    """Callers that did nothing else in the whole history."""

    @property
    def is_rule(self) -> bool:
        return self.kind in RULES


def proposals(book: Book, bench: Bench, safety: Safety) -> list[Proposal]:
    """Everything that was seen often enough, in a fixed order; what is set aside has its reason."""
    least = _least_of(book)
    rules = [*_rules(book, bench, least), *_forms(book, bench)]
    rules = _without_formed(rules)
    known = [one for one in rules if not one.refused]
    advice = [*_missing(book, known, least["missing"]), *_formats(book), *_switched(book), *_unclear(book, known)]
    found = [_looked_at(one, safety) for one in (*rules, *advice)]
    return sorted(found, key=lambda one: (RANK[one.kind], one.tool, one.place, one.given, one.id))[:_MOST]


RANK: Final[Mapping[Kind, int]] = {
    kind: at
    for at, kind in enumerate(("name", "alias", "value", "form", "default", "missing", "format", "switch", "unclear"))
}


def _rules(book: Book, bench: Bench, least: Mapping[Kind, int]) -> Iterator[Proposal]:
    meanings = _Meanings(book)
    names = Counter(key.given for key, _ in book.of_kind("alias"))
    for key, meant in book.of_kind("name", "alias", "value", "default"):
        best = max(meant, key=lambda text: (meant[text].counted, meant[text].total, text))
        support = meant[best]
        others = sum(one.counted for text, one in meant.items() if text != best)
        if not best or support.counted < _enough(key, others, least, names):
            continue
        agreed = others == 0 if key.kind == "default" else support.counted >= AGREE * (support.counted + others)
        if not agreed:
            continue
        target = json.decode(best)
        tool = target if key.kind == "name" else key.tool
        place = target if key.kind == "alias" else key.place
        made = _made(Key(key.kind, tool, place, key.given), target, support, book, bench, others)
        if made.counted < LEAST and made.sources < SOURCES:
            continue
        if key.kind == "value" and not made.refused and (share := meanings.chance(key, best)) ** made.counted > _CHANCE:
            made = _replaced(made, refused=_by_chance(share, made.counted))
        yield made


def _enough(key: Key, others: int, least: Mapping[Kind, int], names: Mapping[str, int]) -> int:
    """Corrections that a rule needs. A name that models use for arguments of many tools says little: `arg`, `input`."""
    if key.kind == "alias" and names[key.given] >= _ANYTHING:
        return 2 * LEAST
    return LEAST if others else least[key.kind]


class _Meanings:
    """What the wrong values of each argument were corrected to. Where the same wrong value means now this and now that,
    nobody knows what it should be, and a few corrections of another agree by chance."""

    def __init__(self, book: Book) -> None:
        self._meant: dict[tuple[str, str], Counter[str]] = {}
        self._unsettled: Counter[tuple[str, str]] = Counter()
        self._compared: Counter[tuple[str, str]] = Counter()
        self._unclear = {(key.tool, key.place): tuple(meant.values()) for key, meant in book.of_kind("unclear")}
        for key, meant in book.of_kind("value"):
            place, counts = (key.tool, key.place), {text: one.counted for text, one in meant.items()}
            self._meant.setdefault(place, Counter()).update(counts)
            self._compared[place] += sum(counts.values()) > 1
            self._unsettled[place] += len(counts) > 1

    def chance(self, key: Key, meant: str) -> float:
        """How probable it is that one more correction means this, where it is a matter of chance; else 0."""
        place = key.tool, key.place
        noisy = self._unsettled[place] >= max(_NOISY, _NOISY_SHARE * self._compared[place])
        if not noisy and not any(map(_is_varied, self._unclear.get(place, ()))):
            return 0.0
        return self._meant[place][meant] / self._meant[place].total()


def _by_chance(share: float, counted: int) -> str:
    return f"wrong values of this argument mean this in {share:.0%} of cases, so that {counted} may agree by chance"


def _least_of(book: Book) -> dict[Kind, int]:
    """How many corrections are enough. Two strangers who make the same one-off mistake are rare where there are few
    one-off mistakes; among thousands some meet."""
    once, again = Counter[Kind](), Counter[Kind]()
    for key, meant in book.clues.items():
        best = max(meant.values(), key=lambda one: one.counted)
        again[key.kind] += best.counted > 1 and book.sources(best) >= SOURCES
        once[key.kind] += sum(one.total for one in meant.values()) == 1
    return {kind: PAIR if kind in _PAIRED and once[kind] <= again[kind] else LEAST for kind in RANK}


def _forms(book: Book, bench: Bench) -> Iterator[Proposal]:
    """Of the forms that explain the same values, the plainest that explains most."""
    by_place: dict[tuple[str, str], list[tuple[str, Support]]] = {}
    for key, meant in book.of_kind("form"):
        for text, support in meant.items():
            by_place.setdefault((key.tool, key.place), []).append((text, support))
    for (tool, place), forms in sorted(by_place.items()):
        explained: set[str] = set()
        taken: list[tuple[str, Support]] = []
        for text, support in sorted(forms, key=lambda one: (-len(one[1].shown), -one[1].counted, _order(one[0]))):
            is_unit = " * " in text
            new = support.shown.keys() if is_unit else support.shown.keys() - explained
            enough = support.counted >= LEAST or (support.counted >= PAIR and book.sources(support) >= SOURCES)
            if enough and len(new) >= _LEAST_SHOWN and not _contradicts(text, taken):
                explained |= set[str]() if is_unit else support.shown.keys()
                taken.append((text, support))
                yield _made(Key("form", tool, place, text), text, support, book, bench, 0)


def _contradicts(form: str, taken: list[tuple[str, Support]]) -> bool:
    """Whether a form reads values otherwise than one that more was seen of: a day for a month, say."""
    return any(
        (mine := convert(text, [form])) is not None and mine != convert(text, [other])
        for other, support in taken
        for text in support.shown
    )


_ORDER: Final = {layout: at for at, layout in enumerate(layouts())}


def _order(form: str) -> tuple[int, int, str]:
    given, _, wanted = form.partition(" -> ")
    return _ORDER.get(wanted, 0), _ORDER.get(given, 0), form


def _without_formed(found: list[Proposal]) -> list[Proposal]:
    """Without the values that a form explains."""
    forms: dict[tuple[str, str], list[str]] = {}
    for one in found:
        if one.kind == "form":
            forms.setdefault((one.tool, one.place), []).append(one.given)
    return [
        one
        for one in found
        if one.kind != "value" or convert(one.given, forms.get((one.tool, one.place), ())) != one.meant
    ]


def _made(key: Key, meant: Any, support: Support, book: Book, bench: Bench | None, others: int) -> Proposal:
    callers = sorted({caller for caller, _ in support.pairs})
    sources = book.sources(support)
    tool = None if bench is None or not key.tool else bench.tool(key.tool)
    effects = tuple(sorted(tool.effects - {"read"})) if tool is not None else ()
    if tool is not None and not tool.effects_declared:
        effects = ("undeclared",)
    return Proposal(
        id=proposal_id(key), kind=key.kind, tool=key.tool, place=key.place, given=key.given, meant=meant,
        seen=support.total, counted=support.counted, sources=sources,
        callers=tuple(callers[:5]), caller_count=len(callers),
        contexts=len({context for _, context in support.pairs}), models=dict(sorted(support.models.items())),
        otherwise=others, examples=tuple(support.examples), shown=tuple(sorted(support.shown)), effects=effects,
        parts=dict(support.parts), made_up=book.made_up(support),
        refused="" if sources >= SOURCES else "all of it comes from one source",
    )  # fmt: skip


def proposal_id(key: Key) -> str:
    """The same in every run over every history that shows the same mistake."""
    name = "\0".join(key).encode("utf-8", "surrogatepass")
    return f"{key.kind}-{blake2b(name, digest_size=3).hexdigest()}"


# ── advice ──


def _missing(book: Book, known: list[Proposal], least: int) -> Iterator[Proposal]:
    """Tools that models look for and do without. One that they then call by another name is no missing one."""
    named = {one.given for one in known if one.kind == "name"}
    for key, meant in book.of_kind("missing"):
        corrected = sum(support.total for support in book.clues.get(Key("name", "", "", key.given), {}).values())
        for support in meant.values():
            if key.given in named or support.counted < least or corrected > _CORRECTED * support.total:
                continue
            made = _made(key, None, support, book, None, 0)
            if made.counted >= LEAST or made.sources >= SOURCES:
                yield made


def _formats(book: Book) -> Iterator[Proposal]:
    for key, meant in book.of_kind("format"):
        for support in meant.values():
            if support.counted >= LEAST:
                yield _made(key, None, support, book, None, 0)


def _switched(book: Book) -> Iterator[Proposal]:
    """Tools that are called, fail, and are followed by the same call of one other tool."""
    for key, meant in book.of_kind("switch"):
        best = max(meant, key=lambda text: (meant[text].counted, text))
        support, others = meant[best], sum(one.counted for text, one in meant.items() if text != best)
        enough = support.counted >= _SWITCHED and support.counted >= AGREE * (support.counted + others)
        if enough:
            yield _made(Key("switch", key.given, "", key.given), json.decode(best), support, book, None, others)


def _unclear(book: Book, known: list[Proposal]) -> Iterator[Proposal]:
    """Arguments that get many different wrong values."""
    explained: dict[tuple[str, str], int] = {}
    for one in known:
        if one.kind in ("value", "form", "alias"):
            explained[one.tool, one.place] = explained.get((one.tool, one.place), 0) + one.seen
    for key, meant in book.of_kind("unclear"):
        for support in meant.values():
            rest = support.total - explained.get((key.tool, key.place), 0)
            often = min(rest, support.counted) >= _UNCLEAR and rest >= _UNCLEAR_SHARE * book.calls[key.tool]
            if often and _is_varied(support):
                yield _made(key, None, support, book, None, 0)


def _is_varied(support: Support) -> bool:
    """Whether an argument gets many different wrong values, and none of them too often."""
    shown = support.shown
    return len(shown) >= _UNCLEAR_VALUES and max(shown.values()) <= _UNCLEAR_MOST * support.total


def _replaced(one: Proposal, **changes: Any) -> Proposal:
    from msgspec.structs import replace

    return replace(one, **changes)


def _looked_at(one: Proposal, safety: Safety) -> Proposal:
    if one.refused:
        return one
    reason = safety.objection(one.kind, one.tool, one.place, one.given, one.meant)
    return _replaced(one, refused=reason) if reason else one
