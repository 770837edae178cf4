"""Argument names: which argument of the tool a given name means, if that is certain.

Tiers, surest first: declared alias, same name in another style, words that say nothing added or left out (plurals too),
typo, a word that only says the kind of value, words of the same meaning, one name part of the other, elimination. A
tier decides only where one target fits and no other name claims it. A name that would fit two, or that is near an
argument without being certain, is left alone and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rightcall.normalise.apart import forbids, is_narrower, rest_of
from rightcall.normalise.likeness import (
    affix,
    core,
    means_something,
    near,
    part,
    same_style,
    says_nothing,
    suffix,
    synonym,
    typo,
)
from rightcall.normalise.opposites import opposed
from rightcall.normalise.words import NOISE, joined, words_of

Fits = Callable[[Any, str], bool]
"""Whether a value could stand at an argument: after the changes of type that are certain, or as it is."""


class Renaming(NamedTuple):
    given: str
    meant: str
    rule: str
    confidence: float


class DeclaredNames(NamedTuple):
    """The arguments that a tool declares."""

    names: list[str]
    required: frozenset[str]
    aliases: Mapping[str, str]


class NameMap(NamedTuple):
    """What was found out about a set of names: renamings, names nobody knows, and names that could mean several."""

    renamed: tuple[Renaming, ...]
    unknown: tuple[str, ...]
    ambiguous: dict[str, tuple[str, ...]]


_MANY = 500
"""Among more arguments than this only the style of a name is looked at: everything else would take too long."""

_MOST_STRANGERS = 64
"""More names than this that nobody knows are no slip; they are not looked at one by one."""


class _Tier(NamedTuple):
    rule: str
    confidence: float
    matches: Callable[[str, str], bool]
    among_all: bool
    """Whether arguments that were given already count as possible targets too, so that a vague match stays vague."""


_STYLE = _Tier("style", 1.0, same_style, among_all=False)
_TIERS = (
    _Tier("affix", 0.95, affix, among_all=False),
    _Tier("typo", 0.95, typo, among_all=True),
    _Tier("suffix", 0.9, suffix, among_all=False),
    _Tier("synonym", 0.9, synonym, among_all=False),
    _Tier("part", 0.8, part, among_all=True),
)
_NOTES = frozenset(["note", "notes", "comment", "comments"])
_BY_MEANING = _TIERS[-2:]


def map_names(
    given: Mapping[str, Any], declared: DeclaredNames, fits: Fits, is_right: Fits, *, guess: bool = True
) -> NameMap:
    """Map the names in `given` onto the declared ones. `guess` false leaves it at aliases."""
    search = _Search(given, declared.names, declared.required, fits)
    search.declared(declared.aliases)
    if guess:
        search.styles()
        if len(search.names) <= _MANY and len(search.unknown) <= _MOST_STRANGERS:
            for tier in _TIERS:
                search.apply(tier)
            search.rivals()
            search.look_near()
            search.eliminate(is_right)
            search.nameless()
    return search.found()


def is_noise(name: str) -> bool:
    """Whether a model adds such an argument on its own account (`reasoning`, `request_id`)."""
    return name.lower() in NOISE or "_".join(words_of(name)) in NOISE


def may_be_content(name: str) -> bool:
    """Whether a name is no noise, or noise only where the tool has nothing like it (`note` beside a `message`)."""
    return not is_noise(name) or joined(name) in _NOTES


def _blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


class _Search:
    """One set of names on its way: who is still unknown, which arguments are free, what was found."""

    def __init__(self, given: Mapping[str, Any], names: list[str], needed: frozenset[str], fits: Fits) -> None:
        known = frozenset(names)
        self.given, self.names, self.needed, self.fits = given, names, needed, fits
        self.unknown = dict.fromkeys(name for name in given if name not in known)
        self.free = dict.fromkeys(name for name in names if name not in given or _blank(given[name]))
        self.renamed: list[Renaming] = []
        self.ambiguous: dict[str, tuple[str, ...]] = {}
        self.near: dict[str, tuple[str, ...]] = {}

    def found(self) -> NameMap:
        doubtful = {name: self.ambiguous.get(name) or self.near.get(name, ()) for name in self.unknown}
        return NameMap(
            tuple(self.renamed), tuple(self.unknown), {name: others for name, others in doubtful.items() if others}
        )

    def rename(self, name: str, target: str, rule: str, confidence: float) -> None:
        self.renamed.append(Renaming(name, target, rule, confidence))
        del self.unknown[name], self.free[target]
        self.ambiguous.pop(name, None)

    def declared(self, aliases: Mapping[str, str]) -> None:
        """Aliases of a pack or the policy. Two of them for one argument, or one beside it, decide nothing."""
        by_style = {joined(alias): target for alias, target in aliases.items() if joined(alias)}
        wanted: dict[str, list[str]] = {}
        for name in self.unknown:
            target = aliases.get(name) or by_style.get(joined(name))
            if target is not None:
                wanted.setdefault(target, []).append(name)
        for target, sources in wanted.items():
            same = target in self.given and all(self.given[source] == self.given[target] for source in sources)
            if len(sources) == 1 and target in self.free:
                self.rename(sources[0], target, "alias", 1.0)
            elif not same:
                self.ambiguous.update((source, (*sources, target)) for source in sources)

    def styles(self) -> None:
        """The same name in another style means the argument even where its value does not fit there."""
        by_style: dict[str, list[str]] = {}
        for target in self.names:
            by_style.setdefault(joined(target), []).append(target)
        claims: dict[str, list[str]] = {}
        for name in self.unknown:
            matching = by_style.get(joined(name), []) if joined(name) and name not in self.ambiguous else []
            free = [target for target in matching if target in self.free]
            fitting = [target for target in free if self.fits(self.given[name], target)]
            if len(free) == 1 or len(fitting) == 1:
                claims.setdefault((fitting or free)[0], []).append(name)
            elif free:
                self.ambiguous[name] = tuple(free)
            elif matching:
                self._doubt_taken(name, matching[0])
        self._settle(claims, _STYLE)

    def _doubt_taken(self, name: str, taken: str) -> None:
        sources = {renaming.meant: renaming.given for renaming in self.renamed}
        rival = sources.get(taken, taken)
        if self.given[rival] != self.given[name]:
            self.ambiguous[name] = (rival, taken)

    def apply(self, tier: _Tier) -> None:
        claims: dict[str, list[str]] = {}
        for name in self.unknown:
            if name in self.ambiguous:
                continue
            vague = is_noise(name) and tier.confidence < 0.95  # a note of the model's own is not meant for an option
            matching = [
                target
                for target in (self.names if tier.among_all else self.free)
                if (not vague or target in self.needed) and tier.matches(name, target) and not opposed(name, target)
            ]
            targets = [target for target in matching if target in self.free and self.fits(self.given[name], target)]
            if tier in _BY_MEANING and targets and self._named_elsewhere(name, targets):
                continue
            if len(targets) == 1 and len(matching) == 1:
                claims.setdefault(targets[0], []).append(name)
            elif len(targets) > 1 or (targets and len(matching) > 1):
                self.ambiguous.setdefault(name, tuple(matching))
        self._settle(claims, tier)

    def _named_elsewhere(self, name: str, targets: list[str]) -> bool:
        """`length` is no `time`, though it may mean one, where the tool has a `length_m`."""
        words = frozenset(core(name))
        holders = [target for target in self.free if words.issubset(core(target))]
        return bool(holders) and not any(target in holders for target in targets)

    def _settle(self, claims: Mapping[str, list[str]], tier: _Tier) -> None:
        for target, sources in claims.items():
            if len(sources) == 1:
                self.rename(sources[0], target, tier.rule, tier.confidence)
            else:
                self.ambiguous.update((source, (*sources, target)) for source in sources)

    def rivals(self) -> None:
        """A name that is left over and means the same as one that was renamed: two sources for one argument."""
        for name in self.unknown:
            for source, target, _, _ in self.renamed:
                alike = any(matches(name, target) for matches in (same_style, affix, typo, suffix, synonym))
                if alike and self.given[source] != self.given[name] and not opposed(name, target):
                    self.ambiguous.setdefault(name, (source, target))

    def look_near(self) -> None:
        """What is near a free argument, and yet not certain or of another value, was meant for something."""
        for name in self.unknown:
            targets = tuple(target for target in self.free if near(name, target))
            if targets and may_be_content(name):
                self.near[name] = targets

    def eliminate(self, is_right: Fits) -> None:
        """One name is left and one required argument is missing: they belong together, if nothing speaks against it.

        A name that means something else speaks against it, and so does another argument that could take the value. A
        name that says nothing is enough only where the tool has no other argument.
        """
        missing = [name for name in self.needed if name in self.free and name not in self.given]
        rest = [name for name in self.unknown if not is_noise(name) or name in self.ambiguous]
        if len(missing) != 1 or len(rest) != 1 or not is_right(self.given[rest[0]], missing[0]):
            return
        name, target = rest[0], missing[0]
        if forbids(name, target):
            return
        vague = target in self.ambiguous.get(name, ()) or _is_only_vaguer(name, target)
        if not vague and (means_something(name) or (says_nothing(name) and len(self.names) > 1)):
            return
        others = [other for other in self.free if other != target and self.fits(self.given[name], other)]
        if not others or vague:
            self.rename(name, target, "elimination", 0.75)

    def nameless(self) -> None:
        """`arg1` was meant for something: where an argument could take its value, dropping it would lose content."""
        for name in self.unknown:
            if says_nothing(name) and name not in self.ambiguous:
                targets = tuple(target for target in self.free if self.fits(self.given[name], target))
                self.ambiguous.update({name: targets} if targets else {})


def _is_only_vaguer(name: str, target: str) -> bool:
    """`date` for `departure_date`: the target says whose value it is, and nothing else is different."""
    return not says_nothing(name) and not rest_of(name, target).mine and is_narrower(name, target)
