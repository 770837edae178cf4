"""Why a tool was found, in words for a person."""

from msgspec import Struct

from rightcall.route.index_general import rarity
from rightcall.route.index_lexical import Request
from rightcall.route.words import ToolText, fields_of, name_words, words

MOST_WORDS = 4
NEAR = 0.2
"""A meaning below this is no reason."""


class Told(Struct, frozen=True):
    """The words of a tool that can be a reason. Worth keeping: a tool that was found is found again."""

    own: frozenset[str]
    """Of its name and description."""
    arguments: tuple[tuple[str, frozenset[str]], ...]


def told_of(tool: ToolText) -> Told:
    fields = fields_of(tool)
    own = frozenset((*name_words(fields.name), *words(fields.description)))
    arguments = ((name, frozenset((*name_words(name), *words(text))) - own) for name, text in fields.arguments)
    return Told(own, tuple(arguments))


def why(request: Request, tool: Told, meaning: float = 0.0) -> tuple[str, ...]:
    """At most three reasons: shared words, arguments that the request speaks of, nearness of meaning."""
    asked = request.counts.keys()
    shared = tool.own & asked
    reasons: list[str] = []
    if shared:
        best = sorted(shared, key=lambda stem: (-rarity(stem), stem))[:MOST_WORDS]
        reasons.append("words: " + ", ".join(request.spelled[stem] for stem in best))
    spoken = [name for name, own in tool.arguments if own & asked]
    if spoken:
        reasons.append(f"argument{'s' if len(spoken) > 1 else ''}: " + ", ".join(spoken[:MOST_WORDS]))
    if meaning >= NEAR:
        reasons.append(f"meaning {meaning:.2f}")
    return tuple(reasons)
