"""Argument names: which argument of the tool a given name means, if that is certain.

Tiers, surest first: declared alias, same name in another style, words that say nothing added or left out (plurals too),
typo, a word that only says the kind of value, words of the same meaning, one name part of the other, elimination. A
tier decides only where one target fits and no other name claims it. A name that would fit two, or that is near an
argument without being certain, is left alone and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from rightcall.base.json.marks import is_missing
from rightcall.gate.repair.numbers import is_unit
from rightcall.gate.repair.words import (
    EMPTY_WORDS,
    NOISE,
    Words,
    forbids,
    has_meaning,
    is_narrower,
    is_word,
    joined,
    opposed,
    rest_of,
    same_meaning,
    singular,
    words_of,
)

# ── likeness ──
# Likenesses between a name that was given and the name of an argument, from the surest to the loosest.

_GENERIC_TEXT = "id identifier ident key name label title type kind category num number count date day time when"
_GENERIC = frozenset(_GENERIC_TEXT.split())
"""Words that alone name a kind of value: with one of them a name is only less exact (`id` for `device_id`)."""

_KINDS_TEXT = "name type number num text list date time string info detail term count"
_KINDS = frozenset(_KINDS_TEXT.split())
"""Words that only say what kind of value a name is for."""

_WITH = {"code": ("zip", "postal", "promo", "coupon", "voucher"), "address": ("email", "ip", "mac")}
"""Words that add nothing behind some: a `zip` is a code anyway, an `email` an address. A `country` may be no code."""


def core(name: str) -> Words:
    """The words of a name that say something, in the singular."""
    words = tuple(singular(word) for word in words_of(name))
    return tuple(word for word in words if word not in EMPTY_WORDS) or words


def says_nothing(name: str) -> bool:
    """`value2`, `arg`, `x`: a name that could stand for anything."""
    return all(word in EMPTY_WORDS or word.isdigit() or len(word) == 1 for word in words_of(name))


def means_something(name: str) -> bool:
    return any(has_meaning(word) or is_word(word) for word in core(name) if word not in EMPTY_WORDS)


def same_style(name: str, target: str) -> bool:
    return joined(name) == joined(target) != ""


def affix(name: str, target: str) -> bool:
    """`input_value` for `value`, `user_id_param` for `user_id`, `id_of_user` for `user_id`."""
    left, right = core(name), core(target)
    if left == right or (len(left) > 1 and sorted(left) == sorted(right)):
        return bool(left)
    short, long = sorted((words_of(name), words_of(target)), key=len)
    if long == ("in", *short) and short and is_unit(short[-1]):
        return True  # `minutes` for `in_minutes`
    extra = list(long)
    for word in short:
        if word not in extra:
            return False
        extra.remove(word)
    return bool(short) and all(word in EMPTY_WORDS for word in extra)


def suffix(name: str, target: str) -> bool:
    """`gas_name` for `gas`: one word more that only says what kind of value it is."""
    short, long = sorted((core(name), core(target)), key=len)
    if not short or len(long) != len(short) + 1 or long[: len(short)] != short or _is_apart(name, target):
        return False
    return long[-1] in _KINDS or short[-1] in _WITH.get(long[-1], ())


def synonym(name: str, target: str) -> bool:
    left, right = core(name), core(target)
    alike = len(left) == len(right) > 0 and all(
        same_meaning(one, other) for one, other in zip(left, right, strict=True)
    )
    return (alike or _says_it_twice(left, right)) and not _is_apart(name, target)


def _says_it_twice(left: Words, right: Words) -> bool:
    """`file_path` for `path`, `folder_dir` for `folder`: two words, and each of them means the other's one."""
    short, long = sorted((left, right), key=len)
    return len(short) == 1 and len(long) == 2 and all(same_meaning(word, short[0]) for word in long)


