"""Problems with the rules beside the schema: required, required_any, required_unless, min_length, values, JSON text."""

from collections.abc import Iterator, Mapping
from typing import Any

from rightcall.text.escape import render_json
from rightcall.types import Problem, Rules
from rightcall.validate.wording import named


def rule_problems(rules: Rules, arguments: Mapping[str, Any]) -> Iterator[Problem]:
    """In the order of the rules. Whatever is absent, null or blank is missing; 0 and false are values."""
    for name in dict.fromkeys((*rules.required, *rules.required_unless)):
        excuses = rules.required_unless.get(name, {})
        if is_missing(arguments.get(name)) and not any(_equals(arguments.get(of), excuses[of]) for of in excuses):
            yield Problem("missing", name, f"{named((name,))} {_how(name, arguments)}{_unless(excuses)}")
    for group in rules.required_any:
        if all(is_missing(arguments.get(name)) for name in group):
            listed = ", ".join(f"`{name}`" for name in group)
            yield Problem("missing_any", " or ".join(group), f"one of {listed} is required")
    for name, least in rules.min_length.items():
        value = arguments.get(name)
        if isinstance(value, str) and len(value) < least and not (is_missing(value) and name in rules.required):
            message = f"{named((name,))} must have at least {least} characters, has {len(value)}"
            yield Problem("too_short", name, message)
    yield from _value_problems(rules, arguments)


def _value_problems(rules: Rules, arguments: Mapping[str, Any]) -> Iterator[Problem]:
    for name, spellings in rules.values.items():
        value = arguments.get(name)
        if isinstance(value, str):
            right = _meant(value, spellings)
            if right is not None:
                yield Problem("value", name, f"{named((name,))} is {render_json(value)}, right is {render_json(right)}")
    for name in rules.json_text:
        value = arguments.get(name)
        if isinstance(value, str) and not _is_json(value):
            yield Problem(
                "value", name, f"{named((name,))} must be text that holds valid JSON, got {render_json(value)}"
            )


def is_missing(value: Any) -> bool:
    """Absent (None here), null or blank."""
    return value is None or (isinstance(value, str) and not value.strip())


def _how(name: str, arguments: Mapping[str, Any]) -> str:
    if name not in arguments:
        return "is missing"
    return "is null, but it is required" if arguments[name] is None else "is blank, but it is required"


def _unless(excuses: Mapping[str, tuple[Any, ...]]) -> str:
    if not excuses:
        return ""
    said = " or ".join(
        f"{named((name,))} is {' or '.join(map(render_json, values))}" for name, values in excuses.items()
    )
    return f" (not needed when {said})"


def _equals(value: Any, wanted: tuple[Any, ...]) -> bool:
    if isinstance(value, str):
        return _folded(value) in {_folded(text) for text in wanted if isinstance(text, str)}
    return any(value == other and isinstance(value, bool) == isinstance(other, bool) for other in wanted)


def _meant(value: str, spellings: Mapping[str, Any]) -> Any:
    """What a known wrong spelling stands for; None when it is none, or is itself right."""
    text = _folded(value)
    if text in {_folded(right) for right in spellings.values() if isinstance(right, str)}:
        return None
    return next((right for wrong, right in spellings.items() if _folded(wrong) == text), None)


def _folded(text: str) -> str:
    return text.strip().casefold()


def _is_json(text: str) -> bool:
    import msgspec

    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True
