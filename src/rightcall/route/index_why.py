"""Why a tool was found, in words for a person."""

from rightcall.route.index_general import rarity
from rightcall.route.index_lexical import Request
from rightcall.route.words import ToolText, fields_of, name_words, words

MOST_WORDS = 4
NEAR = 0.2
"""A meaning below this is no reason."""


def why(request: Request, tool: ToolText, meaning: float = 0.0) -> tuple[str, ...]:
    """At most three reasons: shared words, arguments that the request speaks of, nearness of meaning."""
    fields = fields_of(tool)
    asked = request.counts.keys()
    shared = {*name_words(fields.name), *words(fields.description)} & asked
    reasons: list[str] = []
    if shared:
        best = sorted(shared, key=lambda stem: (-rarity(stem), stem))[:MOST_WORDS]
        reasons.append("words: " + ", ".join(request.spelled[stem] for stem in best))
    spoken = [name for name, text in fields.arguments if asked & {*name_words(name), *words(text)} - shared]
    if spoken:
        reasons.append(f"argument{'s' if len(spoken) > 1 else ''}: " + ", ".join(spoken[:MOST_WORDS]))
    if meaning >= NEAR:
        reasons.append(f"meaning {meaning:.2f}")
    return tuple(reasons)
