"""What an author declares about a tool, checked when it is declared: a mistake is named at once, not at the first
call."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast, get_args

from rightcall.errors import ToolError
from rightcall.types import Effect

_EFFECTS: tuple[Effect, ...] = get_args(Effect)


def checked_name(name: Any) -> str:
    """A name a model can write: `code/read`, `add`."""
    if (
        not isinstance(name, str)
        or not name
        or not name.isprintable()
        or len(name.split()) != 1
        or name != name.strip()
    ):
        raise ToolError(f"a tool's name must be one word, such as `read_file` or `code/read`; got {name!r:.80}")
    return name


def checked_effects(tool: str, effects: Any) -> tuple[Effect, ...] | None:
    """The effects in their usual order; None stays None, which counts as all of them."""
    if effects is None:
        return None
    if not isinstance(effects, Iterable):
        raise ToolError(f"{tool}: effects must be a list of {', '.join(_EFFECTS)}; got {type(effects).__name__}")
    words = {effects} if isinstance(effects, str) else set(cast("Iterable[Any]", effects))
    for word in words - set(_EFFECTS):
        raise ToolError(f"{tool}: effects: {word!r:.40} is none of {', '.join(_EFFECTS)}")
    return tuple(effect for effect in _EFFECTS if effect in words)


def checked_timeout(tool: str, seconds: Any) -> float | None:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        raise ToolError(f"{tool}: timeout must be a number of seconds above 0; got {seconds!r:.40}")
    return float(seconds)


def checked_function(tool: str, what: str, function: Any) -> Callable[..., Any] | None:
    if function is not None and not callable(function):
        raise ToolError(f"{tool}: {what} must be a function of the arguments; got {type(function).__name__}")
    return function


def checked_places(tool: str, what: str, places: Any, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Arguments, or arguments inside others (`operations[].path`); only the first step can be looked up."""
    listed: list[Any] = [places] if isinstance(places, str) else list(places)
    for place in listed:
        if not isinstance(place, str):
            raise ToolError(f"{tool}: {what} must be names of arguments; got {place!r:.40}")
        if place not in schema["properties"]:
            _known(tool, what, place.split(".")[0].removesuffix("[]"), schema)
    return tuple(listed)


def checked_example(tool: str, example: Any, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if example is None:
        return None
    if not isinstance(example, Mapping):
        raise ToolError(f"{tool}: example must be the arguments of a right call, as a dict")
    arguments = cast("Mapping[Any, Any]", example)
    for name in arguments:
        _known(tool, "example", name, schema)
    for name in schema.get("required", ()):
        if name not in arguments:
            raise ToolError(f"{tool}: example: an example must be a right call, but `{name}` is missing")
    return dict(arguments)


def _known(tool: str, what: str, name: Any, schema: Mapping[str, Any]) -> None:
    if name not in schema["properties"] and not schema.get("additionalProperties"):
        names = ", ".join(schema["properties"]) or "none"
        raise ToolError(f"{tool}: {what}: {name!r:.60} is no argument of the tool; its arguments are: {names}")
