"""Made-up tools by the thousand, and requests for some of them: or those of a folder of corpora."""

from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import msgspec

VERBS = (
    "get", "list", "create", "update", "delete", "search", "book", "cancel", "convert", "compare", "translate", "send",
    "share", "track", "plan",
)  # fmt: skip
THINGS = (
    "flight", "hotel", "invoice", "recipe", "song", "playlist", "weather", "forecast", "ticket", "train", "route",
    "parcel", "contract", "customer", "account", "currency", "stock", "portfolio", "photo", "album", "document",
    "folder", "calendar", "meeting", "reminder", "medicine", "patient", "doctor", "course", "student", "exam",
    "library", "book", "author", "museum", "painting", "restaurant", "table", "menu", "wine", "garden", "plant",
    "tree", "animal", "vaccine", "engine", "battery", "sensor", "house", "mortgage", "rent", "tax", "salary", "team",
    "player", "match", "league", "stadium", "festival",
)  # fmt: skip
PLACES = ("city", "country", "office", "shop", "market", "school", "hospital", "airport")
CITIES = ("Oslo", "Lima", "Cairo", "Kyoto", "Quito", "Perth", "Turin", "Ghent")
COUNT = 6_600


def made_up() -> tuple[list[dict[str, Any]], list[str]]:
    """As many tools as the largest catalogue we know, and 300 requests."""
    chance = Random(1)
    triples = list(product(VERBS, THINGS, PLACES))
    chance.shuffle(triples)
    tools = [_tool(*one) for one in triples[:COUNT]]
    return tools, [_request(chance, *one) for one in chance.sample(triples[:COUNT], 300)]


def _tool(verb: str, thing: str, place: str) -> dict[str, Any]:
    return {
        "name": f"{verb}_{thing}_by_{place}",
        "description": f"{verb.title()} a {thing} of a given {place}, with its price, its date and all else.",
        "parameters": {
            "type": "object",
            "properties": {
                place: {"type": "string", "description": f"The {place} to look in."},
                f"{thing}_id": {"type": "integer", "description": f"Which {thing} is meant."},
                "limit": {"type": "integer", "description": "How many results at most."},
            },
            "required": [place],
        },
    }


def _request(chance: Random, verb: str, thing: str, place: str) -> str:
    """About as long as people write: 80 characters in the middle."""
    city = chance.choice(CITIES)
    return chance.choice(
        (
            f"Please {verb} the {thing} for the {place} in {city}.",
            f"I was in {city} last week. Can you {verb} the {thing} number {chance.randrange(900)} of that {place}?",
            f"What about the {thing}? {verb.title()} one near the {place} in {city}, at most 5 of them, before Friday.",
            f"How many people in {city} have ever heard of a {thing}?",
        )
    )


def of_corpora(folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """A catalogue and requests, of tools with one name the first."""
    tools: dict[str, dict[str, Any]] = {}
    for line in (folder / "tool_catalogue.jsonl").read_bytes().splitlines():
        tool = msgspec.json.decode(line)
        tools.setdefault(tool["name"], tool)
    texts = [msgspec.json.decode(line)["text"] for line in (folder / "needs_tool.jsonl").read_bytes().splitlines()]
    mixed = list(tools.values())
    Random(1).shuffle(mixed)
    return mixed, Random(1).sample(texts, 300)
