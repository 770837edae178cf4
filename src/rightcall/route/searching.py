"""A search for tools as a tool: what it takes, and what it says of one that it finds."""

from typing import Any, Final

from rightcall.route.index import Hit

FOUND: Final = 5
MOST: Final = 50
"""Tools that one search gives."""
PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "description": "What is to be done, in a few words."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST,
            "description": f"At most this many tools (default {FOUND}).",
        },
    },
    "required": ["query"],
}


def described(hit: Hit, description: str, parameters: Any) -> dict[str, Any]:
    """Enough to call it, and why it is here. The description is its author's, as in any list of tools."""
    return {"name": hit.name, "description": description, "parameters": parameters, "why": list(hit.why)}