def part(name: str, target: str) -> bool:
    """The words of one name, or their synonyms, all occur in the other, and what is more in it changes nothing."""
    if not loosely_part(name, target) or _is_apart(name, target):
        return False
    rest = rest_of(name, target)
    if not all(word in _KINDS for word in rest.mine):
        return False
    mine, theirs = core(name), core(target)
    cut_off = len(mine) < len(theirs) == len(mine) + 1 and len(words_of(name)) > 1 and theirs[: len(mine)] == mine
    generic = all(word in _GENERIC for word in mine)
    return generic or (cut_off and rest.theirs[-1:] != ("id",)) or all(word in _KINDS for word in rest.theirs)


def loosely_part(name: str, target: str) -> bool:
    short, long = sorted((core(name), core(target)), key=len)
    named = bool(short) and not says_nothing(name)
    return named and all(any(same_meaning(word, other) for other in long) for word in short)


@lru_cache(maxsize=4096)
def typo(name: str, target: str) -> bool:
    """A slip of the pen, word by word. A word that means something itself is no slip, nor is another number."""
    mine, theirs = words_of(name), words_of(target)
    if len(mine) != len(theirs):
        return _one_word_split(name, target)
    pairs = [(one, other) for one, other in zip(mine, theirs, strict=True) if one != other]
    return len(pairs) == 1 and _slip(*pairs[0], amid=len(mine) > 2)


def _one_word_split(name: str, target: str) -> bool:
    """The separator may have gone with the slip: `start_dtae` for `startdate`."""
    left, right = joined(name), joined(target)
    known = any(is_word(word) for word in words_of(name) if word not in words_of(target) and word not in right)
    return not known and min(len(left), len(right)) >= 8 and _slip(left, right, amid=False)


def _slip(mine: str, theirs: str, *, amid: bool) -> bool:
    if not (mine + theirs).isalpha() or is_word(mine):
        return False
    shorter, longer = sorted((mine, theirs), key=len)
    if len(longer) - len(shorter) > 2:
        return False
    from rapidfuzz.distance import OSA  # late: only names that may be slips pay for it

    distance = OSA.distance(mine, theirs, score_cutoff=2)
    if distance > 2 or (distance == 2 and (len(shorter) < 8 or mine[0] != theirs[0])):
        return False
    if longer.endswith(shorter) and mine[0] != theirs[0]:
        return False  # `insensitive` is no slip for `sensitive`
    if sorted(mine) == sorted(theirs) or _doubled(longer, shorter):
        return len(shorter) >= 3
    if len(mine) > len(theirs) and longer.startswith(shorter):
        return False  # an ending more is another word
    return mine[0] == theirs[0] and ((len(longer) >= 5 and len(shorter) >= 4) or amid)


def _doubled(longer: str, shorter: str) -> bool:
    return len(longer) == len(shorter) + 1 and any(
        longer[at] == longer[at - 1] and longer[:at] + longer[at + 1 :] == shorter for at in range(1, len(longer))
    )


def loosely_typo(name: str, target: str) -> bool:
    """A few letters differ, whatever they mean."""
    left, right = joined(name), joined(target)
    shorter = min(len(left), len(right))
    allowed = 2 if shorter >= 8 else 1 if shorter >= 4 else 0
    if allowed == 0 or left[:1] != right[:1]:
        return False
    from rapidfuzz.distance import OSA  # late, as above

    return OSA.distance(left, right, score_cutoff=allowed) <= allowed


def near(name: str, target: str) -> bool:
    """Whether a name might have been meant for an argument, though it cannot be taken for it."""
    if says_nothing(name):
        return False
    contrary = opposed(name, target) and not set(words_of(name)).isdisjoint(words_of(target))
    return contrary or loosely_part(name, target) or loosely_typo(name, target)


def _is_apart(name: str, target: str) -> bool:
    return forbids(name, target) or is_narrower(name, target)


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
    return not is_noise(name) or joined(name) in {"note", "notes", "comment", "comments"}


class _Search:
    """One set of names on its way: who is still unknown, which arguments are free, what was found."""

    def __init__(self, given: Mapping[str, Any], names: list[str], needed: frozenset[str], fits: Fits) -> None:
        known = frozenset(names)
        self.given, self.names, self.needed, self.fits = given, names, needed, fits
        self.unknown = dict.fromkeys(name for name in given if name not in known)
        self.free = dict.fromkeys(name for name in names if name not in given or is_missing(given[name]))
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
