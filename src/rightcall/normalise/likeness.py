"""Likenesses between a name that was given and the name of an argument, from the surest to the loosest."""

from __future__ import annotations

from functools import lru_cache

from rightcall.normalise.apart import forbids, is_narrower, is_word, rest_of
from rightcall.normalise.opposites import opposed
from rightcall.normalise.units import is_unit
from rightcall.normalise.words import EMPTY_WORDS, Words, has_meaning, joined, same_meaning, singular, words_of

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
