"""Argument names: which argument of the tool a given name means, if that is certain.

Tiers, surest first: declared alias, same name in another style, words that say nothing added or left out, plural,
words of the same meaning, one name part of the other, typo, elimination. A tier decides only where one target fits
and no other name claims it. A name that would fit two is left alone and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from rightcall.normalise.opposites import opposed
from rightcall.normalise.words import EMPTY_WORDS, NOISE, is_known, joined, same_meaning, singular, words_of

Words = tuple[str, ...]
Fits = Callable[[Any, str], bool]
"""Whether a value could stand at an argument: after the changes of type that are certain, or as it is."""


class Renaming(NamedTuple):
    given: str
    meant: str
    rule: str
    confidence: float


class NameMap(NamedTuple):
    """What was found out about a set of names: renamings, names nobody knows, and names that could mean several."""

    renamed: tuple[Renaming, ...]
    unknown: tuple[str, ...]
    ambiguous: dict[str, tuple[str, ...]]


_MANY = 500
"""Among more arguments than this only the style of a name is looked at: everything else would take too long."""


class _Tier(NamedTuple):
    rule: str
    confidence: float
    matches: Callable[[str, str], bool]
    among_all: bool
    """Whether arguments that were given already count as possible targets too, so that a vague match stays vague."""


def map_names(
    given: Mapping[str, Any],
    known: Iterable[str],
    aliases: Mapping[str, str],
    required: Iterable[str],
    fits: Fits,
    is_right: Fits,
    *,
    guess: bool = True,
) -> NameMap:
    """Map the names in `given` onto `known`. `guess` false leaves it at declared aliases."""
    names = list(known)
    unknown = [name for name in given if name not in names]
    free = [name for name in names if name not in given or _blank(given[name])]
    renamed: list[Renaming] = []
    ambiguous: dict[str, tuple[str, ...]] = {}
    _declared(unknown, free, aliases, given, renamed, ambiguous)
    needed = frozenset(required)
    if guess:
        for tier in _TIERS if len(names) <= _MANY else _TIERS[:1]:
            _apply(tier, unknown, free, names, given, fits, renamed, ambiguous, needed)
        _rivals(unknown, given, renamed, ambiguous)
        _eliminate(unknown, free, names, needed, given, fits, is_right, renamed, ambiguous)
        _nameless(unknown, free, given, fits, ambiguous)
    return NameMap(tuple(renamed), tuple(unknown), {name: ambiguous[name] for name in unknown if name in ambiguous})


def is_noise(name: str) -> bool:
    """Whether a model adds such an argument on its own account (`reasoning`, `request_id`)."""
    return name.lower() in NOISE or "_".join(words_of(name)) in NOISE


def _blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _declared(
    unknown: list[str],
    free: list[str],
    aliases: Mapping[str, str],
    given: Mapping[str, Any],
    renamed: list[Renaming],
    ambiguous: dict[str, tuple[str, ...]],
) -> None:
    """Aliases that a pack or the policy declares. Two of them for one argument, or one beside it, decide nothing."""
    by_style = {joined(alias): target for alias, target in aliases.items()}
    wanted: dict[str, list[str]] = {}
    for name in unknown:
        target = aliases.get(name) or by_style.get(joined(name))
        if target is not None:
            wanted.setdefault(target, []).append(name)
    for target, sources in wanted.items():
        same = target in given and all(given[source] == given[target] for source in sources)
        if len(sources) == 1 and target in free:
            renamed.append(Renaming(sources[0], target, "alias", 1.0))
            unknown.remove(sources[0])
            free.remove(target)
        elif not same:
            ambiguous.update((source, (*sources, target)) for source in sources)


def _apply(
    tier: _Tier,
    unknown: list[str],
    free: list[str],
    names: list[str],
    given: Mapping[str, Any],
    fits: Fits,
    renamed: list[Renaming],
    ambiguous: dict[str, tuple[str, ...]],
    needed: frozenset[str],
) -> None:
    claims: dict[str, list[str]] = {}
    for name in unknown:
        if name in ambiguous:
            continue
        vague = is_noise(name) and tier.confidence < 0.95  # a note of the model's own is not meant for an option
        within = names if tier.among_all else free
        matching = [
            target
            for target in within
            if (not vague or target in needed) and tier.matches(name, target) and not opposed(name, target)
        ]
        targets = [target for target in matching if target in free and fits(given[name], target)]
        if len(targets) == 1 and len(matching) == 1:
            claims.setdefault(targets[0], []).append(name)
        elif len(targets) > 1 or (targets and len(matching) > 1):
            ambiguous.setdefault(name, tuple(matching))
        elif tier.rule == "style" and not matching:
            taken = next((target for target in names if target not in free and tier.matches(name, target)), None)
            sources = {renaming.meant: renaming.given for renaming in renamed}
            rival = sources.get(taken, taken) if taken is not None else name
            if given[rival] != given[name]:
                ambiguous[name] = (rival, taken or rival)
    for target, sources in claims.items():
        if len(sources) == 1:
            renamed.append(Renaming(sources[0], target, tier.rule, tier.confidence))
            unknown.remove(sources[0])
            free.remove(target)
            ambiguous.pop(sources[0], None)
        else:
            ambiguous.update((source, (target,)) for source in sources)


def _rivals(
    unknown: list[str], given: Mapping[str, Any], renamed: list[Renaming], ambiguous: dict[str, tuple[str, ...]]
) -> None:
    """A name that is left over and means the same as one that was renamed: two sources for one argument."""
    for name in unknown:
        for source, target, _, _ in renamed:
            alike = any(matches(name, target) for matches in (_style, _affix, _typo, _suffix, _synonym))
            if alike and given[source] != given[name] and not opposed(name, target):
                ambiguous.setdefault(name, (source, target))


def _eliminate(
    unknown: list[str],
    free: list[str],
    names: list[str],
    needed: frozenset[str],
    given: Mapping[str, Any],
    fits: Fits,
    is_right: Fits,
    renamed: list[Renaming],
    ambiguous: dict[str, tuple[str, ...]],
) -> None:
    """One name is left and one required argument is missing: they belong together, if nothing speaks against it.

    A name that means something else speaks against it, and so does another argument that could take the value. A name
    that says nothing is enough only where the tool has no other argument.
    """
    missing = [name for name in needed if name in free and name not in given]
    rest = [name for name in unknown if not is_noise(name)]
    if len(missing) != 1 or len(rest) != 1 or not is_right(given[rest[0]], missing[0]):
        return
    name, target = rest[0], missing[0]
    if opposed(name, target):
        return
    vague = target in ambiguous.get(name, ())
    if not vague and (_means_something(name) or (_says_nothing(name) and len(names) > 1)):
        return
    others = [other for other in free if other != target and fits(given[name], other)]
    if not others or vague:
        renamed.append(Renaming(name, target, "elimination", 0.75))
        unknown.remove(name)
        free.remove(target)
        ambiguous.pop(name, None)


def _means_something(name: str) -> bool:
    return any(is_known(word) for word in _core(name) if word not in EMPTY_WORDS)


def _nameless(
    unknown: list[str], free: list[str], given: Mapping[str, Any], fits: Fits, ambiguous: dict[str, tuple[str, ...]]
) -> None:
    """`arg1` was meant for something: where an argument could take its value, dropping it would lose content."""
    for name in unknown:
        targets = tuple(target for target in free if fits(given[name], target)) if _says_nothing(name) else ()
        if targets and name not in ambiguous:
            ambiguous[name] = targets


def _says_nothing(name: str) -> bool:
    """`value2`, `arg`, `x`: a name that could stand for anything."""
    return all(word in EMPTY_WORDS or word.isdigit() or len(word) == 1 for word in words_of(name))


def _core(name: str) -> Words:
    """The words of a name that say something, in the singular."""
    words = tuple(singular(word) for word in words_of(name))
    core = tuple(word for word in words if word not in EMPTY_WORDS)
    return core or words


def _style(name: str, target: str) -> bool:
    return joined(name) == joined(target)


def _affix(name: str, target: str) -> bool:
    """`input_value` for `value`, `user_id_param` for `user_id`, `id_of_user` for `user_id`."""
    left, right = _core(name), _core(target)
    if left == right or (len(left) > 1 and sorted(left) == sorted(right)):
        return True
    short, long = sorted((words_of(name), words_of(target)), key=len)
    extra = list(long)
    for word in short:
        if word not in extra:
            return False
        extra.remove(word)
    return bool(short) and all(word in EMPTY_WORDS for word in extra)


def _suffix(name: str, target: str) -> bool:
    """`gas_name` for `gas`, `city_id` for `city`: one word more that only says what kind of value it is."""
    short, long = sorted((_core(name), _core(target)), key=len)
    return len(long) == len(short) + 1 and long[: len(short)] == short and long[-1] in _KIND_WORDS


_KIND_WORDS = frozenset(
    [
        "name",
        "id",
        "type",
        "number",
        "text",
        "code",
        "list",
        "date",
        "time",
        "string",
        "url",
        "path",
        "file",
        "key",
        "info",
        "detail",
        "term",
    ]
)


def _synonym(name: str, target: str) -> bool:
    left, right = _core(name), _core(target)
    return len(left) == len(right) and all(same_meaning(one, other) for one, other in zip(left, right, strict=True))


def _part(name: str, target: str) -> bool:
    """The words of one name, or their synonyms, all occur in the other."""
    short, long = sorted((_core(name), _core(target)), key=len)
    return not _says_nothing(name) and all(any(same_meaning(word, other) for other in long) for word in short)


def _typo(name: str, target: str) -> bool:
    from rapidfuzz.distance import OSA  # late: only calls that are wrong pay for it

    left, right = joined(name), joined(target)
    shorter = min(len(left), len(right))
    allowed = 2 if shorter >= 8 else 1 if shorter >= 4 else 0
    if sum(map(str.isdigit, left)) != sum(map(str.isdigit, right)):
        return False
    pairs = zip(words_of(name), words_of(target), strict=False)
    if any(sorted(mine) != sorted(theirs) and is_known(mine) and is_known(theirs) for mine, theirs in pairs):
        return False  # `max_price` is no slip for `min_price`; `form_city` is one for `from_city`
    return allowed > 0 and left[:1] == right[:1] and OSA.distance(left, right, score_cutoff=allowed) <= allowed


_TIERS = (
    _Tier("style", 1.0, _style, among_all=False),
    _Tier("affix", 0.95, _affix, among_all=False),
    _Tier("typo", 0.95, _typo, among_all=True),
    _Tier("suffix", 0.9, _suffix, among_all=False),
    _Tier("synonym", 0.9, _synonym, among_all=False),
    _Tier("part", 0.8, _part, among_all=True),
)
