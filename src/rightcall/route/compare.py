"""How a request and a tool compare, as numbers: what the ranking and the intent are learned from.

By words always; by meaning with the extra `route` (`vectors_compare`). Rarity is the general one, since a handful of
tools cannot tell it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rightcall.route import vectors
from rightcall.route.index_general import rarity
from rightcall.route.index_lexical import Request, best_possible, impacts, read_request, stems_of
from rightcall.route.index_why import Told, told_of
from rightcall.route.slots import Values, Wanted, exact, filled, values_in, wanted
from rightcall.route.words import Fields, ToolText, fields_of, name_words

if TYPE_CHECKING:
    from rightcall.route.vectors_compare import Meant, MeantRequest

BY_WORDS = (
    "bm25", "in_name", "in_description", "in_arguments", "in_argument_texts", "in_any", "name_said",
    "description_said", "argument_words_said", "arguments_said", "filled", "least_filled", "missing", "required",
    "exact", "arguments", "description_words",
)  # fmt: skip
"""`bm25` is a share of the best that the request allows; `in_…`: the share of the request's words that stand there;
`…_said`: the share of theirs that the request has. Rare words count more. `exact`: required arguments whose very kind
of value is there, such as a path, a link or a date."""

BY_MEANING = (
    "near_name", "near_description", "near_short", "near_whole", "near_argument", "near_arguments", "near_sentence",
    "aligned", "aligned_name", "aligned_description", "aligned_arguments", "name_found", "description_found",
    "worst_aligned", "rare_aligned", "rarest_aligned", "unaligned", "verbs", "least_required",
)  # fmt: skip
"""`near_…`: cosines of the whole request; `aligned…`: of each of its words with the nearest word there."""


class Asked(Struct, frozen=True, eq=False):
    """A request, read once for all tools."""

    request: Request
    worth: dict[str, float]
    whole: float
    best: float
    values: Values
    meant: "MeantRequest | None"


class Known(Struct, frozen=True, eq=False):
    """A tool, read once for all requests."""

    tool: ToolText
    name: dict[str, float]
    """Words, with what each is worth of the whole field."""
    description: dict[str, float]
    arguments: dict[str, float]
    argument_texts: frozenset[str]
    each_argument: tuple[frozenset[str], ...]
    counted: dict[str, float]
    wanted: tuple[Wanted, ...]
    told: Told
    meant: "Meant | None"


def ask(text: str, *, meaning: bool | None = None) -> Asked:
    """Reads a request; `meaning` as for the index."""
    request = read_request(text)
    worth = {stem: weight * rarity(stem) for stem, weight in request.counts.items()}
    meant = None
    if vectors.available() if meaning is None else meaning:
        from rightcall.route.vectors_compare import read_meaning  # late: it needs the extra

        meant = read_meaning(text)
    return Asked(request, worth, sum(worth.values()) or 1.0, best_possible(request) or 1.0, values_in(text), meant)


def know(tool: ToolText, *, meaning: bool | None = None) -> Known:
    """Reads a tool."""
    fields = fields_of(tool)
    stems = stems_of(fields)
    needs = wanted(tool)
    return Known(
        tool,
        _shared(stems.name),
        _shared(stems.description),
        _shared(stems.arguments),
        frozenset(stems.argument_texts),
        tuple(frozenset(name_words(name)) for name, _ in fields.arguments),
        impacts(stems),
        needs,
        told_of(tool),
        _meant(fields, needs) if (vectors.available() if meaning is None else meaning) else None,
    )


def _meant(fields: Fields, needs: Sequence[Wanted]) -> "Meant":
    from rightcall.route.vectors_compare import know_meaning  # late: it needs the extra

    return know_meaning(fields, [one.name for one in needs])


def compare(asked: Asked, known: Known) -> list[float]:
    """One number for each name of `BY_WORDS`, and with meanings for each of `BY_MEANING`."""
    return compare_all(asked, (known,))[0]


def compare_all(asked: Asked, tools: Sequence[Known]) -> list[list[float]]:
    """The same for several tools, which costs little more than for one."""
    numbers = [_by_words(asked, one) for one in tools]
    meant = [one.meant for one in tools if one.meant is not None]
    if asked.meant is not None and meant and len(meant) == len(tools):
        from rightcall.route.vectors_compare import by_meaning

        for row, more in zip(numbers, by_meaning(asked.meant, meant), strict=True):
            row += more
    return numbers


def _by_words(asked: Asked, known: Known) -> list[float]:
    worth, whole = asked.worth, asked.whole
    bm25 = name = description = arguments = texts = anywhere = name_said = description_said = arguments_said = 0.0
    for stem in worth.keys() & known.counted.keys():
        value = worth[stem]
        bm25 += value * known.counted[stem]
        anywhere += value
        if stem in known.name:
            name += value
            name_said += known.name[stem]
        if stem in known.description:
            description += value
            description_said += known.description[stem]
        if stem in known.arguments:
            arguments += value
            arguments_said += known.arguments[stem]
        if stem in known.argument_texts:
            texts += value
    held = filled(known.wanted, asked.values)
    return [
        bm25 / asked.best, name / whole, description / whole, arguments / whole, texts / whole, anywhere / whole,
        name_said, description_said, arguments_said,
        _spoken(known.each_argument, worth), sum(held) / len(held) if held else 1.0, min(held, default=1.0),
        float(sum([one < 0.3 for one in held])), float(min(len(held), 10)),
        float(min(3, exact(known.wanted, held))), float(min(len(known.each_argument), 20)),
        float(min(len(known.description), 60)),
    ]  # fmt: skip


def _shared(stems: Sequence[str]) -> dict[str, float]:
    worth = {stem: rarity(stem) for stem in stems}
    whole = sum(worth.values())
    return {stem: value / whole for stem, value in worth.items()}


def _spoken(arguments: Sequence[frozenset[str]], worth: dict[str, float]) -> float:
    return sum([not one.isdisjoint(worth) for one in arguments]) / len(arguments) if arguments else 0.0
