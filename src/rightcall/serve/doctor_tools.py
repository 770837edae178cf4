"""The tools that the doctor's questions offer. Nobody runs them: only the calls count."""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_WHOLE: Final[Schema] = {"type": "integer"}
_NUMBER: Final[Schema] = {"type": "number"}
_YES_NO: Final[Schema] = {"type": "boolean"}
_TEXTS: Final[Schema] = {"type": "array", "items": _TEXT}


def _one_of(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def _object(**fields: Schema) -> Schema:
    """All fields are required, and there are no others: what fits is never a matter of taste."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


TOOLS: Final[dict[str, tuple[str, Schema]]] = {
    "get_weather": ("Get the weather of a city right now.", _object(city=_TEXT)),
    "lookup_word": ("Look up a word in the dictionary.", _object(word=_TEXT)),
    "open_page": ("Open a web page.", _object(url=_TEXT)),
    "set_timer": ("Start a kitchen timer.", _object(minutes=_WHOLE)),
    "set_light": ("Switch the light of a room on or off.", _object(room=_TEXT, on=_YES_NO)),
    "average": ("Compute the average of some numbers.", _object(numbers={"type": "array", "items": _NUMBER})),
    "tag_note": ("Put labels on a note.", _object(note_id=_WHOLE, labels=_TEXTS)),
    "send_message": ("Send a short message to a person.", _object(to=_TEXT, text=_TEXT)),
    "search_files": ("Find files by a pattern.", _object(pattern=_TEXT, folder=_TEXT)),
    "convert_money": ("Convert an amount of money.", _object(amount=_NUMBER, source=_TEXT, target=_TEXT)),
    "create_event": (
        "Put an event into the calendar.",
        _object(title=_TEXT, start=_object(date=_TEXT, time=_TEXT), priority=_one_of("low", "normal", "high")),
    ),
    "create_order": (
        "Order goods for a customer.",
        _object(
            customer=_object(name=_TEXT, city=_TEXT),
            items={"type": "array", "items": _object(sku=_TEXT, quantity=_WHOLE)},
            shipping=_one_of("standard", "express"),
        ),
    ),
    "set_thermostat": (
        "Set the heating of a part of the house.",
        _object(
            zone=_one_of("upstairs", "downstairs"),
            target=_object(value=_NUMBER, unit=_one_of("celsius", "fahrenheit")),
        ),
    ),
    "save_text": ("Save a text under a file name.", _object(file=_TEXT, content=_TEXT)),
    "run_snippet": ("Run a piece of code.", _object(language=_one_of("python", "shell"), code=_TEXT)),
}
"""Description and schema of the arguments, by name."""
